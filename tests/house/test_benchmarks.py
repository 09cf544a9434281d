"""The benchmarks' own judgement: whether results are equal, who wins, what holds. No figure here was measured."""

from __future__ import annotations

import itertools
import json
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmarks() -> Iterator[ModuleType]:
    """The package, which lies beside this one and is not installed."""
    sys.path.insert(0, str(ROOT))
    import benchmarks.child
    import benchmarks.compare
    import benchmarks.datasets
    import benchmarks.measure
    import benchmarks.report
    import benchmarks.run

    yield benchmarks
    sys.path.remove(str(ROOT))


def calls(run: Callable[[], Any]) -> int:
    """How many functions are called."""
    count = itertools.count()
    sys.setprofile(lambda frame, event, arg: next(count) if event in ("call", "c_call") else None)
    try:
        run()
    finally:
        sys.setprofile(None)
    return next(count)


def test_calls_grow_no_faster_than_columns_and_outputs(benchmarks: ModuleType) -> None:
    from benchmarks.wide import ENTRIES, sums, wide

    for name, query in ENTRIES.items():
        query(wide(2), sums(1))  # imports
        few, more, most = (calls(partial(query, wide(size), sums(size))) for size in (25, 50, 100))
        assert most - more < 2.3 * (more - few), name


@pytest.mark.slow
def test_calls_grow_no_faster_on_spark(benchmarks: ModuleType, spark: Any, tmp_path: Path) -> None:
    """Those of the driver before a job starts."""
    from benchmarks.wide import TEN, of, sums, wide

    counts: list[list[int]] = []
    for size in (2, 50, 100, 200):  # the first imports
        pq.write_table(wide(size), path := tmp_path / f"{size}.parquet")
        several = (ff.parquet(path, spark=spark), spark.read.parquet(str(path)).where("t >= 0"))
        queries = [of(events).options(combine="executors").window(TEN) for events in several]
        counts.append([calls(partial(query.aggregate, **sums(size))) for query in queries])
    for _, few, more, most in zip(*counts, strict=True):
        assert most - more < 2.3 * (more - few)


A = (1, 0, 0.3)
Z = (2, 0, 1.0)
BAG = [(1, 0, 1.0), (1, 0, 2.0)]
COMPARED: dict[str, tuple[list[Any], list[Any], str, tuple[int, ...]]] = {
    "rounding and order": ([(1, 0, 0.1 + 0.2), (1, 5, None)], [(1, 5, None), A], "start", (2, 0, 0, 0)),
    "another value": ([A, Z], [(1, 0, 0.3000001), Z], "start", (2, 1, 0, 0)),
    "a null": ([A, Z], [(1, 0, None), Z], "start", (2, 1, 0, 0)),
    "a NaN": ([A, Z], [(1, 0, float("nan")), Z], "start", (2, 1, 0, 0)),
    "infinity": ([A, Z], [(1, 0, float("inf")), Z], "start", (2, 1, 0, 0)),
    "windows of one only": ([(1, 0, 1.0), (1, 5, 1.0), Z], [(1, 0, 1.0), (3, 0, 1.0)], "start", (1, 0, 2, 1)),
    "a bag of one time": (BAG, BAG[::-1], "at", (2, 0, 0, 0)),
    "another bag of one time": (BAG, [(1, 0, 2.0)] * 2, "at", (2, 1, 0, 0)),
    "an event less": ([(1, 0, 1.0)] * 2, [(1, 0, 1.0)], "at", (1, 0, 1, 0)),
}


@pytest.mark.parametrize("name", COMPARED)
def test_results_are_compared(benchmarks: ModuleType, name: str, tmp_path: Path) -> None:
    """Of rows (key, start, total) of two results."""
    ours, theirs, place, counts = COMPARED[name]
    for side, rows in (("ours", ours), ("theirs", theirs)):
        columns = map(list, zip(*rows, strict=True))
        pq.write_table(pa.table(dict(zip(("k", place, "total"), columns, strict=True))), tmp_path / side)
    kind = "sliding" if place == "start" else "around"
    job = benchmarks.jobs.Job("", kind, outputs=(("total", "sum", "x"),))
    found = benchmarks.compare.compare(tmp_path / "ours", tmp_path / "theirs", job)
    assert (found.common, found.differing, found.missing, found.added) == counts
    assert ours != [A, Z] or "0.3" in found.example


