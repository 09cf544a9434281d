"""Laws, counter-examples and propositions of the window algebra, each by its name."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from .cases import Row, algebra, bag, netted, table, windows
from .queries import events as random_events

LAWS = {law["law"]: law for law in algebra()["laws"]}
WINDOWS: dict[str, dict[str, Any]] = {
    "sliding": {"kind": "sliding", "size": 4, "every": 1},
    "hopping": {"kind": "sliding", "size": 5, "every": 2},
    "tumbling": {"kind": "tumbling", "size": 4},
    "landmark": {"kind": "landmark", "since": 1},
    "rows": {"kind": "rows", "n": 3},
    "partitioned": {"kind": "rows", "n": 2, "by": ["k"]},
    "lower landmark": {"kind": "landmark", "since": 1},
    "upper landmark": {"kind": "landmark", "until": 4},
    "everything": {"kind": "landmark"},
    "short": {"kind": "sliding", "size": 2, "every": 1},
}
Rows = list[Row]
Sides = tuple[Callable[[int], Rows], Callable[[int], Rows]]


def over(rows: Rows, window: str) -> ff.Relation[pa.Table]:
    """The relation of some events in windows."""
    like = [{"t": 0, "k": "a", "x": 0}] if not rows or "x" in rows[0] else [{"t": 0, "k": "a"}]
    kind = WINDOWS[window]
    return ff.events(table(rows, like), time="t", by=kind.get("by")).window(windows(kind)).relation()


def in_windows(state: Rows, window: str, instant: int) -> Rows:
    """The rows of a state taken as events, in windows."""
    return (
        over([{"t": row["ts"]} | {k: v for k, v in row.items() if k != "ts"} for row in state], window)
        .at(instant)
        .to_pylist()
    )  # type: ignore[no-any-return]


def state(relation: ff.Relation[pa.Table]) -> Callable[[int], Rows]:
    return lambda instant: relation.at(instant).to_pylist()  # type: ignore[no-any-return]


def at_least(rows: Rows) -> Rows:
    return [row for row in rows if row["x"] is not None and row["x"] >= 3]


def joined(left: ff.Relation[pa.Table], right: ff.Relation[pa.Table], **how: Any) -> ff.Relation[pa.Table]:
    return left.join(right, on="k", prefix="p_", **how)


def of_windows(law: str, kind: str, one: Rows, other: Rows, third: Rows) -> Sides:
    """Both sides of a law about any windows."""
    w, v = over(one, kind), over(other, kind)
    match law:
        case "selection commutes with":
            return state(w.where("x >= 3")), state(over(at_least(one), kind))
        case "projection commutes with":
            return state(w.select("k")), state(over([{"t": row["t"], "k": row["k"]} for row in one], kind))
        case "union commutes with":
            merged = sorted([*one, *other], key=lambda row: row["t"])
            return state(w.union(v)), state(over(merged, kind))
        case "join commutes over":
            swapped = v.join(w, on="k", prefix="s_").select(k="s_k", x="s_x", p_k="k", p_x="x")
            return state(joined(w, v)), state(swapped)
        case "selection distributes, above":
            return state(joined(w, v).where("x >= 3")), state(joined(w.where("x >= 3"), v))
        case "selection distributes, below":
            return state(joined(w, v).where("x >= 3")), state(joined(over(at_least(one), kind), v))
        case "projection distributes":
            return state(joined(w, v).select("k", "p_k", "x")), state(joined(w.select("k", "x"), v.select("k")))
        case "join associates over":
            u = over(third, kind)
            left = joined(w, v).join(u, on="k", prefix="q_")
            return state(left), state(joined(w, v.join(u, on="k", prefix="q_")).select(
                "k", "x", "p_k", "p_x", q_k="p_q_k", q_x="p_q_x"
            ))  # fmt: skip
        case "selection on the partitioning columns":
            return state(w.where("k = 'a'")), state(over([row for row in one if row["k"] == "a"], kind))
    raise AssertionError(law)


def recent(one: Rows, kind: str) -> Sides:
    """The latest of equal rows in windows, and in windows the latest rows of all so far."""
    latest = over(one, "everything").distinct("k")
    return state(over(one, kind).distinct("k")), lambda at: in_windows(latest.at(at).to_pylist(), kind, at)


def special(law: str, one: Rows, other: Rows) -> Sides:
    """Both sides of a law of its own."""
    every, of_other = over(one, "everything"), over(other, "everything")
    match law:
        case "distinct (recent) commutes with sliding by every instant":
            return recent(one, "sliding")
        case "distinct (recent) commutes with lower landmark":
            return recent(one, "lower landmark")
        case "distinct (recent) does NOT commute with hopping, between refreshes":
            return recent(one, "hopping")
        case "distinct (recent) does NOT commute with tumbling, between refreshes":
            return recent(one, "tumbling")
        case "distinct (recent) does NOT commute with upper landmark":
            return recent(one, "upper landmark")
        case "distinct (keep) does NOT commute with sliding":
            first = every.distinct("k", keep=True)
            kept = over(one, "sliding").distinct("k", keep=True)
            return state(kept), lambda at: in_windows(first.at(at).to_pylist(), "sliding", at)
        case "distinct does NOT commute with rows":
            first = every.distinct("k", keep=True)
            return state(over(one, "rows").distinct("k")), lambda at: in_windows(first.at(at).to_pylist(), "rows", at)
        case "union of unlike signatures is no window of the union":
            merged = sorted([*one, *other], key=lambda row: row["t"])
            return state(over(one, "rows").union(over(other, "sliding"))), state(over(merged, "sliding"))
        case "aggregation does NOT commute with sliding":
            count = {"n": ff.Count()}
            return state(over(one, "short").aggregate(by="k", **count)), state(every.aggregate(by="k", **count))
        case "difference does NOT commute with sliding":
            sides = [over(rows, "short").select("k") for rows in (one, other)]
            return state(sides[0].difference(sides[1])), state(every.select("k").difference(of_other.select("k")))
        case "join does NOT commute with sliding: W(S1 join S2) by the pair's time":
            pairs = joined(every, of_other, stamp="max").select("k", "x", "p_x")
            left = joined(over(one, "sliding"), over(other, "sliding")).select("k", "x", "p_x")
            return state(left), lambda at: in_windows(pairs.at(at).to_pylist(), "sliding", at)
        case "difference is not commutative":
            sides = [over(rows, "sliding").select("k") for rows in (one, other)]
            return state(sides[0].difference(sides[1])), state(sides[1].difference(sides[0]))
    raise AssertionError(law)


def sides_of(law: str, events: dict[str, Rows]) -> Sides:
    one, other, third = (events.get(name, []) for name in "SPQ")
    beginnings = {
        "selection commutes with": "selection commutes with", "projection commutes with": "projection commutes with",
        "union commutes with": "union commutes with", "join commutes over": "join commutes over",
        "selection distributes over join of": "selection distributes", "join associates over": "join associates over",
        "projection distributes over join of": "projection distributes",
        "selection on the partitioning columns commutes with": "selection on the partitioning columns",
    }  # fmt: skip
    for beginning, name in beginnings.items():
        if law.startswith(beginning):
            kind = law.removeprefix(beginning).partition(",")[0].strip()
            place = next((f", {word}" for word in ("above", "below") if word in law), "")
            return of_windows(name + place, kind, one, other, third)
    for kind in ("hopping", "tumbling"):
        if law == f"distinct (recent) commutes with {kind} at refreshes":
            return recent(one, kind)
    return special(law, one, other)


@pytest.mark.parametrize("law", LAWS)
def test_law(law: str) -> None:
    """A law holds at every instant; a counter-example has both sides that the cases give, and they differ."""
    case = LAWS[law]
    left, right = sides_of(law, case["events"])
    if case["holds"]:
        step = {"hopping": 2, "tumbling": 4}[law.split()[4]] if "at refreshes" in law else 1
        for instant in range(0, 25, step):
            assert bag(left(instant)) == bag(right(instant)), instant
        return
    sides = bag(left(case["at"])), bag(right(case["at"]))
    assert sides == (bag(case["left"]), bag(case["right"]))
    assert sides[0] != sides[1]


def rewritings(relation: ff.Relation[pa.Table]) -> str:
    """Which operators went elsewhere."""
    return "; ".join(text for _, text in relation.explain().rows if text.startswith(("went", "stays")))


@pytest.mark.parametrize("kind", ["sliding", "hopping", "tumbling", "landmark"])
def test_a_filter_goes_below_windows_of_time(kind: str) -> None:
    rows = random_events(random.Random(1), 30)
    relation = over(rows, kind)
    assert rewritings(relation.where("x >= 2")) == "went below the windows: they go by time alone"
    assert rewritings(relation.where("ts >= 2")) == "stays above the windows: it is of instants"
    both = "went below the windows: they go by time alone"
    assert rewritings(relation.where("x >= 2").where("k = 'a'")) == f"{both}; {both}"
    expected = [row for row in relation.rows().to_pylist() if row["x"] is not None and row["x"] >= 2]
    assert netted(relation.where("x >= 2").rows().to_pylist()) == netted(expected)
    assert rewritings(relation.union(relation).where("x >= 2")).startswith("went below the union")


def test_a_filter_goes_below_windows_of_rows_on_partition_columns_only() -> None:
    relation = over(random_events(random.Random(2), 30), "partitioned")
    assert rewritings(relation.where("k = 'a'")) == "went below the windows: it is on their partition columns"
    why = "stays above the windows: rows that it leaves out push others out"
    assert rewritings(relation.where("x >= 2")) == rewritings(relation.where("k = 'a' and x > 1")) == why
    assert rewritings(over(random_events(random.Random(2), 30), "rows").where("k = 'a'")) == why
    for condition, test in (("k = 'a'", lambda row: row["k"] == "a"), ("x >= 2", lambda row: (row["x"] or 0) >= 2)):
        expected = [row for row in relation.rows().to_pylist() if test(row)]
        assert netted(relation.where(condition).rows().to_pylist()) == netted(expected)


@pytest.mark.parametrize("law", [law for law, case in LAWS.items() if not case["holds"]])
def test_a_counter_example_is_no_rewriting(law: str) -> None:
    """No operator but a filter is moved, and no filter where it would change states: what was asked for is computed."""
    case = LAWS[law]
    one, other = (case["events"].get(name, []) for name in "SP")
    kind = next((kind for kind in ("rows", "partitioned", "hopping", "tumbling", "sliding") if kind in law), "sliding")
    relation, right = over(one, kind), over(other, kind)
    for asked in (
        relation.where("x >= 3") if kind in ("rows", "partitioned") else relation.distinct("k"),
        relation.union(right), relation.difference(right), relation.aggregate(by="k", n=ff.Count()),
        joined(relation, right), relation.distinct("k", keep=True),
    ):  # fmt: skip
        assert "went" not in rewritings(asked)


def intervals(rows: Rows, kind: str) -> list[tuple[int, int, Any]]:
    return [(row["ts"], row["valid_from"], row["valid_to"]) for row in over(rows, kind).rows().to_pylist()]


@pytest.fixture(params=range(5))
def events(request: pytest.FixtureRequest) -> Rows:
    return random_events(random.Random(40 + request.param), 25)


@pytest.fixture
def others() -> Rows:
    return random_events(random.Random(77), 25)


def test_proposition_1(events: Rows) -> None:
    """Successive states of a sliding window share at least nothing, and exactly the rows with a time in both scopes."""
    relation = over(events, "hopping")
    for at in range(0, 30, 2):
        both = bag(relation.at(at).to_pylist()) & bag(relation.at(at + 2).to_pylist())
        expected = [row for row in over(events, "everything").at(99).to_pylist() if at + 2 - 5 < row["ts"] <= at]
        assert both == bag(expected)


def test_proposition_2(events: Rows) -> None:
    """In a window that slides by one instant the row with the lesser time leaves first, at its time plus the size."""
    found = intervals(events, "sliding")
    assert all(until == ts + 4 for ts, _, until in found)
    assert all((one[0] <= two[0]) == (one[2] <= two[2]) for one, two in itertools.product(found, found))
    hopping = intervals(events, "hopping")  # with a longer step unlike times may leave at one refresh
    assert all(one[2] <= two[2] for one, two in itertools.product(hopping, hopping) if one[0] <= two[0])
    assert any(one[0] < two[0] and one[2] == two[2] for one, two in itertools.product(hopping, hopping))


def test_proposition_3(events: Rows) -> None:
    """States of a tumbling window share no row."""
    relation = over([row | {"x": number} for number, row in enumerate(events)], "tumbling")
    for at in range(0, 30, 4):
        assert not bag(relation.at(at).to_pylist()) & bag(relation.at(at + 4).to_pylist())


def test_proposition_4(events: Rows) -> None:
    """A landmark's state contains every earlier one; its rows never end."""
    states = [bag(over(events, "landmark").at(at).to_pylist()) for at in range(30)]
    assert all(one <= two for one, two in itertools.pairwise(states))
    assert {until for _, _, until in intervals(events, "landmark")} <= {None}


