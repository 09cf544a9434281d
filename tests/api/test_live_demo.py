"""``framefold demo --stream``: a made-up stream, seen as its windows close."""

from __future__ import annotations

import datetime
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

pytest.importorskip("pyspark")

import framefold as ff

from ..support.command_line import LATEST, TripsStream, live, main


def test_trips_are_of_the_last_seconds_and_whole_files(tmp_path: Path) -> None:
    stream = TripsStream(tmp_path, seed=1)
    before = datetime.datetime.now(datetime.UTC)
    stream.start()
    while not (tmp_path / "0.parquet").exists():
        pass
    stream.stop()
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    table = pq.read_table(tmp_path / "0.parquet")
    times = table["pickup"].to_pylist()
    assert min(times) >= before - datetime.timedelta(seconds=LATEST)
    assert max(times) <= datetime.datetime.now(datetime.UTC)
    assert len(times) > 50


def test_the_view_has_a_row_for_each_zone() -> None:
    view = live.View()
    zone = live.ZONES_SHOWN[0]
    ends = [datetime.datetime(2024, 5, 17, 8, 0, second) for second in (10, 11, 12)]
    view.last = {zone: [(end, float(place), 7) for place, end in enumerate(ends)]}
    view.said, view.windows = {"partials": 90, "late_events": 2, "lag_ms": 3210}, 1234
    console = Console(file=io.StringIO(), width=100)
    console.print(view)
    seen = console.file.getvalue()  # type: ignore[attr-defined]
    assert "08:00:12" in seen
    assert "2.0" in seen
    assert "▁▄█" in seen
    assert "1,234 windows given, 90 partials kept, 2 late events, the watermark 3.2 s behind the clock" in seen


def test_windows_that_differ_from_the_batch_are_an_error(tmp_path: Path) -> None:
    TripsStream(tmp_path, seed=1).write(0)
    table = live.windowed(ff.parquet(str(tmp_path))).aggregate(**live.OUTPUTS)
    view, console = live.View(), Console(file=io.StringIO(), width=200)
    view.given = [table.slice(0, 9)]
    live.compare(console, view, table.slice(9), tmp_path)
    assert "9 windows that have closed" in console.file.getvalue()  # type: ignore[attr-defined]
    for rest in (table.slice(8), table.slice(10), pa.concat_tables([table.slice(9), table.slice(9)])):
        with pytest.raises(ff.EngineError, match="do not give the same windows"):
            live.compare(console, view, rest, tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_demo_of_a_stream_ends_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--stream", "--seconds", "12"]) == 0
    seen = " ".join(capsys.readouterr().out.split())
    assert "those of the batch over the same trips, bit for bit" in seen
