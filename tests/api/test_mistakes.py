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

MISTAKES = """
rnu => No such command 'rnu'
run e.parquet --time aat --window '1 hour' COUNT => 'aat'; did you mean 'at'?
run TIMED --by kk COUNT => --by names the unknown column 'kk'; did you mean 'k'?
run TIMED --agg m=avg:xx => unknown column 'xx'; did you mean 'x'?
run TIMED --by k,k COUNT => --by names 'k' twice
run TIMED --agg m=avg:k => needs a column of numbers
run text.csv QUERY COUNT => has text such as '01/05/2024 10:00'; expected ISO timestamps
run WINDOW '1 huor' COUNT => --window is '1 huor'
run WINDOW 60 COUNT => --window is 60
run TIMED --every 0 COUNT => --every is 0
run TIMED --every '0 minutes' COUNT => expected a duration above zero
run TIMED --offset noon COUNT => --offset is 'noon'
run e.parqet QUERY COUNT => does not exist; did you mean
run '*.feather' QUERY COUNT => no file matches
run nothing QUERY COUNT => has no files in it
run notes.txt QUERY COUNT => has the extension '.txt'; expected one of .parquet
run torn.parquet QUERY COUNT => cannot be read as parquet
run empty.csv QUERY COUNT => cannot be read as csv
run e.parquet e.csv QUERY COUNT => expected files of one kind
run e.parquet 'e.par*' QUERY COUNT => is given twice
run with-x.csv no-x.csv QUERY --agg m=avg:x => has no column 'x'
run TIMED --agg m=averge:x => unknown operation 'averge'; did you mean 'average'?
run TIMED --agg n => expected NAME=OP:COLUMN
run TIMED --agg m=avg:x,i => gives avg 2 columns; expected avg:COLUMN
run TIMED --agg m=avg => gives avg 0 columns; expected avg:COLUMN
run TIMED --agg m=count:x,i => gives count 2 columns; expected count or count:COLUMN
run TIMED --agg m=argmax:x => 1 column; expected argmax:COLUMN,BY
run TIMED --agg m=top_n:x,i => no n=; expected top_n:COLUMN[,COMPANIONS...]:n=N
run TIMED --agg m=top_n:x:n=three => is 'three'; expected an integer
run TIMED --agg m=histogram:x:bins=high,low => expected numbers
run TIMED --agg m=frequent_items:i:type=int64 => option 'type'
run TIMED --agg m=filtered:x => unknown operation 'filtered'
run TIMED --agg m=stddev:x:dof=1 => did you mean 'ddof'?
run TIMED --agg m=stddev:x:ddof=1,ddof=0 => ddof=1,ddof=0' gives stddev ddof twice; expected it once
run TIMED --agg m=stddev:x:ddof=y => ddof
run TIMED --agg v=last:x:filled=ffill => filled() is given 'ffill'; expected 'last'
run TIMED COUNT COUNT => the output 'n' twice
run TIMED --by k --agg k=count => would hide the key 'k'
run TIMED COUNT --out no/where.parquet => which does not exist
run TIMED COUNT --out r.xlsx => --out 'r.xlsx' has the extension '.xlsx'
run TIMED COUNT --out nothing.csv => is a folder
run TIMED COUNT --out e.parquet => would overwrite the events
run TIMED COUNT --evry '1 minute' => --evry
run e.parquet --time at COUNT => Missing option '--window'
run TIMED COUNT --out => '--out' requires an argument
run --time at --window '1 hour' COUNT => Missing argument 'EVENTS...'
run TIMED COUNT --closed both => 'both' is not one of 'left', 'right'
run TIMED COUNT --preview -1 => --preview
run TIMED COUNT --where 'xx > 30' => names the unknown column 'xx'; did you mean 'x'?
run TIMED COUNT --where 'sum(x) > 30' => has SUM(x), which not all engines know alike
run TIMED COUNT --where x => is of type double; expected a boolean
run far://bucket/e.parquet QUERY COUNT => 'far://bucket/e.parquet' cannot be opened:
run WINDOW 'sesion:1 hour' COUNT => --window 'sesion:1 hour' is of the unknown kind 'sesion'; did you mean 'session'?
run WINDOW 'session:1 hour:longst=2' COUNT => has the unknown option 'longst'; did you mean 'longest'?
run WINDOW 'tumbling:1 hour:fill_keys=a' COUNT => has the unknown option 'fill_keys'
run WINDOW session COUNT => --window 'session' has no gap; expected session:GAP[:merge_touching=...,
run WINDOW around:3 COUNT => --window 'around:3' has '3' without a name; expected around[:rows=...
run WINDOW last_rows:3:every=2 --every 4 COUNT => has every=, and --every is given too; expected one of them
run WINDOW session:3:gap=4 COUNT => --window 'session:3:gap=4' has gap twice; expected it once
run WINDOW session:3 --closed left COUNT => --closed is 'left', but windows of the kind 'session' have no closed
run WINDOW 'policy:evict=cont 3' COUNT => a rule is 'cont 3'; expected 'count N', 'time LENGTH' or 'delta COLUMN N'
run TIMED --timezone Berlin COUNT => timezone is 'Berlin'
run - QUERY COUNT => '-' is standard input, which has no extension; expected --f
run - e.csv --format csv QUERY COUNT => '-' is standard input, and 1 more are given; expected it alone
run TIMED COUNT --out - => --out '-' is standard output, which has no exten
sql 'SELECT * FROM events' EVENTS => expected a function of windows
sql 'SELECT COUNT(*) FROM TUMBLE(event, at, 1) GROUP BY window_end' EVENTS => 'event'; did you mean 'events'?
sql 'SELECT 1' --table more => --table 'more' is no table; expected NAME=PATH, such as trips=trips.parquet
sql 'SELECT COUNT(*) FROM TUMBLE(events, at, 1) GROUP BY window_end' EVENTS --out - => expected --out-format
partials window none --window '1 day' => 'none' has no partials of the command line; expected
partials window kept --window '90 minutes' => cut the stored frame
partials window kept --window '1 day' --output m => aggregate() is asked for 'm'
partials changed kept --window '1 day' --run third => 'third'
partials create kept --time at --by k --frame '1 day' COUNT => has other partials, of
partials create new FRAMES --agg n=cout => asks for the unknown operation
partials append kept none.parquet --run x => 'none.parquet' does not exist
demo --rows 5 => --rows
demo --rows many => --rows
demo --keep no/such/folder => --keep
demo --engine flink => 'flink' is not one of
demo more => more
demo --stream --seconds 0 => --seconds
"""


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


@pytest.mark.parametrize("mistake", MISTAKES.strip().splitlines())
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
