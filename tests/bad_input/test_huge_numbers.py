"""Numbers of rows and times beyond 64 bits: a sentence where they are written, or all rows there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

EVENTS = pa.table({"t": [1, 2, 4], "x": [1, 2, 3]})
HUGE = 1 << 70


def aggregated(window: Any, **outputs: Any) -> pa.Table:
    return ff.events(EVENTS, time="t").window(window).aggregate(**(outputs or {"n": ff.Count()}))


ROWS: dict[str, tuple[Callable[[], Any], str]] = {
    "last rows": (lambda: ff.last_rows(HUGE), "n is 1180591620717411303424; expected no more than"),
    "every": (lambda: ff.last_rows(1, every=HUGE), "every is 1180591620717411303424; expected no more than"),
    "by count": (lambda: ff.by_count(1 << 63), "by_count() is 9223372036854775808; expected no more than"),
    "samples": (
        lambda: ff.tumbling(1, min_samples=HUGE),
        "min_samples is 1180591620717411303424; expected no more than",
    ),
    "before": (lambda: ff.around(rows=(-HUGE, 0)), "rows is (-1180591620717411303424, 0); expected no more than"),
    "after": (lambda: ff.around(rows=(0, 2**63 - 1)), "rows is (0, 9223372036854775807); expected no more than"),
}


@pytest.mark.parametrize("case", ROWS)
def test_more_rows_than_can_be_counted_are_refused_where_they_are_written(case: str) -> None:
    written, sentence = ROWS[case]
    with pytest.raises(ff.QueryError) as caught:
        written()
    assert sentence in str(caught.value)


@pytest.mark.parametrize("n", [1 << 61, 1 << 62])
def test_as_many_rows_as_can_be_counted_are_all_of_them(n: int) -> None:
    assert aggregated(ff.last_rows(n))["n"].to_pylist() == [1, 2, 3]
    assert aggregated(ff.policy(ff.by_count(n), ff.by_count(1)))["n"].to_pylist() == [1, 2, 3]
    assert aggregated(ff.around(rows=(-n, n), min_fill="partial"))["n"].to_pylist() == [3, 3, 3]


def test_more_values_than_there_are() -> None:
    outputs = {
        "first": ff.FirstN("x", HUGE), "last": ff.LastN("x", 1 << 63), "top": ff.TopN("x", HUGE),
        "bottom": ff.BottomN("x", 1 << 63),
    }  # fmt: skip
    [row] = aggregated(ff.tumbling(10), **outputs).drop_columns("window").to_pylist()
    assert row == {"first": [1, 2, 3], "last": [1, 2, 3], "top": [3, 2, 1], "bottom": [1, 2, 3]}


@pytest.mark.parametrize("argument", ["since", "fill_from"])
def test_times_of_integers_that_do_not_fit(argument: str) -> None:
    windows = {
        "since": lambda: ff.landmark(since=HUGE, every=1),
        "fill_from": lambda: ff.tumbling(1, empty="emit", fill_from=-HUGE, fill_to=HUGE),
    }
    with pytest.raises(ff.ColumnError, match=rf"{argument} is -?1180591620717411303424; expected an integer that fits"):
        aggregated(windows[argument]())
