"""The cases of `vectors/` that a grid of time windows covers, brought to one shape; and what the others wait for."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from .oracle import Grid

HERE = Path(__file__).parent / "vectors"

COLUMNS = pa.schema(
    {
        "t": pa.int64(),
        "key": pa.string(),
        "v": pa.int64(),
        "s": pa.string(),
        "d": pa.decimal128(10, 2),
        "x": pa.float64(),
        "f": pa.float32(),
    }
)

# The cases that need a kind of window, an operation or a stream that is still to be built, by what they wait for.
AWAITED: dict[str, list[str]] = {
    "streams: events that come too late": ["HZ06", "SPL-20", "FL02", "FL06"],
    "streams: watermarks": ["SI-08"],
    "sessions": ["HZ22", "HZ24", "HZ26", "FL04", "TR-SESS1", "TR-SESS3", "TR-SESS5"],
    "windows of rows, over everything or per key": ["FL16", "SI-12", "PS-11", "PS-13", "PS-14", "PS-18"],
    "SPL's eviction and trigger policies": [f"SPL-{number:02}" for number in (*range(1, 18, 2), 18, 19)],
    "windows around each event, by rows": [
        *("PSI-01", "PSI-03", "PSI-05", "PSI-07", "PSI-09", "PSI-AVE-NN", "PSI-SUM-NN", "PSI-MIN-NN", "PSI-MAX-NN"),
    ],
    "windows around each event, by time": [
        *("PSI-10", "PSI-12", "PSI-14", "PSI-16", "PSI-17", "PSI-23", "PSI-25"),
        *("PSI-AVE-T", "PSI-SUM-T", "PSI-MIN-T", "PSI-MAX-T"),
    ],
    "closed at both ends": ["X-01"],
    "windows from another data set": [*(f"PSI-DYN-{number:02}" for number in range(1, 12, 2)), "PSI-22"],
    "landmarks, and running results": ["PSI-RUN-count", "PSI-RUN-avg", "PSI-RUN-min", "PSI-20", "PS-08", "PS-10"],
    "another result where a deviation is undefined": ["PSI-21"],
    "the scope of a window as a relation": ["PS-02", "PS-04", "PS-06", "PS-07", "PS-17"],
    "interval events and snapshots": [
        *("SI-10", "TR-SUM", "TR-COUNT", "TR-MIN", "TR-PCONT", "TR-WHERE", "TR-CLIP", "TR-CHOP"),
        *("TR-Q1", "TR-Q3", "TR-Q5", "TR-Q7"),
    ],
    "aggregates of groups inside a window": ["TR-GROUP"],
    "window algebra": [
        *("PS-15", "PS-19", "PS-20", "PS-21", "PS-22", "PS-23", "PS-24", "PS-25", "PS-27", "PS-28"),
    ],
}

# Batch has no late events: in these windows it counts the row that the stream of the original had lost.
LATE_IN_THE_ORIGINAL = {"FL02": (-5, 5, "a", [5, 16.65, 5.0, 1.0, 2]), "FL06": (-5, 5, "*", [5, 16.65, 5.0, 1.0, 2])}

# X-01 lists every boundary convention; these are the two that a grid has.
CLOSED = {
    "left": ["si_jet_spark_osstreams_eventtime", "trill_quantize_window_ending_t"],
    "right": ["psi_past_left_open", "paper_scope", "paper_Q1", "trill_hopping_at_t"],
}


@dataclass(frozen=True)
class Case:
    """Events as rows of COLUMNS, a grid, the operation, and the right rows (start, end, key, result)."""

    id: str
    grid: Grid
    events: list[dict[str, Any]]
    operation: str
    expected: list[tuple[int, int, str | None, Any]]


def load(name: str) -> list[dict[str, Any]]:
    """The cases of one file of vectors."""
    content = json.loads((HERE / name).read_text())
    return content if isinstance(content, list) else content["vectors"]


def all_ids() -> list[str]:
    """The names of all cases of both files."""
    return [vector["id"] for name in ("hazelcast_flink.json", "semantics.json") for vector in load(name)]


def event(t: int, key: str | None, value: Any = None) -> dict[str, Any]:
    """An event with its value in the column of its type."""
    return {"t": t, "key": key, "s" if isinstance(value, str) else "v": value}


def wide_event(
    t: int, key: str | None, d: float | None, x: float | None, f: float | None, s: str | None
) -> dict[str, Any]:
    """An event of Flink's tests: a decimal, a double, a float and a string."""
    return {"t": t, "key": key, "d": None if d is None else Decimal(str(d)), "x": x, "f": f, "s": s}


