"""What a new user types, and reads: each mistake is answered by what to write instead."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from ..support.programs import WITH_SUPPORT
from ..support.toys import Total
from .mistakes import mistakes, require

EVENTS = pa.table({"t": [0, 1, 2], "k": ["a", "b", "a"], "x": [1.0, 2.0, None], "ok": [True, False, None]})


def ask(**outputs: Any) -> Any:
    return ff.events(EVENTS, time="t").window(ff.tumbling(10)).aggregate(**outputs)


def large(x: Any) -> Any:
    return x > 1


class Own(Total):
    """A sum whose state is declared as given."""

    def __init__(self, state: Any) -> None:
        super().__init__("x")
        self.state = state


def spark_column() -> Any:
    return pytest.importorskip("pyspark.sql.connect.functions").avg("v")


@mistakes("""\
ask(x=ff.Mapped(ff.Sum("x"), lambda x: 1.0 if x > 1 else 0.0))
    # -> OperationError: with whole columns, not with single values; expected numpy.where instead of if, and & | ~
ask(x=ff.Mapped(ff.Sum("x"), math.sqrt))
    # -> OperationError: not with single values; expected functions of numpy, such as numpy.sqrt instead of math.sqrt
ask(x=ff.Mapped(ff.Max("k"), lambda k: k.upper()))
    # -> OperationError: called with whole columns, not with single values; expected functions of pyarrow.compute
ask(x=ff.Mapped(ff.Sum("x"), lambda x: 3))
    # -> OperationError: the function of Mapped(Sum('x'), 'x') returned 3 for a column of 16 values: it is called with
    #    whole columns; expected a column of as many
ask(x=ff.Mapped(ff.Max("x"), lambda x: "all"))
    # -> OperationError: returned 'all' for a column of 16 values: it is called with whole columns
ask(x=ff.Filtered(ff.Count(), lambda x: x > 0 and x < 3, "x"))
    # -> OperationError: with whole columns, not with single values; ... instead of if, and & | ~ instead of and
ask(x=ff.Sum("x").then(lambda x: 1 if x > 1 else 0))
    # -> OperationError: the function of Sum('x').then(<lambda>) failed (ValueError: The truth value of an array with
    #    more than one element is ambiguous. Use a.any() or a.all()): it is called with whole columns, not with single
    #    values; expected
ff.Mapped(large, ff.Sum("x"))  # -> Mapped is given the function first; expected ff.Mapped(Sum('x'), function)
ask(x=Own(["v"]))
    # -> OperationError: Own('x') for 'x' declares state = ['v']; expected a dict of fields and types: {'total': 'fl
ask(x=Own("v"))  # -> OperationError: declares state = 'v'; expected a dict of
ask(x=Own({"v": "float64[4]"}))
    # -> OperationError: a state field is declared as 'float64[4]'; expected a vector as a field for each place, such as
    #    {f'v{i}': 'float64' for i in range(4)}, or a dict of planes
ask(x=spark_column())
    # -> the output 'x' is a Spark column, avg(v); expected an aggregate operation of framefold's, such as
    #    ff.Average('speed'), which may take an expression
ask(x=pl.col("x").mean())
    # -> the output 'x' is a Polars expression, col("x").mean(); expected an aggregate operation of framefold's
ask(x=pc.field("x"))  # -> the output 'x' is a pyarrow expression, x; expected
ff.CountIf("x", large)
    # -> CountIf is given a function; expected a column of booleans, or ff.Filtered(ff.Count(), function, 'x')
ff.CountIf(large)  # -> or ff.Filtered(ff.Count(), function, 'x')
ff.CountIf("x", "ok")  # -> CountIf takes one column; found 2: 'x', 'ok'
ff.Filtered(ff.Count(), "x", large)
    # -> Filtered is given the column 'x' before the function; expected ff.Filtered(Count(), function, 'x')
ff.Filtered("ok", ff.Count())  # -> Filtered is given 'ok' first; expected ff.Filtered(Count(), 'ok')
ff.sliding("1 hour")
    # -> every= of sliding('1 hour') is missing; expected the step, or ff.tumbling('1 hour') for one as long
ff.cumulating("1 hour")  # -> every= of cumulating('1 hour') is missing; expected the step, or ff.tumbling('1 hour')
ff.Average(pd.Series(range(1000), name="speed"))
    # -> Average takes names of columns; found a pandas Series; expected the name 'speed', and the column itself in the
    #    events
