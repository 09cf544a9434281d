"""Which windows a function, or a frame, of SQL says."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa

from ...aggregators.durations import MICROSECONDS, Length, written
from ...aggregators.errors import QueryError
from ...lookbacks import before
from ...runtime.columns.ticks import Duration
from ...runtime.windows.around import around
from ...runtime.windows.cumulating import cumulating
from ...runtime.windows.session import session
from ...runtime.windows.sliding import sliding, tumbling
from ...runtime.windows.spec import Spec
from .calls import ascends, literal, refused
from .trees import column, kind, text_of

NAMES = ("window", "session_window", "window_start", "window_end", "window_time")
"""What windows and their bounds are called in queries."""

TABLE_FUNCTIONS = {
    "TUMBLE": ("size", "offset"), "HOP": ("slide", "size", "offset"), "CUMULATE": ("slide", "size", "offset"),
    "SESSION": ("gap",),
}  # fmt: skip
"""The parameters of functions of tables after the table and the time; a function of groups lacks the table."""
OF_SPARK = {"WINDOW": ("size", "slide", "offset"), "SESSION_WINDOW": ("gap",)}
ALL_ROWS, ALL_TICKS, ALL_TIME = (1 << 31) - 1, 1 << 62, datetime.timedelta(days=40_000_000)
"""More rows, and more time, than there are before an event."""
SAME = {"step": "slide", "hopsize": "slide", "hop_size": "slide", "dur": "size", "window_size": "size"}
"""Parameters by other names."""


@cache
def edge(name: str) -> Any:
    """The start or the end of a window in results."""
    return column("window", name)


@dataclass(frozen=True)
class Windowing:
    """The windows of a query, the time that they are of, and what names them.

    ``given`` are their durations, and ``keys`` those that a table function has sessions of; None where it does not say.
    """

    call: Any
    time: Any
    given: Mapping[str, Any]
    keys: tuple[Any, ...] | None = None

    @property
    def word(self) -> str:
        return str(self.call.name).upper()

    def spec(self, of: pa.DataType) -> Spec:
        """The windows, of times of a type: Spark has days of 24 hours in UTC, and others those of the times' zone."""
        zoned = pa.types.is_timestamp(of) and of.tz is not None
        return spec_of(self.call, self.given, in_hours=zoned and self.word in OF_SPARK)

    def bound(self, node: Any) -> Any:
        """What a part means that is a bound of windows, or these themselves; None for another part."""
        ends = {"start": edge("start"), "end": edge("end")}
        if kind(node) == "Column":
            path = ".".join(part.name.lower() for part in node.parts)
            struct = "session_window" if self.word == "SESSION_WINDOW" else "window"
            named = {f"window_{name}": each for name, each in (ends | {"time": self.last}).items()}
            named |= {f"{struct}.{name}": each for name, each in ends.items()} | {struct: column("window")}
            return named.get(path)
        if kind(node) != "Anonymous":
            return None
        if node == self.call:
            return column("window")
        word, arguments = node.name.upper(), node.expressions
        if word == "WINDOW_TIME" and len(arguments) == 1 and self.bound(arguments[0]) == column("window"):
            return self.last
        of, _, end = word.rpartition("_")
        own = of == self.word and arguments == self.call.expressions
        return (ends | {"rowtime": self.last}).get(end.lower()) if own else None

    @property
    def last(self) -> Any:
        """The last instant of a window: of Spark's a microsecond before its end, of Flink's a millisecond."""
        from sqlglot import exp

        unit = "MICROSECOND" if self.word in OF_SPARK else "MILLISECOND"
        return exp.Sub(this=edge("end"), expression=exp.Interval(this=exp.Literal.string("1"), unit=exp.var(unit)))


def of_table(call: Any) -> tuple[Any, Windowing] | None:
    """The table that a function of tables is of, and its windows; None where it is another function."""
    names = TABLE_FUNCTIONS.get(str(call.name).upper())
    if kind(call) != "Anonymous" or names is None:
        return None
    given = by_name(call, ("data", "timecol", *names))
    table, time = given.pop("data", None), given.pop("timecol", None)
    if table is None or time is None:
        raise refused(call, f"{call.name}(table, time, {', '.join(names)})")
    if kind(time) == "Anonymous" and time.name.upper() == "DESCRIPTOR" and len(time.expressions) == 1:
        time = time.expressions[0]
    partition = table.args.get("partition")
    keys = partition.expressions if partition is not None else []
    keys = [part for each in keys for part in (each.expressions if kind(each) == "Tuple" else [each.unnest()])]
    if keys and call.name.upper() != "SESSION":
        raise refused(call, "PARTITION BY of a table in SESSION only, and the keys in GROUP BY")
    return table, checked(Windowing(call, time, given, tuple(keys)))


