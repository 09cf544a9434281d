"""Text of a table as codes: the results are those of DuckDB on the text itself, of whatever type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import framefold as ff

from ..oracles.duck import asked
from ..support.plans import coded_columns, with_text_codes
from ..support.sources import LocalEngine

ROWS = 400


def events(type: Any = "string") -> pa.Table:
    rng = np.random.default_rng(3)
    texts = np.array(["", "b", "a", "aé", "Z", "𝄞", "ﬀ", "a b"])[rng.integers(0, 8, ROWS)]
    text = pa.array(texts, mask=rng.random(ROWS) < 0.1).cast(type)
    table = pa.table({"t": np.arange(ROWS), "k": rng.integers(0, 3, ROWS), "s": text, "i": rng.integers(0, 9, ROWS)})
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
    data = events(type)
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
    asked = ff.events(events(), time="t", by=by)
    if where:
        asked = asked.where(ds.field("s") != "a")
    engine, plan = asked.window(ff.tumbling(40))._query({str(number): each for number, each in enumerate(outputs)})
    assert isinstance(engine, LocalEngine)
    assert coded_columns(engine.source, plan) == (["s"] if coded else [])
    changed = with_text_codes(engine.source, plan)[1]
    assert (changed is not plan) == coded
    assert changed.result_schema == plan.result_schema
