"""Parts of the engine on Spark: what tasks are sent, what they send, and a shard's function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pyarrow as pa

from framefold.extras.cli.submission.command import read as read_command
from framefold.spark.convert import partials_codec
from framefold.spark.convert.partials_codec import PartialsCodec
from framefold.spark.convert.partials_codec import batches as wire_batches
from framefold.spark.convert.types import output_schema, ticks_sql, to_spark
from framefold.spark.engine import driver
from framefold.spark.engine.driver import COMPUTED
from framefold.spark.engine.events_source import BLOBS
from framefold.spark.engine.tasks import WEIGHT_BYTES, Job, accumulate_to_ipc, weight_of
from framefold.spark.files import task_reader
from framefold.spark.files.parquet_types import foreign, kinds
from framefold.spark.files.scan import Part, ReadPlan
from framefold.spark.input.scan_bounds import explained, span_of
from framefold.spark.session import packaging, parallelism, pickling
from framefold.spark.session.conf_overrides import described
from framefold.spark.session.dataframes import THRESHOLD, to_dataframe
from framefold.spark.session.errors import stopped_named
from framefold.spark.session.pickling import pack
from framefold.spark.session.staging import stage
from framefold.spark.session.worker_python import trouble
from framefold.spark.streams.engine import fingerprint
from framefold.spark.streams.history import checked
from framefold.spark.streams.labels import labels, murmur3
from framefold.spark.streams.places import QUOTED
from framefold.spark.streams.shards import VERSION, Shards
from framefold.spark.streams.slider import called as slide_shard

from .stages import Partials


def blobs_of(partials: pa.Table, starts: Any, size: int) -> Iterator[bytes]:
    """Partials as blobs of whole keys, which begin at ``starts``, of about so many rows."""
    return driver.blobs_of(Partials(cast(Any, None), partials, starts), size)
