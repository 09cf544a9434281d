"""Product."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ..contract.frames import Frames, Values
from ..contract.numeric_columns import floats
from ..contract.operation import OfNumbers, OneColumn, State
from ..states.arrays import Floats, Ints

__all__ = ["Product"]

FACTORS = 512
"""Factors from 0.5 to 1 that are multiplied at once; twice as many would come near the least float."""


class Product(OneColumn, OfNumbers):
    """The product of a column of numbers, as float64; null where a window has none. As Spark's ``product``.

    Mantissas and exponents are multiplied separately: only a product that is itself beyond float64 is inf, or 0. NaN
    and inf propagate as in IEEE 754 (``0 * inf`` is NaN). There is no deduct, since a division rounds and cannot undo a
    zero: it slides by two-stacks.

    Parameters
    ----------
    column
        Integers, floats or decimals.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "x": [2.0**1000, 2.0**1000, 2.0**-1000, 2.0**-1000]})
    >>> ff.events(events, time="t").window(ff.tumbling(4)).aggregate(p=ff.Product("x"))["p"].to_pylist()
    [1.0]
    """

    state = {"mantissa": "float64", "exponent": "int64", "count": "int64"}

    def create(self) -> Mapping[str, Any]:
        return {"mantissa": 1.0, "exponent": 0, "count": 0}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        mantissa, exponent = split(floats(columns[0]))
        count = frames.count()
        if count.max() <= FACTORS:
            product = np.ones(frames.size)
            np.multiply.at(product, frames.index, mantissa)
            product, more = split(product)
            return {"mantissa": product, "exponent": frames.sum(exponent) + more, "count": count}
        order = np.argsort(frames.index, kind="stable")
        mantissa, exponent, index = mantissa[order], exponent[order], frames.index[order]
        while len(index) > frames.size:  # each time there are 512 times fewer factors left
            first = np.searchsorted(index, index)
            starts = np.flatnonzero((np.arange(len(index)) - first) % FACTORS == 0)
            mantissa, more = split(np.multiply.reduceat(mantissa, starts))
            exponent = np.add.reduceat(exponent, starts) + more
            index = index[starts]
        return {"mantissa": mantissa, "exponent": exponent, "count": count}

    def combine(self, a: State, b: State) -> State:
        mantissa, more = split(a["mantissa"] * b["mantissa"])
        return {
            "mantissa": mantissa,
            "exponent": a["exponent"] + b["exponent"] + more,
            "count": a["count"] + b["count"],
        }

    def finish(self, a: State) -> Any:
        exponent = np.clip(a["exponent"], -5000, 5000)  # beyond these it is 0 or inf anyway
        return pa.array(np.ldexp(a["mantissa"], exponent), mask=a["count"] == 0)


def split(values: Floats) -> tuple[Floats, Ints]:
    """Mantissas from 0.5 to 1 (0, NaN and inf as they are) and exponents of 2."""
    mantissa, exponent = np.frexp(values)
    return mantissa, exponent.astype(np.int64)
