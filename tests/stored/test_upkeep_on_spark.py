"""What changes a stored table, with events and results on Spark: the same windows as of one query."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

pytest.importorskip("pyspark")


def events(seed: int, first: int = 0) -> pa.Table:
    chance = random.Random(seed)
    rows = [(first + chance.randrange(1200), chance.choice("abc"), chance.randrange(50)) for _ in range(200)]
    return pa.table(dict(zip("tkx", zip(*rows, strict=True), strict=True)))


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
    more = ff.partials(tmp_path, time="t", by="k", frame=60, spark=spark, **outputs)
    more = more.add_output(spark.createDataFrame(first), top=ff.Max("x"))
    last = events(3, 1200)
    more.append(spark.createDataFrame(last), run="3")
    found = more.window(ff.sliding(360, every=120)).ending(after=1560).aggregate("top").toArrow().to_pylist()
    query = ff.events(last, time="t", by="k").window(ff.sliding(360, every=120))
    assert found == [row for row in query.aggregate(top=ff.Max("x")).to_pylist() if row["window"]["end"] > 1560]
    with pytest.raises(ff.QueryError, match=r"'top' is stored from 1200 on"):
        more.window(ff.sliding(360, every=120)).aggregate("top").toArrow()


def test_events_of_other_types(spark: Any, tmp_path: Path) -> None:
    """A table that this process has begun takes the types of Spark that it holds, or becomes wider."""
    minute = dt.timedelta(minutes=1)
    rows = [(dt.datetime(2026, 1, 1) + at * minute, "ab"[at % 2], at, at) for at in range(9)]
    kinds = [pa.timestamp("ns"), pa.large_string(), pa.int64(), pa.float64()]
    columns = zip("tkxy", zip(*rows, strict=True), kinds, strict=True)
    table = pa.table({name: pa.array(values, kind) for name, values, kind in columns})
    outputs = {"n": ff.Count(), "s": ff.Sum("x"), "top": ff.Max("y"), "of": ff.CollectSet("k")}
    stored = ff.partials(tmp_path, time="t", by="k", frame="2 minutes", **outputs)
    stored.append(table, run="1")
    df = spark.createDataFrame(rows, "t timestamp_ntz, k string, x int, y int")
    stored.append(df, run="2")
    stored.append(df.selectExpr("t", "k", "null x", "y"), run="3")
    nothing = table.set_column(2, "x", pa.nulls(9, pa.int64()))
    whole = ff.events(pa.concat_tables([table, table, nothing]), time="t", by="k").window(ff.tumbling("4 minutes"))
    assert stored.window(ff.tumbling("4 minutes")).aggregate().to_pylist() == whole.aggregate(**outputs).to_pylist()
    with pytest.raises(ff.EngineError, match=r"have the column 'x' as int64, and it is string in the events; expected"):
        stored.append(df.selectExpr("t", "k", "string(x) x", "y"), run="4")
    stored.append(df.selectExpr("t", "k", "x + 0.5D x", "y"), run="4")  # by its type, whatever its values
    stored.append(df.selectExpr("t", "k", "bigint(x) x", "bigint(y) y"), run="5")
    with pytest.raises(ff.EngineError, match=r"^the .* 'x' as double, and it is bigint in the DataFrame, with"):
        stored.append(df.selectExpr("t", "k", "9007199254740993 x", "y"), run="6")
    halves = table.set_column(2, "x", pa.array([at + 0.5 for at in range(9)]))
    runs = (table, table, nothing, halves, table)
    floats = [each.set_column(2, "x", each["x"].cast(pa.float64())) for each in runs]
    whole = ff.events(pa.concat_tables(floats), time="t", by="k").window(ff.tumbling("4 minutes"))
    want = whole.aggregate(**outputs).to_pylist()
    assert stored.window(ff.tumbling("4 minutes")).aggregate().to_pylist() == want
    by_tasks = ff.partials(tmp_path, time="t", by="k", frame="2 minutes", spark=spark, **outputs)
    assert by_tasks.window(ff.tumbling("4 minutes")).aggregate().toArrow().to_pylist() == want