def hazelcast_flink() -> Iterator[Case]:
    """The cases of hazelcast_flink.json."""
    for vector in load("hazelcast_flink.json"):
        window, operation = vector["window"], vector["op"]
        if window["type"] not in ("time_sliding", "time_tumbling") or "watermark_before" in vector:
            continue
        grid = Grid(window["size"], window["slide"], window["offset"])
        if vector["id"] == "HZ18":
            events = [event(t, "k", t) for t in range(1024)]
            sums = [(2, 1), *((end, 4 * end - 10) for end in range(4, 1025, 2)), (1026, 2045)]
            expected: list[Any] = [(end - 4, end, "k", total) for end, total in sums]
        else:
            make = wide_event if operation.startswith("multi") else event
            events = [make(*row) for row in vector["events"]]
            expected = [tuple(row) for row in vector["expected"]]
        if vector["id"] == "HZ04":
            random.Random(4).shuffle(events)  # as its note asks
        if operation == "multi_nokey":
            events = [{**row, "key": "*"} for row in events]
        if late := LATE_IN_THE_ORIGINAL.get(vector["id"]):
            expected = [late if row[:3] == late[:3] else row for row in expected]
        yield Case(vector["id"], grid, events, operation.removesuffix("_nokey"), expected)


def grids_of_semantics() -> Iterator[Case]:
    """The cases of semantics.json that are windows on a grid."""
    for vector in load("semantics.json"):
        kind, params, rows = vector["op"], vector["params"], vector["input"]
        if kind == "hopping":
            events = [event(row["t"], "*", row["v"]) for row in rows]
            expected = [(*row["window"], "*", row["sum"]) for row in vector["expected"]]
            yield Case(vector["id"], Grid(params["size"], params["hop"]), events, "sum", expected)
        elif kind == "jet":  # all their watermarks pass the last window, so a batch gives the same
            events = [event(row["t"], "*", row["v"]) for row in rows if "t" in row]
            expected = [(*row["window"], "*", row[params["agg"]]) for row in vector["expected"]["out"]]
            yield Case(vector["id"], Grid(params["size"], params["step"]), events, params["agg"], expected)
        elif kind == "jet_two_stage":
            events = [event(t, key, value) for member in rows.values() for key, t, value in member]
            expected = [(*row["window"], row["key"], row["avg"]) for row in vector["expected"]]
            yield Case(vector["id"], Grid(params["size"], params["step"]), events, params["agg"], expected)
        elif kind == "trill_hopping":
            yield trill(vector)
        elif kind == "ps_q1":
            start, end = vector["expected"]["interval_open_closed"]
            events = [event(t, "*", t) for t in rows["ts"]]
            grid = Grid(params["extent"], params["slide"], closed="right")
            yield Case(vector["id"], grid, events, "list", [(start, end, "*", vector["expected"]["in"])])
        elif kind == "boundary":
            t, width = params["t"], params["w"]
            for closed, names in CLOSED.items():
                for name in names:
                    expected = [(t - width, t, "*", vector["expected"][name])]
                    events = [event(tick, "*", tick) for tick in rows]
                    yield Case(f"{vector['id']} {name}", Grid(width, 1, closed=closed), events, "list", expected)


def trill(vector: dict[str, Any]) -> Case:
    """Trill gives a result from kP on, for events in (kP - W, kP], and only once while it does not change."""
    params = vector["params"]
    size, period, name = params["size"], params["period"], params["agg"]
    expected = [
        (end - size, end, row.get("key", "*"), row[name])
        for row in vector["expected"]
        for end in range(row["result"][0], row["result"][1], period)
    ]
    events = [event(row["t"], row.get("key", "*"), row["v"]) for row in vector["input"]]
    # Its windows end on the grid; ours start on it, which is another place where the period leaves gaps.
    return Case(vector["id"], Grid(size, period, -size % period, closed="right"), events, name, expected)


CASES = [*hazelcast_flink(), *grids_of_semantics()]
ONE_WINDOW_ONLY = {"PS-01", "X-01"}  # these say what one window holds, and nothing of its neighbours


def table(events: list[dict[str, Any]], time: pa.DataType | None = None) -> pa.Table:
    """Events as an Arrow table; the ticks are seconds or days since 1970 where `time` is a timestamp or a date."""
    rows = pa.Table.from_pylist([{name: row.get(name) for name in COLUMNS.names} for row in events], COLUMNS)
    if time is None or pa.types.is_integer(time):
        return rows
    second = dt.timedelta(days=1) if pa.types.is_date(time) else dt.timedelta(seconds=1)
    start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    times = [start + row["t"] * second for row in events]
    return rows.set_column(0, "t", pa.array([x.date() if pa.types.is_date(time) else x for x in times], time))
