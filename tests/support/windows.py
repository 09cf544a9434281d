"""Windows as engines have them: of ticks, over partials."""

from framefold.runtime.columns.ticks import TimeColumn
from framefold.runtime.relations.updates import PATTERNS as UPDATE_PATTERNS
from framefold.runtime.windows import PartialsView, Ranges, Sliding, Spec, TickSteps, Windows, spec
from framefold.runtime.windows.around import reach
from framefold.runtime.windows.calendar import is_known as is_known_unit
from framefold.runtime.windows.last_rows import TIES
