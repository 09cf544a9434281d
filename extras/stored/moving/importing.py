"""A new checkpoint for a query that goes on from the exported state of another one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from ....aggregators.errors import EngineError
from ....spark.streams.logs import Logs


class NewCheckpoint:
    """A checkpoint that is made beside its place, and moved there as the last step.

    Parameters
    ----------
    checkpoint
        Where it is to be.

    Raises
    ------
    EngineError
        If something is there, or it is not on a disk of this machine.
    """

    def __init__(self, checkpoint: str | os.PathLike[str]) -> None:
        self.to = Logs.at(checkpoint).path
        if self.to.exists():
            raise EngineError(f"there is a checkpoint {str(self.to)!r} already; expected a path where nothing is")
        self.folder = self.to.with_name(f".{self.to.name}.importing")

    def make(
        self,
        spark: SparkSession,
        query: Callable[[DataFrame], DataFrame],
        fields: Sequence[t.StructField],
        watermark: tuple[str, int],
        mode: str,
        old: Logs,
        batch: int,
    ) -> None:
        """Have a query write its first state, without any events, as that of a micro-batch of an old checkpoint.

        Parameters
        ----------
        query
            Makes the query over events.
        fields
            The columns of the events.
        watermark
            The column of times, and the delay of its watermark in milliseconds.
        mode
            The output mode.
        old, batch
            The old checkpoint, and the number of its last micro-batch.
        """
        shutil.rmtree(self.folder, ignore_errors=True)  # of one that was killed
        self.to.parent.mkdir(parents=True, exist_ok=True)
        made, empty = Logs(self.folder / "checkpoint"), f"file://{self.folder}/empty"
        plain = t.StructType([t.StructField(f"c{at}", each.dataType) for at, each in enumerate(fields)])
        try:
            spark.createDataFrame([], plain).write.parquet(empty)
            name, delay = watermark
            events = spark.readStream.schema(plain).parquet(empty).toDF(*(each.name for each in fields))
            result = query(events.withWatermark("`" + name.replace("`", "``") + "`", f"{delay} milliseconds"))
            writer = result.writeStream.format("noop").outputMode(mode).option("checkpointLocation", made.place)
            writer.trigger(availableNow=True).start().awaitTermination()
            if made.numbers("commits") != [0]:
                raise EngineError(
                    f"Spark has written no checkpoint to {made.place!r}; expected a disk that it reaches, too"
                )
            made.go_on_from(old, batch)
            made.move(self.to)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
