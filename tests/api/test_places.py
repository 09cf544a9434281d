"""Where events come from and results go to: standard input and output, addresses, clusters, and files as they were."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from ..support.command_line import check_shared, inputs, main, output
from ..support.inner import inner, place_of
from ..support.sources import Files
from .test_out import fails

EVENTS = pa.table({"t": [0, 3, 4, 11, 12], "k": ["a", "b", "a", "a", "b"], "x": [1, 2, 3, 4, 5]})
QUERY = ["--time", "t", "--by", "k", "--window", "10", "--agg", "s=sum:x"]
WANTED = [("a", 0, 4), ("a", 10, 4), ("b", 0, 2), ("b", 10, 5)]
"""By hand."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(EVENTS, tmp_path / "e.parquet")
    pyarrow.csv.write_csv(EVENTS, tmp_path / "e.csv")
    pyarrow.feather.write_feather(EVENTS, tmp_path / "e.arrow")
    (tmp_path / "e.json").write_text("".join(json.dumps(row) + "\n" for row in EVENTS.to_pylist()))
    return tmp_path


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    flat = table if "window_start" in table.schema.names else output.flat(table)
    return sorted(zip(*(flat[name].to_pylist() for name in ("k", "window_start", "s")), strict=True))


def read(data: bytes, kind: str) -> pa.Table:
    if kind == "csv":
        return pyarrow.csv.read_csv(io.BytesIO(data))
    if kind == "json":
        found = [json.loads(line) for line in data.splitlines()]
        # pyarrow may put the fields of structs in another order.
        return pa.Table.from_pylist([each | {"window_start": each["window"]["start"]} for each in found])
    return (pq.read_table if kind == "parquet" else pyarrow.feather.read_table)(pa.BufferReader(data))


@pytest.mark.parametrize(
    ("kind", "out", "engine"),
    [
        ("parquet", "parquet", "local"), ("csv", "json", "local"), ("json", "csv", "local"),
        ("arrow", "arrow", "local"), pytest.param("parquet", "parquet", "spark", marks=pytest.mark.spark),
    ],
)  # fmt: skip
def test_events_come_by_standard_input_and_results_go_to_standard_output(
    kind: str, out: str, engine: str, folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:  # fmt: skip
    if engine == "spark":
        request.getfixturevalue("spark")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / f"e.{kind}").read_bytes())))
    formats = ["--format", kind, *(["--out-format", out] if out != kind else [])]
    assert main(["run", "-", *formats, *QUERY, "--engine", engine, "--out", "-"]) == 0
    seen = capsysbinary.readouterr()
    assert rows_of(read(seen.out, out)) == WANTED
    assert seen.err.startswith(b"4 windows in ")
    assert seen.err.endswith(b"written to standard output\n")


def test_a_failed_job_writes_nothing_to_standard_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = pyarrow.csv.write_csv

    def torn(table: pa.Table, out: Any) -> None:
        if not isinstance(out, io.BytesIO):  # which is where it is tried whether CSV can hold the columns
            raise OSError("the disk is full")
        write(table, out)

    monkeypatch.setattr(pyarrow.csv, "write_csv", torn)
    said = ["--engine", "local", "--out", "-", "--out-format", "csv"]
    assert main(["run", str(folder / "e.csv"), *QUERY, *said]) == 1
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "the disk is full" in seen.err


@pytest.mark.parametrize("kind", ["parquet", "csv", "json", "arrow"])
def test_addresses_are_read_and_written(kind: str, folder: Path) -> None:
    """The format goes before the extension."""
    out, said = f"file://{folder}/r.{kind}", ["--engine", "local", "--format", kind]
    (folder / f"e.{kind}").rename(folder / "e.txt")
    for _ in range(2):  # an earlier result is replaced
        assert main(["run", f"file://{folder}/e.txt", *QUERY, *said, "--out", out]) == 0
    assert rows_of(read((folder / f"r.{kind}").read_bytes(), kind)) == WANTED
    assert not [each for each in os.listdir(folder) if each.startswith(".")]


def test_a_folder_at_an_address_is_all_its_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside = folder / "parts" / "more"
    inside.mkdir(parents=True)
    (folder / "parts" / "_SUCCESS").write_text("")
    pq.write_table(EVENTS.slice(0, 2), folder / "parts" / "a.parquet")
    pq.write_table(EVENTS.slice(2), inside / "b.parquet")
    out = folder / "r.parquet"
    assert main(["run", f"file://{folder}/parts", *QUERY, "--engine", "local", "--out", str(out)]) == 0
    assert rows_of(pq.read_table(out)) == WANTED
    assert main(["run", f"file://{folder}/nowhere.parquet", *QUERY, "--engine", "local"]) == 2
    assert f"'file://{folder}/nowhere.parquet' does not exist" in capsys.readouterr().err


