"""Keys as integers: what is equal, what comes first, and what happens when there is no room for more."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff
from framefold.runtime.columns.key_codes import MAX_PACKED, dense, dictionary, encode, key_codes, pack, span
from framefold.runtime.streams.key_hash import hashes

from ..oracles.duck import asked
from ..support.columns import normalised, plain, plain_type, require_key
from ..support.limits import limits
from ..support.shards import shard_numbers

NAN = math.nan
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "floats": (pa.float64(), [NAN, 0.0, -0.0, -NAN, None, math.inf, -math.inf, 1.5, 5e-324, None, NAN]),
    "float32": (pa.float32(), [NAN, -0.0, 0.0, None, 1.5]),
    "integers": (pa.int64(), [2**63 - 1, -(2**63), 0, None, 2**53, 2**53 + 1, 0]),
    "uint64": (pa.uint64(), [2**64 - 1, 0, None, 2**63]),
    "small integers": (pa.int8(), [0, 1, -1, None]),
    "large text": (pa.large_string(), ["a", "", None, "ab"]),
    "strings": (pa.string(), ["b", "", "a", None, "é", "\U0001f600", "\ue000", "B", "a"]),
    "binaries": (pa.binary(), [b"\xff", b"", b"a", None, b"a\x00", b"a"]),
    "booleans": (pa.bool_(), [True, None, False, True]),
    "dates": (pa.date32(), [datetime.date(1969, 12, 31), datetime.date(2020, 1, 1), None, datetime.date(1, 1, 1)]),
    "timestamps": (pa.timestamp("us"), [datetime.datetime(1969, 12, 31), None, datetime.datetime(2020, 1, 1, 1)]),
    "decimals": (pa.decimal128(38, 2), [Decimal("1.10"), Decimal("-9"), None, Decimal(10) ** 30, Decimal("1.1")]),
    "nothing": (pa.null(), [None, None, None]),
}


def grouped(column: pa.Array) -> pa.Table:
    """Events of these keys, counted."""
    events = pa.table({"t": np.arange(len(column)), "k": column})
    return ff.events(events, time="t", by="k").window(ff.tumbling(1000)).aggregate(n=ff.Count()).select(["k", "n"])


@pytest.mark.parametrize("kind", COLUMNS)
def test_as_duckdb_groups_and_orders(kind: str) -> None:
    type, values = COLUMNS[kind]
    events = pa.table({"k": pa.array(values, type)})
    zero = "k + 0.0" if pa.types.is_floating(type) else "k"
    query = f"SELECT {zero} AS k, count(*) FROM events GROUP BY 1 ORDER BY 1 NULLS FIRST"
    rows = asked(query, events=events).fetchall()
    found = grouped(events["k"].combine_chunks()).to_pydict()
    assert [repr(k) for k in found["k"]] == [repr(row[0]) for row in rows]
    assert found["n"] == [row[1] for row in rows]


OTHERS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "decimal32": ((5, 1), Decimal(1)), "decimal64": ((5, 1), Decimal(1)), "decimal256": ((50, 1), Decimal(1)),
    "string_view": ((), "b"), "large_string": ((), "b"), "binary_view": ((), b"b"), "binary": ((1,), b"b"),
    "duration": (("s",), 1), "time32": (("ms",), 1), "date64": ((), 0),
}  # fmt: skip
"""Types by their functions in pyarrow, which has the first two from 19 on, and a value."""
NO_KEYS = [pa.list_(pa.int8()), pa.struct([("a", pa.list_(pa.int8()))]), pa.map_(pa.int8(), pa.int8())]


def test_other_types_of_keys() -> None:
    """Each of these has one value that is there once, and one that is there twice; others are refused."""
    columns = [
        pa.array([value, None, value], getattr(pa, name)(*arguments))
        for name, (arguments, value) in OTHERS.items()
        if hasattr(pa, name)
    ]
    for column in (*columns, pa.array(["b", None, "b"]).dictionary_encode()):
        assert sorted(grouped(column)["n"].to_pylist()) == [1, 2], column.type
    halves = grouped(pa.array(np.array([1.5, np.nan, -0.0, 0.0], np.float16)))
    assert sorted(halves["n"].to_pylist()) == [1, 1, 2]
    for type in (*NO_KEYS, pa.month_day_nano_interval()):
        with pytest.raises(ff.ColumnError, match="'k'"):
            grouped(pa.array([None, None], type))


def test_normalised_has_one_zero_and_one_nan() -> None:
    odd = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0x7FF0000000000001, 1 << 63, 0], np.uint64).view(np.float64)
    column = normalised(pa.array(odd))
    assert len({value.tobytes() for value in column.to_numpy()[:3]}) == 1
    assert column.to_numpy()[3:].tobytes() == np.zeros(2).tobytes()
    assert normalised(pa.array([None, 1.0])).to_pylist() == [None, 1.0]


def rank(value: Any) -> Any:
    """How Spark orders one value: nulls, then the values, then NaN."""
    return (0, 0) if value is None else (2, 0) if value != value else (1, value)


composite = st.tuples(
    st.sampled_from([None, NAN, 0.0, -0.0, 1.5, -math.inf]),
    st.sampled_from([None, "a", "b", ""]),
    st.sampled_from([None, -1, 2**60]),
)


@given(st.lists(composite, min_size=1, max_size=20), st.sampled_from([MAX_PACKED, 30, 7, 2]))
def test_several_columns_compare_one_after_the_other(rows: list[Any], room: int) -> None:
    """Also where the room for their codes runs out, and codes must be made dense on the way."""
    types = (pa.float64(), pa.string(), pa.int64())
    columns = [normalised(pa.array([row[i] for row in rows], type)) for i, type in enumerate(types)]
    with limits(packed_codes=room):
        codes, _ = key_codes(columns, len(rows), ordered=True)
        loose, _ = key_codes(columns, len(rows), ordered=False)
    ranked = [tuple(map(rank, row)) for row in rows]
    for i, x in enumerate(ranked):
        for j, y in enumerate(ranked):
            assert (codes[i] < codes[j]) == (x < y)
            assert (loose[i] == loose[j]) == (x == y)


def test_codes_by_definition() -> None:
    """No columns are one key; dense codes have no holes; those in the order of appearance begin at 0."""
    packed, size = pack([], 3)
    assert (packed.tolist(), size) == ([0, 0, 0], 1)
    codes, size = dense(np.array([2**62, -5, 2**62, 7]))
    assert (codes.tolist(), size) == ([2, 0, 2, 1], 3)
    codes, count = encode(pa.array(["b", None, "a", "b"]), ordered=False)
    assert (codes.tolist(), count) == ([0, 1, 2, 0], 3)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_span_keeps_order_at_any_distance(values: list[int]) -> None:
    codes, size = span(np.array(values, np.int64))
    assert all(0 <= code < size for code in codes.tolist())
    for i, x in enumerate(values):
        for j, y in enumerate(values):
            assert (codes[i] < codes[j]) == (x < y)


@pytest.mark.parametrize("type", [pa.string(), pa.large_string()], ids=str)
@given(runs=st.lists(st.tuples(st.sampled_from(["b", "", "a", "é", None]), st.integers(1, 9)), min_size=1, max_size=9))
def test_text_in_runs_is_coded_once_a_run(type: pa.DataType, runs: list[tuple[str | None, int]]) -> None:
    """As row by row: codes in the order of appearance, a null among them."""
    values = [value for value, length in runs for _ in range(length)]
    with limits(sampled_runs=2, long_run_of_text=2):
        codes, found = dictionary(pa.array(["x", *values], type)[1:])
    assert [found[code].as_py() for code in codes.tolist()] == values
    assert found.to_pylist() == list(dict.fromkeys(values))
    assert found.type == type


KEYS_OF_ROWS: list[pa.Array] = [
    pa.array(["b", "a", "b", "c", "a", "b"]),
    pa.array(["b", "a", "b", "c", "a", "b"], pa.large_string()),
    pa.array(["b", None, "b", "c", None, "b"]),
    pa.DictionaryArray.from_arrays(pa.array([3, 1, 0, 4, 1, 0]), pa.array(["b", "a", "z", "b", "c"])),
    pa.DictionaryArray.from_arrays(pa.array([2, 1, 0, 4, 1, 0]), pa.array(["b", None, "b", "z", "c"])),
]


@pytest.mark.parametrize("keys", KEYS_OF_ROWS, ids=lambda each: str(each.type))
def test_rows_are_sorted_by_keys_of_text(keys: pa.Array) -> None:
    """By value, not by place in a dictionary, which may have values twice, values of no row, and a null."""
    events = pa.table({"t": [5, 4, 3, 2, 1, 0], "k": keys, "x": [1, 2, 4, 8, 16, 32]})
    found = ff.events(events, time="t", by="k").window(ff.last_rows(2)).aggregate(x=ff.Sum("x"))
    wanted = []
    texts = keys.to_pylist()
    for key in sorted(set(texts), key=lambda text: (text is not None, text)):
        own = [x for text, x in zip(reversed(texts), [32, 16, 8, 4, 2, 1], strict=True) if text == key]
        wanted += [(key, sum(own[max(place - 1, 0) : place + 1])) for place in range(len(own))]
    assert list(zip(found["k"].to_pylist(), found["x"].to_pylist(), strict=True)) == wanted


def test_plain_columns() -> None:
    chunked = pa.chunked_array([["a"], ["b"]]).dictionary_encode()
    assert plain(chunked, plain_type(chunked.type)).to_pylist() == ["a", "b"]
    assert plain_type(pa.string_view()) == pa.large_string()
    with pytest.raises(ff.ColumnError):
        require_key("k", pa.list_(pa.int64()))


# The hash by which keys are dealt to shards: the same for equal keys, in every process and release

OTHER_NAN = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]


@pytest.mark.parametrize("kind", COLUMNS)
def test_different_values_differ_and_equal_ones_do_not(kind: str) -> None:
    type, values = COLUMNS[kind]
    column = pa.array(values, type)
    found = hashes(column)
    by_value: dict[Any, set[int]] = {}
    for value, number in zip(column.to_pylist(), found.tolist(), strict=True):
        by_value.setdefault(rank(value), set()).add(number)
    assert all(len(numbers) == 1 for numbers in by_value.values())
    assert len(set(found.tolist())) == len(by_value)
    twice = pa.concat_arrays([column, column])
    assert hashes(twice.slice(3, len(column) - 3)).tolist() == found[3:].tolist()
    assert hashes(twice.slice(len(column))).tolist() == found.tolist()
    assert hashes(twice.dictionary_encode()).tolist() == [*found.tolist(), *found.tolist()]


def test_what_sql_takes_for_equal() -> None:
    zero, minus, one, other = hashes(pa.array([0.0, -0.0, float("nan"), OTHER_NAN])).tolist()
    assert (zero, one) == (minus, other)
    assert hashes(pa.array([1.5], pa.float32())).tolist() == hashes(pa.array([1.5])).tolist()


def test_numbers_do_not_change_from_release_to_release() -> None:
    """A checkpoint knows keys by their shards."""
    keys = [pa.array(["a", "b", None, "a"]), pa.array([1, 2, 3, -1])]
    assert shard_numbers(keys, 4, 1000).tolist() == [797, 618, 725, 250]
    assert shard_numbers([], 2, 1000).tolist() == [0, 0]


@pytest.mark.parametrize("column", [pa.array(range(10_000)), pa.array([f"key {i}" for i in range(10_000)])])
def test_shards_are_about_equal(column: pa.Array) -> None:
    sizes = np.bincount(shard_numbers([column], 10_000, 7), minlength=7)
    assert sizes.min() > 10_000 / 7 * 0.9
    assert sizes.max() < 10_000 / 7 * 1.1