ff.Average(pl.Series("speed", range(1000)))  # -> found a polars Series; expected the name 'speed'
ff.Average(np.arange(1000))  # -> found a numpy ndarray; expected the name, and the column itself in the events
ff.Sum(["a", "b"])  # -> Sum takes names of columns; found ['a', 'b']; expected each by itself, such as 'a'
ff.Sum(large)  # -> found a function; expected a name, and the function in ff.Mapped or ff.Filtered
""")
def test_mistakes(call: str, said: str) -> None:
    require(call, said, globals())


def test_a_column_of_type_null_is_all_null() -> None:
    events = pa.table({"t": [0, 1], "k": ["a", "a"], "x": pa.nulls(2), "y": [1.0, 2.0]})
    query = ff.events(events, time="t", by="k").window(ff.tumbling(10))
    kinds = (ff.Sum, ff.Average, ff.Min, ff.First, ff.StdDev, ff.Median, ff.BoolAnd, ff.BitOr, ff.Concat, ff.Mode)
    operations = {kind.__name__: kind("x") for kind in kinds}
    counts = {"n": ff.Count("x"), "distinct": ff.CountDistinct("x"), "true": ff.CountIf("x")}
    parts = {"parts": ff.AllOf(total=ff.Sum("x"), all=ff.BoolAnd("x"), n=ff.Count())}
    found = query.aggregate(**operations, **counts, **parts, w=ff.WeightedAverage("y", "x")).to_pylist()[0]
    assert {found[name] for name in (*operations, "w")} == {None}
    assert [found["n"], found["distinct"], found["true"]] == [0, 0, 0]
    assert found["parts"] == {"total": None, "all": None, "n": 2}
    assert query.aggregate(x=ff.Filtered(ff.Count(), "x"))["x"].to_pylist() == [0]


def test_a_key_of_type_null_is_one_key() -> None:
    events = pa.table({"t": [0, 1], "x": pa.nulls(2)})
    found = ff.events(events, time="t", by="x").window(ff.tumbling(10)).aggregate(n=ff.Count())
    assert found.select(["x", "n"]).to_pylist() == [{"x": None, "n": 2}]


def test_years_that_python_has_not() -> None:
    times = pa.table({"at": pa.array([253_402_300_800_000_000], pa.timestamp("us"))})
    with pytest.warns(ff.FarTimesWarning) as caught:
        ff.events(times, time="at").window(ff.tumbling("1 hour")).aggregate(n=ff.Count())
    assert str(caught[0].message) == (
        "windows end as late as the year 10000: to_pandas and to_pylist fail, since Python has no time beyond 9999; "
        "expected earlier times in 'at', which may be in another unit"
    )
    assert caught[0].filename == __file__
    with pytest.warns(ff.FarTimesWarning, match="the year 10000"):
        ff.events(times, time="at").options(window="flat").window(ff.tumbling("1 hour")).aggregate(n=ff.Count())
    days = pa.table({"at": pa.array([3_666_000], pa.date32())})
    with pytest.warns(ff.FarTimesWarning, match="the year 12007"):
        ff.events(days, time="at").window(ff.tumbling("1 day")).aggregate(n=ff.Count())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        times = pa.table({"at": pa.array([253_402_290_000_000_000], pa.timestamp("us"))})
        found = ff.events(times, time="at").window(ff.tumbling("1 hour")).aggregate(n=ff.Count())
    assert found["window"].to_pylist()[0]["end"].year == 9999


STOPPED = (
    WITH_SUPPORT
    + """
import sys, warnings
warnings.simplefilter("ignore")
import framefold as ff
from tests.support.sessions import ensure_java
ensure_java()
from pyspark.sql import SparkSession

builder = SparkSession.builder.config("spark.ui.enabled", "false")
spark = (builder.remote("local[1]") if sys.argv[1] == "connect" else builder.master("local[1]")).getOrCreate()
df = spark.range(10).selectExpr("id as t", "null as v", "cast(id % 2 as int) k")
query = ff.events(df, time="t", by="k").window(ff.tumbling(5))
void = query.aggregate(x=ff.Sum("v"), y=ff.Concat("v"), n=ff.Count("v"), z=ff.BoolAnd("v"), m=ff.Median("v"))
assert {tuple(row)[2:] for row in void.collect()} == {(None, None, 0, None, None)}, void.collect()
spark.stop()
for operation in (ff.Count(), ff.Median("t")):
    for events in (query, ff.events(df, time="t").window(ff.tumbling(5))):
        try:
            events.aggregate(n=operation)
        except ff.EngineError as error:
            print(error)
"""
)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("way", ["classic", "connect"])
def test_a_stopped_session(way: str, tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    (tmp_path / "stopped.py").write_text(STOPPED)
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "stopped.py", way], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400
    )
    sentence = "the Spark session of the events was stopped; expected one that runs: make the DataFrame anew in it"
    assert done.stdout.splitlines() == [sentence] * 4, done.stdout + done.stderr


@pytest.mark.parametrize("word", ["[NO_ACTIVE_SESSION] none", "Cannot call methods on a stopped SparkContext."])
def test_what_spark_says_of_a_stopped_session(word: str) -> None:
    pytest.importorskip("pyspark")
    from pyspark.errors import PySparkException

    from ..support.spark_parts import stopped_named

    with pytest.raises(ff.EngineError, match="was stopped; expected one that runs"), stopped_named():
        raise PySparkException(word)
    with pytest.raises(AssertionError), stopped_named():
        raise AssertionError
