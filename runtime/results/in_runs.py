"""The results of states, in several arrays where one has no room for them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from ...aggregators.contract.operation import State
from ...aggregators.errors import OperationError
from ...aggregators.states import large
from ...aggregators.states.arrays import Ints
from ...aggregators.states.large import is_limited, joined, runs
from ...aggregators.states.objects import Objects
from ...aggregators.states.ragged import RaggedField
from ...aggregators.states.rows import take
from ..plan.plan import Plan


def finished_in_runs(plan: Plan, name: str, longest: Mapping[str, int], states: State) -> pa.Array | pa.ChunkedArray:
    """The results of an output's states, in several arrays where one has no room for them.

    Raises
    ------
    OperationError
        If it has none for the result of a single state.
    """
    bound = plan.outputs[name]
    found: list[Ints] = []
    for key, length in longest.items():
        kind = bound.fields[key]
        assert isinstance(kind, (RaggedField, Objects))
        sizes = kind.sizes(states[key], length)
        found += [] if sizes is None else [sizes]
    if not found:
        return bound.finish(states)
    each = np.maximum.reduce(found)
    if is_limited(bound.result) and int(each.max()) > large.ARRAY_BYTES:
        raise OperationError(
            f"{bound.spec!r} for {name!r} has {int(each.max()):,} items or bytes of text in one window, and a value of "
            f"{bound.result} has room for {large.ARRAY_BYTES:,}; expected shorter windows, or a column of large strings"
        )
    return joined([bound.finish(take(states, run)) for run in runs(each)])
