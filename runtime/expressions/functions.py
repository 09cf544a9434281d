"""Functions of pyarrow's expressions that give null where pyarrow's own fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WHOLE_TEXT = r"^[+-]?[0-9]{1,37}\z"
DOUBLE_TEXT = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"
DATE_TEXT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\z"
TIME_TEXT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)?\z"
"""Text that all engines read as the same number, date or time."""
WIDE, INT64 = pa.decimal256(19, 0), (-(1 << 63), (1 << 63) - 1)


def exact(name: str) -> Callable[..., Any]:
    """A function of two whole numbers, null where its result has more than 64 bits."""
    fast, wrapped = getattr(pc, f"{name}_checked"), getattr(pc, name)

    def function(context: Any, left: Any, right: Any) -> Any:
        try:
            return fast(left, right)
        except pa.ArrowInvalid:
            fits = has_64_bits(wrapped(pc.cast(left, WIDE), pc.cast(right, WIDE)))
            return pc.if_else(fits, wrapped(left, right), pa.scalar(None, pa.int64()))

    return function


def has_64_bits(wide: Any) -> Any:
    """Which decimals are whole numbers of 64 bits."""
    low, high = (pa.scalar(each, wide.type) for each in INT64)
    return pc.and_(pc.greater_equal(wide, low), pc.less_equal(wide, high))


def remainder(context: Any, left: Any, right: Any) -> Any:
    """The remainder of a division, with the sign of the dividend; null for a division by zero."""
    rows = next((len(each) for each in (left, right) if isinstance(each, pa.Array)), 1)
    columns = [each if isinstance(each, pa.Array) else pa.repeat(each, rows) for each in (left, right)]
    known = pc.and_(
        pc.and_(columns[0].is_valid(), columns[1].is_valid()), pc.fill_null(pc.not_equal(columns[1], 0), False)
    )
    values = [pc.fill_null(each, 1).to_numpy(zero_copy_only=False) for each in columns]
    with np.errstate(all="ignore"):
        found = np.fmod(values[0], np.where(values[1] == 0, 1, values[1]))
    return pa.array(found, columns[0].type, mask=~known.to_numpy(zero_copy_only=False))


def matching(text: Any, pattern: str) -> Any:
    """Text without spaces at its ends; null where it does not match a pattern."""
    text = pc.utf8_trim(text if isinstance(text, pa.Array) else pa.array([text.as_py()], pa.string()), " ")
    return pc.if_else(pc.match_substring_regex(text, pattern), text, pa.scalar(None, text.type))


def whole_of_text(context: Any, text: Any) -> Any:
    """Whole numbers of text."""
    wide = matching(text, WHOLE_TEXT).cast(pa.decimal128(38, 0))
    return pc.if_else(has_64_bits(wide), wide, pa.scalar(None, wide.type)).cast(pa.int64())


def double_of_text(context: Any, text: Any) -> Any:
    """Doubles of text."""
    return matching(text, DOUBLE_TEXT).cast(pa.float64())


def date_of_text(context: Any, text: Any) -> Any:
    """Dates of text."""
    text = matching(text, DATE_TEXT)
    days = pc.strptime(text, "%Y-%m-%d", "us", error_is_null=True).cast(pa.date32())
    return pc.if_else(pc.equal(days.cast(text.type), text), days, pa.scalar(None, days.type))


def time_of_text(context: Any, text: Any) -> Any:
    """Times without a zone of text such as ``2026-05-01 12:00:00.5``."""
    text = matching(text, TIME_TEXT)
    day, clock = pc.utf8_slice_codeunits(text, 0, 10), pc.utf8_slice_codeunits(text, 11, 19)
    seconds = pc.if_else(pc.equal(clock, ""), "00:00:00", clock)
    written = pc.binary_join_element_wise(day, seconds, " ")
    found = pc.strptime(written, "%Y-%m-%d %H:%M:%S", "us", error_is_null=True)
    real = pc.equal(pc.strftime(found.cast(pa.timestamp("s")), "%Y-%m-%d %H:%M:%S"), written)
    fraction = pc.utf8_rpad(pc.utf8_slice_codeunits(text, 20, 26), 6, "0").cast(pa.int64())
    micros = pc.add(found.cast(pa.int64()), fraction)
    return pc.if_else(real, micros, pa.scalar(None, pa.int64())).cast(pa.timestamp("us"))


WHOLE, DOUBLE, TEXT = pa.int64(), pa.float64(), pa.string()
FUNCTIONS: dict[str, tuple[Callable[..., Any], list[pa.DataType], pa.DataType]] = {
    "add": (exact("add"), [WHOLE, WHOLE], WHOLE),
    "subtract": (exact("subtract"), [WHOLE, WHOLE], WHOLE),
    "multiply": (exact("multiply"), [WHOLE, WHOLE], WHOLE),
    "whole_remainder": (remainder, [WHOLE, WHOLE], WHOLE),
    "remainder": (remainder, [DOUBLE, DOUBLE], DOUBLE),
    "whole_of_text": (whole_of_text, [TEXT], WHOLE),
    "double_of_text": (double_of_text, [TEXT], DOUBLE),
    "date_of_text": (date_of_text, [TEXT], pa.date32()),
    "time_of_text": (time_of_text, [TEXT], pa.timestamp("us")),
}


def call(name: str, *arguments: pc.Expression) -> pc.Expression:
    """The expression that calls one of these functions."""
    return pc.Expression._call(f"framefold_{name}", list(arguments))


# Before an expression that calls them is bound to a schema: tasks that read files import this, too.
for name, (function, taken, given) in FUNCTIONS.items():
    types = {f"x{at}": type for at, type in enumerate(taken)}
    doc = {"summary": f"{name} of ff.expr", "description": ""}
    pc.register_scalar_function(function, f"framefold_{name}", doc, types, given)
