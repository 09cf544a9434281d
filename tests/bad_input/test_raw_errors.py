"""What once ended in a traceback of another library, or of Python, is one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.command_line import main
from ..support.inner import place_of
from ..support.toys import Items
from .mistakes import mistakes, require

EVENTS = pa.table({"t": range(10), "x": range(10)})
QUERY = ["--time", "t", "--window", "10", "--agg", "n=count", "--engine", "local"]
UNREACHABLE = "s3://bucket/x.parquet?endpoint_override=http://127.0.0.1:9"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pq.write_table(EVENTS, tmp_path / "e.parquet")
    (tmp_path / "itself.parquet").symlink_to("itself.parquet")
    (tmp_path / "broken.parquet").symlink_to("nowhere")
    (tmp_path / "*.csv").symlink_to("nowhere")
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "some").mkdir()
    pq.write_table(EVENTS, tmp_path / "some" / "e.parquet")
    (tmp_path / "some" / "broken.parquet").symlink_to("nowhere")
    (tmp_path / "some" / "round").symlink_to("../some")
    monkeypatch.chdir(tmp_path)
    return tmp_path


LONG = "a" * 300 + ".parquet"
INPUTS = {
    "itself.parquet": "'itself.parquet' is a link that leads nowhere",
    "broken.parquet": "'broken.parquet' is a link that leads nowhere",
    "*.parquet": "'broken.parquet' is a link that leads nowhere",
    "*.csv": "'*.csv' is a link that leads nowhere",
    "itself.parquet/e.parquet": "Too many levels of symbolic links",
    "e.parquet/e.parquet": "does not exist", "folder.parquet": "has no files in it", LONG: "File name too long",
    UNREACHABLE: "cannot be reached", "nothing://x/e.parquet": "cannot be opened",
}  # fmt: skip
OUTPUTS = {
    UNREACHABLE: "cannot be reached", "nothing://x/e.parquet": "cannot be opened", "itself.parquet": "leads nowhere",
    LONG: "File name too long", "e.parquet/x.parquet": "does not exist",
}  # fmt: skip
COMMANDS = [([path], sentence) for path, sentence in INPUTS.items()] + [
    pytest.param(["some/e.parquet", "--out", path, *more], sentence, marks=[pytest.mark.slow] * (path == UNREACHABLE))
    for path, sentence in OUTPUTS.items()
    for more in ([], ["--no-replace"])
]  # a server that does not answer is asked several times


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("arguments", "sentence"), COMMANDS)
def test_paths_of_the_command_line(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *arguments, *QUERY]) == 2
    said = capsys.readouterr().err
    assert sentence in said or ("--no-replace" in arguments and "exists" in said)
    assert said.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_links_in_a_folder_of_events() -> None:
    assert main(["run", "some", *QUERY]) == 0


@pytest.mark.usefixtures("folder")
@mistakes("""\
ff.events(ff.parquet("itself.parquet"), time="t")  # -> the Parquet path 'itself.parquet' is a link that leads nowhere
ff.events(ff.parquet("broken.parquet"), time="t")  # -> the Parquet path 'broken.parquet' is a link that leads nowhere
ff.parquet("itself.parquet").listed()  # -> 'itself.parquet' is a link that leads nowhere
ff.parquet("some/e.parquet", "broken.parquet").listed()  # -> is a link that leads nowhere
ff.files("*.csv", format="csv").listed()  # -> is a link that leads nowhere
""")
def test_links_as_files_of_the_library(call: str, said: str) -> None:
    require(call, said, globals())


class Answer(Items):
    """One that finishes with a value that the caller chose of the sum."""

    result = None

    def __init__(self, column: str, make: Callable[[int], Any]) -> None:
        super().__init__(column)
        self.make = make

    def finish(self, state: Any) -> Any:
        return self.make(sum(state))


ODD = {
    "an integer beyond 64 bits": 2**70, "a negative one": -(2**63) - 1, "half a surrogate pair": "\ud800",
    "it in a list": ["\ud800"], "an integer in a struct": {"a": 2**70}, "it in a struct": {"a": "\ud800"},
}  # fmt: skip


@pytest.mark.parametrize("at", [0, 15])
@pytest.mark.parametrize("kind", ODD)
def test_what_finish_may_not_return(kind: str, at: int) -> None:
    """In all windows, and in one of which the trial before a query knows nothing."""
    odd = ODD[kind]
    usual = {"a": type(odd["a"])()} if isinstance(odd, dict) else [""] if isinstance(odd, list) else type(odd)()
    query = ff.events(EVENTS, time="t").window(ff.tumbling(5))
    reason = "surrogates not allowed" if "surrogate" in repr(kind) or "it in" in kind else "more than 64 bits"
    with pytest.raises(ff.OperationError, match=rf"^finish of 'm' returned what cannot be a column of .*({reason})"):
        query.aggregate(m=Answer("x", lambda state: odd if state >= at else usual))


def test_integers_beyond_64_bits_may_be_declared_as_decimals() -> None:
    class Declared(Answer):
        result = pa.decimal128(38, 0)

    query = ff.events(EVENTS, time="t").window(ff.tumbling(5))
    found = query.aggregate(m=Declared("x", lambda state: 2**70 + state))["m"].to_pylist()
    assert list(map(int, found)) == [2**70 + 10, 2**70 + 35]


@pytest.mark.parametrize("operation", [ff.CollectList("x"), ff.CollectSet("x"), ff.TopN("x", 50_000)], ids=str)
def test_lists_of_more_than_the_memory_say_what_they_would_take(operation: Any, monkeypatch: Any) -> None:
    """100,000 events in windows that grow with each of them have five billion values; here of a smaller machine."""
    monkeypatch.setattr(*place_of("memory of this machine"), lambda: 1 << 24)
    events = pa.table({"t": range(3_000), "x": np.arange(3_000.0)})
    query = ff.events(events, time="t").window(ff.landmark())
    with pytest.raises(ff.QueryError, match=r"the lists of all windows would .* items and take 0\.\d GiB, more than"):
        query.aggregate(m=operation)


def test_the_memory_of_this_machine_is_asked_for() -> None:
    events = pa.table({"t": range(300_000), "x": range(300_000)})
    with pytest.raises(ff.QueryError, match=r"would have 4\.5e\+10 items and take 1\d{3}\.\d GiB"):
        ff.events(events, time="t").window(ff.landmark()).aggregate(m=ff.CollectList("x"))


def test_a_condition_that_cannot_be_computed_of_an_event_is_named(tmp_path: Path) -> None:
    pq.write_table(EVENTS, tmp_path / "e.parquet")
    with pa.ipc.new_file(tmp_path / "e.arrow", EVENTS.schema) as file:
        file.write_table(EVENTS)
    sources = [
        EVENTS, EVENTS.to_reader(), ff.parquet(tmp_path / "e.parquet"),
        ff.files(tmp_path / "e.arrow", format="arrow"),
    ]  # fmt: skip
    condition = pc.scalar(1) / pc.field("x") > 0
    for source in sources:
        windows = ff.events(source, time="t").where(condition).window(ff.tumbling(5))
        with pytest.raises(ff.QueryError, match=r"the condition \(divide.* of where\(\) cannot be .*: divide by zero"):
            windows.aggregate(n=ff.Count())
