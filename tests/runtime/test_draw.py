"""Pictures of windows: what is in them is what the windows are."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import framefold as ff

from ..support.windows import Spec

pytest.importorskip("drawsvg")
SVG = "{http://www.w3.org/2000/svg}"


def shapes(picture: Any, kind: str) -> list[ET.Element]:
    return list(ET.fromstring(picture.as_svg()).iter(SVG + kind))


def words(picture: Any) -> list[str]:
    return ["".join(element.itertext()) for element in shapes(picture, "text")]


def bars(picture: Any) -> list[ET.Element]:
    return [element for element in shapes(picture, "rect") if element.get("rx")]


def test_sliding_windows_frames_and_events() -> None:
    picture = ff.sliding(4, every=2).draw([1, 2, 4])
    assert len(shapes(picture, "circle")) == 3
    assert [word for word in words(picture) if word.isdigit()][:4] == ["1", "2", "2", "1"]
    assert len(bars(picture)) == 4
    assert len(shapes(picture, "rect")) == 1 + 3 + 4  # background, frames, windows
    left, width = (float(bars(picture)[1].get(name) or 0) for name in ("x", "width"))
    events = [float(circle.get("cx") or 0) for circle in shapes(picture, "circle")]
    assert left <= events[0] <= events[1] <= left + width == pytest.approx(events[2])  # [0, 4) ends where 4 is
    assert words(picture)[0] == "windows of 4 every 2"


def test_interval_events_by_key() -> None:
    table = pa.table({"a": [0, 4, 2], "b": [10, 8, 3], "k": ["x", "x", "y"]})
    table = table.set_column(2, "k", table["k"].dictionary_encode())
    picture = ff.snapshot().draw(ff.events(table, time="a", by="k", until="b"))
    assert len(bars(picture)) == 4
    assert {"x", "y"} <= set(words(picture))
    assert len({bar.get("fill") for bar in bars(picture)}) == 2  # a colour a key


def test_results_with_a_time_are_marked() -> None:
    times = [dt.datetime(2026, 1, 1, hour) for hour in (1, 2, 4, 9)]
    picture = ff.around(rows=(-1, 1)).draw(times)
    marks = [path for path in shapes(picture, "path") if (path.get("d") or "").endswith("Z")]  # closed: triangles
    assert len(marks) == len(bars(picture)) == 2
    assert "2026-01-01 09:00:00" in words(picture)


def test_text_is_escaped() -> None:
    table = pa.table({"t": [1], "k": ["<script>"]})
    picture = ff.tumbling(2).draw(ff.events(table, time="t", by="k"))
    assert "<script>" not in picture.as_svg()
    assert "<script>" in words(picture)


def test_of_many_events_the_first_are_drawn() -> None:
    times = pa.array(range(1_000, 0, -1))
    picture = ff.tumbling(50).draw(times)
    assert "tumbling windows of 50; the first 200 of 1,000 events" in words(picture)
    assert picture.as_svg() == ff.tumbling(50).draw(times).as_svg()
    assert not {word for word in words(picture) if word.isdigit() and int(word) > 250}


def test_what_cannot_be_drawn() -> None:
    for times, said in (
        (pa.array([], pa.int64()), r"draw\(\) is given 0 events; expected 1 or more"),
        (list(range(61)), r"draw\(\) has 61 windows; expected 1 to 60"),
    ):
        with pytest.raises(ff.QueryError, match=said):
            ff.tumbling(1).draw(times)
    said = r"^draw\(\) is given .*; expected ff\.events\(\.\.\.\), or a list of times$"
    column = {"t": [1]}
    for data in ("events", None, 3, column, pa.table(column), pd.DataFrame(column), pl.DataFrame(column)):
        with pytest.raises(ff.EngineError, match=said):
            ff.tumbling(1).draw(data)


def test_columns_of_times() -> None:
    expected = ff.tumbling(1).draw([1, 2]).as_svg()
    for times in ((1, 2), pa.chunked_array([[1], [2]]), np.array([1, 2]), pd.Series([1, 2]), pl.Series([1, 2])):
        assert ff.tumbling(1).draw(times).as_svg() == expected


ALONE = """
import sys
from framefold.runtime.windows.sliding import sliding
assert "<circle" in sliding(4, every=2).draw([1, 2, 4]).as_svg()
assert not {"framefold.windows", "framefold.events", "framefold.start"} & set(sys.modules)
"""


def test_kinds_of_windows_draw_by_themselves() -> None:
    """Nothing from above has to be imported first."""
    subprocess.run([sys.executable, "-c", ALONE], check=True)


def test_a_kind_of_ones_own_is_drawn() -> None:
    class Own(Spec):
        def __str__(self) -> str:
            return "windows of my own"

        def bind(self, time: Any, type_of: Any) -> Any:
            return ff.sliding(4, every=2).bind(time, type_of)

    picture = Own().draw(ff.events(pa.table({"t": [1, 2, 4]}), time="t"))
    assert words(picture)[0] == "windows of my own"
    assert len(bars(picture)) == 4
