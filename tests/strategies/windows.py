"""Random window specifications of every constructor, together with events that make them hard, for hypothesis."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

import framefold as ff

from ..oracles.windows import Row

FAR = 2**60
NEAR = 10_000
KEYS = [None, "a", "b"]
DAY = 86_400
GRID = ("sliding", "tumbling", "cumulating")


@dataclass(frozen=True)
class Span:
    """A duration in a specification: units of the time column (1, seconds or days)."""

    units: int


@dataclass(frozen=True)
class Instant:
    """A time in a specification."""

    units: int


@dataclass(frozen=True)
class Spec:
    """A call of a constructor, written down."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Anchors:
    """The other data set of windows_from: rows of key, start, end, at."""

    rows: list[tuple[str | None, int, int, int]]
    by: bool


@dataclass(frozen=True)
class Problem:
    """Events in windows.

    `kind` is the type of the time column: int, naive, utc or date. `keyed` and `tied` say whether the query names the
    key and the tie-breaker; the events come in batches of `batch` rows, and partials are merged once there are
    `pending`.
    """

    spec: Spec
    rows: list[Row]
    kind: str
    keyed: bool
    tied: bool
    batch: int
    pending: int


near = st.integers(-30, 30)
crowded = st.integers(-3, 3)
far = st.one_of(near, near, near, st.integers(-3, 3).map(lambda x: x * (FAR // 3)), st.integers(-FAR, FAR))
kinds = st.sampled_from(["int", "int", "int", "naive", "utc", "date"])
sizes = st.integers(1, 12)
closed_ends = st.sampled_from(["left", "right"])
closed_any = st.sampled_from(["both", "left", "right", "neither"])
fills = st.sampled_from(["partial", "full"])
emits = st.sampled_from(["every", "every", "on_change"])
stamps = st.sampled_from(["interval", "interval", "start", "end"])
empties = st.sampled_from(["skip", "emit"])
attributes: dict[str, Callable[[int], st.SearchStrategy[float]]] = {
    "up": lambda time: st.integers(0, 2).map(lambda x: 3 * time + x),
    "down": lambda time: st.integers(0, 2).map(lambda x: x - 3 * time),
    "any": lambda time: st.integers(-12, 12),
    "halves": lambda time: st.integers(-24, 24).map(lambda x: x / 2),
    "tenths": lambda time: st.integers(-24, 24).map(lambda x: x / 10),
}


@st.composite
def events(
    draw: st.DrawFn,
    times: st.SearchStrategy[int],
    lengths: st.SearchStrategy[int] | None = None,
    attribute: str = "any",
    most: int = 16,
) -> list[Row]:
    """Events of up to three keys in any order, with ties and null values; interval events where lengths are given."""
    some = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3))
    at = crowded if draw(st.integers(0, 4)) == 0 else times
    rows = []
    for _ in range(draw(st.integers(0, most))):
        time = draw(at)
        rows.append(
            Row(
                time,
                draw(st.sampled_from(some)),
                draw(st.one_of(st.none(), st.integers(-9, 9), st.integers(-9, 9), st.integers(-(2**40), 2**40))),
                draw(st.integers(0, 2)),
                None if lengths is None else time + draw(lengths),
                draw(attributes[attribute](time)),
            )
        )
    return rows


@st.composite
def problems(draw: st.DrawFn, specs: st.SearchStrategy[Spec], wide: bool = False, **of_events: Any) -> Problem:
    """Events in a window; with gaps nearly as long as the time line where the window can do with them."""
    spec, kind = draw(specs), draw(kinds)
    if spec.arguments.get("empty") == "emit" or kind != "int":
        wide = False  # far apart in seconds would be beyond the type
    rows = draw(events(far if wide else near, **of_events))
    return finish(draw, spec, rows, kind)


def finish(draw: st.DrawFn, spec: Spec, rows: list[Row], kind: str) -> Problem:
    """The rest of a problem."""
    keyed, tied = draw(st.booleans()) or draw(st.booleans()), draw(st.booleans())
    return Problem(spec, rows, kind, keyed, tied, draw(st.sampled_from([2, 5, 1000])), draw(st.sampled_from([2, 99])))


def spec(name: str, **arguments: Any) -> st.SearchStrategy[Spec]:
    """A call with drawn arguments; values that are no strategies stay as they are."""
    drawn = {key: value if isinstance(value, st.SearchStrategy) else st.just(value) for key, value in arguments.items()}
    return st.builds(Spec, st.just(name), st.fixed_dictionaries(drawn))


spans = sizes.map(Span)
offsets = st.integers(-20, 20).map(Span)
on_grid = {"offset": offsets, "closed": closed_ends, "empty": empties, "emit": emits, "stamp": stamps}


def growing(every: int) -> st.SearchStrategy[Spec]:
    size = st.integers(1, 5).map(lambda steps: Span(steps * every))
    return spec("cumulating", size=size, every=Span(every), **on_grid)


def landmarks(
    bound: st.SearchStrategy[int], without: st.SearchStrategy[Spec], above: dict[str, Any], **rest: Any
) -> st.SearchStrategy[Spec]:
    """With a bound below, above, both or none."""
    band = st.tuples(bound, sizes).flatmap(
        lambda x: spec("landmark", since=Instant(x[0]), until=Instant(x[0] + x[1]), **rest)
    )
    one = (
        spec("landmark", since=bound.map(Instant), **rest),
        spec("landmark", until=bound.map(Instant), **above, **rest),
    )
    return st.one_of(band, *one, without)


def last_rows(ties: str) -> st.SearchStrategy[Spec]:
    return spec("last_rows", n=st.integers(1, 7), every=st.integers(1, 4), ties=ties, min_fill=fills, emit=emits)


def around_rows(ends: tuple[int, int]) -> st.SearchStrategy[Spec]:
    apart = abs(ends[0] - ends[1])
    closed = closed_any if apart > 1 else st.sampled_from(["both", "left", "right"]) if apart else st.just("both")
    return spec("around", rows=ends, closed=closed, min_fill=fills)


def around_time(ends: tuple[int, int]) -> st.SearchStrategy[Spec]:
    return spec("around", time=(Span(ends[0]), Span(ends[0] + ends[1])), closed=closed_any if ends[1] else "both")


def rules(kind: str) -> st.SearchStrategy[Spec]:
    if kind == "count":
        return spec("by_count", n=st.integers(1, 6))
    if kind == "time":
        return spec("by_time", duration=spans)
    much = st.one_of(st.integers(0, 8), st.sampled_from([0.5, 1.5, 0.1, 0.2, 0.3]))
    return spec("by_delta", column="attr", delta=much)


def policy(evict: str, trigger: str) -> st.SearchStrategy[Problem]:
    """One of the nine combinations; the attribute is in order, the other way round, or in none."""
    arguments: dict[str, Any] = {"evict": rules(evict), "min_fill": fills, "emit": emits}
    arguments["trigger"] = rules(trigger)
    if trigger == "time":
        arguments["until"] = st.one_of(st.none(), near.map(Instant), st.integers(25, 45).map(Instant))
        arguments["empty"] = empties
    shapes = st.sampled_from(sorted(attributes))
    wide = trigger != "time"
    return shapes.flatmap(lambda shape: problems(spec("policy", **arguments), wide=wide, attribute=shape))


@st.composite
def windows_from(draw: st.DrawFn) -> Problem:
    """Anchors in any order, overlapping, of no width, of keys that have no events."""
    kind, closed = draw(kinds), draw(closed_any)
    times = far if kind == "int" else near
    anchors = []
    for _ in range(draw(st.integers(0, 8))):
        start = draw(times)
        wide = draw(st.integers(1 if closed == "neither" else 0, 25))
        anchors.append((draw(st.sampled_from([*KEYS, "c"])), start, start + wide, draw(near)))
    arguments = {"anchors": Anchors(anchors, draw(st.booleans())), "closed": closed, "empty": draw(empties)}
    if draw(st.booleans()):
        arguments["at"] = "at"
    return finish(draw, Spec("windows_from", arguments), draw(events(times)), kind)


lengths = st.one_of(st.integers(1, 6), st.integers(1, 60), st.just(1))


ZONES = ["Europe/Berlin", "America/New_York", "America/Sao_Paulo", "America/Havana", "Asia/Kolkata", "UTC"]
MOMENTS = [
    *(dt.datetime(2021, 3, 28, 1), dt.datetime(2021, 10, 31, 1)),  # Berlin
    *(dt.datetime(2021, 3, 14, 7), dt.datetime(2021, 11, 7, 6)),  # New York
    *(dt.datetime(2018, 11, 4, 3), dt.datetime(2018, 2, 18, 2)),  # Sao Paulo, where midnight is left out or repeated
    *(dt.datetime(2019, 3, 10, 5), dt.datetime(2019, 11, 3, 5)),  # Havana, the same
    *(dt.datetime(2020, 2, 29), dt.datetime(1999, 12, 31, 20), dt.datetime(1969, 12, 30)),
]


@st.composite
def calendar(draw: st.DrawFn) -> Problem:
    """Months, quarters and years, days and weeks, by the clock of a zone, near its changes of the clock.

    The zone is said, or is that of the times: then it is their kind.
    """
    kind, zone = draw(zoned())
    in_days = draw(st.booleans())
    if in_days:
        units = [draw(st.sampled_from(["day", "week"]))] * 2
        offset = ["1 day", "-2 days", "2 days", *([] if kind == "date" else ["9 hours"])]
        reach = 40
    else:
        units = draw(st.lists(st.sampled_from(["month", "month", "quarter", "year"]), min_size=2, max_size=2))
        offset = ["1 month", "-2 months", "1 quarter", "14 days", "30 days", "1 month 28 days", "-3 days"]
        offset += [] if kind == "date" else ["1 month -20 days 9 hours"]
        reach = 900
    size, every = (f"{draw(st.integers(1, 4))} {unit}{draw(st.sampled_from(['', 's']))}" for unit in units)
    arguments: dict[str, Any] = {"size": size, "every": every, "closed": draw(closed_ends), "stamp": draw(stamps)}
    arguments |= {"empty": draw(empties), "min_fill": draw(fills), "emit": draw(emits)}
    if draw(st.integers(0, 2)) == 0:
        arguments["offset"] = draw(st.sampled_from(offset))
    if zone:
        arguments["timezone"] = zone
    name = "sliding"
    if draw(st.integers(0, 2)) == 0:
        name = "tumbling"
        del arguments["every"]
    elif not in_days and draw(st.booleans()):
        name = "cumulating"
        sizes = {
            "1 month": ["1 day", "3 days", "2 weeks"],
            "2 quarters": ["1 week", "1 month"],
            "1 year": ["1 quarter"],
        }
        arguments["size"] = draw(st.sampled_from(list(sizes)))
        arguments["every"] = draw(st.sampled_from(sizes[arguments["size"]]))
        del arguments["min_fill"]
    elif not in_days and draw(st.booleans()):  # the last months, every few days
        arguments["every"] = draw(st.sampled_from(["1 day", "3 days", "1 week", "5 weeks"]))
        if "offset" in arguments:
            arguments["offset"] = draw(st.sampled_from(["1 day", "-2 days", *([] if kind == "date" else ["9 hours"])]))
    rows = draw(events(near_moment(kind, draw(st.sampled_from(MOMENTS)), reach), most=8))
    return finish(draw, Spec(name, arguments), rows, kind)


def zoned() -> st.SearchStrategy[tuple[str, str | None]]:
    """A kind of times with dates, and their zone or the one that is said."""
    named = st.sampled_from(["utc", "utc", "utc", *ZONES[:-1], "naive", "date"])
    return named.flatmap(
        lambda kind: st.tuples(
            st.just(kind), st.sampled_from([None, *ZONES]) if kind == "utc" else st.just(kind if "/" in kind else None)
        )
    )


def near_moment(kind: str, moment: dt.datetime, reach: int) -> st.SearchStrategy[int]:
    """Times of a kind, up to so many days from a moment."""
    day = 1 if kind == "date" else DAY
    hour, middle = day // 24 or 1, (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(days=1) * day
    middle += 0 if kind == "date" else moment.hour * 3600
    return st.one_of(
        st.integers(-reach * day, reach * day),
        st.integers(-5, 5).map(lambda x: x * hour),
        st.integers(-reach, reach).map(lambda x: x * day),
    ).map(lambda x: middle + x)


@st.composite
def business(draw: st.DrawFn) -> Problem:
    """Business days of several weeks, with holidays where events are, by the clock of a zone; months by them."""
    (kind, zone), moment = draw(zoned()), draw(st.sampled_from(MOMENTS))
    week = draw(st.sampled_from(["Mon Tue Wed Thu Fri", "Mon Tue Wed Thu Fri", "Sun Mon Tue Wed Thu", "Wed Sat"]))
    off = draw(st.lists(st.integers(-25, 25), max_size=9))
    holidays = [moment.date() + dt.timedelta(days=days) for days in off]

    def days(count: int) -> Any:
        return ff.business_days(count, week, holidays)

    arguments: dict[str, Any] = {"size": days(draw(st.integers(1, 6))), "every": days(draw(st.integers(1, 6)))}
    arguments |= {"closed": draw(closed_ends), "empty": draw(empties), "emit": draw(emits), "stamp": draw(stamps)}
    name, hours = draw(st.sampled_from(["sliding", "tumbling", "cumulating", "cumulating"])), ["9 hours", "-7 hours"]
    offsets: list[Any] = [days(2), days(-1)]
    if name == "cumulating":
        arguments["size"] = days(arguments["every"].count * draw(st.integers(1, 3)))
        if draw(st.booleans()):
            arguments["size"] = draw(st.sampled_from(["1 month", "1 quarter", "2 weeks", "3 days"]))
            offsets, hours = ["4 days"], ["9 hours"]
    else:
        arguments["min_fill"] = draw(fills)
    if name == "tumbling":
        del arguments["every"]
    if draw(st.integers(0, 2)) == 0:
        arguments["offset"] = draw(st.sampled_from(offsets + ([] if kind == "date" else hours)))
    if zone:
        arguments["timezone"] = zone
    return finish(draw, Spec(name, arguments), draw(events(near_moment(kind, moment, 30), most=8)), kind)


slides = spec("sliding", size=spans, every=spans, min_fill=fills, **on_grid)
grows = sizes.flatmap(growing)
at_steps: dict[str, Any] = {"every": spans, "closed": closed_any, "emit": emits, "stamp": stamps}
near_rows = st.integers(-4, 4)
KINDS = ("count", "time", "delta")
CONSTRUCTORS: dict[str, st.SearchStrategy[Problem]] = {
    "sliding": problems(slides, wide=True),
    "tumbling": problems(spec("tumbling", size=spans, min_fill=fills, **on_grid), wide=True),
    "calendar": calendar(),
    "business days": business(),
    "cumulating": problems(grows, wide=True),
    "landmark a step": problems(landmarks(st.one_of(near, st.just(0)), spec("landmark", offset=offsets, **at_steps),
        {"offset": offsets}, **at_steps)),
    "landmark an event": problems(landmarks(near, spec("landmark", emit=emits), {}, closed=closed_any, emit=emits),
        wide=True),
    "session": problems(spec("session", gap=spans, merge_touching=st.booleans(), stamp=stamps), wide=True),
    **{f"last_rows {ties}": problems(last_rows(ties), wide=True) for ties in ("arrival", "distinct_time", "strict")},
    "around rows": problems(st.tuples(near_rows, near_rows).map(sorted).map(tuple).flatmap(around_rows), wide=True),
    "around time": problems(st.tuples(st.integers(-12, 12), st.integers(0, 12)).flatmap(around_time), wide=True),
    **{f"policy {evict} {trigger}": policy(evict, trigger) for evict in KINDS for trigger in KINDS},
    "windows_from": windows_from(),
    "intervals": problems(st.one_of(slides, slides, grows), lengths=lengths),  # each is in every window it overlaps
    "snapshot": problems(spec("snapshot", emit=emits), wide=True, lengths=lengths),
}  # fmt: skip
"""Problems of windows of every kind."""


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Problem, Problem]:
    """The same events in windows of two kinds: of any, or of one with other arguments, so that many are equal."""
    names = [name for name in CONSTRUCTORS if name not in ("calendar", "business days", "intervals", "snapshot")]
    name = draw(st.sampled_from(names))
    first = draw(CONSTRUCTORS[name])
    second = draw(CONSTRUCTORS[draw(st.sampled_from(names))]).spec
    if draw(st.booleans()):
        given = draw(CONSTRUCTORS[name]).spec.arguments
        changed = draw(st.sets(st.sampled_from(["closed", "emit", "ties", "min_fill", "n", "rows", "trigger"])))
        arguments = {key: value for key, value in given.items() if key in changed & set(first.spec.arguments)}
        second = replace(first.spec, arguments=first.spec.arguments | arguments)
    for spec in (first.spec, second):  # of far ones some kinds have too many windows
        assume(all(abs(at) < NEAR for row in getattr(spec.arguments.get("anchors"), "rows", ()) for at in row[1:]))
    rows = [row for row in first.rows if abs(row.time) < NEAR]
    return replace(first, rows=rows), replace(first, spec=second, rows=rows)
