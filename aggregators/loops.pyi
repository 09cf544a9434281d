import numpy as np
from numpy.typing import NDArray

def largest(values: NDArray[np.float64]) -> float: ...
def add_parts(
    values: NDArray[np.float64],
    index: NDArray[np.intp],
    cut: float,
    above: NDArray[np.float64],
    below: NDArray[np.float64],
    counts: NDArray[np.intp],
) -> None: ...
