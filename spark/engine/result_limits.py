"""Results on the driver, as far as there is room for them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...runtime.plan.plan import Plan
from ...runtime.results.chunks import bytes_of_results, results_in_pieces

AUTO_RESULT_BYTES = 256 << 20
"""Results beyond this are not sent from the driver to the JVM when the choice is ours: its heap may be 1 GB."""

DRIVER_RESULT_BYTES = 1 << 30
"""Beyond this they are not even made there, whoever chooses: rather an error than a driver that is killed."""


def within_budget(plan: Plan, partials: pa.Table, starts: NDArray[np.intp]) -> pa.Table | None:
    """All results of merged partials, unless they take more than ``AUTO_RESULT_BYTES``.

    Parameters
    ----------
    query
        What to compute.
    partials, starts
        As ``Plan.by_key`` gives them.
    """
    if bytes_of_results(plan, partials, starts) > AUTO_RESULT_BYTES:
        return None
    return results(plan, partials, starts, AUTO_RESULT_BYTES)


def results(plan: Plan, partials: pa.Table, starts: NDArray[np.intp], most: int) -> pa.Table | None:
    """All results; None as soon as those that there are take more than so many bytes."""
    tables, size = [], 0
    for table in results_in_pieces(plan, partials, starts):
        size += table.nbytes
        if size > most:
            return None
        tables.append(table)
    return pa.concat_tables(tables)
