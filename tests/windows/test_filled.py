"""Outputs that are filled where they have no value, by the last one or along a line, on every engine."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import framefold as ff

MINUTE = 60_000_000


def events(seed: int, rows: int = 30, unit: int = 1) -> pa.Table:
    """Events of keys that may be null, at different times with gaps between them; most values are there."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.choice(90, rows, replace=False))
    names = np.array(["a", "b", None], object)[rng.integers(0, 3, rows)]
    x = pa.array(rng.integers(0, 50, rows), mask=rng.random(rows) < 0.3)
    texts = pa.array([f"w{at}" for at in times], mask=rng.random(rows) < 0.3)
    return pa.table({"t": times * unit, "k": pa.array(names.tolist(), pa.string()), "x": x, "w": texts})


OUTPUTS = {
    "last": ff.Last("x").filled("last"), "line": ff.Average("x").filled("linear"), "n": ff.Count(),
    "text": ff.Last("w").filled("last"), "total": ff.Sum("x").filled("linear"),
}  # fmt: skip
PLAIN = {"last": ff.Last("x"), "line": ff.Average("x"), "n": ff.Count(), "text": ff.Last("w"), "total": ff.Sum("x")}


def right(plain: pa.Table, name: str, keyed: bool) -> list[Any]:
    """What Polars makes of an output where it is filled, of the result without filling."""
    at = plain["at"] if "at" in plain.column_names else pc.struct_field(plain["window"], "end")
    of: dict[str, pl.Expr] = {name: pl.col(name).forward_fill() for name in ("last", "text")} | {"n": pl.col("n")}
    filled = of.get(name, pl.col(name).cast(pl.Float64).interpolate_by("#"))
    frame: Any = pl.from_arrow(plain.append_column("#", at))
    return frame.select(filled.over("k") if keyed else filled)[name].to_list()


def timed() -> Any:
    table = events(1, unit=MINUTE)
    return ff.events(table.set_column(0, "t", table["t"].cast(pa.timestamp("us", "UTC"))), time="t", by="k")


def query(of: Any, minutes: int) -> Any:
    return of.window(ff.tumbling(f"{minutes} minutes", empty="emit"))


