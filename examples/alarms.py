"""Alarms of sensors: readings that are far from the thirty before them, by an aggregate of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import framefold as ff

ROWS, FAR = 30, 6.0


class MeanAndSpread(ff.AggregateOperation):
    """The mean of whole numbers, and how far they are from it on average: exact sums, so windows slide by deduct."""

    state = {"sum": "int64", "squares": "int64", "count": "int64"}
    result = pa.struct({"mean": pa.float64(), "spread": pa.float64()})

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"sum": frames.sum(x), "squares": frames.sum(x.astype("int64") ** 2), "count": frames.count(x)}

    def combine(self, a: Any, b: Any) -> Any:
        return {name: a[name] + b[name] for name in self.state}

    def deduct(self, a: Any, b: Any) -> Any:
        return {name: a[name] - b[name] for name in self.state}

    def finish(self, a: Any) -> Any:
        mean = a["sum"] / a["count"]
        spread = np.sqrt(a["squares"] / a["count"] - mean**2)
        return pa.StructArray.from_arrays([mean, spread], ["mean", "spread"])


def alarms(readings: pa.Table) -> pa.Table:
    """The readings that are more than six spreads from the mean of the thirty readings of their sensor before them.

    Parameters
    ----------
    readings
        ``sensor``, ``time`` and ``value`` (whole numbers); a sensor has at most one at a time.
    """
    before = (
        ff.events(readings, time="time", by="sensor")
        .window(ff.around(rows=(-ROWS, -1)))
        .aggregate(usual=MeanAndSpread("value"))
    )
    mean, spread = before["usual"].combine_chunks().flatten()
    before = pa.table({"sensor": before["sensor"], "time": before["at"], "mean": mean, "spread": spread})
    both = readings.join(before, ["sensor", "time"], join_type="inner")
    far = pc.abs(pc.subtract(both["value"].cast("double"), both["mean"]))
    found = both.filter(pc.greater(far, pc.multiply(both["spread"], FAR)))
    return found.sort_by([("sensor", "ascending"), ("time", "ascending")])


def make(rows: int = 5_000, seed: int = 4) -> pa.Table:
    """Made-up readings, a few of which are wrong."""
    random = np.random.default_rng(seed)
    seconds = random.choice(86_400, rows, replace=False)
    value = random.normal(2_000, 20, rows) + np.where(random.random(rows) < 0.002, 400, 0)
    return pa.table(
        {
            "sensor": random.integers(0, 8, rows),
            "time": np.datetime64("2024-05-01", "us") + seconds.astype("timedelta64[s]"),
            "value": value.astype("int64"),
        }
    )


if __name__ == "__main__":
    table = make()
    ff.check_laws(MeanAndSpread("value"), table.slice(0, 200))
    found = alarms(table)
    print(f"{len(found)} of {len(table)} readings are alarms:")
    for row in found.slice(0, 3).to_pylist():
        print(f"sensor {row['sensor']}, {row['time']:%H:%M:%S}: {row['value']}, usually {row['mean']:.0f}")
