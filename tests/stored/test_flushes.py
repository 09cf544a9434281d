"""What a commit names is on the disk before anybody can read the commit: a cut of power loses no part of it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import framefold as ff

from .killing import append, coarsen, compact, refresh, roll_up


@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_files_and_names_are_flushed_before_the_commit(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, flushed, files, commits = tmp_path / format / "table", set[str](), set[Path](), []
    fsync, link, delta = os.fsync, os.link, deltalake.DeltaTable.create_write_transaction

    def watched(number: int) -> None:
        fsync(number)
        flushed.add(os.readlink(f"/proc/self/fd/{number}"))

    def committed(*given: Any, **more: Any) -> None:
        new = {*path.rglob("*.parquet")} - files
        files.update(new)
        assert {str(name) for each in new for name in (each, each.parent)} <= flushed
        if format == "parquet":
            assert given[0] in flushed  # the manifest, before it has its name
        commits.append(given)
        before = names()
        (link if format == "parquet" else delta)(*given, **more)
        # From now on: the names of the commit, and whatever folders get.
        flushed.difference_update(names() - before, (each for each in [*flushed] if os.path.isdir(each)))

    def names() -> set[str]:
        log = path / ("_framefold" if format == "parquet" else "_delta_log")
        return {str(log), *(str(each) for each in log.glob("*.json") if format == "delta")}

    monkeypatch.setattr(os, "fsync", watched)
    append(str(path), 0)
    assert str(path) in flushed
    assert str(path.parent) in flushed
    monkeypatch.setattr(os, "link", committed)
    monkeypatch.setattr(deltalake.DeltaTable, "create_write_transaction", committed)
    for number, change in enumerate([append, compact, roll_up, refresh, append, coarsen], 1):
        change(str(path), number)
        assert len(commits) == number
        assert files
        assert names() <= flushed


def test_a_file_system_that_cannot_flush_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(number: int) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "fsync", failing)
    stored = ff.partials(tmp_path / "table", time="t", frame=60, n=ff.Count())
    error = errno.EINVAL
    stored.append(pa.table({"t": [0]}), run="1")
    error = errno.EIO  # which is no matter of the file system
    with pytest.raises(OSError, match="Input/output error"):
        stored.append(pa.table({"t": [0]}), run="2")
    assert len(stored.runs()) == 1
