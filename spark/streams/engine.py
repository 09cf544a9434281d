"""The engine of streams: a streaming DataFrame in, a streaming DataFrame of the results of closed windows out."""

from __future__ import annotations

import importlib.util
from typing import Any

import pyspark
from pyspark.sql import DataFrame, GroupedData
from pyspark.sql import functions as f

from ...aggregators.errors import EngineError, QueryError
from ...aggregators.states.objects import Objects
from ...runtime.explain import Explanation, explain
from ...runtime.plan.plan import Plan
from ...runtime.streams.shard import counted, why_not
from ..convert.names import check_result, spelt, type_in, under_plain_names
from ..convert.types import output_schema
from ..engine.engine import DataFrameEngine
from ..engine.tasks import Job
from ..options import Options
from ..session.packaging import stage
from .labels import labels
from .packets import PARTIALS, RESULTS, pack, unpack
from .slider import slider

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
WATERMARK = "spark.watermarkDelayMs"


class StreamEngine(DataFrameEngine):
    """Queries over a streaming DataFrame, classic or Connect."""

    def run(self, plan: Plan, options: Options) -> DataFrame:
        """The results of windows as a watermark closes them, in append mode: each once.

        Raises
        ------
        QueryError
            If the stream has no watermark on its time, or the plan cannot be answered on a stream.
        EngineError
            If the session's state store is not RocksDB, protobuf is not installed, or PySpark is older than 4.1.
        """
        self._check(plan, options)
        kept, df = counted(plan), self.df
        job = Job(kept, output_schema(plan.result_schema, [type_in(df, name) for name in plan.by]))
        packets = stage(under_plain_names(df, plan.columns), pack, job, self._labels(options), schema=PARTIALS)
        slid = packets.groupBy("shard").transformWithState(
            slider(job, fingerprint(plan)), RESULTS, "Append", "EventTime"
        )
        seen = slid.observe("framefold", f.coalesce(f.sum("late"), f.lit(0)).alias("late_events"))
        return stage(seen, unpack, job, schema=job.schema)

    def explain(self, plan: Plan, options: Options) -> Explanation:
        self._check(plan, options)
        count = len(self._labels(options))
        return explain(plan, "Spark, a stream", [
            ("accumulate", "in mapInArrow, each micro-batch: partials per task, dealt to shards by a hash of the key"),
            ("merge", f"in {count} shards, whose partials Spark's state store keeps until no open window needs them"),
            ("slide, finish", "in each shard, all its keys at once, when the watermark closes windows"),
        ])  # fmt: skip

    def where(self, condition: Any) -> StreamEngine:
        return StreamEngine(super().where(condition).df)

    def _labels(self, options: Options) -> tuple[int, ...]:
        partitions = int(self.df.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
        return labels(options.shards or partitions, partitions)

    def _check(self, plan: Plan, options: Options) -> None:
        spark = self.df.sparkSession
        check_result(spark, plan)
        if (reason := why_not(plan)) is not None:
            raise QueryError(f"a stream cannot answer this query: {reason}")
        fields = {field.name: field for field in self.df.schema.fields}
        if WATERMARK not in fields[spelt(plan.time, fields)].metadata:
            raise QueryError(
                f"the stream has no watermark on its time {plan.time!r}; expected one before ff.events, such as "
                f"stream.withWatermark({plan.time!r}, '10 minutes')"
            )
        if not options.trust_checkpoint:
            pickled = [
                name for name, bound in plan.outputs.items()
                if any(isinstance(kind, Objects) for kind in bound.fields.values())
            ]  # fmt: skip
            if pickled:
                raise QueryError(
                    f"the states of {pickled[0]!r} are Python objects, which a checkpoint has as pickles: who can "
                    "write there can run code here; expected .options(trust_checkpoint=True), or an AggregateOperation"
                )
        if not hasattr(GroupedData, "transformWithState"):
            raise EngineError(f"streams need PySpark 4.1 or later; found {pyspark.__version__}")
        if "RocksDB" not in str(spark.conf.get(PROVIDER, "")):
            raise EngineError(
                f"streams need the state store RocksDB; expected spark.conf.set({PROVIDER!r}, {ROCKSDB!r})"
            )
        if importlib.util.find_spec("google.protobuf") is None:
            raise EngineError("Spark's state in Python needs protobuf; expected pip install 'framefold[spark]'")


def fingerprint(plan: Plan) -> dict[str, Any]:
    """What must not change while a checkpoint is used."""
    states = {name: {key: str(kind) for key, kind in bound.fields.items()} for name, bound in plan.outputs.items()}
    return {
        "time": f"{plan.time} ({plan.times.type})",
        "by": [f"{field.name} ({field.type})" for field in plan.partials_schema][: len(plan.by)],
        "windows": [each.describe() for each in plan.axis.windows],
        "outputs": {name: str(bound.operation) for name, bound in plan.outputs.items()},
        "states": states,
    }
