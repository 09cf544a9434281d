"""Events and queries say what they are, in a terminal and in a notebook."""

from __future__ import annotations

import pyarrow as pa

import framefold as ff

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
