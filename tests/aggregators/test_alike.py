"""Columns that are in memory once: zeros, ones, and the numbers from 0 on."""

from __future__ import annotations

import numpy as np
import pytest

from framefold.aggregators.states.alike import are_numbers, are_ones, numbers, ones


@pytest.mark.parametrize("count", [0, 1, 5000, (1 << 20) + 7])
def test_shared_columns(count: int) -> None:
    """They are known at once, and others by their values."""
    np.testing.assert_array_equal(numbers(count), np.arange(count))
    np.testing.assert_array_equal(ones(count), np.ones(count))
    for known in (are_numbers(numbers(count)), are_ones(ones(count)), are_numbers(np.arange(count))):
        assert known
    assert are_ones(np.ones(count, np.int64))


def test_columns_that_are_not_shared() -> None:
    """They are told apart from those whose memory they lie in, and nobody writes to that."""
    for known in (
        are_numbers(ones(2)),
        are_ones(numbers(2)),
        are_numbers(numbers(9)[1:]),
        are_numbers(numbers(9)[::2]),
    ):
        assert not known
    assert are_ones(ones(9)[::2])
    with pytest.raises(ValueError, match="read-only"):
        numbers(3)[0] = 1


def test_numbers_that_are_not_those_from_0_on() -> None:
    whole = np.arange(5000)
    for at in (1, 511, 4999):
        equal, falling = whole.copy(), whole.copy()
        equal[at:] -= 1
        falling[at] = -1
        for other in (equal, falling):
            assert not are_numbers(other)
