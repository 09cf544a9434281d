"""Frames of stored partials are tumbling windows: others, in which an event is never or several times, are refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import framefold as ff

OTHERS = [
    ff.sliding(120, every=60),
    ff.sliding(60, every=120, gaps="allow"),
    ff.cumulating(120, every=60),
    ff.session(60),
    ff.around(time=(-60, 0)),
    ff.last_rows(2),
]
SAID = r"^frame is .*; expected a duration, such as '1 hour', or tumbling windows$"


@pytest.mark.parametrize("frame", OTHERS, ids=str)
def test_others_are_refused(frame: ff.WindowSpec, tmp_path: Path) -> None:
    with pytest.raises(ff.QueryError, match=SAID):
        ff.partials(tmp_path, time="t", frame=frame, n=ff.Count())
    stored = ff.partials(tmp_path, time="t", frame=60, n=ff.Count())
    stored.append(pa.table({"t": [0, 70]}), run="first")
    with pytest.raises(ff.QueryError, match=SAID):
        stored.coarsen(frame, older=0)
