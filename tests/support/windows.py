"""Windows as engines have them: of ticks, over partials."""

from framefold.extras.relations.updates import PATTERNS as UPDATE_PATTERNS
from framefold.runtime.columns.ticks import TimeColumn
from framefold.runtime.frames.partials_view import PartialsView
from framefold.runtime.frames.window_ranges import Ranges
from framefold.runtime.frames.windows import Windows
from framefold.runtime.windows import spec
from framefold.runtime.windows.around import reach
from framefold.runtime.windows.calendar import is_known as is_known_unit
from framefold.runtime.windows.last_rows import TIES
from framefold.runtime.windows.sliding import Sliding, TickSteps
from framefold.runtime.windows.spec import Spec
