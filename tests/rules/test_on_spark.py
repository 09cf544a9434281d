"""Rules on Spark: windows of every kind in one pass over scattered events, against values worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATA = pa.table({"t": [9, 1, 0, 4, 1], "v": [5, 3, 1, 4, 2], "k": ["a", "b", "a", "a", "a"]})
GIVEN = pa.table({"from": [0, 4], "to": [2, 10]})

# For each rule: windows, and for each key what they hold, by the time of the result or by the window.
WINDOWS: dict[str, tuple[Any, Any, Any]] = {
    "R4": (ff.policy(ff.by_count(2)), [(0, [1]), (1, [1, 2]), (4, [2, 4]), (9, [4, 5])], [(1, [3])]),
    "R5": (ff.policy(ff.by_time(3)), [(0, [1]), (1, [1, 2]), (4, [2, 4]), (9, [5])], [(1, [3])]),
    "R6": (ff.policy(ff.by_delta("v", 2)), [(0, [1]), (1, [1, 2]), (4, [2, 4]), (9, [4, 5])], [(1, [3])]),
    "R9": (ff.policy(ff.by_count(2), ff.by_time(4)), [(4, [2, 4]), (8, [2, 4])], []),
    "R10": (ff.policy(ff.by_count(9), ff.by_delta("v", 1)), [(4, [1, 2])], []),
    "R15": (ff.tumbling(5), [(0, 5, [1, 2, 4]), (5, 10, [5])], [(0, 5, [3])]),
    "R35": (ff.around(rows=(-1, 1)), [(1, [1, 2, 4]), (4, [2, 4, 5])], []),
    "R39": (ff.around(time=(-1, 1)), [(0, [1, 2]), (1, [1, 2]), (4, [4]), (9, [5])], [(1, [3])]),
    "R43": (ff.windows_from(GIVEN, start="from", end="to"), [(0, [1, 2]), (4, [4, 5])], [(0, [3]), (4, [])]),
    "R46": (ff.landmark(), [(0, [1]), (1, [1, 2]), (4, [1, 2, 4]), (9, [1, 2, 4, 5])], [(1, [3])]),
    "R56": (ff.landmark(since=1, until=5), [(1, [2]), (4, [2, 4]), (9, [2, 4])], [(1, [3])]),
    "R58": (ff.last_rows(3, every=2), [(1, [1, 2]), (9, [2, 4, 5])], []),
}


def held(rows: list[dict[str, Any]], key: str, rule: str) -> list[Any]:
    """What windows of one kind hold of a key."""
    own = [row for row in rows if row["k"] == key and row[rule] is not None]
    return [
        (row["window"]["start"], row["window"]["end"], row[rule]) if row["at"] is None else (row["at"], row[rule])
        for row in own
    ]


def ask(data: Any, **options: str) -> Any:
    outputs = {rule: ff.CollectList("v").over(windows) for rule, (windows, _, _) in WINDOWS.items()}
    return ff.events(data, time="t", by="k").options(**options).aggregate(**outputs)


@pytest.mark.parametrize("combine", ["driver", "executors"])
def test_windows_of_every_kind(spark: SparkSession, combine: str) -> None:
    """R4, R5, R6, R9, R10, R15, R35, R39, R43, R46, R56 and R58 on Spark."""
    rows = ask(spark.createDataFrame(DATA).repartition(3), combine=combine).toArrow().to_pylist()
    for rule, (_, of_a, of_b) in WINDOWS.items():
        assert (held(rows, "a", rule), held(rows, "b", rule)) == (of_a, of_b), rule


def test_the_same_on_the_local_engine() -> None:
    """R4, R5, R6, R9, R10, R15, R35, R39, R43, R46, R56 and R58: all windows in one pass."""
    rows = ask(DATA).to_pylist()
    for rule, (_, of_a, of_b) in WINDOWS.items():
        assert (held(rows, "a", rule), held(rows, "b", rule)) == (of_a, of_b), rule
