"""Text, binaries and lists that come as views, as Polars gives them: the same results as of plain columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

import framefold as ff

from ..oracles.operations import LongestRun
from ..support.states import viewless, without_views
from ..support.toys import Joined

duckdb = pytest.importorskip("duckdb")
polars = pytest.importorskip("polars")

ROWS = 12
PLAIN = pa.table({
    "t": [4, 1, 7, None, 2, 9, 3, 8, 5, None, 11, 6],
    "k": ["a", "b", None, "a", "é", "b", "a", "a", None, "b", "a", "b"],
    "s": ["x", None, "zz", "y", "", "x", "ÿ", "x", "q", None, "long enough not to be inlined", "x"],
    "b": [b"x", None, b"zz", b"y", b"", b"x", b"\xff", b"x", b"q", None, b"z" * 20, b"x"],
    "l": [["p", None], [], None, ["q"], ["r" * 20], [], ["p"], None, ["p"], ["q"], ["p"], ["q"]],
    "r": [{"of": ["p"], "n": number} for number in range(ROWS)], "x": range(ROWS),
})  # fmt: skip


def view_of(type: pa.DataType) -> pa.DataType:
    """The type with views wherever there can be one."""
    if pa.types.is_string(type):
        return pa.string_view()
    if pa.types.is_binary(type):
        return pa.binary_view()
    if pa.types.is_list(type):
        return pa.list_(view_of(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([(field.name, view_of(field.type)) for field in type])
    return type


def with_views() -> pa.Table:
    return pa.table(
        {field.name: pa.array(PLAIN[field.name].to_pylist(), view_of(field.type)) for field in PLAIN.schema}
    )


def frame() -> Any:
    found = polars.from_arrow(PLAIN)
    assert pa.RecordBatchReader.from_stream(found).schema.field("s").type == pa.string_view()
    return found


SOURCES: dict[str, Callable[[], Any]] = {
    "a table of views": with_views,
    "a table of views in chunks": lambda: pa.concat_tables([with_views().slice(at, 5) for at in (0, 5, 10)]),
    "a reader of views": lambda: with_views().to_reader(max_chunksize=4),
    "a data set of views": lambda: ds.dataset(with_views()),
    "Polars": frame,
    "Polars categories": lambda: frame().with_columns(k=polars.col("k").cast(polars.Categorical)),
    "DuckDB": lambda: duckdb.sql("select * from PLAIN"),
}

WINDOWS = [
    ff.tumbling(5), ff.last_rows(3), ff.landmark(since=0, every=5),
    ff.policy(evict=ff.by_delta("x", 3), trigger=ff.by_time(2)),
    ff.windows_from(pa.table({"k": ["a", "b"], "s": [0, 2], "e": [9, 7]}), start="s", end="e", by="k"),
]  # fmt: skip
"""Of frames, rows and all values; by a column; and by keys of another table. Random queries have all kinds."""
OUTPUTS: dict[str, ff.Operation] = {
    "count": ff.Count("s"), "min": ff.Min("s"), "max_b": ff.Max("b"), "first": ff.First("l"), "last": ff.Last("r"),
    "list": ff.CollectList("l"), "concat": ff.Concat("s", "-"), "set": ff.CollectSet("s"), "mode": ff.Mode("b"),
    "top": ff.TopN("s", 2, "b", "l"), "best": ff.ArgMax("l", "s"), "distinct": ff.CountDistinct("s"),
    "grouped": ff.GroupedBy(ff.Last("b"), "s"), "flat": ff.FlatMapped(ff.Max("l")),
    "filtered": ff.Filtered(ff.Last("s"), lambda text: pc.greater(text, "c"), "s"),
    "mapped": ff.Mapped(ff.Sum("n"), pc.binary_length, "s", type=pa.int32()),
    "of": ff.AllOf(low=ff.Min("s"), n=ff.Sum("r.n")), "run": LongestRun("s"), "joined": Joined("s"),
}  # fmt: skip


def ask(data: Any, window: Any) -> list[Any]:
    found = ff.events(data, time="t", by="k", null_time="drop").window(window).aggregate(**OUTPUTS)
    rows: list[Any] = found.to_pylist()
    return rows


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore:2 of 12 events have no time")
@pytest.mark.parametrize("source", SOURCES)
def test_views_are_plain_columns(source: str) -> None:
    """Also in conditions and expressions, and where events without a time are an error, or apart."""
    data = SOURCES[source]
    for window in WINDOWS:
        expected = ask(PLAIN, window)
        assert len(expected) >= 2
        assert ask(data(), window) == expected
    with pytest.raises(ff.NullTimeError, match="the time 't' is null in"):
        ff.events(data(), time="t", by="k").window(ff.last_rows(2)).aggregate(n=ff.Count())
    dropped = ff.events(data(), time="t", by="k").dropped().select(["k", "s", "x"])
    assert dropped.to_pylist() == [{"k": "a", "s": "y", "x": 3}, {"k": "b", "s": None, "x": 9}]
    events = ff.events(data(), time="t", null_time="drop").where(
        (pc.field("s") == "x") & (pc.field("b") != b"zz") & pc.field("t").is_valid()
    )
    length = ff.Sum(pc.binary_length(pc.field("s")))
    found = events.window(ff.tumbling(100)).aggregate(x=ff.CollectList("x"), n=length, r=ff.Max("r.n"))
    assert found.select(["x", "n", "r"]).to_pylist() == [{"x": [0, 11, 7, 5], "n": 4, "r": 11}]


@pytest.mark.skipif(int(pa.__version__.split(".")[0]) < 20, reason="pyarrow 18 itself crashes on files of views")
def test_arrow_files_of_views(tmp_path: Any) -> None:
    frame().write_ipc(tmp_path / "views.arrow")
    files = ff.files(str(tmp_path / "views.arrow"), format="arrow")
    with pytest.warns(ff.DroppedEventsWarning):
        assert ask(files, ff.last_rows(3)) == ask(PLAIN, ff.last_rows(3))


def test_inputs_together_and_keys_to_fill() -> None:
    some = PLAIN.filter(pc.field("t").is_valid())
    plain, views = (ff.events(data, time="t", by="k") for data in (some, polars.from_arrow(some)))
    filled = ff.tumbling(100, empty="emit", fill_from=0, fill_to=100, fill_keys=polars.DataFrame({"k": ["new"]}))
    both = ff.together(a=views, b=plain).window(filled)
    found = both.aggregate(n=ff.Count(), low=ff.Min("a.s"), last=ff.Last("b.s")).to_pylist()
    alone = plain.window(ff.tumbling(100)).aggregate(n=ff.Count(), low=ff.Min("s"), last=ff.Last("s"))
    assert [row | {"n": row["n"] // 2} for row in found if row["k"] != "new"] == alone.to_pylist()
    assert [row["n"] for row in found if row["k"] == "new"] == [0]


LARGE = pa.large_string()
NESTED = [
    ([["a", None], None, [], ["b" * 20]], pa.list_view(pa.string_view()), pa.list_(LARGE)),
    ([["a"], None, ["b"]], pa.large_list_view(pa.binary_view()), pa.large_list(pa.large_binary())),
    ([["a", "b"], None], pa.list_(pa.string_view(), 2), pa.list_(LARGE, 2)),
    (
        [{"a": [["x"], []]}, None, {"a": None}], pa.struct([("a", pa.list_(pa.list_view(pa.string_view())))]),
        pa.struct([("a", pa.list_(pa.list_(LARGE)))]),
    ),
    ([[("a", "b")], None, []], pa.map_(pa.string_view(), pa.string_view()), pa.map_(LARGE, LARGE)),
]  # fmt: skip


@pytest.mark.parametrize(("values", "type", "expected"), NESTED)
def test_views_however_deep(values: Any, type: pa.DataType, expected: pa.DataType) -> None:
    assert without_views(type) == expected
    column = pa.array(values, type)
    for part in (column, column.slice(1), column.slice(0, 1), column[:0]):
        found = viewless(part)
        found.validate(full=True)
        assert found.type == expected
        assert found.to_pylist() == part.to_pylist()


def test_dictionaries_and_runs_of_views() -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), pa.array(["a", "b"], pa.string_view()))
    assert viewless(coded).type == pa.dictionary(pa.int8(), pa.large_string())
    nested = pa.ListArray.from_arrays([0, 2, 3], coded)
    assert viewless(nested).to_pylist() == [["b", None], ["a"]]
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"])
    assert viewless(runs).to_pylist() == ["a", "a", "b"]
    plain = pa.array(["a"])
    assert viewless(plain) is plain


def test_laws_are_checked_on_views() -> None:
    for operation in (ff.Min("s"), ff.Last("l"), ff.Last("r")):
        ff.check_laws(operation, frame(), examples=2)
