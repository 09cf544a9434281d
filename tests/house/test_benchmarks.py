"""The benchmarks' own judgement: whether results are equal, who wins, what holds. No figure here was measured."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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

    yield benchmarks
    sys.path.remove(str(ROOT))


@pytest.fixture
def compared(benchmarks: ModuleType, tmp_path: Path) -> Any:
    """From the rows (key, start, total) of two results to their comparison."""

    def compare(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]], place: str = "start") -> Any:
        for name, rows in (("ours", ours), ("theirs", theirs)):
            columns = [list(column) for column in zip(*rows, strict=True)]
            pq.write_table(pa.table(dict(zip(("k", place, "total"), columns, strict=True))), tmp_path / name)
        kind = "sliding" if place == "start" else "around"
        job = benchmarks.jobs.Job("", kind, outputs=(("total", "sum", "x"),))
        return benchmarks.compare.compare(tmp_path / "ours", tmp_path / "theirs", job)

    return compare


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
def test_results_are_compared(compared: Any, name: str) -> None:
    ours, theirs, place, counts = COMPARED[name]
    found = compared(ours, theirs, place)
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


def report(benchmarks: ModuleType, *cases: dict[str, Any], **others: Any) -> str:
    machine = {"cores": 2, "processor": "", "memory": "", "system": "", "Python": "", "commit": ""}
    results = {"machine": machine, "date": "", "versions": {}, "unavailable": {}, "cases": list(cases)} | others
    text: str = benchmarks.report.report(results, Path("plots"))
    return text


def test_a_case_that_a_peer_wins_comes_before_everything_else(benchmarks: ModuleType) -> None:
    ours = {60: [2.0, 2.0], 100: [2.0, 2.0]}
    theirs = {60: [3.0, 3.0], 100: [1.0, 1.6]}
    text = report(benchmarks, case("reference", framefold_spark__dataframe=ours, spark__two_stages=theirs))
    row = "| reference | Spark, two stages by hand | framefold, DataFrame | 100 | 1.62 | 2 of 2 |"
    assert text.splitlines()[4] == "## Where a peer wins"
    assert row in text
    assert text.index(row) < text.index("## What must hold")
    assert "one of ours is the fastest at 1 of 2 points" in text


def test_the_report_says_where_each_case_was_measured(benchmarks: ModuleType) -> None:
    machine = {"cores": 4, "processor": "X", "memory": "8 GiB", "system": "S", "Python": "3", "commit": "abc"}
    places = [{"machine": machine | {"commit": commit}, "date": "2026-01-02"} for commit in ("abc", "def", "abc")]
    found = [
        case(name, framefold_spark__dataframe={60: [1.0]}, spark__two_stages={60: [2.0]})
        for name in ("reference", "small", "own")
    ]
    text = report(benchmarks, *(one | place for one, place in zip(found, places, strict=True)))
    assert "\n- reference, own: 4 cores of X, 8 GiB, S, Python 3, commit abc, 2026-01-02.\n" in text
    assert "\n- small: 4 cores of X, 8 GiB, S, Python 3, commit def, 2026-01-02.\n" in text
    text = report(benchmarks, *(one | places[0] for one in found), others={"Sliding": places[1] | {"lines": ["| 5 |"]}})
    assert '\n- "Sliding": 4 cores of X, 8 GiB, S, Python 3, commit def, 2026-01-02.\n' in text
    assert text.index("## Sliding\n\n| 5 |\n") > text.index("What must hold")
    text = report(benchmarks, *(one | places[0] for one in found))
    assert "\n4 cores of X, 8 GiB, S, Python 3, commit abc, 2026-01-02.\n" in text


def test_where_no_peer_wins_the_report_says_so(benchmarks: ModuleType) -> None:
    found = case("reference", framefold_spark__dataframe={60: [1.0]}, spark__window={60: [30.0]})
    assert "None of our ways takes longer than a peer" in report(benchmarks, found)


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


@pytest.mark.parametrize(
    ("costs", "seconds", "expected"),
    [
        ([1.0, 60.0, 2.0], 1000.0, [10, 5, 10]),  # short times vary more
        ([1.0, 60.0, 2.0], 135.0, [5, 2, 5]),  # what the cheap do not need is left to the one that is not
        ([10.0, 10.0], 60.0, [3, 3]),
        ([0.5, 10.0], 60.0, [10, 5]),
        ([0.5, 10.0], 54.0, [5, 5]),  # but the others come first
        ([1.0, 60.0], 0.0, [1, 1]),  # a pair there is always
    ],
)
def test_what_takes_long_takes_no_rounds_from_others(
    benchmarks: ModuleType, costs: list[float], seconds: float, expected: list[int]
) -> None:
    assert benchmarks.rounds.rounds(costs, seconds, 5) == expected


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
    assert len(rows) == 3
    assert rows[2].endswith(
        "against 1,000,000: so few events do not fill what is read ahead; from 8,000,000 on it is the same."
    )
    found["found"]["framefold_spark.parquet"]["8000000.0"]["memory"]["worker"] = 240 << 20
    rows = [line for line in report(benchmarks, found).splitlines() if "peak memory" in line]
    assert [row.split(" | ")[-1] for row in rows] == ["**no** |", "**no** |"]


def test_a_million_keys_are_compared_with_a_hundred(benchmarks: ModuleType) -> None:
    found = case("keys", framefold_local__local={100: [1.0, 2.0], 1_000_000: [1.5, 2.0]})
    row = next(line for line in report(benchmarks, found).splitlines() if "1 million keys, against 100" in line)
    assert row.endswith("| 1.25 (1.00 to 1.50, 2 pairs) | yes |")


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


LAYOUTS = {
    "time": lambda rows: rows == sorted(rows),
    "day": lambda rows: rows != sorted(rows) and rows[:25] == sorted(rows[:25]),
    "random": lambda rows: rows[:25] != sorted(rows[:25]),
    "key": lambda rows: [key for _, key, _ in rows] == sorted(key for _, key, _ in rows),
    "late": lambda rows: rows != sorted(rows),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_in_other_orders_are_the_same_rows(benchmarks: ModuleType, layout: str, tmp_path: Path) -> None:
    whole = benchmarks.datasets.Data(rows=1000, keys=3).path(tmp_path)
    files = benchmarks.datasets.Data(rows=1000, keys=3, files=4, layout=layout).path(tmp_path)
    assert len(list(files.iterdir())) == 4
    rows, expected = (
        [tuple(row[name] for name in ("t", "k", "x")) for row in pq.read_table(path).to_pylist()]
        for path in (files, whole)
    )
    assert sorted(rows) == sorted(expected)
    assert LAYOUTS[layout](rows)


@pytest.mark.parametrize("kind", ["zipf", "pairs", "naive", "integers", "nulls"])
def test_variants_of_the_events(benchmarks: ModuleType, kind: str, tmp_path: Path) -> None:
    whole, found = (
        pq.read_table(benchmarks.datasets.Data(each, 3000, 100).path(tmp_path)) for each in ("events", kind)
    )
    if kind == "zipf":
        counts = sorted(found["k"].value_counts().to_pylist(), key=lambda each: each["values"])
        assert counts[0]["counts"] > 5 * counts[9]["counts"] > 0
        assert len(counts) > 90
    elif kind == "pairs":
        joined = [10 * row["k"] + row["k2"] for row in found.to_pylist()]
        assert joined == whole["k"].to_pylist()
    elif kind == "nulls":
        assert 0 < found["k"].null_count < found["x"].null_count < 300
    else:
        assert str(found.schema.field("t").type) == ("int64" if kind == "integers" else "timestamp[us]")
        assert found["t"].cast(pa.int64()).equals(whole["t"].cast(pa.int64()))
