"""What outputs have over lookbacks, by a join of DuckDB's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from .duck import asked

BOUNDS = {"left": (">=", "<"), "both": (">=", "<="), "right": (">", "<="), "neither": (">", "<")}


def by_duckdb(
    events: pa.Table,
    rows: pa.Table,
    closed: str,
    intervals: Mapping[str, str],
    outputs: Iterable[str],
    equals: str = "is not distinct from",
) -> dict[str, list[Any]]:
    """Outputs over each interval up to each of some rows, which have a key and a time ``until``, in their order.

    Outputs are among spent, n, most and ids. Events and their own steps have the same keys, nulls too; labels ``"="``.
    """
    rows = rows.append_column("row", pa.array(np.arange(len(rows))))
    lower, upper = BOUNDS[closed]
    found: dict[str, list[Any]] = {}
    for suffix, interval in intervals.items():
        query = f"""
            select row, sum(x)::bigint as spent, count(id) as n, max(x) as most,
                coalesce(list(id order by t, id) filter (id is not null), []) as ids
            from rows left join events on rows.k {equals} events.k
                and t {lower} until - interval '{interval}' and t {upper} until
            group by row order by row"""
        table = asked(query, events=events, rows=rows).to_arrow_table()
        found |= {f"{name}_{suffix}": table[name].to_pylist() for name in outputs}
    return found
