"""Laws and counter-examples of the window algebra, each by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from .cases import Row, algebra, bag, table, windows

LAWS = {law["law"]: law for law in algebra()["laws"]}
WINDOWS: dict[str, dict[str, Any]] = {
    "sliding": {"kind": "sliding", "size": 4, "every": 1}, "hopping": {"kind": "sliding", "size": 5, "every": 2},
    "tumbling": {"kind": "tumbling", "size": 4}, "landmark": {"kind": "landmark", "since": 1},
    "rows": {"kind": "rows", "n": 3}, "partitioned": {"kind": "rows", "n": 2, "by": ["k"]},
    "lower landmark": {"kind": "landmark", "since": 1}, "upper landmark": {"kind": "landmark", "until": 4},
    "everything": {"kind": "landmark"}, "short": {"kind": "sliding", "size": 2, "every": 1},
}  # fmt: skip
Rows = list[Row]
Relation = ff.Relation[pa.Table]
Side = Relation | Callable[[int], Rows]


def over(rows: Rows, window: str) -> Relation:
    """The relation of events in windows."""
    like = [{"t": 0, "k": "a", "x": 0}] if not rows or "x" in rows[0] else [{"t": 0, "k": "a"}]
    kind = WINDOWS[window]
    return ff.events(table(rows, like), time="t", by=kind.get("by")).window(windows(kind)).relation()


def at(side: Side, instant: int) -> Rows:
    return side.at(instant).to_pylist() if isinstance(side, ff.Relation) else side(instant)


def in_windows(relation: Relation, window: str) -> Side:
    """The state of a relation at each instant, whose rows are taken as events in windows."""
    return lambda now: at(over([{"t": row.pop("ts")} | row for row in at(relation, now)], window), now)


def at_least(rows: Rows) -> Rows:
    return [row for row in rows if row["x"] is not None and row["x"] >= 3]


def merged(one: Rows, other: Rows) -> Rows:
    return sorted([*one, *other], key=lambda row: row["t"])


def joined(left: Relation, right: Relation, **how: Any) -> Relation:
    return left.join(right, on="k", prefix="p_", **how)


SWAPPED = {"k": "s_k", "x": "s_x", "p_k": "k", "p_x": "x"}
NESTED = {"q_k": "p_q_k", "q_x": "p_q_x"}
# The beginning of a law's name, and of its windows and three streams of events both sides.
SIDES: dict[str, Callable[[str, Rows, Rows, Rows], tuple[Side, Side]]] = {
    r"selection commutes with (\w+)": lambda w, s, p, q: (over(s, w).where("x >= 3"), over(at_least(s), w)),
    r"projection commutes with (\w+)": lambda w, s, p, q: (
        over(s, w).select("k"), over([{"t": row["t"], "k": row["k"]} for row in s], w)
    ),
    r"union commutes with (\w+)": lambda w, s, p, q: (over(s, w).union(over(p, w)), over(merged(s, p), w)),
    r"join commutes over (\w+)": lambda w, s, p, q: (
        joined(over(s, w), over(p, w)), over(p, w).join(over(s, w), on="k", prefix="s_").select(**SWAPPED)
    ),
    r"selection distributes over join of (\w+), above": lambda w, s, p, q: (
        joined(over(s, w), over(p, w)).where("x >= 3"), joined(over(s, w).where("x >= 3"), over(p, w))
    ),
    r"selection distributes over join of (\w+), below": lambda w, s, p, q: (
        joined(over(s, w), over(p, w)).where("x >= 3"), joined(over(at_least(s), w), over(p, w))
    ),
    r"projection distributes over join of (\w+)": lambda w, s, p, q: (
        joined(over(s, w), over(p, w)).select("k", "p_k", "x"),
        joined(over(s, w).select("k", "x"), over(p, w).select("k")),
    ),
    r"join associates over (\w+)": lambda w, s, p, q: (
        joined(over(s, w), over(p, w)).join(over(q, w), on="k", prefix="q_"),
        joined(over(s, w), over(p, w).join(over(q, w), on="k", prefix="q_")).select("k", "x", "p_k", "p_x", **NESTED),
    ),
    r"selection on the partitioning columns commutes with (\w+)": lambda w, s, p, q: (
        over(s, w).where("k = 'a'"), over([row for row in s if row["k"] == "a"], w)
    ),
    r"distinct \(recent\) .*commutes? with (\w+ landmark|\w+)": lambda w, s, p, q: (
        over(s, w).distinct("k"), in_windows(over(s, "everything").distinct("k"), w)
    ),
    r"distinct \(keep\) does NOT commute with (\w+)": lambda w, s, p, q: (
        over(s, w).distinct("k", keep=True), in_windows(over(s, "everything").distinct("k", keep=True), w)
    ),
    r"distinct does NOT commute with (\w+)": lambda w, s, p, q: (
        over(s, w).distinct("k"), in_windows(over(s, "everything").distinct("k", keep=True), w)
    ),
    r"union of unlike (\w+)": lambda w, s, p, q: (
        over(s, "rows").union(over(p, "sliding")), over(merged(s, p), "sliding")
    ),
    r"aggregation does NOT commute with (\w+)": lambda w, s, p, q: (
        over(s, "short").aggregate(by="k", n=ff.Count()), over(s, "everything").aggregate(by="k", n=ff.Count())
    ),
    r"difference does NOT commute with (\w+)": lambda w, s, p, q: tuple(  # type: ignore[return-value]
        over(s, kind).select("k").difference(over(p, kind).select("k")) for kind in ("short", "everything")
    ),
    r"join does NOT commute with (\w+)": lambda w, s, p, q: (
        joined(over(s, w), over(p, w)).select("k", "x", "p_x"),
        in_windows(joined(over(s, "everything"), over(p, "everything"), stamp="max").select("k", "x", "p_x"), w),
    ),
    r"difference is not (\w+)": lambda w, s, p, q: tuple(  # type: ignore[return-value]
        over(one, "sliding").select("k").difference(over(two, "sliding").select("k")) for one, two in ((s, p), (p, s))
    ),
}  # fmt: skip


@pytest.mark.parametrize("law", LAWS)
def test_law(law: str) -> None:
    """A law holds at every instant; a counter-example has both sides that the cases give, and they differ."""
    case = LAWS[law]
    ((name, make),) = ((match[1], make) for start, make in SIDES.items() if (match := re.match(start, law)))
    left, right = make(name, *(case["events"].get(stream, []) for stream in "SPQ"))
    if case["holds"]:
        step = {"hopping": 2, "tumbling": 4}[name] if "at refreshes" in law else 1
        for instant in range(0, 25, step):
            assert bag(at(left, instant)) == bag(at(right, instant)), instant
        return
    sides = bag(at(left, case["at"])), bag(at(right, case["at"]))
    assert sides == (bag(case["left"]), bag(case["right"]))
    assert sides[0] != sides[1]
