"""Cases of windows counted in rows, of SPL's policies, and of psi's windows around each event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import framefold as ff

from .cases_grid import sliding
from .cases_model import Case, Clock, Result, event, load, points, semantics, stamped, values

SECOND = 10  # ticks: SPL's examples have tenths of seconds
Make = Callable[[Clock], Any]

ENDS = {(True, True): "both", (True, False): "left", (False, True): "right", (False, False): "neither"}


def rule(clock: Clock, kind: str, much: float) -> Any:
    """An eviction or trigger policy as semantics.json writes it."""
    if kind == "delta":
        return ff.by_delta("x", much)
    return ff.by_time(clock.span(round(much * SECOND))) if kind == "time" else ff.by_count(int(much))


def policy(params: dict[str, Any], **choices: Any) -> Make:
    def made(clock: Clock) -> Any:
        rules = {name: rule(clock, *params[name]) for name in ("evict", "trigger") if name in params}
        until = clock.at(round(params["until"] * SECOND)) if "until" in params else None
        return ff.policy(**rules, until=until, gaps="allow", **choices)

    return made


def spl() -> Iterator[Case]:
    """SPL's sliding windows, each trigger with its time and the contents."""
    for vector in semantics("spl_sliding"):
        want = [(row["t"] * SECOND, row["window"]) for row in vector["expected"]]
        events, of = points(vector["input"], SECOND), policy(vector["params"])
        yield Case(vector["id"], "policy", of, events, "list_x", stamped, want)
    for vector in semantics("spl_contents"):
        # What is in at some times is what a time trigger sees there.
        times = {round(t * SECOND) for t in vector["params"]["probe"]}
        trigger = {"trigger": ("time", 1), "until": max(times) / SECOND}
        events = [{**row, "x": 0.0} for row in points(vector["input"], SECOND)]
        want = [(row["t"] * SECOND, row["window"], row["remaining"]) for row in vector["expected"]]
        stay = vector["params"]["evict"][1]

        def read(rows: list[Result], times: set[int] = times, stay: float = stay) -> list[Any]:
            found = [(row.at or 0, *row.value) for row in rows if row.at in times]
            return [(at, some, [stay - (at - tick) / SECOND for tick in ticks]) for at, some, ticks in found]

        yield Case(vector["id"], "policy", policy(vector["params"] | trigger), events, "aged", read, want)
    for vector in semantics("spl_group_rows"):
        rows = [event(row["t"] * SECOND, "*", row["v"], s=row["key"]) for row in vector["input"]]
        want = [
            (row["t"] * SECOND, [row["rows"], row["CountAll"], row["CountGroups"]]) for row in vector["expected"]
        ]  # fmt: skip
        of = policy(vector["params"], min_fill="full")
        yield Case(vector["id"], "policy", of, rows, "groups", stamped, want)


def counts() -> Iterator[Case]:
    """Windows of a number of rows: Flink, StreamInsight, and Patroumpas and Sellis."""
    for vector in load("hazelcast_flink.json"):
        if vector["window"]["type"] == "count_tumbling":
            size = vector["window"]["size"]
            events = [event(t, "*", value) for t, _, value in vector["events"]]

            def whole(rows: list[Result]) -> list[Any]:
                return [[count, int(mean)] for count, mean in values(rows)]

            yield Case(vector["id"], "rows", last_rows(size, size), events, "count_avg", whole, vector["expected"])
    for vector in semantics("count_by_start"):
        of = last_rows(vector["params"]["n"], ties="distinct_time", min_fill="full")
        want = [(*row["window"], row["events"], row["result"][0]) for row in vector["expected"]]

        def ends(rows: list[Result]) -> list[Any]:
            # the last time plus one tick of its column: a microsecond of a timestamp is no second
            last = [max(row.end, (row.at or 0) + 1) for row in rows]
            return [(row.start, end, row.value, end) for row, end in zip(rows, last, strict=True)]

        yield Case(vector["id"], "rows", of, points(vector["input"]), "list_s", ends, want)
    for vector in semantics("ps_count"):
        of = last_rows(vector["params"]["n"], ties=vector["params"]["ties"])
        events = [event(t, "*", value) for t, value in vector["input"]]
        yield Case(vector["id"], "rows", of, events, "list_s", lambda rows: rows[-1].value, vector["expected"])
    for vector in semantics("ps_expiry_order"):
        oldest = vector["input"]["rho_of_oldest"]
        of = last_rows(vector["params"]["n"])
        events = [event(rho, "*", rho) for rho in range(1, vector["expected"]["rho_exp"] + 5)]

        def leaves(rows: list[Result], oldest: int = oldest) -> int:
            return max(row.at or 0 for row in rows if oldest in row.value) + 1

        yield Case(vector["id"], "rows", of, events, "list", leaves, vector["expected"]["rho_exp"])
    for vector in semantics("ps_partitioned"):
        of = last_rows(vector["params"]["n"])
        events = [event(t, key, value) for t, (key, value) in enumerate(vector["input"])]

        def latest(rows: list[Result]) -> dict[Any, Any]:
            return {row.key: row.value for row in rows}

        yield Case(vector["id"], "rows", of, events, "list_s", latest, vector["expected"])
    for vector in semantics("ps_max"):
        of = last_rows(vector["params"]["n"])
        events = [event(t, "*", value) for t, value in enumerate(vector["input"])]
        yield Case(vector["id"], "rows", of, events, "max", values, vector["expected"]["max"])


