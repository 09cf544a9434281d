"""What do compiled loops refuse, which would read or write beyond their arrays?"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from ..support.loops import loops, needs_loops

ONE, TWO, ONES, INDEX = np.array([0]), np.array([0, 1]), np.ones(3), np.zeros(3, np.intp)
CODE, WHOLE = np.array([0, 1, 0], np.int32), (np.array([0]), np.array([3]))
ENDS, TEXT = np.array([0, 1, 3], np.int32), np.zeros(3, np.uint8)
MANY, INT32 = 2.0**40, np.int32


def room(size: int, dtype: Any = np.int64) -> Any:
    return np.zeros(size, dtype)


def int32(*values: int) -> Any:
    return np.array(values, np.int32)


SUMS, CODES = np.zeros((2, 3), np.int64), (room(2, INT32), room(2, np.intp), room(2, np.intp))
ITEMS = [(ONE, TWO - 1), (ONE + 1, TWO), (ONE, TWO[::-1].copy()), (ONE, np.array([0, 2]))]
BOUNDS = [([0], [4], 2), ([-1], [2], 2), ([2], [2], 2), ([0], [3], 1), ([0, 0], [3, 2], 2)]
EVERY, FIRST, LAST = (-(2**63), 2**63 - 1), np.array([1, 0]), np.array([1, 1])
PARTS = [np.zeros(10, np.int64), *np.zeros((5, 10))]
"""Deviations of ten groups."""
MADE = [part[:2].copy() for part in PARTS]
REFUSED: list[tuple[str, str, tuple[Any, ...]]] = [
    # groups
    ("must be of one length", "add_parts", (np.ones(2), INDEX, MANY, 1.0, SUMS)),
    ("must be of one length", "add_parts", (ONES, INDEX, MANY, 1.0, np.zeros((2, 4), np.int64))),
    ("must be of one length", "add_deviations", (ONES, room(2, np.intp), 1.0, np.zeros((2, 6)))),
    ("must be of one length", "add_deviations", (ONES, INDEX, 1.0, np.zeros((2, 5)))),
    ("must be of one length", "take_extremes", (ONES, room(2, np.intp), True, room(2, float))),
    ("room for as many", "left_of_parts", (ONES, INDEX, MANY, 1.0, room(2, float), INDEX)),
    ("be as long", "join_parts", (SUMS, MANY, 1.0, 40, 1.0, room(2, float), room(3, float))),
    *(("must be of the length of index", "join_groups_of_deviations", (parts, np.arange(10), PARTS, 1.0))
        for parts in ([part[: 9 + (at != place)] for at, part in enumerate(PARTS)] for place in range(6))),
    ("the length of index", "join_groups_of_deviations", (PARTS, np.zeros(9, np.intp), MADE, 1.0)),
    ("of one length", "join_groups_of_deviations", (PARTS, np.zeros(10, np.intp), [room(1), *MADE[1:]], 1.0)),
    ("group 2 of a row is not among 2", "join_groups_of_deviations", (PARTS, np.full(10, 2), MADE, 1.0)),
    # windows: never does the first window of a row come before that of the row before it
    ("1 windows begin and 2 end", "ranges_of_windows", (FIRST, LAST, room(1), False, *EVERY, *np.zeros((3, 1), int))),
    ("first and last must be", "ranges_of_windows", (FIRST, ONE, room(1), False, *EVERY, *np.zeros((3, 1), int))),
    ("first and last must be of one length", "count_windows", (FIRST, ONE, room(1), False, *EVERY)),
    ("number must be of one length", "ranges_of_windows", (FIRST, LAST, ONE, False, *EVERY, room(1), room(1), room(2))),
    # ranges
    *(("ranges must be of the values", "items_of_ranges", (ONE, edges, False, at, room(1))) for edges, at in ITEMS),
    ("a key for each", "keys_of_floats", (room(2, float), room(1))),
    ("a value for each", "floats_of_keys", (ONE, room(2, float))),
    ("a place for each", "code_groups", (ONE, ONE, True, *CODES)),
    *(("group", "code_groups", (TWO, np.array(of, np.int64), True, *CODES)) for of in ([1], [0, 3], [0, 2, 1], [])),
    *(("ranges must be of items", loop, (CODE, *weight, codes, np.array(low), np.array(high), room(len(low), dtype)))
        for low, high, codes in BOUNDS
        for loop, weight, dtype in (("count_distinct", (), np.int64), ("most_frequent", (None,), INT32))),
    ("a range has fewer codes", "list_codes", (CODE, None, 2, *WHOLE, np.array([0, 3]), room(3, INT32), None)),
    ("a count for each", "list_codes", (CODE, None, 2, *WHOLE, np.array([0, 2]), room(2, INT32), room(1))),
    ("a rank for each", "select", (CODE, None, 2, *WHOLE, room(0), room(1, INT32), room(1, INT32))),
    ("a place for each", "order_values", (ONE, room(2, np.intp))),
    ("such rows", "interpolate", (ONES, int32(0), int32(3), np.array([1]), 2, room(1, float))),
    ("such rows", "interpolate", (ONES, int32(-1), int32(0), np.array([1]), 2, room(1, float))),
    ("a rest for each", "interpolate", (ONES, CODE, CODE, np.array([1]), 2, room(1, float))),
    # rows and texts
    ("rows_around: runs must begin", "rows_around", (np.array([1]), 0, 0, room(1), room(1))),
    *itertools.chain.from_iterable((("^ends_of_text: rows must be of the column", "ends_of_text",
        (ENDS, int32(row), room(2, INT32))),
        ("^text_of_rows: rows must be of the column", "text_of_rows",
        (ENDS, TEXT, int32(row), room(2, INT32), TEXT))) for row in (2, -1)),
    ("an end for each", "ends_of_text", (ENDS, room(1, INT32), room(1, INT32))),
    ("room for their text", "text_of_rows", (ENDS, TEXT, int32(1), room(2, INT32), room(1, np.uint8))),
    ("^row 5 is not among 3", "take_words", (np.arange(3), np.array([5]), room(1))),
    ("^place 5 of a row is not among 1", "put_words", (np.arange(1), np.array([5]), room(1))),
    ("^row 9 is not among 8", "take_bits", (room(1, np.uint8), 0, np.array([9]), room(1, np.uint8))),
    ("^code 4 of a row is not among 3", "count_codes", (np.array([4]), room(3))),
]  # fmt: skip


@needs_loops
def test_what_loops_refuse() -> None:
    for sentence, loop, arguments in REFUSED:
        with pytest.raises(IndexError if "not among" in sentence else ValueError, match=sentence):
            getattr(loops, loop)(*arguments)


@needs_loops
def test_a_rank_that_there_is_not() -> None:
    found = room(1, INT32)
    loops.select(CODE, None, 2, *WHOLE, np.array([3]), found, found.copy())
    assert found.tolist() == [-1]
