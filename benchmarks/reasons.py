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
        "grouping in Spark (as long at 100 keys, twice as long at a million), partials by tasks (twice as long), "
        "larger Arrow batches (kept), collecting the events (kept; the look at the plan before it is 40 ms)",
    ),
    Reason(
        "keys",
        "framefold_spark.dataframe",
        "spark.window",
        ROWS_CROSS,
        "what is said of two stages by hand; window() copies each event into two windows only",
    ),
    Reason(
        "data",
        "framefold_spark.dataframe",
        "spark.two_stages",
        "Spark SQL has no function from a time without a zone to microseconds that leaves the session's zone out: the "
        "date, the hour, the minute and the second of each event are taken one by one",
        "nothing else yet",
    ),
    Reason(
        "data",
        "framefold_local.local",
        "duckdb.two_stages",
        "events with a null are left out for each output by copying its columns, which a loop over rows need not",
        "nothing else yet",
    ),
    Reason(
        "data",
        "framefold_local.local",
        "polars.two_stages",
        "events with a null are left out for each output by copying its columns, which a loop over rows need not",
        "nothing else yet",
    ),
    Reason(
        "shapes",
        "framefold_local.local",
        "duckdb.two_stages",
        "variance is made in pairs of floats, right to the last digit whatever the values' offset; DuckDB's in single "
        "ones",
        "joining the states of many groups at once (merging takes 0.6 times as long)",
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
