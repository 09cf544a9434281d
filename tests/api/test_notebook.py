"""Events and queries say what they are, in a terminal and in a notebook."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..house.typed_program import AGGREGATES
from ..support.limits import limits

EVENTS = pa.table({"t": [0, 1], "<k>": ["a", "b"], "x": [1.0, 2.0]})


def test_events_say_their_columns_time_and_key() -> None:
    assert repr(ff.events(EVENTS, time="t", by="<k>")) == (
        "events  columns t (int64), <k> (string), x (double)\ntime    t\nkey     <k>"
    )
    assert "key     none: one series" in repr(ff.events(EVENTS, time="t"))


def test_queries_say_their_windows() -> None:
    query = ff.events(EVENTS, time="t", by="<k>").window(ff.sliding(4, every=2), ff.tumbling(8))
    assert repr(query).splitlines()[-1] == "windows  windows of 4 every 2; tumbling windows of 8"
    assert "object at 0x" not in repr(query)


def test_in_a_notebook_it_is_a_table_with_its_names_escaped() -> None:
    shown = ff.events(EVENTS, time="t", by="<k>").window(ff.tumbling(8))._repr_html_()
    assert shown.startswith("<table><tr><th>events</th>")
    assert "&lt;k&gt;" in shown
    assert "<k>" not in shown
    assert "tumbling windows of 8" in shown


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars"])
def test_a_query_over_data_in_memory_has_its_picture(kind: str) -> None:
    pytest.importorskip("drawsvg")
    frame = EVENTS if kind == "arrow" else EVENTS.to_pandas() if kind == "pandas" else pl.from_arrow(EVENTS)
    shown = ff.events(frame, time="t", by="<k>").window(ff.tumbling(8), ff.sliding(4, every=2))._repr_html_()
    pictures = [ET.fromstring(f"<svg{each}</svg>") for each in re.findall(r"<svg(.*?)</svg>", shown, re.DOTALL)]
    assert [len(each.findall("{*}circle")) for each in pictures] == [2, 2]
    titles = [picture.findall("{*}text")[0].text for picture in pictures]
    assert titles == ["tumbling windows of 8", "windows of 4 every 2"]


def test_what_cannot_be_drawn_or_would_take_long_has_none(tmp_path: Path) -> None:
    pq.write_table(EVENTS, tmp_path / "events.parquet")
    relation = duckdb.connect().from_arrow(EVENTS)
    windows = ff.tumbling(8)
    for events in (EVENTS.slice(0, 0), ff.parquet(tmp_path / "events.parquet"), relation):
        assert "<svg" not in ff.events(events, time="t").window(windows)._repr_html_()
    assert "<?xml" not in ff.events(EVENTS, time="t").window(windows)._repr_html_()
    assert "<svg" not in ff.events(EVENTS, time="x").window(windows)._repr_html_()
    assert "<svg" in ff.events(EVENTS, time="t").window(windows)._repr_html_()
    with limits(picture_rows=1):
        assert "<svg" not in ff.events(EVENTS, time="t").window(windows)._repr_html_()


def test_windows_by_themselves_are_words_and_how_they_were_made() -> None:
    shown = ff.sliding(4, every=2)._repr_html_()
    assert shown.startswith("<div>windows of 4 every 2<br><code>Sliding(size=4, every=2, ")
    assert "<k>" not in ff.policy(evict=ff.by_delta("<k>", 1.0), trigger=ff.by_count(1))._repr_html_()


def test_an_operation_is_how_it_was_made_and_what_it_computes() -> None:
    shown = ff.Average("<k>").over(ff.tumbling(8))._repr_html_()
    assert shown == (
        "<div><code>Average(&#x27;&lt;k&gt;&#x27;)</code>"
        "<br>The arithmetic mean of a column of numbers or durations; null where a window has none."
        "<br>over tumbling windows of 8</div>"
    )
    made = ((ff.Sum("x") + 1) / ff.Count())._repr_html_()
    assert made.startswith("<div><code>(Sum(&#x27;x&#x27;) + 1) / Count()</code><br>")
    assert "`" not in made
    bare = type("Bare", (ff.AggregateOperation,), {"state": {"n": "int64"}, "accumulate": lambda self, frames, x: {}})
    assert bare("x")._repr_html_() == "<div><code>Bare(&#x27;x&#x27;)</code></div>"


def test_every_operation_has_its_html() -> None:
    for name, operation in AGGREGATES.items():
        root = ET.fromstring(operation._repr_html_().replace("<br>", "<br/>"))
        assert (root.findtext("code"), root.tag) == (repr(operation), "div"), name


def test_a_relation_is_its_explanation() -> None:
    held = ff.relation(pa.table({"from": [0], "to": [2], "x": [1]}), valid_from="from", valid_to="to")
    assert held._repr_html_() == held.explain()._repr_html_()
    assert "<table>" in held._repr_html_()
