"""Windows as engines have them: of ticks, over partials."""

from framefold.runtime.columns.ticks import TimeColumn
from framefold.runtime.windows import PartialsView, Ranges, Sliding, Spec, TickSteps
from framefold.runtime.windows.around import reach
from framefold.runtime.windows.calendar import is_known as is_known_unit

__all__ = ["PartialsView", "Ranges", "Sliding", "Spec", "TickSteps", "TimeColumn", "is_known_unit", "reach"]
