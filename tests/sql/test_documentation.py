"""Queries of others' documentation: each gives what the page shows, or is refused in one sentence."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

PAGES = Path(__file__).with_name("pages.txt").read_text().strip().split("\n\n")
"""A page under its name; a query, then its rows, in any order unless it has one, or the sentence that refuses it."""


def at(text: str) -> datetime.datetime:
    """A time of a page, of the day of Flink's bids where it has none."""
    return datetime.datetime.fromisoformat(text if "-" in text else f"2020-04-15 {text}")


def times(day: str, clocks: str) -> list[datetime.datetime]:
    return [at(f"{day} {clock}") for clock in clocks.split()]


def bids(lines: str) -> pa.Table:
    rows = [line.split() for line in lines.split(",")]
    return pa.table(
        {
            "bidtime": [at(row[0]) for row in rows],
            "price": pa.array([Decimal(row[1]) for row in rows], pa.decimal128(10, 2)),
            "item": [row[2] for row in rows],
            "supplier_id": [f"supplier{row[3]}" if len(row) > 3 else None for row in rows],
        }
    )


TAXI = {
    "trip_id": [1, 2, 3, 4, 5, 6],
    "taxi_id": [1001, 1002, 1003, 1004, 1005, 1006],
    "completed_at": times("2022-07-01", "22:00 22:01 22:02:10 22:03 22:05 22:06"),
    "distance": [4, 6, 3, 7, 2, 8],
    "duration": [6, 9, 5, 15, 4, 17],
}
STAMPS = "12:20:21 12:20:22 12:23:10 12:25:05 12:28:59 12:30:01 12:30:15 12:35:22"
COLUMNS: dict[str, dict[str, Any]] = {
    "One": {"t": [at("2021-06-30 00:00:04")]},
    "Orders": {"order_id": [1, 2, 3, 4], "order_time": times("2020-04-15", "10:00 10:30 11:00 11:31"),
        "user": [7, 7, 8, 7], "product": ["beer", "beer", "rum", "beer"], "amount": [3, 4, 5, 6]},
    "taxi_trips": TAXI,
    "mydataset.trips": TAXI,
    "user_views": {"user_id": [1, 1, 1, 1, 2, 2], "product_id": [1001, 1002, 1001, 1003, 1003, 1006],
        "viewed_at": times("2022-07-01", "22:00 22:01 22:03 22:10 22:05 22:05:30")},
    "S": {"stamp": times("2020-08-01", STAMPS), "val": [17, 12, 8, 11, 15, 23, 2, 16]},
    "tab": {"a": ["A1", "A1", "A1", "A2"], "b": times("2021-01-01", "00:00 00:04:30 00:10 00:01")},
    "words": {"date": [at("2016-03-11 09:00:07")], "val": [1]},
}  # fmt: skip
TABLES = {name: pa.table(columns) for name, columns in COLUMNS.items()} | {
    "Bid": bids("08:05 4.00 C 1, 08:07 2.00 A 1, 08:09 5.00 D 2, 08:11 3.00 B 2, 08:13 1.00 E 1, 08:17 6.00 F 2"),
    "SessionBid": bids("08:07 4.00 A, 08:06 2.00 A, 08:09 5.00 B, 08:08 3.00 A, 08:17 1.00 B"),
    "TopBid": bids(
        "08:05 4.00 A 1, 08:06 4.00 C 2, 08:07 2.00 G 1, 08:08 2.00 B 3, 08:09 5.00 D 4, 08:11 2.00 B 3, "
        "08:13 1.00 E 1, 08:15 3.00 H 2, 08:17 6.00 F 5"
    ),
}


def cell(value: Any) -> str:
    return f"[{', '.join(map(cell, value))}]" if isinstance(value, list) else str(value)


@pytest.mark.parametrize("asked", [page for page in PAGES if page[0] != "#"])
def test_a_query_of_a_page(asked: str) -> None:
    query, *shown = asked.split("\n")
    if shown[0].startswith("! "):
        with pytest.raises(ff.QueryError, match=shown[0][2:]) as refused:
            ff.sql(query, **TABLES)
        assert len(str(refused.value).splitlines()) == 1
        return
    found = [" | ".join(["", *map(cell, row.values())]).strip() for row in ff.sql(query, **TABLES).to_pylist()]
    ordered = "ORDER BY" in query.partition(" FROM ")[2]
    assert (found if ordered else sorted(found)) == (shown if ordered else sorted(shown))


def test_there_are_sixty() -> None:
    assert len({page.partition("\n")[0] for page in PAGES if page[0] != "#"}) >= 60
