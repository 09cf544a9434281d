"""What ``--out`` does to an earlier result: it is replaced by a whole new one, or left as it was."""

from __future__ import annotations

import json
import os
import shutil
import stat
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.command_line import FileError, check_columns, holds, main, output, replacing
from ..support.inner import place_of

EVENTS = pa.table({"t": [0, 1, 5, 11], "k": ["a", "b", "a", "b"], "x": [1.5, None, 2.0, 4.0]})
QUERY = ["--time", "t", "--by", "k", "--window", "10"]
GOOD = [*QUERY, "--agg", "n=count"]
NESTED = [*QUERY, "--agg", "n=count", "--agg", "xs=collect_list:x"]
KINDS = ["parquet", "csv", "json", "arrow"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(EVENTS, tmp_path / "e.parquet")
    return tmp_path


def run(folder: Path, arguments: list[str], out: str, engine: str = "local") -> int:
    return main(["run", str(folder / "e.parquet"), *arguments, "--engine", engine, "--out", str(folder / out)])


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def result() -> pa.Table:
    """A small result."""
    window = pa.array([{"start": 0, "end": 10}])
    return pa.table({"k": ["a"], "window": window, "n": [2]})


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_what_csv_cannot_hold_is_refused_and_an_earlier_result_kept(
    engine: str, folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    if engine == "spark":
        request.getfixturevalue("spark")
    assert run(folder, GOOD, "keep.csv", engine) == 0
    before = [(each.name, each.read_bytes()) for each in files(folder / "keep.csv")]
    capsys.readouterr()
    monkeypatch.setattr(*place_of("a run on the local engine"), None)  # nothing is computed
    monkeypatch.setattr(*place_of("a run on Spark"), None)
    assert run(folder, NESTED, "keep.csv", engine) == 2
    assert capsys.readouterr().err == (
        f"framefold: --out '{folder}/keep.csv' is for CSV, which cannot hold the column 'xs' of type "
        f"{pa.list_(pa.float64())}; expected .parquet, .json or .arrow\n"
    )
    assert [(each.name, each.read_bytes()) for each in files(folder / "keep.csv")] == before
    assert names(folder) == ["e.parquet", "keep.csv"]


def files(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]


@pytest.mark.parametrize("kind", KINDS)
def test_pyarrow_writes_whatever_is_said_to_be_held(kind: str, tmp_path: Path) -> None:
    types = [
        pa.null(), pa.bool_(), pa.uint64(), pa.float32(), pa.decimal128(38, 2), pa.decimal256(60, 2),
        pa.decimal128(5, -2), pa.string(), pa.large_string(), pa.binary(), pa.binary(3), pa.date32(), pa.date64(),
        pa.time32("s"), pa.time64("ns"), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.duration("us"),
        pa.month_day_nano_interval(), pa.dictionary(pa.int32(), pa.string()), pa.list_(pa.int64()),
        pa.list_(pa.int64(), 2), pa.struct([("a", pa.int64())]), pa.struct([]), pa.map_(pa.string(), pa.int64()),
        pa.list_(pa.month_day_nano_interval()),
    ]  # fmt: skip
    refused = set()
    for type in types:
        table = result().append_column("o", pa.nulls(1, type))
        if not holds(kind, type, spark=False):
            refused.add(str(type))
        else:
            output.write_table(table, str(tmp_path / f"r.{kind}"))
    intervals = {"month_day_nano_interval", str(pa.list_(pa.month_day_nano_interval()))}
    nested = {str(type) for type in types if pa.types.is_nested(type)}
    assert refused == {
        "arrow": set(),
        "json": intervals,
        "csv": nested | intervals,
        "parquet": {*intervals, "struct<>", "decimal128(5, -2)"},
    }[kind]  # fmt: skip


def test_what_spark_cannot_hold() -> None:
    for type in (pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64())):
        assert [kind for kind in KINDS if not holds(kind, type, spark=True)] == ["csv"]
    for type in (pa.binary(), pa.decimal128(38, 2), pa.duration("us"), pa.date32(), pa.timestamp("us")):
        assert holds("csv", type, spark=True)
    columns = pa.schema([("n", pa.int64()), ("N", pa.int64())])
    for kind in KINDS:
        check_columns("r", kind, columns, spark=False)
        said = r"Spark cannot tell the columns 'n' and 'N' apart; expected names that"
        of_json = pytest.raises(ff.QueryError, match=said) if kind in ("parquet", "json") else nullcontext()
        with of_json:
            check_columns("r", kind, columns, spark=True)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kind", ["parquet", "json", "csv"])
def test_spark_writes_every_type_that_it_is_said_to_hold(kind: str, folder: Path, spark: Any) -> None:
    """Only CSV holds names that differ in case only, and nothing nested."""
    values = "X'00ff41' b, interval '1' day d, struct(0 as start, 10 as end) window, "
    nested = "cast(1 as decimal(38, 2)) dec, array(1) l, map('a', 1) m, struct(1 as a) s"
    output.write_dataframe(
        spark.sql(f"select {values}{'1 n, 2 N' if kind == 'csv' else nested}"), str(folder / f"r.{kind}")
    )
    assert (folder / f"r.{kind}" / "_SUCCESS").exists()
    if kind == "csv":
        (part,) = (folder / "r.csv").glob("part-*")
        assert part.read_text() == "b,d,window_start,window_end,n,N\n[00 FF 41],INTERVAL '1' DAY,0,10,1,2\n"


def test_maps_are_objects_in_json(folder: Path) -> None:
    outputs = ["--agg", "k=histogram:k", "--agg", "x=histogram:x", "--agg", "n=count"]
    arguments = ["--time", "t", "--window", "10"]
    assert run(folder, [*arguments, *outputs], "r.json") == 0
    rows = [json.loads(line) for line in (folder / "r.json").read_text().splitlines()]
    assert [(row["k"], row["x"]) for row in rows] == [({"a": 2, "b": 1}, {"1.5": 1, "2.0": 1}), ({"b": 1}, {"4.0": 1})]


def fails(error: BaseException) -> Callable[..., None]:
    """A writer that ends in the middle."""

    def write(table: pa.Table, path: Path, *rest: Any, **more: Any) -> None:
        Path(path).write_bytes(b"half of it")
        raise error

    return write


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OSError(28, "No space left on device"), 1, "cannot be written: [Errno 28] No space left on device"),
        (pa.ArrowInvalid("a value of no kind"), 1, "cannot be written: a value of no kind"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 1, "there is not enough memory for this"),
    ],
)
def test_a_write_that_fails_leaves_the_earlier_result(
    error: BaseException, code: int, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert run(folder, GOOD, "keep.csv") == 0
    before = (folder / "keep.csv").read_bytes()
    capsys.readouterr()
    monkeypatch.setattr(pyarrow.csv, "write_csv", fails(error))
    monkeypatch.setattr(*place_of("columns of a result"), lambda *arguments, **more: None)
    assert run(folder, GOOD, "keep.csv") == code
    assert said in capsys.readouterr().err
    assert (folder / "keep.csv").read_bytes() == before
    assert names(folder) == ["e.parquet", "keep.csv"]


def test_what_cannot_be_removed_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pyarrow.csv, "write_csv", fails(OSError("the disk is full")))
    monkeypatch.setattr(*place_of("columns of a result"), lambda *arguments, **more: None)
    owner, name = place_of("removal of a result")
    failing(monkeypatch, owner, name, PermissionError("it is held"))
    assert run(folder, GOOD, "r.csv") == 1
    (left,) = (name for name in names(folder) if name.startswith(".r.csv-"))
    assert capsys.readouterr().err == (
        f"framefold: '{folder}/r.csv' cannot be written: the disk is full; '{folder}/{left}' stays behind, which "
        "cannot be removed: it is held\n"
    )


