from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

def transpose(source: NDArray[Any], target: NDArray[Any]) -> None: ...
def window_sums(values: Ints, width: int, sums: Ints) -> None: ...
def range_sums(values: Ints, begin: Ints, end: Ints, sums: Ints) -> None: ...
def range_extremes(
    values: NDArray[Any], begin: Ints, end: Ints, least: bool, behind: NDArray[Any], found: NDArray[Any]
) -> None: ...
def begin_runs(low: Ints, high: Ints, first: Ints) -> int: ...
def plane_sums(
    high: Floats,
    low: Floats,
    width: int,
    begin: Ints | None,
    end: Ints | None,
    adders: tuple[float, float, float],
    sums: Floats,
    lost: Floats | None,
) -> bool: ...
