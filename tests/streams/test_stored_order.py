"""Partials that are stored in another order of columns, as by an earlier release, are read by their names."""

from __future__ import annotations

import pyarrow as pa
import pytest

import framefold as ff

from ..support.shards import Bytes, Cut, as_stream


@pytest.mark.parametrize("window", [ff.last_rows(3, min_samples=2), ff.sliding(5, every=2)])
def test_columns_in_another_order(window: ff.Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    put, stored = Bytes.put, []

    def backwards(store: Bytes, page: int, table: pa.Table) -> None:
        stored.append(table.schema.names)
        put(store, page, table.select(table.schema.names[::-1]))

    events = pa.table({"t": list(range(40)), "k": [0, 1] * 20, "x": [float(i * 7 % 5) for i in range(40)]})
    query = ff.events(events, time="t", by="k")
    expected = query.window(window).aggregate(s=ff.Sum("x"), n=ff.Count())
    monkeypatch.setattr(Bytes, "put", backwards)
    found = as_stream(query, Cut()).window(window).aggregate(s=ff.Sum("x"), n=ff.Count())
    assert stored
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))
