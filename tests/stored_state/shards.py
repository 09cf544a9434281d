"""What shards leave in Spark's state, as files of each version: ``python -m tests.stored_state.shards 1`` makes one.

A file is made once, by the release that has a new version of the state, and then stays as it is.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from pyspark.sql import types as t

import framefold as ff

from ..support.plans import Plan, bind
from ..support.shards import counted, holds
from ..support.spark_parts import Job, Shards, fingerprint, pack, partials_codec
from ..support.spark_parts import slide_shard as slide
from ..support.stages import partials_of as accumulate

HERE = Path(__file__).parent
SECOND = 1_000_000
SCHEMA = pa.schema([("time", pa.timestamp("us", "UTC")), ("key", pa.string()), ("x", pa.float64()), ("i", pa.int32())])
OUTPUTS: dict[str, Any] = {
    "n": ff.Count(), "s": ff.Sum("x"), "v": ff.Variance("x"), "m": ff.Median("i"), "top": ff.TopN("i", 2),
    "d": ff.CountDistinct("i"),
}  # fmt: skip
WINDOWS: dict[str, Any] = {
    "sliding": ff.sliding("20 seconds", every="7 seconds"),
    "sessions": ff.session("5 seconds"),
    "last rows": ff.last_rows(4, every=2),
    "landmark": ff.landmark(every="10 seconds"),
}
BEFORE, WATERMARK, AFTER = range(0, 100, 3), 80, range(81, 140, 4)
"""Seconds of the events in a stored state, of its watermark, and of events to come."""


def events(seconds: range) -> pa.Table:
    rows = [{"time": at * SECOND, "key": "ab"[at % 2], "x": at / 7, "i": at % 5} for at in seconds]
    times = pa.array([row["time"] for row in rows]).cast(SCHEMA.field("time").type)
    return pa.Table.from_pylist(rows, SCHEMA.set(0, pa.field("time", pa.int64()))).set_column(0, "time", times)


def plan_of(windows: Any, schema: pa.Schema = SCHEMA, by: str = "key", outputs: Any = None) -> Plan:
    return bind(schema, time="time", by=[by], window=windows, outputs=outputs or OUTPUTS)


class Table:
    """Spark's state of one name, in memory."""

    def __init__(self, values: dict[int, bytes]) -> None:
        self.values = values

    def keys(self) -> list[tuple[int]]:
        return [(key,) for key in self.values]

    def iterator(self) -> list[tuple[tuple[int], tuple[bytes]]]:
        return [((key,), (value,)) for key, value in self.values.items()]

    def getValue(self, key: tuple[int]) -> tuple[bytes]:  # Spark's names
        return (self.values[key[0]],)

    def updateValue(self, key: tuple[int], value: tuple[bytes]) -> None:
        self.values[key[0]] = bytes(value[0])

    def removeKey(self, key: tuple[int]) -> None:
        del self.values[key[0]]


class Processor:
    """What Spark calls for a shard, with its state."""

    def __init__(self, plan: Plan, state: dict[str, Any], width: int = 5 * SECOND) -> None:
        self.plan = counted(plan)
        self.said: dict[Any, Any] = {}
        self.tables = {
            name: {int(key): base64.b64decode(value) for key, value in state.get(name, {}).items()}
            for name in ("partials", "events")
        }
        self.partials = Table(self.tables["partials"])
        self.events = Table(self.tables["events"]) if holds(plan) else None
        self.text: str | None = state.get("book")
        self.book = SimpleNamespace(get=lambda: None if self.text is None else (self.text,), update=self.update)
        self.handle = SimpleNamespace(deleteTimer=lambda timer: None, registerTimer=lambda timer: None)
        schema = t.StructType([t.StructField(name, t.StringType()) for name in plan.result_schema.names])
        self.payload = pack(Shards(Job(self.plan, schema), fingerprint(plan), width, None))

    def update(self, row: tuple[str]) -> None:
        self.text = row[0]

    def batch(self, watermark: int, new: pa.Table | None = None) -> list[dict[str, Any]]:
        """The rows of a micro-batch, with a watermark in seconds."""
        table = (
            None
            if new is None
            else new.select(self.plan.columns)
            if self.events
            else accumulate(self.plan, new, 0).table
        )
        rows = () if table is None else [SimpleNamespace(place=0, ipc=partials_codec.to_ipc(table))]
        times = SimpleNamespace(
            getCurrentWatermarkInMs=lambda: watermark * 1000, getCurrentProcessingTimeInMs=lambda: 0
        )
        packets = list(slide(self.payload, self, "shard", rows, times))
        return [row for each in packets if each.ipc is not None for row in partials_codec.opened(each.ipc).to_pylist()]

    def state(self) -> dict[str, Any]:
        tables = {
            name: {str(key): base64.b64encode(value).decode() for key, value in values.items()}
            for name, values in self.tables.items()
        }
        return {"book": self.text, **tables}


def made() -> dict[str, Any]:
    """The state of each query once the events before have come and the watermark has."""
    found = {}
    for name, windows in WINDOWS.items():
        processor = Processor(plan_of(windows), {})
        processor.batch(0, events(BEFORE))
        processor.batch(WATERMARK)
        found[name] = processor.state()
    return found


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    (HERE / f"version_{sys.argv[1]}.json").write_text(json.dumps(made(), indent=1) + "\n")
