"""Cases of windows on a grid of time, and of sessions: Jet, Flink, StreamInsight, Trill, and Patroumpas and Sellis."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

import framefold as ff

from .cases_model import Case, Clock, Result, event, load, points, semantics, windows

# Batch has no late events: in these windows it counts the row that the stream of the original had lost.
LATE_IN_THE_ORIGINAL = {"FL02": (-5, 5, "a", [5, 16.65, 5.0, 1.0, 2]), "FL06": (-5, 5, "*", [5, 16.65, 5.0, 1.0, 2])}

OPERATIONS_OF_JET = {"list": "list", "set": "set", "multi": "multi", "multi_nokey": "multi", "count_nonnull": "count_v"}


def sliding(size: int, every: int, offset: int = 0, **choices: Any) -> Callable[[Clock], Any]:
    return lambda clock: ff.sliding(
        clock.span(size), clock.span(every), offset=clock.span(offset), gaps="allow", **choices
    )


def events_of(vector: dict[str, Any]) -> list[dict[str, Any]]:
    if isinstance(vector["events"], dict):  # HZ18: ts = value = 0..1023
        return [event(t, "k", t) for t in range(1024)]
    if not vector["op"].startswith("multi"):
        return [event(*row) for row in vector["events"]]
    # An event of Flink's tests: a decimal, a double, a float and a string.
    events = [dict(zip(("t", "key", "d", "x", "f", "s"), row, strict=True)) for row in vector["events"]]
    key = {"key": "*"} if vector["op"] == "multi_nokey" else {}
    return [row | {"d": row["d"] and Decimal(str(row["d"]))} | key for row in events]


def expected_of(vector: dict[str, Any]) -> list[Any]:
    if isinstance(vector["expected"], dict):  # HZ18: a formula
        sums = [(2, 1), *((end, 4 * end - 10) for end in range(4, 1025, 2)), (1026, 2045)]
        return [(end - 4, end, "k", total) for end, total in sums]
    rows = [tuple(row) for row in vector["expected"]]
    if late := LATE_IN_THE_ORIGINAL.get(vector["id"]):
        rows = [late if row[:3] == late[:3] else row for row in rows]
    return rows


def hazelcast_flink() -> Iterator[Case]:
    """The cases of hazelcast_flink.json, but for windows of counts and of streams alone."""
    for vector in load("hazelcast_flink.json"):
        window = vector["window"]
        if window["type"] == "count_tumbling" or "watermark_before" in vector:
            continue
        events, operation = events_of(vector), vector["op"]
        if vector["id"] == "HZ04":
            random.Random(4).shuffle(events)  # as its note asks
        name = OPERATIONS_OF_JET.get(operation, operation.removesuffix("_nonnull"))
        if operation == "count_nonnull" and any("s" in row for row in events):
            name = "count_s"
        if window["type"] == "session":
            yield Case(vector["id"], "session", session(window), events, name, windows, expected_of(vector))
        else:
            of = sliding(window["size"], window["slide"], window["offset"])
            yield Case(vector["id"], "grid", of, events, name, windows, expected_of(vector))


def session(window: dict[str, Any]) -> Callable[[Clock], Any]:
    longest = window.get("longest")
    return lambda clock: ff.session(
        clock.span(window["gap"]),
        merge_touching=window["touching_merges"],
        longest=None if longest is None else clock.span(longest),
    )


def streaminsight() -> Iterator[Case]:
    """Hopping windows; the point result is at the window's end, for one tick."""

    def read(rows: list[Result]) -> list[Any]:
        return [{"window": [row.start, row.end], "sum": row.value, "result": [row.at, row.at + 1]} for row in rows]

    for vector in semantics("hopping"):
        size, hop = vector["params"]["size"], vector["params"]["hop"]
        events, want = points(vector["input"]), vector["expected"]
        yield Case(vector["id"], "grid", sliding(size, hop, stamp="end"), events, "sum", read, want)
        if vector["id"] == "SI-05":  # as its note says: once, where results are given on change
            once = sliding(size, hop, stamp="end", emit="on_change")
            yield Case("SI-05 on change", "grid", once, events, "sum", read, want[:1])


