"""Sliding-window aggregation for Apache Spark at a cost that does not depend on how far the windows overlap."""

from .aggregators import (
    AggregateOperation,
    Average,
    Count,
    First,
    Last,
    Max,
    Min,
    PythonOperation,
    StdDev,
    Sum,
    Variance,
)
from .aggregators.errors import (
    ColumnError,
    DroppedEventsWarning,
    DurationError,
    EngineError,
    FramefoldError,
    JavaError,
    LawError,
    NullTimeError,
    OperationError,
    QueryError,
    SumOverflowError,
)
from .aggregators.laws import check_laws
from .events import Events, Windowed, events, parquet, together
from .runtime.explain import Explanation
from .runtime.windows import sliding, tumbling

__version__ = "0.1.0"

__all__ = [
    "AggregateOperation",
    "Average",
    "ColumnError",
    "Count",
    "DroppedEventsWarning",
    "DurationError",
    "EngineError",
    "Events",
    "Explanation",
    "First",
    "FramefoldError",
    "JavaError",
    "Last",
    "LawError",
    "Max",
    "Min",
    "NullTimeError",
    "OperationError",
    "PythonOperation",
    "QueryError",
    "StdDev",
    "Sum",
    "SumOverflowError",
    "Variance",
    "Windowed",
    "__version__",
    "check_laws",
    "events",
    "parquet",
    "sliding",
    "together",
    "tumbling",
]
