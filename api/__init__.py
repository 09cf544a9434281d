"""Sliding-window aggregation for Apache Spark at a cost that does not depend on how far the windows overlap."""

import sys
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # else they are there when the first of them is asked for: the command line's help needs none
    from .aggregators import (
        AggregateOperation,
        AllOf,
        ApproxCountDistinct,
        ApproxQuantile,
        ArgMax,
        ArgMin,
        Average,
        BitAnd,
        BitOr,
        BitXor,
        BoolAnd,
        BoolOr,
        BottomN,
        CollectList,
        CollectSet,
        Concat,
        Correlation,
        Count,
        CountDistinct,
        CountIf,
        Covariance,
        Covered,
        DistinctSum,
        ElementWise,
        Ewma,
        Filtered,
        First,
        FirstN,
        FlatMapped,
        Frames,
        FrequentItems,
        GeometricMean,
        GroupedBy,
        HarmonicMean,
        Histogram,
        Kurtosis,
        Last,
        LastN,
        LinearTrend,
        Mapped,
        Max,
        Mean,
        Median,
        Min,
        Mode,
        Product,
        PythonOperation,
        Quantile,
        Range,
        Reducing,
        RootMeanSquare,
        Skewness,
        State,
        StdDev,
        Sum,
        ThetaSketch,
        TimeWeightedAverage,
        TopN,
        Variance,
        WeightedAverage,
        theta_difference,
        theta_estimate,
        theta_intersection,
        theta_union,
    )
    from .aggregators.errors import (
        CalendarWarning,
        ColumnError,
        DroppedEventsWarning,
        DurationError,
        EngineError,
        FarTimesWarning,
        FramefoldError,
        GapsWarning,
        JavaError,
        LawError,
        NullTimeError,
        OperationError,
        QueryError,
        SumOverflowError,
    )
    from .aggregators.laws.check import check_laws
    from .events import Events, Windowed
    from .reading import files, parquet
    from .relations import Relation, relation
    from .runtime.explain import Explanation
    from .runtime.windows import (
        around,
        by_count,
        by_delta,
        by_time,
        cumulating,
        landmark,
        last_rows,
        policy,
        session,
        sliding,
        snapshot,
        tumbling,
    )
    from .start import events
    from .stream_metrics import stream_metrics
    from .together import together
    from .windows import windows_from

__version__: str

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
    "CalendarWarning",
    "ColumnError",
    "Concat",
    "Correlation",
    "Count",
    "CountDistinct",
    "CountIf",
    "Covariance",
    "Covered",
    "DistinctSum",
    "DroppedEventsWarning",
    "DurationError",
    "ElementWise",
    "EngineError",
    "Events",
    "Ewma",
    "Explanation",
    "FarTimesWarning",
    "Filtered",
    "First",
    "FirstN",
    "FlatMapped",
    "FramefoldError",
    "Frames",
    "FrequentItems",
    "GapsWarning",
    "GeometricMean",
    "GroupedBy",
    "HarmonicMean",
    "Histogram",
    "JavaError",
    "Kurtosis",
    "Last",
    "LastN",
    "LawError",
    "LinearTrend",
    "Mapped",
    "Max",
    "Mean",
    "Median",
    "Min",
    "Mode",
    "NullTimeError",
    "OperationError",
    "Product",
    "PythonOperation",
    "Quantile",
    "QueryError",
    "Range",
    "Reducing",
    "Relation",
    "RootMeanSquare",
    "Skewness",
    "State",
    "StdDev",
    "Sum",
    "SumOverflowError",
    "ThetaSketch",
    "TimeWeightedAverage",
    "TopN",
    "Variance",
    "WeightedAverage",
    "Windowed",
    "__version__",
    "around",
    "by_count",
    "by_delta",
    "by_time",
    "check_laws",
    "cumulating",
    "events",
    "files",
    "landmark",
    "last_rows",
    "parquet",
    "policy",
    "relation",
    "session",
    "sliding",
    "snapshot",
    "stream_metrics",
    "theta_difference",
    "theta_estimate",
    "theta_intersection",
    "theta_union",
    "together",
    "tumbling",
    "windows_from",
]

if not TYPE_CHECKING:  # to checkers of types it would give every name that there is not
    _MODULES = (  # of two that have a name, the first is its own
        "aggregators.errors", "aggregators", "aggregators.laws.check", "events", "reading", "relations", "start",
        "together", "windows", "stream_metrics", "runtime.explain", "runtime.windows",
    )  # fmt: skip

    class _Package(ModuleType):
        """A package in which no module takes the place of a name that is exported, such as ``events``."""

        def __setattr__(self, name: str, value: object) -> None:
            if name not in __all__ or not isinstance(value, ModuleType):
                super().__setattr__(name, value)

    sys.modules[__name__].__class__ = _Package

    def __getattr__(name: str) -> object:
        """A name that is exported, with those of the modules up to its own; the version; AttributeError for others."""
        if name == "__version__":
            return _version()
        if not name.startswith("__"):
            from importlib import import_module

            for module in _MODULES:
                _export(vars(import_module(f".{module}", __name__)))
                if name in globals():
                    return globals()[name]
        from .aggregators.errors import nearest

        near = nearest(name, __all__)
        hint = f"; {near}" if near.startswith("did you mean") else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name)

    def _export(names: dict[str, object]) -> None:
        """Make names of a module this package's: errors, ``help`` and pickles say ``framefold.Sum``."""
        for name in names.keys() & set(__all__) - globals().keys():
            value = names[name]
            if not isinstance(value, ModuleType):
                globals()[name] = value
                if isinstance(value, (type, FunctionType)):
                    value.__module__ = __name__

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

    def _version() -> str:
        """What the metadata of the installed package say."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("framefold")
        except PackageNotFoundError:  # the package alone, as executors get it
            return "0+unknown"
