"""What ``explain_with_columns`` says: the rows that outputs are beside, where they are made, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.loops import needs_loops

TABLE = pa.table({"t": [4, 1, 2], "k": ["a", "b", "a"], "x": [3, 1, 2]})
AROUND = ff.around(time=(-2, 0))
LABELS = ff.windows_from(pa.table({"k": ["a"], "from": [0], "to": [3]}), start="from", end="to", by="k")


def said(data: Any, windows: Any = AROUND) -> dict[str, str]:
    return dict(ff.events(data, time="t", by="k").window(windows).explain_with_columns(s=ff.Sum("x")).rows)


def test_locally() -> None:
    found = said(TABLE)
    assert found["beside"] == "each event, in the order in which they are"
    assert found["sort, accumulate, slide, finish"] == "in this process, all events by key and time"
    assert said(TABLE, LABELS)["beside"] == "each row of the other table, in the order in which they are"
    events = ff.events(TABLE, time="t", by="k").window(ff.lookback(2, 5))
    assert events.explain(s=ff.Sum("x")) == events.explain_with_columns(s=ff.Sum("x"))


@needs_loops
def test_events_in_the_order_of_time_are_not_sorted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What is folded row by row; of files that are not read yet the order is not known."""
    ordered = TABLE.sort_by("t")
    by_row = "in this process, row by row: events are in the order of time"
    assert said(ordered, ff.landmark())["accumulate, slide, finish"] == by_row
    with caplog.at_level("INFO", "framefold"):
        ff.events(ordered, time="t", by="k").window(ff.landmark()).with_columns(s=ff.Sum("x"))
    assert by_row in caplog.text
    assert said(ordered, AROUND)["accumulate, slide, finish"] == by_row
    greatest = ff.events(ordered, time="t", by="k").window(AROUND).explain_with_columns(top=ff.Max("x"))
    for found in (said(TABLE, ff.landmark()), dict(greatest.rows)):
        assert "accumulate, slide, finish" not in found
        assert found["sort, accumulate, slide, finish"] == "in this process, all events by key and time"
    with_nulls = ordered.set_column(0, "t", pa.array([1, None, 4]))
    events = ff.events(with_nulls, time="t", by="k", ties="x", null_time="drop").window(ff.last_rows(1))
    assert dict(events.explain_with_columns(s=ff.Sum("x")).rows)["accumulate, slide, finish"] == by_row
    pq.write_table(ordered, tmp_path / "events.parquet")
    files = ff.parquet(tmp_path / "events.parquet")
    for data in (files, ff.events(ordered, time="t", by="k").where("x > 0").engine.source):
        assert "row by row if events are in" in said(data, ff.landmark())["accumulate, slide, finish"]


def test_what_with_columns_refuses_it_refuses() -> None:
    with pytest.raises(ff.QueryError, match=r"with_columns\(\) is asked for .* which are not one for each event"):
        said(TABLE, ff.tumbling(5))
    with pytest.raises(ff.QueryError, match=r"explain_with_columns\(\) is given Count\(\) without a name"):
        ff.events(TABLE, time="t").window(AROUND).explain_with_columns(ff.Count())  # type: ignore[arg-type]


def test_on_spark(spark: Any, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "events.parquet")
    for data in (spark.createDataFrame(TABLE), ff.parquet(str(tmp_path / "events.parquet"), spark=spark)):
        found = said(data)
        assert found["sort"] == "on executors, by key and time: all events of a key come into one task"
        assert found["accumulate, slide, finish"] == "in mapInArrow, some keys at a time, lazily"
        assert "merge, slide, finish" in said(data, LABELS)
    stream = spark.readStream.format("rate").load()
    events = ff.events(stream, time="timestamp").window(ff.around(time=("-1 s", "0 s")))
    with pytest.raises(ff.QueryError, match=r"with_columns\(\) is asked for a stream"):
        events.explain_with_columns(n=ff.Count())
