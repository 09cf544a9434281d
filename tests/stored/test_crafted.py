"""A table that somebody else has made or changed is refused in a sentence."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.limits import limits
from ..support.toys import Longest, Total

OUTPUTS = {"n": ff.Count(), "s": ff.Sum("x"), "all": ff.CollectList("x")}


def at(path: Path, **outputs: Any) -> ff.StoredPartials:
    return ff.partials(path, time="t", by="k", frame=60, **(outputs or OUTPUTS))


def made(path: Path) -> None:
    at(path).append(pa.table({"t": [0, 70], "k": ["a", "b"], "x": [1, 2]}), run="1")


def manifest(path: Path) -> Path:
    (found,) = (path / "_framefold").glob("*.json")
    return found


def only_file(path: Path) -> Path:
    (found,) = path.rglob("*.parquet")
    return found


def windows(path: Path) -> Any:
    return at(path).window(ff.tumbling(60)).aggregate()


def all_columns(path: Path) -> None:
    """What windows read, then what is written anew."""
    windows(path)
    at(path).forget(["z"])


NONE_OF_OURS = r"the manifest '.*' is none of framefold's: .*; expected one that ff.partials has written"
SCHEMA = r"the stored partials say nothing of their columns: .*"


GONE = object()

WRONG: list[tuple[str, Any]] = [
    ("about", []), ("about version", "1"), ("about version", True), ("about version", 0), ("about query", [1]),
    ("about schema", 7), ("number", 2), ("files 0 path", "../other.parquet"), ("files 0 path", "/etc/passwd"),
    ("files 0 path", "day=2026-01-01/../../x.parquet"), ("files 0 path", "x.parquet\n"),
    ("files 0 path", ["x.parquet"]), ("files 0 rows", "2"), ("files 0 rows", 2.0), ("files 0 first", True),
    ("files 0 first", 1 << 70), ("files 0 merged", [3]), ("files 0 marks", "no"), ("files 0 more", 1), ("files 0", "x"),
    ("files", {}), ("runs 0 written", 5), ("runs 0 written", "yesterday"), ("runs", None), ("since", {"n": "x"}),
    ("since", []), ("expired", "x"), ("about", GONE), ("about query", GONE), ("files 0 rows", GONE), ("files", GONE),
    ("files 0 types", 1), ("files 0 types", -1), ("files 0 types", "0"), ("about earlier", 3),
]  # fmt: skip
"""Places in a manifest, and values that framefold does not write there."""

OTHERS: list[tuple[str, Any, str]] = [
    ("about version", 99, r"have version 99, and this framefold knows up to 2; expected the release"),
    ("about schema", "?", SCHEMA),
    ("about schema", "QUJD", SCHEMA),
    ("about earlier", ["?"], SCHEMA),
    ("about query outputs", {"n": "Max('x')"}, r"are of another query: outputs: .*; expected the same"),
    ("about query states", None, r"are of another query: states .*; expected the same"),
    ("about query", {}, r"are of another query: .*; expected the same"),
    ("files 0 rows", 7, r"are 2 rows of .*; expected 7 rows"),
    ("files 0 path", "gone.parquet", r"the stored partials '.*gone.parquet' cannot be read: "),
]


@pytest.mark.parametrize(("place", "value", "said"), [*((*each, NONE_OF_OURS) for each in WRONG), *OTHERS])
def test_manifest(place: str, value: Any, said: str, tmp_path: Path) -> None:
    made(tmp_path)
    of = whole = json.loads(manifest(tmp_path).read_bytes())
    *keys, last = [int(key) if key.isdigit() else key for key in place.split()]
    for key in keys:
        of = of[key]
    if value is GONE:
        del of[last]
    else:
        of[last] = value
    manifest(tmp_path).write_text(json.dumps(whole))
    with pytest.raises(ff.EngineError, match=said):
        windows(tmp_path)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"about": NaN}'])
def test_json_that_is_broken(text: bytes, tmp_path: Path) -> None:
    made(tmp_path)
    manifest(tmp_path).write_bytes(text)
    with pytest.raises(ff.EngineError, match=r"the manifest '.*' (cannot be read|is none of framefold's): "):
        windows(tmp_path)


def other_type(table: pa.Table, name: str, type: pa.DataType) -> pa.Table:
    at = table.column_names.index(name)
    return table.set_column(at, name, table.column(name).cast(type))


def nulls(table: pa.Table, name: str) -> pa.Table:
    at = table.column_names.index(name)
    column = table.column(name)
    return table.set_column(at, name, pc.if_else(pa.array([True, False]), pa.scalar(None, column.type), column))


@pytest.mark.parametrize(
    "change",
    [
        lambda table: other_type(table, "n.count", pa.string()),
        lambda table: other_type(table, "n.count", pa.int32()),
        lambda table: other_type(table, "frame_start", pa.float64()),
        lambda table: other_type(table, "k", pa.binary()),
        lambda table: table.drop_columns(["n.count"]),
        lambda table: table.append_column("n.count", table["n.count"]),
        lambda table: table[:1],
        lambda table: nulls(table, "frame_start"),
        lambda table: nulls(table, "frame_end"),
        lambda table: nulls(table, "run"),
        lambda table: nulls(table, "#rows.count"),
        lambda table: nulls(table, "n.count"),
        lambda table: nulls(table, "s.total.limb0"),
        lambda table: table.set_column(table.column_names.index("frame_end"), "frame_end", table["frame_start"]),
        lambda table: table.set_column(table.column_names.index("#rows.count"), "#rows.count", pa.array([-1, 0])),
    ],
)
def test_rows(change: Callable[[pa.Table], pa.Table], tmp_path: Path) -> None:
    made(tmp_path)
    path = only_file(tmp_path)
    pq.write_table(change(pq.read_table(path, partitioning=None)), path)
    with pytest.raises(ff.EngineError, match=r"the stored partials '.*parquet' .*expected 2 rows"):
        all_columns(tmp_path)


@pytest.mark.parametrize("bytes", [b"", b"PAR1", b"PAR1" + b"\0" * 100 + b"PAR1", pickle.dumps({"a": 1})])
def test_file_that_is_no_parquet(bytes: bytes, tmp_path: Path) -> None:
    made(tmp_path)
    only_file(tmp_path).write_bytes(bytes)
    with pytest.raises(ff.EngineError, match=r"the stored partials '.*' cannot be read: "):
        windows(tmp_path)


def test_few_bytes_that_say_they_are_many_rows(tmp_path: Path) -> None:
    """Equal rows of any number take a few KB; here of smaller limits."""
    made(tmp_path)
    path, rows = only_file(tmp_path), 1 << 17
    first = pq.read_table(path, partitioning=None)[:1]
    many = pa.table([pa.repeat(first[name][0], rows) for name in first.column_names], first.schema)
    pq.write_table(many, path, compression="zstd", row_group_size=rows, use_dictionary=True)
    about = json.loads(manifest(tmp_path).read_bytes())
    about["files"][0]["rows"] = rows
    manifest(tmp_path).write_text(json.dumps(about))
    assert windows(tmp_path)["n"].to_pylist() == [rows]
    sentence = rf"cannot be read: \d+ bytes say that they have {rows} rows of {rows} values"
    with limits(rows_of_a_byte=10, few_rows_of_bytes=rows - 1), pytest.raises(ff.EngineError, match=sentence):
        windows(tmp_path)


class Opens:
    """Makes a file where it is read as a pickle."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (self.path, "w")


