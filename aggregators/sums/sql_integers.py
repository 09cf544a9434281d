"""Sums of integers or decimals that do not wrap, by a database whose own sums have 64 bits or 38 digits."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from ..contract.operation import State
from ..contract.sql_spec import Planes, SqlSpec
from ..states.limbs import BITS, MASK, Exact

MICROSECOND = "interval '0.000001' second"

SUM_DIGITS = 10
"""A sum of decimals in Spark has this many digits more than they have, but at most 38."""


def sums(type: pa.DataType) -> SqlSpec | None:
    """How the states of sums of a type are accumulated, limb by limb for 64 bits; None where sums could be too long.

    Those of durations are in microseconds, as Spark has them.
    """
    count = {"count": "count({0})"}
    if pa.types.is_decimal(type):
        wide = type.precision + SUM_DIGITS > 38
        return None if wide else SqlSpec({"total": "sum({0})", **count}, lambda of: states(of, Exact.of_decimals))
    if type.bit_width < 64:
        value = "cast({0} as int)" if pa.types.is_boolean(type) else "{0}"
        return SqlSpec(
            {"total": f"sum({value})", **count}, lambda of: states(of, lambda total: Exact.of(total.to_numpy()))
        )
    value = f"({{0}} div {MICROSECOND})" if pa.types.is_duration(type) else "{0}"
    return SqlSpec({"low": f"sum({value} & {MASK})", "high": f"sum(shiftright({value}, {BITS}))", **count}, limbs)


def states(planes: Planes, of: Callable[[pa.Array], Exact]) -> State:
    """States of totals in one column."""
    zero = pa.scalar(0, planes["total"].type)
    return {"total": of(planes["total"].fill_null(zero)).carried(), "count": planes["count"].to_numpy()}


def limbs(planes: Planes) -> State:
    """States of totals in two."""
    both = [planes[name].fill_null(0).to_numpy() for name in ("low", "high")]
    return {"total": Exact(both).carried(), "count": planes["count"].to_numpy()}
