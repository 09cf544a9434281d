"""Names of columns of our own, as names of a user's; on Spark in tests/spark/test_odd_names.py."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

INNER = ["#rank", "#first", "#last", "#rows", "#until", "#block", "#samples of x", "#x", "frame", "batch_rank", "until"]
ROWS = {"t": [0, 1, 2, 5, 9], "k": ["a", "a", "b", "a", "b"], "x": [1.0, 2.0, 4.0, 8.0, 16.0]}


def of(names: dict[str, str], windows: Any, outputs: dict[str, Any], **more: Any) -> list[tuple[Any, ...]]:
    table = pa.table({names.get(name, name): column for name, column in ROWS.items()})
    time, key = names.get("t", "t"), names.get("k", "k")
    found = ff.events(table, time=time, by=key, **more).window(windows).aggregate(**outputs)
    return [tuple(row.values()) for row in found.to_pylist()]


@pytest.mark.parametrize("name", INNER)
@pytest.mark.parametrize("role", ["t", "k", "x", "output"])
def test_each_name_in_each_role(name: str, role: str) -> None:
    x, output = name if role == "x" else "x", name if role == "output" else "sum"
    found = of({role: name}, ff.last_rows(2), {output: ff.Sum(x), "other": ff.First(x)})
    wanted = [("a", 0, 1.0, 1.0), ("a", 1, 3.0, 1.0), ("a", 5, 10.0, 2.0), ("b", 2, 4.0, 4.0), ("b", 9, 20.0, 4.0)]
    assert [(row[0], *row[2:]) for row in found] == wanted
    found = of({role: name}, ff.tumbling(5), {output: ff.Sum(x), "n": ff.Count()})
    wanted_of_frames = [("a", 0, 3.0, 2), ("a", 5, 8.0, 1), ("b", 0, 4.0, 1), ("b", 5, 16.0, 1)]
    assert [(row[0], row[1]["start"], *row[2:]) for row in found] == wanted_of_frames
    some = {output: ff.Filtered(ff.Sum(x), lambda x: x > 0), "n": ff.Sum(x)}
    found = of({role: name}, ff.tumbling(5, min_samples=2), some)
    assert [row[2] for row in found] == [3.0, None, None, None]


@pytest.mark.parametrize("column", ["rank", "rows", "first", "last", "until", "samples of x", "#rank"])
def test_windows_made_by_a_column_with_such_a_name(column: str) -> None:
    # A trigger by each event, and an eviction by a delta of more than 4: by a definition in a line.
    values, times = ROWS["x"], ROWS["t"]
    table = pa.table({"t": times, column: values})
    windows = ff.policy(evict=ff.by_delta(column, 4.0), trigger=ff.by_count(1))
    found = ff.events(table, time="t").window(windows).aggregate(**{f"#{column}": ff.Sum(column)})
    expected = [sum(each for each in values[: at + 1] if abs(values[at] - each) <= 4.0) for at in range(5)]
    assert found[f"#{column}"].to_pylist() == expected


def test_fields_of_one_output_with_the_name_of_another() -> None:
    found = of(
        {}, ff.tumbling(10), {"a": ff.AllOf(b=ff.Count(), c=ff.Sum("x")), "a.b": ff.Count(), "a.b.count": ff.Max("x")}
    )
    assert [row[2:] for row in found] == [({"b": 3, "c": 11.0}, 3, 8.0), ({"b": 2, "c": 20.0}, 2, 16.0)]


def test_a_time_of_several_inputs_with_the_name_of_a_column_of_one() -> None:
    first, second = pa.table({"a.x": [0, 1], "x": [5, 6]}), pa.table({"u": [0, 1], "y": [1, 1]})
    sentence = r"the column 'x' of the input 'a' is 'a\.x' beside the others, which is the ti"
    with pytest.raises(ff.QueryError, match=sentence):
        ff.together(a=ff.events(first, time="a.x"), b=ff.events(second, time="u"))
    both = ff.together(c=ff.events(first, time="a.x"), b=ff.events(second, time="u")).window(ff.tumbling(2))
    assert both.aggregate(s=ff.Sum("c.x"))["s"].to_pylist() == [11]


def test_a_column_without_a_name_is_one_to_windows_by_delta() -> None:
    table = pa.table({"t": [1, 2, 3, 4], "": [0, 1, 9, 10], "x": [1, 2, 3, 4]})
    windows = ff.policy(evict=ff.by_delta("", 3), trigger=ff.by_count(1))
    assert ff.events(table, time="t").window(windows).aggregate(s=ff.Sum("x"))["s"].to_pylist() == [1, 3, 3, 7]
