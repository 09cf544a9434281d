"""Cases of given windows, running results and landmarks, snapshots of interval events, and set operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

import framefold as ff

from .cases_model import Case, Clock, Result, event, intervals, points, semantics, stamped, values, windows
from .cases_rows import ENDS

Make = Callable[[Clock], Any]


def given(
    starts: Sequence[int], ends: Sequence[int], at: Sequence[int], obsolete: Sequence[int] | None = None, **choices: Any
) -> Make:
    """Windows from another data set."""

    def made(clock: Clock) -> Any:
        columns = {"from": starts, "to": ends, "at": at} | ({} if obsolete is None else {"obsolete": obsolete})
        anchors = pa.table({name: clock.column(ticks) for name, ticks in columns.items()})
        checked = {} if obsolete is None else {"obsolete": "obsolete"}
        return ff.windows_from(anchors, start="from", end="to", at="at", **checked, **choices)

    return made


def psi_dynamic() -> Iterator[Case]:
    """psi's dynamic windows, in the order of their messages."""
    for vector in semantics("psi_dynamic"):
        if isinstance(vector["expected"], dict):
            continue  # an error: test_vectors.py
        obsolete, starts, ends = zip(*vector["input"]["windows"], strict=True)
        closed = ENDS[vector["params"]["left_inclusive"], vector["params"]["right_inclusive"]]
        of = given(starts, ends, range(len(starts)), obsolete, closed=closed)
        events = [event(value, "*", value) for value in vector["input"]["data"]]
        yield Case(vector["id"], "anchors", of, events, "list", values, vector["expected"])
    for vector in semantics("psi_dynamic_clock"):
        params, anchors = vector["params"], vector["input"]["anchors"]
        starts = [at - params["before"] for at in anchors]
        of = given(starts, [at + params["after"] for at in anchors], anchors, starts, closed="both")
        want = [(row["t"], row["window"]) for row in vector["expected"]]
        yield Case(vector["id"], "anchors", of, points(vector["input"]["source"]), "list_s", stamped, want)


def deviations() -> Iterator[Case]:
    """PSI-21: the deviation of none or one is null here, and 0 in psi: a fill_null away."""
    for vector in semantics("window_std"):
        groups = vector["input"]
        events = [event(100 * n + t, "*", x) for n, group in enumerate(groups) for t, x in enumerate(group)]
        starts = [100 * n for n in range(len(groups))]
        of = given(starts, [start + 100 for start in starts], starts)

        def filled(rows: list[Result]) -> list[Any]:
            return [0.0 if row.value is None else row.value for row in rows]

        yield Case(vector["id"], "anchors", of, events, "std", filled, [float(x) for x in vector["expected"]])


def running(clock: Clock) -> Any:
    return ff.landmark()


def psi_running() -> Iterator[Case]:
    """Everything so far, for each event."""
    for vector in semantics("psi_running"):
        events = [event(t, "*", value) for t, value in enumerate(vector["input"])]
        yield Case(vector["id"], "landmark", running, events, vector["params"]["agg"], values, vector["expected"])
    for vector in semantics("psi_running_special"):
        for name, operation in (("min", "min_or_nan"), ("std", "std")):
            events = [event(t, "*", float(x)) for t, x in enumerate(vector["input"][name])]
            want = [float(x) for x in vector["expected"][name]]

            def filled(rows: list[Result]) -> list[Any]:  # where psi has NaN of too few values, null
                return [float("nan") if row.value is None else row.value for row in rows]

            yield Case(f"{vector['id']} {name}", "landmark", running, events, operation, filled, want)


def landmarks() -> Iterator[Case]:
    """R56, closed at both ends: a result for each event, and one a tick; an event at every tick."""
    for vector in semantics("ps_landmark"):
        params, times = vector["params"], vector["input"]
        events = [event(t, "*", t) for t in range(params["tau0"], max(times) + 1)]
        want = [None if each is None else [*range(each[0], each[1] + 1)] for each in vector["expected"]]

        def read(rows: list[Result], times: Sequence[int] = times) -> list[Any]:
            found = {row.at: row.value for row in rows}
            return [found.get(time) for time in times]

        for name, every in (("", None), (" every tick", 1)):
            of = landmark(params["lower"], params.get("upper"), every)
            yield Case(vector["id"] + name, "landmark", of, events, "list", read, want)


