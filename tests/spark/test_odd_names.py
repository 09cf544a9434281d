"""Names of any letters: none of them becomes SQL, and none is one of our own."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from types import FunctionType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from pyarrow import orc
from pyspark.sql import DataFrame, SparkSession

import framefold as ff

from ..support.spark_results import conf, rows

VARIABLE, SECRET = "spark.framefold.variable", "FRAMEFOLD_TEST_SECRET"
PLAIN = ("t", "k", "x", "y", "s")
SETS = {
    "variables": ("${spark.framefold.variable}t", f"${{env:{SECRET}}}", "${spark.framefold.variable}", "$x", "${y}"),
    "SQL": ("a`b", "it's", "x; drop table t --", 'say "y"', "count(*)"),
    "ours": ("#rank", "frame", "#first", "c0", "ticks"),
    "ours, too": ("#until", "#block", "arrival", "#rank", "k0"),
    "columns of partials": ("part", "s0", "frame", "n.count", "tick `s"),
    "columns of windows": ("rows", "last", "first", "rank", "until"),
    "dots and braces": ("a.b", "{0}", "{ticks}", "%s", "*"),
}
ROWS = [
    (at, "ab"[at % 2], float(at % 7), 10.0 ** (at % 3), f"{at * 7 % 11:02}") for at in range(0, 60, 2)
]  # times without ties
WINDOWS: dict[str, Any] = {
    "tumbling": ff.tumbling(10), "sliding": ff.sliding(12, every=5),
    "with samples": ff.sliding(12, every=5, min_samples=2), "cumulating": ff.cumulating(30, every=10),
    "sessions": ff.session(3), "landmark": ff.landmark(every=10), "last rows": ff.last_rows(3),
    "around rows": ff.around(rows=(-1, 1)), "around time": ff.around(time=(-4, 0)),
    "filled": ff.tumbling(10, empty="emit", fill_from=-20, fill_to=60), "several": (ff.tumbling(10), ff.session(3)),
    "made by a column": lambda names: ff.policy(ff.by_delta(names[2], 2.0), ff.by_count(2)),
}  # fmt: skip


def asked(data: Any, names: tuple[str, ...], windows: Any, many: bool, **options: str) -> Any:
    """Operations that Spark SQL accumulates, and many others, under names of their own."""
    time, key, x, y, s = names
    outputs: dict[str, Any] = {f"#samples of {x}": ff.Sum(x), "#rank": ff.WeightedAverage(x, y)}
    if many:
        outputs[f"{x}."] = ff.Filtered(ff.Sum(x), lambda column: column > 2)
        outputs |= {"#first": ff.ArgMax(s, x), f"#{s}": ff.AllOf(first=ff.Min(s), n=ff.Count())}
    windows = windows(names) if isinstance(windows, FunctionType) else windows
    several = windows if isinstance(windows, tuple) else (windows,)
    return ff.events(data, time=time, by=key).window(*several).options(**options).aggregate(**outputs)


def named(names: tuple[str, ...]) -> pa.Table:
    """The rows in columns of these names."""
    return pa.table(dict(zip(names, map(list, zip(*ROWS, strict=True)), strict=True)))


def values(result: Any) -> list[Any]:
    return [tuple(row.values()) for row in rows(result)]


@pytest.fixture(autouse=True)
def variables(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv(SECRET, "hunter2")
    with conf(spark, {VARIABLE: "x"}):
        yield


@pytest.mark.parametrize("kind", list(WINDOWS))
def test_odd_names_change_nothing(spark: SparkSession, kind: str) -> None:
    windows = WINDOWS[kind]
    sets = list(SETS.values())
    for many in (True, False):
        right = values(asked(named(PLAIN), PLAIN, windows, many))
        for names in sets:
            assert values(asked(named(names), names, windows, many)) == right
        names = sets[(list(WINDOWS).index(kind) + many) % len(sets)]
        df = spark.createDataFrame(named(names))
        assert values(asked(df, names, windows, many)) == right
        if many and kind in ("sliding", "last rows"):
            assert values(asked(df, names, windows, many, combine="executors")) == right


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_files_that_spark_would_read(spark: SparkSession, tmp_path: Path, format: str) -> None:
    """Its readers take a name for another, and so tasks read for it; where they cannot it is refused."""
    names = SETS["variables"]
    table = named(names).append_column("x", pa.array([-1.0] * len(ROWS)))
    path = tmp_path / f"events.{format}"
    parquet.write_table(table, path) if format == "parquet" else orc.write_table(table, str(path))
    files = ff.files(path, format=format, spark=spark)
    ways: list[tuple[Any, dict[str, str]]] = [
        (ff.last_rows(3), {}),
        (ff.last_rows(3), {"combine": "executors"}),
        *((ff.tumbling(10), options) for options in ({}, {"read": "spark"}, {"accumulate": "python"})),
    ]
    for windows, options in ways:
        right = values(asked(table, names, windows, many=False))
        assert values(asked(files, names, windows, many=False, **options)) == right, (windows, options)
        if format == "parquet":
            df = spark.read.parquet(str(path))
            assert values(asked(df, names, windows, many=False, **options)) == right, (windows, options)
    if format == "parquet":
        setting = "spark.sql.parquet.binaryAsString"
        with (
            conf(spark, {setting: "true"}),
            pytest.raises(ff.QueryError, match=r"only Spark can read the files \(the session has .*\$\{spark.fra"),
        ):
            asked(ff.files(path, format=format, spark=spark), names, ff.tumbling(10), many=False)


def test_ends_ties_and_conditions(spark: SparkSession) -> None:
    given = [[0, 2, 4], [3, 9, 5], [1.0, 2.0, 4.0]]
    for time, until, x in (("t", "u", "x"), ("#until", "#rank", "#first"), ("${spark.framefold.variable}", "`", "'")):
        table = pa.table(dict(zip((time, until, x), given, strict=True)))
        for data in (table, spark.createDataFrame(table)):
            lives = ff.events(data, time=time, until=until).window(ff.tumbling(5)).aggregate(**{"#until": ff.Sum(x)})
            assert [row["#until"] for row in rows(lives)] == [7.0, 2.0]
            tied = ff.events(data, time=time, ties=until).window(ff.last_rows(2)).aggregate(l=ff.First(x))
            assert [row["l"] for row in rows(tied)] == [1.0, 1.0, 2.0]


def test_no_variable_of_the_environment_is_shown(spark: SparkSession) -> None:
    name = f"${{env:{SECRET}}}"
    df = spark.createDataFrame([(0, "a")], "t long, k string").toDF("t", name)
    query = ff.events(df, time="t").window(ff.tumbling(10))
    with pytest.raises(ff.ColumnError) as error:
        query.aggregate(s=ff.Sum(name))
    assert name in str(error.value)
    assert "hunter2" not in str(error.value)
    assert "hunter2" not in str(query.explain(s=ff.Min(name)))
    assert query.aggregate(**{name: ff.Min(name)}).columns == ["window", name]


@pytest.mark.usefixtures("rocksdb")
@pytest.mark.parametrize("windows", [ff.tumbling("10 seconds"), ff.last_rows(2)], ids=str)
def test_streams(spark: SparkSession, tmp_path: Path, windows: Any) -> None:
    pytest.importorskip("pyspark", minversion="4.1")
    start = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    times = [start + datetime.timedelta(seconds=at) for at, *_ in ROWS]
    table = pa.table({"t": pa.array(times, pa.timestamp("us", tz="UTC")), "k": [row[1] for row in ROWS], "x": [
        row[2] for row in ROWS]})  # fmt: skip
    parquet.write_table(table, tmp_path / "1.parquet")
    names = ("`a;--", "${spark.framefold.variable}", "#rank")
    stream: DataFrame = spark.readStream.schema("t timestamp, k string, x double").parquet(str(tmp_path)).toDF(*names)
    events = ff.events(stream, time=names[0], by=names[1]).where(f"`{names[1]}` <> '{names[1]}'")
    query = events.stream(watermark="1 second").window(windows)
    result = query.aggregate(**{"#first": ff.Sum(names[2]), "it's": ff.Last(ff.expr(f"'${{env:{SECRET}}}'"))})
    writer = result.writeStream.format("memory").queryName("odd_names").trigger(availableNow=True)
    running = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    assert running.awaitTermination(120)
    given = [row for row in spark.table("odd_names").collect() if row[names[1]] == "a"]
    assert {row["it's"] for row in given} == {f"${{env:{SECRET}}}"}
    found = [row["#first"] for row in given]
    spark.catalog.dropTempView("odd_names")
    local = ff.events(table, time="t", by="k").window(windows).aggregate(s=ff.Sum("x"))
    expected = [row["s"] for row in rows(local) if row["k"] == "a"]
    assert sorted(found) == sorted(expected[:-1])  # the last window is not closed


def test_sql_is_written_in_few_places() -> None:
    # Of names that are our own: scan_bounds has the name of a view, the others have those of under_plain_names, and
    # relations have columns of their own.
    written = re.compile(r"""\bf\.expr|selectExpr|\.sql\(|\.(where|filter)\(f?["']""")
    root = Path(__file__).parents[2]
    paths = [*(root / "spark").rglob("*.py"), *(root / "extras").glob("*/on_spark/*.py")]
    code = {path: path.read_text() for path in paths}
    found = {path.name for path, text in code.items() if written.search(text)}
    relations = {"frames.py", "instants.py", "overlap_join.py", "streams.py"}
    assert found == {"sql_source.py", "ordering.py", "scan_bounds.py"} | relations
