from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64] | NDArray[np.float32] | NDArray[np.int64] | NDArray[np.int32]

def largest(values: NDArray[np.float64]) -> float: ...
def add_parts(
    values: NDArray[np.float64],
    index: NDArray[np.intp],
    cut: float,
    above: NDArray[np.float64],
    below: NDArray[np.float64],
    counts: NDArray[np.intp],
) -> None: ...
def add_pairs(
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    index: NDArray[np.intp],
    sums: NDArray[np.float64],
    lows: NDArray[np.float64],
) -> None: ...
def number_codes(codes: NDArray[np.int64], places: NDArray[np.int64], group: NDArray[np.intp]) -> int: ...
def reach(values: NDArray[np.int64], starts: NDArray[np.int64], distance: int, found: NDArray[np.int64]) -> None: ...
def add_deviations(
    values: NDArray[np.float64], index: NDArray[np.intp], cut: float, sums: NDArray[np.float64]
) -> None: ...
def take_least(values: Values, index: NDArray[np.intp], found: Values) -> None: ...
def take_greatest(values: Values, index: NDArray[np.intp], found: Values) -> None: ...
def join_deviations(
    left: Sequence[NDArray[Any]], right: Sequence[NDArray[Any]], made: Sequence[NDArray[Any]], ordinary: float
) -> bool: ...
def join_groups_of_deviations(
    columns: Sequence[NDArray[Any]], index: NDArray[np.intp], made: Sequence[NDArray[Any]], ordinary: float
) -> bool: ...
