"""The examples run as they stand, and give what DuckDB makes of the same data."""

from __future__ import annotations

import ast
import datetime as dt
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ..oracles.duck import asked
from ..support.command_line import make_trips
from ..support.programs import load

FOLDER = Path(__file__).parents[2] / "examples"
ON_SPARK = ["means", "speeds", "zones_on_spark"]
SCRIPTS = sorted({path.stem for path in FOLDER.glob("*.py")} - {*ON_SPARK})


def script(name: str) -> ModuleType:
    return load(FOLDER / f"{name}.py", f"example_{name}")


def by_duckdb(query: str, **tables: pa.Table) -> list[tuple[Any, ...]]:
    return asked(query, **tables).fetchall()


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_the_page_names_all_of_them() -> None:
    said = set(re.findall(r"\]\((\w+\.\w+)\)", (FOLDER / "README.md").read_text()))
    assert said == {path.name for path in FOLDER.iterdir() if path.suffix in (".py", ".ipynb")}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs_by_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out.count("\n") >= 4


def test_features_see_nothing_at_or_after_their_label() -> None:
    example = script("features")
    payments, labels = example.make()
    window = """
        count(*) FILTER (WHERE time >= "at" - INTERVAL {0} DAY AND time < "at"),
        sum(amount) FILTER (WHERE time >= "at" - INTERVAL {0} DAY AND time < "at"),
        max(amount) FILTER (WHERE time >= "at" - INTERVAL {0} DAY AND time < "at")
    """
    wanted = by_duckdb(
        f"""SELECT labels.customer, "at", any_value(fraud), {window.format(7)}, {window.format(1)}
        FROM labels LEFT JOIN payments ON payments.customer = labels.customer
        GROUP BY ALL ORDER BY ALL""",
        payments=payments,
        labels=labels,
    )
    found = rows_of(example.features(payments, labels))
    assert found == wanted
    assert any(row[3] == 0 for row in found)


def test_days_together_are_one_run_over_everything(tmp_path: Path) -> None:
    example = script("day_by_day")
    readings, results = tmp_path / "readings", tmp_path / "results"
    readings.mkdir()
    days = example.make(readings)
    for day in [*days, days[1]]:  # one of them twice
        example.run(day, readings, results)
    wanted = by_duckdb(
        f"""SELECT sensor, e - INTERVAL 6 HOUR AS s, e, count(*), avg(value), max(value)
        FROM read_parquet('{readings}/*.parquet') JOIN (
            SELECT unnest(range(TIMESTAMP '2024-05-01 01:00', TIMESTAMP '2024-05-05 00:00:01', INTERVAL 1 HOUR)) AS e
        ) ON time >= e - INTERVAL 6 HOUR AND time < e
        GROUP BY ALL ORDER BY sensor, e"""
    )
    table = pa.concat_tables([pq.read_table(path, partitioning=None) for path in sorted(results.rglob("*.parquet"))])
    window = table["window"].combine_chunks()
    flat = [table["sensor"], window.field("start"), window.field("end"), table["n"], table["mean"], table["highest"]]
    found = sorted(zip(*(column.to_pylist() for column in flat), strict=True))
    assert found == wanted
    assert not [path for path in results.rglob("*") if path.name.startswith(".")]


def test_warm_days_give_what_all_events_do(tmp_path: Path) -> None:
    example = script("daily")
    days = example.make(tmp_path, days=12)
    kept: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for day in [*days, days[-1]]:  # one of them twice
        for row in example.run(day, tmp_path, tmp_path / "lake").to_pylist():
            kept[row["customer"], *row["window"].values()] = (row["n"], row["spent"], row["top"])
    wanted = by_duckdb(
        f"""SELECT customer, e - size AS s, e, count(*), sum(amount), max(amount)
        FROM read_parquet('{tmp_path}/*.parquet') JOIN (
            SELECT unnest(range(TIMESTAMP '2026-09-01', TIMESTAMP '2026-09-13 00:00:01', INTERVAL 1 DAY)) AS e
        ) ON true JOIN (VALUES (INTERVAL 7 DAY), (INTERVAL 30 DAY)) AS sizes(size) ON time >= e - size AND time < e
        GROUP BY ALL ORDER BY ALL"""
    )
    assert sorted((*key, *values) for key, values in kept.items()) == wanted


