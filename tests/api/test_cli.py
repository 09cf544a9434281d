"""The command line: right results from every kind of file, and one sentence for every mistake."""

from __future__ import annotations

import datetime
import gzip
import inspect
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from rich.progress import Progress

import framefold as ff

from ..support.command_line import ALIASES, OPERATIONS, main
from ..support.inner import inner, place_of
from ..support.plans import Operation

START = datetime.datetime(2024, 5, 1)
ROWS = [
    (START + datetime.timedelta(seconds=i * 7919 % 40_000), ["a", "b", None][i % 3], [1.5, None, -3.25, 2.0][i % 4], i)
    for i in range(500)
]
TABLE = pa.table(
    {
        "at": pa.array([row[0] for row in ROWS], pa.timestamp("us")),
        "k": [row[1] for row in ROWS],
        "x": [row[2] for row in ROWS],
        "i": [row[3] for row in ROWS],
    }
)
QUERY = ["--time", "at", "--by", "k", "--window", "1 hour", "--every", "7 minutes"]
OUTPUTS = ["--agg", "n=count", "--agg", "m=avg:x", "--agg", "s=sum:i", "--agg", "sd=stddev:i:ddof=0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The events as files of each kind, and some that are wrong."""
    folder = tmp_path_factory.mktemp("events")
    pq.write_table(TABLE, folder / "e.parquet")
    pq.write_table(TABLE.slice(0, 200), folder / "part1.parquet")
    pq.write_table(TABLE.slice(200), folder / "part2.parquet")
    pyarrow.feather.write_feather(TABLE, folder / "e.arrow")
    pyarrow.csv.write_csv(TABLE, folder / "e.csv")
    with open(folder / "e.jsonl", "w") as file:
        for at, k, x, i in ROWS:
            file.write(json.dumps({"at": at.isoformat() + ".000Z", "k": k, "x": x, "i": i}) + "\n")
    (folder / "text.csv").write_text("at,k,x\n01/05/2024 10:00,a,1\n")
    (folder / "null.csv").write_text("at,k,x\n2024-05-01 10:00:00,a,1\n,a,2\n")
    (folder / "no-x.csv").write_text("at,k\n2024-05-01 10:00:00,a\n")
    (folder / "with-x.csv").write_text("at,k,x\n2024-05-01 10:00:00,a,1\n")
    (folder / "torn.parquet").write_text("this is not Parquet")
    (folder / "empty.csv").write_text("")
    (folder / "notes.txt").write_text("hello")
    (folder / "nothing").mkdir()
    return folder


@pytest.fixture(scope="module")
def expected() -> list[tuple[Any, ...]]:
    """The windows by DuckDB: every event joined with every window that it is in."""
    return (
        duckdb.connect()
        .from_arrow(TABLE)
        .query(
            "events",
            """
        WITH grid AS (
            SELECT make_timestamp(step * 420 * 1000000) AS s
            FROM range(1714435200 // 420, 1714608000 // 420) steps(step) -- 30 April to 2 May 2024
        )
        SELECT k, s, count(*), avg(x), sum(i)::BIGINT, stddev_pop(i)
        FROM events JOIN grid ON events."at" >= s AND events."at" < s + INTERVAL 1 HOUR
        GROUP BY ALL ORDER BY k NULLS FIRST, s
        """,
        )
        .fetchall()
    )


def rows_of(result: pa.Table) -> list[tuple[Any, ...]]:
    return [
        (row["k"], row["window"]["start"].replace(tzinfo=None), row["n"], row["m"], row["s"], row["sd"])
        for row in result.to_pylist()
    ]


def close(got: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> None:
    assert [row[:3] for row in got] == [row[:3] for row in wanted]
    for one, other in zip(got, wanted, strict=True):
        # None compares with nothing, and no value here is that large.
        left, right = ([1e300 if value is None else value for value in row[3:]] for row in (one, other))
        assert left == pytest.approx(right, rel=1e-9, abs=1e-9)


def command(arguments: list[str]) -> int:
    """The command line on the local engine, in this process."""
    return main(["run", *arguments, "--engine", "local"])


@pytest.mark.parametrize("events", [["e.parquet"], ["e.csv"], ["e.jsonl"], ["e.arrow"], ["part*.parquet"]])
def test_every_kind_of_events_gives_the_same_windows(
    events: list[str], folder: Path, tmp_path: Path, expected: list[tuple[Any, ...]]
) -> None:
    out = tmp_path / "result.parquet"
    assert command([*(str(folder / each) for each in events), *QUERY, *OUTPUTS, "--out", str(out)]) == 0
    close(rows_of(pq.read_table(out)), expected)


def test_a_zone_in_json_is_kept(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.arrow"
    assert command([str(folder / "e.jsonl"), *QUERY, "--agg", "n=count", "--out", str(out)]) == 0
    assert pyarrow.feather.read_table(out).schema.field("window").type.field("start").type == pa.timestamp("us", "UTC")


def test_a_csv_result_has_the_window_in_two_columns(
    folder: Path, tmp_path: Path, expected: list[tuple[Any, ...]]
) -> None:
    out = tmp_path / "result.csv"
    assert command([str(folder / "e.parquet"), *QUERY, *OUTPUTS, "--out", str(out)]) == 0
    got = duckdb.sql(f"SELECT k, window_start, n, m, s, sd FROM read_csv('{out}')").fetchall()
    close(got, expected)
    assert out.read_text().splitlines()[0].replace('"', "") == "k,window_start,window_end,n,m,s,sd"


def test_a_json_result_has_a_row_a_line(folder: Path, tmp_path: Path, expected: list[tuple[Any, ...]]) -> None:
    out = tmp_path / "result.json"
    assert command([str(folder / "e.parquet"), *QUERY, *OUTPUTS, "--out", str(out)]) == 0
    close(
        duckdb.sql(
            f"""SELECT k, "window".start::TIMESTAMP, n, m, s, sd FROM read_json('{out}', format='newline_delimited')"""
        ).fetchall(),
        expected,
    )


def test_json_has_no_nan(tmp_path: Path) -> None:
    events = pa.table({"t": [0, 5], "x": [float("nan"), float("-inf")]})
    pq.write_table(events, tmp_path / "e.parquet")
    out = tmp_path / "r.json"
    arguments = ["--time", "t", "--window", "5", "--agg", "top=max:x", "--out", str(out)]
    assert command([str(tmp_path / "e.parquet"), *arguments]) == 0
    assert [json.loads(line)["top"] for line in out.read_text().splitlines()] == ["NaN", "-Infinity"]


EVERY = {
    "approx_count_distinct:i:method=cpc,precision=11": ff.ApproxCountDistinct("i", "cpc", 11),
    "approx_quantile:x:q=0.5": ff.ApproxQuantile("x", 0.5),
    "arg_max:k,x": ff.ArgMax("k", "x"),
    "argmin:k,x": ff.ArgMin("k", "x"),
    "mean:x": ff.Average("x"),
    "bit_and:i": ff.BitAnd("i"),
    "bitor:i": ff.BitOr("i"),
    "bit_xor:i": ff.BitXor("i"),
    "bool_and:flag": ff.BoolAnd("flag"),
    "bool_or:flag": ff.BoolOr("flag"),
    "bottom_n:i,x:n=2": ff.BottomN("i", 2, "x"),
    "collect_list:x": ff.CollectList("x"),
    "collect_set:k": ff.CollectSet("k"),
    "concat:k:delimiter=,": ff.Concat("k", ","),
    "concat:k:delimiter=:,prefix=<": ff.Concat("k", ":", "<"),
    "correlation:i,x": ff.Correlation("i", "x"),
    "count": ff.Count(),
    "Count:x": ff.Count("x"),
    "count_distinct:k": ff.CountDistinct("k"),
    "count_distinct:i,k": ff.CountDistinct("i", "k"),
    "count_if:flag": ff.CountIf("flag"),
    "covariance:i,x:ddof=0": ff.Covariance("i", "x", ddof=0),
    "delta:i": ff.Delta("i"),
    "distinct_sum:i": ff.DistinctSum("i"),
    "ewma:x:half_life=20 minutes": ff.Ewma("x", "20 minutes"),
    "first:x:ties=i": ff.First("x", ties="i"),
    "first_n:x:n=2": ff.FirstN("x", 2),
    "frequent_items:k:n=2": ff.FrequentItems("k", 2),
    "geometric_mean:i": ff.GeometricMean("i"),
    "harmonic_mean:i": ff.HarmonicMean("i"),
    "histogram:k": ff.Histogram("k"),
    "histogram:x:bins=-5,0.5,3": ff.Histogram("x", [-5, 0.5, 3]),
    "histogram:at:bins=2024-05-01T00:00,2024-05-01T04:30,2024-05-02T00:00": ff.Histogram(
        "at", [START, START.replace(hour=4, minute=30), START.replace(day=2)]
    ),
    "kurtosis:i": ff.Kurtosis("i"),
    "last:x": ff.Last("x"),
    "last_n:x:n=2": ff.LastN("x", 2),
    "linear_trend:at,x": ff.LinearTrend("at", "x"),
    "max:k": ff.Max("k"),
    "median:x": ff.Median("x"),
    "min:at": ff.Min("at"),
    "mode:k": ff.Mode("k"),
    "ohlc:x": ff.OHLC("x"),
    "product:x": ff.Product("x"),
    "quantile:i:q=0.25": ff.Quantile("i", 0.25),
    "quantile:i:q=0.25,0.75,method=discrete": ff.Quantile("i", [0.25, 0.75], method="discrete"),
    "range:i": ff.Range("i"),
    "rate:i": ff.Rate("i"),
    "root_mean_square:x": ff.RootMeanSquare("x"),
    "skewness:i": ff.Skewness("i"),
    "stddev:i:ddof=0": ff.StdDev("i", ddof=0),
    "sum:x:empty=0": ff.Sum("x", empty=0),
    "time_in_state:i:value=3": ff.TimeInState("i", 3),
    "theta_sketch:k:output=value": ff.ThetaSketch("k", output="value"),
    "top_n:i:n=3": ff.TopN("i", 3),
    "variance:i": ff.Variance("i"),
    "weighted_average:x,i": ff.WeightedAverage("x", "i"),
}
ELSEWHERE = {"covered", "time_weighted_average"}
"""Operations of interval events, which the files of these tests do not have."""


def test_every_operation_that_columns_and_options_are_enough_for(tmp_path: Path) -> None:
    events = TABLE.append_column("flag", pa.array([i % 7 < 3 for i in range(len(TABLE))]))
    pq.write_table(events, tmp_path / "e.parquet")
    outputs = [word for n, said in enumerate(EVERY) for word in ("--agg", f"o{n}={said}")]
    assert command([str(tmp_path / "e.parquet"), *QUERY, *outputs, "--out", str(tmp_path / "r.arrow")]) == 0
    window = ff.events(events, time="at", by="k").window(ff.sliding("1 hour", every="7 minutes"))
    expected = window.aggregate(**{f"o{n}": operation for n, operation in enumerate(EVERY.values())})
    assert pyarrow.feather.read_table(tmp_path / "r.arrow").to_pylist() == expected.to_pylist()


def test_no_operation_is_left_out() -> None:
    said = {name.partition(":")[0].lower() for name in EVERY}
    assert {ALIASES.get(name, name) for name in said} == OPERATIONS.keys() - ELSEWHERE
    classes = [kind for name in ff.__all__ if inspect.isclass(kind := getattr(ff, name))]
    left = {kind.__name__ for kind in classes if issubclass(kind, Operation)}
    left -= {kind.__name__ for kind in OPERATIONS.values()}
    made_of_others = {"AllOf", "ElementWise", "Filtered", "FlatMapped", "GroupedBy", "Mapped", "Reducing"}
    assert left == made_of_others | {"AggregateOperation", "PythonOperation"}


def test_without_out_there_is_only_a_preview(
    folder: Path, expected: list[tuple[Any, ...]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command([str(folder / "e.csv"), *QUERY, "--agg", "n=count", "--preview", "3"]) == 0
    seen = capsys.readouterr()
    assert f"3 of {len(expected)} windows" in seen.out
    assert "2024-04-30 23:02 – 2024-05-01 00:02" in seen.out
    assert f"{len(expected)} windows in" in seen.err


def test_explain_runs_nothing(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "r.parquet"
    assert command([str(folder / "e.csv"), *QUERY, "--agg", "n=count", "--out", str(out), "--explain"]) == 0
    seen = capsys.readouterr()
    assert seen.out.startswith("framefold on the local engine")
    assert "n = Count()" in seen.out
    assert not out.exists()


def test_null_times_are_dropped_when_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command([str(folder / "null.csv"), *QUERY, "--agg", "n=count", "--null-time", "drop"]) == 0
    assert "1 of 2 events have no time 'at' and were dropped" in capsys.readouterr().err


@pytest.mark.parametrize("explain", [[], ["--explain"]])
def test_gaps_are_told_once(explain: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rare = [str(folder / "e.parquet"), "--time", "at", "--window", "1 minute", "--every", "1 hour", "--agg", "n=count"]
    assert command([*rare, *explain]) == 0
    said = capsys.readouterr().err
    assert (
        "framefold: windows of 1 minute every 1 hour leave out 59 minutes of every hour (98 %): "
        "events there are in no window; --gaps allow says that this is meant\n"
    ) in said
    assert said.count("leave out") == 1
    assert command([*rare, *explain, "--gaps", "allow"]) == 0
    assert "leave out" not in capsys.readouterr().err


def test_null_times_are_a_failure_otherwise(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command([str(folder / "null.csv"), *QUERY, "--agg", "n=count"]) == 1
    message = capsys.readouterr().err
    assert "1 of 2 events" in message
    assert "--null-time drop" in message


def test_a_reader_that_stops_early_is_no_failure(folder: Path) -> None:
    command = [sys.executable, "-m", "framefold", "run", str(folder / "e.csv"), *QUERY, "--agg", "n=count"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*command, "--engine", "local"], stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert "Traceback" not in done.stderr


COUNT = ["--agg", "n=count"]
TIMED = ["e.parquet", "--time", "at", "--window", "1 hour"]
MISTAKES = {
    "an unknown time column": (
        ["e.parquet", "--time", "aat", "--window", "1 hour", *COUNT],
        "'aat'; did you mean 'at'?",
    ),
    "an unknown key": ([*TIMED, "--by", "kk", *COUNT], "--by names the unknown column 'kk'; did you mean 'k'?"),
    "an unknown input": ([*TIMED, "--agg", "m=avg:xx"], "unknown column 'xx'; did you mean 'x'?"),
    "a key twice": ([*TIMED, "--by", "k,k", *COUNT], "--by names 'k' twice"),
    "an input of the wrong type": ([*TIMED, "--agg", "m=avg:k"], "needs a column of numbers"),
    "text for a time": (["text.csv", *QUERY, *COUNT], "has text such as '01/05/2024 10:00'; expected ISO timestamps"),
    "a bad length": (["e.parquet", "--time", "at", "--window", "1 huor", *COUNT], "--window is '1 huor'"),
    "a length without a unit": (["e.parquet", "--time", "at", "--window", "60", *COUNT], "--window is 60"),
    "a step of zero": ([*TIMED, "--every", "0", *COUNT], "--every is 0"),
    "a step of zero minutes": ([*TIMED, "--every", "0 minutes", *COUNT], "expected a duration above zero"),
    "a bad offset": ([*TIMED, "--offset", "noon", *COUNT], "--offset is 'noon'"),
    "a missing file": (["e.parqet", *QUERY, *COUNT], "does not exist; did you mean"),
    "a pattern of nothing": (["*.feather", *QUERY, *COUNT], "no file matches"),
    "an empty folder": (["nothing", *QUERY, *COUNT], "has no files in it"),
    "an unknown kind of file": (["notes.txt", *QUERY, *COUNT], "has the extension '.txt'; expected one of .parquet"),
    "a file that is not what it says": (["torn.parquet", *QUERY, *COUNT], "cannot be read as parquet"),
    "an empty file": (["empty.csv", *QUERY, *COUNT], "cannot be read as csv"),
    "several kinds of files": (["e.parquet", "e.csv", *QUERY, *COUNT], "expected files of one kind"),
    "a file twice": (["e.parquet", "e.par*", *QUERY, *COUNT], "is given twice"),
    "a file without a column": (["with-x.csv", "no-x.csv", *QUERY, "--agg", "m=avg:x"], "has no column 'x'"),
    "an unknown operation": ([*TIMED, "--agg", "m=averge:x"], "unknown operation 'averge'; did you mean 'average'?"),
    "no operation": ([*TIMED, "--agg", "n"], "expected NAME=OP:COLUMN"),
    "too many inputs": ([*TIMED, "--agg", "m=avg:x,i"], "gives avg 2 columns; expected avg:COLUMN"),
    "no input": ([*TIMED, "--agg", "m=avg"], "gives avg 0 columns; expected avg:COLUMN"),
    "too many inputs for a count": (
        [*TIMED, "--agg", "m=count:x,i"],
        "gives count 2 columns; expected count or count:COLUMN",
    ),
    "one input where two are needed": ([*TIMED, "--agg", "m=argmax:x"], "1 column; expected argmax:COLUMN,BY"),
    "an option that is needed": ([*TIMED, "--agg", "m=top_n:x,i"], "no n=; expected top_n:COLUMN[,COMPANIONS...]:n=N"),
    "an option of no kind": ([*TIMED, "--agg", "m=top_n:x:n=three"], "is 'three'; expected an integer"),
    "an option that is no number": ([*TIMED, "--agg", "m=histogram:x:bins=high,low"], "expected numbers"),
    "an option of a parameter without text": ([*TIMED, "--agg", "m=frequent_items:i:type=int64"], "option 'type'"),
    "an operation made of others": ([*TIMED, "--agg", "m=filtered:x"], "unknown operation 'filtered'"),
    "an unknown option of an operation": ([*TIMED, "--agg", "m=stddev:x:dof=1"], "did you mean 'ddof'?"),
    "an option of an operation twice": (
        [*TIMED, "--agg", "m=stddev:x:ddof=1,ddof=0"],
        "--agg 'm=stddev:x:ddof=1,ddof=0' gives stddev ddof twice; expected it once",
    ),
    "a wrong option of an operation": ([*TIMED, "--agg", "m=stddev:x:ddof=y"], "ddof"),
    "an output twice": ([*TIMED, *COUNT, *COUNT], "the output 'n' twice"),
    "an output that hides a key": ([*TIMED, "--by", "k", "--agg", "k=count"], "would hide the key 'k'"),
    "no folder for the result": ([*TIMED, *COUNT, "--out", "no/where.parquet"], "which does not exist"),
    "an unknown kind of result": ([*TIMED, *COUNT, "--out", "r.xlsx"], "--out 'r.xlsx' has the extension '.xlsx'"),
    "a folder for a result": ([*TIMED, *COUNT, "--out", "nothing.csv"], "is a folder"),
    "a result over the events": ([*TIMED, *COUNT, "--out", "e.parquet"], "would overwrite the events"),
    "an unknown option": ([*TIMED, *COUNT, "--evry", "1 minute"], "--evry"),
    "a missing option": (["e.parquet", "--time", "at", *COUNT], "Missing option '--window'"),
    "a missing value": ([*TIMED, *COUNT, "--out"], "'--out' requires an argument"),
    "no events": (["--time", "at", "--window", "1 hour", *COUNT], "Missing argument 'EVENTS...'"),
    "an unknown choice": ([*TIMED, *COUNT, "--closed", "both"], "'both' is not one of 'left', 'right'"),
    "a negative preview": ([*TIMED, *COUNT, "--preview", "-1"], "--preview"),
    "an unknown address": (["far://bucket/e.parquet", *QUERY, *COUNT], "'far://bucket/e.parquet' cannot be opened: "),
    "an unknown kind of windows": (
        ["e.parquet", "--time", "at", "--window", "sesion:1 hour", *COUNT],
        "--window 'sesion:1 hour' is of the unknown kind 'sesion'; did you mean 'session'?",
    ),
    "an unknown option of windows": (
        ["e.parquet", "--time", "at", "--window", "session:1 hour:longst=2", *COUNT],
        "--window 'session:1 hour:longst=2' has the unknown option 'longst'; did you mean 'longest'?",
    ),
    "an option of windows that is no text": (
        ["e.parquet", "--time", "at", "--window", "tumbling:1 hour:fill_keys=a", *COUNT],
        "--window 'tumbling:1 hour:fill_keys=a' has the unknown option 'fill_keys'",
    ),
    "windows without what they need": (
        ["e.parquet", "--time", "at", "--window", "session", *COUNT],
        "--window 'session' has no gap; expected session:GAP[:merge_touching=...,",
    ),
    "a value that windows have no name for": (
        ["e.parquet", "--time", "at", "--window", "around:3", *COUNT],
        "--window 'around:3' has '3' without a name; expected around[:rows=...",
    ),
    "an option twice": (
        ["e.parquet", "--time", "at", "--window", "last_rows:3:every=2", "--every", "4", *COUNT],
        "--window 'last_rows:3:every=2' has every=, and --every is given too; expected one of them",
    ),
    "a name of a value twice": (
        ["e.parquet", "--time", "at", "--window", "session:3:gap=4", *COUNT],
        "--window 'session:3:gap=4' has gap twice; expected it once",
    ),
    "an option that these windows do not have": (
        ["e.parquet", "--time", "at", "--window", "session:1 hour", "--closed", "left", *COUNT],
        "--closed is 'left', but windows of the kind 'session' have no closed",
    ),
    "a rule that is none": (
        ["e.parquet", "--time", "at", "--window", "policy:evict=cont 3", *COUNT],
        "a rule is 'cont 3'; expected 'count N', 'time LENGTH' or 'delta COLUMN N'",
    ),
    "an unknown time zone": ([*TIMED, "--timezone", "Berlin", *COUNT], "timezone is 'Berlin'"),
    "standard input of no kind": (
        ["-", *QUERY, *COUNT],
        "'-' is standard input, which has no extension; expected --f",
    ),
    "standard input and more": (
        ["-", "e.csv", "--format", "csv", *QUERY, *COUNT],
        "'-' is standard input, and 1 more are given; expected it alone",
    ),
    "standard output of no kind": (
        [*TIMED, *COUNT, "--out", "-"],
        "--out '-' is standard output, which has no exten",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence(
    mistake: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    (folder / "nothing.csv").mkdir(exist_ok=True)
    arguments, words = MISTAKES[mistake]
    # The engine first, so that a trailing option without its value stays the last.
    assert main(["run", "--engine", "local", *arguments]) == 2
    seen = capsys.readouterr()
    assert words in seen.err
    assert seen.err.startswith("framefold: ")
    assert seen.err.count("\n") == 1
    assert seen.out == ""


def test_an_unknown_command_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rnu"]) == 2
    assert "No such command 'rnu'" in capsys.readouterr().err


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert main(["--version"]) == 0
    assert main(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--null-time" in shown
    told = "".join(re.findall(r"[\w,.=:]", shown))
    assert f"OPisoneof{','.join(OPERATIONS)}." in told


def test_mistakes_are_found_before_spark_starts(folder: Path) -> None:
    arguments = ["run", str(folder / "e.parquet"), "--time", "aat", "--window", "1 hour", *COUNT, "--engine", "spark"]
    code = (
        f"import sys; from framefold.cli import main; code = main({arguments!r}); "
        "sys.exit(code if 'pyspark' not in sys.modules else 99)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 2


@pytest.mark.parametrize(
    ("events", "combine"),
    [
        ("e.parquet", "driver"),
        ("e.parquet", "executors"),
        ("e.csv", "driver"),
        ("e.jsonl", "executors"),
        ("e.arrow", "driver"),
    ],
)
@pytest.mark.usefixtures("spark")
def test_spark_gives_the_same_windows(
    events: str, combine: str, folder: Path, tmp_path: Path, expected: list[tuple[Any, ...]]
) -> None:
    out = tmp_path / "result.parquet"
    arguments = [str(folder / events), *QUERY, *OUTPUTS, "--combine", combine, "--out", str(out)]
    for _ in range(2 if events == "e.parquet" else 1):  # an earlier result is replaced
        assert main(["run", *arguments, "--engine", "spark"]) == 0
    assert (out / "_SUCCESS").exists()
    close(sorted(rows_of(pq.read_table(out)), key=lambda row: (row[0] or "", row[1])), expected)


@pytest.mark.classic("it watches classic DataFrames")
@pytest.mark.parametrize(("combine", "preview", "caches"), [("driver", 3, 0), ("executors", 3, 1), ("executors", 0, 0)])
@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow", None])
@pytest.mark.usefixtures("spark")
def test_a_result_on_spark_is_written_once_and_counted_as_it_is(
    combine: str, preview: int, caches: int, kind: str | None, folder: Path, tmp_path: Path,
    expected: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from pyspark.sql.classic.dataframe import DataFrame

    taken: list[str] = []
    for way in ("cache", "count"):
        real = getattr(DataFrame, way)
        monkeypatch.setattr(DataFrame, way, lambda df, way=way, real=real: (taken.append(way), real(df))[1])
    out = ["--out", str(tmp_path / f"result.{kind}")] if kind else []
    arguments = [str(folder / "e.parquet"), *QUERY, *OUTPUTS, "--combine", combine, "--preview", str(preview), *out]
    assert main(["run", *arguments, "--engine", "spark"]) == 0
    assert taken == ["cache"] * caches + ["count"] * (kind is None and combine == "executors")
    shown, said = capsys.readouterr()
    assert said.startswith(f"{len(expected):,} windows in ")
    assert (f"{preview} of {len(expected):,} windows" in shown) == (preview > 0)


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.usefixtures("spark")
def test_files_are_read_as_the_api_reads_them(
    engine: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On Spark by tasks and past the JVM; on the local engine by several threads."""
    arguments = ["run", str(folder / "e.parquet"), *QUERY, *OUTPUTS, "--engine", engine]
    if engine == "spark":
        assert main([*arguments, "--explain"]) == 0
        assert "not through the JVM" in capsys.readouterr().out
        return
    threads = []
    of_files = inner("readers of files")

    def readers(*asked: Any) -> Any:
        found = of_files(*asked)
        threads.append(found and found.threads)
        return found

    monkeypatch.setattr(*place_of("readers of files"), readers)
    assert main(arguments) == 0
    assert threads[0] >= pa.cpu_count()


def test_packed_text(folder: Path, tmp_path: Path, expected: list[tuple[Any, ...]]) -> None:
    for name in ("e.csv", "e.jsonl"):
        with gzip.open(tmp_path / f"{name}.gz", "wb") as file:
            file.write((folder / name).read_bytes())
        out = tmp_path / "result.arrow"
        assert command([str(tmp_path / f"{name}.gz"), *QUERY, *OUTPUTS, "--out", str(out)]) == 0
        close(rows_of(pyarrow.feather.read_table(out)), expected)


def test_how_many_events_were_read_is_shown_on_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("e.parquet", "e.csv"):
        progress = Progress(console=Console(file=io.StringIO(), force_terminal=True))
        monkeypatch.setattr(*place_of("progress of a run"), lambda progress=progress: progress)
        assert command([str(folder / name), *QUERY, *OUTPUTS]) == 0
        (task,) = progress.tasks
        assert (task.completed, task.total) == (len(ROWS), len(ROWS) if name == "e.parquet" else None)


@pytest.mark.minima
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kind", ["csv", "json", "arrow"])
def test_spark_writes_other_kinds(kind: str, folder: Path, tmp_path: Path, expected: list[tuple[Any, ...]]) -> None:
    out = tmp_path / f"result.{kind}"
    assert main(["run", str(folder / "e.csv"), *QUERY, *OUTPUTS, "--out", str(out), "--engine", "spark"]) == 0
    if kind == "arrow":
        close(rows_of(pyarrow.feather.read_table(out)), expected)
        return
    start = "window_start" if kind == "csv" else '"window".start::TIMESTAMP'
    reading = f"read_{kind}('{out}/*.{kind}'" + (", header=true)" if kind == "csv" else ")")
    got = duckdb.sql(f"SELECT k, {start} AS s, n, m, s, sd FROM {reading} ORDER BY k NULLS FIRST, 2").fetchall()
    close(got, expected)


@pytest.mark.usefixtures("spark")
def test_spark_fails_in_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for combine in ("driver", "executors"):
        arguments = [str(folder / "null.csv"), *QUERY, *COUNT, "--combine", combine]
        assert main(["run", *arguments, "--engine", "spark"]) == 1
        assert "--null-time drop" in capsys.readouterr().err


@pytest.mark.usefixtures("spark")
def test_a_folder_that_spark_did_not_write_is_kept(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.parquet"
    out.mkdir()
    (out / "precious").write_text("data")
    assert main(["run", str(folder / "e.csv"), *QUERY, *COUNT, "--out", str(out), "--engine", "spark"]) == 2
    assert (out / "precious").exists()
