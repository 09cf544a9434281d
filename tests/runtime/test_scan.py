"""Scans of many blocks at once: the states of every beginning or end of each, in order, at one combine a row."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff
from framefold.runtime.sliding.scan import Scan, beginnings, piece_size

from ..support.limits import limits
from ..support.plans import BoundAggregate
from ..support.states import join, take


class Text(ff.AggregateOperation):
    """Concatenation, which counts its work."""

    state = {"text": "object"}
    commutative = False
    result = "string"
    calls = 0
    combined = 0

    def create(self) -> Any:
        return {"text": ""}

    def accumulate(self, frames: Any, x: Any) -> Any:
        raise NotImplementedError

    def combine(self, a: Any, b: Any) -> Any:
        self.calls += 1
        self.combined += len(a["text"])
        return {"text": a["text"] + b["text"]}

    def finish(self, a: Any) -> Any:
        return a["text"].tolist()


def states(rows: int) -> Any:
    return {"text": np.array([chr(65 + row) for row in range(rows)], object)}


blocks = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 8)), max_size=8)
"""Where blocks start, and how many rows they have; they may overlap and come in any order."""


@pytest.mark.parametrize("backwards", [False, True])
@given(of=blocks)
def test_every_beginning_and_every_end(backwards: bool, of: list[tuple[int, int]]) -> None:
    text = Text("x")
    bound = BoundAggregate("s", text, [pa.string()])
    column = states(28)
    starts, lengths = (np.array([pair[i] for pair in of], np.int64) for i in (0, 1))
    text.calls = text.combined = 0
    scan = Scan(bound, column, starts, lengths, backwards)
    assert text.combined == sum(length - 1 for _, length in of)
    assert text.calls == max((length for _, length in of), default=1) - 1
    for block, (start, length) in enumerate(of):
        letters = column["text"][start : start + length].tolist()
        so_far = list(accumulate(letters[::-1], lambda a, b: b + a)) if backwards else list(accumulate(letters))
        places = scan.position(np.full(length, block), np.arange(1, length + 1))
        assert scan.states["text"][places].tolist() == so_far


@pytest.mark.parametrize("backwards", [False, True])
@given(of=blocks, few=st.integers(0, 5))
def test_beginnings_and_ends_in_two_levels(backwards: bool, of: list[tuple[int, int]], few: int) -> None:
    """Every beginning (or end) of every block, in pieces of different sizes, by the operations and calls promised."""
    text = Text("x")
    bound = BoundAggregate("s", text, [pa.string()])
    column = states(28)
    starts, lengths = (np.array([pair[i] for pair in of], np.int64) for i in (0, 1))
    asked = [(block, rows) for block, (_, length) in enumerate(of) for rows in range(1, length + 1)][::-1]
    block, rows = (np.array([pair[i] for pair in asked], np.int64) for i in (0, 1))
    text.calls = text.combined = 0
    with limits(short_block=few):
        found = beginnings(bound, column, starts, lengths, block, rows, backwards)
    whole = [column["text"][start : start + length].tolist() for start, length in of]
    assert found["text"].tolist() == ["".join(whole[b][-n:] if backwards else whole[b][:n]) for b, n in asked]
    longest = max((length for _, length in of), default=1)
    assert text.combined <= sum(length - 1 for _, length in of) + sum(n > 1 for _, n in asked)
    assert text.calls <= max(few, 2 * longest**0.5)


def test_pieces_of_long_blocks() -> None:
    """A landmark over a million rows in two thousand calls."""
    text, rows = Text("x"), 1_000_000
    bound = BoundAggregate("s", text, [pa.string()])
    column = {"text": np.full(rows, "", object)}
    column["text"][[0, 999, 1000, 123_456, rows - 1]] = list("abcde")
    text.calls = text.combined = 0
    one, every = np.zeros(1, np.int64), np.arange(1, rows + 1)
    found = beginnings(bound, column, one, one + rows, 0 * every, every)["text"]
    assert found[[0, 998, 999, 1000, 123_455, 123_456, rows - 2, rows - 1]].tolist() == [
        "a", "a", "ab", "abc", "abc", "abcd", "abcd", "abcde",
    ]  # fmt: skip
    assert text.calls <= 2000
    assert text.combined <= 2 * rows


def test_when_blocks_are_cut() -> None:
    """Not where they are short or many: then a second combine for each row costs more than calls do."""
    assert piece_size(np.array([64, 3])) == 64
    assert piece_size(np.array([65, 3])) == 9
    assert piece_size(np.full(256, 5000)) == 5000
    assert piece_size(np.full(255, 5000)) == 71
    assert piece_size(np.zeros(0, np.int64)) == 1


def test_no_blocks() -> None:
    scan = Scan(
        BoundAggregate("s", Text("x"), [pa.string()]), states(3), np.array([], np.int64), np.array([], np.int64)
    )
    assert len(scan.states["text"]) == 0


def test_take_and_join() -> None:
    column = states(4)
    assert take(column, np.array([3, 1]))["text"].tolist() == ["D", "B"]
    assert take(column, slice(1, 3))["text"].tolist() == ["B", "C"]
    assert join([take(column, slice(0, 1)), take(column, slice(2, 4))])["text"].tolist() == ["A", "C", "D"]
