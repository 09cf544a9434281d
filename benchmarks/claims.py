"""What must hold, each claim judged from the measurements alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .contestants import TITLES
from .figures import Found, Ratio, curve, exponent, label, memory, number, ratio

LOCAL, FILES, FRAME = "framefold_local.local", "framefold_spark.parquet", "framefold_spark.dataframe"
SCANNED = "framefold_spark.dataframe_scanned"
WINDOW, STAGES = "spark.window", "spark.two_stages"
WHY = {
    "scanned": "the plan of the DataFrame is compared with that of its files, which Spark lists once more",
    "strings as keys": "strings are decoded from the file and numbered by a dictionary",
    "sum, count, min, max": "four states are accumulated, merged and slid instead of two",
    "min and max": "extremes cannot be deducted: they slide by two stacks or by doubling",
    "variance": "deviations and their squares are kept as two floats each, so that results are correctly rounded",
}
"""What costs more, for the claims that compare operations with the reference."""
MEMORY = 1.1
"""Peaks that differ by less are the same: the machine's own noise is about half of that."""
HELD = {
    "worker": "the largest Python worker",
    "process": "the process",
}


@dataclass(frozen=True)
class Claim:
    """A claim, what it asks for, what was seen, whether that does (None if it was not measured), and why if not."""

    what: str
    target: str
    seen: str
    holds: bool | None
    why: str = ""


def at_least(what: str, target: float, seen: Ratio | None) -> Claim:
    """So many times as fast, or more."""
    asked = f"at least {target:g} times as fast"
    return Claim(what, asked, str(seen), seen.median >= target) if seen else Claim(what, asked, "", None)


def at_most(what: str, target: float, seen: Ratio | None, why: str = "") -> Claim:
    """So many times as long, or less."""
    asked = f"at most {target:g} times as long"
    return Claim(what, asked, str(seen), seen.median <= target, why) if seen else Claim(what, asked, "", None)


def speed(cases: dict[str, Found]) -> Iterator[Claim]:
    """Against Spark's own ways, and against DuckDB and Polars."""
    case = cases.get("reference")
    if case:
        for ours, targets in ((FRAME, {60: 20, 100: 40}), (FILES, {60: 50, 100: 120})):
            for minutes, target in targets.items():
                what = f"{TITLES[ours]}, against Spark window(), {minutes} min"
                yield at_least(what, target, ratio(case, (WINDOW, minutes), (ours, minutes)))
        for point in case["points"]:
            yield from against_stages(case, point["x"], f"sum and count, {label(case, point['x'])} min")
    if layouts := cases.get("layouts"):
        for point in layouts["points"]:
            yield from against_stages(layouts, point["x"], point["label"], 3.0 if point["x"] in (0, 1, 4) else 2.5)
            what = f"{TITLES[SCANNED]}, against {TITLES[FILES]}, {point['label']}"
            yield at_most(what, 1.1, ratio(layouts, (SCANNED, point["x"]), (FILES, point["x"])), WHY["scanned"])
            for peer in ("duckdb.two_stages", "polars.two_stages"):
                what = f"{TITLES[LOCAL]}, against {TITLES[peer]}, {point['label']}"
                yield at_most(what, 1.0, ratio(layouts, (LOCAL, point["x"]), (peer, point["x"])))
    if shapes := cases.get("shapes"):
        for point in shapes["points"][1:]:
            yield from against_stages(shapes, point["x"], point["label"])
    if events := cases.get("events"):
        for point in events["points"]:
            if point["x"] in (8e6, 1e8):
                for peer in ("duckdb.two_stages", "polars.two_stages"):
                    what = f"{TITLES[LOCAL]}, against {TITLES[peer]}, {number(point['x'])} events"
                    yield at_most(what, 1.0, ratio(events, (LOCAL, point["x"]), (peer, point["x"])))