def of_group(call: Any) -> Windowing | None:
    """The windows of a function in ``GROUP BY``; None where it is none."""
    names = (TABLE_FUNCTIONS | OF_SPARK).get(str(call.name).upper()) if kind(call) == "Anonymous" else None
    if names is None:
        return None
    given = by_name(call, ("timecol", *names))
    time = given.pop("timecol", None)
    if time is None:
        raise refused(call, f"{call.name}(time, {', '.join(names)})")
    return checked(Windowing(call, time, given))


def checked(windowing: Windowing) -> Windowing:
    """Windows; QueryError where what they are given is none of theirs."""
    spec_of(windowing.call, windowing.given)
    return windowing


def by_name(call: Any, names: Sequence[str]) -> dict[str, Any]:
    """The arguments of a function by their names."""
    given: dict[str, Any] = {}
    for name, each in zip([*names, *[""] * len(call.expressions)], call.expressions, strict=False):
        if kind(each) == "Kwarg":
            name, each = each.name.lower(), each.expression
            name = SAME.get(name, name)
        if name not in names or name in given:
            raise refused(call, f"{call.name}({', '.join(names)})")
        given[name] = each
    return given


def spec_of(call: Any, given: Mapping[str, Any], *, in_hours: bool = False) -> Spec:
    """The windows of a function, by its durations.

    The longer one of two is the size of a window, wherever it stands: Flink, RisingWave and Oracle have it last,
    Calcite's proposal, Spark and others first.
    """
    lengths: Any = {name: duration(each, in_hours=in_hours) for name, each in given.items()}
    word, named = str(call.name).upper(), any(kind(each) == "Kwarg" for each in call.expressions)
    offset = {"offset": lengths["offset"]} if "offset" in lengths else {}
    if "gap" in lengths:
        return session(lengths["gap"], merge_touching=True)
    if "size" not in lengths or (word in ("HOP", "CUMULATE") and "slide" not in lengths):
        raise refused(call, "the durations of windows")
    if "slide" not in lengths:
        return tumbling(lengths["size"], **offset)
    slide, size = lengths["slide"], lengths["size"]
    if not named and ticks(slide) > ticks(size):
        slide, size = size, slide
    if word == "CUMULATE":
        return cumulating(size, slide, **offset)
    return sliding(size, slide, gaps="allow", **offset)


def ticks(length: Duration) -> tuple[int, int, int]:
    """What durations are compared by."""
    found = written(length, "sql()")
    return found.numbers if isinstance(found, Length) else (0, 0, found)


def duration(node: Any, *, in_hours: bool = False) -> Any:
    """A duration, as windows take it; days as hours, if asked to."""
    if kind(node) == "Neg":
        return before(duration(node.this, in_hours=in_hours))
    if kind(node) == "Interval":
        unit = node.args.get("unit")
        if unit is not None and unit.sql().lower() == "business":  # sqlglot drops the word after it
            raise refused(node, f"the text '{node.this.name} business days' without INTERVAL")
        words: Any = f"{node.this.name} {'' if unit is None else unit.sql().lower()}".strip()
    else:
        words = literal(node)
    length = written(words, "sql()")
    if in_hours and isinstance(length, Length) and length.in_days:
        return f"{length.microseconds // MICROSECONDS['hour']} hours"
    if isinstance(length, Length) and length.in_weeks:  # they start on a Thursday, as 1970 does
        return datetime.timedelta(microseconds=length.microseconds)
    return words


@dataclass(frozen=True)
class Over:
    """Which events an ``OVER`` takes in: their keys, their time, and what else it says."""

    keys: tuple[Any, ...]
    time: Any
    window: Any


