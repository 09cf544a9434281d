"""The state of a stream that somebody else has made or changed is refused in a sentence, or gives some numbers."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.crafted import crafted, crafted_bytes, crafted_json
from ..support.examples import some
from ..support.plans import bind
from ..support.shards import Stream

SECOND = 1_000_000
OUTPUTS: dict[str, Any] = {
    "n": ff.Count(), "mean": ff.Average("x"), "middle": ff.Median("x"), "top": ff.TopN("i", 2, "s"),
    "set": ff.CollectSet("s"), "grouped": ff.GroupedBy(ff.Kurtosis("x"), "s"), "first": ff.First("s"),
    "about": ff.ApproxCountDistinct("i"), "all": ff.AllOf(a=ff.BoolAnd("b"), b=ff.BitXor("i")),
    "some": ff.Filtered(ff.Concat("s", ","), "b"), "bins": ff.Histogram("x", bins=[0.0, 5.0, 50.0]),
    "both": ff.Mapped(ff.Covariance("a", "b"), lambda x, i: (x - i, x + i), "x", "i").then(lambda found: found * 2),
    "most": ff.Mode("i"), "parity": ff.Reducing("i", 0, lambda a, b: a ^ b),
}  # fmt: skip


def events(type: pa.DataType, first: int = 0, rows: int = 40) -> pa.Table:
    numbers = range(first, first + rows)
    unit = 1 if type == pa.int64() else SECOND
    return pa.table({
        "t": pa.array([3 * unit * each for each in numbers], pa.int64()).cast(type),
        "k": ["ab"[each % 2] for each in numbers], "x": [each / 4 for each in numbers],
        "i": [each * 7 % 5 for each in numbers], "s": ["uvw"[each % 3] for each in numbers],
        "b": [each % 3 > 0 for each in numbers],
    })  # fmt: skip


def refused(attack: Callable[[random.Random], Any], quick: int) -> float:
    """The share of attacks that are refused, each in one sentence; the others do nothing but give numbers."""
    said: list[str] = []
    for seed in range(count := some(quick * 20, quick)):
        try:
            attack(random.Random(seed))
        except ff.FramefoldError as error:
            said.append(str(error))
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    assert not [each for each in said if "\n" in each]
    return len(said) / count


@pytest.mark.parametrize("what", ["about", "rows", "bytes"])
def test_exported_states(what: str, tmp_path: Path) -> None:
    window, schema = ff.sliding(20, every=10), events(pa.int64()).schema
    plan = bind(schema, time="t", by=["k"], window=window, outputs=OUTPUTS)
    old = Stream(plan, 2)
    assert [*old.batch(0, [events(pa.int64())]), *old.batch(60)]
    old.export(str(tmp_path / "whole"), 60)

    def attack(chance: random.Random) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = shutil.copytree(tmp_path / "whole", f"{folder}/changed")
            file = chance.choice(sorted(Path(path).rglob("*.json" if what == "about" else "*.parquet")))
            if what == "about":
                whole = json.loads(file.read_bytes())
                whole["about"]["stream"] = crafted_json(chance, whole["about"]["stream"])
                file.write_text(json.dumps(whole))
            elif what == "rows":
                pq.write_table(crafted(chance, pq.read_table(file, partitioning=None)), file)
            else:
                file.write_bytes(crafted_bytes(chance, file.read_bytes()))
            new = Stream(plan)
            new.go_on(path, skip=chance.random() < 0.5)
            for each in new.batch(100, [events(pa.int64(), 40)]), new.batch(10_000):
                pa.concat_tables(each).to_pylist()

    assert refused(attack, 15) > 0.3


@pytest.mark.parametrize("what", ["partials", "events", "book", "bytes"])
def test_checkpoints(what: str) -> None:
    pytest.importorskip("pyspark")
    from ..stored_state.shards import Processor
    from ..support.spark_parts import partials_codec

    type = pa.timestamp("us", "UTC")
    window = ff.last_rows(4, every=2) if what == "events" else ff.sliding("20 seconds", every="10 seconds")
    outputs = {name: each for name, each in OUTPUTS.items() if what != "events" or name in ("n", "mean", "top")}
    plan = bind(events(type).schema, time="t", by=["k"], window=window, outputs=outputs)
    old = Processor(plan, {})
    assert not old.batch(0, events(type))
    assert old.batch(60)
    with pytest.raises(ff.EngineError, match=r"the watermark is 9223372036854775000 milliseconds since 1970, beyond"):
        old.batch(((1 << 63) - 1) // 1000)
    whole = old.state() | {"book": json.dumps(json.loads(old.text or "") | {"mark": None})}

    def attack(chance: random.Random) -> None:
        new = Processor(plan, whole)
        if what == "book":
            book = json.loads(whole["book"])
            query = {} if chance.random() < 0.8 else {"query": crafted_json(chance, book["query"])}
            new.text = json.dumps({"query": book.pop("query")} | crafted_json(chance, book) | query)
        else:
            tables = new.tables["events" if what == "events" else "partials"]
            page = chance.choice(sorted(tables))
            table = partials_codec.opened(tables[page])
            tables[page] = (
                crafted_bytes(chance, tables[page])
                if what == "bytes"
                else partials_codec.to_ipc(crafted(chance, table))
            )
        new.batch(100, events(type, 40))
        new.batch(10_000)

    assert refused(attack, 15) > 0.3


def test_buffers_that_say_they_are_large() -> None:
    """A page of a checkpoint that unpacks to gigabytes, or says so: it is refused before any memory is taken."""
    pytest.importorskip("pyspark")
    from ..support.spark_parts import partials_codec

    def ipc(column: pa.Array, compression: str) -> bytes:
        sink, table = pa.BufferOutputStream(), pa.table({"x": column})
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
            writer.write_table(table)
        whole: bytes = sink.getvalue().to_pybytes()
        return whole

    zeros, codes = pa.repeat(0, 1 << 16), pa.repeat("one", 1 << 16).dictionary_encode()
    for column in (zeros, codes, zeros.slice(9, 99), pa.array(["a" * (1 << 20)]), pa.array([[1, None]] * 999)):
        assert partials_codec.opened(ipc(column, "lz4"))["x"].to_pylist() == column.to_pylist()
    small = ipc(zeros[:1000], "lz4")
    lies = [small.replace((8000).to_bytes(8, "little"), size.to_bytes(8, "little")) for size in (1 << 60, 9 << 30)]
    for blob in (*lies, ipc(zeros, "zstd"), ipc(pa.array(["a" * (1 << 20)]).dictionary_encode(), "zstd")):
        before = pa.total_allocated_bytes()
        with pytest.raises(ff.EngineError, match=r"it is damaged: a buffer of \d+ bytes says that it has \d+$"):
            partials_codec.opened(blob)
        assert pa.total_allocated_bytes() <= before
