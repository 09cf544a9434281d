"""What a stored table refuses, in one sentence."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import framefold as ff

OUTPUTS: dict[str, Any] = {"n": ff.Count(), "top": ff.Max("x"), "y": ff.Sum("y")}
TUMBLING = ff.tumbling(240)
CUT = r"cut the stored frame from .* in two; expected windows"
STEPS = r"at times within stored frames; expected steps at"
FRAME = r"^frame is .*; expected a duration, such as '1 hour', or tumbling windows$"
VALUES = r"; expected values of k: string, or a table with these columns"
FRAMES = [
    ff.sliding(120, every=60), ff.sliding(60, every=120, gaps="allow"), ff.cumulating(120, every=60), ff.session(60),
    ff.around(time=(-60, 0)), ff.last_rows(2),
]  # fmt: skip
"""Windows in which an event is never or several times, so that they are no frames."""


def events(first: int = 0, until: int = 2400) -> pa.Table:
    times = range(first, until, 20)
    return pa.table({"t": times, "k": ["ab"[t % 3 % 2] for t in times], "x": times, "y": [t / 4 for t in times]})


def over(*windows: Any) -> Callable[[Any], Any]:
    return lambda stored: stored.window(*windows).aggregate()


def looked_up(keys: Any, windows: Any = TUMBLING, **more: Any) -> Callable[[Any], Any]:
    return lambda stored: stored.window(windows).lookup(keys, **more)


def refreshed(since: int, until: int) -> Callable[[Any], Any]:
    return lambda stored: stored.refresh(events(), since=since, until=until)


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    *((lambda stored, frame=frame: stored.coarsen(frame, older=0), FRAME) for frame in FRAMES),
    (
        over(ff.tumbling(60)),
        r"cut in two the frame from 0 to 120, which coarsen\(\) has made of shorter ones; expected windows",
    ),
    (refreshed(150, 240), r"since is 150, inside of a stored frame; expected its start, 120, or its end"),
    (refreshed(120, 210), r"until is 210, inside of a stored frame; expected its start, 180, or its end"),
    (refreshed(240, 120), r"since is 240 and until is 120; expected since before until"),
    (
        lambda stored: stored.refresh(events().filter(pc.equal(events()["k"], "b")), since=1200, until=2400),
        r"refresh\(\) is given no events of 1 keys that are stored from 1200 to 2400, such as 'a', which would be ",
    ),
    (refreshed(120, 660), r"660 is inside of the stored frame from 600 to 720; expected its start or end"),
    (
        lambda stored: stored.delete(events(600, 660), run="returns"),
        r"in 1 frames, and cannot be taken out of top \(Max\('x'\): it has no deduct\), y \(.*\); "
        r"expected \.refresh\(\.\.\., since='600', until='660'\) with the events left",
    ),
    (lambda stored: stored.forget([3]), r"^keys are \[3\]" + VALUES),
    (looked_up(["a"]), r"lookup\(\) is given no at=, and times are integers"),
    (looked_up("a", at=240), r"keys are 'a'" + VALUES),
    (looked_up([("a", 1)], at=240), r"keys are .*" + VALUES),
    (
        looked_up(["a"], ff.landmark(every=240), at=240),
        r"lookup\(\) is asked for .*; expected windows along the time line",
    ),
    (lambda stored: stored.changed(), r"changed\(\) takes run= or since="),
    (lambda stored: stored.changed(run="1", since="2000-01-01"), r"changed\(\) takes run= or since="),
    (lambda stored: stored.changed(since="yesterday"), r"since is 'yesterday'; expected a time such as"),
    (lambda stored: stored.changed(run="1"), r"run '1' was merged with others"),
    (lambda stored: stored.add_output(n=ff.Max("x")), r"'n', which is there"),
    (lambda stored: stored.add_output(), r"no outputs are given"),
    (over(ff.lookback(3)), r"the lookback is for each event, " + STEPS),
    (over(ff.lookback(3, at=pa.table({"k": ["a"], "at": [3]}))), r"the lookback is for the rows of at=, " + STEPS),
    (over(ff.lookback(60, every=60), ff.tumbling(60)), r"is given a lookback and other windows; expected it alone"),
    (over(ff.lookback(60, every=40)), r"up to every .* " + CUT),
    (over(ff.lookback(80, every=60)), r"up to every .* " + CUT),
    (over(ff.lookback(240, every=240, closed="both")), r"up to every .* " + CUT),
]


def test_what_is_refused(tmp_path: Path) -> None:
    stored = ff.partials(tmp_path, time="t", by="k", frame=60, **OUTPUTS)
    stored.append(events(), run="1")
    stored.append(events(10), run="2")
    stored.coarsen(120, older=600)
    for call, sentence in REFUSED:
        with pytest.raises(ff.QueryError, match=sentence):
            call(stored)


@pytest.mark.parametrize("frame", FRAMES, ids=str)
def test_frames_are_tumbling_windows(frame: Any, tmp_path: Path) -> None:
    with pytest.raises(ff.QueryError, match=FRAME):
        ff.partials(tmp_path, time="t", frame=frame, n=ff.Count())


def test_frames_that_have_their_ends(tmp_path: Path) -> None:
    stored = ff.partials(tmp_path, time="t", by="k", frame=ff.tumbling(60, closed="right"), **OUTPUTS)
    stored.append(events(), run="1")
    with pytest.raises(ff.QueryError, match=r"since is 601, inside of a stored frame; expected its start, 600, or"):
        stored.refresh(events(), since=601, until=1200)


def test_events_that_are_not_there_cannot_be_deleted(tmp_path: Path) -> None:
    stored = ff.partials(tmp_path, time="t", by="k", frame=60, n=ff.Count())
    stored.append(events(0, 60), run="1")
    for table in (events(0, 61), pa.concat_tables([events(0, 60)] * 2)):
        with pytest.raises(ff.QueryError, match=r"events to be deleted are not all in stored frames"):
            stored.delete(table, run="2")


DAY = dt.datetime(2026, 1, 1)
WIDER: list[tuple[pa.DataType, Any, pa.DataType, Any]] = [
    (pa.int64(), 1, pa.float64(), 1.5), (pa.int32(), 1, pa.int64(), 2**40), (pa.float32(), 1, pa.float64(), 0.1),
]  # fmt: skip
APART: list[tuple[pa.DataType, Any, pa.DataType, Any]] = [
    (pa.float64(), 1, pa.int64(), 2**53 + 1),
    (pa.timestamp("us"), DAY, pa.timestamp("ns"), 1), (pa.date32(), DAY, pa.timestamp("us"), DAY.replace(hour=1)),
    (pa.timestamp("us"), DAY, pa.timestamp("us", "UTC"), DAY), (pa.int64(), 1, pa.string(), "1"),
    (pa.decimal128(4, 2), Decimal(1), pa.float64(), 1.0),
]  # fmt: skip
"""The type of the first events, and a value; a type of later ones, and a value that the first one does not hold.

