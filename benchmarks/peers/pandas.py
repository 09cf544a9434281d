"""pandas: two stages with ``rolling``, ``rolling`` over the events, and a loop over windows for a user's function."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from ..jobs import Job

MERGED = {"sum": "sum", "count": "sum", "min": "min", "max": "max", "avg": "mean", "var": "var"}


def read(job: Job) -> pd.DataFrame:
    """Time, keys and what the outputs need."""
    columns = {column for _, _, column in job.outputs if column}
    return pd.read_parquet(job.path, columns=["t", *job.keys, *sorted(columns), *[job.ties] * bool(job.ties)])


def two_stages(job: Job) -> pd.DataFrame:
    """One row a key and step on a full grid, then ``rolling`` over the steps of a window."""
    if not {operation for _, operation, _ in job.outputs} <= {"sum", "count", "min", "max"}:
        raise NotImplementedError("sum, count, min and max only")
    keys, steps, found = list(job.keys), job.size // job.every, {}
    events = read(job)
    step = (events["t"].astype("int64") // job.every).rename("step")
    groups = events.groupby([*keys, step], sort=True)
    for name, operation, column in job.outputs:
        parts = getattr(groups[column], operation)() if column else groups.size()
        grid = parts.unstack(keys)
        grid = grid.reindex(range(grid.index[0], grid.index[-1] + steps))
        rolled = getattr(grid.rolling(steps, min_periods=1), MERGED[operation])()
        found[name] = rolled.unstack().dropna()
    table = pd.DataFrame(found).dropna().reset_index(names=[*keys, "step"])
    return table.assign(start=table["step"] * job.every - (job.size - job.every))


def rolling(job: Job) -> pd.DataFrame:
    """``rolling`` over the events of each key, by time or by rows."""
    keys = list(job.keys)
    events = read(job).sort_values([*keys, *job.order.split(", ")], kind="stable").reset_index(drop=True)
    by_time = job.kind == "around"
    windows = events.groupby(keys, sort=True).rolling(
        pd.Timedelta(job.size, "us") if by_time else job.size,
        min_periods=1,
        **({"on": "t", "closed": "both"} if by_time else {}),
    )
    found = {
        name: getattr(windows[column or "x"], MERGED[operation] if column else "count")().to_numpy()
        for name, operation, column in job.outputs
    }
    return events[keys].assign(at=events["t"].astype("int64"), **found)


def own(job: Job) -> pd.DataFrame:
    """Each window's events, cut out of its key's, to a Python function."""
    found = []
    events = pd.read_parquet(job.path, columns=["t", *job.keys, "x"])
    for key, group in events.groupby(list(job.keys), sort=True):
        times, x = group["t"].astype("int64").to_numpy(), group["x"].to_numpy()
        last = times[-1] // job.every * job.every
        starts = np.arange(times[0] // job.every * job.every - job.size + job.every, last + 1, job.every)
        low, high = np.searchsorted(times, starts), np.searchsorted(times, starts + job.size)
        means = [np.exp(np.log(x[i:j]).mean()) if i < j else np.nan for i, j in zip(low, high, strict=True)]
        named = dict(zip(job.keys, key, strict=True))
        found.append(pd.DataFrame(named | {"start": starts, "mean": means}).dropna())
    return pd.concat(found)


def consume(result: pd.DataFrame) -> None:
    """Nothing is left to compute."""


def save(result: pd.DataFrame, job: Job, path: str) -> None:
    """Write the result."""
    result[[*job.keys, job.place, *job.names]].to_parquet(path, index=False)


def versions() -> dict[str, str]:
    """What runs here."""
    return {"pandas": pd.__version__}


WAYS: dict[str, Callable[[Job], pd.DataFrame]] = {"two_stages": two_stages, "rolling": rolling, "python": own}
