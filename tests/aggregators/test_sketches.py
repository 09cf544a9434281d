"""Sketches, against exact answers and their published bounds. Seeds are fixed; what the library draws is not."""

from __future__ import annotations

import builtins
import collections
import datetime
import decimal
import importlib
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles import composites
from ..oracles.composites import check, known
from ..support.plans import BoundAggregate, Operation

LARGE = 20_000
DAY, NOON, HOUR = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 12), datetime.timedelta(hours=1)
COUNTS = {"hll": 3 * 1.04 / 64, "cpc": 3 * 0.59 / 64, "theta": 3 / 63}
"""Three standard errors at precision 12."""


def large(seed: int = 0) -> pa.Table:
    of = np.random.default_rng(seed)
    return pa.table({"t": np.arange(LARGE), "x": of.integers(0, 9_000, LARGE), "f": of.normal(1e9, 1e-3, LARGE)})


def sliding(table: pa.Table, operation: Operation) -> list[tuple[slice, Any]]:
    """The rows and the result of each window of 8000 every 1000."""
    result = ff.events(table, time="t").window(ff.sliding(8000, every=1000)).aggregate(out=operation)
    return [
        (slice(max(window["start"], 0), window["end"]), out)
        for window, out in zip(result["window"].to_pylist(), result["out"].to_pylist(), strict=True)
    ]


def distinct(column: str) -> Any:
    return lambda rows: len(set(known(rows, column)))


def ends(rows: list[Any]) -> Any:
    x = sorted(known(rows, "x"))
    return [float(x[0]), float(x[-1])] if x else None


FEW = [
    *((ff.ApproxCountDistinct(column), distinct(column)) for column in ("x", "s", "f", "flag")),
    *(
        (operation, distinct("x"))
        for operation in (ff.ApproxCountDistinct("x", "cpc"), ff.ThetaSketch("x", output="value"))
    ),
    *((ff.ApproxQuantile("x", [0, 1], method), ends) for method in ("kll", "req", "tdigest")),
]


@pytest.mark.parametrize(("operation", "right"), [pytest.param(*case, id=repr(case[0])) for case in FEW])
def test_few_values_are_exact(operation: Any, right: Any) -> None:
    check(operation, right)


@pytest.mark.parametrize("method", COUNTS)
def test_many_values_are_counted_within_the_bound(method: Any) -> None:
    operation = ff.ThetaSketch("x", output="value") if method == "theta" else ff.ApproxCountDistinct("x", method)
    x = large()["x"].to_numpy()
    for rows, out in sliding(large(), operation):
        exact = len(np.unique(x[rows]))
        assert abs(out - exact) <= COUNTS[method] * exact + 1


SEEDED = [ff.ThetaSketch("x"), *(ff.ApproxCountDistinct("x", method, output="sketch") for method in ("hll", "cpc"))]


@pytest.mark.parametrize("operation", [*SEEDED, ff.ApproxQuantile("f", 0.3, "tdigest")], ids=repr)
def test_what_does_not_change_from_run_to_run(operation: Any) -> None:
    assert sliding(large(), operation) == sliding(large(), operation)


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ([0.0, -0.0, float("nan"), -float("nan"), 1.0], 3),
        *(([DAY, DAY.replace(day=2), DAY], 2), ([NOON, NOON.replace(hour=1)], 2), ([HOUR, 2 * HOUR], 2)),
        ([decimal.Decimal("1.50"), decimal.Decimal("1.50"), decimal.Decimal("2.00")], 2),
        *(([b"\xff\x00", b"\xff", b"\xff"], 2), ([datetime.time(1), datetime.time(1), None], 1)),
        (pa.array([2**64 - 1, 0, 2**64 - 1], pa.uint64()), 2),
        ([None, None], 0),
    ],
)
def test_counts_and_frequent_items_of_many_types(values: Any, count: int) -> None:
    column = values if isinstance(values, pa.Array) else pa.array(values)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    table = pa.table({"t": [0] * len(column), "x": column})
    query = ff.events(table, time="t").window(ff.tumbling(5))
    row = query.aggregate(
        n=ff.ApproxCountDistinct("x"), cpc=ff.ApproxCountDistinct("x", "cpc"), top=ff.FrequentItems("x")
    ).to_pylist()[0]
    assert (row["n"], row["cpc"], len(row["top"])) == (count, count, count)
    items = [each["item"] for each in row["top"]]
    if items and not any(item != item for item in items):
        assert set(items) == set(column.drop_null().to_pylist())


