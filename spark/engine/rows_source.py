"""Partials of windows that are counted in rows: events come to the driver as they are, where they are not too many.

Each event is a partial of its own then, which is larger; and the driver sorts in memory what Spark shuffles.
"""

from __future__ import annotations

from pyspark.sql import functions as f

from ...aggregators.states.large import one_array
from ...runtime.accumulate.accumulate import accumulate
from ...runtime.accumulate.time_order import sorted_events
from ...runtime.partials.merge import merge
from ...runtime.partials.partials import Partials
from ...runtime.tuning import READ_ROWS
from ..convert.types import cast_to
from ..input.ordering import ARRIVAL
from ..input.scan_bounds import footers_of, has_at_most
from ..session.conf_overrides import LARGE_BATCHES, conf_overrides
from .events_source import EventsSource
from .source import left_to_executors


class RowsSource(EventsSource):
    """The events of a DataFrame in windows counted in rows; see `PartialsSource`."""

    def collect(self, limit: int | None) -> Partials | None:
        plan = self.job.plan
        events = self._with_times(self.events).withColumn(ARRIVAL, f.monotonically_increasing_id())
        footers = None if limit is None else footers_of(self.events)
        if limit is not None and footers is not None and has_at_most(self.events, footers, limit):
            limit = None  # with a limit Spark shuffles all events to one task, which takes a tenth of the time
        with conf_overrides(events.sparkSession, LARGE_BATCHES):
            found = (events if limit is None else events.limit(limit + 1)).toArrow()
        if limit is not None and len(found) > limit:
            left_to_executors(f"max_driver_partials={limit} is not enough")
            return None
        arrivals = one_array(found.column(ARRIVAL)).to_numpy()
        if (arrivals[1:] < arrivals[:-1]).any():
            found = found.sort_by(ARRIVAL)
        table = sorted_events(plan, cast_to(found.drop_columns(ARRIVAL), plan.events_schema), dictionaries=True)
        portions = (table.slice(start, READ_ROWS) for start in range(0, len(table), READ_ROWS))
        partials = [accumulate(plan, portion, number) for number, portion in enumerate(portions)]
        return merge([Partials.none(plan), *partials])
