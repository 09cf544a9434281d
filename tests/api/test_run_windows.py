"""``framefold run --window``: every kind of windows, as in Python."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.command_line import KINDS_OF_WINDOWS as KINDS
from ..support.command_line import main, read_windows

START = dt.datetime(2024, 3, 30, 20)
NIGHT = dt.datetime(2024, 3, 31, 0, 30)
ROWS = 300
EVENTS = pa.table(
    {
        "at": pa.array([START + dt.timedelta(seconds=i * 7919 % 172_801) for i in range(ROWS)], pa.timestamp("us")),
        "k": [["a", "b"][i % 2] for i in range(ROWS)],
        "x": [i * 37 % 101 for i in range(ROWS)],
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("events")
    pq.write_table(EVENTS, folder / "e.parquet")
    zoned = EVENTS.set_column(0, "at", EVENTS["at"].cast(pa.timestamp("us", "UTC")))
    pq.write_table(zoned, folder / "zoned.parquet")
    lasting = pa.table({"from": [0, 4, 12], "to": [10, 14, 20]})
    pq.write_table(lasting, folder / "lasting.parquet")
    return folder


def result(folder: Path, *arguments: str, events: str = "e.parquet", time: str = "at") -> pa.Table:
    out = folder / "result.arrow"
    said = [str(folder / events), "--time", time, *arguments, "--out", str(out), "--preview", "0"]
    assert main(["run", *said, "--engine", "local"]) == 0
    return pa.feather.read_table(out)


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
        ("15 minutes", {}, ff.tumbling("15 minutes")),
        ("1 hour", {"every": "10 minutes", "offset": "30 seconds"},
            ff.sliding("1 hour", "10 minutes", offset="30 seconds")),
        ("session:15 minutes:longest=1 hour,merge_touching=true", {},
            ff.session("15 minutes", longest="1 hour", merge_touching=True)),
        ("last-rows:10", {"every": "12", "gaps": "allow"}, ff.last_rows(10, 12, gaps="allow")),
        ("landmark", {}, ff.landmark()),
        ("landmark:since=2024-03-31T00:30,every=1 hour", {}, ff.landmark(NIGHT, None, "1 hour")),
        ("around:rows=-2,0", {}, ff.around(rows=(-2, 0))),
        ("around:time=-1 hour,30 minutes", {}, ff.around(time=("-1 hour", "30 minutes"))),
        ("cumulating:1 day:every=6 hours", {}, ff.cumulating("1 day", every="6 hours")),
        ("policy:evict=count 5", {}, ff.policy(ff.by_count(5))),
        ("policy:evict=time 5 minutes,trigger=delta x 0.5", {},
            ff.policy(ff.by_time("5 minutes"), ff.by_delta("x", 0.5))),
        ("1 day", {"timezone": "Europe/Berlin"}, ff.tumbling("1 day", timezone="Europe/Berlin")),
        ("tumbling:1 month", {"timezone": "Asia/Tokyo"}, ff.tumbling("1 month", timezone="Asia/Tokyo")),
        ("5 business days", {"every": "1 business day"}, ff.sliding("5 business days", every="1 business day")),
    ],
)  # fmt: skip
def test_text_is_read_as_python_writes_it(
    text: str, options: dict[str, str | None], windows: Any, folder: Path
) -> None:
    assert read_windows(text, options) == windows
    said = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    events = "zoned.parquet" if "timezone" in options else "e.parquet"
    found = result(folder, "--by", "k", "--window", text, *said, "--agg", "n=count", "--agg", "s=sum:x", events=events)
    query = ff.events(pq.read_table(folder / events), time="at", by="k").window(windows)
    assert found.to_pylist() == query.aggregate(n=ff.Count(), s=ff.Sum("x")).to_pylist()


def test_numbers_and_defaults() -> None:
    assert read_windows("60", {}) == ff.tumbling(60)
    assert read_windows("snapshot:emit=every", {}) == ff.snapshot()


def test_no_kind_is_left_out() -> None:
    """Windows from another data set are of two files."""
    constructors = {name for name in ff.__all__ if name in vars(ff.runtime.windows)} - {"windows_from"}
    assert KINDS.keys() == {name for name in constructors if not name.startswith("by_")}
