"""A later run whose values the type of a stored column does not hold: the column gets a type that holds all of them."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

TYPES: list[tuple[pa.DataType, list[Any], pa.DataType, list[Any], pa.DataType]] = [
    (pa.int32(), [2**31 - 1, -4, None], pa.int64(), [2**40, -7, 3], pa.int64()),
    (pa.uint8(), [255, 4, None], pa.int16(), [-3, 300, 3], pa.int16()),
    (pa.int64(), [2**53, -4, None], pa.float64(), [0.5, 3.0, 1e9], pa.float64()),
    (pa.float32(), [1.5, -2.25, None], pa.float64(), [0.1, 1e300, 1.5], pa.float64()),
    (
        pa.decimal128(4, 2), [Decimal("1.25"), Decimal("-3.5"), None],
        pa.decimal128(20, 4), [Decimal("1.0625"), Decimal("123456789.5"), Decimal("1.25")], pa.decimal128(20, 4),
    ),
    (pa.int64(), [2**62, -4, None], pa.decimal128(10, 2), [Decimal("1.25"), Decimal(3), None], pa.decimal128(22, 2)),
    (pa.null(), [None] * 3, pa.int64(), [1, 2, 2], pa.int64()),
    (pa.null(), [None] * 3, pa.string(), ["b", "a", "a"], pa.string()),
]  # fmt: skip
"""The type of the first events, and values; a type of later ones, and values; the type of all."""

ANY: dict[str, ff.Operation] = {
    "n": ff.Count(), "known": ff.Count("x"), "least": ff.Min("x"), "most": ff.Max("x"), "first": ff.First("x"),
    "last": ff.Last("x"), "mode": ff.Mode("x"), "set": ff.CollectSet("x"), "list": ff.CollectList("x"),
    "different": ff.CountDistinct("x"), "top": ff.TopN("x", 2), "at": ff.ArgMax("k", "x"),
}  # fmt: skip
NUMBERS: dict[str, ff.Operation] = {
    "sum": ff.Sum("x"), "mean": ff.Average("x"), "half": ff.Median("x"), "some": ff.Filtered(ff.Sum("x"), "k"),
    "both": ff.AllOf(sum=ff.Sum("x"), most=ff.Max("x")), "share": ff.Sum("x") / ff.Count(),
}  # fmt: skip
WINDOWS = (ff.tumbling(60), ff.sliding(240, every=60))

REFUSED = [
    (0, 2, ff.ApproxCountDistinct("x")), (0, 4, ff.Variance("x")), (0, 2, ff.CountDistinct("x", "k")),
    (2**53 + 1, 2, ff.Max("x")), (2**53 + 1, 2, ff.CollectSet("x")),
]  # fmt: skip
"""A value of the first events (0: those of the types), the place of their types, an operation."""


def events(first: int, kind: pa.DataType, values: list[Any]) -> pa.Table:
    times = [first, first + 61, first + 62]
    return pa.table({"t": times, "k": [True, False, True], "x": pa.array(values, kind)})


def at(path: Path, **outputs: Any) -> ff.StoredPartials:
    return ff.partials(path, time="t", frame=60, **outputs)


@pytest.mark.parametrize("place", range(len(TYPES)))
def test_the_type_that_holds_all_values(place: int, tmp_path: Path) -> None:
    """Files from before, new ones and what is merged of both give what one query over all events gives."""
    kind, values, other, more, both = TYPES[place]
    outputs = ANY if pa.types.is_string(both) else ANY | NUMBERS
    stored = at(tmp_path, **outputs)
    stored.append(events(0, kind, values), run="1")
    reader = at(tmp_path, **outputs)
    stored.append(events(120, other, more), run="2")
    stored.append(events(240, kind, values), run="3")
    runs = [events(0, kind, values), events(120, other, more), events(240, kind, values)]
    table = pa.concat_tables([run.set_column(2, "x", run["x"].cast(both)) for run in runs])
    right = ff.events(table, time="t").window(*WINDOWS).aggregate(**outputs)
    for each in (stored, reader, at(tmp_path, **outputs)):
        found = each.window(*WINDOWS).aggregate()
        assert found.schema == right.schema
        assert found.to_pylist() == right.to_pylist()
    stored.coarsen(120, older=240)
    stored.compact()
    longer = ff.sliding(240, every=120)
    found = stored.window(longer).aggregate()
    assert found.to_pylist() == ff.events(table, time="t").window(longer).aggregate(**outputs).to_pylist()
    if not pa.types.is_string(both):
        known = [each for each in table["x"].to_pylist()[:6] if each is not None]
        (whole,) = [each for each in found.to_pylist() if each["window"] == {"start": 0, "end": 240}]
        total = sum(map(Fraction, known))
        assert whole["sum"] == (float(total) if pa.types.is_floating(both) else total)
        assert (whole["least"], whole["most"]) == (min(known), max(known))


@pytest.mark.parametrize(("value", "place", "operation"), REFUSED, ids=str)
def test_what_states_do_not_hold(value: int, place: int, operation: ff.Operation, tmp_path: Path) -> None:
    kind, values, other, more, both = TYPES[place]
    stored = at(tmp_path, o=operation)
    stored.append(events(0, kind, [value, *values[1:]] if value else values), run="1")
    of, to = re.escape(str(kind)), re.escape(str(both))
    said = rf"^the stored partials have the column 'x' as {of}, [^\n]*{to}[^\n]*; expected it cast to {of}, or another "
    with pytest.raises(ff.EngineError, match=said):
        stored.append(events(120, other, more), run="2")
    assert stored.runs()["run"].to_pylist() == ["1"]
    named = {each.path for each in stored.table.commits.latest().files}
    assert {each.name for each in tmp_path.glob("*.parquet")} == named


def test_keys_and_times_of_wider_types(tmp_path: Path) -> None:
    def table(time: pa.DataType, key: pa.DataType, rows: list[tuple[int, Any, Any]]) -> pa.Table:
        columns = zip(*rows, strict=True)
        types = {"t": time, "k": key, "name": pa.null() if key == pa.int16() else pa.string()}
        return pa.table({name: pa.array(each, of) for (name, of), each in zip(types.items(), columns, strict=True)})

    def there() -> ff.StoredPartials:
        return ff.partials(tmp_path, time="t", by=["k", "name"], frame=60, n=ff.Count())

    there().append(table(pa.int16(), pa.int16(), [(0, 1, None), (61, 2, None)]), run="1")
    there().append(table(pa.int64(), pa.int64(), [(1, 1, None), (2**40, 2**40, "b"), (2**40, 1, "a")]), run="2")
    windows = ff.tumbling(60)
    rows = there().window(windows).aggregate().to_pylist()
    found = {(row["k"], row["name"], row["window"]["start"]): row["n"] for row in rows}
    far = 2**40 // 60 * 60
    assert found == {(1, None, 0): 2, (2, None, 60): 1, (1, "a", far): 1, (2**40, "b", far): 1}
    assert there().window(windows).lookup([(1, None), (2**40, "b")], at=60)["n"].to_pylist() == [2]
    there().forget([(1, None)])
    assert sorted(there().window(windows).aggregate()["k"].to_pylist()) == [1, 2, 2**40]


def test_manifests_are_as_they_were_where_no_type_grew(tmp_path: Path) -> None:
    """Releases from before read these; those of wider types they refuse by their version."""
    stored = at(tmp_path, n=ff.Count(), s=ff.Sum("x"))
    for run, (kind, version) in enumerate([(pa.int64(), 1), (pa.int32(), 1), (pa.float64(), 2)]):
        stored.append(events(120 * run, kind, [1, 2, 3] if version == 1 else [0.5, 1, 2]), run=str(run))
        path = max((tmp_path / "_framefold").glob("*.json"))
        said = json.loads(path.read_bytes())
        assert said["about"]["version"] == version
        assert ["types" in each for each in said["files"]] == [False] * 2 + [True] if run == 2 else [False] * (run + 1)
        assert ("earlier" in said["about"]) == (version == 2)
