"""Files that tasks read by themselves: the results are those of Spark's own reader, and of other systems."""

from __future__ import annotations

import datetime
import gzip
import math
import re
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framefold as ff

from ..support.inner import place_of
from ..support.limits import limits
from ..support.sessions import cores
from ..support.sources import possible
from ..support.spark_parts import THRESHOLD, parallelism, to_dataframe
from ..support.spark_results import conf, listed, rows
from .test_awkward_paths import WRITERS

duckdb = pytest.importorskip("duckdb")

WAYS = ["driver", "executors"]
START = 1_730_600_000_000_000
OUTPUTS = {"n": ff.Count(), "s": ff.Sum("i"), "mean": ff.Average("x"), "most": ff.Max("x")}
HOURS = ff.sliding("3 hours", every="1 hour")


def table(rows: int = 4_000, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    ticks = START + np.sort(rng.integers(0, 86_400_000_000, rows))
    x = rng.integers(-50, 50, rows) / 4
    x[::97] = np.nan
    keys = np.array(["ann", "bob", "ßeth", ""])[rng.integers(0, 4, rows)]
    return pa.table(
        {
            "ts": pa.array(ticks).cast(pa.timestamp("us", "UTC")),
            "k": pa.array(keys, mask=rng.random(rows) < 0.1),
            "i": pa.array(rng.integers(-9, 9, rows).astype(np.int32), mask=rng.random(rows) < 0.1),
            "x": pa.array(x),
        }
    )


def ours(source: Any, way: str = "auto", time: str = "ts", by: Any = "k", window: Any = HOURS, **outputs: Any) -> Any:
    events = source if isinstance(source, ff.Events) else ff.events(source, time=time, by=by)
    read = "spark" if isinstance(source, DataFrame) else "auto"
    return events.window(window).options(combine=way, read=read).aggregate(**(outputs or OUTPUTS))


def explained(source: Any, time: str = "ts", by: Any = "k", window: Any = HOURS, **outputs: Any) -> str:
    events = source if isinstance(source, ff.Events) else ff.events(source, time=time, by=by)
    return str(events.window(window).explain(**(outputs or OUTPUTS)))


def require_same(mine: DataFrame, theirs: DataFrame) -> None:
    assert (mine.schema, listed(mine)) == (theirs.schema, listed(theirs))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of ten row groups."""
    target = tmp_path_factory.mktemp("files") / "events.parquet"
    pq.write_table(table(), target, row_group_size=400)
    return target


@pytest.mark.minima
def test_text_keys_of_files_with_dictionaries_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    """Row groups and files that each number the same texts in another way, some of them null; one file has none."""
    chance = np.random.default_rng(5)
    words = [f"w{number}" for number in range(30)] + [None]
    types = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), None]
    for number, type in enumerate(types):
        columns = {"ts": chance.integers(0, 50, 500), "i": chance.integers(0, 9, 500)}
        k = pa.array([words[at] for at in chance.integers(0, 31, 500)], pa.string())
        more = {} if type is None else {"k": k.cast(type), "other": k.cast(type)}
        pq.write_table(pa.table(columns | more), tmp_path / f"{number}.parquet", row_group_size=90)
    events = ff.events(ff.parquet(tmp_path, spark=spark), time="ts", by="k")
    asked = {"n": ff.Count(), "s": ff.Sum("i"), "texts": ff.Count("k"), "least": ff.Min("other")}
    assert "not through the JVM" in explained(events, window=ff.tumbling(10), **asked)
    query = f"""SELECT k, ts // 10 * 10 AS start, count(*), sum(i)::bigint, count(k), min(other)
                FROM read_parquet('{tmp_path}/*.parquet', union_by_name=true)
                GROUP BY ALL ORDER BY k NULLS FIRST, start"""
    expected = duckdb.sql(query).fetchall()
    for way in WAYS:
        found = ours(events, way, window=ff.tumbling(10), **asked).toArrow().to_pylist()
        assert [(row["k"], row["window"]["start"], *(row[name] for name in asked)) for row in found] == expected
    one = ours(events.where(pc.field("k") == "w1"), window=ff.tumbling(10), n=ff.Count()).toArrow().to_pylist()
    assert [(row["k"], row["window"]["start"], row["n"]) for row in one] == [
        row[:3] for row in expected if row[0] == "w1"
    ]


def test_events_do_not_pass_through_the_jvm(spark: SparkSession, path: Path) -> None:
    with mock.patch.object(*place_of("scan by Spark"), property(lambda self: pytest.fail("Spark reads the file"))):
        ours(ff.parquet(path, spark=spark)).collect()
    text = explained(ff.parquet(path, spark=spark))
    assert "with pyarrow, not through the JVM: 10 of 10 row groups of 1 file" in text
    assert "1 task" in text


def test_tasks_are_balanced_runs_in_the_order_of_the_files(spark: SparkSession, tmp_path: Path) -> None:
    sizes = np.random.default_rng(2).integers(1, 40 << 20, 200)
    found = parallelism.runs(sizes, 4)
    assert [place for run in found for place in range(run.start, run.stop)] == list(range(200))
    loads = [int(sizes[run].sum()) for run in found]
    assert len(found) == 16
    assert max(loads) - min(loads) <= 2 * sizes.max()
    assert len(parallelism.runs(np.full(50, 1000), 8)) == 1
    assert parallelism.runs(np.array([], np.int64), 8) == []
    for number in range(3):
        pq.write_table(table(600, number), tmp_path / f"{number}.parquet", row_group_size=200)
    with limits(min_task_bytes=1):
        (scan,) = [ff.events(ff.parquet(tmp_path, spark=spark), time="ts", by="k").engine.scan]  # type: ignore[attr-defined]
        plan = scan.read_plan(["ts", "k", "x"])
        assert len(plan.tasks) == 2
        read = [
            (Path(part.file.path).name, number) for task in plan.tasks for part in task for number in part.row_groups
        ]
        assert read == [(f"{number}.parquet", piece) for number in range(3) for piece in range(3)]
        assert listed(ours(ff.parquet(tmp_path, spark=spark))) == listed(ours(ff.parquet(tmp_path)))


def test_the_number_of_cores_is_asked_of_spark_where_the_master_does_not_say(spark: SparkSession) -> None:
    assert parallelism.parallelism(spark) == cores(spark.conf.get("spark.master") or "")
    parallelism._parallelism.pop(spark)
    with mock.patch.object(*place_of("cores"), return_value=None):
        assert parallelism.parallelism(spark) == 2


def test_only_the_columns_needed_are_read(spark: SparkSession, tmp_path: Path) -> None:
    wide = table().append_column("unused", pa.array(["x" * 500] * 4_000)).append_column("own", pa.array([None] * 4_000))
    pq.write_table(wide, tmp_path / "wide.parquet", use_dictionary=False, compression="none")
    assert "0.1 MB of the columns" in explained(ff.parquet(tmp_path, spark=spark))


@pytest.mark.parametrize("output", ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
def test_what_spark_wrote(spark: SparkSession, tmp_path: Path, output: str) -> None:
    df = spark.range(500).selectExpr(
        "timestamp_micros(1730600000123456 + id * 17000000) as ts",
        "timestamp_ntz '2024-11-03 00:00:00' + make_dt_interval(0, 0, 0, id * 17) as local",
        "date_add(date '1969-12-20', cast(id % 50 as int)) as day",
        "cast(id as smallint) as short",
        "cast(id % 7 as tinyint) as i",
        "id / 8 as x",
        "cast(id / 8 as decimal(12, 3)) as dec",
        "if(id % 3 = 0, null, cast(cast(id % 3 as string) as binary)) as k",
        "id % 2 = 0 as flag",
        "cast(id as float) as real",
    )
    with conf(spark, {"spark.sql.parquet.outputTimestampType": output}):
        df.write.parquet(str(tmp_path / "out"))
    more = {"d": ff.Sum("dec"), "r": ff.Max("real"), "last": ff.Max("day"), "s": ff.Sum("i")}
    week = ff.tumbling("7 days")
    for time, by, window in [
        ("ts", "k", HOURS), ("local", "flag", HOURS), ("day", "dec", week), ("short", "k", ff.tumbling(64))
    ][: 4 if output == "INT96" else 1]:  # fmt: skip
        sources = [ff.parquet(tmp_path / "out", spark=spark), spark.read.parquet(str(tmp_path / "out"))]
        assert "not through the JVM" in explained(sources[0], time, by, window, **more)
        mine, theirs = (ours(source, time=time, by=by, window=window, **more) for source in sources)
        require_same(mine, theirs)


def test_what_only_spark_reads_as_spark_does(spark: SparkSession, tmp_path: Path) -> None:
    """Unsigned 64-bit integers, nested columns, times of ORC, settings: a DataFrame, and the same results."""
    some = table(300).append_column("u", pa.array(range(300), pa.uint64())).append_column("l", pa.array([[1]] * 300))
    pq.write_table(some, path := tmp_path / "t.parquet")
    files = ff.parquet(path, spark=spark)
    for output in (ff.Sum("u"), ff.Count("l")):
        assert "by spark.read.parquet as a DataFrame: " in explained(files, out=output)
        assert listed(ours(files, out=output)) == listed(ours(spark.read.parquet(str(path)), out=output))
    times = "timestamp_micros(1730600000000000 + id * 1700000000) as ts, 'a' as k, cast(id as int) as i, id / 4 as x"
    spark.range(50).selectExpr(*times.split(", ")).write.orc(str(tmp_path / "orc"))
    orc = ff.files(tmp_path / "orc", format="orc", spark=spark)
    assert "as a DataFrame" in explained(orc)
    assert listed(ours(orc)) == listed(ours(spark.read.orc(str(tmp_path / "orc"))))
    with conf(spark, {"spark.sql.parquet.inferTimestampNTZ.enabled": "false"}):
        assert "the session has spark.sql.parquet.inferTimestampNTZ" in explained(files)


Change = Callable[[pa.Table], pa.Table]


def as_it_is(table: pa.Table) -> pa.Table:
    return table


def cast(name: str, kind: pa.DataType) -> Change:
    return lambda table: table.set_column(table.column_names.index(name), name, table[name].cast(kind, safe=False))


EVOLVED: dict[str, tuple[Change, Change, bool]] = {
    "a column that is missing": (lambda table: table.drop_columns(["x"]), as_it_is, True),
    "a column more": (as_it_is, lambda table: table.append_column("y", table["x"]), True),
    "wider at first": (cast("i", pa.int64()), cast("i", pa.int32()), True),
    "wider bytes": (cast("i", pa.int64()), cast("i", pa.int8()), True),
    "floats": (as_it_is, cast("x", pa.float32()), True),
    "another order": (as_it_is, lambda table: table.select(table.column_names[::-1]), True),
    "milliseconds": (as_it_is, cast("ts", pa.timestamp("ms", "UTC")), True),
    "another case": (as_it_is, lambda table: table.rename_columns(["ts", "k", "i", "X"]), False),
}
"""What is done to two files, and whether tasks read them."""


@pytest.mark.parametrize("kind", EVOLVED)
def test_files_that_differ(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Equal to Spark: for columns that the file lacks from which Spark takes the schema, too."""
    first, second, direct = EVOLVED[kind]
    pq.write_table(first(table(50, 1)), tmp_path / "1.parquet")
    pq.write_table(second(table(50, 2)), tmp_path / "2.parquet")
    source = ff.parquet(tmp_path / "1.parquet", tmp_path / "2.parquet", spark=spark)
    df = spark.read.parquet(str(tmp_path / "1.parquet"), str(tmp_path / "2.parquet"))
    outputs = {name: OUTPUTS[name] for name in ("n", "s", *(["mean"] if "x" in df.columns else []))}
    assert ("not through the JVM" in explained(source, **outputs)) == direct
    mine, theirs = ours(source, **outputs), ours(df, **outputs)
    require_same(mine, theirs)


def test_narrower_at_first_fails_as_in_spark_or_not_at_all(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(table(50, 1), tmp_path / "1.parquet")
    pq.write_table(cast("i", pa.int64())(table(50, 2)), tmp_path / "2.parquet")
    source = ff.parquet(tmp_path, spark=spark)
    assert "'i' is bigint in it, and int for Spark" in explained(source)
    outcomes = []
    for each in (source, spark.read.parquet(str(tmp_path))):
        try:
            outcomes.append(listed(ours(each, "driver")))
        except Exception as error:
            outcomes.append([type(error).__name__])
    assert outcomes[0] == outcomes[1]


def test_hive_folders_are_keys(spark: SparkSession, tmp_path: Path) -> None:
    some = table(1_000)
    some = some.set_column(1, "k", pc.if_else(pc.equal(some["k"], ""), "c d/%", some["k"]))
    some = some.append_column("year", pa.array([2023 + at % 2 for at in range(1_000)]))
    some = some.append_column("day", pa.array([datetime.date(2024, 1, 1 + at % 3) for at in range(1_000)]))
    pq.write_to_dataset(some, tmp_path / "hive", partition_cols=["year", "k", "day"])
    by = ["year", "k", "day"]
    mine, theirs = (
        ours(source, "executors", by=by)
        for source in (ff.parquet(tmp_path / "hive", spark=spark), spark.read.parquet(str(tmp_path / "hive")))
    )
    assert "not through the JVM" in explained(ff.parquet(tmp_path / "hive", spark=spark), by=by)
    require_same(mine, theirs)
    kept = ff.events(ff.parquet(tmp_path / "hive", spark=spark), "ts", by=by).where(
        (pc.field("year") == 2024) & pc.is_null(pc.field("k"))
    )
    assert "3 of 30 row groups" in explained(kept)
    same = spark.read.parquet(str(tmp_path / "hive")).where("year = 2024 and k is null")
    assert listed(ours(kept)) == listed(ours(same, by=by))


CONDITIONS: list[tuple[pc.Expression, int]] = [
    (pc.field("k") == "bob", 10), (~(pc.field("i") > 3), 10), (pc.is_null(pc.field("i")), 10),
    (pc.field("ts") >= pa.scalar(START + 70_000_000_000, pa.int64()).cast(pa.timestamp("us", "UTC")), 2),
    (pc.field("i") > 1000, 0), ((pc.field("i") > 0) | (pc.field("x") < 0), 10),
]  # fmt: skip
"""Conditions, and how many of the ten row groups they leave."""


@pytest.mark.parametrize(("condition", "row_groups"), CONDITIONS, ids=str)
def test_where(spark: SparkSession, path: Path, condition: pc.Expression, row_groups: int) -> None:
    sources = (ff.parquet(path, spark=spark), ff.parquet(path))
    of_files, local = (ff.events(source, "ts", by="k").where(condition) for source in sources)
    assert listed(ours(of_files)) == listed(ours(local)) == listed(ours(table().filter(condition)))
    text = explained(of_files)
    assert f"where {condition}" in text
    assert f"{row_groups} of 10 row groups" in text


def test_where_counts_nan_in_that_statistics_leave_out(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": [1, 2, 3], "x": [5.0, math.nan, 5.0]}), tmp_path / "t.parquet")
    events = ff.events(ff.parquet(tmp_path, spark=spark), "t").where(pc.field("x") != 5)
    assert [row["n"] for row in ours(events, window=ff.tumbling(10), n=ff.Count()).collect()] == [1]


def test_what_may_be_left_unread() -> None:
    x, schema = pc.field("x"), pa.schema([("x", pa.int64())])
    null = x.is_null()
    within = [(x >= 0) & (x <= 5), (x >= 5) & (x <= 9), ((x >= 5) | null) & ((x <= 9) | null), None]
    assert possible(x < 5, schema, within) == [0, 3]
    assert possible(pc.is_null(x), schema, within) == [2, 3]


@pytest.mark.parametrize(
    ("format", "way"), [("orc", "driver"), ("arrow", "executors"), ("csv", "driver"), ("json", "auto")]
)
def test_every_format(spark: SparkSession, tmp_path: Path, format: str, way: str) -> None:
    """In no order, by tasks; and in the order of events, by Spark."""
    some = table(2_000).drop_columns(["ts", "k"]).append_column("t", pa.array(range(0, 86_000, 43)))
    some = some.append_column("k", pa.array(["ann", "beth", "none", "ann"] * 500)).slice(1)
    some = some.set_column(1, "x", pc.if_else(pc.is_nan(some["x"]), None, some["x"]))
    for number in range(2):
        WRITERS[format](some.slice(number * 1_000, 1_000), tmp_path / f"{number}.{format}")
    args: dict[str, Any] = {"time": "t", "window": ff.sliding(7200, every=3600)}
    source = ff.files(tmp_path, format=format, spark=spark)
    assert "not through the JVM" in explained(source, **args)
    for each in (source, ff.files(tmp_path, format=format)):
        assert listed(ours(each, way, **args)) == listed(ours(some, **args))
    ordered: dict[str, Any] = {"all": ff.CollectList("i"), "window": args["window"]}
    mine, local = (ff.events(each, "t", by="k", ties="i").where(pc.field("k") != "ann") for each in (source, some))
    assert "as a DataFrame: the order of events matters" in explained(mine, **ordered)
    assert listed(ours(mine, way, **ordered)) == listed(ours(local, **ordered))


def test_json_of_several_files_has_one_type_a_column(spark: SparkSession, tmp_path: Path) -> None:
    """Times with zones and parts of seconds, a column that only one file has, and one that is null in the other."""
    (tmp_path / "1.json").write_text('{"t": "2024-05-01T10:00:00.5Z", "x": 1, "y": null}\n')
    with gzip.open(tmp_path / "2.json.gz", "wt") as file:
        file.write('{"t": "2024-05-01T12:00:00+02:00", "x": 2.5, "y": 3, "z": "a"}\n')
    outputs = {"x": ff.Sum("x"), "y": ff.Sum("y"), "z": ff.Max("z")}
    for source in (ff.files(tmp_path, format="json", spark=spark), ff.files(tmp_path, format="json")):
        result = ff.events(source, "t").window(ff.tumbling("1 hour")).aggregate(**outputs)
        found = rows(result)
        assert found[0]["window"]["start"].tzinfo
        assert [tuple(row.values())[1:] for row in found] == [(3.5, 3, "a")]


def test_errors_before_a_job_starts(spark: SparkSession, tmp_path: Path, path: Path) -> None:
    torn = tmp_path / "torn"
    torn.mkdir()
    (torn / "torn.parquet").write_bytes(path.read_bytes()[:-100])
    (tmp_path / "empty").mkdir()

    def files(place: Any) -> Any:
        return ff.events(ff.parquet(place, spark=spark), "ts")

    def frame() -> Any:
        return ff.events(spark.read.parquet(str(path)), "ts")

    wrong: dict[str, Callable[[], Any]] = {
        r"Parquet path '.*nowhere' does not exist": lambda: files(tmp_path / "nowhere"),
        "has no files in it": lambda: files(tmp_path / "empty"),
        "unknown column 'xx'": lambda: ours(ff.parquet(path, spark=spark), s=ff.Sum("xx")),
        "unknown column 'kk'; did you mean 'k'": lambda: files(path).where(pc.field("kk") == 1),
        r"where\(\) of files is given a builtins.int; expected ff.expr": lambda: files(path).where(1),
        "has k = 1, and string and int64 are not of one type": lambda: files(path).where("k = 1"),
        r"expected SQL as ff\.expr has it": lambda: frame().where(pc.field("k") == 1),
        "names the unknown column 'kk'; did you mean 'k'": lambda: frame().where("kk = 1"),
        "format is 'xml'": lambda: ff.files(path, format="xml"),
        "cannot be opened": lambda: files("nosuch://x/y"),
        r"'.*torn.parquet' cannot be read as Parquet": lambda: ours(ff.parquet(torn, spark=spark)),
    }
    for sentence, ask in wrong.items():
        with pytest.raises(ff.QueryError, match=sentence):
            ask()


def test_errors_in_a_task(spark: SparkSession, tmp_path: Path, path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4:2_000] = bytes(1_996)
    (tmp_path / "bad.parquet").write_bytes(content)
    with pytest.raises(ff.EngineError, match=r"'.*bad.parquet' cannot be read as Parquet"):
        ours(ff.parquet(tmp_path / "bad.parquet", spark=spark))
    shutil.copy(path, tmp_path / "good.parquet")
    events = ff.events(ff.parquet(tmp_path / "good.parquet", spark=spark), "ts", by="k")
    explained(events)
    pq.write_table(table(10), tmp_path / "good.parquet")
    with pytest.raises(ff.EngineError, match=r"'.*good.parquet' has changed since"):
        ours(events)


def test_a_dataframe_that_is_files_and_nothing_else(spark: SparkSession, tmp_path: Path, path: Path) -> None:
    """Tasks read it, beside another DataFrame, too; more of them in ``test_scanned``."""
    df = spark.read.parquet(path.as_uri())

    def both(source: Any) -> Any:
        inputs = {"a": ff.events(source, "ts", by="k"), "b": ff.events(df, "ts", by="k")}
        return ff.together(**inputs).window(HOURS).aggregate(n=ff.Count("a.i"), s=ff.Sum("b.i"))

    source = ff.parquet.from_dataframe(df.select("x", "k", "ts", "i"))
    assert listed(ours(source)) == listed(ours(df))
    assert listed(both(source)) == listed(both(df))
    for day in ("06-30", "07-01", "07-02"):
        pq.write_table(table(20), tmp_path / f"2026-{day}.parquet")
    for pattern, count in (("2026-07-*.parquet", 2), ("2026-*", 3)):
        some = spark.read.parquet(f"{tmp_path}/{pattern}")
        assert listed(ours(ff.parquet.from_dataframe(some))) == listed(ours(some))
        assert some.count() == 20 * count
    with pytest.raises(ff.QueryError, match="or by an unusual pattern"):
        ff.parquet.from_dataframe(spark.read.parquet(f"{tmp_path}/2026-0?-0*.parquet"))
    pyarrow.csv.write_csv(table(20), tmp_path / "c.csv")
    other = [df.where("i > 0"), df.withColumn("i", f.col("i") + 1), df.limit(10), df.union(df), spark.range(10)]
    for each in [*other, spark.read.csv(str(tmp_path / "c.csv"))]:
        with pytest.raises(ff.QueryError, match=r"expected spark\.read\.parquet"):
            ff.parquet.from_dataframe(each)
    with pytest.raises(ff.QueryError, match="expected a DataFrame"):
        ff.parquet.from_dataframe(table())


@pytest.mark.parametrize("least", [0, 1 << 20, 1 << 30])
def test_results_are_handed_back_whole_and_in_order(spark: SparkSession, least: int) -> None:
    rng = np.random.default_rng(3)
    some = pa.table(
        {
            "t": pa.array(rng.integers(0, 1 << 40, 40_001)).cast(pa.timestamp("us", "UTC")),
            "d": pa.array([Decimal(at) / 4 for at in range(40_001)], pa.decimal128(12, 2)),
            "w": pa.array([{"start": at, "end": None} for at in range(40_001)]),
        }
    )
    schema = spark.createDataFrame(some.slice(0, 1)).schema
    before = spark.conf.get(THRESHOLD)
    with limits(local_relation_bytes=least):
        df = to_dataframe(spark, some, schema)
        assert df.schema == schema
        assert [row for batch in df.toArrow().to_batches() for row in batch.to_pylist()] == some.to_pylist()
    assert spark.conf.get(THRESHOLD) == before


def test_memory_of_a_task_does_not_grow_with_its_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenfold file takes no more memory than one that is a batch longer: row groups go by one after the other."""

    from ..support.sources import READERS, files_of

    monkeypatch.setattr(*place_of("Polars"), lambda: None)  # whose memory pyarrow does not count
    peaks = []
    for count in (4, 40):
        place = tmp_path / f"{count}.parquet"
        part = pa.table({"t": np.random.default_rng(4).integers(0, 1 << 60, 50_000)})
        with pq.ParquetWriter(place, part.schema) as writer:
            for _ in range(count):
                writer.write_table(part)
        (file,) = files_of([place], "parquet").listed()
        system, _ = files_of([place], "parquet").places
        pool = pa.default_memory_pool()
        before, peak = pool.bytes_allocated(), 0
        for batch in READERS["parquet"].read(system, file, range(count), part.schema):
            assert batch.num_rows == 50_000
            peak = max(peak, pool.bytes_allocated() - before)
        peaks.append(peak)
    assert peaks[1] <= 1.2 * peaks[0]


def test_partials_of_values_are_dealt_by_blocks_of_windows(
    spark: SparkSession, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One key does not end up in one task, and the explanation says what is done."""
    query = ff.events(ff.parquet(path, spark=spark), time="ts", by="k").options(combine="executors")
    windowed = query.window(ff.sliding("3 hours", every="1 minute"))
    assert "by key and block of 720 windows" in str(windowed.explain(m=ff.Median("x")))
    windowed.aggregate(m=ff.Median("x")).explain()
    (exchange,) = [line for line in capsys.readouterr().out.splitlines() if "Exchange" in line]
    assert re.search(r"k0#.*k1#", exchange)
