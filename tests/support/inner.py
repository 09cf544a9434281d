"""Inner functions that tests watch or replace, by names of the tests' own.

Few tests do: those that say how often something is done, or what happens where something outside fails.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

INNER = {
    # accumulate, merge, slide
    "trial of laws": "aggregators.laws.at_bind:broken_law",
    "combine of clipped ticks": "aggregators.intervals.clipped:ClippedTicks.combine",
    "deduct of clipped ticks": "aggregators.intervals.clipped:ClippedTicks.deduct",
    "release of held objects": "aggregators.states.objects:Store.release",
    "memory of this machine": "aggregators.states.memory:memory",
    "deducts": "aggregators.contract.bound:BoundAggregate.deducts",
    "assign": "runtime.accumulate.accumulate:assign",
    "kernels": "runtime.sliding.slide:by_kernels",
    "deduct": "runtime.sliding.slide:by_deduct",
    "two-stacks": "runtime.sliding.slide:by_two_stacks",
    "two-stacks side by side": "runtime.sliding.slide:by_stacks_side_by_side",
    "range tree": "runtime.sliding.slide:by_range_tree",
    "two-stacks after deduct": "runtime.sliding.deduct:by_two_stacks",
    "what a deduct has lost": "runtime.intervals.sweep:_lost",
    "tree after a sweep": "runtime.intervals.sweep:by_tree",
    "part of partials": "runtime.results.chunks:_part",
    "results row by row": "runtime.local:results_as_they_come",
    "results as of labels": "runtime.local:results_as_of",
    # sources of the local engine
    "bar": "runtime.progress:bar",
    "numbers from Polars": "runtime.sources.parquet_decoding:_numbers",
    "Polars": "runtime.sources.parquet_decoding:polars",
    "readers of files": "runtime.sources.file_source:FileSource.readers",
    # Spark
    "to executors": "spark.engine.driver:on_executors",
    "to a DataFrame": "spark.engine.driver:to_dataframe",
    "blobs": "spark.engine.driver:blobs_of",
    "choice of a way to combine": "spark.engine.events_source:choose",
    "events that are rows": "runtime.local:sorted_events",
    "few events to partials": "spark.engine.few_events:partials_of",
    "few events collected": "spark.engine.few_events:FewEventsSource._collect",
    "groups of SQL": "spark.engine.sql_source:aggregated",
    "groups of SQL collected": "spark.engine.sql_source:SqlSource.collect",
    "bits of integers in SQL": "aggregators.sums.sql_floats:bits",
    "choices of stored partials": "extras.stored.on_spark.engine:Options",
    "scan by Spark": "spark.files.scan:Scan.by_spark",
    "error of a report": "spark.session.failures:_again",
    "cores": "spark.session.parallelism:cores",
    "number of a task": "spark.input.row_numbers:partition_id",
    "recent states": "spark.streams.state:RECENT",
    "settling of memory": "spark.streams.slider:settle",
    "what is installed": "spark.streams.needs:find_spec",
    "outputs with pickles": "spark.streams.engine:pickled_outputs",
    "Java of the package": "spark.session.java:_packaged_java",
    "Java of a session": "spark.session.session:ensure_java",
    "environment of a session": "spark.session.session:_set_environment",
    # the command line
    "a run on the local engine": "extras.cli.job:Job._locally",
    "a run on Spark": "extras.cli.job:Job._on_spark",
    "session of a run": "extras.cli.job:Job._session",
    "start of a run": "extras.cli.job:Job.start",
    "progress of a run": "extras.cli.job:_progress",
    "memory for a run": "extras.cli.job:memory",
    "whether Spark is there": "extras.cli.job:has_spark",
    "columns of a result": "extras.cli.output:check_columns",
    "removal of a result": "extras.cli.replacing:_remove",
    "plain arguments": "extras.cli.cli:plain_arguments",
}
"""Where each is: a module, and the name in it by which it is called."""


def place_of(name: str) -> tuple[Any, str]:
    """What has an inner function, a module or class, and its name there: two arguments of ``setattr``."""
    module, _, path = INNER[name].partition(":")
    owner: Any = import_module(f"framefold.{module}")
    *owners, last = path.split(".")
    for each in owners:
        owner = getattr(owner, each)
    return owner, last


def inner(name: str) -> Any:
    """The inner function itself."""
    return getattr(*place_of(name))


def answers(
    monkeypatch: pytest.MonkeyPatch, name: str, note: Callable[..., Any] = lambda found, *_: found is not None
) -> list[Any]:
    """A note of the result and the arguments of each call of a function: whether it has given anything."""
    found: list[Any] = []
    answer = inner(name)

    def watched(*given: Any, **how: Any) -> Any:
        result = answer(*given, **how)
        found.append(note(result, *given))
        return result

    monkeypatch.setattr(*place_of(name), watched)
    return found
