"""Tests name nothing of the inside but in tests/support, so that code moves without them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import framefold as ff

from ..support.inner import INNER, place_of
from ..support.limits import LIMITS, limits
from ..support.programs import needs_pyspark

TESTS = Path(__file__).parents[1]

PIECES = {
    "aggregators/test_compiled.py": "aggregators.loops.native",
    "aggregators/test_deviations.py": "aggregators.moments",
    "aggregators/test_frames.py": "aggregators.numeric",
    "aggregators/test_laws.py": "aggregators.laws.tolerance",
    "aggregators/test_order.py": "aggregators.ordered",
    "aggregators/test_ranges_of_values.py": "aggregators.ranges",
    "runtime/test_above.py": "runtime.frames.next_greater",
    "runtime/test_decoding.py": "runtime.sources.parquet_decoding",
    "runtime/test_kernels.py": "runtime.sliding",
    "runtime/test_draw.py": "runtime.windows",
    "runtime/test_keys.py": "runtime",
    "runtime/test_progress.py": "runtime.progress",
    "runtime/test_shard.py": "runtime.streams.pages",
    "runtime/test_times.py": "runtime.columns.ticks",
    "runtime/test_ways.py": "runtime.sliding",
    "runtime/test_windows.py": "runtime.frames.window_ranges",
    "spark/test_combining.py": "spark.engine.combining",
    "spark/test_few_events.py": "spark.input.scan_bounds",
    "spark/test_handing.py": "spark.session.conf_overrides",
    "spark/test_java.py": "spark.session.java",
    "spark/test_order.py": "spark.input.ordering",
    "spark/test_rows.py": "spark.input.row_numbers",
    "spark/test_ship.py": "spark.session.packaging",
    "spark/test_state.py": "spark.streams.state",
    "spark/test_submit.py": "extras.cli.submission",
    "spark/test_submit_secrets.py": "extras.cli.submission",
    "spark/test_tasks.py": "spark.engine.tasks",
    "spark/test_types.py": "spark.convert.types",
}  # fmt: skip
"""Tests of a piece with a contract of its own, an algorithm or a format, and the module or folder that it is in."""

OF_THE_PACKAGE = {
    "house/installed.py", "house/test_house.py", "house/test_inner_names.py", "house/test_public_names.py",
}  # fmt: skip
"""Those that are about the package's own modules."""

FILES = [
    name
    for name in sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("*.py"))
    if not name.startswith("support/") and name not in OF_THE_PACKAGE
]
# Programs in strings count, too. The command line is called by two names only.
FROM = re.compile(r"\bfrom framefold(?:\.([\w.]+))? import (?:\(([^)]*)\)|([\w, ]+))|\bimport framefold\.([\w.]+)")
COMMANDS = {"extras.cli.main", "extras.cli.process"}


def inner_names(name: str) -> set[str]:
    """What a file of tests names of the inside, dotted."""
    found = set()
    for module, several, names, whole in FROM.findall((TESTS / name).read_text()):
        named = [each.split(" as ")[0].strip() for each in (several or names).split(",")]
        found |= {whole} if whole else {".".join(filter(None, [module, each])) for each in named if each}
    return {each for each in found if each not in {*ff.__all__, *COMMANDS}}


def test_no_inner_name() -> None:
    """What is public comes from ``import framefold as ff``, all else from tests/support: stages, limits(), ..."""
    wrong = {}
    for name in FILES:
        named, piece = inner_names(name), f"{PIECES.get(name)}."
        own = {each for each in named if f"{each}.".startswith(piece)}
        assert own or name not in PIECES, f"tests/{name} names nothing of {piece} any more"
        if others := named - own:
            wrong[name] = sorted(others)
    assert not wrong


@pytest.mark.parametrize("spark", [False, True])
def test_what_tests_change_is_there(spark: bool) -> None:
    if spark:
        pytest.importorskip("pyspark", reason="Spark is not installed: pip install '.[spark]'")
    for name, paths in LIMITS.items():
        if needs_pyspark(str(paths)) == spark:
            with limits(**{name: 7}):  # an AttributeError where there is none
                pass
    assert all(hasattr(*place_of(name)) for name, path in INNER.items() if needs_pyspark(path) == spark)
