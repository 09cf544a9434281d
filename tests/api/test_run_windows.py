"""``framefold run --window``: every kind of windows, with what DuckDB makes of the same events."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..oracles.duck import asked
from ..support.command_line import KINDS_OF_WINDOWS as KINDS
from ..support.command_line import main, read_windows

START = dt.datetime(2024, 3, 30, 20)
ROWS = 300
EVENTS = pa.table(
    {
        "at": pa.array([START + dt.timedelta(seconds=i * 7919 % 172_801) for i in range(ROWS)], pa.timestamp("us")),
        "k": [["a", "b"][i % 2] for i in range(ROWS)],
        "x": [i * 37 % 101 for i in range(ROWS)],
    }
)

QUERIES = {
    "session:15 minutes": """
        WITH marked AS (
            SELECT *, "at" - lag("at") OVER w < INTERVAL 15 MINUTE AS goes_on
            FROM events WINDOW w AS (PARTITION BY k ORDER BY "at")
        ), numbered AS (
            SELECT *, count(*) FILTER (WHERE goes_on IS NOT TRUE) OVER (PARTITION BY k ORDER BY "at") AS id FROM marked
        )
        SELECT k, min("at") AS s, count(*), sum(x) FROM numbered GROUP BY k, id ORDER BY k, s""",
    "last_rows:10": """
        SELECT k, min("at") OVER w, count(*) OVER w, sum(x) OVER w
        FROM events WINDOW w AS (PARTITION BY k ORDER BY "at" ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)
        ORDER BY k, "at\"""",
    "around:time=-1 hour,30 minutes": """
        SELECT k, "at" - INTERVAL 1 HOUR, count(*) OVER w, sum(x) OVER w FROM events WINDOW w AS (
            PARTITION BY k ORDER BY "at" RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND INTERVAL 30 MINUTE FOLLOWING)
        ORDER BY k, "at\"""",
    "landmark": """
        SELECT k, NULL, count(*) OVER w, sum(x) OVER w
        FROM events WINDOW w AS (PARTITION BY k ORDER BY "at") ORDER BY k, "at\"""",
    "landmark:since=2024-03-31": """
        SELECT k, TIMESTAMP '2024-03-31', count(*) OVER w, sum(x) OVER w
        FROM events WHERE "at" >= TIMESTAMP '2024-03-31' WINDOW w AS (PARTITION BY k ORDER BY "at")
        ORDER BY k, "at\"""",
    "cumulating:1 day:every=6 hours": """
        SELECT k, s, count(*), sum(x) FROM events JOIN (
            SELECT s, unnest([6, 12, 18, 24]) AS hours
            FROM (SELECT unnest(range(TIMESTAMP '2024-03-30', TIMESTAMP '2024-04-03', INTERVAL 1 DAY)) AS s)
        ) ON "at" >= s AND "at" < s + to_hours(hours) GROUP BY k, s, hours ORDER BY k, s, hours""",
    "tumbling:1 month": """
        SELECT k, date_trunc('month', "at") AS s, count(*), sum(x) FROM events GROUP BY k, s ORDER BY k, s""",
    "policy:evict=count 5": """
        SELECT k, min("at") OVER w, count(*) OVER w, sum(x) OVER w
        FROM events WINDOW w AS (PARTITION BY k ORDER BY "at" ROWS BETWEEN 4 PRECEDING AND CURRENT ROW)
        ORDER BY k, "at\"""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("events")
    pq.write_table(EVENTS, folder / "e.parquet")
    zoned = EVENTS.set_column(0, "at", EVENTS["at"].cast(pa.timestamp("us", "UTC")))
    pq.write_table(zoned, folder / "zoned.parquet")
    lasting = pa.table({"from": [0, 4, 12], "to": [10, 14, 20]})
    pq.write_table(lasting, folder / "lasting.parquet")
    return folder


def result(
    folder: Path, *arguments: str, events: str = "e.parquet", time: str = "at", engine: str = "local"
) -> pa.Table:
    out = folder / "result.arrow"
    said = [str(folder / events), "--time", time, *arguments, "--out", str(out), "--preview", "0"]
    assert main(["run", *said, "--engine", engine]) == 0
    return pa.feather.read_table(out)


@pytest.mark.parametrize("window", QUERIES)
def test_every_kind_gives_what_duckdb_gives(window: str, folder: Path) -> None:
    table = result(folder, "--by", "k", "--window", window, "--agg", "n=count", "--agg", "s=sum:x")
    wanted = asked(QUERIES[window], events=EVENTS).fetchall()
    starts = table["window"].combine_chunks().field("start").to_pylist()
    if wanted[0][1] is None:  # everything so far begins with the first event, or at no time
        wanted = [(k, start, *rest) for (k, _, *rest), start in zip(wanted, starts, strict=True)]
    found = list(zip(table["k"].to_pylist(), starts, table["n"].to_pylist(), table["s"].to_pylist(), strict=True))
    assert found == wanted


def test_spark_has_them_too(folder: Path, spark: Any) -> None:
    arguments = ["--by", "k", "--window", "session:15 minutes", "--agg", "n=count", "--agg", "s=sum:x"]
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        found = result(folder, *arguments, engine="spark")
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    assert found.drop_columns("window").to_pylist() == result(folder, *arguments).drop_columns("window").to_pylist()


def test_days_of_a_zone_have_its_hours(folder: Path) -> None:
    """On 31 March 2024 clocks in Berlin went forward."""
    table = result(
        folder, "--window", "1 day", "--timezone", "Europe/Berlin", "--agg", "n=count", events="zoned.parquet"
    )
    rows = asked(
        """
        SELECT (date_trunc('day', "at" AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin')) AS d, count(*)
        FROM events GROUP BY d ORDER BY d""",
        events=EVENTS,
    ).fetchall()
    assert table["n"].to_pylist() == [n for _, n in rows]
    lengths = [row["end"] - row["start"] for row in table["window"].to_pylist()]
    assert lengths.count(dt.timedelta(hours=23)) == 1
    assert set(lengths) == {dt.timedelta(hours=23), dt.timedelta(hours=24)}


def test_events_that_last(folder: Path) -> None:
    """Three loads, by hand: what is under way between any two changes."""
    table = result(
        folder, "--until", "to", "--window", "snapshot", "--agg", "n=count", events="lasting.parquet", time="from"
    )
    assert [(row["window"]["start"], row["window"]["end"], row["n"]) for row in table.to_pylist()] == [
        (0, 4, 1), (4, 10, 2), (10, 12, 1), (12, 14, 2), (14, 20, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "options", "windows"),
    [
        ("60", {}, ff.tumbling(60)),
        (
            "1 hour",
            {"every": "1 minute", "offset": "30 seconds"},
            ff.sliding("1 hour", "1 minute", offset="30 seconds"),
        ),
        ("session:3:longest=9,merge_touching=true", {}, ff.session(3, longest=9, merge_touching=True)),
        ("last-rows:10", {"every": "3", "gaps": "allow"}, ff.last_rows(10, 3, gaps="allow")),
        (
            "landmark:since=2024-05-01T00:30,every=1 hour",
            {},
            ff.landmark(dt.datetime(2024, 5, 1, 0, 30), None, "1 hour"),
        ),
        ("around:rows=-2,0", {}, ff.around(rows=(-2, 0))),
        (
            "policy:evict=time 5 minutes,trigger=delta x 0.5",
            {},
            ff.policy(ff.by_time("5 minutes"), ff.by_delta("x", 0.5)),
        ),
        ("tumbling:1 month", {"timezone": "Asia/Tokyo"}, ff.tumbling("1 month", timezone="Asia/Tokyo")),
        ("snapshot:emit=every", {}, ff.snapshot()),
    ],
)
def test_text_is_read_as_python_writes_it(text: str, options: dict[str, str | None], windows: Any) -> None:
    assert read_windows(text, options) == windows


def test_no_kind_is_left_out() -> None:
    """Windows from another data set are of two files."""
    constructors = {name for name in ff.__all__ if name in vars(ff.runtime.windows)} - {"windows_from"}
    assert KINDS.keys() == {name for name in constructors if not name.startswith("by_")}
