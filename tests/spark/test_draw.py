"""Pictures of windows over events on Spark: those of the first of them, by time."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import framefold as ff

pytest.importorskip("drawsvg")


TIMES = random.Random(5).sample(range(1_000), 1_000)
TABLE = pa.table({"t": TIMES, "k": ["a", "b"] * 500, "x": [float(each) for each in TIMES]})


def words(picture: Any) -> list[str]:
    root = ET.fromstring(picture.as_svg())
    return ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]


def shapes(picture: Any) -> str:
    """All of a picture but its title."""
    return str(picture.as_svg()).replace(words(picture)[0], "")


@pytest.mark.parametrize("kind", ["frame", "files"])
def test_the_first_events_are_drawn_and_it_says_so(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "events.parquet")
    path = str(tmp_path / "events.parquet")
    data: Any = spark.read.parquet(path).repartition(3) if kind == "frame" else ff.parquet(path, spark=spark)
    windows = ff.policy(evict=ff.by_delta("x", 40.0), trigger=ff.by_count(20))
    picture = windows.draw(ff.events(data, time="t", by="k"))
    local = windows.draw(ff.events(TABLE, time="t", by="k"))
    assert words(picture)[0] == f"{windows}; the first 200 events"
    assert words(local)[0] == f"{windows}; the first 200 of 1,000 events"
    assert sorted(words(picture)[1:]) == sorted(words(local)[1:])
    assert shapes(picture).count("<circle") == shapes(local).count("<circle") == 200


def test_few_events_are_all_drawn(spark: SparkSession) -> None:
    df = spark.createDataFrame([(None, 1), (3, 2), (1, 1)], "t int, k int").selectExpr(
        "struct(t as start) as window", "k"
    )
    picture = ff.tumbling(2).draw(ff.events(df, time="window.start", by="k"))
    assert words(picture)[0] == "tumbling windows of 2"
    assert picture.as_svg().count("<circle") == 2


def test_what_cannot_be_drawn(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ff.EngineError, match=r"draw\(\) is given a stream; expected events that are there"):
        ff.tumbling("1 hour").draw(ff.events(stream, time="timestamp"))
    df = spark.range(3)
    with pytest.raises(ff.ColumnError, match="time= names the unknown column 't'; there are 'id'"):
        ff.tumbling(1).draw(ff.events(df, time="t"))
    with pytest.raises(ff.QueryError, match=r"draw\(\) is given 0 events"):
        ff.tumbling(1).draw(ff.events(df.limit(0), time="id"))
