"""What is computed: aggregate operations. Nothing here knows windows or Spark.

=================  =============================================================================================
folder             what is in it
=================  =============================================================================================
``sums``           Count, Sum, Average, Product, Ewma
``extremes``       Min, Max, Range, BoolAnd, BoolOr, CountIf, BitAnd, BitOr, BitXor
``moments``        means of other kinds, Variance, StdDev, Skewness, Kurtosis, Covariance, Correlation, LinearTrend
``ordered``        First, Last, ArgMin, ArgMax, TopN, BottomN, CollectList, Concat, FirstN, LastN
``distributions``  CountDistinct, CollectSet, Mode, DistinctSum, Quantile, Median, Histogram, and sketches
``intervals``      TimeWeightedAverage, Covered: of interval events; Delta, Rate, TimeInState: from event to event
``combinators``    AllOf, OHLC, Filtered, Mapped, FlatMapped, GroupedBy, ElementWise, Reducing
``contract``       what an operation is (``operation.py``), and one bound to column types (``bound.py``)
``states``         the types a field of a state can have
``numeric``        reductions of rows to groups
``loops``          what numpy takes several passes for, compiled where there was a compiler, or by numpy
``laws``           ``check_laws``
=================  =============================================================================================
"""

from typing import TYPE_CHECKING

from .contract.operation import Operation as Operation  # and Ragged: for operations of one's own, and not in framefold
from .operations import *
from .states.ragged import Ragged as Ragged

if not TYPE_CHECKING:
    from .operations import __all__ as __all__