def case(name: str, **seconds: dict[float, list[float]]) -> dict[str, Any]:
    """A case as it is measured, from the seconds of each contender at each point."""
    points = sorted({x for at in seconds.values() for x in at})
    return {
        "name": name,
        "title": name,
        "axis": "",
        "about": "",
        "points": [{"x": x, "label": f"{x:g}", "events": 1, "windows": 1} for x in points],
        "found": {
            way.replace("__", "."): {
                str(x): {"first": 1.0, "seconds": {f"round {turn}": taken for turn, taken in enumerate(of)}}
                for x, of in at.items()
            }
            for way, at in seconds.items()
        },
        "left_out": [],
    }


MACHINE = {"cores": 2, "processor": "", "memory": "", "system": "", "Python": "", "commit": ""}


def report(benchmarks: ModuleType, *cases: dict[str, Any], **others: Any) -> str:
    results = {"machine": MACHINE, "date": "", "versions": {}, "unavailable": {}, "cases": list(cases)} | others
    return benchmarks.report.report(results, Path("plots"))


def test_a_case_that_a_peer_wins_comes_before_everything_else(benchmarks: ModuleType) -> None:
    ours = {60: [2.0, 2.0], 100: [2.0, 2.0]}
    theirs = {60: [3.0, 3.0], 100: [1.0, 1.6]}
    text = report(benchmarks, case("reference", framefold_spark__dataframe=ours, spark__two_stages=theirs))
    row = "| reference | Spark, two stages by hand | framefold, DataFrame | 100 | 1.62 | 2 of 2 |"
    assert text.splitlines()[4] == "## Where a peer wins"
    assert row in text
    assert text.index(row) < text.index("## What must hold")
    assert "one of ours is the fastest at 1 of 2 points of cases" in text
    text = report(benchmarks, case("reference", framefold_spark__dataframe=ours, spark__window={60: [30.0, 40.0]}))
    assert "None of our ways takes longer than a peer" in text


def test_the_report_says_where_each_case_was_measured(benchmarks: ModuleType) -> None:
    machine = {"cores": 4, "processor": "X", "memory": "8 GiB", "system": "S", "Python": "3", "commit": "abc"}
    places = [{"machine": machine | {"commit": commit}, "date": "2026-01-02"} for commit in ("abc", "def", "abc")]
    found = [
        case(name, framefold_spark__dataframe={60: [1.0]}, spark__two_stages={60: [2.0]})
        for name in ("reference", "small", "own")
    ]
    cases, sliding = [one | place for one, place in zip(found, places, strict=True)], places[1] | {"lines": ["| 5 |"]}
    text = report(benchmarks, *cases, others={"Sliding": sliding})
    assert "\n- reference, own: 4 cores of X, 8 GiB, S, Python 3, commit abc, 2026-01-02.\n" in text
    assert '\n- small, "Sliding": 4 cores of X, 8 GiB, S, Python 3, commit def, 2026-01-02.\n' in text
    assert text.index("## Sliding\n\n| 5 |\n") > text.index("What must hold")
    text = report(benchmarks, *(one | places[0] for one in found))
    assert "\n4 cores of X, 8 GiB, S, Python 3, commit abc, 2026-01-02.\n" in text


def section(*rows: str) -> dict[str, Any]:
    head, *rest = [f"| {row.replace('; ', ' | ')} |" for row in rows]
    return {"machine": MACHINE, "lines": ["About.", "", "**Of b**", "", head, "| --- | ---: |", *rest]}


