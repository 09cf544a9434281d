"""Arithmetic between aggregates, against SQL over the windows' own rows."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.duck import asked
from ..support.plans import Operation

D = decimal.Decimal


def events(rows: int = 120) -> pa.Table:
    """Events of three keys, a fifth of whose values are null."""
    rng = np.random.default_rng(5)
    null = [rng.random(rows) < 0.2 for _ in range(3)]
    cents = [D(int(n)) / 100 for n in rng.integers(-(10**6), 10**6, rows)]
    return pa.table(
        {
            "t": np.sort(rng.integers(0, 300, rows)),
            "k": rng.integers(0, 3, rows),
            "a": pa.array(rng.integers(-50, 50, rows), mask=null[0]),
            "b": pa.array(rng.normal(0, 10, rows).round(3), mask=null[1]),
            "d": pa.array([None if no else cent for no, cent in zip(null[2], cents, strict=True)], pa.decimal128(9, 2)),
        }
    )


OUTPUTS: dict[str, tuple[Operation, str]] = {
    "mean": (ff.Sum("a") / ff.Count(), "sum(a)::double / count(*)"),
    "of_known": (ff.Sum("b") / ff.Count("b"), "sum(b) / nullif(count(b), 0)"),
    "plus": (ff.Sum("a") + ff.Max("a"), "sum(a)::bigint + max(a)"),
    "minus": (ff.Max("a") - ff.Min("a") - 1, "max(a) - min(a) - 1"),
    "times": (2 * ff.Max("b"), "2 * max(b)"),
    "negative": (-ff.Max("a"), "-max(a)"),
    "mixed": (ff.Sum("a") * ff.Max("b"), "sum(a)::bigint * max(b)"),
    "nested": ((ff.Max("b") + 1) / (ff.Count() + ff.Count("a")), "(max(b) + 1) / (count(*) + count(a))"),
    "from_number": (1 - ff.Min("b"), "1 - min(b)"),
    "over_number": (ff.Max("a") / 4, "max(a)::double / 4"),
    "decimals": (ff.Max("d") - ff.Min("d"), "(max(d) - min(d))"),
    "decimal_product": (ff.Max("d") * D("1.5") * ff.Count("a"), "max(d) * 1.5::decimal(2, 1) * count(a)"),
    "decimal_ratio": (ff.Max("d") / 3, "max(d)::double / 3"),
}


def test_against_sql() -> None:
    table = events()
    windows = ff.sliding(40, every=7)
    found = ff.events(table, time="t", by="k").window(windows).aggregate(**{n: op for n, (op, _) in OUTPUTS.items()})
    terms = ", ".join(f"{sql} as {name}" for name, (_, sql) in OUTPUTS.items())
    expected = asked(
        f"with starts as (select unnest(range(-42, 301, 7)) as s) select k, s, {terms} from rows_of, starts "
        "where t >= s and t < s + 40 group by k, s order by k, s",
        rows_of=table,
    ).fetchall()
    assert len(expected) > 50
    assert any(value is None for row in expected for value in row)
    for row, (key, start, *values) in zip(found.to_pylist(), expected, strict=True):
        assert (row["k"], row["window"]["start"]) == (key, start)
        for name, value in zip(OUTPUTS, values, strict=True):
            if isinstance(value, float):
                assert row[name] == pytest.approx(value, rel=1e-12, abs=1e-12), name
            else:
                assert row[name] == value, name


def result(operation: Operation, **columns: Any) -> Any:
    """The result over one window of some columns."""
    table = pa.table({"t": [0] * len(next(iter(columns.values()))), **columns})
    return ff.events(table, time="t").window(ff.tumbling(1)).aggregate(x=operation)["x"].to_pylist()[0]


@pytest.mark.parametrize(
    ("operation", "columns", "right"),
    [
        (ff.Sum("x") / ff.Count(), {"x": pa.array([None, None], pa.int64())}, None),
        (ff.Count() * ff.Sum("x"), {"x": pa.array([None, None], pa.int64())}, None),
        (ff.Sum("x") / ff.Sum("z"), {"x": [1], "z": [0]}, math.inf),
        (-ff.Sum("x") / ff.Sum("z"), {"x": [1], "z": [0]}, -math.inf),
        (ff.Sum("z") / ff.Sum("z"), {"z": [0]}, math.nan),
        (np.float64(2) * ff.Max("x"), {"x": [3]}, 6.0),
        (np.int64(2) + ff.Max("x"), {"x": [2**53 + 1]}, 2**53 + 3),
        (ff.Max("x") / ff.Max("y"), {"x": [2**60 + 1], "y": [2**60 - 1]}, pytest.approx(1)),
        (ff.Max("x") + ff.Max("x"), {"x": pa.array([127], pa.int8())}, 254),
        (ff.Max("x") * ff.Max("x"), {"x": pa.array([3e30], pa.float32())}, pytest.approx(9e60, rel=1e-6)),
        (ff.Max("at") - ff.Min("at"), {"at": [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 3)]}, dt.timedelta(days=2)),
    ],
)
def test_awkward_operands(operation: Operation, columns: dict[str, Any], right: Any) -> None:
    """Null, zero below the line, numbers of numpy, integers above what floats hold, small types, times."""
    found = result(operation, **columns)
    assert found == right or (found != found and right != right)


def test_what_does_not_fit_is_an_error() -> None:
    with pytest.raises(ff.SumOverflowError, match=r"Max\('x'\) \+ 1 does not fit int64 .* cast a column to float64"):
        result(ff.Max("x") + 1, x=[2**63 - 1])


def test_names() -> None:
    assert repr((1 - ff.Sum("d")) * ff.Count()) == "(1 - Sum('d')) * Count()"
    assert ff.Mean is ff.Average