Those that are ``WIDER`` are refused by Delta Lake only.
"""


def one_of(kind: pa.DataType, value: Any) -> pa.Table:
    return pa.table({"t": [0], "x": pa.array([value], kind)})


@pytest.mark.parametrize(("kind", "value", "other", "found"), [*APART, *WIDER], ids=str)
def test_events_of_other_types(kind: pa.DataType, value: Any, other: pa.DataType, found: Any, tmp_path: Path) -> None:
    """One sentence names the column and both types."""
    format = "delta" if (kind, value, other, found) in WIDER else "parquet"
    stored = ff.partials(tmp_path / "p", time="t", frame=60, format=format, n=ff.Count(), top=ff.Max("x"))
    stored.append(one_of(kind, value), run="1")
    types = rf"have the column 'x' as {re.escape(str(kind))}, and it is {re.escape(str(other))} in the events"
    with pytest.raises(
        ff.FramefoldError, match=types + r"[^\n]*; expected it cast to [^\n]*, or another path"
    ) as caught:
        stored.append(one_of(other, found), run="2")
    assert len(str(caught.value)) < 250
    assert stored.runs().num_rows == 1
    stored.append(one_of(pa.null(), None), run="2")
    assert stored.runs()["events"].to_pylist() == [1, 1]


def test_the_first_events_have_types_in_delta_lake(tmp_path: Path) -> None:
    stored = ff.partials(tmp_path / "p", time="t", frame=60, format="delta", n=ff.Count(), top=ff.Max("x"))
    stored.append(one_of(pa.null(), None).slice(1), run="none")
    with pytest.raises(ff.QueryError, match=r"^the column 'x' has no value in the first events, .*; expected it cast"):
        stored.append(one_of(pa.null(), None), run="1")
    stored.append(one_of(pa.int64(), 1), run="1")
    assert stored.window(ff.tumbling(60)).aggregate()["top"].to_pylist() == [1]


def test_times_of_any_year_are_kept(tmp_path: Path) -> None:
    """Those before the year 1 and after 9999, too, in folders of their days."""
    times = pa.array([-(2**60), -62_135_596_800_000_001, 0, 253_402_300_800_000_000, 2**60], pa.timestamp("us"))
    stored = ff.partials(tmp_path, time="t", frame="1 hour", n=ff.Count(), at=ff.Max("t"))
    for run in range(2):
        stored.append(pa.table({"t": times}), run=str(run))
    with pytest.warns(ff.FarTimesWarning):
        found = stored.window(ff.tumbling("1 hour")).aggregate()
    assert (found["n"].to_pylist(), found["at"].combine_chunks()) == ([2] * 5, times)


def test_names_that_are_no_text(tmp_path: Path) -> None:
    half = "a\udc80"
    stored = ff.partials(tmp_path, time="t", by="k", frame=60, n=ff.Count())
    with pytest.raises(ff.QueryError, match=r"^the path is .*udc80', which is no text in Unicode"):
        ff.partials(tmp_path / half, time="t", frame=60, n=ff.Count())
    with pytest.raises(ff.QueryError, match=r"^run is 'a.udc80', which is no text in Unicode"):
        stored.append(events(), run=half)
    with pytest.raises(ff.QueryError, match=r"^the name of an output is 'a.udc80', which is no text in Unicode"):
        ff.partials(tmp_path, time="t", frame=60, **{half: ff.Count()})


def test_frames_of_business_days_keep_their_holidays(tmp_path: Path) -> None:
    days = pa.table({"t": [dt.date(2026, 1, day) for day in (2, 5, 6, 7)]})  # Friday, then Monday to Wednesday

    def at(*holidays: Any) -> ff.StoredPartials:
        return ff.partials(tmp_path, time="t", frame=ff.business_days(1, holidays=holidays), n=ff.Count())

    at("2026-01-05").append(days, run="1")
    again = at(dt.date(2026, 1, 5))
    found = again.window(ff.tumbling(ff.business_days(1, holidays=["2026-01-05"]))).aggregate()
    assert found["n"].to_pylist() == [2, 1, 1]
    with pytest.raises(ff.EngineError, match=r"\(1 from 2026-01-05 .* became .*\(1 from 2026-01-06 "):
        at("2026-01-06").append(days, run="2")
    with pytest.raises(ff.QueryError, match=r"cut the stored frame from 2026-01-02.* to 2026-01-06"):
        again.window(ff.tumbling("1bd")).aggregate()
