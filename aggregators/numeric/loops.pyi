from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64] | NDArray[np.float32] | NDArray[np.int64] | NDArray[np.int32]

def largest(values: NDArray[np.float64]) -> float: ...
def add_parts(
    values: NDArray[np.float64],
    index: NDArray[np.intp],
    first: float,
    second: float,
    sums: NDArray[np.int64],
) -> bool: ...
def left_of_parts(
    values: NDArray[np.float64],
    index: NDArray[np.intp],
    first: float,
    second: float,
    rest: NDArray[np.float64],
    group: NDArray[np.intp],
) -> int: ...
def join_parts(
    sums: NDArray[np.int64],
    first: float,
    second: float,
    step: int,
    unit: float,
    high: NDArray[np.float64],
    low: NDArray[np.float64],
) -> None: ...
def add_pairs(
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    index: NDArray[np.intp],
    sums: NDArray[np.float64],
    lows: NDArray[np.float64],
) -> None: ...
def add_integers(values: NDArray[np.int64], index: NDArray[np.intp], sums: NDArray[np.int64]) -> None: ...
def number_codes(codes: NDArray[np.int64], places: NDArray[np.int32]) -> int: ...
def number_rows(codes: NDArray[np.int64], places: NDArray[np.int32], first: NDArray[np.intp]) -> None: ...
def unite(left: NDArray[np.int64], right: NDArray[np.int64], both: NDArray[np.int64]) -> int: ...
def number_ascending(
    codes: NDArray[np.int64], values: NDArray[np.int64], start: int, first: NDArray[np.intp]
) -> None: ...
def sort_by_bits(values: NDArray[np.int64], other: NDArray[np.int64], low: int, high: int) -> None: ...
def group_sorted(
    both: NDArray[np.int64], bits: int, group: NDArray[np.intp], first: NDArray[np.intp], counts: NDArray[np.int64]
) -> int: ...
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
