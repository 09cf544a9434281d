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

from .combinators.all_of import AllOf
from .combinators.elementwise import ElementWise
from .combinators.filtered import Filtered
from .combinators.grouped import GroupedBy
from .combinators.mapped import FlatMapped, Mapped
from .combinators.ohlc import OHLC
from .combinators.reducing import Reducing
from .contract.frames import Frames
from .contract.operation import AggregateOperation, State
from .contract.operation import Operation as Operation  # and Ragged: for operations of one's own, and not in framefold
from .contract.python_operation import PythonOperation
from .distributions.cardinality_sketches import (
    ApproxCountDistinct,
    ThetaSketch,
    theta_difference,
    theta_estimate,
    theta_intersection,
    theta_union,
)
from .distributions.distinct import CollectSet, CountDistinct, DistinctSum, Mode
from .distributions.histogram import Histogram
from .distributions.quantiles import Median, Quantile
from .distributions.value_sketches import ApproxQuantile, FrequentItems
from .extremes.boolean_bitwise import BitAnd, BitOr, BitXor, BoolAnd, BoolOr, CountIf
from .extremes.min_max import Max, Min
from .extremes.value_range import Range
from .intervals.between_events import Delta, Rate, TimeInState
from .intervals.time_weighted import Covered, TimeWeightedAverage
from .moments.covariance import Correlation, Covariance, LinearTrend
from .moments.means import GeometricMean, HarmonicMean, RootMeanSquare, WeightedAverage
from .moments.skewness_kurtosis import Kurtosis, Skewness
from .moments.variance import StdDev, Variance
from .ordered.collect import CollectList, Concat, FirstN, LastN
from .ordered.first_last import First, Last
from .ordered.top_n import ArgMax, ArgMin, BottomN, TopN
from .states.ragged import Ragged as Ragged
from .sums.ewma import Ewma
from .sums.products import Product
from .sums.sums import Average, Count, Sum

Mean = Average

__all__ = [
    "OHLC",
    "AggregateOperation",
    "AllOf",
    "ApproxCountDistinct",
    "ApproxQuantile",
    "ArgMax",
    "ArgMin",
    "Average",
    "BitAnd",
    "BitOr",
    "BitXor",
    "BoolAnd",
    "BoolOr",
    "BottomN",
    "CollectList",
    "CollectSet",
    "Concat",
    "Correlation",
    "Count",
    "CountDistinct",
    "CountIf",
    "Covariance",
    "Covered",
    "Delta",
    "DistinctSum",
    "ElementWise",
    "Ewma",
    "Filtered",
    "First",
    "FirstN",
    "FlatMapped",
    "Frames",
    "FrequentItems",
    "GeometricMean",
    "GroupedBy",
    "HarmonicMean",
    "Histogram",
    "Kurtosis",
    "Last",
    "LastN",
    "LinearTrend",
    "Mapped",
    "Max",
    "Mean",
    "Median",
    "Min",
    "Mode",
    "Product",
    "PythonOperation",
    "Quantile",
    "Range",
    "Rate",
    "Reducing",
    "RootMeanSquare",
    "Skewness",
    "State",
    "StdDev",
    "Sum",
    "ThetaSketch",
    "TimeInState",
    "TimeWeightedAverage",
    "TopN",
    "Variance",
    "WeightedAverage",
    "theta_difference",
    "theta_estimate",
    "theta_intersection",
    "theta_union",
]
