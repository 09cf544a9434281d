"""Results in pieces: all windows, in order, and never many at a time."""

from __future__ import annotations

import pyarrow as pa

import framefold as ff

from ..support.plans import Plan, bind
from ..support.stages import merged as merge
from ..support.stages import partials_of as accumulate
from ..support.stages import results_in_chunks as results
from ..support.windows import Spec

EVENTS = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("x", pa.float64())])


def query(window: Spec) -> Plan:
    return bind(EVENTS, time="t", by=["k"], window=window, outputs={"s": ff.Sum("x"), "n": ff.Count()})


def pieces(window: Spec, rows: list[tuple[int, int, float]], most: int) -> list[pa.Table]:
    columns = zip(*rows, strict=True)
    table = pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, EVENTS, strict=True)], schema=EVENTS
    )
    asked = query(window)
    return list(results(merge(accumulate(asked, table, 0)), most))


def test_a_piece_is_small_however_many_windows_a_frame_is_in() -> None:
    found = pieces(ff.sliding(100_000, every=1), [(0, 1, 2.0), (0, 7, 3.0), (50_000, 7, 4.0)], 4_096)
    assert max(map(len, found)) <= 4_096
    together = pa.concat_tables(found)
    assert together["k"].to_numpy().tolist() == [1] * 100_000 + [7] * 150_000
    right = [2.0] * 100_000 + [3.0] * 50_000 + [7.0] * 50_000 + [4.0] * 50_000
    assert together["s"].to_numpy().tolist() == right


def test_many_keys_go_some_at_a_time() -> None:
    found = pieces(ff.sliding(100, every=1), [(key % 13, key, 1.0) for key in range(500)], 1_000)
    assert max(map(len, found)) <= 2_000
    assert sum(map(len, found)) == 50_000
