from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

def transpose(source: NDArray[Any], target: NDArray[Any]) -> None: ...
def steps_of_one(low: Ints, high: Ints) -> bool: ...
def window_sums(values: Ints, width: int, sums: Ints) -> None: ...
def two_plane_sums(
    high: Floats, low: Floats, width: int, first: float, second: float, left: float, sums: Floats, lost: Floats | None
) -> bool: ...
def three_plane_sums(
    high: Floats, low: Floats, width: int, adders: tuple[float, float, float], sums: Floats, lost: Floats | None
) -> bool: ...
def three_plane_sums_of(
    high: Floats,
    low: Floats,
    begin: Ints,
    end: Ints,
    adders: tuple[float, float, float],
    sums: Floats,
    lost: Floats | None,
) -> bool: ...
