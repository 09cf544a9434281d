"""The upsert of docs/every-day-again.md keeps a table as all windows are, in PostgreSQL, and killed in between."""

from __future__ import annotations

import random
import re
from pathlib import Path

import psycopg
import pyarrow as pa

import framefold as ff

from ..spark.postgres import server

PAGE = (Path(__file__).parents[2] / "docs" / "every-day-again.md").read_text()


def test_upsert_in_postgresql(tmp_path: Path) -> None:
    (upsert,) = re.findall(r"```sql\n(INSERT.*?)```", PAGE, re.DOTALL)
    chance, columns = random.Random(4), "customer text, since int, until int, n int, spent float, top float"
    day = ff.partials(tmp_path, time="t", by="customer", frame=1, n=ff.Count(), spent=ff.Sum("x"), top=ff.Max("x"))
    week, runs = ff.sliding(7, every=1), []
    with (
        server() as found,
        psycopg.connect(host=found["PGHOST"], user=found["PGUSER"], dbname=found["PGDATABASE"]) as to,
    ):
        to.execute(f"create table windows ({columns}, primary key (customer, since, until))")
        for number in range(10):
            rows = [
                {"t": max(0, number - chance.randrange(4)), "customer": chance.choice("ab"), "x": 0.5} for _ in "....."
            ]
            runs.append(pa.Table.from_pylist(rows))
            day.append(runs[-1], run=str(number))
            if number == 5:
                continue  # the job was killed here: it runs again the next day, for both
            for run in ["5", "6"] if number == 6 else [str(number)]:
                changed = day.changed(run=run).window(week).ending(until=number + 1).aggregate().to_pylist()
                to.execute(f"create temporary table new ({columns})")
                for row in changed:
                    values = [row["customer"], *row["window"].values(), row["n"], row["spent"], row["top"]]
                    to.execute("insert into new values (%s, %s, %s, %s, %s, %s)", values)
                to.execute(upsert)  # type: ignore[arg-type]
                to.execute("drop table new")
        kept = to.execute("select * from windows order by customer, since").fetchall()
    whole = ff.events(pa.concat_tables(runs), time="t", by="customer").window(week)
    wanted = whole.aggregate(n=ff.Count(), spent=ff.Sum("x"), top=ff.Max("x")).to_pylist()
    assert kept == [
        (row["customer"], *row["window"].values(), row["n"], row["spent"], row["top"])
        for row in wanted
        if row["window"]["end"] <= 10
    ]
