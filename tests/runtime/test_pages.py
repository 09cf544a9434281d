"""How the partials of a shard are dealt to pages."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from framefold.runtime.streams import pages

NUMBERS = st.lists(st.integers(-40, 40) | st.integers(-(1 << 50), 1 << 50))


@given(NUMBERS)
def test_distinct_numbers(numbers: list[int]) -> None:
    found, place, counts = pages.distinct(np.array(numbers, np.int64))
    assert found.tolist() == sorted(set(numbers))
    assert [found[at] for at in place] == numbers
    assert counts.tolist() == [numbers.count(each) for each in found]


@given(NUMBERS, st.sets(st.integers(-40, 40)))
def test_a_number_is_in_the_last_block_that_begins_before_it(numbers: list[int], known: set[int]) -> None:
    found = pages.owners(np.array(numbers, np.int64), known)
    assert found.tolist() == [
        max([each for each in known if each <= number], default=pages.NOWHERE) for number in numbers
    ]


@given(st.lists(st.tuples(st.integers(1, 3000), st.integers(0, 3)), max_size=30))
def test_blocks_are_cut_where_they_are_full_or_another_one_begins(rows: list[tuple[int, int]]) -> None:
    rows = sorted(rows, key=lambda row: row[1])
    counts, owned = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    found = pages.cut(np.arange(len(rows)), counts, owned)
    for block in set(found.tolist()):
        mine = np.flatnonzero(found == block)
        assert block == mine[0]
        assert len(set(owned[mine].tolist())) == 1
        assert counts[mine].sum() <= pages.PAGE_PARTIALS
        after = mine[-1] + 1
        full = after < len(rows) and counts[mine].sum() + counts[after] > pages.PAGE_PARTIALS
        assert after == len(rows) or full or owned[after] != owned[block]
