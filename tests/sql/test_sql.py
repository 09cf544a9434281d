"""What ff.sql takes, names and refuses."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

TRIPS = pa.table({"at": [0, 30, 70, 130], "zone": ["a", "b", "a", None], "speed": [20.0, 25.0, 30.0, None]})
EVENTS = ff.events(TRIPS, time="at", by="zone").window(ff.sliding(60, every=20))


def test_it_is_the_same_query_in_python() -> None:
    found = ff.sql(
        "SELECT zone, window_start, window_end, AVG(speed) AS mean, geometric_mean(speed) AS g, top_n(speed, n => 2) "
        "AS top, COUNT(*) AS n FROM HOP(trips, at, 20, 60) GROUP BY zone, window_start, window_end",
        trips=TRIPS,
    )
    expected = EVENTS.options(window="flat").aggregate(
        mean=ff.Average("speed"), g=ff.GeometricMean("speed"), top=ff.TopN("speed", 2), n=ff.Count()
    )
    assert found.equals(expected)


@pytest.mark.parametrize("data", [TRIPS, pl.from_arrow(TRIPS), TRIPS.to_pandas(types_mapper=pd.ArrowDtype)])
def test_every_kind_of_table(data: object) -> None:
    found = ff.sql("SELECT COUNT(speed) AS n FROM TUMBLE(t, at, 100) GROUP BY window_end", t=data)
    assert found["n"].to_pylist() == [3, 0]


@pytest.mark.parametrize("key", ["zone", "upper(zone)"])
def test_files(key: str, tmp_path: Path) -> None:
    pq.write_table(TRIPS, tmp_path / "t.parquet")
    query = f"SELECT {key} AS z, SUM(speed) FROM TUMBLE(T, at, 100) WHERE speed > 20 GROUP BY {key}, window_start"
    assert ff.sql(query, t=ff.parquet(tmp_path / "t.parquet")).equals(ff.sql(query, t=TRIPS))


def test_business_days_are_text() -> None:
    trades = pa.table({"at": [datetime.datetime(2026, 1, day) for day in (2, 3, 5, 12)]})
    query = "SELECT window_start, COUNT(*) AS n FROM HOP(t, at, {}, {}) GROUP BY window_start"
    found = ff.sql(query.format("'1 business day'", "'5 business days'"), t=trades)
    windows = ff.events(trades, time="at").window(ff.sliding("5 business days", every="1 business day"))
    assert found["n"].to_pylist() == windows.aggregate(n=ff.Count())["n"].to_pylist()
    with pytest.raises(ff.QueryError, match="the text '5 business days' without INTERVAL"):
        ff.sql(query.format("'1 business day'", "INTERVAL '5 business days'"), t=trades)


def test_events_keep_what_they_say() -> None:
    late = pa.table({"at": [0, None, 5], "x": [1, 2, 3]})
    query = "SELECT SUM(x) AS s FROM TUMBLE(t, at, 10) GROUP BY window_start"
    with pytest.raises(ff.NullTimeError):
        ff.sql(query, t=late)
    with pytest.warns(ff.DroppedEventsWarning):
        assert ff.sql(query, t=ff.events(late, time="at", null_time="drop"))["s"].to_pylist() == [4]


def test_the_longer_duration_is_the_size_unless_they_are_named() -> None:
    query = "SELECT window_start, window_end, COUNT(*) AS n FROM HOP(t, at, {}) GROUP BY window_start, window_end"
    assert ff.sql(query.format("20, 60"), t=TRIPS).equals(ff.sql(query.format("60, 20"), t=TRIPS))
    gaps = ff.sql(query.format("slide => 60, size => 20"), t=TRIPS)
    assert gaps.to_pylist() == [{"window_start": at, "window_end": at + 20, "n": 1} for at in (0, 60, 120)]


def test_weeks_begin_on_a_thursday_as_in_spark() -> None:
    t = pa.table({"t": [datetime.datetime(2024, 5, 15)]})
    found = ff.sql("SELECT window.start FROM t GROUP BY window(t, '1 week') HAVING count(*) > 0", t=t)
    assert found["start"].to_pylist() == [datetime.datetime(2024, 5, 9)]


def test_names_and_the_order_of_columns() -> None:
    query = "SELECT SUM(speed) + 1, zone AS z, count(*), `zone`, window_end FROM TUMBLE(t, at, 100) GROUP BY zone, 5"
    assert ff.sql(query, t=TRIPS).column_names == ["sum(speed) + 1", "z", "count(*)", "zone", "window_end"]
    beside = ff.sql("SELECT count(*) OVER (ORDER BY at) AS n, *, speed + 1 AS more FROM t", t=TRIPS)
    assert beside.column_names == ["n", "at", "zone", "speed", "more"]
    struct = ff.sql("SELECT window, count(*) AS n FROM t GROUP BY window(at, 100)", t=TRIPS)
    assert struct.column_names == ["window", "n"]
    assert struct["window"].to_pylist() == [{"start": 0, "end": 100}, {"start": 100, "end": 200}]


def test_sessions_join_events_that_are_exactly_the_gap_apart() -> None:
    t = pa.table({"at": [0, 30, 61]})
    query = "SELECT window_start, COUNT(*) AS n FROM SESSION(t, at, 30) GROUP BY window_start"
    assert ff.sql(query, t=t).to_pylist() == [{"window_start": 0, "n": 2}, {"window_start": 61, "n": 1}]


def test_where_of_sessions_is_of_the_rows_that_they_have() -> None:
    t = pa.table({"at": [0, 8, 16], "k": ["a", "a", "a"], "x": [1, 2, 3]})
    query = "SELECT k, window_start, SUM(x) AS s FROM SESSION({}, at, 10) WHERE {} GROUP BY k, window_start"
    said = r"has x <> 2; expected the condition on the rows that sessions are of: SESS"
    with pytest.raises(ff.QueryError, match=said):
        ff.sql(query.format("TABLE t PARTITION BY k", "x <> 2"), t=t)
    inside = query.format("TABLE (SELECT * FROM t WHERE x <> 2) PARTITION BY k", "k = 'a' and window_start >= 0")
    assert ff.sql(inside, t=t)["s"].to_pylist() == [1, 3]
    grouped = "SELECT SUM(x) AS s FROM t WHERE x <> 2 GROUP BY session_window(at, 10)"
    assert ff.sql(grouped, t=t)["s"].to_pylist() == [1, 3]


def test_a_name_is_a_column_before_it_is_what_is_selected() -> None:
    t = pa.table({"at": [0, 1, 2], "k": ["a", "A", "b"], "x": [1, 2, 4]})
    query = (
        "SELECT upper(k) AS {0}, SUM(x) AS s FROM TUMBLE(t, at, 10) GROUP BY {0}, window_end HAVING s > 1 ORDER BY 2"
    )
    assert ff.sql(query.format("z"), t=t).to_pylist() == [{"z": "A", "s": 3}, {"z": "B", "s": 4}]
    assert ff.sql(query.format("k"), t=t).to_pylist() == [{"k": "A", "s": 2}, {"k": "B", "s": 4}]


def test_a_select_may_have_the_name_of_the_table_it_is_of() -> None:
    query = "WITH t AS (SELECT at, speed * 2 AS speed FROM t), u AS (SELECT * FROM t) {}"
    total = query.format("SELECT SUM(speed) AS s FROM TUMBLE(u, at, 1000) GROUP BY window_start")
    assert ff.sql(total, t=TRIPS)["s"].to_pylist() == [150.0]


REFUSED = Path(__file__).with_name("refused.txt").read_text().strip().split("\n\n")
"""Queries, and what is said of them."""


@pytest.mark.parametrize("refused", REFUSED)
def test_what_is_refused(refused: str) -> None:
    query, sentence = refused.split("\n! ")
    with pytest.raises(ff.QueryError, match=re.escape(sentence)) as error:
        ff.sql(query, t=TRIPS, trips=TRIPS)
    assert len(str(error.value).splitlines()) == 1


def test_events_with_keys_or_another_time_are_refused() -> None:
    query = "SELECT COUNT(*) FROM TUMBLE(t, at, 10) GROUP BY window_start"
    for of in (ff.events(TRIPS, time="at", by="zone"), ff.events(TRIPS, time="speed")):
        with pytest.raises(ff.QueryError, match="expected events with time='at', without by="):
            ff.sql(query, t=of)


def test_no_text() -> None:
    with pytest.raises(ff.QueryError, match=r"sql\(\) is given 3; expected a query as text"):
        ff.sql(3)  # type: ignore[arg-type]
