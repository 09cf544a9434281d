"""A mistake in a command line is one sentence, and nothing is computed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from ..support.command_line import main

EVENTS = pa.table({"at": pa.array([1_714_557_600_000_000], pa.timestamp("us")), "k": ["a"], "x": [1.5], "i": [7]})
FILES = {
    "text.csv": "at,k,x\n01/05/2024 10:00,a,1\n", "no-x.csv": "at,k\n2024-05-01 10:00:00,a\n",
    "with-x.csv": "at,k,x\n2024-05-01 10:00:00,a,1\n", "torn.parquet": "this is not Parquet", "empty.csv": "",
    "notes.txt": "hello",
}  # fmt: skip
SHORT = {
    "COUNT": "--agg n=count",
    "TIMED": "e.parquet --time at --window '1 hour'",
    "WINDOW": "e.parquet --time at --window",
    "QUERY": "--time at --by k --window '1 hour' --every '7 minutes'",
    "FRAMES": "--time at --frame '1 day'",
    "EVENTS": "--table events=e.parquet",
}

MISTAKES = Path(__file__).with_name("mistakes.txt").read_text().splitlines()
"""Command lines, in which words of ``SHORT`` stand for others, and sentences."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events, files that are wrong, and stored partials."""
    folder = tmp_path_factory.mktemp("mistakes")
    pq.write_table(EVENTS, folder / "e.parquet")
    pyarrow.csv.write_csv(EVENTS, folder / "e.csv")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for name in ("nothing", "nothing.csv"):
        (folder / name).mkdir()
    create = ["partials", "create", str(folder / "kept"), "--time", "at", "--frame", "1 hour", "--agg", "n=count"]
    assert main(create) == main(["partials", "append", create[2], str(folder / "e.parquet"), "--run", "first"]) == 0
    return folder


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence(
    mistake: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    line, _, sentence = mistake.partition(" => ")
    command, *words = [word for part in shlex.split(line) for word in shlex.split(SHORT.get(part, shlex.quote(part)))]
    # The engine first, so that a trailing option without its value stays the last.
    assert main([command, *(["--engine", "local"] if command in ("run", "sql") else []), *words]) == 2
    shown, error = capsys.readouterr()
    assert sentence in error
    assert error.startswith("framefold: ")
    assert error.count("\n") == 1
    assert shown == ""
