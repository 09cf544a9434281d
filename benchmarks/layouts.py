"""The reference events as they come elsewhere: other keys and times, and other orders of rows in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROW_GROUP = 1 << 20
LATE, DELAY = 0.01, 3_600_000_000
"""The share of late rows, and the most that they are late, in microseconds."""


def variant(kind: str, events: pa.Table, keys: int, rng: np.random.Generator) -> pa.Table:
    """Events with other keys, times or nulls.

    Parameters
    ----------
    kind
        ``"zipf"``: keys follow Zipf's law. ``"pairs"``: keys are pairs ``k`` and ``k2``. ``"naive"``: times have no
        zone. ``"integers"``: times are microseconds as integers. ``"nulls"``: one value in twenty is null, and one key
        in a hundred. Any other: as they are.
    """
    key, place = events["k"], events.schema.get_field_index("k")
    if kind == "zipf":
        weights = 1.0 / np.arange(1, keys + 1)
        return events.set_column(place, "k", pa.array(rng.choice(keys, len(events), p=weights / weights.sum())))
    if kind == "pairs":
        pairs = np.divmod(key.to_numpy(), 10)
        return events.set_column(place, "k", pa.array(pairs[0])).append_column("k2", pa.array(pairs[1]))
    if kind == "naive":
        return events.set_column(0, "t", events["t"].cast(pa.timestamp("us")))
    if kind == "integers":
        return events.set_column(0, "t", events["t"].cast(pa.int64()))
    if kind == "nulls":
        for name, share in (("k", 0.01), ("x", 0.05)):
            null = pa.array(rng.random(len(events)) < share)
            holed = pc.if_else(null, pa.scalar(None, events[name].type), events[name])
            events = events.set_column(events.schema.get_field_index(name), name, holed)
    return events


def write(layout: str, events: pa.Table, files: int, path: Path) -> None:
    """Write events into files of a new folder.

    Parameters
    ----------
    layout
        ``"time"``: in the order of time, a span of time a file. ``"day"``: the same, but each file spans the whole
        time. ``"random"``: in no order. ``"key"``: by key, then time. ``"late"``: in the order of their arrival, some
        of them late.
    """
    rng, rows = np.random.default_rng(11), len(events)
    order = np.arange(rows)
    if layout == "day":
        order = np.concatenate([order[part::files] for part in range(files)])
    elif layout == "random":
        order = rng.permutation(rows)
    elif layout == "key":
        order = np.argsort(events["k"].to_numpy(), kind="stable")
    elif layout == "late":
        delay = np.where(rng.random(rows) < LATE, rng.integers(0, DELAY, rows), 0)
        order = np.argsort(events["t"].cast(pa.int64()).to_numpy() + delay, kind="stable")
    edges = [rows * part // files for part in range(files + 1)]
    path.mkdir()
    for part in range(files):
        piece = events.take(pa.array(order[edges[part] : edges[part + 1]]))
        pq.write_table(piece, path / f"{part:03d}.parquet", row_group_size=ROW_GROUP)
