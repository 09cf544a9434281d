"""Where each stage of a query will run on Spark, in words."""

from __future__ import annotations

from ..runtime.query import Query
from .options import Options


def stages(query: Query, options: Options) -> list[tuple[str, str]]:
    """Pairs of a stage and where it runs, and why."""
    accumulate = "on executors, in mapInArrow: one pass over the events, partials per task"
    if query.ordered:
        blocks = "key and stretch of time" if query.by else "stretch of time"
        accumulate = (
            f"on executors, after a shuffle of the events by {blocks} that puts them in time order; then in mapInArrow"
        )
    driver = "on the driver, all keys at once"
    executors = (
        "on executors by key, after a shuffle of the partials" if query.by else "on one executor: there is one key"
    )
    most = f"{options.max_driver_partials:,}"
    combine = {
        "driver": f"{driver}: combine='driver'",
        "executors": f"{executors}, lazily: combine='executors'",
        "auto": f"{driver} if there are at most {most} partials, else {executors}: combine='auto' counts them",
    }
    return [("accumulate", accumulate), ("merge, slide, finish", combine[options.combine])]
