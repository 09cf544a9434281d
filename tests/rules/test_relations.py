"""Rules R59-R68 through relations: the cases of algebra.json about each, and what else the rule says."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from ..relations.cases import Definition, Row, algebra, bag, netted, relation, table, tables
from ..relations.queries import events
from ..support.windows import UPDATE_PATTERNS as PATTERNS
from ..vectors.cases_model import vector

S = [{"t": 0, "k": "a", "x": 5}, {"t": 1, "k": "a", "x": 3}, {"t": 1, "k": "b", "x": 2}, {"t": 5, "k": "a", "x": 3}]


def over(windows: Any, rows: list[Row] = S, **more: Any) -> ff.Relation[pa.Table]:
    return ff.events(table(rows), time="t", **more).window(windows).relation()


@pytest.mark.parametrize("rule", ["R59", "R61", "R62", "R63", "R64", "R65", "R68"])
def test_cases_of_a_rule(rule: str) -> None:
    """R59, R61, R62, R63, R64, R65 and R68: the cases of algebra.json about each, and their definition."""
    found = [case for case in algebra()["cases"] if rule in case["rules"]]
    assert found
    for case in found:
        given = netted(relation(case["query"], tables(case["events"])).rows().to_pylist())
        assert given == netted(case["expected"]["rows"]), case["id"]
        assert given == Definition(case["events"], case["horizon"]).changes(case["query"]), case["id"]


SLIDING, LANDMARK = ff.sliding(4, every=1, closed="right"), ff.landmark()


def test_interfering_operators_on_landmarks_and_elsewhere() -> None:
    """R60: the rows kept and pairs only grow on landmarks; elsewhere they end; aggregates are replaced by row."""
    for windows, grows in ((LANDMARK, True), (SLIDING, False), (ff.last_rows(1), False), (ff.tumbling(4), False)):
        found = over(windows)
        for each in (found.distinct("k", keep=True), found.join(found, on="k", prefix="p_")):
            assert (each.deletes().num_rows == 0) == grows == (each.pattern == "monotonic")
        assert found.aggregate(by="k", n=ff.Count()).deletes().num_rows


def test_aggregates_of_relations() -> None:
    """R62: a row a group while it has rows, with any aggregate; without groups there is one; rows have no time."""
    found = over(SLIDING).aggregate(by="k", n=ff.Count(), middle=ff.Median("x"), values=ff.CollectSet("x"))
    assert "ts" not in found.rows().column_names
    assert [row["k"] for row in found.at(4).to_pylist()] == ["a", "b"]
    assert found.at(6).to_pylist() == [{"k": "a", "n": 1, "middle": 3.0, "values": [3]}]
    assert over(SLIDING).aggregate(n=ff.Count()).at(1).to_pylist() == [{"n": 3}]
    assert over(SLIDING).aggregate(n=ff.Count()).at(99).num_rows == 0


def test_patterns_of_table_1() -> None:
    """R66: each operator on each kind of windows has the pattern of Table 1, by row; its cases say it, too."""
    patterns = {LANDMARK: "monotonic", SLIDING: "weakest non-monotonic", ff.tumbling(4): "weak non-monotonic",
                ff.last_rows(2): "weakest non-monotonic"}  # fmt: skip
    for windows, pattern in patterns.items():
        found = over(windows)
        assert found.pattern == found.select("k").pattern == found.where("x > 1").pattern == pattern
        assert found.difference(found).pattern == "strictly non-monotonic"
        grown = "monotonic" if pattern == "monotonic" else "weak non-monotonic"
        assert found.distinct("k", keep=True).pattern == found.join(found, on="k", prefix="p_").pattern == grown
    assert over(ff.last_rows(2), by="k").pattern == "weak non-monotonic"
    order = ["monotonic", "weakest non-monotonic", "weak non-monotonic", "strictly non-monotonic"]
    for one, two in itertools.product(map(over, patterns), repeat=2):
        stronger = max(one.pattern, two.pattern, key=order.index)
        paired = max("weak non-monotonic", stronger, key=order.index) if order.index(stronger) else stronger
        assert one.union(two).pattern == stronger
        assert one.join(two, on="k", prefix="p_").pattern == paired
        assert one.difference(two).join(two, on="k", prefix="p_").pattern == order[-1]
    keyed = over(LANDMARK)
    for found, row in ((keyed.aggregate(by="k", n=ff.Count()), "weak"), (keyed.distinct("k"), "strictly")):
        assert str(found.updates) == f"{row} non-monotonic by row, monotonic by key"
    for case in algebra()["cases"]:
        asked = relation(case["query"], tables(case["events"]))
        assert asked.pattern.removeprefix("strictly ") == case["pattern"], case["id"]


def test_filters_below_windows() -> None:
    """R67: a selection goes below windows of time, and below partitioned ones on their columns, and nowhere else."""
    below, above = "went below the windows: they go by time alone", "stays above the windows: "
    partitioned, others = over(ff.last_rows(2), by="k"), f"{above}rows that it leaves out push others out"
    for found, told in (
        *((over(windows).where("x > 2"), below) for windows in (SLIDING, LANDMARK, ff.tumbling(4), ff.sliding(5, 2))),
        (over(SLIDING).where("x >= 2").where("k = 'a'"), f"{below}; {below}"),
        (over(SLIDING).where("ts >= 2"), f"{above}it is of instants"),
        (partitioned.where("k = 'a'"), "went below the windows: it is on their partition columns"),
        (partitioned.where("x > 2"), others),
        (partitioned.where("k = 'a' and x > 1"), others),
        (over(ff.last_rows(2)).where("k = 'a'"), others),
    ):
        assert "; ".join(text for _, text in found.explain().rows if text.startswith(("went", "stays"))) == told
    of = over(SLIDING)
    assert any(text.startswith("went below the union") for _, text in of.union(of).where("x > 2").explain().rows)
    for made in (
        of.distinct("k"), of.distinct("k", keep=True), of.union(of), of.difference(of), of.join(of, on="k"),
        of.aggregate(by="k", n=ff.Count()), partitioned.union(partitioned), partitioned.distinct("k"),
    ):  # fmt: skip
        assert not [text for _, text in made.explain().rows if text.startswith("went")]


@pytest.mark.parametrize("step", [1, 2, 5])
def test_the_experiment_with_relations(step: int) -> None:
    """R68: Q4, Q5 and Q6 over a sliding window of 10 on a made-up trace, against their definition."""
    draw = random.Random(step)
    trace = {name: [{**row, "k": row["k"] or "c"} for row in events(draw, 40)] for name in ("S", "P")}
    window = {"kind": "sliding", "size": 10, "every": step}
    one, other = ({"op": "window", "stream": name, "window": window} for name in ("S", "P"))
    for query in (
        {"op": "distinct", "of": {"op": "select", "of": one, "columns": ["j", "k"]}, "policy": "keep"},
        {"op": "aggregate", "of": one, "by": ["k"], "outputs": {"total": ["sum", "x"], "longest": ["max", "x"]}},
        {"op": "join", "left": one, "right": other, "on": [["j", "j"]], "prefix": "b_"},
    ):
        found = netted(relation(query, tables(trace)).rows().to_pylist())
        assert found == Definition(trace, 48).changes(query)


def test_the_row_found_is_kept_until_it_expires() -> None:
    """R61: PS-15, the last four rows without equal ones, of which one found late ends before one found early."""
    case = vector("PS-15")
    rows = [{"t": at + 1, "v": value} for at, value in enumerate(case["input"])]
    found = over(ff.last_rows(case["params"]["n"]), rows).distinct("v", keep=True)
    for at, state in enumerate(case["expected"], 1):
        assert bag(found.at(at).to_pylist()) == bag({"v": value, "ts": since} for value, since, _ in state)


def test_pairs_that_end_in_another_order() -> None:
    """R63: PS-19, pairs over two sliding windows with the lesser time and the earlier end; PS-20, over counted rows."""
    case = vector("PS-19")
    sizes = case["params"]["omega1"], case["params"]["omega2"]
    sides = [[{"t": t, "k": key} for of, t, key in case["input"] if of == side] for side in (1, 2)]
    left, right = (
        over(ff.sliding(size, every=1, closed="right"), rows) for size, rows in zip(sizes, sides, strict=True)
    )
    pairs = left.join(right, on="k", prefix="p_", stamp=case["params"]["f"]).rows().to_pylist()
    given = [(row["k"], row["valid_from"], row["ts"], row["valid_to"]) for row in pairs]
    assert sorted(given) == sorted(tuple(each.values()) for each in case["expected"])
    case = vector("PS-20")
    counted: list[list[Row]] = [[], []]
    for at, (side, key) in enumerate(case["input"], 1):
        counted[side - 1].append({"t": at, "k": key, "n": len(counted[side - 1]) + 1})
    left, right = (over(ff.last_rows(case["params"][f"n{side}"]), counted[side - 1]) for side in (1, 2))
    both = left.join(right, on="k", prefix="p_")
    for at, state in enumerate(case["expected"], 1):
        assert sorted([row["k"], row["n"], row["p_n"]] for row in both.at(at).to_pylist()) == sorted(state)


def test_classes_of_table_1() -> None:
    """R66: PS-28, by key, as the paper reads aggregates that replace rows; distinct is that which keeps rows."""
    words = {"weakest": "weakest non-monotonic", "weak": "weak non-monotonic", "non": "strictly non-monotonic",
             "monotonic": "monotonic"}  # fmt: skip
    relations = {
        "sliding": [over(SLIDING), over(ff.last_rows(2))], "tumbling": [over(ff.tumbling(4))],
        "partitioned": [over(ff.last_rows(2), by="k")], "landmark": [over(LANDMARK)],
    }  # fmt: skip
    for kind, classes in vector("PS-28")["expected"].items():
        for of in relations[kind]:
            made = {
                "selection": of.where("x > 1"), "projection": of.select("k"), "union": of.union(of),
                "distinct": of.distinct(keep=True), "join": of.join(of, on="k", prefix="p_"),
                "aggregation": of.aggregate(by="k", n=ff.Count()), "difference": of.difference(of),
            }  # fmt: skip
            for pattern, operators in classes.items():
                names = ["difference"] if pattern == "non" else operators
                assert {PATTERNS[made[name].updates.key][0] for name in names} == {words[pattern]}, (kind, pattern)
