"""WHAT is computed: aggregate operations. Knows neither windows nor Spark."""

from .extremes import Max, Min
from .frames import Frames
from .numeric import Average, Count, StdDev, Sum, Variance
from .operation import AggregateOperation, Operation, State
from .positional import First, Last
from .python import PythonOperation

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