def test_proposition_5(events: Rows) -> None:
    """Of a count window the row admitted first leaves first, when the nth later row comes."""
    times = sorted(row["t"] for row in events)
    leave = [*times[3:], None, None, None]
    expected = Counter((t, until) for t, until in zip(times, leave, strict=True) if t != until)
    assert Counter((ts, until) for ts, _, until in intervals(events, "rows")) == expected


@pytest.mark.parametrize("kind", ["sliding", "hopping", "tumbling", "landmark", "rows", "partitioned"])
def test_proposition_6(events: Rows, others: Rows, kind: str) -> None:
    """Select, where and union have their window's pattern, and every row keeps its times."""
    relation, other = over(events, kind), over(others, kind)
    for found in (relation.select("k"), relation.where("x >= 2"), relation.union(other)):
        assert found.updates == relation.updates
    known = Counter((ts, since, until) for rows in (events, others) for ts, since, until in intervals(rows, kind))
    united = relation.union(other).rows().to_pylist()
    assert Counter((row["ts"], row["valid_from"], row["valid_to"]) for row in united) == known


@pytest.mark.parametrize("kind", ["sliding", "hopping", "tumbling", "landmark", "rows", "partitioned"])
def test_proposition_7(events: Rows, others: Rows, kind: str) -> None:
    """A join and the rows kept of equal ones only grow over landmarks, and end with a row of a window elsewhere."""
    relation, other = over(events, kind), over(others, kind)
    ends = {until for rows in (events, others) for _, _, until in intervals(rows, kind)}
    for found in (relation.distinct("k", keep=True), joined(relation, other)):
        assert found.pattern == ("monotonic" if kind == "landmark" else "weak non-monotonic")
        assert {row["valid_to"] for row in found.rows().to_pylist()} <= ends
        assert (found.deletes().num_rows == 0) == (kind == "landmark")


