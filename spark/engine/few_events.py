"""Partials of few events, accumulated on the driver as by the local engine.

Where many events are alone with their key and frame, grouping them in Spark takes longer than collecting them; where
they are not, it takes about as long. Without this, sums of 0.1 to 2 million events took 1.4 to 2.2 times as long, and
what needs all values as long.
"""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from ...runtime.local import partials_of
from ...runtime.partials.merge import merge
from ...runtime.partials.partials import Partials
from ...runtime.reporting import LOGGER
from ...runtime.sources.arrow import Source
from ...runtime.sources.files import one_line
from ..convert.names import under_plain_names
from ..convert.types import cast_to
from ..input.scan_bounds import footers_of, has_at_most, most_groups, rows_in
from ..session.conf_overrides import LARGE_BATCHES, conf_overrides
from ..tuning import FEW_EVENTS, FEW_GROUPS, MANY_A_GROUP
from .source import PartialRows, PartialsSource
from .sql_source import SqlSource
from .tasks import Job


class FewEventsSource:
    """The events of a DataFrame if they are known to be few, and of another source if not; see `PartialsSource`."""

    def __init__(self, df: DataFrame, job: Job, otherwise: PartialsSource) -> None:
        self.df, self.job, self.otherwise = df, job, otherwise

    def collect(self, limit: int | None) -> Partials | None:
        if self._are_few():
            try:
                return self._collect()
            except PySparkException as error:
                # More bytes than Spark lets the driver have, or what the other source says better.
                LOGGER.warning("the driver does not get the events as they are: %s", one_line(error))
        return self.otherwise.collect(limit)

    def distribute(self) -> PartialRows:
        return self.otherwise.distribute()

    def release(self, result: DataFrame | None) -> None:
        self.otherwise.release(result)

    def _are_few(self) -> bool:
        footers = footers_of(self.df)
        if footers is None:
            return False
        if isinstance(self.otherwise, SqlSource):
            groups = most_groups(footers, self.job.plan)
            if groups is not None and groups * MANY_A_GROUP <= rows_in(footers):
                self.otherwise.few = groups <= FEW_GROUPS
                return False
        return has_at_most(self.df, footers, FEW_EVENTS)

    def _collect(self) -> Partials:
        plan, spark = self.job.plan, self.df.sparkSession
        with conf_overrides(spark, LARGE_BATCHES):
            found = under_plain_names(self.df, plan.columns).toArrow()
        partials, _, _ = partials_of(Source(cast_to(found, plan.events_schema)), plan)
        return merge(partials)