def test_links_and_permissions_are_kept_and_new_ones_usual(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "r.csv").symlink_to("elsewhere/real.csv")
    before, real = os.umask(0o027), folder / "elsewhere" / "real.csv"
    try:
        for usual in (0o640, 0o604):  # what it leads to is made, then replaced
            assert run(folder, GOOD, "r.csv") == 0
            assert mode(real) == usual
            real.chmod(0o604)
            assert (folder / "r.csv").is_symlink()
            assert names(folder / "elsewhere") == ["real.csv"]
            assert pa.csv.read_csv(real)["n"].to_pylist() == [2, 1, 1]
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    ("to", "locked", "out", "said"),
    [
        ("no/where.csv", None, "r.csv", "which does not exist"), ("r.csv", None, "r.csv", "/r.csv' leads nowhere"),
        ("e.parquet", None, "r.parquet", "would overwrite the events"),
        (None, "r.csv", "r.csv", "is read-only; expected a file that may be overwritten, or a new name"),
        (None, "", "r.csv", "which is read-only; expected one where a new result can be written beside an earlier one"),
        (None, None, "n" * 260 + ".csv", "File name too long"),
    ],
)  # fmt: skip
def test_places_that_are_mistakes(
    to: str | None, locked: str | None, out: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """The operating system is not asked what is locked: it lets its administrator write anywhere."""
    if to:
        (folder / out).symlink_to(to)
    if locked is not None:
        (folder / "r.csv").touch()
        monkeypatch.setattr(os, "access", lambda path, how: Path(path) != folder / locked)
    assert run(folder, GOOD, out) == 2
    assert said in capsys.readouterr().err


def test_a_pipe_is_written_to_as_it_is(folder: Path) -> None:
    os.mkfifo(folder / "r.csv")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((folder / "r.csv").read_text()), daemon=True)
    reader.start()
    assert run(folder, GOOD, "r.csv") == 0
    reader.join(10)
    assert len(read[0].splitlines()) == 4
    assert names(folder) == ["e.parquet", "r.csv"]


