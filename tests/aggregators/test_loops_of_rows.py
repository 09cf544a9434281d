"""Loops over rows in the order of their keys: compiled ones and numpy's against plain definitions of what they do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.numeric import TWO
from ..support.loops import loops, needs_loops

TEXTS = ["", "a", "b", "ab", "sevenof", "eightof8", "nine of 9", "sixteen of them!"]
TEXTS += ["seventeen of them", "seventeen of thee"]


@needs_loops
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
@pytest.mark.parametrize("rows", [1, 9, 400])
def test_texts_are_numbered_as_they_come(rows: int, kind: pa.DataType) -> None:
    rng = np.random.default_rng(rows)
    column = pa.array([TEXTS[at] for at in rng.integers(0, len(TEXTS), rows + 3)]).cast(kind)[3:]
    _, ends, text = column.buffers()
    width = np.int64 if kind == pa.large_string() else np.int32
    ends = np.frombuffer(ends, width, rows + 1, column.offset * np.dtype(width).itemsize)
    codes, first = np.empty(rows, np.int32), np.empty(len(TEXTS), np.int64)
    found = loops.code_text(ends, np.frombuffer(text or b"", np.uint8), codes, first)
    wanted = column.dictionary_encode()
    assert codes.tolist() == wanted.indices.to_pylist()
    assert column.take(pa.array(first[:found])).equals(wanted.dictionary)
    if found > 1:
        assert loops.code_text(ends, np.frombuffer(text or b"", np.uint8), codes, first[: found - 1]) == -1
    with pytest.raises(ValueError, match=r"code_text: there must be a code for each text"):
        loops.code_text(ends, np.frombuffer(text or b"", np.uint8)[:0], codes, first)


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 100])
def test_rows_in_runs(rows: int, way: str) -> None:
    rng = np.random.default_rng(rows)
    starts = np.unique(np.append(0, rng.integers(0, max(rows, 1), 5)))[: rows or 0]
    ends = np.append(starts[1:], rows)
    run = np.searchsorted(starts, np.arange(rows), side="right") - 1
    ranks = np.empty(rows, np.int64)
    loops.number_runs(starts, ranks)
    assert ranks.tolist() == (np.arange(rows) - starts[run]).tolist()
    for first, last in ((-1, -1), (-3, 0), (0, 2), (-rows, 0), (2, 4), (-(2**40), 2**40)):
        low, high = np.empty((2, rows), np.int64)
        filled = loops.rows_around(starts, first, last, low, high)
        for row in range(rows):
            there = [each for each in range(starts[run[row]], ends[run[row]]) if first <= each - row <= last]
            assert list(range(low[row], high[row])) == there
        assert not filled or (high > low).all()
        assert filled == (first <= 0 <= last) or not rows


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_words_and_bits_at_rows(dtype: type, way: str) -> None:
    rng = np.random.default_rng(1)
    values, valid = rng.integers(-99, 99, 50).astype(dtype), rng.random(50) < 0.7
    rows, place = rng.integers(-1, 50, 77), rng.permutation(50)
    found = np.empty(77, dtype)
    assert loops.take_words(values, rows, found) == (rows < 0).sum()
    assert found.tolist() == [values[row] if row >= 0 else 0 for row in rows]
    put = np.empty(50, dtype)
    loops.put_words(values, place, put)
    assert put[place].tolist() == values.tolist()
    for offset in (0, 3, 8):
        bits = np.packbits(np.append(np.zeros(offset, bool), valid), bitorder="little")
        for given in (bits, None):
            some = np.empty(10, np.uint8)
            loops.take_bits(given, offset, rows, some)
            wanted = [row >= 0 and (given is None or valid[row]) for row in rows]
            assert np.unpackbits(some, bitorder="little")[:77].tolist() == wanted
    counts = np.ones(9, np.int64)
    loops.count_codes(np.array([2, 2, 8], np.int32), counts)
    assert counts.tolist() == [1, 1, 3, 1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize("reach", [6, 90])
@pytest.mark.parametrize("scale", [1.0, 2.0**-900, 2.0**500])
def test_pairs_about_common_centres(way: str, scale: float, reach: int) -> None:
    rng = np.random.default_rng(4)
    x = np.where(np.arange(90) < 20, 5.0, 1e5 + np.cumsum(rng.normal(0, 1, 90))) * scale
    y, known = 1e9 + rng.normal(0, 1, 90), rng.random(90) < 0.9
    table = pa.table({"t": np.arange(90), "x": pa.array(x, mask=~known), "y": y})
    outputs = {str(place): operation for place, operation in enumerate([*TWO][1:])}
    found = ff.events(table, time="t").window(ff.last_rows(reach)).with_columns(**outputs).to_pylist()
    for at in [*range(25), *range(25, 90, 5)]:
        pairs = [(float(x[each]), float(y[each])) for each in range(max(0, at + 1 - reach), at + 1) if known[each]]
        for name, operation in outputs.items():
            right, agree = TWO[operation]
            assert agree(found[at][name], right(pairs), pairs), (at, operation)
