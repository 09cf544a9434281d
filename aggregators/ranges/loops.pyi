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
def order_values(values: Ints, order: NDArray[np.intp]) -> None: ...