def jet() -> Iterator[Case]:
    """Jet's: all their watermarks pass the last window, so a batch gives the same."""
    for vector in semantics("jet"):
        params = vector["params"]
        want = [(*row["window"], "*", row[params["agg"]]) for row in vector["expected"]["out"]]
        events = points(row for row in vector["input"] if "t" in row)
        of = sliding(params["size"], params["step"])
        yield Case(vector["id"], "grid", of, events, params["agg"], windows, want)
    for vector in semantics("jet_two_stage"):
        params = vector["params"]
        want = [(*row["window"], row["key"], row["avg"]) for row in vector["expected"]]
        events = [event(t, key, value) for member in vector["input"].values() for key, t, value in member]
        of = sliding(params["size"], params["step"])
        yield Case(vector["id"], "grid", of, events, params["agg"], windows, want)


def trill_hopping() -> Iterator[Case]:
    """Trill gives a result from kP on, for events in (kP - W, kP], and only once while it does not change."""
    for vector in semantics("trill_hopping"):
        params = vector["params"]
        size, period, name = params["size"], params["period"], params["agg"]
        want = [
            (end - size, end, row.get("key", "*"), row[name])
            for row in vector["expected"]
            for end in range(*row["result"], period)
        ]
        # Its windows end on the grid; ours start on it, which is another place where the period leaves gaps.
        of = sliding(size, period, -size % period, closed="right")
        yield Case(vector["id"], "grid", of, points(vector["input"]), name, windows, want)


def trill_quantize() -> Iterator[Case]:
    """T4: an event lives from the first to the last instant at which some result has it.

    A result over [s, e) is Trill's for the last step before e. Progressive results grow within each period: windows
    that cumulate where the size is the period, and given ones (see `progressive`) where it is longer.
    """
    for vector in semantics("trill_quantize"):
        params = vector["params"]
        size, period, offset = params["size"], params["period"], params.get("offset", 0)
        step = params.get("progress", period)
        # each event is a key, so that the windows it is in are those of its key
        events = [event(row["t"], f"{number:02}", 1) for number, row in enumerate(vector["input"])]

        def read(rows: list[Result], step: int = step) -> list[Any]:
            keys = sorted({row.key or "" for row in rows})
            ends = [[row.end for row in rows if row.key == key] for key in keys]
            return [[min(each) - step, max(each)] for each in ends]

        of: Callable[[Clock], Any] = sliding(size, period, offset)
        if step != period:
            of = cumulating(size, step, offset) if size == period else progressive(size, period, offset, step)
        yield Case(vector["id"], "anchors" if size != period else "grid", of, events, "count", read, vector["expected"])


def cumulating(size: int, step: int, offset: int) -> Callable[[Clock], Any]:
    return lambda clock: ff.cumulating(clock.span(size), clock.span(step), offset=clock.span(offset))