def billion(cases: dict[str, Found]) -> Iterator[Claim]:
    """More events than memory has room for."""
    if case := cases.get("billion"):
        x = case["points"][0]["x"]
        for peer in ("duckdb.two_stages", "polars.streaming"):
            what = f"{TITLES[LOCAL]}, against {TITLES[peer]}, {number(x)} events"
            yield at_most(what, 1.0, ratio(case, (LOCAL, x), (peer, x)))
        for ours in (LOCAL, FILES):
            which, held = memory(case, ours)
            if x in held:
                what = f"{TITLES[ours]}, peak memory of {HELD[which]}, {number(x)} events"
                yield Claim(what, "at most 1 GiB", f"{held[x] >> 20} MiB", held[x] <= 1 << 30)


def against_stages(case: Found, x: float, what: str, times: float = 3.0) -> Iterator[Claim]:
    """Both ways on Spark against two stages in SQL."""
    yield at_most(f"{TITLES[FRAME]}, against {TITLES[STAGES]}, {what}", 1.0, ratio(case, (FRAME, x), (STAGES, x)))
    yield at_least(f"{TITLES[FILES]}, against {TITLES[STAGES]}, {what}", times, ratio(case, (STAGES, x), (FILES, x)))


def overlap(cases: dict[str, Found]) -> Iterator[Claim]:
    """Ten thousand windows over each event against ten."""
    if case := cases.get("overlap"):
        windows = {point["x"]: point["windows"] for point in case["points"]}
        many = windows[10_000] / windows[10] if windows.get(10_000) and windows.get(10) else 1
        why = f"{many:.2f} times as many windows are written"
        for ours in (LOCAL, FILES, FRAME):
            what = f"{TITLES[ours]}, overlap of 10,000 against one of 10"
            yield at_most(what, 1.15, ratio(case, (ours, 10_000), (ours, 10)), why)


def growth(cases: dict[str, Found]) -> Iterator[Claim]:
    """Time and memory against the number of events."""
    if case := cases.get("events"):
        for ours in (LOCAL, FILES, FRAME):
            found = curve(case, ours)
            for some in (found, found[2:]):
                if len(some) > 1:
                    what = f"{TITLES[ours]}, exponent of time over events, from {number(some[0][0])} on"
                    slope = exponent(some)
                    yield Claim(what, "at most 1.05", f"{slope:.2f}", slope <= 1.05)
        for ours in (LOCAL, FILES, FRAME):
            yield from memory_held(case, ours)


def memory_held(case: Found, ours: str) -> Iterator[Claim]:
    """Peak memory at the most events against that at each lesser number."""
    which, held = memory(case, ours)
    most = max(held, default=0.0)
    same = [x for x in held if x < most and held[most] <= MEMORY * held[x]]
    for x in held:
        if x < most:
            what = f"{TITLES[ours]}, peak memory of {HELD[which]}, {number(most)} events against {number(x)}"
            seen = f"{held[most] / held[x]:.2f} ({held[most] >> 20} and {held[x] >> 20} MiB)"
            least = min((other for other in same if other > x), default=0.0)
            why = (
                f"so few events do not fill what is read ahead; from {number(least)} on it is the same" if least else ""
            )
            yield Claim(what, f"at most {MEMORY} times as much", seen, x in same, why)


def variety(cases: dict[str, Found]) -> Iterator[Claim]:
    """Other keys and operations cost at most twice the reference, per event."""
    for ours in (LOCAL, FILES, FRAME):
        if case := cases.get("shapes"):
            for point in case["points"][1:]:
                what = f"{TITLES[ours]}, {point['label']}, against sum and count"
                seen = ratio(case, (ours, point["x"]), (ours, case["points"][0]["x"]))
                yield at_most(what, 2.0, seen, WHY.get(point["label"], ""))
        if case := cases.get("keys"):
            results: dict[float, Any] = {point["x"]: point["windows"] or 0 for point in case["points"]}
            why = (
                f"{results.get(1e6, 0):,} results are computed and written of {case['points'][0]['events']:,} events; "
                f"of 100 keys there are {results.get(100, 0):,}"
            )
            what = f"{TITLES[ours]}, 1 million keys, against 100"
            yield at_most(what, 2.0, ratio(case, (ours, 1e6), (ours, 100)), why)


def claims(cases: list[Found]) -> list[Claim]:
    """All of them."""
    named = {case["name"]: case for case in cases}
    return [*speed(named), *billion(named), *overlap(named), *growth(named), *variety(named)]
