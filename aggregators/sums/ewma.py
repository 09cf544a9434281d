"""Ewma: an exponentially weighted mean by event time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np
import pyarrow as pa

from .. import loops
from ..contract.aggregate import StateRanges
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.numeric_columns import floats
from ..contract.operation import OfNumbers, State
from ..durations import Duration, Length, fixed
from ..errors import QueryError
from ..states.arrays import Floats, Ints
from ..states.double_double import two_sum

__all__ = ["Ewma"]

FLAGS = ("nan", "positive", "negative")
"""The fields that say whether there is a NaN or an infinite value."""

LARGE = 2.0**1000
"""Differences of means below this are finite."""


class Ewma(OfNumbers):
    """The exponentially weighted mean of a column of numbers by event time; null where a window has none.

    An event weighs ``0.5 ** ((t_last - t) / half_life)``, t_last being the time of the window's last event whose
    column is not null (S. Müller, "Specially Weighted Moving Averages with Repeated Application of the EMA Operator",
    2000). NaN where a window has a NaN, or infinite values of both signs, however little they weigh.

    States are the time of the last event, the sum of the weights relative to it, and the mean (with what rounding
    lost of it), which are combined by the shares of the weights as means of a variance are.

    Parameters
    ----------
    column
        Integers, floats or decimals.
    half_life
        The time after which an event weighs half as much: a duration such as ``"10 minutes"``, or an integer where the
        time is an integer.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 10, 20], "x": [0.0, 0.0, 7.0]})
    >>> ff.events(events, time="t").window(ff.tumbling(30)).aggregate(x=ff.Ewma("x", 10))["x"].to_pylist()
    [4.0]
    """

    uses_order = True
    state = {
        "last": "int64",
        "weight": "float64",
        "mean": "float64",
        "mean_low": "float64",
        "nan": "bool",
        "positive": "bool",
        "negative": "bool",
    }

    def __init__(self, column: ColumnLike, half_life: Duration) -> None:
        super().__init__(column)
        self.half_life = half_life
        self.ticks = self._in_ticks(_microseconds)

    def __repr__(self) -> str:
        return f"Ewma({self.columns[0]!r}, {self.half_life!r})" if hasattr(self, "half_life") else super().__repr__()

    def at_times(self, duration: Callable[[Duration, str], int]) -> Self:
        """The operation for a time column; ``duration`` gives the ticks of a duration."""
        return self.changed(ticks=self._in_ticks(duration))

    def _in_ticks(self, duration: Callable[[Duration, str], int]) -> int:
        ticks = duration(self.half_life, f"half_life= of {self!r}")
        if ticks <= 0:
            raise QueryError(f"half_life= of {self!r} is {self.half_life!r}; expected a duration above 0")
        return ticks

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        values = floats(columns[0])
        finite = np.isfinite(values)
        state: dict[str, Any] = dict.fromkeys(FLAGS, np.zeros(frames.size, bool))
        if frames.are_rows and finite.all():
            none, one = np.zeros(frames.size), np.ones(frames.size)
            return state | {"last": frames.ticks, "weight": one, "mean": values + 0.0, "mean_low": none}
        if not finite.all():
            kinds = {"nan": np.isnan(values), "positive": values == np.inf, "negative": values == -np.inf}
            for name, rows in kinds.items():
                state[name] = np.bincount(frames.index[rows], minlength=frames.size) > 0
            values = np.where(finite, values, 0.0)
        last = frames.ticks[frames.last_row]
        weights = self._decay(last[frames.index], frames.ticks)
        weight = frames.sum(weights)
        share = weights / weight[frames.index]
        mean = frames.compensated_sum(values * share).value()
        low = frames.sum((values - mean[frames.index]) * share)
        low = np.where(np.isfinite(low), low, 0.0)
        return state | {"last": last, "weight": weight, "mean": mean, "mean_low": low}

    def combine(self, a: State, b: State) -> State:
        names = ("last", "weight", "mean", "mean_low")
        (a_last, a_weight, a_mean, a_low), (b_last, b_weight, b_mean, b_low) = ([c[n] for n in names] for c in (a, b))
        last = np.where(a_weight == 0, b_last, np.where(b_weight == 0, a_last, np.maximum(a_last, b_last)))
        a_weight, b_weight = a_weight * self._decay(last, a_last), b_weight * self._decay(last, b_last)
        weight = a_weight + b_weight
        # From the heavier mean towards the lighter: a large value of tiny weight adds no rounding error.
        heavier = a_weight >= b_weight
        near, near_low = np.where(heavier, a_mean, b_mean), np.where(heavier, a_low, b_low)
        far, far_low = np.where(heavier, b_mean, a_mean), np.where(heavier, b_low, a_low)
        share = np.minimum(a_weight, b_weight) / np.where(weight > 0, weight, 1.0)
        mean, lost = two_sum(near, (far - near) * share)
        low = near_low + (lost + (far_low - near_low) * share)
        overflow = ~np.isfinite(mean)
        if overflow.any():
            mean = np.where(overflow, near * (1 - share) + far * share, mean)
        low = np.where(np.isfinite(low), low, 0.0)
        flags = {name: a[name] | b[name] for name in FLAGS}
        return flags | {"last": last, "weight": weight, "mean": mean, "mean_low": low}

    range_cost = "constant where windows only grow, else by two-stacks"
    answers_nested = False

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        filled, low, high = a["weight"] > 0, ranges.low, ranges.high
        if not filled.all():
            before = np.concatenate([[0], np.cumsum(filled)])
            low, high = before[low], before[high]
            a = {name: column[filled] for name, column in a.items()}
        last, columns = a["last"], [a[name] for name in ("weight", "mean", "mean_low")]
        none = None if (high > low).all() else high <= low
        some = slice(None) if none is None else np.flatnonzero(high > low)
        if any(a[name].any() for name in FLAGS) or not (np.abs(columns[1]) < LARGE).all() or not len(last):
            return None
        decay = self._decay(last, np.append(last[:1], last[:-1]))
        made = list(np.empty((3, len(low[some]))))
        starts = np.zeros(len(last), bool)
        starts[low[some]] = True
        if not ((last[1:] >= last[:-1]) | starts[1:]).all() or not loops.decayed_means(
            columns, decay, low[some], high[some], made
        ):
            return None
        result = np.empty(len(low))
        result[some] = made[1] + made[2]
        return pa.array(result, mask=none)

    def finish(self, a: State) -> Any:
        mean = a["mean"] + a["mean_low"]
        mean = np.where(a["positive"], np.inf, np.where(a["negative"], -np.inf, mean))
        mean[a["nan"] | (a["positive"] & a["negative"])] = np.nan
        return pa.array(mean, mask=a["weight"] == 0)

    def _decay(self, last: Ints, time: Ints) -> Floats:
        """The weight at ``last`` of what weighed 1 at ``time``; undefined where ``time`` is not that of an event."""
        return cast(Floats, np.exp2(-np.maximum(last - time, 0) / self.ticks))


def _microseconds(duration: Duration, argument: str) -> int:
    """Ticks of a duration where the time column is not known: those of a timestamp, or the integer itself."""
    found = fixed(duration, argument)
    return found.microseconds if isinstance(found, Length) else found