def test_visits_are_gaps_and_islands(tmp_path: Path) -> None:
    example = script("visits")
    example.make(tmp_path / "clicks.csv")
    wanted = by_duckdb(
        f"""
        WITH clicks AS (SELECT * FROM read_csv('{tmp_path}/clicks.csv')),
        marked AS (
            SELECT *, time - lag(time) OVER w < INTERVAL 30 MINUTE AS goes_on FROM clicks
            WINDOW w AS (PARTITION BY "user" ORDER BY time)
        ),
        numbered AS (
            SELECT *, count(*) FILTER (WHERE goes_on IS NOT TRUE) OVER (PARTITION BY "user" ORDER BY time) AS visit
            FROM marked
        )
        SELECT "user", count(*), count(DISTINCT page), arg_min(page, time), arg_max(page, time), sum(paid),
            min(time) AS s, max(time) + INTERVAL 30 MINUTE
        FROM numbered GROUP BY "user", visit ORDER BY "user", s"""
    )
    found = rows_of(example.visits(tmp_path / "clicks.csv"))
    assert found == wanted
    assert max(row[1] for row in found) > 3


def test_alarms_are_far_from_the_thirty_before() -> None:
    example = script("alarms")
    readings = example.make()
    wanted = by_duckdb(
        """
        SELECT sensor, time, value FROM readings
        WINDOW w AS (PARTITION BY sensor ORDER BY time ROWS BETWEEN 30 PRECEDING AND 1 PRECEDING)
        QUALIFY count(*) OVER w = 30 AND abs(value - avg(value) OVER w) > 6 * stddev_pop(value) OVER w
        ORDER BY sensor, time""",
        readings=readings,
    )
    found = example.alarms(readings)
    assert rows_of(found.select(["sensor", "time", "value"])) == wanted
    assert len(wanted) >= 3


def test_the_dashboard_on_spark(spark: Any, tmp_path: Path) -> None:
    trips = make_trips(5_000)
    pq.write_table(trips, tmp_path / "trips.parquet")
    script("zones_on_spark").main(spark, str(tmp_path / "trips.parquet"), str(tmp_path / "zones.parquet"))
    grid = "range(TIMESTAMP '2024-05-16 23:05', TIMESTAMP '2024-05-18', INTERVAL 5 MINUTE)"
    wanted = by_duckdb(
        f"""SELECT zone, s, s + INTERVAL 1 HOUR, count(*) AS n, avg(speed), sum(fare), max(distance),
            rank() OVER (PARTITION BY s ORDER BY n DESC)
        FROM trips JOIN (SELECT unnest({grid}) AS s) ON pickup >= s AND pickup < s + INTERVAL 1 HOUR
        WHERE distance >= 1 GROUP BY zone, s ORDER BY zone, s""",
        trips=trips,
    )
    table = pq.read_table(tmp_path / "zones.parquet").sort_by([("zone", "ascending"), ("start", "ascending")])
    found = rows_of(table)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        plain = tuple(each.replace(tzinfo=None) if isinstance(each, dt.datetime) else each for each in one)
        assert plain[:4] == other[:4]
        assert plain[4] == (None if other[4] is None else pytest.approx(other[4], rel=1e-12))
        assert plain[5:] == (pytest.approx(other[5], rel=1e-12), *other[6:])


def test_the_notebook_shows_what_its_cells_give() -> None:
    pytest.importorskip("drawsvg")
    notebook = json.loads((FOLDER / "first_look.ipynb").read_text())
    namespace: dict[str, Any] = {"__name__": "__main__"}
    compared = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        *statements, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(statements, []), "<notebook>", "exec"), namespace)
        if not isinstance(last, ast.Expr):
            exec(compile(ast.Module([last], []), "<notebook>", "exec"), namespace)
            assert cell["outputs"] == []
            continue
        value = eval(compile(ast.Expression(last.value), "<notebook>", "eval"), namespace)
        (shown,) = cell["outputs"]
        if "image/svg+xml" in shown["data"] or "text/html" in shown["data"]:
            assert hasattr(value, "_repr_html_") or hasattr(value, "_repr_svg_")
        text = "".join(shown["data"]["text/plain"])
        if " at 0x" not in text:
            assert "".join(repr(value).split()) == "".join(text.split())
            compared += 1
    assert compared >= 3


def test_the_script_on_spark_says_nothing_of_spark_until_it_runs() -> None:
    code = f"import runpy, sys; runpy.run_path({str(FOLDER / 'zones_on_spark.py')!r}); print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
