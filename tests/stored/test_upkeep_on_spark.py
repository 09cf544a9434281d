"""What changes a stored table, with events and results on Spark: the same windows as of one query."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

pytest.importorskip("pyspark")

OUTPUTS = {"n": ff.Count(), "s": ff.Sum("x")}


def events(seed: int, first: int = 0) -> pa.Table:
    chance = random.Random(seed)
    rows = [(first + chance.randrange(1200), chance.choice("abc"), chance.randrange(50)) for _ in range(200)]
    return pa.table(dict(zip("tkx", zip(*rows, strict=True), strict=True)))


def test_upkeep(spark: Any, tmp_path: Path) -> None:
    def at(outputs: dict[str, ff.Operation], **more: Any) -> ff.StoredPartials:
        return ff.partials(tmp_path, time="t", by="k", frame=60, **more, **outputs)

    def on_spark(table: pa.Table) -> Any:
        return spark.createDataFrame(table)

    stored = at(OUTPUTS, spark=spark)
    first, second, late, right = events(1), events(2, 1200), events(3), events(4)
    stored.append(on_spark(first), run="1")
    stored.append(on_spark(second), run="2")
    stored.append(on_spark(late), run="late")
    stored.refresh(on_spark(pa.concat_tables([right, second])), since=300, until=600)
    taken = second.slice(0, 20)
    with pytest.raises(ff.QueryError, match=r"events to be deleted are not all in stored frames"):
        stored.delete(on_spark(pa.concat_tables([second, second])), run="twice")
    stored.delete(on_spark(taken), run="returns")
    stored.compact()
    stored.coarsen(120, older=1200)
    stored.forget(["c"])
    more = stored.add_output(on_spark(right), top=ff.Max("x"))
    last = events(5, 2400)
    more.append(on_spark(last), run="3")
    rows = [row for table in (first, late) for row in table.to_pylist() if not 300 <= row["t"] < 600]
    rows += [row for row in right.to_pylist() if 300 <= row["t"] < 600]
    rows += [*second.slice(20).to_pylist(), *last.to_pylist()]
    kept = pa.Table.from_pylist([row for row in rows if row["k"] != "c" or row["t"] >= 2400])
    windows = ff.sliding(360, every=120)
    found = more.window(windows).aggregate("n", "s").toArrow().to_pylist()
    assert found == ff.events(kept, time="t", by="k").window(windows).aggregate(**OUTPUTS).to_pylist()
    want = ff.events(last, time="t", by="k").window(windows).aggregate(top=ff.Max("x")).to_pylist()
    got = more.window(windows).ending(after=2760).aggregate("top").toArrow().to_pylist()
    assert got == [row for row in want if row["window"]["end"] > 2760]
    changed = more.changed(run="3").window(ff.tumbling(120)).aggregate("n").toArrow().to_pylist()
    assert changed == ff.events(last, time="t", by="k").window(ff.tumbling(120)).aggregate(n=ff.Count()).to_pylist()
    with pytest.raises(ff.QueryError, match=r"'top' is stored from 2400 on"):
        more.window(windows).aggregate("top").toArrow()


def test_tasks_write(spark: Any, tmp_path: Path, limit: Callable[..., None], caplog: Any) -> None:
    limit(stored_driver_partials=0, few_events=0)
    outputs = {"n": ff.Count(), "m": ff.Median("x")}
    stored = ff.partials(tmp_path, time="t", by="k", frame=60, **outputs)
    first, second = events(1), events(2, 600)
    stored.append(spark.createDataFrame(first), run="1")
    assert "max_driver_partials=0 is not enough" in caplog.text
    stored.refresh(spark.createDataFrame(pa.concat_tables([first, second])), since=600, until=1200, run="2")
    rows = [*first.to_pylist(), *(row for row in second.to_pylist() if row["t"] < 1200)]
    want = ff.events(pa.Table.from_pylist(rows), time="t", by="k").window(ff.tumbling(120)).aggregate(**outputs)
    assert stored.window(ff.tumbling(120)).aggregate() == want
    stored.compact()
    assert len(stored.table.commits.latest().files) == 1
    assert stored.window(ff.tumbling(120)).aggregate() == want