def test_pickles_are_read_where_they_are_trusted(tmp_path: Path) -> None:
    outputs = {"longest": Longest("x")}
    table, mark = tmp_path / "table", tmp_path / "mark"
    events = pa.table({"t": [0, 70], "k": ["a", "b"], "x": ["one", "three"]})
    at(table, **outputs).append(events, run="1")
    said = r"the states of 'longest' are Python objects, kept as pickles, .*; expected ff.partials\(..., trust=True\)"
    bad = pq.read_table(path := only_file(table), partitioning=None)
    place = next(at for at, name in enumerate(bad.column_names) if name.startswith("longest."))
    evil = pa.array([pickle.dumps(Opens(str(mark)))] * 2, bad.schema.types[place])
    trusting = ff.partials(table, time="t", by="k", frame=60, trust=True, **outputs)
    assert trusting.window(ff.tumbling(120)).aggregate()["longest"].to_pylist() == ["one", "three"]
    pq.write_table(bad.set_column(place, bad.schema.field(place), evil), path)
    stored = at(table, **outputs)
    for use in (
        lambda: stored.window(ff.tumbling(60)).aggregate(),
        stored.compact,
        lambda: stored.coarsen(120, older=60),
        lambda: stored.expire(60),
        lambda: stored.refresh(events, since=0, until=60),
        lambda: stored.delete(events, run="2"),
        lambda: stored.forget(["a"]),
    ):
        with pytest.raises(ff.EngineError, match=said):
            use()
    assert not mark.exists()