def test_sketches_are_an_output_and_an_input() -> None:
    table = large()
    for make in [
        lambda **of: ff.ApproxCountDistinct("x", **of),
        lambda **of: ff.ApproxCountDistinct("x", "cpc", **of),
        lambda **of: ff.ThetaSketch("x", **{"output": "value"} | of),
        lambda **of: ff.ApproxQuantile("x", 0.5, "tdigest", **of),
        lambda **of: ff.FrequentItems("x", 3, 15, **of | ({"type": pa.int64()} if "of_sketches" in of else {})),
    ]:
        stored = ff.events(table, time="t").window(ff.tumbling(1000)).aggregate(x=make(output="sketch"))
        assert stored.schema.field("x").type == pa.binary()
        again = pa.table({"t": [window["start"] for window in stored["window"].to_pylist()], "x": stored["x"]})
        merged = ff.events(again, time="t").window(ff.tumbling(LARGE)).aggregate(out=make(of_sketches=True))
        whole = ff.events(table, time="t").window(ff.tumbling(LARGE)).aggregate(out=make())
        one, other = merged["out"].to_pylist()[0], whole["out"].to_pylist()[0]
        assert one == other if isinstance(one, list) else abs(one - other) <= 0.05 * other
        few = ff.events(table.slice(0, 60), time="t").window(ff.tumbling(10)).aggregate(x=make(output="sketch"))
        ff.check_laws(make(of_sketches=True), few.select(["x"]), examples=10)


def test_algebra_of_theta_sketches() -> None:
    table = pa.table({"t": np.arange(3000), "a": np.arange(3000), "b": np.arange(1000, 4000)})
    sets = ff.events(table, time="t").window(ff.tumbling(3000)).aggregate(a=ff.ThetaSketch("a"), b=ff.ThetaSketch("b"))
    for function, exact in [(ff.theta_union, 4000), (ff.theta_intersection, 2000), (ff.theta_difference, 1000)]:
        made = function(sets["a"], sets["b"])
        assert made.type == pa.binary()
        assert ff.theta_estimate(made).to_pylist() == pytest.approx([exact], rel=0.05)
    assert ff.theta_difference([None], sets["a"]).to_pylist() == [None]
    with pytest.raises(ff.QueryError, match="columns of 0 and of 1 sketches"):
        ff.theta_union([], sets["a"])


@pytest.mark.parametrize(("method", "bound"), [("kll", 0.03), ("req", 0.04), ("tdigest", 0.02)])
def test_quantiles_of_many_values_are_within_the_bound(method: Any, bound: float) -> None:
    f = large()["f"].to_numpy()
    asked = [0.05, 0.5, 0.9, 0.99]
    for rows, out in sliding(large(), ff.ApproxQuantile("f", asked, method)):
        ranks = np.searchsorted(np.sort(f[rows]), out) / len(f[rows])
        assert np.abs(ranks - asked).max() <= bound


def test_quantiles_leave_out_nan_and_take_decimals() -> None:
    table = pa.table({"t": [0, 0, 9], "x": [float("nan"), 2.0, float("nan")], "d": [decimal.Decimal("1.5")] * 3})
    query = ff.events(table, time="t").window(ff.tumbling(5))
    for method in ("kll", "req", "tdigest"):
        result = query.aggregate(x=ff.ApproxQuantile("x", 0.5, method), d=ff.ApproxQuantile("d", 0.5, method))
        assert result.select(["x", "d"]).to_pylist() == [{"x": 2.0, "d": 1.5}, {"x": None, "d": 1.5}]


