"""What do compiled loops refuse, which would read or write beyond their arrays?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ..support.loops import loops, needs_loops

ONE, TWO, ONES = np.array([0]), np.array([0, 1]), np.ones(3)
CODE, WHOLE = np.array([0, 1, 0], np.int32), (np.array([0]), np.array([3]))
ENDS, TEXT = np.array([0, 1, 3], np.int32), np.zeros(3, np.uint8)
INDEX = np.zeros(3, np.intp)
SHARES = np.array([1]), 2


def room(size: int, dtype: Any = np.int64) -> Any:
    return np.empty(size, dtype)


def int32(*values: int) -> Any:
    return np.array(values, np.int32)


def parts(rows: int, columns: int) -> Callable[[], Any]:
    return lambda: loops.add_parts(np.ones(rows), INDEX, 2.0**40, 1.0, np.zeros((2, columns), np.int64))


def deviations(rows: int, columns: int) -> Callable[[], Any]:
    return lambda: loops.add_deviations(ONES, np.zeros(rows, np.intp), 1.0, np.zeros((2, columns)))


def items(edges: Any, offsets: Any) -> Callable[[], Any]:
    return lambda: loops.items_of_ranges(ONE, edges, False, offsets, room(1))


def distinct(low: list[int], high: list[int], codes: int) -> list[Callable[[], Any]]:
    bounds = np.array(low), np.array(high)
    return [
        lambda: loops.count_distinct(CODE, codes, *bounds, room(len(low))),
        lambda: loops.most_frequent(CODE, None, codes, *bounds, room(len(low), np.int32)),
    ]


def groups(starts: list[int]) -> Callable[[], Any]:
    places = room(2, np.int32), room(2, np.intp), room(2, np.intp)
    return lambda: loops.code_groups(TWO, np.array(starts, np.int64), True, *places)


def rows_of_text(*rows: int) -> list[tuple[str, Callable[[], Any]]]:
    some = int32(*rows)
    text = lambda: loops.text_of_rows(ENDS, TEXT, some, room(2, np.int32), room(9, np.uint8))  # noqa: E731
    return [
        ("ends_of_text: rows must be of the column", lambda: loops.ends_of_text(ENDS, some, room(2, np.int32))),
        ("text_of_rows: rows must be of the column", text),
    ]


VALUE_ERRORS: list[tuple[str, Callable[[], Any]]] = [
    # groups
    *(("must be of one length", call) for call in (parts(2, 3), parts(3, 4), deviations(2, 6), deviations(3, 5))),
    ("must be of one length", lambda: loops.take_extremes(ONES, np.zeros(2, np.intp), True, room(2, float))),
    ("room for as many", lambda: loops.left_of_parts(ONES, INDEX, 2.0**40, 1.0, room(2, float), INDEX.copy())),
    (
        "be as long",
        lambda: loops.join_parts(np.zeros((2, 3), np.int64), 2.0**40, 1.0, 40, 1.0, room(2, float), room(3, float)),
    ),
    # ranges
    *(
        ("ranges must be of the values", items(*each))
        for each in ((ONE, TWO - 1), (ONE + 1, TWO), (ONE, TWO[::-1].copy()), (ONE, np.array([0, 2])))
    ),
    ("a key for each", lambda: loops.keys_of_floats(np.zeros(2), room(1))),
    ("a value for each", lambda: loops.floats_of_keys(ONE, room(2, float))),
    (
        "a place for each",
        lambda: loops.code_groups(ONE, ONE, True, room(2, np.int32), room(2, np.intp), room(2, np.intp)),
    ),
    *(("group", groups(starts)) for starts in ([1], [0, 3], [0, 2, 1], [])),
    *(
        ("ranges must be of items", call)
        for each in (([0], [4], 2), ([-1], [2], 2), ([2], [2], 2), ([0], [3], 1), ([0, 0], [3, 2], 2))
        for call in distinct(*each)
    ),
    (
        "a range has fewer codes",
        lambda: loops.list_codes(CODE, None, 2, *WHOLE, np.array([0, 3]), room(3, np.int32), None),
    ),
    (
        "a count for each",
        lambda: loops.list_codes(CODE, None, 2, *WHOLE, np.array([0, 2]), room(2, np.int32), room(1)),
    ),
    (
        "a rank for each",
        lambda: loops.select(CODE, None, 2, *WHOLE, room(0), room(1, np.int32), room(1, np.int32)),
    ),
    ("a place for each", lambda: loops.order_values(ONE, room(2, np.intp))),
    *(
        (
            "such rows",
            lambda low=low, high=high: loops.interpolate(ONES, int32(low), int32(high), *SHARES, room(1, float)),
        )
        for low, high in ((0, 3), (-1, 0))
    ),
    ("a rest for each", lambda: loops.interpolate(ONES, CODE, CODE, *SHARES, room(1, float))),
    # rows and texts
    ("rows_around: runs must begin", lambda: loops.rows_around(np.array([1]), 0, 0, room(1), room(1))),
    *rows_of_text(2),
    *rows_of_text(-1),
    ("an end for each", lambda: loops.ends_of_text(ENDS, np.zeros(1, np.int32), room(1, np.int32))),
    (
        "room for their text",
        lambda: loops.text_of_rows(ENDS, TEXT, int32(1), np.zeros(2, np.int32), room(1, np.uint8)),
    ),
]
INDEX_ERRORS: list[tuple[str, Callable[[], Any]]] = [
    ("row 5 is not among 3", lambda: loops.take_words(np.arange(3), np.array([5]), room(1))),
    ("place 5 of a row is not among 1", lambda: loops.put_words(np.arange(1), np.array([5]), room(1))),
    ("row 9 is not among 8", lambda: loops.take_bits(np.zeros(1, np.uint8), 0, np.array([9]), room(1, np.uint8))),
    ("code 4 of a row is not among 3", lambda: loops.count_codes(np.array([4]), np.zeros(3, np.int64))),
]


@needs_loops
@pytest.mark.parametrize("error", [ValueError, IndexError])
def test_what_loops_refuse(error: type[Exception]) -> None:
    for sentence, call in VALUE_ERRORS if error is ValueError else INDEX_ERRORS:
        with pytest.raises(error, match=sentence):
            call()


@needs_loops
def test_a_rank_that_there_is_not() -> None:
    found = room(1, np.int32)
    loops.select(CODE, None, 2, *WHOLE, np.array([3]), found, found.copy())
    assert found.tolist() == [-1]
