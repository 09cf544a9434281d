"""The public names of the modules of operations: what these say in their ``__all__``."""

import types
import typing

from .combinators.all_of import *
from .combinators.elementwise import *
from .combinators.filtered import *
from .combinators.grouped import *
from .combinators.mapped import *
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

if not typing.TYPE_CHECKING:  # type checkers take all that the modules say
    __all__ = [name for name, value in globals().items() if name[0] != "_" and not isinstance(value, types.ModuleType)]