def progressive(size: int, period: int, offset: int, step: int) -> Callable[[Clock], Any]:
    """Windows that end at every step, and start where the one starts that ends with the period of that step."""
    ends = range(-size, 2 * size, step)
    starts = [(end - step - offset) // period * period + offset + period - size for end in ends]

    def made(clock: Clock) -> Any:
        anchors = {"start": clock.column(starts), "end": clock.column(ends)}
        return ff.windows_from(pa.table(anchors), start="start", end="end", empty="skip")

    return made


def contents(params: dict[str, Any], times: list[int]) -> Callable[[list[Result]], Any]:
    """What is in scope at some times: the window that ends there, or at the last refresh before (R51)."""
    refreshes = [time - (time - params["tau0"]) % params["beta"] for time in times]

    def read(rows: list[Result]) -> list[Any]:
        found = {row.end: row.value for row in rows}
        return [found.get(time, []) for time in refreshes]

    return read


def paper() -> Iterator[Case]:
    """Scopes (t - w, t] of Patroumpas and Sellis."""
    for vector in semantics("ps_q1"):
        start, end = vector["expected"]["interval_open_closed"]
        of = sliding(vector["params"]["extent"], vector["params"]["slide"], closed="right")
        events = [event(t, "*", t) for t in vector["input"]["ts"]]
        yield Case(vector["id"], "grid", of, events, "list", only(start, end), vector["expected"]["in"])
    for vector in semantics("ps_scope"):
        of = scope(vector["params"])
        events = [event(t, "*", t) for t in range(vector["params"]["tau0"], 20)]  # one at every instant
        want = [[*range(low, high + 1)] for low, high in vector["expected"]]
        yield Case(vector["id"], "grid", of, events, "list", contents(vector["params"], vector["input"]), want)
    for vector in semantics("ps_expiry"):
        yield Case(vector["id"], "grid", scope(vector["params"]), *expiry(vector))
    for vector in semantics("ps_groupby"):
        params = vector["params"]
        events = [event(t, key, v) for t, key, v in vector["input"]]
        yield Case(vector["id"], "grid", scope(params), events, "group_sums", groups(params["taus"]), groups_of(vector))
    for vector in semantics("ps_select"):
        params, rows = vector["params"], vector["input"]["rows"]
        read = contents(params, vector["input"]["taus"])
        want = [[t for t, _ in some] for some in vector["expected"]]
        events = [event(t, "*", warmth) for t, warmth in rows]
        yield Case(vector["id"], "grid", scope(params), events, "warm", read, want)
        kept = [row for row in events if row["v"] >= 30]  # R67: to select before is the same
        yield Case(f"{vector['id']} before", "grid", scope(params), kept, "ticks", read, want)


def scope(params: dict[str, Any]) -> Callable[[Clock], Any]:
    """(t - w, t] at every t = t0 + k * b."""
    size, every = params["omega"], params["beta"]
    return sliding(size, every, (params["tau0"] - size) % every, closed="right")


def only(start: int, end: int) -> Callable[[list[Result]], Any]:
    return lambda rows: next(row.value for row in rows if (row.start, row.end) == (start, end))


def expiry(vector: dict[str, Any]) -> Any:
    """R54: an event is gone at the first refresh after the last that has it."""
    events = [event(t, f"{t:02}", t) for t in vector["input"]]

    def read(rows: list[Result]) -> list[int]:
        keys = sorted({row.key or "" for row in rows})
        return [max(row.end for row in rows if row.key == key) + vector["params"]["beta"] for key in keys]

    return events, "count", read, [row["first_absent_tau"] for row in vector["expected"]]


def groups(taus: list[int]) -> Callable[[list[Result]], Any]:
    return lambda rows: [{row.key: row.value for row in rows if row.end == tau} for tau in taus]


def groups_of(vector: dict[str, Any]) -> list[Any]:
    return [
        {key: [of["sum"], of["count"], of["max"]] for key, of in each["rows"].items()} for each in vector["expected"]
    ]


def event_time_panes() -> Iterator[Case]:
    """SPL-20 as far as a batch goes: what each pane has in the end, late tuples and all."""
    for vector in semantics("spl_event_time"):
        params = vector["params"]
        events = [event(row["t"], str(row["key"]), row["t"]) for row in vector["input"] if "t" in row]
        last = {(str(row["key"]), *row["pane"]): sorted(row["window"]) for row in vector["expected"]}

        def read(rows: list[Result], last: dict[Any, Any] = last) -> dict[Any, Any]:
            found = {(row.key, row.start, row.end): row.value for row in rows}
            return {pane: found.get(pane) for pane in last}

        of = sliding(params["duration"], params["period"], params["offset"])
        yield Case(vector["id"], "grid", of, events, "list", read, last)


def trill_sessions() -> Iterator[Case]:
    """TR-SESS as far as the sessions themselves go; progressive results are those of snapshots (test_vectors.py)."""
    for vector in semantics("trill_session"):
        want: list[tuple[Any, ...]] = []
        for start, end, total in vector["expected"]:  # one row an event: what has come so far in its session
            goes_on = bool(want) and want[-1][1] == start
            want = [*want[:-1], (want[-1][0], end, "*", total)] if goes_on else [*want, (start, end, "*", total)]
        params = vector["params"]
        window = {"gap": params["timeout"], "touching_merges": False, "longest": params.get("max_duration")}
        yield Case(vector["id"], "session", session(window), points(vector["input"]), "sum", windows, want)


def cases() -> list[Case]:
    """All of them."""
    makers = (hazelcast_flink, streaminsight, jet, trill_hopping, trill_quantize, paper, event_time_panes)
    return [case for make in (*makers, trill_sessions) for case in make()]
