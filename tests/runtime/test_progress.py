"""How far a long query is: a bar on the stderr of a terminal or in a notebook, and nothing anywhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff
from framefold.runtime import progress

from ..support.inner import inner, place_of
from ..support.programs import WITH_SUPPORT
from ..support.sources import FileSource, Source

QUERY = (
    WITH_SUPPORT
    + """
import sys, pyarrow as pa, framefold as ff
from tests.support.limits import limits
with limits(progress_patience={patience}, batch_rows=50, chunk_windows=5):
    result = ff.events(pa.table({{"t": range(100)}}), time="t").window(ff.tumbling(10)).aggregate(n=ff.Count())
assert len(result) == 10
assert ("rich.progress" in sys.modules) is {shown}
"""
)


def on_terminal(code: str) -> tuple[str, str]:
    """What a program prints on a stdout that is a pipe, and on a stderr that is a terminal."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, env=environment)
        os.write(theirs, b"\nthe end")
        said = b""
        while b"the end" not in said:
            said += terminal.read(1 << 16)
        os.close(theirs)
    assert done.returncode == 0, said.decode()
    return done.stdout.decode(), said.decode()


def test_a_long_query_shows_how_far_it_is_on_a_terminal() -> None:
    """A short one shows nothing; and nothing goes into a pipe, even where somebody forces colours."""
    out, err = on_terminal(QUERY.format(patience=-1, shown=True))
    assert out == ""
    assert all(words in err for words in ("accumulating events", "100/100", "sliding windows", "10/10"))
    out, err = on_terminal(QUERY.format(patience=2, shown=False))
    assert (out, err.strip(), progress.PATIENCE) == ("", "the end", 2)
    command = [sys.executable, "-c", QUERY.format(patience=-1, shown=False)]
    environment = os.environ | {"FORCE_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_notebook_has_a_bar_of_ipython(monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]) -> None:
    seen: list[Any] = []

    class ProgressBar:
        def __init__(self, total: int) -> None:
            seen.append(total)

        def display(self) -> None:
            seen.append("displayed")

        def __setattr__(self, name: str, value: int) -> None:
            seen.append(value)

    module = ModuleType("IPython.display")
    module.ProgressBar = ProgressBar  # type: ignore[attr-defined]
    ipython = ModuleType("IPython")
    ipython.get_ipython = type("ZMQInteractiveShell", (), {})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    limit(batch_rows=50, chunk_windows=5, progress_patience=-1)
    ff.events(pa.table({"t": range(100)}), time="t").window(ff.tumbling(10)).aggregate(n=ff.Count())
    assert seen == [100, "displayed", 50, 100, 100, 10, "displayed", 6, 10, 10]
    assert inner("bar")("reading", None) is None


def test_a_bar_is_taken_away_where_a_query_fails(monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]) -> None:
    moved: list[int | str] = []
    made = progress.Bar(moved.append, lambda: moved.append("closed"))
    monkeypatch.setattr(*place_of("bar"), lambda what, total: made)
    limit(progress_patience=-1)

    def parts() -> Any:
        yield 3, "some"
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(progress.watched(parts(), "working", lambda: 9, 0))
    assert moved == [3, "closed"]


def test_a_source_may_show_it_itself(monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]) -> None:
    limit(batch_rows=50, progress_patience=-1)
    monkeypatch.setattr(*place_of("bar"), lambda what, total: pytest.fail(what))
    source = Source(pa.table({"t": range(100)}))
    source.shows_progress = True
    ff.events(source, time="t").window(ff.tumbling(10)).aggregate(n=ff.Count())


def test_how_many_events_there_are_is_known_of_tables_and_parquet(tmp_path: Path) -> None:
    table = pa.table({"t": range(7)})
    pq.write_table(table, tmp_path / "events.parquet")
    (tmp_path / "events.csv").write_text("t\n1\n")
    files = [FileSource(ff.files(tmp_path / f"events.{name}", format=name)) for name in ("parquet", "csv")]
    assert [Source(table).count(), *(each.count() for each in files)] == [7, 7, None]
    assert Source(table).where(pa.compute.field("t") > 3).count() is None