def test_a_long_name_is_no_obstacle(folder: Path) -> None:
    name = "ä" * 125 + ".csv"
    assert run(folder, GOOD, name) == 0
    assert names(folder) == ["e.parquet", name]


def test_a_folder_that_is_gone_is_a_failure(folder: Path) -> None:
    with pytest.raises(FileError, match="cannot be written"):
        output.write_table(result(), str(folder / "gone" / "r.csv"))


def make(path: Path, text: str, error: BaseException | None = None) -> None:
    """A folder of Spark's; or half of it."""
    path.mkdir()
    (path / "part-0").write_text(text)
    if error:
        raise error
    (path / "_SUCCESS").touch()


def replaced(path: Path, error: BaseException | None = None) -> None:
    with replacing.new_folder(str(path)) as new:
        make(new, "new", error)


def failing(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, *errors: Exception | None) -> list[Any]:
    """A function whose first calls raise errors, or none; gives its calls as they come."""
    calls: list[Any] = []
    real = getattr(module, name)

    def called(*given: Any) -> None:
        calls.append(given)
        if len(calls) <= len(errors) and (error := errors[len(calls) - 1]):
            raise error
        real(*given)

    monkeypatch.setattr(module, name, called)
    return calls


def test_a_folder_takes_the_place_of_another_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("r")
    (tmp_path / "r").write_text("a file")
    for place in ("r", "link", "link"):
        replaced(tmp_path / place)
        assert (tmp_path / "r" / "part-0").read_text() == "new"
        assert names(tmp_path) == ["link", "r"]
        (tmp_path / "r" / "part-0").write_text("old")
        (tmp_path / "r").chmod(0o750)
    assert mode(tmp_path / "r") == 0o750


BUSY = OSError("busy")


@pytest.mark.parametrize(
    ("error", "renames"),
    [
        (OSError("full"), []), (KeyboardInterrupt(), []), (None, [BUSY]), (None, [None, BUSY]),
        (None, [None, BUSY, BUSY]),
    ],
)  # fmt: skip
def test_a_folder_that_is_not_finished_leaves_the_earlier_one(
    error: BaseException | None, renames: list[Exception | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named where it cannot be put back."""
    make(tmp_path / "r", "old")
    failing(monkeypatch, os, "rename", *renames)
    with pytest.raises(type(error or BUSY)) as caught:
        replaced(tmp_path / "r", error)
    (place,) = names(tmp_path)
    said = f"the earlier result stays behind in '{tmp_path}/{place}', which cannot be renamed back: busy"
    assert getattr(caught.value, "__notes__", []) == ([said] if place != "r" else [])
    assert (place == "r") == (len(renames) < 3)
    assert (tmp_path / place / "part-0").read_text() == "old"


def test_an_earlier_folder_that_cannot_be_removed_is_named_or_removed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]
) -> None:
    make(tmp_path / "r", "old")
    calls = failing(monkeypatch, shutil, "rmtree", OSError(39, "Directory not empty"), None, *[OSError("held")] * 9)
    replaced(tmp_path / "r")
    assert names(tmp_path) == ["r"]
    assert len(calls) == 2
    limit(replace_patience=0.0)
    with pytest.raises(FileError, match=r"r' is written, but the earlier result stays behind in '.*-old', .*: held"):
        replaced(tmp_path / "r")
    assert (tmp_path / "r" / "part-0").read_text() == "new"


@pytest.mark.parametrize("error", [None, RuntimeError("no space")])
def test_a_folder_that_executors_write_elsewhere_does_not_replace_a_result(
    error: Exception | None, tmp_path: Path
) -> None:
    """A writer of Spark's whose executors are elsewhere, or fail."""
    make(tmp_path / "r.json", "old")

    def save(path: str) -> None:
        assert path.startswith("file:/")
        folder = Path(path.removeprefix("file:"))
        folder.mkdir()
        (folder / "_SUCCESS").touch()
        if error:
            raise error

    writer = MagicMock(save=save)
    writer.write = writer.option.return_value = writer.format.return_value = writer
    said = "no space" if error else "executors have written no files into the folder .* of this machine"
    with pytest.raises(RuntimeError if error else FileError, match=said):
        output.write_dataframe(writer, str(tmp_path / "r.json"))
    assert names(tmp_path) == ["r.json"]
    assert (tmp_path / "r.json" / "part-0").read_text() == "old"
