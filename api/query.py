"""A query bound to the schema of its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .aggregators.contract.column_expressions import ColumnExpression
from .aggregators.contract.operation import Operation
from .aggregators.errors import CalendarWarning, GapsWarning, QueryError, shown
from .engines import Engine, computed, in_arrow
from .lookbacks import Lookback, outputs_over
from .runtime.columns.ticks import Duration
from .runtime.frames.windows import Windows
from .runtime.plan.bind import bind, check_durations, require_output
from .runtime.plan.plan import Plan
from .runtime.reporting import warn
from .runtime.windows.spec import Spec
from .spark.options import Options

Result = TypeVar("Result")
"""What results are: a Spark DataFrame, or a pyarrow Table."""


@dataclass(frozen=True, repr=False)
class EventColumns:
    """What a query knows of its events: the engine that has them, the names of columns, and options."""

    engine: Engine
    time: str
    by: tuple[str, ...]
    until: str | None
    longest: Duration | None
    ties: tuple[str, ...]
    null_time: str
    run_options: Options

    @property
    def names(self) -> list[str]:
        """The columns that are named: time, keys, ends, ties."""
        return [self.time, *self.by, *([self.until] if self.until else []), *self.ties]

    def check_durations(self, windows: Sequence[Spec]) -> None:
        """DurationError where a duration of windows, or ``longest=``, does not fit the time of the events."""
        if windows or self.longest is not None:
            columns = [self.time, *(name for each in windows for name in each.columns)]
            check_durations(self.engine.with_fields(columns).schema(columns), self.time, windows, self.longest)


def bound(
    of: EventColumns,
    windows: Sequence[Spec],
    outputs: Mapping[str, Operation],
    lookback: Lookback | None = None,
    *,
    explained: bool = False,
    beside: Sequence[str] | None = None,
) -> tuple[Engine, Plan]:
    """The plan of outputs over windows, and the engine of the events, with the columns that expressions compute.

    Parameters
    ----------
    of
        The events.
    windows
        Those of the query: an output may have others of its own.
    outputs
        Operations by the names of their columns.
    lookback
        What the windows come from, where they are those of one.
    explained
        Whether there may be no outputs.
    beside
        The columns of the rows that results are put beside.
    """
    if not outputs and not explained:
        raise QueryError("no outputs are asked for; expected at least one, such as n=ff.Count()")
    for name, output in outputs.items():
        require_output(name, output)
    if lookback is not None:
        outputs = outputs_over(lookback, windows, of.by, outputs)
    engine = of.engine
    if any(isinstance(name, ColumnExpression) for output in outputs.values() for name in output.columns):
        engine, outputs = computed(engine, outputs)
    used = [*of.names, *(name for each in outputs.values() for name in each.columns)]
    used += [name for each in windows_in(windows, outputs) for name in each.columns]
    used = [name for name in used if isinstance(name, str)]
    engine = engine.with_fields(used)
    plan = bind(
        engine.schema(used), time=of.time, by=of.by, until=of.until, longest=of.longest, ties=of.ties,
        window=windows, outputs=outputs, null_time=of.null_time, flat=of.run_options.window == "flat",
        beside=beside, in_arrow=in_arrow,
    )  # fmt: skip
    for each in plan.axis.windows:
        warn_of(each)
    return engine, plan


def results(of: EventColumns, windows: Sequence[Spec], outputs: Mapping[str, Operation]) -> Any:
    """The results of outputs over windows; see :func:`bound`."""
    engine, plan = bound(of, windows, outputs)
    return engine.run(plan, of.run_options)


def require_names(unnamed: Sequence[Any], method: str = "aggregate") -> None:
    """QueryError where outputs are given without the names that their columns are to have."""
    if unnamed:
        found = ", ".join(map(shown, unnamed))
        raise QueryError(f"{method}() is given {found} without a name; expected each as an argument: n=ff.Count()")


def windows_in(windows: Sequence[Spec], outputs: Mapping[str, Operation]) -> list[Spec]:
    """All windows of a query: its own and those of its outputs."""
    parts = [own for output in outputs.values() if isinstance(output, Operation) for own in output.windows_of_parts()]
    own = [each for windows_of_part in parts for each in windows_of_part]
    return [each for each in (*windows, *own) if isinstance(each, Spec)]


def warn_of(windows: Windows) -> None:
    """A GapsWarning where windows leave out times or rows, a CalendarWarning where earlier versions had other ones."""
    if windows.gaps == "warn" and windows.left_out is not None:
        warn(
            f"{windows.named} leave out {windows.left_out}: events there are in no window; "
            "gaps='allow' says that this is meant",
            GapsWarning,
        )
    if windows.moved:
        warn(windows.moved, CalendarWarning)
