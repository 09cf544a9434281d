"""``framefold run``: the same right results from every kind of file, in every kind of file, on both engines."""

from __future__ import annotations

import datetime
import gzip
import inspect
import io
import json
import re
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

from ..oracles.duck import asked
from ..support.command_line import ALIASES, OPERATIONS, main
from ..support.inner import answers, place_of
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
VALUES = ["n", "m", "s", "sd"]
COUNT = ["--agg", "n=count"]
BINS = [START, START.replace(hour=4, minute=30), START.replace(day=2)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The events as files of each kind, and events without a time."""
    folder = tmp_path_factory.mktemp("events")
    pq.write_table(TABLE, folder / "e.parquet")
    pq.write_table(TABLE.slice(0, 200), folder / "part1.parquet")
    pq.write_table(TABLE.slice(200), folder / "part2.parquet")
    pyarrow.feather.write_feather(TABLE, folder / "e.arrow")
    pyarrow.csv.write_csv(TABLE, folder / "e.csv")
    lines = [{"at": at.isoformat() + ".000Z", "k": k, "x": x, "i": i} for at, k, x, i in ROWS]
    (folder / "e.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name in ("e.csv", "e.jsonl"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    (folder / "null.csv").write_text("at,k,x\n2024-05-01 10:00:00,a,1\n,a,2\n")
    return folder


@pytest.fixture(scope="module")
def expected() -> list[tuple[Any, ...]]:
    """The windows by DuckDB: every event joined with every window that it is in."""
    query = """
        WITH grid AS (
            SELECT make_timestamp(step * 420 * 1000000) AS s
            FROM range(1714435200 // 420, 1714608000 // 420) steps(step) -- 30 April to 2 May 2024
        )
        SELECT k, s, count(*), avg(x), sum(i)::BIGINT, stddev_pop(i)
        FROM events JOIN grid ON events."at" >= s AND events."at" < s + INTERVAL 1 HOUR
        GROUP BY ALL ORDER BY k NULLS FIRST, s"""
    return asked(query, events=TABLE).fetchall()


def rows_of(out: Path) -> list[tuple[Any, ...]]:
    """The windows in a result: a file, or a folder of Spark's."""
    kind = out.suffix[1:]
    if kind in ("parquet", "arrow"):
        rows = (pq.read_table if kind == "parquet" else pyarrow.feather.read_table)(out).to_pylist()
        return [
            (row["k"], row["window"]["start"].replace(tzinfo=None), *(row[name] for name in VALUES)) for row in rows
        ]
    start = "window_start" if kind == "csv" else '"window".start::TIMESTAMP'
    files = out / f"*.{kind}" if out.is_dir() else out
    return duckdb.sql(f"SELECT k, {start}, {', '.join(VALUES)} FROM read_{kind}('{files}')").fetchall()


def close(got: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> None:
    assert [row[:3] for row in got] == [row[:3] for row in wanted]
    for one, other in zip(got, wanted, strict=True):
        # None compares with nothing, and no value here is that large.
        left, right = ([1e300 if value is None else value for value in row[3:]] for row in (one, other))
        assert left == pytest.approx(right, rel=1e-9, abs=1e-9)


def command(arguments: list[str]) -> int:
    """The command line on the local engine, in this process."""
    return main(["run", *arguments, "--engine", "local"])


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ("e.parquet", "csv"), ("e.csv", "parquet"), ("e.jsonl", "arrow"), ("e.arrow", "json"),
        ("part*.parquet", "parquet"), ("e.csv.gz", "json"), ("e.jsonl.gz", "parquet"),
    ],
)  # fmt: skip
def test_every_kind_of_events_gives_the_same_windows_in_every_kind_of_result(
    events: str, kind: str, folder: Path, tmp_path: Path, expected: list[tuple[Any, ...]]
) -> None:
    out = tmp_path / f"result.{kind}"
    assert command([str(folder / events), *QUERY, *OUTPUTS, "--out", str(out)]) == 0
    close(rows_of(out), expected)
    if kind == "csv":
        assert out.read_text().splitlines()[0].replace('"', "") == "k,window_start,window_end,n,m,s,sd"
    if events == "e.jsonl":  # whose times have a zone
        window = pyarrow.feather.read_table(out).schema.field("window").type
        assert window.field("start").type == pa.timestamp("us", "UTC")


def test_where_and_filled(tmp_path: Path) -> None:
    trips = pa.table({"t": [0, 1, 5, 6], "zone": ["a", "b", "a", "b"], "speed": [20.0, 40.0, 31.0, 50.0]})
    pq.write_table(trips, tmp_path / "trips.parquet")
    query = ["--time", "t", "--window", "1", "--where", "speed > 30 and zone <> 'x'", "--empty", "emit"]
    outputs = ["--agg", "v=last:speed:filled=linear", *COUNT, "--out", str(tmp_path / "out.parquet")]
    assert command([str(tmp_path / "trips.parquet"), *query, *outputs]) == 0
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["v"].to_pylist() == pytest.approx([40, 37.75, 35.5, 33.25, 31, 50])
    assert found["n"].to_pylist() == [1, 0, 0, 0, 1, 1]


def test_json_has_no_nan(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": [0, 5], "x": [float("nan"), float("-inf")]}), tmp_path / "e.parquet")
    out = tmp_path / "r.json"
    arguments = ["--time", "t", "--window", "5", "--agg", "top=max:x", "--out", str(out)]
    assert command([str(tmp_path / "e.parquet"), *arguments]) == 0
    assert [json.loads(line)["top"] for line in out.read_text().splitlines()] == ["NaN", "-Infinity"]


EVERY = {
    "approx_count_distinct:i:method=cpc,precision=11": ff.ApproxCountDistinct("i", "cpc", 11),
    "approx_quantile:x:q=0.5": ff.ApproxQuantile("x", 0.5), "arg_max:k,x": ff.ArgMax("k", "x"),
    "argmin:k,x": ff.ArgMin("k", "x"), "mean:x": ff.Average("x"), "bit_and:i": ff.BitAnd("i"),
    "bitor:i": ff.BitOr("i"), "bit_xor:i": ff.BitXor("i"), "bool_and:flag": ff.BoolAnd("flag"),
    "bool_or:flag": ff.BoolOr("flag"), "bottom_n:i,x:n=2": ff.BottomN("i", 2, "x"),
    "collect_list:x": ff.CollectList("x"), "collect_set:k": ff.CollectSet("k"),
    "concat:k:delimiter=,": ff.Concat("k", ","), "concat:k:delimiter=:,prefix=<": ff.Concat("k", ":", "<"),
    "correlation:i,x": ff.Correlation("i", "x"), "count": ff.Count(), "Count:x": ff.Count("x"),
    "count_distinct:k": ff.CountDistinct("k"), "count_distinct:i,k": ff.CountDistinct("i", "k"),
    "count_if:flag": ff.CountIf("flag"), "covariance:i,x:ddof=0": ff.Covariance("i", "x", ddof=0),
    "delta:i": ff.Delta("i"), "distinct_sum:i": ff.DistinctSum("i"),
    "ewma:x:half_life=20 minutes": ff.Ewma("x", "20 minutes"), "first:x:ties=i": ff.First("x", ties="i"),
    "first_n:x:n=2": ff.FirstN("x", 2), "frequent_items:k:n=2": ff.FrequentItems("k", 2),
    "geometric_mean:i": ff.GeometricMean("i"), "harmonic_mean:i": ff.HarmonicMean("i"),
    "histogram:k": ff.Histogram("k"), "histogram:x:bins=-5,0.5,3": ff.Histogram("x", [-5, 0.5, 3]),
    "histogram:at:bins=2024-05-01T00:00,2024-05-01T04:30,2024-05-02T00:00": ff.Histogram("at", BINS),
    "kurtosis:i": ff.Kurtosis("i"), "last:x": ff.Last("x"), "last_n:x:n=2": ff.LastN("x", 2),
    "linear_trend:at,x": ff.LinearTrend("at", "x"), "max:k": ff.Max("k"), "median:x": ff.Median("x"),
    "min:at": ff.Min("at"), "mode:k": ff.Mode("k"), "ohlc:x": ff.OHLC("x"), "product:x": ff.Product("x"),
    "quantile:i:q=0.25": ff.Quantile("i", 0.25),
    "quantile:i:q=0.25,0.75,method=discrete": ff.Quantile("i", [0.25, 0.75], method="discrete"),
    "range:i": ff.Range("i"), "rate:i": ff.Rate("i"), "root_mean_square:x": ff.RootMeanSquare("x"),
    "skewness:i": ff.Skewness("i"), "stddev:i:ddof=0": ff.StdDev("i", ddof=0), "sum:x:empty=0": ff.Sum("x", empty=0),
    "time_in_state:i:value=3": ff.TimeInState("i", 3),
    "theta_sketch:k:output=value": ff.ThetaSketch("k", output="value"), "top_n:i:n=3": ff.TopN("i", 3),
    "variance:i": ff.Variance("i"), "weighted_average:x,i": ff.WeightedAverage("x", "i"),
}  # fmt: skip
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


@pytest.mark.parametrize(
    ("events", "more", "code", "shown", "said"),
    [
        (
            "e.csv", "--preview 3", 0,
            ["3 of {windows} windows", "2024-04-30 23:02 – 2024-05-01 00:02"], ["{windows} windows in"],
        ),
        ("e.csv", "--out r.parquet --explain", 0, ["framefold on the local engine", "n = Count()"], []),
        ("null.csv", "--null-time drop", 0, [], ["1 of 2 events have no time 'at' and were dropped"]),
        ("null.csv", "", 1, [], ["1 of 2 events", "--null-time drop"]),
    ],
)  # fmt: skip
def test_what_a_run_says(
    events: str, more: str, code: int, shown: list[str], said: list[str], folder: Path, tmp_path: Path,
    expected: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert command([str(folder / events), *QUERY, *COUNT, *more.split()]) == code
    for words, seen in zip((shown, said), capsys.readouterr(), strict=True):
        assert all(each.format(windows=len(expected)) in seen for each in words)
    assert not list(tmp_path.iterdir())  # --explain runs nothing


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


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert main(["--version"]) == 0
    assert main(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--null-time" in shown
    told = "".join(re.findall(r"[\w,.=:]", shown))
    assert f"OPisoneof{','.join(OPERATIONS)}." in told


@pytest.mark.minima
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("events", "combine", "kind"),
    [
        ("e.parquet", "driver", "parquet"), ("e.parquet", "executors", "csv"), ("e.csv", "driver", "json"),
        ("e.jsonl", "executors", "arrow"), ("e.arrow", "driver", "parquet"),
    ],
)  # fmt: skip
def test_spark_gives_the_same_windows(
    events: str, combine: str, kind: str, folder: Path, tmp_path: Path, expected: list[tuple[Any, ...]]
) -> None:
    out = tmp_path / f"result.{kind}"
    arguments = [str(folder / events), *QUERY, *OUTPUTS, "--combine", combine, "--out", str(out)]
    for _ in range(2 if events == "e.arrow" else 1):  # an earlier result is replaced
        assert main(["run", *arguments, "--engine", "spark"]) == 0
    assert (out / "_SUCCESS").exists() == (kind != "arrow")
    close(sorted(rows_of(out), key=lambda row: (row[0] or "", row[1])), expected)


@pytest.mark.classic("it watches classic DataFrames")
@pytest.mark.parametrize(
    ("combine", "preview", "kind", "calls"),
    [
        ("driver", 3, "parquet", []), ("executors", 3, "csv", ["cache"]), ("executors", 0, None, ["count"]),
        ("executors", 3, None, ["cache", "count"]),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("spark")
def test_a_result_on_spark_is_written_once_and_counted_as_it_is(
    combine: str, preview: int, kind: str | None, calls: list[str], folder: Path, tmp_path: Path,
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
    assert taken == calls
    shown, said = capsys.readouterr()
    assert said.startswith(f"{len(expected):,} windows in ")
    assert (f"{preview} of {len(expected):,} windows" in shown) == (preview > 0)


@pytest.mark.usefixtures("spark")
def test_files_are_read_as_the_api_reads_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On Spark by tasks and past the JVM; on the local engine by several threads."""
    arguments = ["run", str(folder / "e.parquet"), *QUERY, *OUTPUTS, "--engine"]
    assert main([*arguments, "spark", "--explain"]) == 0
    assert "not through the JVM" in capsys.readouterr().out
    threads = answers(monkeypatch, "readers of files", lambda found, *_: found and found.threads)
    assert main([*arguments, "local"]) == 0
    assert threads[0] >= pa.cpu_count()


def test_how_many_events_were_read_is_shown_on_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("e.parquet", "e.csv"):
        progress = Progress(console=Console(file=io.StringIO(), force_terminal=True))
        monkeypatch.setattr(*place_of("progress of a run"), lambda progress=progress: progress)
        assert command([str(folder / name), *QUERY, *OUTPUTS]) == 0
        (task,) = progress.tasks
        assert (task.completed, task.total) == (len(ROWS), len(ROWS) if name == "e.parquet" else None)


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
