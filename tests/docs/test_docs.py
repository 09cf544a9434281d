"""The pages under docs/ do what they say: their code is run, their tables are those that the code gives."""

from __future__ import annotations

import importlib.util
import itertools
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support import stages
from ..support.pages import BLOCK, DOCS, ROOT, run
from ..support.plans import Operation, bind, sample
from ..support.programs import load

make_aggregates = load(DOCS / "make_aggregates.py", "make_aggregates")
make_pictures = load(DOCS / "make_pictures.py", "make_pictures")
exactness = load(ROOT / "benchmarks" / "exactness.py", "exactness")


# The page of streams needs Spark: tests/spark/test_streams.py runs it. Blocks that need Spark on other pages are run by
# tests/spark/test_result_columns.py, with all others of their page.
@pytest.mark.parametrize("page", sorted({*DOCS.glob("*.md")} - {DOCS / "streams.md"}), ids=lambda page: page.name)
def test_code_in_pages(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text()
    blocks = BLOCK.findall(text)
    assert len(blocks) == text.count("```python")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    check = ff.check_laws
    for needed, block in blocks:
        if needed != "pyspark" and (not needed or importlib.util.find_spec(needed)):
            # A few examples are enough, unless the page shows the one that breaks a law.
            monkeypatch.setattr(ff, "check_laws", check if "LawError" in block else partial(check, examples=20))
            assert run(block, namespace) == block.count("# ->")


def test_pictures_are_those_that_the_code_draws() -> None:
    pytest.importorskip("drawsvg")
    drawn = make_pictures.pictures(make_pictures.PAGE.read_text())
    assert {path.name for path in (DOCS / "pictures").glob("*.svg")} == set(drawn)
    for name, svg in drawn.items():
        assert (DOCS / "pictures" / name).read_text() == svg + "\n", name


def calls() -> list[str]:
    """The calls in the tables of aggregates."""
    return re.findall(r"^\| `(.+?)` \|", (DOCS / "aggregates.md").read_text(), re.MULTILINE)


def test_table_of_aggregates_is_what_the_code_says() -> None:
    pytest.importorskip("datasketches")
    page = (DOCS / "aggregates.md").read_text()
    assert page == make_aggregates.filled(page)


def test_every_aggregate_is_in_the_table() -> None:
    exported = {
        value.__name__  # Mean is another name of Average
        for value in map(vars(ff).get, ff.__all__)
        if isinstance(value, type) and issubclass(value, Operation)
    }
    named = set(re.findall(r"\b([A-Z]\w+)\(", " ".join(calls())))
    assert named == exported - {"AggregateOperation", "PythonOperation"}
    assert len(named) > 50  # "more than fifty", as the README says


def bits(values: pa.Array) -> Any:
    """A result in which floats that differ in the last bit differ."""
    return repr(values.to_pylist())


SAME = re.compile(r"^\| `(.+?)` \|.*\| [^|]*(?:yes|in practice) \|$", re.MULTILINE)


@pytest.mark.parametrize("call", SAME.findall((DOCS / "aggregates.md").read_text()))
def test_same_to_the_last_bit_where_the_table_says_so(call: str) -> None:
    """Batches of any number, in any order, give the same."""
    rng = np.random.default_rng(3)
    floats = rng.normal(size=3000) * 10.0 ** rng.integers(-8, 9, 3000)
    if "Mean(" in call:
        floats = np.abs(floats)
    aggregate = make_aggregates.Aggregate(call)
    types = [pa.int32(), pa.float64()] if aggregate.operation.columns else [pa.int32()]
    for type in [type for type in types if aggregate.bind(type) is not None] or [next(iter(aggregate.all))]:
        x = pa.array(floats) if type == pa.float64() else sample(type, 3000)
        columns = {"x": x} | {name: rng.uniform(0, 1, 3000) for name in ("y", "w", "by")}
        table = pa.table({"t": rng.permutation(3000), **columns})
        query = bind(
            table.schema, time="t", by=[], window=ff.sliding(200, every=50), outputs={"x": aggregate.operation}
        )
        if query.ordered:
            return
        once = bits(stages.results(query, stages.accumulate(query, table, 0))["x"])
        for count in (3, 17):
            cuts = np.linspace(0, 3000, count + 1).astype(int)
            parts = [
                stages.accumulate(query, table.slice(a, b - a), i) for i, (a, b) in enumerate(itertools.pairwise(cuts))
            ]
            order = rng.permutation(count)
            assert bits(stages.results(query, pa.concat_tables([parts[i] for i in order]))["x"]) == once, type


SAME = 1 + 2.0**-20
"""Errors of one unit in the last place are alike, although they are not the same share of one value and of the next."""


@pytest.mark.parametrize(("rows", "slides", "size"), [(600, 20_000, 20), (1_000, 5_000, 60)])
def test_ours_is_the_best_row_on_streams_that_ruin_sums(rows: int, slides: int, size: int) -> None:
    found = exactness.measure(exactness.CONTENDERS, exactness.streams(rows, slides), size)
    for operation, of in found.items():
        for stream, ours in of[exactness.OURS].items():
            best = min(errors[stream] for errors in of.values() if errors)
            assert ours.wrong == 0, (operation, stream)
            assert ours.largest <= best.largest * SAME, (operation, stream)


def test_page_on_exactness_has_the_tables_of_the_script() -> None:
    """As far as can be told without running it: its contenders, operations and streams, and ours without a fault."""
    page = exactness.PAGE.read_text()
    text = page[page.index(exactness.BEGIN) : page.index(exactness.END)]
    tables = [table.strip().splitlines() for table in re.split(r"^### .*$", text, flags=re.MULTILINE)[1:]]
    assert re.findall(r"^### (.*)$", text, re.MULTILINE) == list(exactness.OPERATIONS.values())
    for table in tables:
        assert [cell.strip() for cell in table[0].strip("|").split("|")][1:] == list(exactness.streams(60, 1_000_000))
        rows = [line.strip("|").split("|")[0].strip() for line in table[2:] if line.startswith("|")]
        assert rows == [name for name in exactness.CONTENDERS | exactness.SPARK if "fsum" not in name or name in rows]
        assert "wrong" not in table[2]
