"""The windows of a result as columns, and results as events of further windows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import framefold as ff

MINUTE = 60_000_000


def events(rows: int = 400, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    times = pa.array(np.sort(rng.integers(0, 300 * MINUTE, rows))).cast(pa.timestamp("us", tz="UTC"))
    return pa.table({"t": times, "k": rng.choice(["a", "b"], rows), "x": rng.integers(0, 100, rows)})


def counted(data: Any, windows: Any, **choices: Any) -> Any:
    query = ff.events(data, time="t", by="k").options(**choices).window(windows)
    return query.aggregate(n=ff.Count(), s=ff.Sum("x"))


WINDOWS = {
    "sliding": ff.sliding("10 minutes", every="5 minutes"),
    "stamped": ff.sliding("10 minutes", every="5 minutes", stamp="end"),
    "sessions": ff.session("90 seconds"),
    "rows": ff.last_rows(3),
    "months": ff.tumbling("1 month", timezone="Asia/Kathmandu"),
}


@pytest.mark.parametrize("windows", WINDOWS.values(), ids=WINDOWS)
def test_flat_columns_are_the_fields_of_the_struct_in_its_place(windows: Any) -> None:
    found, flat = counted(events(), windows), counted(events(), windows, window="flat")
    place = found.column_names.index("window")
    start, end = found["window"].combine_chunks().flatten()
    without = found.remove_column(place)
    expected = without.add_column(place, "window_start", start).add_column(place + 1, "window_end", end)
    assert flat.equals(expected)
    assert flat.schema.types == expected.schema.types


def test_flat_columns_of_several_kinds_of_windows() -> None:
    query = ff.events(events(), time="t", by="k").window(WINDOWS["sliding"], WINDOWS["rows"])
    found, flat = query.aggregate(n=ff.Count()), query.options(window="flat").aggregate(n=ff.Count())
    assert flat.column_names == ["k", "window_start", "window_end", "at", "n"]
    assert flat["window_end"].equals(pc.struct_field(found["window"], "end"))


@pytest.mark.parametrize(
    ("choices", "key", "output", "sentence"),
    [
        ({"window": "columns"}, "k", "n", "window is 'columns', expected one of 'struct', 'flat'"),
        ({"window": "flat"}, "k", "window_end", "the output 'window_end' would hide the column 'window_end' of every"),
        ({}, "k", "window", "the output 'window' would hide the column 'window' of every result"),
        ({"window": "flat"}, "window_start", "n", "by= names 'window_start', the name of a column of every result"),
        ({}, "window", "n", "by= names 'window', the name of a column of every result; expected"),
    ],
)
def test_names_and_words_that_are_refused(choices: Any, key: str, output: str, sentence: str) -> None:
    query = ff.events(events().rename_columns(["t", key, "x"]), time="t", by=key).window(ff.tumbling("1 hour"))
    with pytest.raises(ff.QueryError, match=re.escape(sentence)):
        query.options(**choices).aggregate(**{output: ff.Count()})


def test_a_key_may_have_the_name_that_is_free() -> None:
    table = events().rename_columns(["t", "window", "x"])
    query = ff.events(table, time="t", by="window").options(window="flat").window(ff.tumbling("5 hours"))
    assert query.aggregate(window_=ff.Count()).column_names == ["window", "window_start", "window_end", "window_"]


def hourly(table: pa.Table) -> list[tuple[Any, ...]]:
    """The greatest sum of five minutes in each hour, by Polars."""
    frame: Any = pl.from_arrow(table)
    fives = frame.sort("t").group_by_dynamic("t", every="5m", group_by="k").agg(pl.sum("x"))
    hours = fives.sort("k", "t").group_by_dynamic("t", every="1h", group_by="k").agg(pl.max("x"))
    return sorted(hours.rows())


def greatest(data: Any) -> Any:
    query = ff.events(data, time="window.start", by="k").window(ff.tumbling("1 hour"))
    return query.aggregate(most=ff.Max("s"))


def rows_of(result: pa.Table) -> list[tuple[Any, ...]]:
    return [(row["k"], row["window"]["start"], row["most"]) for row in result.to_pylist()]


@pytest.mark.parametrize("form", ["table", "chunks", "batch", "reader", "polars", "pandas", "dataset"])
def test_results_are_events_of_further_windows(form: str, tmp_path: Path) -> None:
    fives = counted(events(), ff.tumbling("5 minutes"))
    pq.write_table(fives, tmp_path / "fives.parquet", row_group_size=7)
    data = {
        "table": lambda: fives, "chunks": lambda: pa.concat_tables([fives.slice(0, 9), fives.slice(9)]),
        "batch": lambda: fives.combine_chunks().to_batches()[0], "reader": lambda: fives.to_reader(max_chunksize=5),
        "polars": lambda: pl.from_arrow(fives), "pandas": lambda: fives.to_pandas(),
        "dataset": lambda: ds.dataset(tmp_path / "fives.parquet"),
    }  # fmt: skip
    assert rows_of(greatest(data[form]())) == hourly(events())


def test_files_of_results_are_events_of_further_windows(tmp_path: Path) -> None:
    fives = counted(events(), ff.tumbling("5 minutes"))
    for number in range(2):
        part = fives.slice(number * 20, 20 if not number else None)
        pq.write_table(part, tmp_path / f"{number}.parquet", row_group_size=7)
    assert rows_of(greatest(ff.parquet(str(tmp_path)))) == hourly(events())
    some = ff.events(ff.parquet(str(tmp_path)), time="window.end", by="k").where(pc.field("k") == "a")
    closed = some.window(ff.tumbling("1 hour", closed="right")).aggregate(most=ff.Max("s"))
    assert rows_of(closed) == [row for row in hourly(events()) if row[0] == "a"]


def test_bounds_are_keys_ends_ties_and_inputs_too() -> None:
    tens = counted(events(), ff.sliding("10 minutes", every="5 minutes"))
    living = ff.events(tens, time="window.start", until="window.end", by="k")
    found = living.window(ff.tumbling("5 minutes")).aggregate(n=ff.Count())
    assert set(found["n"].to_pylist()) <= {1, 2}
    assert sum(found["n"].to_pylist()) == 2 * len(tens)
    by_bound = ff.events(tens, time="window.end", by="window.start", ties="window.start").window(ff.last_rows(5))
    last = by_bound.aggregate(last=ff.Last("window.end"), n=ff.Count())
    assert last.column_names == ["window.start", "window", "at", "last", "n"]
    assert last["last"].equals(pc.struct_field(last["window"], "end"))


def test_several_results_together_and_as_windows() -> None:
    table = events()
    fives, sessions = counted(table, ff.tumbling("5 minutes")), counted(table, ff.session("30 seconds"))
    both = ff.together(
        fives=ff.events(fives, time="window.start", by="k"), sessions=ff.events(sessions, time="window.start", by="k")
    )
    found = both.window(ff.tumbling("300 minutes")).aggregate(n=ff.Count(), a=ff.Sum("fives.s"), b=ff.Sum("sessions.s"))
    assert sum(found["n"].to_pylist()) == len(fives) + len(sessions)
    assert found["a"].equals(found["b"])
    windows = ff.windows_from(sessions, start="window.start", end="window.end", by="k")
    again = ff.events(table, time="t", by="k").window(windows).aggregate(n=ff.Count(), s=ff.Sum("x"))
    assert again.drop("at").equals(sessions)


def test_a_column_of_the_very_name_comes_first() -> None:
    table = pa.table({"w": pa.array([{"t": 1}, {"t": 2}]), "w.t": [10, 20]})
    found = ff.events(table, time="w.t").window(ff.tumbling(10)).aggregate(n=ff.Count())
    assert [row["window"]["start"] for row in found.to_pylist()] == [10, 20]


def test_fields_of_fields_and_of_columns_with_dots() -> None:
    table = pa.table({"a.b": pa.array([{"c": {"d": 3}}, {"c": {"d": 4}}, {"c": None}, None])})
    query = ff.events(table, time="a.b.c.d", null_time="drop")
    with pytest.warns(ff.DroppedEventsWarning, match=r"2 of 4 events have no time 'a\.b\.c\.d'"):
        assert query.window(ff.tumbling(10)).aggregate(n=ff.Count())["n"].to_pylist() == [2]
    assert query.dropped().equals(table.slice(2))


def test_an_unknown_field_is_named() -> None:
    fives = counted(events(), ff.tumbling("5 minutes"))
    query = ff.events(fives, time="window.ends").window(ff.tumbling("1 hour"))
    sentence = r"^time= names the unknown column 'window.ends'; did you mean 'window.end'\?$"
    with pytest.raises(ff.ColumnError, match=sentence):
        query.aggregate(n=ff.Count())
    inside = ff.events(fives, time="n.end").window(ff.tumbling("1 hour"))
    with pytest.raises(ff.ColumnError, match=r"^time= names the unknown column 'n.end'"):
        inside.aggregate(n=ff.Count())


def test_windows_of_results_can_be_drawn() -> None:
    pytest.importorskip("drawsvg")
    fives = counted(events(20), ff.tumbling("5 minutes"))
    picture = ff.tumbling("1 hour").draw(ff.events(fives, time="window.start", by="k"))
    assert "<rect" in picture.as_svg()
