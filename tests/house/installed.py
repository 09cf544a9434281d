"""A small query with nothing but the installed package and what it depends on: ``installed.py PLACE LOOPS``.

PLACE is a part of the path that it must be imported from, LOOPS whether it has compiled loops: ``compiled``, ``pure``,
or ``either``.
"""

import importlib.util
import sys
from contextlib import suppress

import pyarrow as pa

import framefold as ff

place, loops = sys.argv[1:]
assert place in ff.__file__, f"imported from {ff.__file__}, not from {place}"
found = {"pure"}
with suppress(ImportError):
    import framefold.aggregators.loops.ranges
    import framefold.aggregators.loops.rows
    import framefold.aggregators.loops.windows

    found = {"compiled"}
assert loops in {*found, "either"}, f"loops are {found}, not {loops}"
assert importlib.util.find_spec("pyspark") is None, "this environment should have no pyspark"
events = pa.table({"time": [0, 1, 5], "key": ["a", "a", "b"], "x": [1.0, 2.0, 4.0]})
result = (
    ff.events(events, time="time", by="key").window(ff.sliding(2, every=1)).aggregate(total=ff.Sum("x"), n=ff.Count())
)
assert result["total"].to_pylist() == [1.0, 3.0, 2.0, 4.0, 4.0], result
assert result["n"].to_pylist() == [1, 2, 1, 1, 1], result
assert result["window"].to_pylist()[0] == {"start": -1, "end": 1}, result
print(f"framefold {ff.__version__} from {place}, {found.pop()}: right")
