"""A lazy result whose task fails: what the user's own `.collect()` raises says first what framefold says."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import framefold as ff


class Raising(ff.PythonOperation):
    """A sum, one of whose functions fails in the midst of the events."""

    result = "int64"
    commutative = True

    def __init__(self, column: str, at: str) -> None:
        super().__init__(column)
        self.at = at

    def create(self) -> int:
        return 0

    def accumulate(self, state: int, value: int) -> int:
        return self.checked("accumulate", state + value)

    def combine(self, a: int, b: int) -> int:
        return self.checked("combine", a + b)

    def finish(self, state: int) -> int:
        return self.checked("finish", state)

    def checked(self, function: str, state: int) -> int:
        if self.at == function and state > 40:
            raise ZeroDivisionError("thirteen")
        return state


@pytest.mark.parametrize("at", ["accumulate", "combine", "finish"])
def test_what_a_users_function_raises(spark: SparkSession, at: str) -> None:
    df = spark.range(0, 40, 1, 2).selectExpr("id as t", "id % 3 as k", "cast(id as int) as x")
    lazy = ff.events(df, time="t", by="k").window(ff.sliding(20, every=10)).options(combine="executors")
    result = lazy.aggregate(m=Raising("x", at))
    for use in (result.collect, result.write.format("noop").mode("overwrite").save):
        with pytest.raises(PythonException) as raised:
            use()
        before, sentence, after = str(raised.value).partition(f"{at} of 'm' (Raising('x')) failed: ZeroDivisionError: ")
        assert sentence
        assert "Traceback" not in before
        assert len(before.splitlines()) <= 2
        assert after.count("Traceback") == 1  # of the user's function, once
        assert f"in {at}" in after