def landmark(since: int, until: int | None, every: int | None) -> Make:
    def made(clock: Clock) -> Any:
        step = {} if every is None else {"every": clock.span(every), "stamp": "end"}
        return ff.landmark(clock.at(since), clock.at(until), closed="both", **step)

    return made


def snapshot(clock: Clock) -> Any:
    return ff.snapshot()


def snapshots() -> Iterator[Case]:
    """What is alive between any two changes: StreamInsight and Trill."""
    names = {"percentile_cont": "percentile"}
    for vector in [*semantics("snapshot"), *semantics("snapshot_agg"), *semantics("snapshot_where")]:
        name = vector["params"].get("agg", "where")
        want = [(*row["result"], "*", row.get("value", row.get("sum"))) for row in vector["expected"]]
        events = intervals(vector["input"])
        yield Case(vector["id"], "snapshot", snapshot, events, names.get(name, name), windows, want)
    for vector in semantics("trill_chop"):
        yield chop(vector)
    for vector in semantics("ps_difference"):
        yield multiset_difference(vector)


def chop(vector: dict[str, Any]) -> Case:
    """TR-CHOP: tumbling windows cut lifetimes at the grid; each event is a key, so that its pieces are its rows."""
    events = [event(start, f"{n}", 1, until=end) for n, (start, end) in enumerate(vector["input"])]
    lives = {f"{n}": life for n, life in enumerate(vector["input"])}

    def read(rows: list[Result]) -> list[Any]:
        # how long it lives in a window is what Covered says; it starts there, or where the window does
        starts = [max(row.start, lives[row.key or ""][0]) for row in rows]
        pieces = [(row.key, [start, start + row.value]) for row, start in zip(rows, starts, strict=True)]
        return [[piece for key, piece in pieces if key == each] for each in lives]

    period = vector["params"]["period"]
    of = lambda clock: ff.tumbling(clock.span(period))  # noqa: E731
    return Case(vector["id"], "intervals on a grid", of, events, "covered", read, vector["expected"])


def multiset_difference(vector: dict[str, Any]) -> Case:
    """PS-21: arrivals and expirations as lifetimes; the state after each step, and what changed."""
    steps, events = vector["input"], []
    for step, (window, sign, item) in enumerate(steps):
        if sign == "+":
            column = {"s": item} if window == 1 else {"other": item}
            events.append({"t": step, "key": "*", "until": len(steps), "window": window, "item": item, **column})
        else:  # the oldest that is alive leaves
            alive = [row for row in events if (row["window"], row["item"]) == (window, item) and row["until"] > step]
            alive[0]["until"] = step
    want = [(step, each["state"], each["delta"]) for step, each in enumerate(vector["expected"])]

    def read(rows: list[Result]) -> list[Any]:
        found, before = [], dict[str, int]()
        for step in range(len(steps)):
            state = next((dict(row.value) for row in rows if row.start <= step < row.end), {})
            change = {item: state.get(item, 0) - before.get(item, 0) for item in sorted({*state, *before})}
            found.append((step, state, {item: by for item, by in change.items() if by}))
            before = state
        return found

    return Case(vector["id"], "snapshot", snapshot, events, "difference", read, want)


def unions() -> Iterator[Case]:
    """PS-22: a union keeps times and adds multiplicities; of tables it is one after the other."""
    for vector in semantics("ps_union"):
        events = [event(t, item) for part in vector["input"].values() for item, t in part]

        def read(rows: list[Result]) -> list[Any]:
            return [[row.key, row.start, row.value] for row in sorted(rows, key=lambda row: (row.start, row.key))]

        of = lambda clock: ff.tumbling(clock.span(1))  # noqa: E731
        yield Case(vector["id"], "grid", of, events, "count", read, vector["expected"])


def groups() -> Iterator[Case]:
    """TR-GROUP: aggregates of groups inside a window."""
    for vector in semantics("trill_group"):
        events = [event(t, "*", value, s=str(value // 100)) for t, value in enumerate(vector["input"])]

        def read(rows: list[Result]) -> list[Any]:
            [row] = rows
            return [int(key) * 100 + n * 10 + rest for key, (n, rest) in row.value.items()]

        of = lambda clock: ff.tumbling(clock.span(100))  # noqa: E731
        yield Case(vector["id"], "grid", of, events, "rest_by_hundred", read, vector["expected"])


def cases() -> list[Case]:
    """All of them."""
    makers = (psi_dynamic, deviations, psi_running, landmarks, snapshots, unions, groups)
    return [case for make in makers for case in make()]
