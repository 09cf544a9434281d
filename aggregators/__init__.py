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

import types

from .combinators.all_of import *
from .combinators.elementwise import *
from .combinators.filtered import *
from .combinators.grouped import *
from .combinators.mapped import *
from .combinators.ohlc import *
from .combinators.reducing import *
from .contract.frames import *
from .contract.operation import *
from .contract.python_operation import *
from .distributions.cardinality_sketches import *
from .distributions.distinct import *
from .distributions.histogram import *
from .distributions.quantiles import *
from .distributions.value_sketches import *
from .extremes.boolean_bitwise import *
from .extremes.min_max import *
from .extremes.value_range import *
from .intervals.between_events import *
from .intervals.time_weighted import *
from .moments.covariance import *
from .moments.means import *
from .moments.skewness_kurtosis import *
from .moments.variance import *
from .ordered.collect import *
from .ordered.first_last import *
from .ordered.top_n import *
from .sums.ewma import *
from .sums.products import *
from .sums.sums import *

# What the modules above say in their ``__all__``.
__all__ = [name for name, value in globals().items() if name[0] != "_" and not isinstance(value, types.ModuleType)]

# For operations of one's own, and not in framefold.
from .contract.operation import Operation as Operation
from .states.ragged import Ragged as Ragged
