"""The reader's lists of files in docs/architecture.md are the way that an event takes."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

from ..support.plans import bind
from ..support.sources import LocalEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECTION = re.compile(r"^## The files in their order\n(.*?)^## ", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^\d+\. (‖ )?`([\w/]+\.py)` (.+)$", re.MULTILINE)
PAGE = (Path(__file__).parents[2] / "docs/architecture.md").read_text()
TABLE = pa.table({
    "t": pa.array(range(0, 1_000_000_000, 1_000_000), pa.timestamp("us", "UTC")),
    "k": ["a", "b"] * 500,
    "x": [at / 7 for at in range(1000)],
})  # fmt: skip
WINDOWS = ff.sliding("1 minute", every="10 seconds")

HELPERS = {
    # the kinds of values that all stages ask: columns, types of keys, options of windows
    "runtime/columns/", "runtime/windows/", "runtime/frames/windows.py", "runtime/frames/numbered.py",
    "runtime/frames/steps.py", "runtime/plan/fill_keys.py",
    "runtime/plan/text_codes.py", "runtime/plan/window_inputs.py",
    # the engine of this process, which calls one stage after the other; results of types that Arrow does not have
    "runtime/local.py", "runtime/progress.py", "runtime/results/extensions.py",
    # what is said in words, where anybody listens
    "runtime/frames/words.py", "runtime/reporting.py",
    # parts of a file of the list that have no more to say
    "runtime/sources/", "runtime/results/blocks.py", "runtime/partials/add_aligned.py",
    "runtime/sliding/range_facts.py", "runtime/sliding/tiles.py",
    "runtime/streams/key_life.py",
}  # fmt: skip
"""Files and folders that are entered on the way as well, and that a reader can leave out."""


def lists() -> dict[str, list[tuple[str, bool]]]:
    """The files of each list, and whether a task of Spark enters them."""
    section = SECTION.search(PAGE)
    assert section is not None
    parts = re.split(r"^\*\*(\w+).*\*\*.*$", section[1], flags=re.MULTILINE)[1:]
    return {
        name.lower(): [(path, bool(mark)) for mark, path, _ in LINE.findall(text)]
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


def entered(run: Callable[[], Any]) -> list[str]:
    """The files of the package that a call enters, in the order in which it first does, by their paths here."""
    package = Path(sys.modules[LocalEngine.__module__].__file__ or "").parents[1]
    folders = {str(package / room): room for room in ("aggregators", "runtime", "spark")}
    folders |= {str(Path(ff.__file__ or "").parent): "api"}
    found: dict[str, None] = {}

    def called(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name not in found:
            found[name] = None

    run()  # imports, caches and trials are over then
    sys.setprofile(called)
    try:
        run()
    finally:
        sys.setprofile(None)
    inside = (
        (room + name.removeprefix(folder))
        for name in found
        for folder, room in folders.items()
        if name.startswith(folder + "/")
    )
    return list(inside)


def check(name: str, found: list[str], *, in_tasks: bool = False) -> None:
    """The files of a list are entered in its order, and of runtime/ no other but helpers."""
    listed = [path for path, task in lists()[name] if task == in_tasks]
    assert [path for path in found if path in listed] == listed
    known = {path for paths in lists().values() for path, _ in paths}  # a stream is planned as the others are
    others = [path for path in found if path.startswith("runtime/") and path not in known]
    assert not [path for path in others if not any(path.startswith(helper) for helper in HELPERS)]


def query(data: Any, **options: Any) -> Any:
    events = ff.events(data, time="t", by="k").options(**options)
    return events.window(WINDOWS).aggregate(s=ff.Sum("x"))


def test_local() -> None:
    check("local", entered(lambda: query(TABLE)))


def test_spark(spark: SparkSession) -> None:
    from ..support.spark_parts import Job, accumulate_to_ipc, output_schema

    df = spark.createDataFrame(TABLE)
    driver = entered(lambda: query(df, accumulate="python"))
    check("spark", driver)
    plan = bind(TABLE.schema, time="t", by=["k"], window=WINDOWS, outputs={"s": ff.Sum("x")})
    job = Job(plan, output_schema(plan.result_schema, [df.schema["k"].dataType]))
    batches = TABLE.select(plan.columns).to_batches()
    check("spark", entered(lambda: list(accumulate_to_ipc(job, None, iter(batches)))), in_tasks=True)


def test_stream() -> None:
    pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'framefold[spark]'")
    from ..stored_state.shards import Processor
    from ..support.spark_parts import Job, pack_partials, slide_shard

    plan = bind(TABLE.schema, time="t", by=["k"], window=WINDOWS, outputs={"s": ff.Sum("x")})
    shards = iter([Processor(plan, {}), Processor(plan, {})])

    def micro_batches() -> None:
        shard = next(shards)
        job = Job(shard.plan, pa.schema([]))
        (packets,) = pack_partials(job, (0,), iter(TABLE.select(plan.columns).to_batches()))
        rows = [SimpleNamespace(**row) for row in packets.to_pylist()]
        assert not [row for row in slide_shard(shard.payload, shard, 0, rows, at(0)) if row.ipc]
        assert [row for row in slide_shard(shard.payload, shard, 0, (), at(500_000)) if row.ipc]

    check("stream", entered(micro_batches))


def at(watermark: int) -> Any:
    """Spark's times, with a watermark in milliseconds."""
    return SimpleNamespace(getCurrentWatermarkInMs=lambda: watermark, getCurrentProcessingTimeInMs=lambda: 0)


def test_the_way_turns_back_seldom() -> None:
    """Calls between files of the local list whose callee is above its caller there: 15 before rooms were in order."""
    order = {path: at for at, (path, _) in enumerate(lists()["local"])}
    package = Path(sys.modules[LocalEngine.__module__].__file__ or "").parents[1]
    places = {str(package / path): at for path, at in order.items()}
    places |= {str(Path(ff.__file__ or "").parent / path.removeprefix("api/")): at for path, at in order.items()}
    back = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        callee, above = places.get(frame.f_code.co_filename), frame.f_back
        caller = None if above is None else places.get(above.f_code.co_filename)
        if event == "call" and callee is not None and caller is not None and callee < caller:
            back.add((caller, callee))

    query(TABLE)
    sys.setprofile(called)
    try:
        query(TABLE)
    finally:
        sys.setprofile(None)
    assert 0 < len(back) < 14
