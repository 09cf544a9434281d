"""Events that do not allow an answer, and users' functions that fail: what is said, on both engines."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.toys import Items, Total

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = list[dict[str, Any]]


@dataclass
class Engine:
    """Where a query runs: "local", or on Spark by combining on the "driver" or the "executors"."""

    name: str
    request: pytest.FixtureRequest

    def __call__(self, table: pa.Table, window: Any, null_time: str = "error", **outputs: Any) -> Rows:
        """The rows of a result, sorted."""
        if self.name == "local":
            events = ff.events(table, time="t", by="key", null_time=null_time)
            return events.window(window).aggregate(**outputs).to_pylist()
        spark: SparkSession = self.request.getfixturevalue("spark")
        events = ff.events(spark.createDataFrame(table).repartition(2), time="t", by="key", null_time=null_time)
        result = events.options(combine=self.name).window(window).aggregate(**outputs).toArrow().to_pylist()
        return sorted(result, key=lambda row: (row["key"], row["window"]["start"]))

    @contextmanager
    def refuses(self, error: type[Exception], sentence: str, shown: str = "") -> Iterator[None]:
        """Expect a sentence, and a line of the traceback; of what is lazy, in the exception that Spark raises."""
        expected: type[Exception] = error
        if self.name == "executors":
            from pyspark.errors import PySparkException as expected  # type: ignore[no-redef]
        with pytest.raises(expected) as caught:
            yield
        text = str(caught.value)
        if self.name == "executors":
            assert re.search(rf"\.{error.__name__}: .*{sentence}", text), text
        else:
            assert re.search(sentence, text), text
            assert "\n" not in text, "one sentence is one line"
        assert shown in "".join(traceback.format_exception(caught.value))


@pytest.fixture(params=["local", "driver", "executors"])
def run(request: pytest.FixtureRequest) -> Engine:
    return Engine(request.param, request)


def table(times: list[int | None], values: list[Any], of: Any = None) -> pa.Table:
    columns = [pa.array(times, pa.int64()), pa.array(["k"] * len(times)), pa.array(values, of or pa.int64())]
    return pa.table(columns, names=["t", "key", "x"])


def test_null_times(run: Engine) -> None:
    events = table([1, None, 2, None, None], [1, 2, 3, 4, 5])
    # A lazy query's task knows of its own events alone.
    many = r"\d of \d" if run.name == "executors" else "3 of 5"
    with run.refuses(ff.NullTimeError, rf"'t' is null in {many} events.*null_time='drop'"):
        run(events, ff.tumbling(10), n=ff.Count())


def test_null_times_dropped(run: Engine) -> None:
    events = table([1, None, 2, None, None], [1, 2, 3, 4, 5])
    told = pytest.warns(ff.DroppedEventsWarning, match="^3 of 5 events have no time 't' and were dropped$")
    with nullcontext() if run.name == "executors" else told:
        [row] = run(events, ff.tumbling(10), "drop", n=ff.Count(), total=ff.Sum("x"))
    assert (row["n"], row["total"]) == (2, 4)


@pytest.mark.parametrize("way", ["sql", "python", "limited", "files", "rows", "none left"])
def test_dropping_says_how_many_on_spark(spark: SparkSession, tmp_path: Path, way: str) -> None:
    """Whatever makes the partials that the driver gets: all events are counted once, also where a task has no null."""
    times = [None, None] if way == "none left" else [1, None, 2, None, None, 7, 8]
    events = table(times, times)
    data: Any = spark.createDataFrame(events).repartition(3)
    if way == "files":
        for place in (0, 5):
            pq.write_table(events.slice(place, 5), tmp_path / f"{place}.parquet")
        data = ff.parquet(tmp_path, spark=spark)
    choices: dict[str, Any] = {"accumulate": "python"} if way in ("python", "limited", "none left") else {}
    choices |= {"max_driver_partials": 1_000_000} if way == "limited" else {"combine": "driver"}
    query = ff.events(data, time="t", by="key", null_time="drop").options(**choices)
    windows = ff.last_rows(9) if way == "rows" else ff.tumbling(10)
    nulls = times.count(None)
    with pytest.warns(ff.DroppedEventsWarning, match=f"^{nulls} of {len(times)} events") as told:
        found = query.window(windows).aggregate(total=ff.Sum("x")).toArrow()["total"].to_pylist()
    assert [str(each.message) for each in told if each.category is ff.DroppedEventsWarning][1:] == []
    assert found[-1:] == ([] if way == "none left" else [18])


@pytest.mark.parametrize("values", [[2**62, 2**62, 1], [-(2**62), -(2**62), -1]], ids=["above", "below"])
def test_sum_overflow(run: Engine, values: list[int]) -> None:
    """An error, never a wrapped number: in one frame, over frames of one window, and in either direction."""
    for times in ([1, 1, 1], [1, 2, 3]):
        with run.refuses(ff.SumOverflowError, "'x' does not fit int64"):
            run(table(times, values), ff.sliding(4, every=1), total=ff.Sum("x"))


def test_a_running_total_may_overflow(run: Engine) -> None:
    """Each window fits, all time together does not. The same goes for a window whose beginning alone would not fit."""
    rows = run(table(list(range(40)), [2**62] * 40), ff.tumbling(1), total=ff.Sum("x"))
    assert [row["total"] for row in rows] == [2**62] * 40
    rows = run(table(list(range(40)), [2**61] * 40), ff.sliding(3, every=1), total=ff.Sum("x"))
    assert {row["total"] for row in rows[2:-2]} == {3 * 2**61}
    events = table([0, 1, 2], [2**62, 2**62, -(2**62)])
    [row] = run(events, ff.tumbling(4), total=ff.Sum("x"), mean=ff.Average("x"))
    assert row["total"] == 2**62
    assert row["mean"] == pytest.approx(2**62 / 3)


def test_average_never_overflows(run: Engine) -> None:
    [row] = run(table([0, 1, 2], [2**63 - 1] * 3), ff.tumbling(4), mean=ff.Average("x"))
    assert row["mean"] == 2.0**63


def test_decimal_overflow(run: Engine) -> None:
    most = Decimal(10**38 - 1)
    with run.refuses(ff.SumOverflowError, "'x' does not fit decimal"):
        run(table([0, 1], [most, most], pa.decimal128(38, 0)), ff.tumbling(4), total=ff.Sum("x"))


def failing(method: str) -> ff.AggregateOperation:
    """A sum of which one method fails on 13."""

    def called(self: Total, *given: Any) -> Any:
        values = given[1] if method == "accumulate" else given[0]["total"]
        if (values == 13).any():
            raise ZeroDivisionError("an unlucky number")
        return getattr(Total, method)(self, *given)

    return type("Failing", (Total,), {method: called, "result": "int64", "commutative": True})("x")


@pytest.mark.parametrize("method", ["accumulate", "combine", "finish"])
def test_a_users_function_fails(run: Engine, method: str) -> None:
    """The error names the output and the function, and the user's own lines are to be seen."""
    sentence = f"{method} of 'x' .*ZeroDivisionError: an unlucky number"
    with run.refuses(ff.OperationError, sentence, shown='raise ZeroDivisionError("an unlucky number")'):
        run(table([0, 1, 2], [13, 1, 2]), ff.sliding(3, every=1), x=failing(method))


def test_a_python_function_fails(run: Engine) -> None:
    class PythonFailing(Items):
        def accumulate(self, state: Any, value: int) -> Any:
            if value == 13:
                raise LookupError("an unlucky number")
            return super().accumulate(state, value)

    sentence = "accumulate of 'x' .*LookupError: an unlucky number"
    with run.refuses(ff.OperationError, sentence, shown='raise LookupError("an unlucky number")'):
        run(table([0, 1, 2], [13, 1, 2]), ff.sliding(3, every=1), x=PythonFailing("x"))


def test_a_wrong_state_where_the_trial_did_not_see_it(run: Engine) -> None:
    class Moody(Total):
        result = "int64"
        commutative = True

        def accumulate(self, frames: Any, x: Any) -> Any:
            return {"total": frames.count()[: 1 if (x == 13).any() else None]}

    with run.refuses(ff.OperationError, "accumulate of 'x' returned 1 states in field 'total'; expected"):
        run(table([0, 1, 2, 3, 4, 5], [13] * 6), ff.sliding(3, every=1), x=Moody("x"))
