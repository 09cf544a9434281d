"""The cases of hazelcast_flink.json and semantics.json: what Jet, Flink, StreamInsight, Trill and others give."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.rows import ticks
from .cases import AWAITED, CASES, ON_STREAMS, ON_THEIR_OWN, all_ids
from .cases_model import OPERATIONS, TIMES, Case, Clock, Result, equal, event, plain, table, vector, windows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TICKS = Clock(pa.int64())
WITH_ENDS = {"snapshot", "intervals on a grid"}


def events_of(kind: str, data: Any, by: str | list[str]) -> ff.Events:
    """The events of cases of one kind; rows of one time count in the order in which the case has them."""
    if kind in WITH_ENDS:
        return ff.events(data, time="t", by=by, until="until")
    ordered = kind not in ("grid", "session", "anchors", "around time")
    return ff.events(data, time="t", by=by, ties="row" if ordered else ())


def results(rows: list[dict[str, Any]], output: str) -> list[Result]:
    """The rows of an answer with one of its outputs."""
    return [
        Result(
            ticks(row["window"]["start"]),
            ticks(row["window"]["end"]),
            None if row.get("at") is None else ticks(row["at"]),
            row.get("key"),
            plain(row[output]),
        )
        for row in rows
    ]


def rows_of(answer: Any) -> list[dict[str, Any]]:
    """The rows of an answer, from wherever it comes."""
    return (answer if isinstance(answer, pa.Table) else answer.toArrow()).to_pylist()


def check(case: Case, rows: list[Result]) -> None:
    got, right = case.read(rows), case.expected
    if case.read is windows:
        right = sorted(right, key=str)
    assert equal(got, right), f"{got} should be {right}"


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: CASES[number].id)
def test_local(number: int) -> None:
    """Each case with times that are integers, and with those of one other type, which differs from case to case."""
    case = CASES[number]
    for time in (TIMES[0], TIMES[1 + number % 3]):
        events = events_of(case.kind, table(case.events, time), "key")
        answer = events.window(case.windows(Clock(time))).aggregate(value=OPERATIONS[case.operation])
        check(case, results(answer.to_pylist(), "value"))


@dataclass
class Asked:
    """The answer to all cases of one kind, asked in one pass; each case by its output and the count of its rows."""

    rows: list[dict[str, Any]]
    names: dict[str, tuple[str, str]]

    def of(self, case: Case) -> list[Result]:
        """The rows of one case: an output is null in windows that are not its own, where the count is null too."""
        name, count = self.names[case.id]
        own = [row for row in self.rows if row["case"] == case.id and row[count] is not None]
        return results(own, name)


def ask(kind: str, make: Callable[[pa.Table], Any], **options: str) -> Asked:
    """All cases of a kind as one query, each over its own windows; those of equal windows share outputs."""
    cases = [case for case in CASES if case.kind == kind]
    data = pa.concat_tables(
        table(case.events).append_column("case", pa.array([case.id] * len(case.events))) for case in cases
    )
    known: list[Any] = []
    outputs: dict[str, Any] = {}
    names: dict[str, tuple[str, str]] = {}
    for case in cases:
        spec = case.windows(TICKS)
        if spec not in known:
            known.append(spec)
        place = known.index(spec)
        names[case.id] = f"{case.operation} {place}", f"rows {place}"
        outputs[f"{case.operation} {place}"] = OPERATIONS[case.operation].over(known[place])
        outputs[f"rows {place}"] = ff.Count().over(known[place])
    answer = events_of(kind, make(data), ["case", "key"]).options(**options).aggregate(**outputs)
    return Asked(rows_of(answer), names)


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession) -> Callable[[str, str], Asked]:
    """The answer to all cases of a kind; asked once."""

    def frame(data: pa.Table) -> Any:
        return spark.createDataFrame(data).repartition(2)

    return cache(lambda kind, combine: ask(kind, frame, combine=combine))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("combine", ["driver", "executors"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_spark(case: Case, combine: str, on_spark: Callable[[str, str], Asked]) -> None:
    check(case, on_spark(case.kind, combine).of(case))


@pytest.mark.parametrize("kind", sorted({case.kind for case in CASES}))
def test_in_one_pass(kind: str) -> None:
    """Several windows in one pass: what each case asks by itself in test_local."""
    asked = ask(kind, lambda data: data)
    for case in CASES:
        if case.kind == kind:
            check(case, asked.of(case))


def test_every_case_is_run_or_awaited() -> None:
    run = {case.id.split()[0] for case in CASES}
    awaited = [name for names in AWAITED.values() for name in names]
    assert sorted([*(run | ON_THEIR_OWN | ON_STREAMS), *awaited]) == sorted(all_ids())
    assert len({case.id for case in CASES}) == len(CASES)
    assert not run & ON_THEIR_OWN


# --- cases that are more than one query ------------------------------------------------------------------------------


@pytest.fixture(params=["local", "driver", "executors"])
def engine(request: pytest.FixtureRequest) -> Any:
    """A function from a table, and what ff.events takes, to events on one of the engines."""
    if request.param == "local":
        return lambda data, **of: ff.events(data, **of)
    session = request.getfixturevalue("spark")
    return lambda data, **of: ff.events(session.createDataFrame(data), **of).options(combine=request.param)


def days_that_begin_at_nine(case: dict[str, Any], engine: Any) -> None:
    """SI-07: of an alignment only the phase matters, so that any day will do."""
    times = [dt.datetime.fromisoformat(text) for text in case["input"]]
    aligned = dt.datetime.fromisoformat(case["params"]["alignment_utc"])
    events = engine(pa.table({"t": pa.array(times, pa.timestamp("us", tz="UTC"))}), time="t")
    for offset in ("9 hours", aligned, aligned.replace(year=2024)):
        window = ff.tumbling(f"{case['params']['size_h']} hours", offset=offset)
        rows = rows_of(events.window(window).aggregate(n=ff.Count()))
        found = [
            [f"{row['window'][end]:%Y-%m-%dT%H:%M:%SZ}" for end in ("start", "end")]
            for row in rows
            for _ in range(row["n"])
        ]
        assert found == case["expected"]


def test_the_nine_combinations() -> None:
    """SPL-19: eviction and trigger by count, time and delta; there is no policy by punctuation."""
    rules = {"count": ff.by_count(2), "time": ff.by_time(2), "delta": ff.by_delta("x", 2)}
    events = ff.events(table([event(t, "*", t) for t in range(9)]), time="t", by="key")
    for evict, trigger in vector("SPL-19")["expected"]["valid"]:
        of = ff.policy(evict=rules[evict], trigger=rules[trigger])
        assert events.window(of).aggregate(n=ff.Count()).num_rows > 0
    for evict, trigger in vector("SPL-19")["expected"]["invalid"]:
        with pytest.raises(ff.QueryError, match=r"expected ff\.by_count"):
            ff.policy(evict=rules.get(evict, evict), trigger=rules.get(trigger, trigger))


def test_cost_of_one_percent_steps() -> None:
    """HZ-12: an event is in a hundred windows and in one frame; the operations are counted in test_operation_counts."""
    case = vector("HZ-12")
    size, step = case["params"]["size"], case["params"]["step"]
    query = ff.events(pa.table({"t": [500], "x": [1]}), time="t").window(ff.sliding(size, every=step))
    assert query.aggregate(x=ff.Sum("x")).num_rows == case["expected"]["windows_per_event"]
    said = str(query.explain(sum=ff.Sum("x"), min=ff.Min("x")))
    assert f"one frame every 1; {case['expected']['frames_held']} to a window" in said
    assert f"deduct ({case['expected']['ops_per_window_with_deduct']} element operations a window)" in said
    assert "two-stacks (at most 3 element operations a window)" in said


def windows_that_reach_before_what_is_obsolete(case: dict[str, Any], engine: Any) -> None:
    """PSI-DYN-11 is an error there, and one here."""
    obsolete, starts, ends = zip(*case["input"]["windows"], strict=True)
    anchors = pa.table({"from": starts, "to": ends, "obsolete": obsolete})
    of = ff.windows_from(anchors, start="from", end="to", obsolete="obsolete", closed="both")
    events = engine(table([event(t, "*", t) for t in case["input"]["data"]]), time="t")
    assert "error" in case["expected"]
    with pytest.raises(ff.QueryError, match="starts before 'obsolete' of the row before"):
        events.window(of).aggregate(n=ff.Count())


def landmark_and_sliding_window_together(case: dict[str, Any], engine: Any) -> None:
    """PS-24, Q3: the join of two windows by station, then groups, is two aggregates of one station and time.

    Each humidity is paired with each warm enough temperature, so that the greatest humidity of pairs is that of the
    one window, the average temperature that of the other, and both must have something.
    """
    taus, since = case["input"]["taus"], case["params"]["landmark"]
    wet = [event(t, station, humidity) for t, station, humidity in case["input"]["P"]]
    warm = [event(t, station, s=station, x=float(warmth)) for t, station, warmth in case["input"]["S"]]
    both = {"from": [since] * len(taus), "hour": [tau - 60 for tau in taus], "tau": taus}
    anchors = pa.table({name: pa.array(column, pa.int64()) for name, column in both.items()})
    landmark = ff.windows_from(anchors, start="from", end="tau", at="tau", closed="both")
    sliding = ff.windows_from(anchors, start="hour", end="tau", at="tau", closed="right")
    rows = rows_of(
        engine(table([*wet, *warm]), time="t", by="key").aggregate(
            humidity=ff.Max("v").over(landmark),
            warmth=ff.Filtered(ff.Average("x"), lambda x, s: x >= 30, "x", "s").over(sliding),
        )
    )
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for row in rows:
        of = found.setdefault((row["at"], row["key"]), {})
        of |= {
            name: row[column]
            for name, column in (("max_humidity", "humidity"), ("avg_temp", "warmth"))
            if row[column] is not None
        }
    got = [
        {"tau": tau, "rows": {key: of for (at, key), of in found.items() if at == tau and len(of) == 2}} for tau in taus
    ]
    assert got == case["expected"]


def distinct_and_windows_commute_for_the_most_recent_only(case: dict[str, Any], engine: Any) -> None:
    """PS-27: the latest of equal events, then the window, is the window, then the latest; of the first it is not."""
    start, end = case["params"]["scope"]
    events = table([event(t, value, t) for t, value in case["input"]])
    scope = ff.windows_from(pa.table({"from": [start], "to": [end]}), start="from", end="to", closed="both")

    def distinct(data: pa.Table, windows: Any, representative: Any) -> list[dict[str, Any]]:
        return rows_of(engine(data, time="t", by="key").window(windows).aggregate(t=representative))

    def then(rows: list[dict[str, Any]]) -> list[Any]:
        return [[row["t"], row["key"]] for row in rows if row["t"] is not None]

    everything = ff.tumbling(1000)
    got = {"delta_of_window": then(distinct(events, scope, ff.Last("v")))}
    for name, representative in (("most_recent", ff.Last("v")), ("keep_first", ff.First("v"))):
        of = pa.table(
            {name: [row[name] for row in distinct(events, everything, representative)] for name in ("key", "t")}
        )
        once = of.append_column("v", of["t"])
        got[f"window_of_delta_{name}"] = then(distinct(once, scope, ff.Last("v")))
    assert got == case["expected"]


def progressive_sums_of_sessions(case: dict[str, Any], engine: Any) -> None:
    """TR-SESS: what has come so far, from each event on, are snapshots of events that live up to the session's end."""
    rows = [event(row["t"], "*", row["v"]) for row in case["input"]]
    windows = ff.session(case["params"]["timeout"], longest=case["params"].get("max_duration"))
    found = [row["window"] for row in rows_of(engine(table(rows), time="t").window(windows).aggregate(n=ff.Count()))]
    ends = [next(each["end"] for each in found if each["start"] <= row["t"] < each["end"]) for row in rows]
    living = table([{**row, "until": end} for row, end in zip(rows, ends, strict=True)])
    answer = rows_of(engine(living, time="t", until="until").window(ff.snapshot()).aggregate(x=ff.Sum("v")))
    assert [[row["window"]["start"], row["window"]["end"], row["x"]] for row in answer] == case["expected"]


def lifetimes_cut_short(case: dict[str, Any], engine: Any) -> None:
    """TR-CLIP: lives of at most 10; each event is a key, whose one snapshot is its life."""
    rows = [event(start, f"{n}", 1, until=end) for n, (start, end) in enumerate(case["input"])]
    events = engine(table(rows), time="t", by="key", until="until", longest=case["params"]["limit"])
    answer = rows_of(events.window(ff.snapshot()).aggregate(n=ff.Count()))
    assert [[row["window"]["start"], row["window"]["end"]] for row in answer] == case["expected"]


OWN = {
    "SI-07": days_that_begin_at_nine,
    "PSI-DYN-11": windows_that_reach_before_what_is_obsolete,
    "PS-24": landmark_and_sliding_window_together,
    "PS-27": distinct_and_windows_commute_for_the_most_recent_only,
    "TR-CLIP": lifetimes_cut_short,
    **dict.fromkeys(("TR-SESS1", "TR-SESS3", "TR-SESS5"), progressive_sums_of_sessions),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", OWN)
def test_on_its_own(name: str, engine: Any) -> None:
    OWN[name](vector(name), engine)