OURS, DUCKDB = "framefold, from the events", "DuckDB, from the events"
GROUPS, NUMPY = "events to partials: keys, frames, sum and count", "numpy: bincount of sum and count, not compensated"
SHARE, HOUR = "framefold's five sizes as a share of it, by the clock", "1 h every 1 min"
SECTIONS = {
    "Idioms: a": section("idiom; the best one; ours as a share of it", "x; P; 0.9", "y; P; 1.25"),
    "Lookbacks, a": section(f"contender; {SHARE}", "framefold; 1.3", "Q; 1.24"),
    "Relations: rows joined": section("in this process; s; framefold takes", "framefold; 1; 1.0", "R; 9; 1.23"),
    "Relations: the figures": section("step; MAX; MAX by scans", "1; 1.0; 2.0", "1,000; 12.2; 10"),
    "Relations: a large join": {"machine": MACHINE, "lines": [
        "On U: framefold 2 s; V 1 s, 0.826 times as long.", "On W: framefold 2 s; V 4 s, 2.0 times as long."
    ]},
    "Partials at rest: a": section("contender; seconds; times", f"{OURS}; 12.0; 9", f"{DUCKDB}; 10; 10"),
    "Holistic, grid: a": {"machine": MACHINE, "lines": [
        "| operation | overlap | peers |", "| --- |", "| M | 10 | S 1.1 (x0.9; x2.0); T 0.8 (x1.19; x0.1, once) |"
    ]},
    "Holistic, on Spark: a": section("operation; framefold; Spark; times as fast", "M; 2; 1; 0.847", "N; 1; 2; 2.0"),
    "Sliding over 9 frames": section("ns a window; 1 key; 2 keys", "Sum of float64; 11.7, 3.0 (9.0); 1",
        "Max of float64; 3; 3", "Polars: rolling_sum; 10.0, 2; "),
    "Streams, a micro-batch": section("events; 1,000; 2,000", f"framefold, {HOUR}; 9 (1.00); 9 (1.00)",
        "Spark, one small state; 1 (0.1); 1 (0.1)", f"Spark window(), {HOUR}; 10 (1.10); 8 (0.862)"),
    "Accumulating 9 rows": section("accumulate; ns a row; more", f"{GROUPS}; 2.3; ", f"{NUMPY}; 2; "),
    "Merging": section("a; b", "c; 5"),
}  # fmt: skip
WON = [
    ("Idioms: a", "y", "P", "1.25"), ("Lookbacks, a", "", "Q", "1.24"), ("Relations: rows joined", "", "R", "1.23"),
    ("Relations: the figures", "Of b: 1,000: MAX", "MAX by scans", "1.22"),
    ("Relations: a large join", "On U", "V", "1.21"), ("Partials at rest: a", OURS, DUCKDB, "1.20"),
    ("Holistic, grid: a", "M at 10", "T", "1.19"), ("Holistic, on Spark: a", "", "M", "1.18"),
    ("Sliding over 9 frames", "Sum of float64, 1 key", "Polars: rolling_sum", "1.17"),
    ("Streams, a micro-batch", "2,000", f"Spark window(), {HOUR}", "1.16"),
    ("Accumulating 9 rows", f"{GROUPS}, ns a row", NUMPY, "1.15"),
]  # fmt: skip
"""By hand: one in each kind of section, of a difference of its own."""


def test_the_list_of_what_peers_win_follows_from_all_sections(benchmarks: ModuleType) -> None:
    text = report(benchmarks, others=SECTIONS)
    first = text[: text.index("## What must hold")].splitlines()
    assert [line for line in first if line.startswith("| ")][2:] == [f"| {' | '.join(each)} |" for each in WON]
    with pytest.raises(KeyError, match="the section 'New' has no rule"):
        report(benchmarks, others={"New": SECTIONS["Merging"]})
    rules = benchmarks.sections.RULES
    assert all(any(rule.startswith(title) for rule in rules) for title in benchmarks.run.KEPT_SECTIONS)


def test_the_report_is_that_of_the_results(benchmarks: ModuleType) -> None:
    """Its list, and peers that the README names have been timed."""
    results = json.loads((ROOT / "benchmarks/results.json").read_text())
    written = (ROOT / "benchmarks/report.md").read_text()
    front = [*benchmarks.report.states(results), *benchmarks.report.wins(results["cases"], results["others"])]
    assert "\n".join(front) in written
    assert written.index(front[0]) < written.index("## How it was measured")
    promised = re.findall(
        r"^\| .*window\(\), 60 min \| at least \d+ times as fast \| ([\d.]+) .*\| yes \|$", written, re.M
    )
    assert promised
    assert all(float(times) >= 20 for times in promised)  # a twentieth, as the first page says
    timed = {way.partition(".")[0] for case in results["cases"] for way, at in case["found"].items() if at}
    named = (ROOT / "README.md").read_text().split("## How fast")[1].split("```")[0]
    peers = [name for name in benchmarks.contestants.PEERS if not name.startswith("framefold")]
    assert {name for name in peers if name in named.lower()} == timed & set(peers)


