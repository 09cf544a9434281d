"""Which parameters of an operation the states depend on that it keeps, as JSON."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from .operation import Operation

IN_WORDS = (float, Decimal, Fraction, datetime.date, datetime.timedelta, np.generic, pa.DataType)
"""Types of values that are said as Python writes them."""


def parameters_of(operation: Any) -> dict[str, Any]:
    """The parameters of an operation, and of those that it is made of, but for its ``result_parameters``.

    Attributes that begin with an underscore are no parameters; functions are, but what they do is not known.

    >>> import framefold as ff
    >>> parameters_of(ff.TopN("x", 3)), parameters_of(ff.Filtered(ff.Variance("x", ddof=0), "up"))
    ({'n': 3}, {'predicate': 'up'})
    """
    left_out = {"columns", *operation.result_parameters}
    found: dict[str, Any] = as_json(
        {
            name: value
            for name, value in sorted(vars(operation).items())
            if name not in left_out
            and not name.startswith("_")
            and not isinstance(getattr(type(operation), name, None), cached_property)
        }
    )
    return found


def as_json(value: Any) -> Any:
    """A parameter as JSON; None for what cannot be compared, such as a function."""
    if isinstance(value, Operation):
        return parameters_of(value)
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        parts = {str(name): as_json(each) for name, each in value.items()}
        return {name: each for name, each in parts.items() if each not in (None, {}, [])}
    if isinstance(value, (list, tuple)):
        return [as_json(each) for each in value]
    if isinstance(value, np.ndarray):
        return as_json(value.tolist())
    if isinstance(value, np.ufunc):
        return value.__name__
    return str(value) if isinstance(value, IN_WORDS) else None
