"""Whether two results are equal: the windows they have in common, and those that one of them leaves out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb

from .jobs import Job

CLOSE = 1e-9
"""Floats are the same up to this, of their size from 1 on: others have 4e-15 where ours is 0, by deducting floats.

Variances, which others make of sums of squares, are the same up to this itself."""
MOST = 4_000_000
"""Of results with more rows some keys are compared, all of their windows."""


@dataclass(frozen=True)
class Comparison:
    """What came of it.

    Attributes
    ----------
    common, differing
        Windows that both have, and how many of these differ.
    missing, added
        Windows that the other leaves out, and that only it has.
    example
        One that differs, as text.
    share
        What part of the keys was compared.
    """

    common: int
    differing: int
    missing: int
    added: int
    example: str = ""
    share: float = 1.0

    def wrong(self, leaves_out: bool) -> bool:
        """Whether that is an error of one of them, where the other may leave out windows or may not."""
        return bool(self.differing or self.added or (self.missing and not leaves_out))

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def source(path: Path) -> str:
    """A result as SQL."""
    return f"read_parquet('{path / '*.parquet' if path.is_dir() else path}')"


def alike(output: tuple[str, str, str]) -> str:
    """Whether an output is the same on both sides, as SQL."""
    name, operation, _ = output
    size = "1" if operation == "var" else f"greatest(abs(ours.{name}), abs(theirs.{name}), 1)"
    near = f"abs(ours.{name} - theirs.{name}) <= {CLOSE} * {size}"
    close = f"coalesce(isfinite(ours.{name}) AND isfinite(theirs.{name}) AND {near}, false)"  # NaN is the greatest here
    return f"(ours.{name} IS NOT DISTINCT FROM theirs.{name} OR {close})"


def compare(ours: Path, theirs: Path, job: Job) -> Comparison:
    """Compare another's result with ours, window by window."""
    connection = duckdb.connect()
    count = f"SELECT count(*) FROM {source(ours)}"
    rows = connection.execute(count).fetchall()[0][0]
    parts = -(-rows // MOST)
    some = f"WHERE hash({job.keys[0]}) % {parts} = 0" if parts > 1 else ""
    place = [*job.keys, f'"{job.place}"', "turn"]
    rounded = [f"round({name}::DOUBLE, 4)" for name in job.names]  # sums of hundredths, added up in any order
    turn = f"row_number() OVER (PARTITION BY {', '.join(place[:-1])} ORDER BY {', '.join(rounded)}) AS turn"
    if job.place == "start":
        turn = "1 AS turn"  # a window occurs once
    columns = ", ".join([*place[:-1], *(f"{name}::DOUBLE AS {name}" for name in job.names)])
    sides = [f"(SELECT {columns}, {turn}, true AS there FROM {source(path)} {some})" for path in (ours, theirs)]
    near = " AND ".join(map(alike, job.outputs))
    same = " AND ".join(f"ours.{name} IS NOT DISTINCT FROM theirs.{name}" for name in place)
    joined = f"FROM {sides[0]} ours FULL JOIN {sides[1]} theirs ON {same}"
    both = "ours.there AND theirs.there"
    found = connection.execute(
        f"SELECT count(*) FILTER ({both}), count(*) FILTER ({both} AND NOT ({near})), "
        f"count(*) FILTER (theirs.there IS NULL), count(*) FILTER (ours.there IS NULL), "
        f"arg_min((ours, theirs)::VARCHAR, 1) FILTER ({both} AND NOT ({near})) {joined}"
    ).fetchall()[0]
    common, differing, missing, added, example = found
    return Comparison(common, differing, missing, added, example or "", 1 / parts)