def test_states_that_cannot_be_measured_again_are_said_in_front(benchmarks: ModuleType) -> None:
    one, two = (
        {**case(name, framefold_spark__dataframe={60: [1.0]}), "machine": MACHINE | {"commit": name}}
        for name in ("abc", "def-dirty")
    )
    assert "state" not in report(benchmarks, one).split("## Where")[0]
    front = report(benchmarks, one, two).split("## Where")[0]
    assert "in no commit (def-dirty)" in front
    assert "at 2 states" in front


@pytest.mark.parametrize(("window", "holds"), [([40.0, 42.0, 20.0, 41.0, 60.0], "yes"), ([19.0] * 5, "**no**")])
def test_claims_are_judged_by_the_median_of_pairs(benchmarks: ModuleType, window: list[float], holds: str) -> None:
    found = case("reference", framefold_spark__dataframe={60: [2.0, 2.0, 1.0, 2.0, 1.0]}, spark__window={60: window})
    line = next(line for line in report(benchmarks, found).splitlines() if "against Spark window(), 60 min" in line)
    ratios = np.array(window) / [2.0, 2.0, 1.0, 2.0, 1.0]
    assert f"{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f}, 5 pairs)" in line
    assert line.endswith(f"| {holds} |")


def test_why_a_peer_wins_every_pair_is_said(benchmarks: ModuleType) -> None:
    ways = {"framefold_spark__dataframe": {1: [1.2, 1.3]}, "spark__window": {1: [1.0, 1.0]}}
    text = report(benchmarks, case("overlap", **ways), case("own", **ways))
    known = benchmarks.reasons.reason_for("overlap", "framefold_spark.dataframe", "spark.window")
    assert f"- overlap, framefold, DataFrame, against Spark window(): {known.why}. Tried: {known.tried}.\n" in text
    assert "- own, framefold, DataFrame, against Spark window(): **not explained yet**.\n" in text
    ways["spark__window"] = {1: [1.0, 1.4]}
    assert "not explained" not in report(benchmarks, case("own", **ways))
    titles = benchmarks.contestants.TITLES
    assert all({each.ours, each.peer} <= set(titles) for each in benchmarks.reasons.REASONS)


def test_only_runs_of_one_round_are_a_pair(benchmarks: ModuleType) -> None:
    found = case("reference", framefold_spark__dataframe={60: [1.0]}, spark__window={60: [30.0]})
    ours, theirs = (found["found"][way]["60"]["seconds"] for way in ("framefold_spark.dataframe", "spark.window"))
    ours |= {"spark.two_stages at 60, 1": 2.0, "spark.window at 60, 2": 2.0}
    theirs |= {"spark.window at 60, 2": 50.0, "spark.window at 60, 3": 60.0}
    seen = benchmarks.figures.ratio(found, ("spark.window", 60), ("framefold_spark.dataframe", 60))
    assert seen.pairs == (30.0, 25.0)


def test_each_peer_is_timed_with_ours_that_run_on_the_same(benchmarks: ModuleType) -> None:
    ways = ("framefold_local.local", "framefold_spark.parquet", "spark.window", "duckdb.two_stages", "flink.hop")
    point = benchmarks.case.Point
    events = benchmarks.datasets.Data()
    points = (point(10, events), point(60, events))
    made = benchmarks.case.Case("some", "", "size", points, ways, across=(10, 60), only={"flink.hop": (10,)})
    able = {(way, x) for way in ways for x in (10, 60)} - {("spark.window", 60)}
    found = {group.name: group.runs for group in benchmarks.rounds.groups(made, able)}
    local, files = "framefold_local.local", "framefold_spark.parquet"
    assert found == {
        "spark.window at 10": ((files, 10), ("spark.window", 10)),
        "duckdb.two_stages at 10": ((local, 10), ("duckdb.two_stages", 10)),
        "flink.hop at 10": ((local, 10), (files, 10), ("flink.hop", 10)),
        "duckdb.two_stages at 60": ((local, 60), ("duckdb.two_stages", 60)), f"{files} at 60": ((files, 60),),
        f"{local} across": ((local, 10), (local, 60)), f"{files} across": ((files, 10), (files, 60)),
    }  # fmt: skip


