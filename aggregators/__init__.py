"""WHAT is computed: aggregate operations. Knows neither windows nor Spark."""

from .composition import AllOf
from .distinct import CollectSet, CountDistinct, DistinctSum, Mode
from .distinct_sketches import (
    ApproxCountDistinct,
    ThetaSketch,
    theta_difference,
    theta_estimate,
    theta_intersection,
    theta_union,
)
from .elementwise import ElementWise
from .ewma import Ewma
from .extremes import Max, Min
from .filtered import Filtered
from .frames import Frames
from .grouped import GroupedBy
from .higher import Kurtosis, Skewness
from .histogram import Histogram
from .lifetimes import Covered, TimeWeightedAverage
from .lists import CollectList, Concat, FirstN, LastN
from .logic import BitAnd, BitOr, BitXor, BoolAnd, BoolOr, CountIf
from .mapping import FlatMapped, Mapped
from .means import GeometricMean, HarmonicMean, RootMeanSquare, WeightedAverage
from .moments import StdDev, Variance
from .operation import AggregateOperation, Operation, State
from .pairs import Correlation, Covariance, LinearTrend
from .positional import First, Last
from .products import Product
from .python import PythonOperation
from .quantiles import Median, Quantile
from .ranges import Range
from .ranked import ArgMax, ArgMin, BottomN, TopN
from .reducing import Reducing
from .sums import Average, Count, Sum
from .value_sketches import ApproxQuantile, FrequentItems

__all__ = [
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
    "Median",
    "Min",
    "Mode",
    "Operation",
    "Product",
    "PythonOperation",
    "Quantile",
    "Range",
    "Reducing",
    "RootMeanSquare",
    "Skewness",
    "State",
    "StdDev",
    "Sum",
    "ThetaSketch",
    "TimeWeightedAverage",
    "TopN",
    "Variance",
    "WeightedAverage",
    "theta_difference",
    "theta_estimate",
    "theta_intersection",
    "theta_union",
]
