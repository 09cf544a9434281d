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


TWO_JOBS = (
    "Spark's own plan is one job that ends in the JVM; ours is two, with Python between them: the groups come to the "
    "driver, and results go back as a table. That takes about 40 ms more, which is much of so short a query, and where "
    "windows overlap little there is little to save in return"
)

REASONS = (
    Reason(
        "keys",
        "framefold_local.local",
        "duckdb.two_stages",
        "with one key there is nothing to find or to merge: two thirds of the time go into decoding two row groups, "
        "and while one thread accumulates the last of them the other has nothing to do",
        "cutting sorted events into pieces for several threads: the interpreter's lock takes what is won",
    ),
    Reason(
        "keys",
        "framefold_spark.dataframe",
        "spark.two_stages",
        TWO_JOBS,
        "grouping in Spark where footers say that keys and frames have many events (kept: 2.1 became 1.3 times two "
        "stages), one task that puts few groups together, without settings for many and without a shuffle to count "
        "them (kept: 1.3 became 1.17 at 100 keys), partials by tasks (twice as long)",
    ),
    Reason(
        "overlap",
        "framefold_spark.dataframe",
        "spark.window",
        TWO_JOBS + "; with an overlap of one, window() copies no event",
        "grouping in Spark (1.3 to 1.4 times window()), partials by tasks (2 times), collecting the events (kept)",
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
            "collecting the events and not shuffling them (kept), larger Arrow batches (kept), no limit where footers "
            "say how many events there are, as Spark shuffles what is limited to one task (kept: 0.8 times as long). "
            "Files that tasks read cannot be had here: events of one time are to be in Spark's order",
        )
        for case in ("rows", "lbl-partitioned")
        for ours in ("framefold_spark.dataframe", "framefold_spark.parquet")
    ),
)


def reason_for(case: str, ours: str, peer: str) -> Reason | None:
    """The reason for a loss, if one is known."""
    return next((each for each in REASONS if each[:3] == (case, ours, peer)), None)
