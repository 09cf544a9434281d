"""Laws and counter-examples of the window algebra, each by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
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


def in_windows(relation: Relation, windows: Callable[[Rows], Relation]) -> Side:
    """The state of a relation at each instant, whose rows are taken as events in windows."""
    return lambda now: at(windows([{"t": row.pop("ts")} | row for row in at(relation, now)]), now)


def at_least(rows: Rows) -> Rows:
    return [row for row in rows if row["x"] is not None and row["x"] >= 3]


def merged(one: Rows, other: Rows) -> Rows:
    return sorted([*one, *other], key=lambda row: row["t"])


def joined(left: Relation, right: Relation, **how: Any) -> Relation:
    return left.join(right, on="k", prefix="p_", **how)


def difference(left: Relation, right: Relation) -> Relation:
    return left.select("k").difference(right.select("k"))


everything = partial(over, window="everything")
PAIR = ("k", "x", "p_x")
SWAPPED = {"k": "s_k", "x": "s_x", "p_k": "k", "p_x": "x"}
NESTED = {"k": "k", "x": "x", "p_k": "p_k", "p_x": "p_x", "q_k": "p_q_k", "q_x": "p_q_x"}
# The beginning of a law's name; of its windows and streams of events both sides. All that came is "everything".
SIDES: dict[str, Callable[..., tuple[Side, Side]]] = {
    r"selection commutes with (\w+)": lambda w, s, p, q: (w(s).where("x >= 3"), w(at_least(s))),
    r"projection commutes with (\w+)": lambda w, s, p, q: (w(s).select("k"),
        w([{"t": row["t"], "k": row["k"]} for row in s])),
    r"union commutes with (\w+)": lambda w, s, p, q: (w(s).union(w(p)), w(merged(s, p))),
    r"join commutes over (\w+)": lambda w, s, p, q: (joined(w(s), w(p)),
        w(p).join(w(s), on="k", prefix="s_").select(**SWAPPED)),
    r"selection distributes over join of (\w+), above": lambda w, s, p, q: (joined(w(s), w(p)).where("x >= 3"),
        joined(w(s).where("x >= 3"), w(p))),
    r"selection distributes over join of (\w+), below": lambda w, s, p, q: (joined(w(s), w(p)).where("x >= 3"),
        joined(w(at_least(s)), w(p))),
    r"projection distributes over join of (\w+)": lambda w, s, p, q: (joined(w(s), w(p)).select("k", "p_k", "x"),
        joined(w(s).select("k", "x"), w(p).select("k"))),
    r"join associates over (\w+)": lambda w, s, p, q: (joined(w(s), w(p)).join(w(q), on="k", prefix="q_"),
        joined(w(s), w(p).join(w(q), on="k", prefix="q_")).select(**NESTED)),
    r"selection on the partitioning columns commutes with (\w+)": lambda w, s, p, q: (w(s).where("k = 'a'"),
        w([row for row in s if row["k"] == "a"])),
    r"distinct \(recent\) .*commutes? with (\w+ landmark|\w+)": lambda w, s, p, q: (w(s).distinct("k"),
        in_windows(everything(s).distinct("k"), w)),
    r"distinct \(keep\) does NOT commute with (\w+)": lambda w, s, p, q: (w(s).distinct("k", keep=True),
        in_windows(everything(s).distinct("k", keep=True), w)),
    r"distinct does NOT commute with (\w+)": lambda w, s, p, q: (w(s).distinct("k"),
        in_windows(everything(s).distinct("k", keep=True), w)),
    r"union of unlike signatures is no (window)": lambda w, s, p, q: (over(s, "rows").union(over(p, "sliding")),
        over(merged(s, p), "sliding")),
    r"aggregation does NOT commute with (\w+)": lambda w, s, p, q: (over(s, "short").aggregate(by="k", n=ff.Count()),
        everything(s).aggregate(by="k", n=ff.Count())),
    r"difference does NOT commute with (\w+)": lambda w, s, p, q: (difference(over(s, "short"), over(p, "short")),
        difference(everything(s), everything(p))),
    r"join does NOT commute with (\w+)": lambda w, s, p, q: (joined(w(s), w(p)).select(*PAIR),
        in_windows(joined(everything(s), everything(p), stamp="max").select(*PAIR), w)),
    r"difference is not (\w+)": lambda w, s, p, q: (difference(over(s, "sliding"), over(p, "sliding")),
        difference(over(p, "sliding"), over(s, "sliding"))),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("law", LAWS)
def test_law(law: str) -> None:
    """A law holds at every instant; a counter-example has both sides that the cases give, and they differ."""
    case = LAWS[law]
    ((name, make),) = ((match[1], make) for start, make in SIDES.items() if (match := re.match(start, law)))
    left, right = make(partial(over, window=name), *(case["events"].get(stream, []) for stream in "SPQ"))
    if case["holds"]:
        step = {"hopping": 2, "tumbling": 4}[name] if "at refreshes" in law else 1
        for instant in range(0, 25, step):
            assert bag(at(left, instant)) == bag(at(right, instant)), instant
        return
    sides = bag(at(left, case["at"])), bag(at(right, case["at"]))
    assert sides == (bag(case["left"]), bag(case["right"]))
    assert sides[0] != sides[1]
