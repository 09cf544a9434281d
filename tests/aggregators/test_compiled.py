"""Compiled loops: where they are found, what they do by plain definitions, and what they refuse."""

from __future__ import annotations

import itertools
import subprocess
import sys
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff
from framefold.aggregators.loops import native

from ..oracles import numeric
from ..support.loops import loops, needs_loops

PROGRAM = """
import sys
sys.path.insert(0, {zip!r})
{first}
from package import native
print(native.__file__)
rows = native.compiled_loops("rows")
print(rows)
if rows is not None:
    import numpy as np
    sums = np.zeros(1, np.int64)
    rows.add_integers(np.array([1, 2]), np.zeros(2, np.intp), sums)
    print(sums[0])
"""


def zipped(folder: Path, **loops: bytes) -> str:
    """A zip of a package that has the module, and files of loops by what follows their name's dot."""
    path = folder / "package.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("package/__init__.py", "")
        archive.writestr("package/native.py", (files(native.__package__) / "native.py").read_bytes())
        for suffix, content in loops.items():
            archive.writestr(f"package/rows.{suffix}", content)
    return str(path)


def found(path: str, first: str = "") -> list[str]:
    """What a new process finds in a zip: where the module is, the loops, and what they find."""
    program = PROGRAM.format(zip=path, first=first)
    said = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True).stdout
    where, *rest = said.splitlines()
    assert where.startswith(path)
    return rest


@pytest.fixture
def library() -> bytes:
    """The file of the loops."""
    if native.compiled_loops("rows") is None:
        pytest.skip("framefold is installed without its compiled loops: there was no compiler")
    for suffix in EXTENSION_SUFFIXES:
        if (file := files(native.__package__) / f"rows{suffix}").is_file():
            return file.read_bytes()
    raise AssertionError("there are loops, and no file of them")


def test_loops_in_a_zip(tmp_path: Path, library: bytes) -> None:
    """No file of theirs is left behind."""
    here = tmp_path / "here"
    here.mkdir()
    path = zipped(tmp_path, **{EXTENSION_SUFFIXES[0].removeprefix("."): library})
    loops, added = found(path, f"import tempfile; tempfile.tempdir = {str(here)!r}")
    assert "package.rows" in loops
    assert added == "3"
    assert not list(here.iterdir())


def test_loops_where_no_file_can_be_written(tmp_path: Path, library: bytes) -> None:
    path = zipped(tmp_path, **{EXTENSION_SUFFIXES[0].removeprefix("."): library})
    assert found(path, f"import tempfile; tempfile.tempdir = {str(tmp_path / 'nowhere')!r}") == ["None"]


@pytest.mark.parametrize(
    "loops",
    [
        {},
        {EXTENSION_SUFFIXES[0].removeprefix("."): b"not a library"},
        {"cpython-399-other-linux-gnu.so": b"of another"},
    ],
)
def test_no_loops_for_this_system(tmp_path: Path, loops: dict[str, bytes]) -> None:
    assert found(zipped(tmp_path, **loops)) == ["None"]


# What loops over rows do, compiled ones and numpy's

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
    outputs = {str(place): operation for place, operation in enumerate([*numeric.TWO][1:])}
    found = ff.events(table, time="t").window(ff.last_rows(reach)).with_columns(**outputs).to_pylist()
    for at in [*range(25), *range(25, 90, 5)]:
        pairs = [(float(x[each]), float(y[each])) for each in range(max(0, at + 1 - reach), at + 1) if known[each]]
        for name, operation in outputs.items():
            right, agree = numeric.TWO[operation]
            assert agree(found[at][name], right(pairs), pairs), (at, operation)


# What would read or write beyond their arrays is refused

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
