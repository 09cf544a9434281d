"""Errors of executors, raised on the driver as what they were."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from ...aggregators import errors
from ...runtime.columns.ticks import null_times
from ...runtime.plan.plan import Plan
from ..convert.names import column
from .worker_python import trouble

# The last line of a Python traceback, as it stands in the message of Spark's exception; through Connect it can stand
# behind Spark's own words.
_RAISED = re.compile(
    rf"^(?:\s*|\[PYTHON_EXCEPTION\] .*: ){errors.__name__.split('.')[0]}\.(?:\w+\.)*(\w+): (.*)$", re.MULTILINE
)


@contextmanager
def reraise(spark: SparkSession, events: Callable[[], DataFrame], plan: Plan) -> Iterator[None]:
    """Raise framefold's own errors from a task again, as they were, with the executor's traceback as a note.

    Workers whose Python cannot run its tasks are an EngineError. Anything else, a user's own exception among it, passes
    as Spark reports it, with its traceback.

    Parameters
    ----------
    events
        Gives the events, to count null times over all tasks; the one that failed saw only its own.
    plan
        What was run.
    """
    try:
        yield
    except errors.NullTimeError:
        raise _counted(events(), plan) from None
    except Exception as error:
        own = translated(error, spark)
        if own is None:
            raise
        if isinstance(own, errors.NullTimeError):
            own = _counted(events(), plan)
        own.add_note(str(error))
        raise own from None


@contextmanager
def sentence_first() -> Iterator[None]:
    """In a task, have Spark report an error of framefold's by its sentence, and below it the traceback of its cause.

    By itself Spark puts a traceback in front, and leaves out the cause.
    """
    try:
        yield
    except errors.FramefoldError as error:
        if error.__cause__ is not None:
            error.add_note("".join(traceback.format_exception(error.__cause__)))
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # the worker ends with this error
        raise


STOPPED = ("NO_ACTIVE_SESSION", "SESSION_OR_CONTEXT_NOT_EXISTS", "stopped SparkContext", "SESSION_CLOSED")
"""What Spark's exceptions say where a session was stopped; through Connect, and by itself."""


@contextmanager
def stopped_named() -> Iterator[None]:
    """EngineError where Spark fails since the session was stopped."""
    try:
        yield
    except Exception as error:
        if not is_of_stopped(error):
            raise
        raise stopped() from None


def stopped() -> errors.EngineError:
    """The error for a session that was stopped."""
    return errors.EngineError(
        "the Spark session of the events was stopped; expected one that runs: make the DataFrame anew in it"
    )


def is_of_stopped(error: Exception) -> bool:
    """Whether Spark fails since the session was stopped."""
    if isinstance(error, AssertionError):  # what PySpark asserts has no text
        return traceback.extract_tb(error.__traceback__)[-1].filename.startswith(os.path.dirname(pyspark.__file__))
    return is_of_spark(error) and any(word in str(error) for word in STOPPED)


def is_of_spark(error: Exception) -> bool:
    """Whether an error is Spark's, or its JVM's: some come as py4j has them, which Connect does not need."""
    return isinstance(error, PySparkException) or type(error).__module__.startswith("py4j.")


_TOO_LARGE = re.compile(
    r"Total size of serialized results[^\n]*?maxResultSize[^\n]*?\)|java\.lang\.OutOfMemoryError: [^\n]*"
)


def too_large(error: Exception) -> str | None:
    """What Spark says where the driver would get more than it may have, or has no memory for it; else None."""
    found = _TOO_LARGE.search(str(error)) if is_of_spark(error) else None
    return found and found[0]


def lacks_memory(error: BaseException) -> bool:
    """Whether this process had no memory left: PySpark may raise another error while it handles that one."""
    seen: BaseException | None = error
    while seen is not None and not isinstance(seen, MemoryError):
        seen = seen.__cause__ or seen.__context__
    return seen is not None


def translated(error: Exception, spark: SparkSession) -> errors.FramefoldError | None:
    """The framefold error for an exception of Spark's; None where there is none."""
    if not is_of_spark(error):
        return None
    if is_of_stopped(error):
        return stopped()
    return framefolds_own(str(error)) or of_other_types(str(error)) or trouble(spark, str(error))


_OTHER_TYPES = re.compile(
    r"reading file (?P<file>.+?)\. Data type mismatches when reading Parquet column \[(?P<column>.+?)\]\. "
    r"Expected Spark type (?P<wanted>.+?), actual Parquet type (?P<found>\w+)"
)


def of_other_types(report: str) -> errors.EngineError | None:
    """The error for a file of Parquet whose column has a type that Spark cannot read as that of the other files."""
    if (found := _OTHER_TYPES.search(report)) is None:
        return None
    return of_another_type(found["column"], found["wanted"], found["found"], found["file"])


def of_another_type(column: str, expected: str, found: str, file: str) -> errors.EngineError:
    """The error for a column that is of one type for Spark, and of another in a file."""
    return errors.EngineError(
        f"the column {column!r} is {expected} for Spark and {found} in {file!r}; expected types of which the one of "
        "the first file holds the others"
    )


def framefolds_own(report: str) -> errors.FramefoldError | None:
    """The framefold error that a task's report ends in, or None if it was something else.

    Examples
    --------
    >>> framefolds_own("framefold.SumOverflowError: it does not fit")
    SumOverflowError('it does not fit')
    >>> framefolds_own("[PYTHON_EXCEPTION] An exception was thrown from the worker: framefold.EngineError: it is gone")
    EngineError('it is gone')
    """
    found = _RAISED.findall(report)
    if not found:
        return None
    name, sentence = found[-1]
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, errors.FramefoldError)):
        return None
    return kind(sentence)


def first_cause(error: BaseException) -> str:
    """What Spark or its JVM says first, without its own code for it, where it was, and the class of Java's error.

    >>> first_cause(Exception("[PATH_NOT_FOUND] Path does not exist: hdfs://a/b. SQLSTATE: 42K03"))
    'Path does not exist: hdfs://a/b'
    >>> first_cause(Exception("Job aborted: Lost task 0.0 in stage 3.0 (TID 8) (a): java.io.EOFException: no more"))
    'no more'
    """
    lines = re.sub(r"^An error occurred while calling \S+\n: ([\w.$]+: )?", "", str(error).strip()).splitlines()
    said = re.sub(r"^Job aborted\b.*? \(TID \d+\) \([^)]*\): ([\w.$]+: )?", "", lines[0] if lines else "nothing")
    return re.sub(r"^\[[\w.]+\] |[.\s]*(SQLSTATE: \w+)?\s*$", "", said)


def _counted(df: DataFrame, plan: Plan) -> errors.FramefoldError:
    found = df.agg(f.count_if(column(plan.time).isNull()), f.count("*")).collect()[0]
    return errors.NullTimeError(null_times(plan.time, *found))
