"""Queries of the window algebra as data, such as those of algebra.json: through the front door, and by brute force.

A query is nested JSON. The definition keeps each operator's rows at each instant: nothing of the package is in it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

import framefold as ff

Row = dict[str, Any]
Events = Mapping[str, list[Row]]
Query = Mapping[str, Any]
TESTS = {
    ">=": lambda a, b: a >= b, ">": lambda a, b: a > b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip
AGGREGATES = {"count": ff.Count, "sum": ff.Sum, "min": ff.Min, "max": ff.Max, "avg": ff.Average}
DEFINED: dict[str, Callable[[list[Any]], Any]] = {
    "sum": sum, "min": min, "max": max, "avg": lambda values: sum(values) / len(values),
}  # fmt: skip


@cache
def algebra() -> dict[str, Any]:
    """What algebra.json has."""
    return json.loads((Path(__file__).parents[1] / "vectors" / "algebra.json").read_text())


def windows(window: Query) -> Any:
    """The windows of a case: refreshes are at multiples of the step."""
    closed: Any = window.get("closed", "right")
    if window["kind"] in ("sliding", "tumbling"):
        size = window["size"]
        every = size if window["kind"] == "tumbling" else window.get("every", 1)
        return ff.sliding(size, every, offset=-size % every, closed=closed, gaps="allow")
    if window["kind"] == "landmark":
        return ff.landmark(since=window.get("since"), until=window.get("until"), closed="both")
    return ff.last_rows(window["n"], ties=window.get("ties", "arrival"))


def literal(value: Any, column: str) -> str:
    """A value that a column is compared with, in SQL."""
    return repr(value)


def relation(query: Query, tables: Mapping[str, Any], engine: Callable[[Any], Any] = lambda table: table) -> Any:
    """The relation of a query, over tables of events by stream."""
    sides = [relation(query[side], tables, engine) for side in ("of", "left", "right") if side in query]
    match query["op"]:
        case "window":
            by = query["window"].get("by")
            return (
                ff.events(engine(tables[query["stream"]]), time="t", by=by).window(windows(query["window"])).relation()
            )
        case "where":
            return sides[0].where(
                f"`{query['column'].replace('`', '``')}` {query['is']} {literal(query['value'], query['column'])}"
            )
        case "select":
            return sides[0].select(*query["columns"])
        case "distinct":
            return sides[0].distinct(keep=query["policy"] == "keep")
        case "aggregate":
            outputs = {name: AGGREGATES[kind](*filter(None, [of])) for name, (kind, of) in query["outputs"].items()}
            return sides[0].aggregate(by=query["by"], **outputs)
        case "join":
            on = [tuple(pair) for pair in query["on"]]
            return sides[0].join(sides[1], on=on, prefix=query["prefix"], stamp=query.get("stamp", "min"))
        case "union" | "difference":
            return getattr(sides[0], query["op"])(sides[1])
    raise AssertionError(query["op"])


def table(rows: Iterable[Row], like: Iterable[Row] = ()) -> pa.Table:
    """Events as a table, empty ones with the columns of others."""
    listed = list(rows)
    return pa.Table.from_pylist(listed) if listed else pa.Table.from_pylist(list(like))[:0]


def tables(events: Events) -> dict[str, pa.Table]:
    some = next(rows for rows in events.values() if rows)
    return {name: table(rows, some) for name, rows in events.items()}


def frozen(row: Row) -> tuple[Any, ...]:
    """A row as something that counts; floats as far as they are sure."""
    rounded = {name: round(value, 9) if isinstance(value, float) else value for name, value in row.items()}
    return tuple(sorted(rounded.items(), key=lambda item: item[0]))


def netted(rows: Iterable[Row]) -> Counter[Any]:
    """Changes of rows with their validity: by instant and row how much more often it is there from then on.

    Two bags of rows have the same if they are equal once equal rows whose validities touch are merged.
    """
    found: Counter[Any] = Counter()
    for row in rows:
        values = frozen({name: value for name, value in row.items() if name not in ("valid_from", "valid_to")})
        found[(row["valid_from"], values)] += 1
        if row["valid_to"] is not None:
            found[(row["valid_to"], values)] -= 1
    return Counter({change: count for change, count in found.items() if count})


def bag(rows: Iterable[Row]) -> Counter[Any]:
    return Counter(map(frozen, rows))


class Definition:
    """The states of a query at each instant up to a horizon, by the definitions of the paper as they are read here."""

    def __init__(self, events: Events, horizon: int) -> None:
        self.events, self.horizon = events, horizon

    def states(self, query: Query) -> list[list[tuple[Any, Row]]]:
        """At each instant the rows, each with something that tells it from others: where it came from."""
        sides = [self.states(query[side]) for side in ("of", "left", "right") if side in query]
        match query["op"]:
            case "window":
                return [self.scope(query["stream"], query["window"], instant) for instant in range(self.horizon + 1)]
            case "where":
                test = TESTS[query["is"]]
                return [
                    [(me, row) for me, row in state if row[query["column"]] is not None
                     and test(row[query["column"]], query["value"])]
                    for state in sides[0]
                ]  # fmt: skip
            case "select":
                names = {*query["columns"], "ts"}
                return [
                    [(me, {name: row[name] for name in row if name in names}) for me, row in state]
                    for state in sides[0]
                ]
            case "union":
                return [
                    [(("l", me), row) for me, row in left] + [(("r", me), row) for me, row in right]
                    for left, right in zip(*sides, strict=True)
                ]
            case "join":
                return [self.pairs(left, right, query) for left, right in zip(*sides, strict=True)]
            case "difference":
                return [self.without(left, right) for left, right in zip(*sides, strict=True)]
            case "aggregate":
                return [self.groups(state, query) for state in sides[0]]
            case "distinct":
                return self.distinct(sides[0], query["policy"] == "keep")
        raise AssertionError(query["op"])

    def scope(self, stream: str, window: Query, now: int) -> list[tuple[Any, Row]]:
        """What is in the window that ended last by an instant."""
        rows = [({"ts": row["t"]} | {k: v for k, v in row.items() if k != "t"}) for row in self.events[stream]]
        events = sorted(enumerate(rows), key=lambda item: item[1]["ts"])  # stable: ties as they came
        if window["kind"] == "landmark":
            since, until = window.get("since"), window.get("until")
            return [
                (me, row) for me, row in events
                if row["ts"] <= now and (since is None or row["ts"] >= since) and (until is None or row["ts"] <= until)
            ]  # fmt: skip
        if window["kind"] == "rows":
            groups: dict[Any, list[tuple[Any, Row]]] = defaultdict(list)
            for me, row in events:
                if row["ts"] <= now:
                    groups[tuple(row[name] for name in window.get("by", ()))].append((me, row))
            found = [each for group in groups.values() for each in self.last(group, window)]
            return sorted(found, key=lambda item: (item[1]["ts"], item[0]))  # as they were admitted
        size = window["size"]
        end = now - now % (size if window["kind"] == "tumbling" else window.get("every", 1))
        if window.get("closed", "right") == "right":
            return [(me, row) for me, row in events if end - size < row["ts"] <= end]
        return [(me, row) for me, row in events if end - size <= row["ts"] < end]

    @staticmethod
    def last(group: list[tuple[Any, Row]], window: Query) -> list[tuple[Any, Row]]:
        n, ties = window["n"], window.get("ties", "arrival")
        if ties == "arrival":
            return group[-n:]
        times = sorted({row["ts"] for _, row in group})
        if ties == "distinct_time":
            return [(me, row) for me, row in group if row["ts"] in times[-n:]]
        for first in times:
            if len(some := [(me, row) for me, row in group if row["ts"] >= first]) <= n:
                return some
        return []

    @staticmethod
    def pairs(left: list[tuple[Any, Row]], right: list[tuple[Any, Row]], query: Query) -> list[tuple[Any, Row]]:
        found = []
        for me, one in left:
            for you, other in right:
                if all(one[a] is not None and one[a] == other[b] for a, b in query["on"]):
                    row = {k: v for k, v in one.items() if k != "ts"}
                    row |= {query["prefix"] + k: v for k, v in other.items() if k != "ts"}
                    both = [each["ts"] for each in (one, other) if "ts" in each]
                    pick = {"min": min, "max": max}[query.get("stamp", "min")]
                    found.append(((me, you), row | ({"ts": pick(both)} if both else {})))
        return found

    @staticmethod
    def without(left: list[tuple[Any, Row]], right: list[tuple[Any, Row]]) -> list[tuple[Any, Row]]:
        one, other = (bag({k: v for k, v in row.items() if k != "ts"} for _, row in side) for side in (left, right))
        return [(None, dict(row)) for row in (one - other).elements()]

    @staticmethod
    def groups(state: list[tuple[Any, Row]], query: Query) -> list[tuple[Any, Row]]:
        groups: dict[Any, list[Row]] = defaultdict(list)
        for _, row in state:
            groups[tuple(row[name] for name in query["by"])].append(row)
        found = []
        for key, rows in groups.items():
            made = dict(zip(query["by"], key, strict=True))
            for name, (kind, of) in query["outputs"].items():
                values = [row[of] for row in rows if row[of] is not None] if of else rows
                made[name] = len(values) if kind == "count" else DEFINED[kind](values) if values else None
            found.append((None, made))
        return found

    @staticmethod
    def distinct(states: list[list[tuple[Any, Row]]], keep: bool) -> list[list[tuple[Any, Row]]]:
        found: list[list[tuple[Any, Row]]] = []
        held: dict[Any, Any] = {}
        for state in states:
            groups: dict[Any, list[tuple[Any, Row]]] = defaultdict(list)
            for order, (me, row) in enumerate(state):
                groups[frozen({k: v for k, v in row.items() if k != "ts"})].append((me, row | {"#": order}))
            now = {}
            for value, rows in groups.items():
                by_age = sorted(rows, key=lambda item: (item[1].get("ts", 0), item[1]["#"]))
                still = [item for item in rows if value in held and item[0] == held[value][0]]
                fresh = by_age[0] if value not in held else by_age[-1]
                now[value] = (still or [fresh])[0] if keep else by_age[-1]
            held = now
            found.append([(me, {k: v for k, v in row.items() if k != "#"}) for me, row in now.values()])
        return found

    def changes(self, query: Query) -> Counter[Any]:
        """What changes at each instant."""
        found: Counter[Any] = Counter()
        before: Counter[Any] = Counter()
        for instant, state in enumerate(self.states(query)):
            now = bag(row for _, row in state)
            for row in now | before:
                if now[row] != before[row]:
                    found[(instant, row)] = now[row] - before[row]
            before = now
        return found
