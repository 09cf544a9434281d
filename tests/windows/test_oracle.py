"""The definitions of the windows reproduce what the sources themselves give for their examples."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from ..oracles import windows as oracle
from ..oracles.windows import Brute, Row, Window
from ..vectors.cases import LATE_IN_THE_ORIGINAL, load

SEMANTICS = {vector["id"]: vector for vector in load("semantics.json")}
STREAMS = {vector["id"]: vector for vector in load("hazelcast_flink.json")}
SECOND = 10  # ticks: SPL's examples have tenths of seconds
POINTS = {"count": len, "sum": sum, "min": min, "max": max, "list": list, "set": lambda values: sorted(set(values))}


def of(op: str) -> list[Any]:
    """The cases of semantics.json with this `op`."""
    found = [vector for vector in SEMANTICS.values() if vector["op"] == op]
    assert found
    return [pytest.param(vector, id=vector["id"]) for vector in found]


def values(rows: Sequence[Row], window: Window) -> list[Any]:
    """The values of a window that are not null."""
    return [rows[number].value for number in window.rows if rows[number].value is not None]


def aggregate(name: str, some: list[Any]) -> Any:
    """Null of no values (choice 12), but for counts, and for sums, whose vectors are psi's: 0 (R47)."""
    if name == "avg":
        return Fraction(sum(some), len(some)) if some else None
    return POINTS[name](some) if some or name in ("count", "sum", "list") else None


def points(vector: dict[str, Any], scale: int = 1) -> list[Row]:
    return [
        Row(round(row["t"] * scale), row.get("key"), row.get("v"), attr=row.get("v") or 0) for row in vector["input"]
    ]


def policies(params: dict[str, Any]) -> dict[str, Any]:
    def policy(kind: str, much: float) -> Any:
        if kind == "delta":
            return oracle.by_delta("attr", much)
        return oracle.by_time(round(much * SECOND)) if kind == "time" else oracle.by_count(int(much))

    return {name: policy(*params[name]) for name in ("evict", "trigger") if name in params}


@pytest.mark.parametrize("vector", of("spl_sliding"))
def test_spl(vector: dict[str, Any]) -> None:
    rows, until = points(vector, SECOND), vector["params"].get("until")
    windows = oracle.policy(**policies(vector["params"]), until=until and until * SECOND)(rows)
    assert [(window.at, values(rows, window)) for window in windows] == [
        (row["t"] * SECOND, row["window"]) for row in vector["expected"]
    ]


def test_spl_07_is_full_at_the_fifth_insertion() -> None:
    vector = SEMANTICS["SPL-07"]
    rows = points(vector, SECOND)
    windows = oracle.policy(**policies(vector["params"]), min_fill="full")(rows)
    assert [values(rows, window) for window in windows] == [vector["expected"][-1]["window"]]


@pytest.mark.parametrize("vector", of("spl_contents"))
def test_spl_contents(vector: dict[str, Any]) -> None:
    """What a time trigger at each second sees."""
    rows = points(vector, SECOND)
    windows = oracle.policy(**policies(vector["params"]), trigger=oracle.by_time(SECOND), until=7 * SECOND)(rows)
    found = {window.at: values(rows, window) for window in windows}
    for want in vector["expected"]:
        assert found[want["t"] * SECOND] == want["window"]


@pytest.mark.parametrize("vector", of("spl_group_rows"))
def test_spl_groups(vector: dict[str, Any]) -> None:
    rows = points(vector, SECOND)
    together = [Row(row.time, None, row.value) for row in rows]  # keys are no partitions here
    windows = oracle.policy(**policies(vector["params"]), min_fill="full")(together)
    assert len(windows) == len(vector["expected"])
    for window, want in zip(windows, vector["expected"], strict=True):
        members = [rows[number] for number in window.rows]
        groups = {row.key: max(r.value or 0 for r in members if r.key == row.key) for row in members}
        assert (window.at, groups, len(members)) == (want["t"] * SECOND, want["rows"], want["CountAll"])