def last_rows(n: int, every: int = 1, **choices: Any) -> Make:
    return lambda clock: ff.last_rows(n, every, **choices)


def selections() -> Iterator[Case]:
    """PS-25: to select from windows of rows, or windows of what was selected, are two things."""
    [vector] = [vector for vector in semantics("ps_equiv") if "n" in vector["params"]]
    of, want = last_rows(vector["params"]["n"]), vector["expected"]
    events = [event(t, "*", value) for t, value in enumerate(vector["input"])]
    even = [row for row in events if row["v"] % 2 == 0]
    name = vector["id"]
    yield Case(f"{name} of window", "rows", of, events, "even", last, want["sigma_even_of_window"])
    yield Case(f"{name} before window", "rows", of, even, "list", last, want["window_of_sigma_even"])


def last(rows: list[Result]) -> Any:
    return rows[-1].value


AGGREGATES = {"sum": "sum_or_0"}  # psi's sum of nothing is 0 (choice 12)


def psi_index() -> Iterator[Case]:
    """Windows of rows around each event, stamped with its time."""

    def of(params: dict[str, Any]) -> Make:
        closed = ENDS[params.get("left_inclusive", True), params.get("right_inclusive", True)]
        first, last = sorted((params["from"], params["to"]))  # psi swaps reversed bounds, which ff.around refuses
        return lambda clock: ff.around(rows=(first, last), closed=closed)

    for vector in semantics("psi_index"):
        want = [(row["t"], row["window"]) for row in vector["expected"]]
        yield Case(vector["id"], "around rows", of(vector["params"]), points(vector["input"]), "list", stamped, want)
    for vector in semantics("psi_index_agg"):
        params, want = vector["params"], vector["expected"]
        name = AGGREGATES.get(params["agg"], params["agg"])
        yield Case(vector["id"], "around rows", of(params), points(vector["input"]), name, values, want)
        if vector["id"] == "PSI-09":  # its note: the anchors are 0..6
            at = [(time, total) for time, total in enumerate(want)]
            yield Case("PSI-09 anchors", "around rows", of(params), points(vector["input"]), name, stamped, at)
    for vector in semantics("psi_slope"):
        want = [(row["t"], row["slope"]) for row in vector["expected"]]

        def slope(rows: list[Result]) -> list[Any]:
            return [(row.at, row.value[0]) for row in rows]

        yield Case(vector["id"], "around rows", of(vector["params"]), points(vector["input"]), "slope", slope, want)


def around(start: int, end: int, closed: str = "both") -> Make:
    return lambda clock: ff.around(time=(clock.span(start), clock.span(end)), closed=closed)


def psi_time() -> Iterator[Case]:
    """Windows of time around each event, always given."""
    for vector in semantics("psi_time"):
        of = around(vector["params"]["from"], vector["params"]["to"])
        want = [(row["t"], row["window"]) for row in vector["expected"]]
        yield Case(vector["id"], "around time", of, points(vector["input"]), "list", stamped, want)
    for vector in semantics("psi_time_agg"):
        params = vector["params"]
        name = AGGREGATES.get(params["agg"], params["agg"])
        of = around(params["from"], params["to"])
        yield Case(vector["id"], "around time", of, points(vector["input"]), name, values, vector["expected"])
    for vector in semantics("psi_time_keyed"):
        of = around(vector["params"]["from"], vector["params"]["to"])
        events = [event(row["t"], key, row["v"]) for key, rows in vector["input"].items() for row in rows]
        want = {(key, row["t"]): some for row in vector["expected"] for key, some in row.items() if key != "t"}

        def keyed(rows: list[Result]) -> dict[Any, Any]:
            return {(row.key, row.at): row.value for row in rows}

        yield Case(vector["id"], "around time", of, events, "list", keyed, want)


def boundaries() -> Iterator[Case]:
    """X-01: one range at one time, by each source's convention."""
    for vector in semantics("boundary"):
        t, width = vector["params"]["t"], vector["params"]["w"]
        events = [event(tick, "*", tick) for tick in vector["input"]]
        left, right = sliding(width, 1, stamp="end"), sliding(width, 1, closed="right", stamp="end")
        kinds: dict[str, tuple[str, Make]] = {
            "spl_time": ("policy", policy({"evict": ("time", width / SECOND)})),
            "si_jet_spark_osstreams_eventtime": ("grid", left), "psi_past_closed": ("around time", around(-width, 0)),
            "psi_past_left_open": ("around time", around(-width, 0, "right")), "paper_scope": ("grid", right),
            "paper_Q1": ("grid", right), "trill_hopping_at_t": ("grid", right),
            "trill_quantize_window_ending_t": ("grid", left),
        }  # fmt: skip

        def read(rows: list[Result], t: int = t) -> Any:
            return next(row.value for row in rows if row.at == t)

        for name, want in vector["expected"].items():
            kind, of = kinds[name]
            yield Case(f"{vector['id']} {name}", kind, of, events, "list", read, want)
        # its note: closed="left", "right", "both" and "neither" cover all; two of them are not among the sources
        inside = range(t - width + 1, t)
        more = {"left": [t - width, *inside], "right": [*inside, t], "neither": [*inside]}
        for closed, want in more.items():
            yield Case(f"{vector['id']} {closed}", "around time", around(-width, 0, closed), events, "list", read, want)


def cases() -> list[Case]:
    """All of them."""
    makers = (spl, counts, selections, psi_index, psi_time, boundaries)
    return [case for make in makers for case in make()]
