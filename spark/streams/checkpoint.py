"""The windows that are still open in a stream's checkpoint: a batch that reads the state, and leaves it as it is."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from ...aggregators.errors import EngineError
from ...runtime.sources.files import one_line
from ...runtime.streams.scope import holds
from ..convert.partials_codec import batches
from ..convert.types import arrow_schema, cast_to
from ..session.packaging import stage
from .shards import BOOK, EVENTS, PARTIALS, Shards, book_of, restored

OPERATOR = "transformWithStateInPySparkExec"
"""What Spark calls what has the state."""


def still_open(spark: SparkSession, checkpoint: str, shards: Shards) -> DataFrame:
    """The results of open windows as of the last micro-batch that is over, lazily; sorted by nothing.

    Parameters
    ----------
    spark
        The session.
    checkpoint
        The ``checkpointLocation`` of the query.
    shards
        Of the query.

    Raises
    ------
    EngineError
        If there is no checkpoint of a query like this one.
    """
    try:
        rows = state_of(spark, checkpoint, with_events=holds(shards.job.plan))
        rows.schema  # noqa: B018  # through Connect, only this asks Spark for it
    except PySparkException as error:
        raise EngineError(
            f"the checkpoint {checkpoint!r} has no state that can be read: {one_line(error)}; expected the "
            "checkpointLocation of this query, of which a micro-batch is over"
        ) from error
    return stage(rows, give_open, shards, schema=shards.job.schema)


def state_of(spark: SparkSession, checkpoint: str, *, with_events: bool) -> DataFrame:
    """The state of all shards, those of one in one task: books, partials, and events that are held back."""
    found = spark.read.format("state-metadata").load(checkpoint).where(f.col("operatorName") == OPERATOR)
    numbers = [row.operatorId for row in found.select("operatorId", "operatorProperties").collect()
               if f'"{PARTIALS}"' in row.operatorProperties]  # fmt: skip
    # None: the error that says what is not there is Spark's.
    reader = spark.read.format("statestore").option("operatorId", numbers[0] if numbers else 0)
    shard, nothing = f.col("key.shard").alias("shard"), f.lit(0).cast("bigint").alias("block")
    book = f.col(f"value.{BOOK}").cast("binary").alias("ipc")
    books = reader.option("stateVarName", BOOK).load(checkpoint)
    rows = books.select(shard, f.lit(BOOK).alias("part"), nothing, book)
    for name in (PARTIALS, EVENTS) if with_events else (PARTIALS,):
        blocks = reader.option("stateVarName", name).load(checkpoint)
        block, ipc = f.col("user_map_key.block"), f.col("user_map_value.ipc")
        rows = rows.union(blocks.select(shard, f.lit(name), block, ipc))
    return rows.repartition("shard")


def give_open(shards: Shards, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The state of some shards to the results of their open windows."""
    schema = arrow_schema(shards.job.schema)
    table = pa.Table.from_batches([pa.RecordBatch.from_arrays(each.columns, names=NAMES) for each in rows] or EMPTY)
    for label in pc.unique(table.column("shard")).to_pylist():
        mine = table.filter(pc.equal(table.column("shard"), label))
        (book,) = mine.filter(pc.equal(mine.column("part"), BOOK)).column("ipc").to_pylist()
        state = {name: ReadState(mine.filter(pc.equal(mine.column("part"), name))) for name in (PARTIALS, EVENTS)}
        shard = restored(shards, SimpleNamespace(**state), book_of(shards, book))
        for found in shard.early():
            yield from batches(cast_to(found, schema))


NAMES = ["shard", "part", "block", "ipc"]
EMPTY = [pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in (pa.int32(), pa.string(), pa.int64(), pa.binary())],
                                    names=NAMES)]  # fmt: skip


class ReadState:
    """A map of Spark's state, as far as it is read."""

    def __init__(self, rows: pa.Table) -> None:
        self.values = dict(zip(rows.column("block").to_pylist(), rows.column("ipc").to_pylist(), strict=True))

    def keys(self) -> Iterator[tuple[int]]:
        """Its keys, as Spark gives them."""
        return ((block,) for block in self.values)

    def iterator(self) -> Iterator[tuple[tuple[int], tuple[bytes]]]:
        """Its keys and values, as Spark gives them."""
        return (((block,), (ipc,)) for block, ipc in self.values.items())

    def getValue(self, key: tuple[int]) -> tuple[bytes]:
        """The value of a key, as Spark gives it."""
        return (self.values[key[0]],)