@pytest.mark.parametrize("column", ["x", "s", "f"])
def test_frequent_items_of_few_values(column: str) -> None:
    """Those that are equally frequent come in any order."""
    table, operation = composites.events(), ff.FrequentItems(column, 100)
    result = ff.events(table, time="t", by="k").window(ff.sliding(7, every=3)).aggregate(out=operation)
    rows = [[(row["item"], row["count"]) for row in out] for out in result["out"].to_pylist()]
    right = [collections.Counter(known(own, column)) for _, own in composites.windows(table, 7, 3)]
    assert list(map(sorted, rows)) == [sorted(each.items()) for each in right]
    assert all(counts == sorted(counts, reverse=True) for counts in ([count for _, count in row] for row in rows))
    composites.batches(operation, table)
    ff.check_laws(operation, table, examples=15)


def test_frequent_items_of_many_values_are_within_the_bound() -> None:
    of = random.Random(5)
    values = [min(int(of.paretovariate(0.8)), 10**6) for _ in range(LARGE)]
    table = pa.table({"t": range(LARGE), "x": values})
    for rows, out in sliding(table, ff.FrequentItems("x", 10, 8)):
        exact = collections.Counter(values[rows])
        error = 3.5 / 2**8 * len(values[rows])
        assert all(0 <= row["count"] - exact[row["item"]] <= error for row in out)
        found = {row["item"] for row in out}
        assert all(item in found for item, n in exact.most_common(10) if n > 2 * error)


def test_sketches_inside_other_operations() -> None:
    table = pa.table({"t": [0, 0, 1], "k": ["a", "b", "a"], "x": [1, 2, 3]})
    operation = ff.GroupedBy(ff.AllOf(n=ff.ApproxCountDistinct("x"), q=ff.ApproxQuantile("x", 0.5)), "k")
    result = ff.events(table, time="t").window(ff.tumbling(5)).aggregate(out=operation)
    assert result["out"].to_pylist() == [[("a", {"n": 2, "q": 1.0}), ("b", {"n": 1, "q": 2.0})]]
    assert not BoundAggregate("out", ff.ApproxCountDistinct("x"), [pa.int64()]).deducts[0]


def test_bytes_that_are_no_sketch() -> None:
    table = pa.table({"t": [0], "x": [b"no sketch at all"]})
    with pytest.raises(ff.OperationError, match="accumulate of 'out'"):
        ff.events(table, time="t").window(ff.tumbling(5)).aggregate(out=ff.ApproxCountDistinct("x", of_sketches=True))


def test_the_package_is_asked_for_only_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, *_: Any) -> Any:
        if name == "datasketches":
            raise ImportError(name)
        return builtins.__import__(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ff.EngineError, match=r"pip install '\.\[sketches\]' in a clone of framefold"):
        ff.ApproxCountDistinct("x")


def test_kll_sketches_that_somebody_has_changed() -> None:
    """The library reads beyond its memory where levels do not fit: each such sketch is refused before it sees them."""
    library = pytest.importorskip("datasketches")
    said = 0
    for values in (9, 5_000):
        whole = library.kll_doubles_sketch(8 if values < 10 else 200)
        whole.update(np.arange(float(values)))
        bytes = whole.serialize()
        changes = [(at, value) for at in range(4, 60, 2) for value in (0, 127)]
        for at, value in changes:
            crafted = bytearray(bytes)
            crafted[at] = value
            table = pa.table({"t": [0, 1], "s": [bytes, bytes[:at] + crafted[at:]]})
            events = ff.events(table, time="t").window(ff.tumbling(2))
            try:
                events.aggregate(q=ff.ApproxQuantile("s", 0.5, of_sketches=True))
            except ff.FramefoldError as error:
                said += "a KLL sketch is damaged: its levels do not fit its items" in str(error)
    assert said > 20