def of_over(window: Any, named: Mapping[str, Any]) -> Over:
    """What an ``OVER`` says; ``named`` has those of the clause ``WINDOW``."""
    alias = window.args.get("alias")
    if alias is not None:
        if alias.name not in named or any(window.args.get(each) for each in ("partition_by", "order", "spec")):
            raise refused(window, f"one of the windows {', '.join(named)}" if named else "OVER (...)")
        window = named[alias.name]
    order = window.args.get("order")
    if order is None or len(order.expressions) != 1 or not ascends(order.expressions[0], order.expressions[0].this):
        raise refused(window, "OVER (... ORDER BY time), one time that ascends")
    keys = tuple(window.args.get("partition_by") or ())
    return Over(keys, order.expressions[0].this, window)


def frame_of(window: Any, integers: bool) -> Spec:
    """The windows that the frame of an ``OVER`` is; ``integers`` says whether times are."""
    frame = window.args.get("spec")
    said = {} if frame is None else frame.args
    word = str(said.get("kind", "RANGE")).upper()
    excluded = " ".join(str(said.get("exclude") or "NO OTHERS").upper().split())
    if word not in ("ROWS", "RANGE"):
        raise refused(window, "a frame of ROWS or RANGE")
    ends = [said.get("start") or "UNBOUNDED", said.get("end") or "CURRENT ROW"]
    sides = [str(said.get(f"{end}_side") or "PRECEDING").upper() for end in ("start", "end")]
    if isinstance(ends[1], str) and ends[1].upper() == "UNBOUNDED":
        raise refused(window, "a frame that ends at the current row, or at a distance from it")
    integers = integers or word == "ROWS"
    words = {"CURRENT ROW": 0 if integers else datetime.timedelta(0)}
    words["UNBOUNDED"] = ALL_ROWS if word == "ROWS" else ALL_TICKS if integers else ALL_TIME
    pair: Any = []
    for end, side in zip(ends, sides, strict=True):
        length = words[end.upper()] if isinstance(end, str) else duration(end)
        pair.append(length if side == "FOLLOWING" else before(length))
    if word == "RANGE":
        if excluded != "NO OTHERS":
            raise not_excluded(excluded)
        return around(time=pair)
    if not all(isinstance(each, int) for each in pair):
        raise refused(window, "numbers of rows")
    if excluded == "CURRENT ROW" and 0 in pair and pair != [0, 0]:
        pair = [pair[0], -1] if pair[1] == 0 else [1, pair[1]]
    elif excluded != "NO OTHERS":
        raise not_excluded(excluded)
    return around(rows=pair, min_fill="partial")


def not_excluded(excluded: str) -> QueryError:
    """The error of a frame that leaves out rows in its midst, or that have the time of its row."""
    return QueryError(
        f"the query has EXCLUDE {excluded}; expected EXCLUDE NO OTHERS, or EXCLUDE CURRENT ROW of ROWS that begin or "
        "end at the current row"
    )


def require_whole(windowing: Windowing, grouped: Sequence[Any], keys: Sequence[Any]) -> None:
    """QueryError unless what is grouped by tells the windows of a function of tables apart."""
    if windowing.keys is None:
        return
    ends = any(each in (edge("end"), windowing.last) for each in grouped)
    starts = edge("start") in grouped
    by = ", ".join(map(text_of, [*grouped, *keys])) or "nothing"
    if not (ends or starts) or (windowing.word == "CUMULATE" and not ends):
        raise QueryError(f"the query groups {windowing.word} by {by}; expected GROUP BY window_start, window_end")
    if windowing.word == "SESSION" and set(windowing.keys) != set(keys):
        of = ", ".join(map(text_of, windowing.keys)) or "all rows together"
        expected = "the same keys in PARTITION BY and GROUP BY"
        raise QueryError(f"the query has sessions of {of}, and groups them by {by}; expected {expected}")


def require_apart(windowing: Windowing, conditions: Sequence[Any]) -> None:
    """QueryError where rows of sessions are left out after these are known, which would be other ones without them."""
    if windowing.word != "SESSION" or windowing.keys is None:
        return
    for each in conditions:
        if not {node for node in each.walk() if kind(node) == "Column"} <= set(windowing.keys):
            expected = (
                f"the condition on the rows that sessions are of: SESSION((SELECT * FROM t WHERE {text_of(each)})"
            )
            raise refused(each, f"{expected}, ...)")
