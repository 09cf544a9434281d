"""What the commands of ``framefold stream`` do."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...aggregators.contract.operation import Operation
from ...events import Windowed
from .job import note, require_spark, stream_session
from .named_query import NamedQuery


def export_state(query: str, checkpoint: str, into: str, master: str | None) -> None:
    """Store the state of a query."""
    with _asked("framefold stream export", query, master) as (windowed, outputs):
        began = clock.perf_counter()
        windowed.export_state(checkpoint, into, **outputs)
        note(f"the state in {checkpoint} is stored in {into}; {clock.perf_counter() - began:.1f} s")


def import_state(
    query: str, exported: str, checkpoint: str, master: str | None, skip: bool, partitions: int | None
) -> None:
    """Make the checkpoint of a query, and print the time up to which windows are closed."""
    with _asked("framefold stream import", query, master, partitions) as (windowed, outputs):
        began = clock.perf_counter()
        closed = windowed.import_state(exported, checkpoint, skip_incomplete=skip, **outputs)
        print(closed.isoformat())
        note(
            f"{checkpoint} is a checkpoint of the query, to which windows that end later belong; "
            f"{clock.perf_counter() - began:.1f} s"
        )


@contextmanager
def _asked(
    app: str, query: str, master: str | None, partitions: int | None = None
) -> Iterator[tuple[Windowed[Any], Mapping[str, Operation]]]:
    """A query of a session that is set as streams need it."""
    require_spark("; streams need it")
    named = NamedQuery.of(query)
    with stream_session(app, master, partitions) as spark:
        yield named(spark)
