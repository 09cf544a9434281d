"""SQL that a user could write by hand instead, for engines that differ only in their functions of time."""

from __future__ import annotations

from ..jobs import Job

PARTS = {
    "sum": {"sum": "sum({x})"},
    "count": {"count": "count({x})"},
    "min": {"min": "min({x})"},
    "max": {"max": "max({x})"},
    "avg": {"sum": "sum({x})", "count": "count({x})"},
    "var": {"sum": "sum({x})", "square": "sum({x} * {x})", "count": "count({x})"},
}
"""What the first stage keeps of each operation."""

MERGED = {
    "sum": "sum({0}_sum) OVER w",
    "count": "sum({0}_count) OVER w",
    "min": "min({0}_min) OVER w",
    "max": "max({0}_max) OVER w",
    "avg": "sum({0}_sum) OVER w / sum({0}_count) OVER w",
    "var": "(sum({0}_square) OVER w - sum({0}_sum) OVER w * (sum({0}_sum) OVER w / sum({0}_count) OVER w)) "
    "/ nullif(sum({0}_count) OVER w - 1, 0)",
}
"""How the second makes its result of these."""

PLAIN = {"sum": "sum", "count": "count", "min": "min", "max": "max", "avg": "avg", "var": "var_samp"}


def plain(job: Job) -> str:
    """The outputs as aggregates over events."""
    return ", ".join(f"{PLAIN[operation]}({column or '*'}) AS {name}" for name, operation, column in job.outputs)


def over(job: Job) -> str:
    """The outputs as aggregates over events of the window ``w``."""
    return ", ".join(f"{PLAIN[operation]}({column or '*'}) OVER w AS {name}" for name, operation, column in job.outputs)


def pieces(job: Job) -> tuple[str, str]:
    """The columns of the first stage, and those of the second."""
    parts = {
        f"{column or 'rows'}_{part}": text.format(x=column or "*")
        for _, operation, column in job.outputs
        for part, text in PARTS[operation].items()
    }
    first = ", ".join(f"{text} AS {name}" for name, text in parts.items())
    merged = (f"{MERGED[operation].format(column or 'rows')} AS {name}" for name, operation, column in job.outputs)
    second = ", ".join(merged)
    return first, second


def two_stages(job: Job, source: str, microseconds: str, quotient: str) -> str:
    """One row a key and step, then a range of steps: the best a user can write by hand.

    Windows that end in a step without an event are missing, those after a key's last event among them.

    Parameters
    ----------
    job
        The size a multiple of the step.
    source
        What to select from.
    microseconds
        The time as an integer, as SQL.
    quotient
        The operator of whole division.
    """
    keys = ", ".join(job.keys)
    first, second = pieces(job)
    since = "UNBOUNDED" if job.kind == "landmark" else str(job.size // job.every - 1)
    start = f"step * {job.every}" if job.kind == "landmark" else f"step * {job.every} - {job.size - job.every}"
    return f"""
        WITH steps AS (
          SELECT {keys}, {microseconds} {quotient} {job.every} AS step, {first} FROM {source} GROUP BY ALL
        )
        SELECT {keys}, {start} AS start, {second} FROM steps
        WINDOW w AS (PARTITION BY {keys} ORDER BY step RANGE BETWEEN {since} PRECEDING AND CURRENT ROW)
    """


def every(job: Job, source: str) -> str:
    """The first stage filled up to a row for each key's every step, as DuckDB has it: no window is missing."""
    keys = ", ".join(job.keys)
    width = job.size // job.every
    first, second = pieces(job)
    filled = f"unnest(range(min(step) - {width - 1}, max(step) + 1))"
    return f"""
        WITH steps AS MATERIALIZED (
          SELECT {keys}, epoch_us(t) // {job.every} AS step, {first} FROM {source} GROUP BY ALL
        ), every_step AS (
          SELECT {keys}, {filled} AS step FROM steps GROUP BY {keys}
        ), slid AS (
          SELECT {keys}, step * {job.every} AS start, count(steps.step) OVER w AS filled, {second}
          FROM every_step LEFT JOIN steps USING ({keys}, step)
          WINDOW w AS (PARTITION BY {keys} ORDER BY step ROWS BETWEEN CURRENT ROW AND {width - 1} FOLLOWING)
        )
        SELECT * EXCLUDE filled FROM slid WHERE filled > 0
    """


ADDED = {"sum": "sum({0}_sum)", "count": "sum({0}_count)", "min": "min({0}_min)", "max": "max({0}_max)"}


def copied(job: Job, source: str, microseconds: str, quotient: str, steps: str) -> str:
    """One row a key and step, each copied into every window it is in: no window is missing.

    Parameters
    ----------
    job
        Of sums, counts, minima and maxima; the size a multiple of the step.
    source, microseconds, quotient
        As for :func:`two_stages`.
    steps
        The numbers from ``{0}`` to ``{1}`` as rows, as SQL.
    """
    keys = ", ".join(job.keys)
    first = ", ".join(
        f"{PARTS[operation][operation].format(x=column or '*')} AS {column or 'rows'}_{operation}"
        for _, operation, column in job.outputs
    )
    second = ", ".join(
        f"{ADDED[operation].format(column or 'rows')} AS {name}" for name, operation, column in job.outputs
    )
    return f"""
        WITH steps AS (
          SELECT {keys}, {microseconds} {quotient} {job.every} AS step, {first} FROM {source} GROUP BY ALL
        ), copies AS (
          SELECT *, {steps.format(f"step - {job.size // job.every - 1}", "step")} AS place FROM steps
        )
        SELECT {keys}, place * {job.every} AS start, {second} FROM copies GROUP BY ALL
    """
