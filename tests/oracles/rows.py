"""Comparing a result with what is right, row by row; a failure shows the rows that differ and why."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from .by_definition import Verdict, WindowOfKey, group

Check = Callable[[Any, WindowOfKey], Verdict]
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
SHOWN = 12


def ticks(value: Any, second: int = 1) -> int:
    """A time as a number: integers as they are, dates as days, timestamps as `second` ticks to the second."""
    if isinstance(value, dt.datetime):
        since = (value if value.tzinfo else value.replace(tzinfo=dt.UTC)) - EPOCH
        return since // dt.timedelta(seconds=1) * second + since.microseconds * second // 1_000_000
    if isinstance(value, dt.date):
        return (value - EPOCH.date()).days
    return int(value)


def by_window(table: pa.Table) -> list[tuple[Any, dict[str, Any]]]:
    """The rows of a result, each with what identifies it: its key as SQL groups it, and the window."""
    return [((group(row["key"]), *map(ticks, row["window"].values())), row) for row in table.to_pylist()]


def differences(
    table: pa.Table, right: Sequence[WindowOfKey], checks: Mapping[str, Check], in_order: bool
) -> list[str]:
    """A sentence for each row that is missing, too many, out of order or wrong."""
    got = by_window(table)
    want = [((group(window.key), window.start, window.end), window) for window in right]
    found = dict(got)
    said = []
    if len(found) != len(got):
        names = [name for name, _ in got]
        said += [f"twice: {name}" for name in found if names.count(name) > 1]
    said += [f"should not be there: {row}" for name, row in got if name not in dict(want)]
    for name, window in want:
        if name not in found:
            said.append(f"missing: key {window.key!r} [{window.start}, {window.end}) of {window.values}")
            continue
        for output, check in checks.items():
            if wrong := check(found[name][output], window):
                said.append(f"key {window.key!r} [{window.start}, {window.end}) {output}: {wrong}; of {window.values}")
    if in_order and not said and [name for name, _ in got] != [name for name, _ in want]:
        said.append(f"the rows are not sorted by key and window: {[name for name, _ in got]}")
    return said


def assert_windows(
    table: pa.Table,
    right: Sequence[WindowOfKey],
    checks: Mapping[str, Check],
    in_order: bool = True,
) -> None:
    """Fail with the rows of a result that differ from the right windows."""
    said = differences(table, right, checks, in_order)
    more = f"\n... and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
    assert not said, f"{len(said)} differences in {table.num_rows} rows:\n" + "\n".join(said[:SHOWN]) + more
