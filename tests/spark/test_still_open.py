"""The windows that are open when the input of a stream ends, read from its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("google.protobuf")

import framefold as ff

from ..support.stream_source import OUTPUTS, WINDOWS, Source, every_row, rows, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("rocksdb")

IN_ORDER: dict[str, Any] = {"n": ff.Count(), "xs": ff.CollectList("x")}


@pytest.mark.slow
def test_with_what_the_stream_gave_they_are_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Twice, since reading changes nothing; and what comes later goes on from there."""
    tables = [table(0, 30), table(25, 60, seed=1)]
    source = Source(spark, tmp_path).add(*tables)
    sliding, last = source.query(shards=3), source.query(ff.last_rows(3), shards=2)
    running = [source.start(sliding.aggregate(**OUTPUTS)), source.start(last.aggregate(**IN_ORDER), "last")]
    assert all(query.awaitTermination(300) for query in running)
    events = ff.events(pa.concat_tables(tables), time="time", by="key")
    whole = events.window(WINDOWS["sliding"]).aggregate(**OUTPUTS)
    checkpoint = str(tmp_path / "out-checkpoint")
    for _ in range(2):
        found = sliding.still_open(checkpoint, **OUTPUTS).toArrow()
        assert rows(source.found()) + rows(found) == rows(whole)
        assert 0 < len(found) < len(whole)
    found = last.still_open(str(tmp_path / "last-checkpoint"), **IN_ORDER).toArrow()
    assert every_row(source.found("last")) + every_row(found) == every_row(
        events.window(ff.last_rows(3)).aggregate(**IN_ORDER)
    )
    with pytest.raises(ff.EngineError, match=r"^the checkpoint is of another query: outputs"):
        sliding.still_open(checkpoint, **(OUTPUTS | {"n": ff.Count("x")}))
    tables.append(table(55, 90, seed=2))
    source.add(tables[-1])
    assert source.start(sliding.aggregate(**OUTPUTS)).awaitTermination(300)
    found = sliding.still_open(checkpoint, **OUTPUTS).toArrow()
    events = ff.events(pa.concat_tables(tables), time="time", by="key")
    assert rows(source.found()) + rows(found) == rows(events.window(WINDOWS["sliding"]).aggregate(**OUTPUTS))


def test_what_is_no_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    query = Source(spark, tmp_path).query()
    with pytest.raises(ff.EngineError, match=r"the checkpoint '.*nothing' has no state that can be read: .*; expected"):
        query.still_open(str(tmp_path / "nothing"), n=ff.Count())
    with pytest.raises(ff.EngineError, match=r"the checkpoint '.*no%thing' has '%' in its path"):
        query.still_open(tmp_path / "no%thing", n=ff.Count())
    assert query.stream(checkpoint=tmp_path / "nothing").aggregate(n=ff.Count()).isStreaming, "a new one, as a path"
    for other in (5, "", b"there"):
        with pytest.raises(ff.QueryError, match=r"the checkpoint is .*; expected the checkpointLocation of a stream"):
            query.still_open(other, n=ff.Count())
        with pytest.raises(ff.QueryError, match=r"the checkpoint is .*; expected the checkpointLocation of a stream"):
            query.stream(checkpoint=other).aggregate(n=ff.Count())
    with pytest.raises(
        ff.QueryError, match=r"still_open\(\) is asked for events that are no stream; expected a stream"
    ):
        ff.events(table(0, 1), time="time").window(ff.tumbling("1 hour")).still_open("anywhere", n=ff.Count())