@pytest.mark.parametrize("vector", of("hopping"))
def test_hopping(vector: dict[str, Any]) -> None:
    rows, params = points(vector), vector["params"]
    windows = oracle.sliding(params["size"], params["hop"], stamp="end")(rows)
    got = [([w.start, w.end], sum(values(rows, w)), w.at) for w in windows]
    assert got == [(row["window"], row["sum"], row["result"][0]) for row in vector["expected"]]


def test_hopping_on_change() -> None:
    """SI-05's note: of five identical results one remains."""
    vector = SEMANTICS["SI-05"]
    windows = oracle.sliding(50, 10, emit="on_change")(points(vector))
    assert [(w.start, w.end) for w in windows] == [(-40, 10)]


def test_alignment() -> None:
    vector = SEMANTICS["SI-07"]
    epoch, hour = dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.timedelta(hours=1)

    def seconds(text: str) -> int:
        return (dt.datetime.fromisoformat(text) - epoch) // dt.timedelta(seconds=1)

    rows = [Row(seconds(text)) for text in vector["input"]]
    aligned = seconds(vector["params"]["alignment_utc"])
    size = vector["params"]["size_h"] * (hour // dt.timedelta(seconds=1))
    windows = oracle.tumbling(size, offset=aligned)(rows)
    got = [(window.start, window.end) for window in windows for _ in window.rows]
    assert got == [tuple(map(seconds, pair)) for pair in vector["expected"]]


@pytest.mark.parametrize("vector", [*of("jet"), *of("jet_two_stage")])
def test_jet(vector: dict[str, Any]) -> None:
    params = vector["params"]
    if vector["op"] == "jet":
        rows = points({"input": [row for row in vector["input"] if "t" in row]})
        expected = vector["expected"]["out"]
    else:
        rows = [Row(t, key, value) for member in vector["input"].values() for key, t, value in member]
        expected = vector["expected"]
    windows = oracle.sliding(params["size"], params["step"])(rows)
    got = [(w.key, [w.start, w.end], aggregate(params["agg"], values(rows, w))) for w in windows]
    assert got == [(row.get("key"), row["window"], row[params["agg"]]) for row in expected]


@pytest.mark.parametrize("vector", of("trill_hopping"))
def test_trill_hopping(vector: dict[str, Any]) -> None:
    """T3: (kP - W, kP] at kP; its results last as long as nothing changes."""
    rows, params = points(vector), vector["params"]
    size, period = params["size"], params["period"]
    windows = oracle.sliding(size, period, offset=-size, closed="right")(rows)
    want = [
        (row.get("key"), end, row[params["agg"]]) for row in vector["expected"] for end in range(*row["result"], period)
    ]
    assert [(w.key, w.end, aggregate(params["agg"], values(rows, w))) for w in windows] == sorted(want, key=str)


@pytest.mark.parametrize("vector", [*of("snapshot"), *of("snapshot_agg"), *of("snapshot_where")])
def test_snapshots(vector: dict[str, Any]) -> None:
    rows = [Row(row["t"], None, row["v"], end=row["end"]) for row in vector["input"]]
    got = [([w.start, w.end], values(rows, w)) for w in oracle.snapshot()(rows)]

    def result(some: list[int]) -> Any:
        name = vector["params"].get("agg")
        if name == "percentile_cont":
            position, some = Fraction(6, 10) * (len(some) - 1), sorted(some)
            low = some[int(position)]
            return low + (position % 1) * (some[min(int(position) + 1, len(some) - 1)] - low)
        if name is None:
            return 100 * len(some) + 10 * sum(v >= 30 for v in some) + sum(30 <= v <= 40 for v in some)
        return aggregate(name, some)

    assert [(bounds, result(some)) for bounds, some in got] == [
        (row["result"], row["value"] if "value" in row else row["sum"]) for row in vector["expected"]
    ]


def test_intervals_in_tumbling_windows() -> None:
    """TR-CHOP: an event is in every window that it intersects (R16), clipped to it (R17)."""
    vector = SEMANTICS["TR-CHOP"]
    for (start, end), pieces in zip(vector["input"], vector["expected"], strict=True):
        row = Row(start, end=end)
        windows = oracle.tumbling(vector["params"]["period"])([row])
        assert [oracle.clipped(row, window) for window in windows] == [b - a for a, b in pieces]
        assert [max(row.time, window.start) for window in windows] == [a for a, _ in pieces]


def test_count_by_start_time() -> None:
    vector = SEMANTICS["SI-12"]
    rows = points({"input": vector["input"]})
    windows = oracle.last_rows(vector["params"]["n"], ties="distinct_time", min_fill="full")(rows)
    assert [([w.start, w.end], values(rows, w)) for w in windows] == [
        (row["window"], row["events"]) for row in vector["expected"]
    ]
    assert [window.end for window in windows] == [row["result"][0] for row in vector["expected"]]


def test_strict_count() -> None:
    vector = SEMANTICS["PS-11"]
    rows = [Row(t, None, value) for t, value in vector["input"]]
    windows = oracle.last_rows(vector["params"]["n"], ties="strict")(rows)
    assert values(rows, windows[-1]) == vector["expected"]


def test_partitioned_count() -> None:
    vector = SEMANTICS["PS-14"]
    rows = [Row(time, key, value) for time, (key, value) in enumerate(vector["input"])]
    windows = oracle.last_rows(vector["params"]["n"])(rows)
    assert {window.key: values(rows, window) for window in windows} == vector["expected"]


def test_max_of_last_rows() -> None:
    vector = SEMANTICS["PS-18"]
    rows = [Row(time, None, value) for time, value in enumerate(vector["input"])]
    windows = oracle.last_rows(vector["params"]["n"])(rows)
    assert [max(values(rows, window)) for window in windows] == vector["expected"]["max"]


def test_expiry_of_count_windows() -> None:
    """PS-13: what was admitted as number rho is gone when number rho + n comes."""
    vector = SEMANTICS["PS-13"]
    n, oldest = vector["params"]["n"], vector["input"]["rho_of_oldest"]
    rows = [Row(number) for number in range(1, 60)]
    alive = [window.at for window in oracle.last_rows(n)(rows) if oldest - 1 in window.rows]
    assert (max(alive, default=0) or 0) + 1 == vector["expected"]["rho_exp"]


def test_tumbling_counts() -> None:
    """FL16: windows of two rows, of which the fifth fires none."""
    vector = STREAMS["FL16"]
    rows = [Row(t, None, value) for t, _, value in vector["events"]]
    windows = oracle.last_rows(vector["window"]["size"], vector["window"]["size"], min_fill="full")(rows)
    assert [[len(w.rows), sum(values(rows, w)) // len(w.rows)] for w in windows] == vector["expected"]


ENDS = {(True, True): "both", (True, False): "left", (False, True): "right", (False, False): "neither"}


def index_windows(vector: dict[str, Any]) -> tuple[list[Row], Brute]:
    params = vector["params"]
    closed = ENDS[params.get("left_inclusive", True), params.get("right_inclusive", True)]
    first, last = sorted((params["from"], params["to"]))  # psi swaps reversed bounds
    return points(vector), oracle.around(rows=(first, last), closed=closed)


@pytest.mark.parametrize("vector", of("psi_index"))
def test_psi_index(vector: dict[str, Any]) -> None:
    rows, windows = index_windows(vector)
    got = [(window.at, values(rows, window)) for window in windows(rows)]
    assert got == [(row["t"], row["window"]) for row in vector["expected"]]


@pytest.mark.parametrize("vector", of("psi_index_agg"))
def test_psi_index_aggregates(vector: dict[str, Any]) -> None:
    rows, windows = index_windows(vector)
    got = [aggregate(vector["params"]["agg"], values(rows, window)) for window in windows(rows)]
    assert got == [None if value is None else Fraction(value) for value in vector["expected"]]


def test_psi_09_is_stamped_with_the_anchor() -> None:
    rows, windows = index_windows(SEMANTICS["PSI-09"])
    assert [window.at for window in windows(rows)] == list(range(7))


@pytest.mark.parametrize("vector", of("psi_time"))
def test_psi_time(vector: dict[str, Any]) -> None:
    rows, params = points(vector), vector["params"]
    got = [(w.at, values(rows, w)) for w in oracle.around(time=(params["from"], params["to"]))(rows)]
    assert got == [(row["t"], row["window"]) for row in vector["expected"]]


@pytest.mark.parametrize("vector", of("psi_time_agg"))
def test_psi_time_aggregates(vector: dict[str, Any]) -> None:
    rows, params = points(vector), vector["params"]
    windows = oracle.around(time=(params["from"], params["to"]))(rows)
    got = [aggregate(params["agg"], values(rows, window)) for window in windows]
    assert got == [Fraction(value) for value in vector["expected"]]


@pytest.mark.parametrize("vector", of("psi_time_keyed"))
def test_psi_time_of_keys(vector: dict[str, Any]) -> None:
    rows = [Row(row["t"], key, row["v"]) for key, own in vector["input"].items() for row in own]
    windows = oracle.around(time=(vector["params"]["from"], vector["params"]["to"]))(rows)
    got = {(window.key, window.at): values(rows, window) for window in windows}
    assert got == {(key, row["t"]): some for row in vector["expected"] for key, some in row.items() if key != "t"}


@pytest.mark.parametrize("vector", of("psi_slope"))
def test_psi_slope(vector: dict[str, Any]) -> None:
    rows, windows = index_windows(vector)

    def slope(members: list[Row]) -> Fraction:
        n, mean_t = len(members), Fraction(sum(row.time for row in members), len(members))
        mean_v = Fraction(sum(row.value or 0 for row in members), n)
        steep = sum((row.time - mean_t) * ((row.value or 0) - mean_v) for row in members)
        return Fraction(steep) / sum((row.time - mean_t) ** 2 for row in members)

    got = [(window.at, float(slope([rows[number] for number in window.rows]))) for window in windows(rows)]
    assert got == [(row["t"], pytest.approx(row["slope"])) for row in vector["expected"]]


@pytest.mark.parametrize("vector", of("psi_running"))
def test_psi_running(vector: dict[str, Any]) -> None:
    rows = [Row(time, None, value) for time, value in enumerate(vector["input"])]
    got = [aggregate(vector["params"]["agg"], values(rows, window)) for window in oracle.landmark()(rows)]
    assert got == [Fraction(value) for value in vector["expected"]]


# PSI-DYN-11 expects an error about obsolete times, which only a stream has.
@pytest.mark.parametrize("vector", [case for case in of("psi_dynamic") if case.id != "PSI-DYN-11"])
def test_psi_dynamic(vector: dict[str, Any]) -> None:
    rows = [Row(time, None, time) for time in vector["input"]["data"]]
    anchors = [(None, start, end, at) for at, (_, start, end) in enumerate(vector["input"]["windows"])]
    closed = ENDS[vector["params"]["left_inclusive"], vector["params"]["right_inclusive"]]
    assert [values(rows, window) for window in oracle.windows_from(anchors, closed=closed)(rows)] == vector["expected"]


@pytest.mark.parametrize("vector", of("psi_dynamic_clock"))
def test_psi_clock(vector: dict[str, Any]) -> None:
    rows, params = points({"input": vector["input"]["source"]}), vector["params"]
    anchors = [(None, at - params["before"], at + params["after"], at) for at in vector["input"]["anchors"]]
    got = [(w.at, values(rows, w)) for w in oracle.windows_from(anchors, closed="both")(rows)]
    assert got == [(row["t"], row["window"]) for row in vector["expected"]]


@pytest.mark.parametrize("vector", of("ps_q1"))
def test_range_and_slide(vector: dict[str, Any]) -> None:
    params, rows = vector["params"], [Row(ts, None, ts) for ts in vector["input"]["ts"]]
    windows = oracle.sliding(params["extent"], params["slide"], closed="right")(rows)
    start, end = vector["expected"]["interval_open_closed"]
    assert [values(rows, w) for w in windows if (w.start, w.end) == (start, end)] == [vector["expected"]["in"]]


@pytest.mark.parametrize("vector", of("ps_scope"))
def test_scope(vector: dict[str, Any]) -> None:
    """R51, with an event at every instant: the contents at an instant are those of the last window that ended."""
    params = vector["params"]
    rows = [Row(time) for time in range(params["tau0"], 30)]
    windows = oracle.sliding(params["omega"], params["beta"], offset=params["tau0"] - params["omega"], closed="right")
    ends = {window.end: [rows[window.rows[0]].time, rows[window.rows[-1]].time] for window in windows(rows)}
    got = [ends[max(end for end in ends if end <= now)] for now in vector["input"]]
    assert got == vector["expected"]


@pytest.mark.parametrize("vector", of("ps_landmark"))
def test_landmark(vector: dict[str, Any]) -> None:
    """R56, closed at both ends; an event at every instant."""
    params, rows = vector["params"], [Row(time) for time in range(30)]
    for step in (1, None):
        windows = oracle.landmark(params["lower"], params.get("upper"), step, closed="both")(rows)
        # A frozen window is given again at each later step, with the same bounds.
        ends = {params["lower"] + position: [window.start, window.end] for position, window in enumerate(windows)}
        assert [ends.get(now) for now in vector["input"]] == vector["expected"]


@pytest.mark.parametrize("vector", of("ps_groupby"))
def test_groups_vanish(vector: dict[str, Any]) -> None:
    """R62: a group is there as long as it has events."""
    params, rows = vector["params"], [Row(*event) for event in vector["input"]]
    windows = oracle.sliding(params["omega"], params["beta"], closed="right")(rows)
    for want in vector["expected"]:
        found = {w.key: values(rows, w) for w in windows if w.end == want["tau"]}
        got = {key: {"sum": sum(some), "count": len(some), "max": max(some)} for key, some in found.items()}
        assert got == want["rows"]


@pytest.mark.parametrize("name", SEMANTICS["X-01"]["expected"])
def test_boundaries(name: str) -> None:
    """X-01: one range at one time, by each source's convention."""
    vector = SEMANTICS["X-01"]
    t, width = vector["params"]["t"], vector["params"]["w"]
    rows = [Row(time, None, time) for time in vector["input"]]
    right, left = oracle.sliding(width, 1, closed="right"), oracle.sliding(width, 1)
    windows: dict[str, Brute] = {
        "spl_time": oracle.policy(evict=oracle.by_time(width)),
        "si_jet_spark_osstreams_eventtime": left,
        "psi_past_closed": oracle.around(time=(-width, 0)),
        "psi_past_left_open": oracle.around(time=(-width, 0), closed="right"),
        "paper_scope": right,
        "paper_Q1": right,
        "trill_hopping_at_t": right,
        "trill_quantize_window_ending_t": left,
    }
    [window] = [w for w in windows[name](rows) if (w.end if w.at is None else w.at) == t]
    assert values(rows, window) == vector["expected"][name]


@pytest.mark.parametrize("name", [name for name, v in STREAMS.items() if "watermark_before" not in v])
def test_streams(name: str) -> None:
    """The windows of Jet's and Flink's tests, and what simple operations make of them."""
    vector = STREAMS[name]
    window, op = vector["window"], vector["op"]
    if isinstance(vector["events"], dict) or window["type"].startswith("count"):
        return  # HZ18 is a formula, FL16 has its own test
    events = [(*event[:2], event[2] if len(event) == 3 else None) for event in vector["events"]]
    rows = [Row(t, "*" if op == "multi_nokey" else key, value) for t, key, value in events]
    if window["type"] == "session":
        windows = oracle.session(window["gap"], merge_touching=window["touching_merges"])(rows)
    else:
        windows = oracle.sliding(window["size"], window["slide"], offset=window["offset"])(rows)
    late = LATE_IN_THE_ORIGINAL.get(name)
    expected = [late if late and tuple(row[:3]) == late[:3] else row for row in vector["expected"]]

    def result(w: Window) -> Any:
        some = values(rows, w)
        if op in ("count", "multi", "multi_nokey"):
            return len(w.rows)
        return aggregate(op.replace("_nonnull", ""), some)

    want = [(start, end, key, right[0] if op.startswith("multi") else right) for start, end, key, right in expected]
    got = [(w.start, w.end, w.key, result(w)) for w in windows]
    assert sorted(got, key=lambda row: str(row[:3])) == sorted(want, key=lambda row: str(row[:3]))
