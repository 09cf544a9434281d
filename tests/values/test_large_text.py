"""Text: more than one array has room for, and text of a table as codes, as DuckDB has it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import framefold as ff

from ..oracles.duck import asked
from ..support.columns import large
from ..support.limits import limits
from ..support.plans import coded_columns, with_text_codes
from ..support.sources import LocalEngine
from ..support.toys import Longest

ROWS = 60
LENGTHS = np.random.default_rng(0).integers(0, 30, ROWS).tolist()
EVENTS = pa.table({
    "t": range(ROWS), "k": [f"key {'é' * 20} {at % 7}" for at in range(ROWS)],
    "s": [f"{at}" + "y" * length for at, length in enumerate(LENGTHS)], "b": [b"z" * length for length in LENGTHS],
    "p": [{"name": f"{at % 5}" + "w" * 25} for at in range(ROWS)], "x": [at * 7 % 11 for at in range(ROWS)],
})  # fmt: skip
CHUNKS = pa.concat_tables([EVENTS.slice(start, stop - start) for start, stop in itertools.pairwise((0, 20, 23, ROWS))])

WINDOWS: dict[str, tuple[list[str], list[Any]]] = {
    "sliding": (["k", "b"], [ff.sliding(20, every=5)]),
    "few samples": (["k"], [ff.sliding(20, every=5, min_samples=4)]),
    "last_rows": (["p"], [ff.last_rows(3)]),
    "around": ([], [ff.around(rows=(-2, 1))]),
    "session": (["k"], [ff.session(8)]),
    "cumulating": ([], [ff.cumulating(20, every=5)]),
    "several": (["p"], [ff.sliding(20, every=5), ff.last_rows(2)]),
}
"""Keys, and windows of all that have a way of their own to results."""


OUTPUTS: dict[str, ff.Operation] = {
    "min": ff.Min("s"), "max": ff.Max("b"), "last": ff.Last("k"), "list": ff.CollectList("s"),
    "numbers": ff.CollectList("x"), "concat": ff.Concat("s", ", "), "top": ff.TopN("s", 3, "b"),
    "best": ff.ArgMax("s", "x"), "mode": ff.Mode("k"), "grouped": ff.GroupedBy(ff.Last("s"), "k"),
    "of": ff.AllOf(high=ff.Max("s"), set=ff.CollectSet("s")), "then": ff.Min("s").then(lambda column: column),
    "longest": Longest("s"),
}  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS)
def test_results_do_not_depend_on_the_room(window: str, limit: Callable[..., None]) -> None:
    by, windows = WINDOWS[window]
    query = ff.events(CHUNKS, time="t", by=by).window(*windows)
    expected = query.aggregate(**OUTPUTS)
    limit(array_bytes=1200)
    found = query.aggregate(**OUTPUTS)
    assert found.schema == expected.schema
    assert found.to_pylist() == expected.to_pylist()
    for name, column in zip(found.column_names, found.columns, strict=True):
        if name in OUTPUTS and name not in ("grouped", "longest"):
            assert all(int(large.sizes(chunk).sum()) <= 1200 for chunk in column.chunks), name


def test_a_value_for_which_there_is_no_room(limit: Callable[..., None]) -> None:
    limit(array_bytes=100)
    query = ff.events(EVENTS, time="t").window(ff.tumbling(60))
    sentence = r"CollectList\('s'\) for 'all' has .* in one window, .* room for 100; exp"
    with pytest.raises(ff.OperationError, match=sentence):
        query.aggregate(all=ff.CollectList("s"))
    assert query.aggregate(n=ff.CountDistinct("s"))["n"].to_pylist() == [60]
    longer = EVENTS.set_column(2, "s", EVENTS["s"].cast(pa.large_string()))
    found = ff.events(longer, time="t").window(ff.tumbling(60)).aggregate(all=ff.Concat("s"))
    assert found["all"].to_pylist() == ["".join(EVENTS["s"].to_pylist())]


def test_runs_have_room() -> None:
    sizes = np.array([3, 3, 3, 9, 1, 0, 2])
    with limits(array_bytes=6):
        assert [(run.start, run.stop) for run in large.runs(sizes)] == [(0, 2), (2, 3), (3, 4), (4, 7)]
        column = large.take(pa.array(["abc", None, "de"]), pa.array([0, 0, 1, None, 2, 0]))
        assert [chunk.to_pylist() for chunk in column.chunks] == [["abc", "abc", None, None], ["de", "abc"]]
        back = large.fitting(pa.array(["abc", "def", "g"], pa.large_string()), pa.string())
        assert back.type == pa.string()
        assert [chunk.to_pylist() for chunk in back.chunks] == [["abc", "def"], ["g"]]


class Wrong(ff.AggregateOperation):
    """Its finish gives text, whatever it has said."""

    state = {"n": "int64"}
    result: Any = "int64"

    def accumulate(self, frames: ff.Frames, x: Any) -> Any:
        return {"n": frames.count(x)}

    def combine(self, a: Any, b: Any) -> Any:
        return {"n": a["n"] + b["n"]}

    def finish(self, a: Any) -> Any:
        return ["text"] * len(a["n"]) if max(a["n"], default=0) > 50 else a["n"]


class Undeclared(Wrong):
    """The same, and says nothing."""

    result = None


def test_to_declare_the_type_is_said_where_it_is_not() -> None:
    query = ff.events(EVENTS, time="t").window(ff.tumbling(60))
    with pytest.raises(ff.OperationError, match=r"cannot be a column of int64: .*; declare the type of the result"):
        query.aggregate(x=Undeclared("x"))
    with pytest.raises(ff.OperationError, match="cannot be a column of int64") as caught:
        query.aggregate(x=Wrong("x"))
    assert "declare the type" not in str(caught.value)


# Text of a table as codes

MANY = 400


def text_events(type: Any = "string") -> pa.Table:
    rng = np.random.default_rng(3)
    texts = np.array(["", "b", "a", "aé", "Z", "𝄞", "ﬀ", "a b"])[rng.integers(0, 8, MANY)]
    text = pa.array(texts, mask=rng.random(MANY) < 0.1).cast(type)
    table = pa.table({"t": np.arange(MANY), "k": rng.integers(0, 3, MANY), "s": text, "i": rng.integers(0, 9, MANY)})
    return pa.concat_tables([table.slice(0, 150), table.slice(150)])


CASES = {
    "count(distinct s)": ff.CountDistinct("s"),
    "list(s order by t) filter (s is not null)": ff.LastN("s", 400),
    "list_reverse(list(s order by t desc) filter (s is not null))[-3:]": ff.LastN("s", 3),
    "(list(s order by t) filter (s is not null))[:3]": ff.FirstN("s", 3),
    "min(s)": ff.Min("s"),
    "max(s)": ff.Max("s"),
    "list_sort(list(s) filter (s is not null))[:2]": ff.BottomN("s", 2),
    "count(distinct (s, i)) filter (s is not null)": ff.CountDistinct("s", "i"),
    "quantile_disc(s, 0.5)": ff.Quantile("s", 0.5, method="discrete"),
}


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_results_are_those_of_text(type: pa.DataType) -> None:
    data = text_events(type)
    names = [f"c{number}" for number in range(len(CASES))]
    windows = ff.events(data, time="t", by="k").window(ff.tumbling(40))
    ours = windows.aggregate(**dict(zip(names, CASES.values(), strict=True)))
    none = {sql: "[]" if "list" in sql else "null" for sql in CASES}
    columns = ", ".join(f"coalesce({sql}, {none[sql]}) as {name}" for sql, name in zip(CASES, names, strict=True))
    query = f"select k, t // 40 * 40 as start, {columns} from data group by all order by k, start"
    theirs = asked(query, data=data).to_arrow_table()
    assert ours["k"].to_pylist() == theirs["k"].to_pylist()
    for sql, name in zip(CASES, names, strict=True):
        assert ours[name].to_pylist() == theirs[name].to_pylist(), sql


@pytest.mark.parametrize(
    ("outputs", "by", "where", "coded"),
    [
        ([ff.Mode("s")], "k", False, True), ([ff.Mode("s"), ff.LastN("s", 2)], "k", False, True),
        ([ff.Mode("s"), ff.Concat("s")], "k", False, False),  # which needs the text
        ([ff.CollectList("s")], "k", False, False),  # whose text may need more than one array
        ([ff.LastN("s", 1 << 30)], "k", False, False), ([ff.Mode("s")], "s", False, False),
        ([ff.Mode("s")], "k", True, False), ([ff.Median("i")], "k", False, False),
    ],
)  # fmt: skip
def test_what_is_coded(outputs: list[Any], by: str, where: bool, coded: bool) -> None:
    asked = ff.events(text_events(), time="t", by=by)
    if where:
        asked = asked.where(ds.field("s") != "a")
    engine, plan = asked.window(ff.tumbling(40))._query({str(number): each for number, each in enumerate(outputs)})
    assert isinstance(engine, LocalEngine)
    assert coded_columns(engine.source, plan) == (["s"] if coded else [])
    changed = with_text_codes(engine.source, plan)[1]
    assert (changed is not plan) == coded
    assert changed.result_schema == plan.result_schema
