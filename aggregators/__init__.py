"""WHAT is computed: aggregate operations. Knows neither windows nor Spark."""

from .distinct import CollectSet, CountDistinct, DistinctSum, Mode
from .ewma import Ewma
from .extremes import Max, Min
from .frames import Frames
from .higher import Kurtosis, Skewness
from .histogram import Histogram
from .lists import CollectList, Concat, FirstN, LastN
from .logic import BitAnd, BitOr, BitXor, BoolAnd, BoolOr, CountIf
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
from .sums import Average, Count, Sum

__all__ = [
    "AggregateOperation",
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
    "DistinctSum",
    "Ewma",
    "First",
    "FirstN",
    "Frames",
    "GeometricMean",
    "HarmonicMean",
    "Histogram",
    "Kurtosis",
    "Last",
    "LastN",
    "LinearTrend",
    "Max",
    "Median",
    "Min",
    "Mode",
    "Operation",
    "Product",
    "PythonOperation",
    "Quantile",
    "Range",
    "RootMeanSquare",
    "Skewness",
    "State",
    "StdDev",
    "Sum",
    "TopN",
    "Variance",
    "WeightedAverage",
]
