"""A result among the events it is made of, where the next run would read it, is refused before anything runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.command_line import check_apart, main
from ..support.inner import place_of

EVENTS = pa.table({"t": [0, 1, 5, 11], "x": [1, 2, 3, 4]})
QUERY = ["--time", "t", "--window", "10", "--agg", "s=sum:x"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: events in ``in``, in a folder of it, and links to it."""
    for place in ("in", "in/day=1", "elsewhere", "in/_hidden"):
        (tmp_path / place).mkdir()
    for place in ("in/a.parquet", "in/day=1/b.parquet", "e.parquet"):
        pq.write_table(EVENTS, tmp_path / place)
    (tmp_path / "link").symlink_to("in")
    (tmp_path / "elsewhere" / "back").symlink_to(tmp_path / "in" / "day=1")
    (tmp_path / "alias.parquet").symlink_to("e.parquet")
    (tmp_path / "in" / "linked.parquet").symlink_to("../elsewhere/e.parquet")
    pq.write_table(EVENTS, tmp_path / "elsewhere" / "e.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


AMONG = [
    ("in", "in/out.parquet"), ("in/", "in/out.parquet"), ("in", "in/out.csv"), ("in", "in/day=1/out.parquet"),
    ("in", "elsewhere/../in/out.parquet"), ("in", "{here}/in/out.parquet"), ("{here}/in", "in/out.parquet"),
    ("in", "file://{here}/in/out.parquet"), ("file://{here}/in", "in/out.parquet"), ("in", "link/out.parquet"),
    ("link", "in/out.parquet"), ("in", "elsewhere/back/out.parquet"), ("in/*.parquet", "in/out.parquet"),
    ("link/*.parquet", "in/out.parquet"), ("in/day=*", "in/day=1/out.parquet"), ("in/*", "in/out.parquet"),
    ("in/**/*.parquet", "in/day=1/out.parquet"), ("in/**/*.parquet", "in/out.parquet"),
    ("e.parquet in", "in/out.parquet"), ("e.parquet", "e.parquet"), ("e.parquet", "./in/../e.parquet"),
    ("e.parquet", "alias.parquet"), ("alias.parquet", "e.parquet"), ("in", "elsewhere/e.parquet"),
]  # fmt: skip
"""Events, and a result among them: in their folder by any name of it, through links, in patterns, or the file."""


def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a run on the local engine", "a run on Spark", "session of a run"):
        monkeypatch.setattr(*place_of(name), None)


@pytest.mark.parametrize(("events", "out"), AMONG)
def test_it_is_refused(
    folder: Path, events: str, out: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing_runs(monkeypatch)
    engine = ["local", "spark", "auto"][AMONG.index((events, out)) % 3]
    before = sorted(folder.rglob("*"))
    line = ["run", *events.format(here=folder).split(), *QUERY, "--out", out.format(here=folder), "--engine", engine]
    assert main(line) == 2
    said = capsys.readouterr().err
    assert "is among the events of" in said or "would overwrite the events" in said
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("events", ["a.parquet", "day=1", "*.parquet", "d*/b.parquet"])
def test_the_parent_of_the_events(events: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.rename("in", "in.parquet")
    for out in ("in.parquet", f"file://{folder}/in.parquet", "./in.parquet/"):
        assert main(["run", f"in.parquet/{events}", *QUERY, "--engine", "spark", "--out", out]) == 2
        assert "would overwrite the events in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("events", "out", "times"),
    [
        ("in/a.parquet", "out.parquet", 1), ("in/a.parquet", "in_2.parquet", 1), ("in/a.parquet", "in/out.parquet", 1),
        ("in/a*.parquet", "in/out.parquet", 1), ("in/*.parquet", "elsewhere/out.parquet", 2),
    ],
)  # fmt: skip
def test_what_is_apart_is_written(folder: Path, events: str, out: str, times: int) -> None:
    for _ in range(2):
        assert main(["run", events, *QUERY, "--out", out, "--engine", "local"]) == 0
        assert sum(pq.read_table(out)["s"].to_pylist()) == 10 * times


ADDRESSES = {
    "s3a://bucket/in": "s3://bucket/in/out.parquet",
    "s3://key:secret@bucket/in/?region=eu": "s3://bucket/in/out.parquet",
    "s3://bucket/in/*.parquet": "s3://bucket/in/../in/out.parquet",
    "hdfs://host:8020/in/{a,b}": "hdfs://host:8020/in/b/out.parquet",
    "hdfs://host:8020/in/part-*.parquet": "hdfs://host:8020/in",
}
ELSEWHERE = ["s3://bucket/inner/out.parquet", "s3://other/in/out.parquet", "gs://bucket/in/out.parquet", "/bucket/in/o"]


@pytest.mark.parametrize("events", ADDRESSES)
def test_addresses(events: str) -> None:
    """By their spelling: nothing is asked of other machines."""
    with pytest.raises(ff.QueryError, match=r"--out .* (is among|would overwrite) the events"):
        check_apart(ADDRESSES[events], [events])
    for out in ELSEWHERE:
        check_apart(out, ["s3://bucket/in", "-"])


@pytest.mark.parametrize("extension", ["parquet", "csv", "json", "arrow"])
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_an_earlier_result_is_kept_if_asked(
    folder: Path, extension: str, engine: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["run", "e.parquet", *QUERY, "--no-replace", "--engine"]
    out = f"out.{extension}"
    if engine == "local":
        assert main([*line, "local", "--out", out]) == 0
    else:
        (folder / out).mkdir()
        (folder / out / "_SUCCESS").touch()
    nothing_runs(monkeypatch)
    (folder / f"dangling.{extension}").symlink_to("nowhere")
    for place in (out, f"./{out}", f"file://{folder}/{out}", f"dangling.{extension}"):
        before: Any = sorted((each, each.lstat().st_mtime_ns) for each in folder.rglob("*"))
        capsys.readouterr()
        assert main([*line, engine, "--out", place]) == 2
        assert f"--out {place!r} exists, and --no-replace keeps it; expected a new name" in capsys.readouterr().err
        assert sorted((each, each.lstat().st_mtime_ns) for each in folder.rglob("*")) == before
