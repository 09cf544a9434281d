"""What a contender is asked to do: which events, in which windows, which aggregates. Nothing but the standard library.

A job travels as JSON to processes of other environments, so the numbers are plain: times are microseconds.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

SUM_AND_COUNT = (("total", "sum", "x"), ("events", "count", ""))
"""The outputs of the reference job."""


@dataclass(frozen=True)
class Job:
    """One query over one file of events.

    Parameters
    ----------
    path
        A Parquet file, or a folder of them, with the time ``t``.
    kind
        ``"sliding"``: windows of ``size`` each ``every`` on a grid from the epoch, those without an event left out.
        ``"around"``: for each event the ``size`` before it, both ends included. ``"rows"``: for each event the last
        ``size`` events of its key. ``"landmark"``: all since the first event's day, each ``every``. ``"hottest"``:
        as sliding, and of each window the keys whose count is greatest. ``"own"``: as sliding, the geometric mean of
        ``x`` by Python code of the user's own.
    keys
        The columns of the key.
    size, every
        In microseconds; ``size`` in events for ``"rows"``.
    outputs
        Name, operation (sum, count, min, max, avg, var) and column of each output.
    ties
        The column that orders events of one time, where that matters.
    csv
        The same events as text, for whoever cannot read Parquet.
    partitions
        The number of tasks of a shuffle; 0 for one a core. The file has as many parts.
    time
        What ``t`` is: ``"utc"``, a timestamp of that zone; ``"naive"``, one without a zone; ``"integer"``,
        microseconds.
    nulls
        Whether values may be null, and so sums of them.
    """

    path: str
    kind: str = "sliding"
    keys: tuple[str, ...] = ("k",)
    size: int = HOUR
    every: int = MINUTE
    outputs: tuple[tuple[str, str, str], ...] = SUM_AND_COUNT
    ties: str = ""
    csv: str = ""
    partitions: int = 0
    time: str = "utc"
    nulls: bool = False

    @property
    def place(self) -> str:
        """The column that says which window of its key a result is of."""
        return "at" if self.kind in ("around", "rows") else "start"

    @property
    def order(self) -> str:
        """The columns that events are ordered by, as SQL."""
        return f"t, {self.ties}" if self.ties else "t"

    @property
    def names(self) -> list[str]:
        """The columns of the outputs."""
        return [name for name, _, _ in self.outputs]

    def to_json(self) -> str:
        """The job as text."""
        return json.dumps(asdict(self))


def from_json(text: str) -> Job:
    """A job from its text."""
    read = json.loads(text)
    return Job(**read | {"keys": tuple(read["keys"]), "outputs": tuple(map(tuple, read["outputs"]))})