class Stopwatch:
    """Stands in for the processes of the contenders: says what each run takes, and gives everybody the same result."""

    def __init__(self, folder: Path, takes: dict[str, float]) -> None:
        self.folder, self.takes, self.runs = folder, takes, list[str]()

    def say(self, line: str) -> None:
        pass

    def run(self, contender: str, job: Any, save: Path | None = None) -> float:
        self.runs.append(contender)
        if save:
            pq.write_table(pa.table({"k": [1], "start": [0], "total": [0.5], "events": [1]}), save)
        return self.takes[contender]


def test_a_slow_peer_has_few_rounds_and_takes_none_from_others(benchmarks: ModuleType, tmp_path: Path) -> None:
    local, fast, slow = "framefold_local.local", "duckdb.two_stages", "polars.dynamic"
    points = tuple(benchmarks.case.Point(x, benchmarks.datasets.Data()) for x in (10, 60))
    case = benchmarks.case.Case("some", "", "size", points, (local, fast, slow), patience=20.0)
    arena = Stopwatch(tmp_path, {local: 1.0, fast: 2.0, slow: 30.0})
    running = benchmarks.measure.Running(case, arena, {x: benchmarks.jobs.Job("") for x in (10, 60)})
    for point in points:
        running.first(point)
    of_one_point = [local, *[local] * 3, fast, *[fast] * 2]  # until they have run for three seconds more
    assert arena.runs == [*of_one_point, slow, *of_one_point]
    assert [(left["contender"], left["x"], left["reason"]) for left in running.left_out] == [
        (slow, 60, "took 30 s at 10")
    ]
    arena.runs.clear()
    running.time(100.0)
    assert arena.runs[:6] == [local, fast, local, slow, local, fast]
    assert arena.runs[6:10] == [fast, local, slow, local]
    seconds = {way: {x: len(entry["seconds"]) for x, entry in at.items()} for way, at in running.found.items()}
    assert seconds == {local: {"10": 7, "60": 5}, fast: {"10": 5, "60": 5}, slow: {"10": 2}}


def test_memory_is_that_of_the_largest_python_worker(benchmarks: ModuleType) -> None:
    found = case("events", framefold_spark__parquet={1e6: [1.0], 8e6: [1.0], 1e8: [1.0]})
    held = {"1000000.0": 220, "8000000.0": 250, "100000000.0": 275}
    for x, worker in held.items():
        entry = found["found"]["framefold_spark.parquet"][x]
        entry["memory"] = {"process": 500 << 20, "worker": worker << 20}
    rows = [line for line in report(benchmarks, found).splitlines() if "peak memory" in line]
    assert [row.split(" | ")[2:] for row in rows[:2]] == [
        ["1.25 (275 and 220 MiB)", "**no** |"],
        ["1.10 (275 and 250 MiB)", "yes |"],
    ]
    assert [row.endswith("from 8,000,000 on it is the same.") for row in rows] == [False, False, True]


def test_the_exponent_is_the_slope_of_the_best_line(benchmarks: ModuleType) -> None:
    x, y = np.array([1e6, 3e6, 8e6, 1e8]), np.array([0.2, 0.5, 1.5, 30.0])
    expected = np.polyfit(np.log(x), np.log(y), 1)[0]
    assert benchmarks.figures.exponent(zip(x, y, strict=True)) == pytest.approx(expected)