def test_proposition_7_by_row_and_by_key(events: Rows) -> None:
    """Over landmarks aggregates and the latest of equal rows are replaced: they only grow by key."""
    relation = over([{**row, "k": row["k"] or "c"} for row in events], "landmark")
    for found, row in ((relation.aggregate(by="k", n=ff.Count()), "weak"), (relation.distinct("k"), "strictly")):
        assert str(found.updates) == f"{row} non-monotonic by row, monotonic by key"
        assert found.deletes().num_rows
        keys = [{each["k"] for each in found.at(at).to_pylist()} for at in range(30)]
        assert all(one <= two for one, two in itertools.pairwise(keys))


@pytest.mark.parametrize("kind", ["sliding", "landmark", "rows"])
def test_proposition_8(kind: str) -> None:
    """The end of a row of a difference is not known as it comes: a later row of the other side ends it."""
    one, late = [{"t": 1, "k": "a", "x": 1}], [{"t": 3, "k": "a", "x": 1}]
    before, after = (over(one, kind).difference(over(other, kind)) for other in ([], late))
    assert before.pattern == after.pattern == "strictly non-monotonic"
    assert before.at(2).num_rows == after.at(2).num_rows == 1
    assert (before.at(3).num_rows, after.at(3).num_rows) == (1, 0)


def test_proposition_9(events: Rows, others: Rows) -> None:
    """The pattern of union and join is the stronger of both windows' and the operator's."""
    order = ["monotonic", "weakest non-monotonic", "weak non-monotonic", "strictly non-monotonic"]
    kinds = ["sliding", "hopping", "tumbling", "landmark", "rows", "partitioned"]
    for one, two in itertools.product(kinds, kinds):
        left, right = over(events, one), over(others, two)
        stronger = max(left.pattern, right.pattern, key=order.index)
        assert left.union(right).pattern == stronger
        grows = stronger == "monotonic"
        assert joined(left, right).pattern == (
            "monotonic" if grows else max("weak non-monotonic", stronger, key=order.index)
        )
        worse = left.difference(right)
        assert joined(worse, right).pattern == worse.union(right).pattern == "strictly non-monotonic"
