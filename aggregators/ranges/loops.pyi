from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]

def select(
    code: Codes, weight: Ints | None, codes: int, low: Ints, high: Ints, rank: Ints, found: Codes, following: Codes
) -> None: ...
def count_distinct(code: Codes, codes: int, low: Ints, high: Ints, found: Ints) -> None: ...
def list_codes(
    code: Codes,
    weight: Ints | None,
    codes: int,
    low: Ints,
    high: Ints,
    offsets: Ints,
    found: Codes,
    counts: Ints | None,
) -> None: ...
def most_frequent(code: Codes, weight: Ints | None, codes: int, low: Ints, high: Ints, found: Codes) -> None: ...
def offsets_of_ranges(begin: Ints, end: Ints, most: int, offsets: Ints) -> None: ...
def items_of_ranges(values: NDArray[Any], edges: Ints, last: bool, offsets: Ints, found: NDArray[Any]) -> None: ...
def keys_of_floats(values: NDArray[np.float64], keys: Ints) -> None: ...
def code_groups(
    values: Ints, starts: Ints, distinct: bool, code: Codes, first: NDArray[np.intp], order: NDArray[np.intp]
) -> int: ...
def order_values(values: Ints, order: NDArray[np.intp]) -> None: ...
