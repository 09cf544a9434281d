"""Why a peer wins where it does, and what was tried: the report says so wherever it wins every pair of a point."""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """Why one of our ways takes longer than a peer in a case."""

    case: str
    ours: str
    peer: str
    why: str
    tried: str


ROWS_CROSS = (
    "Spark's plan ends in the JVM, ours has events or groups cross to Python and results cross back, which is most of "
    "so short a query; where windows overlap little there is little to save in return"
)

REASONS = (
    Reason(
        "keys",
        "framefold_local.local",
        "duckdb.two_stages",
        "with one key there is nothing to find or to merge: half of the time goes into decoding the file, which DuckDB "
        "does while it aggregates, in the same threads",
        "cutting sorted events into pieces for several threads: the interpreter's lock takes what is won",
    ),
    Reason(
        "keys",
        "framefold_spark.dataframe",
        "spark.two_stages",
        ROWS_CROSS,
        "grouping in Spark where footers say that keys and frames have many events (kept: 2.1 became 1.3 to 1.5 times "
        "two stages at 1 and 100 keys; twice as long at a million), partials by tasks (twice as long), larger Arrow "
        "batches (kept), collecting the events elsewhere (kept)",
    ),
    Reason(
        "keys",
        "framefold_spark.dataframe",
        "spark.window",
        ROWS_CROSS,
        "what is said of two stages by hand (1.0 times window() since), which copies each event into two windows only",
    ),
    Reason(
        "partitions",
        "framefold_spark.dataframe_executors",
        "spark.two_stages",
        "executors sort the groups by key in a second shuffle, take them to Python, slide them there and give results "
        "back, where two stages stay in the JVM",
        'nothing else than what `combine="auto"` does: it has the driver slide so few groups, in less time than two '
        "stages",
    ),
    *(
        Reason(
            case,
            ours,
            "spark.range",
            "each event crosses to Python and comes back as a result with two times and all outputs, while over ten "
            "rows Spark's own window function has little to add up; from a hundred rows on ours takes half of its time",
            "collecting the events and not shuffling them (kept), larger Arrow batches (kept). Not tried: files read "
            "by tasks, whose order of events of one time would be another than Spark's",
        )
        for case in ("rows", "lbl-partitioned")
        for ours in ("framefold_spark.dataframe", "framefold_spark.parquet")
    ),
    Reason(
        "data",
        "framefold_local.local",
        "duckdb.two_stages",
        "events with a null are left out for each output by copying its columns, which a loop over rows need not",
        "keys with nulls without a dictionary, fewer copies (kept: 0.94 times as long as before); not yet: loops that "
        "are told which rows are null",
    ),
    Reason(
        "data",
        "framefold_local.local",
        "polars.two_stages",
        "events with a null are left out for each output by copying its columns, which a loop over rows need not",
        "keys with nulls without a dictionary, fewer copies (kept: 0.94 times as long as before); not yet: loops that "
        "are told which rows are null",
    ),
    Reason(
        "shapes",
        "framefold_local.local",
        "duckdb.two_stages",
        "variance is made in pairs of floats, right to the last digit whatever the values' offset; DuckDB's in single "
        "ones",
        "joining the states of many groups at once, where they are (merging takes 0.3 times as long)",
    ),
    Reason(
        "layouts",
        "framefold_local.local",
        "duckdb.two_stages",
        "of files that overlap in time every portion has all keys and frames, whose places are no longer in the cache; "
        "and files with few rows are copied together before they are accumulated",
        "adding portions of the same keys and frames row by row (kept: 1.2 became 1.1 times DuckDB's time on this "
        "machine), portions of two million events (no gain)",
    ),
    Reason(
        "overlap",
        "framefold_spark.dataframe",
        "spark.window",
        ROWS_CROSS + "; with an overlap of one, window() copies no event",
        "grouping in Spark (1.3 to 1.4 times window()), partials by tasks (2 times), collecting the events (kept)",
    ),
)


def reason_for(case: str, ours: str, peer: str) -> Reason | None:
    """The reason for a loss, if one is known."""
    return next((each for each in REASONS if each[:3] == (case, ours, peer)), None)