class Sized(Total):
    """A sum of values in a unit, which is in the state."""

    def __init__(self, column: str, size: int) -> None:
        super().__init__(column)
        self.size, self._seen = size, object()

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"total": frames.sum(x) * self.size}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ff.TopN("x", 3), ff.TopN("x", 5)),
        (ff.LastN("x", 3), ff.LastN("x", 5)),
        (ff.Histogram("x", [0, 5]), ff.Histogram("x", [0, 9])),
        (ff.ApproxQuantile("x", 0.5, k=100), ff.ApproxQuantile("x", 0.5, k=200)),
        (ff.Filtered(ff.TopN("x", 3), pc.field("x") > 0), ff.Filtered(ff.TopN("x", 5), pc.field("x") > 0)),
        (ff.AllOf(a=ff.TopN("x", 3), b=ff.Count()), ff.AllOf(a=ff.TopN("x", 5), b=ff.Count())),
        (Sized("x", 3), Sized("x", 5)),
        (ff.Reducing("x", 0, np.bitwise_or), ff.Reducing("x", 0, np.bitwise_xor)),
    ],
    ids=str,
)
def test_other_parameters(one: ff.Operation, other: ff.Operation, tmp_path: Path) -> None:
    """Those that states depend on, which the text of an operation may leave out."""
    ff.partials(tmp_path, time="t", frame=10, a=one).append(pa.table({"t": [0, 5], "x": [1, 2]}), run="1")
    with pytest.raises(ff.EngineError, match=r"another query: (parameters|outputs): .* became .*; expected the same"):
        ff.partials(tmp_path, time="t", frame=10, a=other)
    ff.partials(tmp_path, time="t", frame=10, a=one)


def test_parameters_of_results_may_be_others(tmp_path: Path) -> None:
    events = pa.table({"t": [0, 5, 6], "x": [1, 2, 9]})
    asked: list[tuple[Any, Any]] = [
        (ff.Quantile("x", 0.5), ff.Quantile("x", 1)), (ff.Variance("x"), ff.Variance("x", ddof=0)),
        (ff.Sum("x"), ff.Sum("x", empty=0)), (ff.ApproxQuantile("x", 0.5), ff.ApproxQuantile("x", [0.5, 1.0])),
    ]  # fmt: skip
    for number, (one, other) in enumerate(asked):
        path = tmp_path / str(number)
        ff.partials(path, time="t", frame=10, a=one).append(events, run="1")
        found = ff.partials(path, time="t", frame=10, a=other).window(ff.tumbling(10)).aggregate()
        assert found.equals(ff.events(events, time="t").window(ff.tumbling(10)).aggregate(a=other))


def test_other_questions(tmp_path: Path) -> None:
    made(tmp_path)
    for other, said in (
        ({"time": "k"}, "are stored with time='t', and not 'k'; expected the same"),
        ({"by": ()}, r"are stored with by=\['k'\], and not \[\]; expected the same"),
        ({"by": "x"}, r"are stored with by=\['k'\], and not \['x'\]; expected the same"),
        ({"frame": 120}, r"windows .*60.* became .*120"),
        ({"ties": "x"}, r"ties None became \['x'\]"),
        ({"s": ff.Max("x")}, r"another query: outputs: s Sum\('x'\) became Max\('x'\)"),
        ({"more": ff.Count()}, r"another query: outputs"),
    ):
        with pytest.raises(ff.FramefoldError, match=said):
            ff.partials(tmp_path, **{"time": "t", "by": "k", "frame": 60} | OUTPUTS | other)
    with pytest.raises(ff.EngineError, match=r"another query: outputs"):
        at(tmp_path, n=ff.Count())
    ff.partials(tmp_path, time="t", by="k", frame=60, null_time="drop", **OUTPUTS)