TABLE = pa.table({"from": [-3, 5, 26, 51, 76], "to": [1, 9, 30, 55, 80]})
WINDOWS = {
    "sliding": ff.sliding(4, every=1, empty="emit"), "paired": ff.sliding(7, every=3, empty="emit"),
    "right": ff.sliding(4, every=2, closed="right", empty="emit"),
    "cumulating": ff.cumulating(12, every=3, empty="emit"),
    "filled up": ff.tumbling(2, empty="emit", fill_from=-10, fill_to=100),
    "at their start": ff.tumbling(3, empty="emit", stamp="start"),
    "samples": ff.sliding(6, every=2, empty="emit", min_samples=2),
    "policy": ff.policy(evict=ff.by_time(5), trigger=ff.by_time(2), empty="emit"),
    "from a table": ff.windows_from(TABLE, start="from", end="to", empty="emit"),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("chunk", [1, 5, 1 << 18])
@pytest.mark.parametrize("name", WINDOWS)
def test_every_kind_of_windows_that_gives_empty_ones(limit: Callable[..., None], name: str, chunk: int) -> None:
    limit(chunk_windows=chunk)
    for by in ("k", None):
        windows = ff.events(events(len(name) + chunk), time="t", by=by).window(WINDOWS[name])
        plain, filled = windows.aggregate(**PLAIN), windows.aggregate(**OUTPUTS)
        assert plain["line"].null_count
        for output in OUTPUTS:
            wanted = right(plain, output, bool(by))
            assert filled[output].to_pylist() == (wanted if output == "text" else pytest.approx(wanted)), output


def test_values_of_any_type_are_carried_on() -> None:
    table = pa.table({
        "t": [0, 3], "i": [2**62, 1], "b": [True, False], "d": [datetime.date(2026, 1, 1)] * 2, "l": [[1], [2, 3]],
        "m": pa.array([1, 2]).cast(pa.decimal128(21, 2)), "c": pa.array(["u", "v"]).dictionary_encode(),
    })  # fmt: skip
    names = table.column_names[1:]
    windows = ff.events(table, time="t").window(ff.tumbling(1, empty="emit"))
    found = windows.aggregate(**{name: ff.Last(name).filled("last") for name in names})
    plain = windows.aggregate(**{name: ff.Last(name) for name in names})
    for name in names:
        first, *_, last = plain[name].to_pylist()
        assert found.schema.field(name) == plain.schema.field(name)
        assert found[name].to_pylist() == [first, first, first, last]
    lines = windows.aggregate(m=ff.Last("m").filled("linear"), i=ff.Last("i").filled("linear"))
    assert lines.schema.field("m").type == pa.float64()
    assert lines["m"].to_pylist() == pytest.approx([1, 4 / 3, 5 / 3, 2])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda of: ff.Last("x").filled("ffill"), "filled() is given 'ffill'; expected 'last' (as pandas' ffill)"),
        (lambda of: of.window(ff.tumbling("1 minute")).aggregate(a=ff.Last("x").filled("last")),
         "a=Last('x') is filled, and windows without an event are left out; expected some with empty='emit'"),
        (lambda of: of.window(ff.session("1 minute")).aggregate(a=ff.Last("x").filled("last")), "expected some with"),
        (lambda of: query(of, 1).aggregate(a=ff.Last("x").filled("last") + 1), "inside; expected it on the whole"),
        (lambda of: query(of, 1).aggregate(a=ff.Last("w").filled("linear")), "no line between values of type string"),
        (lambda of: of.window(ff.around(rows=(-1, 0))).with_columns(a=ff.Last("x").filled("last")),
         "with_columns() gives rows, and no windows one by one"),
        (lambda of: ff.tumbling("1 minute", empty="ffill"), "which .filled('last') of an output fills"),
    ],
)  # fmt: skip
def test_what_cannot_be_filled_is_said(asked: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(ff.QueryError, match=re.escape(said)):
        asked(timed())


@pytest.mark.parametrize("word", ["resample", "ffill", "interpolate", "groupby", "rolling"])
def test_words_of_pandas_lead_here(word: str) -> None:
    of = timed()
    for each in (of, query(of, 1), ff.Last("x")):
        with pytest.raises(AttributeError, match=rf"{word}'.*expected .*(filled|ff.events|with_columns)"):
            getattr(each, word)
    assert not any(hasattr(each, "other") for each in (of, ff.Sum("x")))


def test_on_spark_whoever_slides(spark: Any) -> None:
    table = events(9, 60, MINUTE)
    table = table.set_column(0, "t", table["t"].cast(pa.timestamp("us", "UTC")))

    def rows(found: pa.Table) -> list[dict[str, Any]]:
        return sorted(found.to_pylist(), key=lambda row: (row["k"] or "", row["window"]["start"]))

    wanted = rows(query(ff.events(table, time="t", by="k"), 2).aggregate(**OUTPUTS))
    for choices in ({"combine": "driver"}, {"combine": "executors"}, {"combine": "executors", "accumulate": "python"}):
        of = ff.events(spark.createDataFrame(table), time="t", by="k").options(**choices)
        assert rows(query(of, 2).aggregate(**OUTPUTS).toArrow()) == wanted


def test_a_stream_says_why_not(spark: Any, rocksdb: None) -> None:
    stream = spark.readStream.format("rate").load()
    of = ff.events(stream, time="timestamp").stream(watermark="1 minute")
    sentence = r"x is filled, and its values in windows that were given before are not kept"
    with pytest.raises(ff.QueryError, match=sentence):
        of.window(ff.tumbling("1 minute", empty="emit")).stream(forget="1 hour").aggregate(
            x=ff.Last("value").filled("last")
        )
