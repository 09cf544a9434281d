"""What other processes do to a stored table, and where they are killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq

import framefold as ff

CONTEXT: Any = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__, f"{__package__}.upserting"])

OUTPUTS = {"n": ff.Count(), "s": ff.Sum("x"), "m": ff.Median("x")}
WINDOWS = ff.sliding("12 hours", every="4 hours")
DAY = 86_400_000_000


def at(path: str) -> ff.StoredPartials:
    format = "delta" if "/delta/" in path else "parquet"
    return ff.partials(path, time="t", by="k", frame="1 hour", format=format, **OUTPUTS)


def events(number: int) -> pa.Table:
    """Some events of three days."""
    ticks = [(number * 7919 + at * 104_729_000_003) % (3 * DAY) for at in range(30)]
    keys = ["ab"[at % 2] for at in range(30)]
    return pa.table({"t": pa.array(ticks, pa.timestamp("us")), "k": keys, "x": [number * at for at in range(30)]})


def append(path: str, number: int) -> None:
    at(path).append(events(number), run=str(number))


def refresh(path: str, number: int) -> None:
    at(path).refresh(events(number), since="1970-01-02", until="1970-01-03", run=f"corrected {number}")


def compact(path: str, number: int) -> None:
    at(path).compact()


def coarsen(path: str, number: int) -> None:
    at(path).coarsen("4 hours", older="24 hours")


def roll_up(path: str, number: int) -> None:
    at(path).roll_up("2 days")


def run(
    change: Callable[[str, int], None],
    path: str,
    number: int,
    point: int | None,
    others: Sequence[tuple[Any, str]] = (),
) -> None:
    """Change a table; the process is killed at a point: before some call, halfway in it, or after it.

    Calls of ``others``, methods of classes, count, too.
    """
    seen = 0

    def passed() -> None:
        nonlocal seen
        seen += 1
        if seen == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **more: Any) -> Any:
            passed()
            found = call(*given, **more)
            passed()
            return found

        return called

    def written(table: pa.Table, where: Any, **more: Any) -> None:
        if not isinstance(where, str):
            write(table, where, **more)
            return
        passed()
        write(table, where, **more)
        whole = Path(where).read_bytes()
        Path(where).write_bytes(whole[: len(whole) // 2])
        passed()
        Path(where).write_bytes(whole)
        passed()

    write = pq.write_table
    pq.write_table = written
    os.link, os.fsync = watched(os.link), watched(os.fsync)
    Path.unlink = watched(Path.unlink)  # type: ignore[method-assign]
    deltalake.DeltaTable.create_write_transaction = watched(deltalake.DeltaTable.create_write_transaction)
    for owner, name in others:
        setattr(owner, name, watched(getattr(owner, name)))
    change(path, number)


def many(path: str, first: int, step: int) -> None:
    """Add some runs, those of others among them, and merge what is there in between."""
    for number in range(first, first + 10 * step, step):
        append(path, number)
        append(path, number // 2)
        if number % 3 == 0:
            compact(path, number)


def started(function: Callable[..., None], *given: Any) -> Any:
    process = CONTEXT.Process(target=function, args=given)
    process.start()
    return process
