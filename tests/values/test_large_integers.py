"""Integers of text files that 64 bits do not hold are decimals, and results of any integers are rounded once."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..oracles.ways import one_window
from ..support.command_line import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LARGE = [9_223_372_036_854_775_808, 1, -9_223_372_036_854_775_809, 18_446_744_073_709_551_615, 10**37]
NAMES = ["csv", "json"]


def written(folder: Path, format: str, values: list[Any], name: str = "events") -> Path:
    """A file with integer times and one more column, ``x``, by the text of its values; None is null."""
    path = folder / f"{name}.{format}"
    texts = ["" if value is None else str(value) for value in values]
    if format == "csv":
        path.write_text("t,x\n" + "".join(f"{t},{x}\n" for t, x in enumerate(texts)))
    else:
        path.write_text("".join(f'{{"t": {t}, "x": {x or "null"}}}\n' for t, x in enumerate(texts)))
    return path


def query(files: Any) -> pa.Table:
    keyed = ff.events(files, time="t", by="x").window(ff.tumbling(100)).aggregate(n=ff.Count(), most=ff.Max("x"))
    return keyed if isinstance(keyed, pa.Table) else keyed.toArrow()


@pytest.mark.parametrize("format", NAMES)
def test_they_are_decimals_locally(tmp_path: Path, format: str) -> None:
    found = query(ff.files(written(tmp_path, format, [None, *LARGE]), format=format))  # type: ignore[call-overload]
    assert found["x"].type == pa.decimal128(38, 0)
    assert found["x"].to_pylist() == [None, *map(Decimal, sorted(LARGE))]
    assert found["most"].to_pylist() == found["x"].to_pylist()


@pytest.mark.spark
def test_they_are_decimals_by_tasks(tmp_path: Path, spark: SparkSession) -> None:
    """As Spark itself has them."""
    for format in NAMES:
        path = written(tmp_path, format, LARGE)
        found = query(ff.files(path, format=format, spark=spark))  # type: ignore[call-overload]
        assert found["x"].type == pa.decimal128(38, 0)
        assert found["x"].to_pylist() == found["most"].to_pylist() == list(map(Decimal, sorted(LARGE)))
        own = spark.read.format(format).option("header", True).option("inferSchema", True).load(str(path))
        assert dict(own.dtypes)["x"] == "decimal(38,0)"


@pytest.mark.parametrize("format", NAMES)
def test_on_the_command_line(tmp_path: Path, format: str, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = written(tmp_path, format, LARGE), tmp_path / "out.parquet"
    line = ["run", str(path), "--time", "t", "--window", "100", "--agg", "s=sum:x", "--engine", "local"]
    assert main([*line, "--out", str(out)]) == 0
    assert pq.read_table(out)["s"].to_pylist() == [Decimal(sum(LARGE))]


def test_packed_files_and_nested_columns_of_json(tmp_path: Path) -> None:
    lines = '{"t": 1, "s": {"a": [1, 2], "b": 1.5}}\n{"t": 2, "s": {"a": [18446744073709551616], "b": 2}}\n'
    (tmp_path / "e.json.gz").write_bytes(gzip.compress(lines.encode()))
    events = ff.events(ff.files(tmp_path / "e.json.gz", format="json"), time="t").window(ff.tumbling(10))
    (row,) = events.aggregate(a=ff.CollectList("s.a"), b=ff.Sum("s.b")).to_pylist()
    assert row["a"] == [[1, 2], [1 << 64]]
    assert row["b"] == 3.5


EDGES = [(1 << 63) - 1, -(1 << 63)]


@pytest.mark.parametrize("format", NAMES)
def test_floats_stay_floats_and_what_64_bits_hold_integers(tmp_path: Path, format: str) -> None:
    floats = (["1.5", "9223372036854775808"], ["1.0", "1e20"], ["1e30", "2"], ["0.5", "1"])
    for values, type in (*((each, pa.float64()) for each in floats), *(([edge, 0], pa.int64()) for edge in EDGES)):
        found = query(ff.files(written(tmp_path, format, values), format=format))  # type: ignore[call-overload]
        assert found["x"].type == type
        assert found["x"].to_pylist() == sorted(map(float if type == pa.float64() else int, values))


def test_more_than_38_digits(tmp_path: Path) -> None:
    """Text in CSV, which has texts for keys; in JSON a sentence once they are used, and not before."""
    found = query(ff.files(written(tmp_path, "csv", [10**40, 7]), format="csv"))
    assert found["x"].to_pylist() == [str(10**40), "7"]
    events = ff.events(ff.files(written(tmp_path, "json", [10**40, 7]), format="json"), time="t")
    assert events.window(ff.tumbling(10)).aggregate(n=ff.Count())["n"].to_pylist() == [2]
    with pytest.raises(ff.EngineError, match=r"the column 'x' \(decimal128\(38, 0\)\): .*10{40} requires precision 41"):
        events.window(ff.tumbling(10)).aggregate(s=ff.Sum("x"))


LATER: dict[str, list[Any]] = {"an integer beyond 64 bits": [2**63], "a float": ["1.5"], "text": ['"abc"']}


@pytest.mark.parametrize("kind", LATER)
@pytest.mark.parametrize("format", NAMES)
def test_what_comes_later_and_does_not_fit_is_named(
    tmp_path: Path, format: str, kind: str, limit: Callable[..., None]
) -> None:
    """After the block by which the types of columns are known: the column and the value, and never other numbers."""
    limit(text_block_bytes=1 << 17)
    values = LATER[kind]
    path = written(tmp_path, format, [*range(50_000), *values])
    events = ff.events(ff.files(path, format=format), time="t").window(ff.tumbling(10))  # type: ignore[call-overload]
    value = "" if kind == "text" and format == "json" else str(values[0]).strip('"')
    with pytest.raises(ff.EngineError, match=rf"the column 'x' \(int64\): .*{value}"):
        events.aggregate(s=ff.Sum("x"))
    assert sum(events.aggregate(n=ff.Count())["n"].to_pylist()) == 50_001


def test_large_integers_in_one_file_and_others_in_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, "csv", [1, 2], "small")
    written(tmp_path, "csv", LARGE, "large")
    line = ["run", str(tmp_path), "--time", "t", "--window", "100", "--agg", "s=sum:x", "--engine", "local"]
    assert main([*line, "--out", str(tmp_path.parent / "out.parquet")]) == 0
    assert pq.read_table(tmp_path.parent / "out.parquet")["s"].to_pylist() == [Decimal(sum(LARGE) + 3)]
    written(tmp_path, "csv", ["1.5"], "small")
    assert main(line) == 2
    assert "the column 'x' is decimal128(38, 0) in" in capsys.readouterr().err


def test_leading_zeros_are_read_as_everybody_reads_them(tmp_path: Path) -> None:
    """As pyarrow, pandas, Polars, DuckDB and Spark: an integer. docs/files.md says so."""
    found = query(ff.files(written(tmp_path, "csv", ["007", "7", "010"]), format="csv"))
    assert list(zip(found["x"].to_pylist(), found["n"].to_pylist(), strict=True)) == [(7, 2), (10, 1)]


def test_nulls_at_first_are_text_and_no_numbers(tmp_path: Path, limit: Callable[..., None]) -> None:
    limit(text_block_bytes=1 << 17)
    path = written(tmp_path, "csv", [*[None] * 30_000, LARGE[0]])
    events = ff.events(ff.files(path, format="csv"), time="t").window(ff.tumbling(1_000_000))
    assert events.aggregate(last=ff.Last("x"))["last"].to_pylist() == [str(LARGE[0])]
    with pytest.raises(ff.QueryError, match=r"'x' is string|'x'.*string"):
        events.aggregate(s=ff.Sum("x"))


# Results of 64-bit integers and of decimals are rounded once, however many digits they have

TYPES = [pa.int64(), pa.uint64(), pa.int32(), pa.decimal128(12, 3), pa.decimal128(18, 0), pa.decimal128(38, 5)]
SHARES = [0, 0.25, 0.5, Fraction(1, 3), 0.99, 0.123456789, 1]


def quantile(values: list[Any], share: Any) -> float:
    """By definition, in fractions, rounded at the end."""
    ordered = sorted(map(Fraction, values))
    place = Fraction(str(share)) if isinstance(share, float) else Fraction(share)
    whole_rows, rest = divmod(place.limit_denominator(10**9) * (len(ordered) - 1), 1)
    low = ordered[int(whole_rows)]
    found = low + (ordered[min(int(whole_rows) + 1, len(ordered) - 1)] - low) * rest
    return found.numerator / found.denominator  # Python divides integers with one rounding


def test_two_neighbours() -> None:
    values = [2**53 + 1, 2**53 + 2]
    wanted: dict[str, tuple[Any, Any]] = {
        "median": (ff.Median("x"), float(Fraction(sum(values), 2))),
        "quarter": (ff.Quantile("x", [0, 0.25, 1]), [float(2**53), 2.0**53 + 2, 2.0**53 + 2]),
        "taken": (ff.Quantile("x", 0.0, method="discrete"), 2**53 + 1),
        "mean": (ff.Average("x"), 9007199254740994.0),
        "weighted": (ff.WeightedAverage("x", "x"), float(Fraction(sum(x * x for x in values), sum(values)))),
        "mode": (ff.Mode("x"), 2**53 + 1),
        "distinct": (ff.DistinctSum("x"), 2**54 + 3),
        "range": (ff.Range("x"), 1),
        "top": (ff.TopN("x", 2), [2**53 + 2, 2**53 + 1]),
    }
    found = one_window(pa.array(values), **{name: operation for name, (operation, _) in wanted.items()})
    assert {name: found[name] for name in wanted} == {name: right for name, (_, right) in wanted.items()}


def some(type: pa.DataType, of: np.random.Generator) -> list[Any]:
    """Values of all sizes that a type can hold."""
    if pa.types.is_decimal(type):
        most, scale = 10**type.precision, type.scale
    else:
        most, scale = {pa.int64(): 2**63, pa.uint64(): 2**64, pa.int32(): 2**31}[type], 0
    values = []
    for _ in range(int(of.integers(1, 14))):
        size = int(of.integers(1, most.bit_length()))
        value = int.from_bytes(of.bytes(17), "little") % min(1 << size, most)
        value = -value if type != pa.uint64() and of.random() < 0.5 else value
        values.append(Decimal(value).scaleb(-scale) if pa.types.is_decimal(type) else value)
    return values


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_any_values(type: pa.DataType) -> None:
    of = np.random.default_rng(4)
    for _ in range(25):
        values = some(type, of)
        means = {} if pa.types.is_decimal(type) else {"mean": ff.Average("x")}
        found = one_window(pa.array(values, type), q=ff.Quantile("x", SHARES), median=ff.Median("x"), **means)
        assert found["q"] == [quantile(values, share) for share in SHARES]
        assert found["median"] == quantile(values, 0.5)
        if means:
            mean = Fraction(sum(values), len(values))
            assert found["mean"] == mean.numerator / mean.denominator


def test_weighted_means_of_any_integers() -> None:
    of = np.random.default_rng(5)
    for _ in range(40):
        rows = int(of.integers(1, 9))
        x, w = of.integers(-(2**62), 2**62, rows), of.integers(1, 2**62, rows)
        table = pa.table({"t": [0] * rows, "x": x, "w": w})
        query = ff.events(table, time="t").window(ff.tumbling(1)).aggregate(m=ff.WeightedAverage("x", "w"))
        exact = Fraction(sum(a * b for a, b in zip(x.tolist(), w.tolist(), strict=True)), sum(w.tolist()))
        assert abs(Fraction(query["m"][0].as_py()) - exact) <= abs(exact) * Fraction(2) ** -51
