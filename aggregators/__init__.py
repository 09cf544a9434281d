"""WHAT is computed: aggregate operations. Knows neither windows nor Spark."""

from .extremes import Max, Min
from .frames import Frames
from .moments import StdDev, Variance
from .operation import AggregateOperation, Operation, State
from .positional import First, Last
from .python import PythonOperation
from .sums import Average, Count, Sum

__all__ = [
    "AggregateOperation",
    "Average",
    "Count",
    "First",
    "Frames",
    "Last",
    "Max",
    "Min",
    "Operation",
    "PythonOperation",
    "State",
    "StdDev",
    "Sum",
    "Variance",
]