def test_contenders_in_turns_are_compared_first(benchmarks: ModuleType, tmp_path: Path, monkeypatch: Any) -> None:
    import benchmarks.turns as turns

    job = benchmarks.jobs.Job(str(tmp_path / "events"), size=benchmarks.jobs.HOUR, every=benchmarks.jobs.HOUR // 2)
    times = np.array([0, 1, 40, 200]) * benchmarks.jobs.MINUTE
    pq.write_table(pa.table({"t": pa.array(times, pa.timestamp("us", "UTC")), "k": [1] * 4, "x": [0.5] * 4}), job.path)
    ways = ("framefold_local.local", "duckdb.every", "duckdb.two_stages")
    assert turns.check(ways, job, tmp_path) == {ways[0]: 5, ways[1]: 5, ways[2]: 3}
    spent = turns.in_turns(ways, job, 3)
    assert [len(spent[way].seconds) for way in ways] == [3, 3, 3]
    monkeypatch.setitem(
        benchmarks.peers.peer("duckdb").WAYS,
        "every",
        lambda job: "SELECT 1 AS k, 0 AS start, 1.5 AS total, 2 AS events",
    )
    with pytest.raises(SystemExit, match="DuckDB, two stages, every window differs from framefold"):
        turns.check(ways, job, tmp_path)


def test_a_worker_says_what_went_wrong_and_is_ended_when_it_takes_too_long(
    benchmarks: ModuleType, tmp_path: Path
) -> None:
    child = benchmarks.child.Child("duckdb", Path(sys.executable), tmp_path / "log")
    assert "DuckDB" in child.ask(60, do="versions")["versions"]
    job = benchmarks.jobs.Job("nowhere.parquet").to_json()
    with pytest.raises(benchmarks.child.Failure, match="IO Error"):
        child.ask(60, do="run", way="two_stages", job=job)
    assert child.alive
    held = child.ask(60, do="memory")["memory"]
    assert held["worker"] == 0
    assert held["process"] > 30 << 20
    child.process.send_signal(signal.SIGSTOP)  # or it may answer in no time
    with pytest.raises(benchmarks.child.Failure, match="stopped after 0 s"):
        child.ask(0, do="run", way="two_stages", job=job)
    assert not child.alive


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in ("t", "k", "x")) for row in table.to_pylist()]


def counts_of(table: pa.Table) -> list[int]:
    """The numbers of rows of the keys, by key."""
    return [count for _, count in sorted(Counter(table["k"].to_pylist()).items())]


def sorted_rows(table: pa.Table, count: int | None = None, by: Any = None) -> bool:
    return rows_of(table)[:count] == sorted(rows_of(table)[:count], key=by)


def same_times(table: pa.Table, whole: pa.Table, type: pa.DataType) -> bool:
    return table.schema.field("t").type == type and table["t"].cast("int64").equals(whole["t"].cast("int64"))


VARIANTS: dict[str, Callable[[pa.Table, pa.Table], bool]] = {
    "time": lambda table, whole: sorted_rows(table),
    "day": lambda table, whole: not sorted_rows(table) and sorted_rows(table, 25),
    "random": lambda table, whole: not sorted_rows(table, 25),
    "key": lambda table, whole: sorted_rows(table, by=lambda row: row[1]),
    "late": lambda table, whole: not sorted_rows(table),
    "zipf": lambda table, whole: counts_of(table)[0] > 5 * counts_of(table)[9] > 0 and len(counts_of(table)) > 90,
    "pairs": lambda table, whole: [10 * row["k"] + row["k2"] for row in table.to_pylist()] == whole["k"].to_pylist(),
    "naive": lambda table, whole: same_times(table, whole, pa.timestamp("us")),
    "integers": lambda table, whole: same_times(table, whole, pa.int64()),
    "nulls": lambda table, whole: 0 < table["k"].null_count < table["x"].null_count < 300,
}
"""What a layout of files or a kind of events has, beside the usual events."""


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_of_the_events(benchmarks: ModuleType, name: str, tmp_path: Path) -> None:
    layout, data = name in ("time", "day", "random", "key", "late"), benchmarks.datasets.Data
    whole = pq.read_table(data(rows=3000, keys=100).path(tmp_path))
    made = data(rows=3000, keys=100, files=4, layout=name) if layout else data(name, 3000, 100)
    table = pq.read_table(made.path(tmp_path))
    assert VARIANTS[name](table, whole)
    assert not layout or sorted(rows_of(table)) == sorted(rows_of(whole))
