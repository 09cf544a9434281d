"""The local engine: batches of any size, merged now and then, give one answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..support.plans import bind
from ..support.sources import by_key_and_time, of_one_size
from ..support.toys import Joined


def events(rows: int) -> pa.Table:
    chance = np.random.default_rng(rows)
    return pa.table(
        {
            "t": chance.integers(-50, 50, rows),
            "k": chance.choice(["a", "b", "c"], rows),
            "x": chance.integers(-99, 99, rows),
            "s": [f"{row};" for row in range(rows)],
        }
    )


def aggregate(data: Any, **outputs: Any) -> pa.Table:
    chosen = outputs or {"n": ff.Count(), "s": ff.Sum("x"), "last": ff.Last("s"), "low": ff.Min("s")}
    return ff.events(data, time="t", by="k").window(ff.sliding(7, 2)).aggregate(**chosen)


def brute(table: pa.Table) -> list[dict[str, Any]]:
    rows = table.to_pylist()
    found = []
    for key in sorted({row["k"] for row in rows}):
        for number in range(-40, 40):
            start = 2 * number
            own = [row for row in rows if row["k"] == key and start <= row["t"] < start + 7]
            if own:
                last = max(enumerate(own), key=lambda pair: (pair[1]["t"], pair[0]))[1]
                total, low = sum(row["x"] for row in own), min(row["s"] for row in own)
                window = {"start": start, "end": start + 7}
                found.append({"k": key, "window": window, "n": len(own), "s": total, "last": last["s"], "low": low})
    return found


@pytest.mark.parametrize("batch", [1, 7, 64, 1 << 20])
@pytest.mark.parametrize("pending", [1, 50, 1 << 21])
def test_any_size_of_batches_and_merging_on_the_way(batch: int, pending: int, limit: Callable[..., None]) -> None:
    limit(batch_rows=batch, pending_partials=pending)
    table = events(300)
    expected = brute(table)
    assert aggregate(table).to_pylist() == expected
    assert aggregate(table.to_reader(max_chunksize=13)).to_pylist() == expected


@pytest.mark.parametrize("batch", [1, 7, 1 << 20])
def test_operations_that_need_order_get_it(batch: int, limit: Callable[..., None]) -> None:
    limit(batch_rows=batch, pending_partials=20)
    table = events(80)
    rows = sorted(table.to_pylist(), key=lambda row: row["t"])  # stable: ties as they came
    for row in aggregate(table, joined=Joined("s")).to_pylist():
        start, end = row["window"]["start"], row["window"]["end"]
        assert row["joined"] == "".join(r["s"] for r in rows if r["k"] == row["k"] and start <= r["t"] < end)


def test_of_one_size_puts_small_batches_together_and_cuts_large_ones(limit: Callable[..., None]) -> None:
    limit(batch_rows=10)
    table = pa.table({"t": range(47)})
    for size in (1, 3, 10, 25, 47):
        made = list(of_one_size(table.to_reader(max_chunksize=size)))
        assert pa.concat_tables(made).equals(table)
        assert all(10 <= len(each) < 20 for each in made[:-1])
    assert list(of_one_size(table.slice(0, 0).to_reader())) == []


ROW = st.tuples(st.sampled_from(["b", "a", None]), st.integers(0, 4), st.integers(0, 2))


@given(st.lists(ROW, min_size=1, max_size=30), st.booleans(), st.booleans())
def test_events_by_key_and_time_keep_ties_as_they_came(rows: list[Any], sort: bool, numbered: bool) -> None:
    rows = sorted(rows, key=lambda row: row[1]) if sort else rows
    schema = pa.schema({"k": pa.string(), "t": pa.int64(), "tie": pa.int64(), "s": pa.string()})
    table = pa.Table.from_pylist(
        [{"k": k, "t": t, "tie": tie, "s": str(place)} for place, (k, t, tie) in enumerate(rows)], schema
    )
    windows = ff.last_rows(3) if numbered else ff.tumbling(1)
    for ties in ([], ["tie"]):
        query = bind(schema, time="t", by=["k"], ties=ties, window=windows, outputs={"j": Joined("s")})
        made = pa.concat_tables(by_key_and_time(table.to_reader(max_chunksize=2), query))
        order = sorted(range(len(rows)), key=lambda row: (rows[row][0] or "", rows[row][1], rows[row][2] * len(ties)))
        assert made["s"].to_pylist() == list(map(str, order))
        if numbered:
            keys = [rows[row][0] for row in order]
            assert made[query.rank].to_pylist() == [keys[:place].count(key) for place, key in enumerate(keys)]


@pytest.mark.parametrize("ordered", [False, True])
def test_null_times_are_counted_over_all_batches(ordered: bool, limit: Callable[..., None]) -> None:
    limit(batch_rows=2)
    table = pa.table({"t": [None, 1, 2, None, 4, None], "k": ["a"] * 6, "x": range(6), "s": list("abcdef")})
    outputs = {"y": Joined("s")} if ordered else {"y": ff.Sum("x")}
    with pytest.raises(ff.NullTimeError, match="'t' is null in 3 of 6 events"):
        aggregate(table, **outputs)
    dropping = ff.events(table, time="t", by="k", null_time="drop").window(ff.tumbling(10))
    with pytest.warns(ff.DroppedEventsWarning, match="3 of 6 events"):
        result = dropping.aggregate(**outputs)
    assert result["y"].to_pylist() == ["bce" if ordered else 1 + 2 + 4]


def test_no_warning_where_nothing_is_dropped() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ff.events(events(5), time="t", null_time="drop").window(ff.tumbling(10)).aggregate(n=ff.Count())


@pytest.mark.parametrize("outputs", [{"n": ff.Count()}, {"j": Joined("s")}, {"f": ff.Sum("x"), "m": ff.Min("s")}])
def test_no_events(outputs: Any) -> None:
    result = aggregate(events(0).cast(events(1).schema), **outputs)
    assert result.num_rows == 0
    assert result.schema.names == ["k", "window", *outputs]
    assert result.schema.field("window").type == pa.struct([pa.field("start", pa.int64()), pa.field("end", pa.int64())])
