"""Damaged Arrow data: one sentence, and never the end of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import framefold as ff

from ..support.programs import WITH_SUPPORT
from ..support.sources import read_stream
from ..support.states import field

ROWS, BATCH_ROWS = 200, 70

PROGRAM = (
    WITH_SUPPORT
    + """
import contextlib, io, random, sys
import pyarrow as pa, pyarrow.compute as pc
import framefold as ff
from tests.support.command_line import main
from tests.support.plans import bind
from tests.support.sources import File, READERS, read_stream
from tests.support.stages import accumulate
from pyarrow.fs import LocalFileSystem

path, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
OUTPUTS = dict(n=ff.Count(), m=ff.Max("s"), l=ff.Last("l"), d=ff.CountDistinct("d"), x=ff.Sum("x"))
OUTPUTS["z"] = ff.CollectList("z")
WINDOW = ff.sliding("20 seconds", every="5 seconds")
def local(place, number):
    events = ff.events(ff.files(place, format="arrow"), time="t", by="k")
    events = events.where(pc.field("s") > "b") if number % 2 else events
    events.window(WINDOW).aggregate(**OUTPUTS)
def by_a_task(place, number):
    system, file = LocalFileSystem(), File(place, len(open(place, "rb").read()))
    layout = READERS["arrow"].layout(system, file)
    plan = bind(layout.schema, time="t", by=["k"], window=WINDOW, outputs=OUTPUTS)
    for batch in READERS["arrow"].read(system, file, range(len(layout.sizes)), plan.events_schema):
        accumulate(plan, pa.table(batch), 0)
def command_line(place, number):
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(["run", place, "--time", "t", "--by", "k", "--window", "sliding:20s,5s", "--agg", "max:s"])
    if code:
        raise ff.QueryError(said.getvalue().strip().removeprefix("framefold: "))
def blob(place, number):
    for batch in read_stream(open(place, "rb").read(), "the state").to_batches():
        str(batch.to_pylist())

whole, chance, said = open(path, "rb").read(), random.Random(seed), []
ways = [blob] if path.endswith(".stream") else [local, by_a_task, command_line]
for number in range(count):
    damaged = bytearray(whole)
    for _ in range(chance.randint(1, 8)):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    open(f"{path}.damaged.arrow", "wb").write(damaged)
    for way in ways:
        try:
            way(f"{path}.damaged.arrow", number)
            said.append("fine")
        except ff.FramefoldError as error:
            if chr(10) in str(error) or not str(error):
                sys.exit(f"several lines: {error}")
            said.append("refused")
print(said.count("refused"), len(said))
"""
)


def table() -> pa.Table:
    chance = np.random.default_rng(1)
    ticks = np.sort(chance.integers(0, 10**8, ROWS)) + 1_700_000_000_000_000
    return pa.table({
        "t": pa.array(ticks, pa.timestamp("us", tz="UTC")),
        "k": pa.array(chance.choice(["a", "b", None], ROWS)),
        "s": pa.array(chance.choice(["alpha", "beta", "gamma"], ROWS)),
        "l": pa.array([[float(item) for item in range(row % 4)] for row in range(ROWS)]),
        "d": pa.array(chance.choice(["u", "v"], ROWS)).dictionary_encode(),
        "x": chance.normal(0, 1, ROWS),
        "z": pa.array([{"a": row, "b": str(row)} for row in range(ROWS)]),
    })  # fmt: skip


def write(path: Path, compression: str | None, data: pa.Table) -> Path:
    make: Any = pa.ipc.new_stream if path.suffix == ".stream" else pa.ipc.new_file
    with make(path, data.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(data, max_chunksize=BATCH_ROWS)
    return path


def damaged(path: Path, seed: int, count: int) -> tuple[int, int]:
    """How many damaged copies of a file were refused in one sentence, of how many."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(path), str(seed), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    refused, tried = map(int, done.stdout.split())
    return refused, tried


@pytest.mark.parametrize(("name", "compression"), [("events.arrow", "lz4"), ("state.stream", "zstd")])
def test_changed_bytes(tmp_path: Path, name: str, compression: str | None) -> None:
    refused, tried = damaged(write(tmp_path / name, compression, table()), seed=1, count=20)
    assert tried == (20 if name == "state.stream" else 60)
    assert refused > tried // 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_changed_bytes_many_times(tmp_path: Path, seed: int) -> None:
    compression = [None, "lz4", "zstd", None][seed]
    refused, tried = damaged(write(tmp_path / "events.arrow", compression, table()), seed=100 + seed, count=150)
    assert refused > tried // 4


def broken_text() -> pa.Table:
    """A column of text whose offsets lead far beyond its letters."""
    offsets = pa.py_buffer(np.array([0, 1 << 30, 2], np.int32))
    text = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab")])
    return pa.table({"t": [0, 1], "s": text})


def test_offsets_out_of_bounds(tmp_path: Path) -> None:
    path = write(tmp_path / "events.arrow", None, broken_text())
    query = ff.events(ff.files(path, format="arrow"), time="t").window(ff.tumbling(2))
    with pytest.raises(ff.EngineError, match=r"the file '.*events\.arrow' cannot be read as Arrow: .*[Oo]ffset"):
        query.aggregate(m=ff.Max("s"))
    assert query.aggregate(n=ff.Count())["n"].to_pylist() == [2]  # what is not read is not checked
    with pytest.raises(ff.EngineError, match=r"the state cannot be read, it is damaged: .*[Oo]ffset"):
        read_stream(write(tmp_path / "a.stream", None, broken_text()).read_bytes(), "the state")


@pytest.mark.parametrize("second", [[[1], [2, 3]], [None, [1]], [[1, 2], []], [[None], [2]]])
def test_lists_of_items_that_do_not_fit_together(second: list[Any]) -> None:
    kind, of_lists = field({"a": "int64", "b": "int64"}), pa.large_list(pa.int64())
    for planes in ([[[1], [2]], second], [second, [[1], [2]]]):
        said = "a state is damaged: (its lists of items do not have as many items|a number of it is null)"
        with pytest.raises(ff.EngineError, match=said):
            kind.from_arrow([pa.array(plane, of_lists) for plane in planes])


def test_arrow_files_of_several_schemas_in_folders(tmp_path: Path) -> None:
    for year, column in ((2023, pa.array([1, 2], pa.float32())), (2024, pa.array([3.5, 4.5], pa.float64()))):
        (tmp_path / f"year={year}").mkdir()
        write(tmp_path / f"year={year}" / "a.arrow", "lz4", pa.table({"t": [year, year + 1], "x": column}))
    events = ff.events(ff.files(tmp_path, format="arrow"), time="t", by="year")
    sums = events.window(ff.tumbling(10)).aggregate(s=ff.Sum("x"))
    assert [(row["year"], row["s"]) for row in sums.to_pylist()] == [(2023, 3.0), (2024, 8.0)]
    few = events.where((pc.field("year") == 2024) & (pc.field("x") > 4)).window(ff.tumbling(10))
    assert few.aggregate(s=ff.Sum("x"))["s"].to_pylist() == [4.5]