def test_spark_reads_addresses_and_writes_a_new_folder_at_one(
    folder: Path, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    out = f"file://{folder}/r.parquet"
    arguments = ["run", f"file://{folder}/e.parquet", *QUERY, "--engine", "spark", "--out", out]
    assert main(arguments) == 0
    assert rows_of(pq.read_table(folder / "r.parquet")) == WANTED
    before = sorted(os.listdir(folder / "r.parquet"))
    capsys.readouterr()
    assert main(arguments) == 2
    said = "r.parquet' exists; expected a new name, for a folder at an address is never replaced"
    assert said in capsys.readouterr().err
    assert sorted(os.listdir(folder / "r.parquet")) == before


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_spark_reaches_file_systems_that_pyarrow_does_not(
    kind: str, folder: Path, spark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A view of Hadoop's, for which pyarrow would need a Hadoop beside it."""
    mount = f"spark.{kind}{os.getpid()}"
    spark.conf.set(f"fs.viewfs.mounttable.{mount}.link./data", f"file://{folder}")
    far = f"viewfs://{mount}/data"
    with pytest.raises(inputs.UnknownFileSystemError):
        inputs.open_files([f"{far}/e.{kind}"])
    assert main(["run", f"{far}/e.{kind}", *QUERY, "--engine", "spark", "--out", f"{far}/r.{kind}"]) == 0
    parts = [read(part.read_bytes(), kind) for part in (folder / f"r.{kind}").glob("part-*")]
    assert rows_of(pa.concat_tables([part for part in parts if len(part)])) == WANTED
    capsys.readouterr()
    assert main(["run", f"{far}/e.{kind}", *QUERY, "--engine", "local"]) == 2
    assert capsys.readouterr().err.startswith(f"framefold: '{far}/e.{kind}' cannot be opened: ")


@pytest.mark.parametrize(
    ("master", "events", "out", "found"),
    [
        ("spark://host:7077", "e.parquet", [], "'e.parquet' is a path"),
        ("yarn", "hdfs:///trips", ["--out", "r.parquet"], "'r.parquet' is a path"),
        ("k8s://https://host:443", "-", [], "'-' is standard input or output"),
    ],
)
def test_what_only_this_machine_has_is_refused_on_a_cluster(
    master: str, events: str, out: list[str], found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", events, *QUERY, *out, "--format", "parquet", "--master", master, "--engine", "spark"]) == 2
    assert capsys.readouterr().err == (
        f"framefold: {found} of this machine, and --master is {master!r}, whose machines need not have it; expected an "
        "address such as hdfs://... or s3a://..., or file:///... for what all of them share\n"
    )


def test_a_local_master_has_the_paths_of_this_machine() -> None:
    for master in ("local", "local[*]", "local-cluster[2,1,1024]"):
        check_shared(master, ["e.parquet", "-"])
    check_shared("yarn", ["hdfs:///trips", "file:///shared/trips", "s3a://bucket/trips"])


@pytest.mark.parametrize(
    ("memory", "spark_there", "more", "said", "taken"),
    [
        (1 << 30, True, [], "the local engine, which can hold 0.0 MB of files", "a run on the local engine"),
        (100, True, [], "Spark, for 0.0 MB of files, more than 1/4 of this machine's memory", "a run on Spark"),
        (100, False, [], "the local engine, since Spark is not installed", "a run on the local engine"),
        (1 << 30, True, ["--master", "yarn"], "Spark, since --master is yarn", "a run on Spark"),
    ],
)
def test_auto_takes_the_local_engine_for_files_that_it_can_hold(
    memory: int, spark_there: bool, more: list[str], said: str, taken: str, folder: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    from contextlib import nullcontext

    ran: list[str] = []
    assert inner("memory for a run")() > 1 << 28
    monkeypatch.setattr(*place_of("memory for a run"), lambda: memory)
    monkeypatch.setattr(*place_of("whether Spark is there"), lambda: spark_there)
    monkeypatch.setattr(*place_of("session of a run"), lambda _: nullcontext())
    for way in ("a run on the local engine", "a run on Spark"):
        monkeypatch.setattr(*place_of(way), lambda *_, way=way, **__: ran.append(way))
    assert main(["run", f"file://{folder}/e.parquet", *QUERY, "--engine", "auto", *more]) == 0
    assert ran == [taken]
    assert capsys.readouterr().err == f"--engine auto takes {said}\n"


@pytest.mark.parametrize(
    ("words", "shown"),
    [("", "submit"), ("run --ti", "--timezone"), ("run --engine ", "auto"), ("run --agg r=corr", "r=correlation")],
)
def test_shells_complete_commands_options_and_operations(
    words: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_FRAMEFOLD_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"framefold {words}")
    monkeypatch.setattr(sys, "argv", ["framefold"])
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    assert shown in capsys.readouterr().out


def test_an_object_that_fails_on_its_way_leaves_the_earlier_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["run", f"file://{folder}/e.csv", *QUERY, "--engine", "local", "--out", f"file://{folder}/r.csv"]
    assert main(arguments) == 0
    before = (folder / "r.csv").read_bytes()

    def torn(source: str, target: str, *, source_filesystem: Any, destination_filesystem: Any) -> None:
        with destination_filesystem.open_output_stream(target) as stream:
            stream.write(b"half of")
        raise OSError("the line is cut")

    monkeypatch.setattr(pyarrow.fs, "copy_files", torn)
    assert main(arguments) == 1
    assert (folder / "r.csv").read_bytes() == before
    assert not [each for each in os.listdir(folder) if each.startswith(".")]


def test_a_demo_that_fails_leaves_the_trips_that_were_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = folder / "taxi"
    assert main(["demo", "--engine", "local", "--rows", "1000", "--keep", str(kept)]) == 0
    before = (kept / "trips.parquet").read_bytes()

    monkeypatch.setattr(pq, "write_table", fails(OSError("the disk is full")))
    with pytest.raises(OSError, match="the disk is full"):
        main(["demo", "--engine", "local", "--rows", "2000", "--keep", str(kept)])
    assert os.listdir(kept) == ["trips.parquet"]
    assert (kept / "trips.parquet").read_bytes() == before


def test_files_on_an_address_are_those_of_the_api(folder: Path) -> None:
    found = inputs.open_files([f"file://{folder}/e.parquet"])
    assert found.files == Files((f"file://{folder}/e.parquet",), "parquet", found.schema)
    assert found.bytes == (folder / "e.parquet").stat().st_size
