"""Ordered dictionaries: all that compares goes by the order of their categories, whatever library they come from."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.states import Categories

duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

ORDER = ["low", "mid", "high", "top"]
SIZES = ["low", "high", "mid", "high", None, "low", "mid", "top"]
OTHER = {"t": [1, 2, 3, 4, 5, 12, 13, 14], "x": list(range(8)), "g": ["p", "q"] * 4}


def dictionary(
    values: list[Any], categories: list[Any] = ORDER, index: pa.DataType | None = None, ordered: bool = True
) -> pa.Array:
    places = [None if each is None else categories.index(each) for each in values]
    return pa.DictionaryArray.from_arrays(pa.array(places, index or pa.int8()), pa.array(categories), ordered=ordered)


def table() -> pa.Table:
    return pa.table({**OTHER, "c": dictionary(SIZES)})


def in_chunks() -> pa.Table:
    """Each chunk has a dictionary of its own, which is a part of the first one."""
    second, third = dictionary(SIZES[3:5], ["mid", "high"]), dictionary(SIZES[5:], ["low", "mid", "top"])
    return pa.table({**OTHER, "c": pa.chunked_array([dictionary(SIZES[:3]), second, third])})


def of_polars() -> Any:
    return polars.DataFrame({**OTHER, "c": polars.Series(SIZES, dtype=polars.Enum(ORDER))})


def of_pandas() -> Any:
    return pandas.DataFrame({**OTHER, "c": pandas.Categorical(SIZES, ORDER, ordered=True)})


def of_duckdb() -> Any:
    rows = pa.table({**OTHER, "c": SIZES})
    kind = ", ".join(map(repr, ORDER))
    return duckdb.from_arrow(rows).select(f"* exclude (c), c::enum({kind}) c")


SOURCES: dict[str, Callable[[], Any]] = {
    "pyarrow": table,
    "pyarrow in chunks": in_chunks,
    "a reader": lambda: table().to_reader(max_chunksize=3),
    "a data set": lambda: ds.dataset(table()),
    "a record batch": lambda: table().to_batches()[0],
    "Polars": of_polars,
    "pandas": of_pandas,
    "DuckDB": of_duckdb,
}


def place(value: str | None) -> tuple[bool, int]:
    """Where a value is in the order, null first."""
    return (value is not None, -1 if value is None else ORDER.index(value))


ROWS = [dict(zip(("t", "x", "g", "c"), row, strict=True)) for row in zip(*OTHER.values(), SIZES, strict=True)]


def groups(*keys: str) -> list[tuple[Any, list[dict[str, Any]]]]:
    """The events of each key and of each window of ten, in order."""

    def of(row: dict[str, Any]) -> Any:
        return (*(place(row[key]) if key == "c" else row[key] for key in keys), row["t"] // 10)

    return [(key, list(rows)) for key, rows in itertools.groupby(sorted(ROWS, key=of), key=of)]


OUTPUTS: dict[str, ff.Operation] = {
    "low": ff.Min("c"), "high": ff.Max("c"), "top": ff.TopN("c", 2), "bottom": ff.BottomN("c", 2, "x"),
    "least": ff.ArgMin("x", "c"), "greatest": ff.ArgMax("c", "c"), "of_most": ff.ArgMax("c", "x"),
    "set": ff.CollectSet("c"), "mode": ff.Mode("c"), "middle": ff.Quantile("c", 0.5, method="discrete"),
    "first": ff.First("x", ties="c"), "n": ff.CountDistinct("c"), "list": ff.CollectList("c"),
    "grouped": ff.GroupedBy(ff.Sum("x"), "c"), "by_other": ff.GroupedBy(ff.Max("c"), "g"),
    "filtered": ff.Filtered(ff.Min("c"), lambda c: pc.not_equal(c, "low"), "c"),
    "mapped": ff.Mapped(ff.Max("n"), pc.binary_length, "c", type=pa.int32()),
    "of": ff.AllOf(low=ff.Min("c"), n=ff.Count("c")), "upper": ff.Max("c").then(pc.utf8_upper),
    "text": ff.Concat("c", " "), "known": ff.Count("c"),
}  # fmt: skip


def expected(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Each output by its definition."""
    known = [row for row in rows if row["c"] is not None]
    sizes = [row["c"] for row in known]
    up = sorted(known, key=lambda row: place(row["c"]))
    down = sorted(known, key=lambda row: tuple(-each for each in place(row["c"])))
    distinct = sorted(set(sizes), key=place)
    by_other = [(g, [row["c"] for row in known if row["g"] == g]) for g in sorted({row["g"] for row in rows})]
    return {
        "low": up[0]["c"], "high": down[0]["c"], "top": [row["c"] for row in down[:2]],
        "bottom": [{"c": row["c"], "x": row["x"]} for row in up[:2]], "least": up[0]["x"], "greatest": down[0]["c"],
        "of_most": max(rows, key=lambda row: row["x"])["c"], "set": distinct, "mode": max(distinct, key=sizes.count),
        "middle": up[(len(up) + 1) // 2 - 1]["c"], "first": known[0]["x"], "n": len(distinct), "list": sizes,
        "grouped": [(each, sum(row["x"] for row in known if row["c"] == each)) for each in distinct],
        "by_other": [(g, max(own, key=place)) for g, own in by_other if own],
        "filtered": min((each for each in sizes if each != "low"), key=place, default=None),
        "mapped": max(map(len, sizes)), "of": {"low": up[0]["c"], "n": len(sizes)}, "upper": down[0]["c"].upper(),
        "text": " ".join(sizes), "known": len(sizes),
    }  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_all_that_compares_goes_by_the_categories(source: str) -> None:
    query = ff.events(SOURCES[source](), time="t").window(ff.tumbling(10))
    found = query.aggregate(**OUTPUTS)
    assert found.select(list(OUTPUTS)).to_pylist() == [expected(rows) for _, rows in groups()]
    assert not any("dictionary" in str(kind) or "extension" in str(kind) for kind in found.schema.types)


@pytest.mark.parametrize("source", SOURCES)
def test_keys_are_sorted_by_the_categories(source: str) -> None:
    for by in (["c"], ["g", "c"]):
        found = ff.events(SOURCES[source](), time="t", by=by).window(ff.tumbling(10)).aggregate(x=ff.CollectList("x"))
        wanted = [{name: rows[0][name] for name in by} | {"x": [row["x"] for row in rows]} for _, rows in groups(*by)]
        assert found.select([*by, "x"]).to_pylist() == wanted


def test_ties() -> None:
    one_time = of_polars().with_columns(t=polars.lit(1))
    found = ff.events(one_time, time="t", ties="c").window(ff.last_rows(8)).aggregate(x=ff.CollectList("x"))
    order = sorted(ROWS, key=lambda row: place(row["c"]))
    assert found["x"].to_pylist()[-1] == [row["x"] for row in order]


def test_keys_beside_plain_text() -> None:
    """Labels, keys to fill and other inputs that are text take the order of the categories."""
    anchors = pa.table({"size": ["top", "low", "high"], "s": [0, 0, 0], "e": [20, 20, 20]})
    window = ff.windows_from(anchors, start="s", end="e", by="size")
    found = ff.events(of_polars(), time="t", by="c").window(window).aggregate(n=ff.Count())
    assert found.select(["c", "n"]).to_pydict() == {"c": ["low", "high", "top"], "n": [2, 2, 1]}
    filled = ff.tumbling(20, empty="emit", fill_from=0, fill_to=20, fill_keys=pa.table({"c": ["mid", "high"]}))
    found = ff.events(of_polars().head(1), time="t", by="c").window(filled).aggregate(n=ff.Count())
    assert found["c"].to_pylist() == ["low", "mid", "high"]
    both = ff.together(
        a=ff.events(of_pandas(), time="t", by="c"), b=ff.events(pa.table({"t": [1], "c": ["mid"]}), time="t", by="c")
    )
    found = both.window(ff.tumbling(20)).aggregate(n=ff.Count(), low=ff.Min("a.c"), x=ff.Max("a.g"))
    keys = [None, "low", "mid", "high", "top"]
    assert found.select(["c", "n", "low"]).to_pydict() == {"c": keys, "n": [1, 2, 3, 2, 1], "low": keys}
    unknown = pa.table({"size": ["huge"], "s": [0], "e": [20]})
    window = ff.windows_from(unknown, start="s", end="e", by="size")
    with pytest.raises(ff.ColumnError, match="the anchors' key 'size' has 'huge', which is none of the 4 categories"):
        ff.events(of_polars(), time="t", by="c").window(window).aggregate(n=ff.Count())


def test_two_orders_do_not_fit() -> None:
    other = table().set_column(3, "c", dictionary(SIZES, ORDER[::-1]))
    with pytest.raises(ff.ColumnError, match=r"'c' .* ordered categories of string, .*; expected one type"):
        ff.together(a=ff.events(table(), time="t", by="c"), b=ff.events(other, time="t", by="c"))


def test_numbers_as_categories() -> None:
    """What adds goes by the values, what compares by the order, and what needs both says so."""
    data = pandas.DataFrame({"t": [1, 2, 3], "c": pandas.Categorical([3, 1, 2], [3, 1, 2], ordered=True)})
    query = ff.events(data, time="t").window(ff.tumbling(10))
    found = query.aggregate(s=ff.Sum("c"), low=ff.Min("c"), high=ff.Max("c"), mean=ff.Average("c"))
    assert found.select(["s", "low", "high", "mean"]).to_pylist() == [{"s": 6, "low": 3, "high": 2, "mean": 2.0}]
    for operation in (ff.Median("c"), ff.Quantile("c", 0.5), ff.Range("c"), ff.Histogram("c", [0, 2, 4])):
        with pytest.raises(ff.ColumnError, match="'c' is ordered categories of int64"):
            query.aggregate(x=operation)
    ascending = pandas.DataFrame({"t": [1, 2], "c": pandas.Categorical([3, 1], [1, 3], ordered=True)})
    found = ff.events(ascending, time="t").window(ff.tumbling(10)).aggregate(m=ff.Median("c"), r=ff.Range("c"))
    assert found.select(["m", "r"]).to_pylist() == [{"m": 2.0, "r": 2}]


class Least(ff.Min):
    """An operation of a user's, made of one that compares."""


def test_what_cannot_go_by_the_order_says_so() -> None:
    query = ff.events(table(), time="t").window(ff.tumbling(10))
    sentence = r"Least\('c'\) compares 'c', an ordered dictionary, .* expected a column of"
    with pytest.raises(ff.ColumnError, match=sentence):
        query.aggregate(x=Least("c"))
    nested = pa.table({"t": [1], "s": pa.StructArray.from_arrays([dictionary(["low"])], ["c"])})
    with pytest.raises(ff.ColumnError, match=r"Min\('s.c'\) compares 's.c', an ordered dictionary"):
        ff.events(nested, time="t").window(ff.tumbling(10)).aggregate(x=ff.Min("s.c"))
    for by in ("s", "s.c"):
        with pytest.raises(ff.ColumnError, match=f"by= names '{by}', an ordered dictionary whose order is not known"):
            ff.events(nested, time="t", by=by).window(ff.tumbling(10)).aggregate(n=ff.Count())
    assert ff.events(nested, time="t").window(ff.tumbling(10)).aggregate(x=ff.Last("s.c"))["x"].to_pylist() == ["low"]
    with pytest.raises(ff.ColumnError, match=r"time= .* 'c' is ordered categories of string"):
        ff.events(table(), time="c").window(ff.tumbling(10)).aggregate(n=ff.Count())


def test_dictionaries_without_an_order_go_by_value() -> None:
    plain = pa.table({"t": [1, 2, 3], "c": pa.DictionaryArray.from_arrays([0, 1, 2], ["low", "mid", "high"])})
    categories = polars.DataFrame(
        {"t": [1, 2, 3], "c": ["low", "mid", "high"]}, schema_overrides={"c": polars.Categorical}
    )
    for data in (plain, categories, plain.to_pandas()):
        found = ff.events(data, time="t", by="c").window(ff.tumbling(10)).aggregate(n=ff.Count())
        assert found["c"].to_pylist() == ["high", "low", "mid"]
        low = ff.events(data, time="t").window(ff.tumbling(10)).aggregate(c=ff.Min("c"))
        assert low["c"].to_pylist() == ["high"]


def test_types_are_equal_where_their_categories_are() -> None:
    one, same, other = (Categories(pa.array(each)) for each in (["a", "b"], ["a", "b"], ["b", "a"]))
    assert one == same == pickle.loads(pickle.dumps(one))
    assert one != other
    assert pa.list_(one) == pa.list_(same) != pa.list_(other)


# --- conditions and computed inputs, which are pyarrow's and do not say which category is above another -----------

FEW = ["pyarrow", "Polars", "pandas", "DuckDB"]
C, ALL = pc.field("c"), ff.tumbling(100)
SENTENCE = r"compares 'c', an ordered dictionary, and pyarrow would compare its texts; expected"


@pytest.mark.parametrize("source", FEW)
def test_conditions_that_ask_for_the_order_are_refused_and_others_are_not(source: str) -> None:
    events = ff.events(SOURCES[source](), time="t")
    for condition in (C > "low", C >= "mid", ~(C < "top"), (C == "low") | (C >= "mid")):
        with pytest.raises(ff.ColumnError, match=rf"^the condition .* of where\(\) {SENTENCE}"):
            events.where(condition)
    for output in (ff.Filtered(ff.Count(), C > "low"), ff.Sum((C < "mid").cast("int64"))):
        with pytest.raises(ff.ColumnError, match=f"^the input .* {SENTENCE}"):
            events.window(ALL).aggregate(n=output)
    equal = (C == "c > low") | (C == "mid") | C.isin(["high"])
    for condition, count in ((equal, 4), (C.cast("string") > "low", 3), (pc.field("x") > 2, 5), (C.is_valid(), 7)):
        assert events.where(condition).window(ALL).aggregate(n=ff.Count())["n"].to_pylist() == [count]


def test_conditions_on_categories_in_the_order_of_their_texts_compare() -> None:
    sizes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", "b", "c"]), ordered=True)
    events = ff.events(pa.table({"t": [1, 2, 3], "c": sizes}), time="t")
    assert events.where(C > "a").window(ALL).aggregate(n=ff.Count())["n"].to_pylist() == [2]


def test_equal_categories_in_long_texts_are_equal() -> None:
    """pandas has long texts, and Polars short ones."""
    inputs: dict[str, Any] = {"a": of_pandas(), "b": of_polars(), "c": table()}
    of = {name: ff.events(data, time="t", by="c") for name, data in inputs.items()}
    for first, second in ("ab", "ba", "ac", "ca"):
        both = ff.together(x=of[first], y=of[second]).window(ALL).aggregate(n=ff.Count())
        assert both["c"].to_pylist() == [None, "low", "mid", "high", "top"]
        assert both["n"].to_pylist() == [2, 4, 4, 4, 2]


@pytest.mark.spark
def test_conditions_of_files_on_spark(spark: Any, tmp_path: Path) -> None:
    of_pandas().to_parquet(tmp_path / "a.parquet")
    events = ff.events(ff.parquet(tmp_path / "a.parquet", spark=spark), time="t")
    with pytest.raises(ff.ColumnError, match=SENTENCE):
        events.where(C > "low")
    found = events.where(C == "low").window(ALL).aggregate(n=ff.Count()).collect()
    assert [row.n for row in found] == [2]


# --- several orders, or none, in one column: refused, and never compared as text ------------------------------------

LEVELS = ["low", "mid", "high"]


def folder(place: Path, format: str, *columns: pa.Array) -> Any:
    """A file for each column ``c``, beside times ``t``."""
    for number, column in enumerate(columns):
        table = pa.table({"t": pa.array(range(len(column)), pa.int64()), "c": column})
        path = place / f"{number}.{format}"
        if format == "parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(str(path), table.schema) as file:
                file.write_table(table)
    return ff.files(str(place), format=format)


def compared(events: Any, by: str | None = None) -> dict[str, list[Any]]:
    window = ff.events(events, time="t", by=by).window(ff.tumbling(10))
    return window.aggregate(low=ff.Min("c"), high=ff.Max("c")).drop_columns("window").to_pydict()


FIRST = dictionary(["low", "high"], LEVELS)
OTHERS = {
    "another index": dictionary(["low", "mid"], LEVELS, pa.int16()),
    "text": pa.array(["low", "mid"]),
    "large text": pa.array(["low", "mid"], pa.large_string()),
    "views": pa.array(["low", "mid"]).cast(pa.string_view()),
    "without an order": dictionary(["low", "mid"], LEVELS, ordered=False),
}
REVERSED = dictionary(["low", "mid"], LEVELS[::-1])


@pytest.mark.parametrize("format", ["arrow", "parquet"])
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("ordered_first", [True, False])
def test_files_with_an_order_and_without(tmp_path: Path, format: str, other: str, ordered_first: bool) -> None:
    if format == "parquet" and other in ("another index", "views") and int(pa.__version__.split(".")[0]) < 20:
        pytest.skip("before version 20 pyarrow writes no views, and reads all dictionaries of Parquet with one index")
    both = (FIRST, OTHERS[other]) if ordered_first else (OTHERS[other], FIRST)
    files = folder(tmp_path, format, *both)
    for by in (None, "c"):
        with pytest.raises(ff.QueryError, match=r"the column 'c' is .*; expected types of which one holds all"):
            compared(files, by)
    unused = ff.events(files, time="t").window(ff.tumbling(10)).aggregate(n=ff.Count())
    assert unused["n"].to_pylist() == [4]


def test_several_orders_in_files_batches_and_chunks(tmp_path: Path) -> None:
    """Also of one that is that of text only at first."""
    several = "'c' has its categories in several orders: 'high' is before 'mid' in"
    few = dictionary(["low"], ["low"])
    for number, columns in enumerate(((FIRST, REVERSED), (few, FIRST))):
        for format in ("arrow", "parquet") if number == 0 else ("parquet",):
            (place := tmp_path / f"{number} {format}").mkdir()
            files = folder(place, format, *columns)
            for by in (None, "c") if number == 0 else (None,):
                with pytest.raises(ff.ColumnError, match=several if number == 0 else "categories in several orders"):
                    compared(files, by)
        one, other = (pa.record_batch({"t": range(len(column)), "c": column}) for column in columns)
        data: list[Any] = [pa.RecordBatchReader.from_batches(one.schema, [one, other])]
        for each in [*data, pa.Table.from_batches([one, other])][: 2 - number]:
            with pytest.raises(ff.ColumnError, match="categories in several orders"):
                compared(each)


@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_parts_of_one_order_and_other_dictionaries_of_it(format: str, tmp_path: Path) -> None:
    files = folder(tmp_path, format, FIRST, dictionary(["mid", "low"], ["low", "mid"]), dictionary(["high"], ["high"]))
    assert compared(files) == {"low": ["low"], "high": ["high"]}
    assert compared(files, "c") == {"c": LEVELS, "low": LEVELS, "high": LEVELS}
    assert compared(pa.table({"t": [0, 1], "c": FIRST}).slice(0, 0)) == {"low": [], "high": []}
