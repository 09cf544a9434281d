"""Queries of others' documentation: each gives what the page shows, or is refused in one sentence."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import framefold as ff

DAY = "2020-04-15"


def at(text: str) -> datetime.datetime:
    """A time of a page, of the day of Flink's bids where it has none."""
    return datetime.datetime.fromisoformat(text if "-" in text else f"{DAY} {text}")


def bids(lines: str) -> pa.Table:
    rows = [line.split() for line in lines.strip().splitlines()]
    return pa.table(
        {
            "bidtime": [at(row[0]) for row in rows],
            "price": pa.array([Decimal(row[1]) for row in rows], pa.decimal128(10, 2)),
            "item": [row[2] for row in rows],
            "supplier_id": [row[3] if len(row) > 3 else None for row in rows],
        }
    )


BID = bids("""
    08:05 4.00 C supplier1
    08:07 2.00 A supplier1
    08:09 5.00 D supplier2
    08:11 3.00 B supplier2
    08:13 1.00 E supplier1
    08:17 6.00 F supplier2
""")
SESSION_BID = bids("""
    08:07 4.00 A
    08:06 2.00 A
    08:09 5.00 B
    08:08 3.00 A
    08:17 1.00 B
""")
TOP_BID = bids("""
    08:05 4.00 A supplier1
    08:06 4.00 C supplier2
    08:07 2.00 G supplier1
    08:08 2.00 B supplier3
    08:09 5.00 D supplier4
    08:11 2.00 B supplier3
    08:13 1.00 E supplier1
    08:15 3.00 H supplier2
    08:17 6.00 F supplier5
""")
ONE = pa.table({"t": [at("2021-06-30 00:00:04")]})
ORDERS = pa.table(
    {
        "order_id": [1, 2, 3, 4],
        "order_time": [at("10:00"), at("10:30"), at("11:00"), at("11:31")],
        "user": [7, 7, 8, 7],
        "product": ["beer", "beer", "rum", "beer"],
        "amount": [3, 4, 5, 6],
    }
)
TAXI = pa.table(
    {
        "trip_id": [1, 2, 3, 4, 5, 6],
        "taxi_id": [1001, 1002, 1003, 1004, 1005, 1006],
        "completed_at": [
            at(f"2022-07-01 {each}") for each in ("22:00", "22:01", "22:02:10", "22:03", "22:05", "22:06")
        ],
        "distance": [4, 6, 3, 7, 2, 8],
        "duration": [6, 9, 5, 15, 4, 17],
    }
)
VIEWS = pa.table(
    {
        "user_id": [1, 1, 1, 1, 2, 2],
        "product_id": [1001, 1002, 1001, 1003, 1003, 1006],
        "viewed_at": [at(f"2022-07-01 {each}") for each in ("22:00", "22:01", "22:03", "22:10", "22:05", "22:05:30")],
    }
)
STAMPS = pa.table(
    {
        "stamp": [
            at(f"2020-08-01 {each}")
            for each in (
                "12:20:21", "12:20:22", "12:23:10", "12:25:05", "12:28:59", "12:30:01", "12:30:15", "12:35:22",
            )
        ],
        "val": [17, 12, 8, 11, 15, 23, 2, 16],
    }
)  # fmt: skip
TAB = pa.table(
    {
        "a": ["A1", "A1", "A1", "A2"],
        "b": [at(f"2021-01-01 {each}") for each in ("00:00", "00:04:30", "00:10", "00:01")],
    }
)
WORDS = pa.table(
    {
        "date": [at("2016-03-11 09:00:07")],
        "val": [1],
    }
)
TABLES = {
    "Bid": BID, "SessionBid": SESSION_BID, "TopBid": TOP_BID, "One": ONE, "Orders": ORDERS, "taxi_trips": TAXI,
    "user_views": VIEWS, "S": STAMPS, "tab": TAB, "words": WORDS, "mydataset.trips": TAXI,
}  # fmt: skip


class Page(NamedTuple):
    """A query of a page; what it shows, in any order, or the sentence that refuses it."""

    query: str
    shown: list[tuple[Any, ...]] | str


def spans(lines: str) -> list[tuple[Any, ...]]:
    """Rows of bounds and a decimal."""
    rows = [line.split() for line in lines.strip().splitlines()]
    return [(at(row[0]), at(row[1]), Decimal(row[2])) for row in rows]


def taxi(lines: str) -> list[tuple[Any, ...]]:
    """Rows of bounds, a count and a sum."""
    rows = [line.split() for line in lines.strip().splitlines()]
    return [(at(f"2022-07-01 {row[0]}"), at(f"2022-07-01 {row[1]}"), int(row[2]), int(row[3])) for row in rows]


def summed(function: str, named: str = "") -> str:
    return (
        f"SELECT window_start, window_end, SUM(price) {named} FROM TABLE({function}) GROUP BY window_start, window_end"
    )


TEN = spans("08:00 08:10 11.00 \n 08:10 08:20 10.00")
HOPS = spans("08:00 08:10 11.00 \n 08:05 08:15 15.00 \n 08:10 08:20 10.00 \n 08:15 08:25 6.00")
GROWING = spans("""
    08:00 08:06 4.00
    08:00 08:08 6.00
    08:00 08:10 11.00
    08:10 08:12 3.00
    08:10 08:14 4.00
    08:10 08:16 4.00
    08:10 08:18 10.00
    08:10 08:20 10.00
""")
EACH = "expected GROUP BY window_start, window_end"
ONE_TABLE = "expected one SELECT of one table"

FLINK_FUNCTIONS = [
    Page("SELECT * FROM TABLE(TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES))", EACH),
    Page(
        "SELECT * FROM TABLE(TUMBLE(DATA => TABLE Bid, TIMECOL => DESCRIPTOR(bidtime), SIZE => INTERVAL '10' MINUTES))",
        EACH,
    ),
    Page(summed("TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)"), TEN),
    Page(summed("TUMBLE(DATA => TABLE Bid, TIMECOL => DESCRIPTOR(bidtime), SIZE => INTERVAL '10' MINUTES)"), TEN),
    Page("SELECT * FROM TABLE(HOP(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES))", EACH),
    Page(summed("HOP(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)"), HOPS),
    Page(
        summed(
            "HOP(DATA => TABLE Bid, TIMECOL => DESCRIPTOR(bidtime), SLIDE => INTERVAL '5' MINUTES, "
            "SIZE => INTERVAL '10' MINUTES)"
        ),
        HOPS,
    ),
    Page(
        "SELECT * FROM TABLE(CUMULATE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '2' MINUTES, INTERVAL '10' MINUTES))",
        EACH,
    ),
    Page(summed("CUMULATE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '2' MINUTES, INTERVAL '10' MINUTES)"), GROWING),
    Page(
        summed(
            "CUMULATE(DATA => TABLE Bid, TIMECOL => DESCRIPTOR(bidtime), STEP => INTERVAL '2' MINUTES, "
            "SIZE => INTERVAL '10' MINUTES)"
        ),
        GROWING,
    ),
    Page(
        summed("TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES, INTERVAL '1' MINUTES)"),
        spans("08:01 08:11 11.00 \n 08:11 08:21 10.00"),
    ),
    Page(
        summed(
            "TUMBLE(DATA => TABLE Bid, TIMECOL => DESCRIPTOR(bidtime), SIZE => INTERVAL '10' MINUTES, "
            "`OFFSET` => INTERVAL '1' MINUTES)"
        ),
        spans("08:01 08:11 11.00 \n 08:11 08:21 10.00"),
    ),
    *(
        Page(
            "SELECT window_start, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE One, DESCRIPTOR(t), "
            f"INTERVAL '10' MINUTE, INTERVAL '{offset}' MINUTE)) GROUP BY window_start, window_end",
            [(at(start), at(start) + datetime.timedelta(minutes=10), 1)],
        )
        for offset, start in {
            -16: "2021-06-29 23:54", -6: "2021-06-29 23:54", -4: "2021-06-29 23:56", 0: "2021-06-30 00:00",
            4: "2021-06-29 23:54", 6: "2021-06-29 23:56", 16: "2021-06-29 23:56",
        }.items()
    ),
    Page(
        "SELECT window_start, window_end, item, SUM(price) AS total_price FROM TABLE(SESSION(TABLE SessionBid "
        "PARTITION BY item, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES)) GROUP BY item, window_start, window_end",
        [
            (at("08:06"), at("08:13"), "A", Decimal("9.00")),
            (at("08:09"), at("08:14"), "B", Decimal("5.00")),
            (at("08:17"), at("08:22"), "B", Decimal("1.00")),
        ],
    ),
    Page(
        "SELECT window_start, window_end, SUM(price) AS total_price FROM TABLE(SESSION(DATA => TABLE SessionBid, "
        "TIMECOL => DESCRIPTOR(bidtime), GAP => INTERVAL '5' MINUTES)) GROUP BY window_start, window_end",
        spans("08:06 08:14 14.00 \n 08:17 08:22 1.00"),
    ),
    Page(
        "SELECT * FROM TABLE(SESSION(TABLE SessionBid PARTITION BY item, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES))",
        EACH,
    ),
]  # fmt: skip

FLINK_AGGREGATION = [
    *(
        Page(
            "SELECT window_start, window_end, supplier_id, SUM(price) AS price FROM TABLE(TUMBLE(TABLE Bid, "
            f"DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)) GROUP BY window_start, window_end, {sets}",
            "expected GROUP BY columns and windows",
        )
        for sets in ("GROUPING SETS ((supplier_id), ())", "ROLLUP (supplier_id)", "CUBE (supplier_id, item)")
    ),
    Page(
        "SELECT window_start, window_end, supplier_id, SUM(price) AS price FROM TABLE(TUMBLE(TABLE Bid, "
        "DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)) GROUP BY window_start, window_end, supplier_id",
        [
            (at("08:00"), at("08:10"), "supplier2", Decimal("5.00")),
            (at("08:00"), at("08:10"), "supplier1", Decimal("6.00")),
            (at("08:10"), at("08:20"), "supplier2", Decimal("9.00")),
            (at("08:10"), at("08:20"), "supplier1", Decimal("1.00")),
        ],
    ),
    Page(
        "WITH window1 AS (SELECT window_start, window_end, window_time AS rowtime, SUM(price) AS partial_price "
        "FROM TABLE(TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES)) "
        "GROUP BY supplier_id, window_start, window_end, window_time) "
        "SELECT window_start, window_end, SUM(partial_price) AS total_price "
        "FROM TABLE(TUMBLE(TABLE window1, DESCRIPTOR(rowtime), INTERVAL '10' MINUTES)) "
        "GROUP BY window_start, window_end",
        TEN,
    ),
    Page("CREATE VIEW window1 AS SELECT window_start FROM Bid", "the query is of the kind CREATE"),
    Page(
        "SELECT user, TUMBLE_START(order_time, INTERVAL '1' DAY) AS wStart, SUM(amount) FROM Orders "
        "GROUP BY TUMBLE(order_time, INTERVAL '1' DAY), user",
        [(7, at("00:00"), 13), (8, at("00:00"), 5)],
    ),
    Page(
        "SELECT HOP_START(order_time, INTERVAL '30' MINUTE, INTERVAL '1' HOUR), "
        "HOP_END(order_time, INTERVAL '30' MINUTE, INTERVAL '1' HOUR), SUM(amount) FROM Orders "
        "GROUP BY HOP(order_time, INTERVAL '30' MINUTE, INTERVAL '1' HOUR)",
        [
            (at("09:30"), at("10:30"), 3), (at("10:00"), at("11:00"), 7), (at("10:30"), at("11:30"), 9),
            (at("11:00"), at("12:00"), 11), (at("11:30"), at("12:30"), 6),
        ],
    ),
    Page(
        "SELECT user, SESSION_START(order_time, INTERVAL '30' MINUTE), "
        "SESSION_ROWTIME(order_time, INTERVAL '30' MINUTE), COUNT(*) FROM Orders "
        "GROUP BY user, SESSION(order_time, INTERVAL '30' MINUTE)",
        [
            (7, at("10:00"), at("10:59:59.999"), 2), (7, at("11:31"), at("12:00:59.999"), 1),
            (8, at("11:00"), at("11:29:59.999"), 1),
        ],
    ),
    Page(
        "SELECT TUMBLE_PROCTIME(order_time, INTERVAL '1' DAY), SUM(amount) FROM Orders "
        "GROUP BY TUMBLE(order_time, INTERVAL '1' DAY)",
        "tumble_proctime is no aggregate",
    ),
    Page(
        "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS "
        "rownum FROM (SELECT window_start, window_end, supplier_id, SUM(price) AS price, COUNT(*) AS cnt FROM "
        "TABLE(TUMBLE(TABLE TopBid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)) "
        "GROUP BY window_start, window_end, supplier_id)) WHERE rownum <= 3",
        "expected OVER \\(... ORDER BY time\\), one time that ascends",
    ),
    Page(
        "SELECT window_start, window_end, top_n(price, 3) AS top, COUNT(*) AS cnt FROM TABLE(TUMBLE(TABLE TopBid, "
        "DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)) GROUP BY window_start, window_end",
        [
            (at("08:00"), at("08:10"), [Decimal("5.00"), Decimal("4.00"), Decimal("4.00")], 5),
            (at("08:10"), at("08:20"), [Decimal("6.00"), Decimal("3.00"), Decimal("2.00")], 4),
        ],
    ),
    Page(
        "SELECT L.num FROM (SELECT * FROM TABLE(TUMBLE(TABLE LeftTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) "
        "L FULL JOIN (SELECT * FROM TABLE(TUMBLE(TABLE RightTable, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) R "
        "ON L.num = R.num",
        ONE_TABLE,
    ),
    Page("SELECT DISTINCT item FROM Bid", ONE_TABLE),
    Page("SELECT item FROM Bid UNION SELECT product FROM Orders", "the query is of the kind UNION"),
    Page("SELECT COUNT(*) FROM Orders", "expected a function of windows"),
    Page("SELECT product, SUM(amount) FROM Orders GROUP BY product", "expected a function of windows"),
]  # fmt: skip

FLINK_OVER = [
    Page(
        "SELECT order_id, order_time, amount, SUM(amount) OVER (PARTITION BY product ORDER BY order_time "
        "RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS one_hour_prod_amount_sum FROM Orders",
        [(1, at("10:00"), 3, 3), (2, at("10:30"), 4, 7), (3, at("11:00"), 5, 5), (4, at("11:31"), 6, 6)],
    ),
    Page(
        "SELECT order_id, SUM(amount) OVER (PARTITION BY product ORDER BY order_time "
        "RANGE BETWEEN INTERVAL '30' MINUTE PRECEDING AND CURRENT ROW) FROM Orders",
        [(1, 3), (2, 7), (3, 5), (4, 6)],
    ),
    Page(
        "SELECT order_id, SUM(amount) OVER (ORDER BY order_time ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) FROM Orders",
        [(1, 3), (2, 7), (3, 12), (4, 18)],
    ),
    Page(
        "SELECT order_id, order_time, amount, SUM(amount) OVER w AS sum_amount, AVG(amount) OVER w AS avg_amount "
        "FROM Orders WINDOW w AS (PARTITION BY product ORDER BY order_time "
        "RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)",
        [
            (1, at("10:00"), 3, 3, 3.0), (2, at("10:30"), 4, 7, 3.5), (3, at("11:00"), 5, 5, 5.0),
            (4, at("11:31"), 6, 6, 6.0),
        ],
    ),
    Page(
        "SELECT order_id, LAG(amount) OVER (ORDER BY order_time) FROM Orders",
        "lag is no aggregate",
    ),
]  # fmt: skip

RISINGWAVE = [
    Page(
        "SELECT trip_id, taxi_id, completed_at, window_start, window_end "
        "FROM TUMBLE (taxi_trips, completed_at, INTERVAL '2 MINUTES')",
        EACH,
    ),
    Page(
        "SELECT trip_id, taxi_id, completed_at, window_start, window_end "
        "FROM HOP (taxi_trips, completed_at, INTERVAL '1 MINUTE', INTERVAL '2 MINUTES')",
        EACH,
    ),
    Page(
        "SELECT window_start, window_end, count(trip_id) AS no_of_trips, sum(distance) AS total_distance "
        "FROM TUMBLE (taxi_trips, completed_at, INTERVAL '2 MINUTES') "
        "GROUP BY window_start, window_end ORDER BY window_start",
        taxi("22:00 22:02 2 10 \n 22:02 22:04 2 10 \n 22:04 22:06 1 2 \n 22:06 22:08 1 8"),
    ),
    Page(
        "SELECT window_start, window_end, count(trip_id) AS no_of_trips, sum(distance) AS total_distance "
        "FROM HOP (taxi_trips, completed_at, INTERVAL '1 MINUTES', INTERVAL '2 MINUTES') "
        "GROUP BY window_start, window_end ORDER BY window_start",
        taxi("""
            21:59 22:01 1 4
            22:00 22:02 2 10
            22:01 22:03 2 9
            22:02 22:04 2 10
            22:03 22:05 1 7
            22:04 22:06 1 2
            22:05 22:07 2 10
            22:06 22:08 1 8
        """),
    ),
    Page(
        "SELECT user_id, product_id, viewed_at, first_value(viewed_at) OVER (PARTITION BY user_id ORDER BY viewed_at "
        "SESSION WITH GAP INTERVAL '5 MINUTES') AS window_start FROM user_views",
        "the query is no SQL that is known here",
    ),
    Page(
        "SELECT user_id, window_start, count(DISTINCT product_id) AS n_viewed_product FROM SESSION(TABLE user_views "
        "PARTITION BY user_id, viewed_at, INTERVAL '5 MINUTES') GROUP BY user_id, window_start "
        "ORDER BY user_id, window_start",
        [(1, at("2022-07-01 22:00"), 2), (1, at("2022-07-01 22:10"), 1), (2, at("2022-07-01 22:05"), 2)],
    ),
    Page(
        "SELECT trip.window_start, taxi_simple.company FROM TUMBLE (taxi_trips, completed_at, INTERVAL '2 MINUTES') "
        "AS trip JOIN taxi_simple ON trip.taxi_id = taxi_simple.taxi_id ORDER BY trip.window_start",
        ONE_TABLE,
    ),
    Page(
        "SELECT trip.window_start, fare.total_fare FROM TUMBLE (taxi_trips, completed_at, INTERVAL '2 MINUTES') AS "
        "trip JOIN TUMBLE (taxi_fare, completed_at, INTERVAL '2 MINUTES') AS fare ON trip.trip_id = fare.trip_id",
        ONE_TABLE,
    ),
]

BIGQUERY = [
    Page(
        "SELECT window_start, window_end, COUNT(*) AS n, SUM(distance) AS d FROM TUMBLE(TABLE mydataset.trips, "
        '"completed_at", INTERVAL 2 MINUTE) GROUP BY window_start, window_end',
        taxi("22:00 22:02 2 10 \n 22:02 22:04 2 10 \n 22:04 22:06 1 2 \n 22:06 22:08 1 8"),
    ),
    Page(
        "SELECT window_start, window_end, COUNT(*) AS n, SUM(distance) AS d FROM HOP(TABLE mydataset.trips, "
        '"completed_at", INTERVAL 4 MINUTE, INTERVAL 2 MINUTE) GROUP BY window_start, window_end',
        taxi("21:58 22:02 2 10 \n 22:00 22:04 4 20 \n 22:02 22:06 3 12 \n 22:04 22:08 2 10 \n 22:06 22:10 1 8"),
    ),
    Page(
        'SELECT window_end, COUNTIF(distance > 5) AS far FROM TUMBLE((SELECT * FROM mydataset.trips), "completed_at", '
        "INTERVAL 10 MINUTE) GROUP BY window_end",
        [(at("2022-07-01 22:10"), 3)],
    ),
    Page(
        'SELECT window_end, ANY_VALUE(taxi_id HAVING MAX distance) FROM TUMBLE(TABLE mydataset.trips, "completed_at", '
        "INTERVAL 10 MINUTE) GROUP BY window_end",
        "expected",
    ),
    Page(
        "SELECT TIMESTAMP_BUCKET(completed_at, INTERVAL 3 MINUTE) AS time, COUNT(*) FROM mydataset.trips GROUP BY time",
        "expected a function of windows",
    ),
    Page(
        "SELECT * FROM GAP_FILL(TABLE mydataset.trips, ts_column => 'completed_at', bucket_width => INTERVAL 1 MINUTE)",
        "expected TUMBLE, HOP",
    ),
]

SPARK = [
    Page(
        "SELECT a, window.start, window.end, count(*) AS cnt FROM tab GROUP BY a, window(b, '5 minutes') "
        "ORDER BY a, start",
        [
            ("A1", at("2021-01-01 00:00"), at("2021-01-01 00:05"), 2),
            ("A1", at("2021-01-01 00:10"), at("2021-01-01 00:15"), 1),
            ("A2", at("2021-01-01 00:00"), at("2021-01-01 00:05"), 1),
        ],
    ),
    Page(
        "SELECT a, window.start, window.end, count(*) AS cnt FROM tab "
        "GROUP BY a, window(b, '10 minutes', '5 minutes') ORDER BY a, start",
        [
            ("A1", at("2020-12-31 23:55"), at("2021-01-01 00:05"), 2),
            ("A1", at("2021-01-01 00:00"), at("2021-01-01 00:10"), 2),
            ("A1", at("2021-01-01 00:05"), at("2021-01-01 00:15"), 1),
            ("A1", at("2021-01-01 00:10"), at("2021-01-01 00:20"), 1),
            ("A2", at("2020-12-31 23:55"), at("2021-01-01 00:05"), 1),
            ("A2", at("2021-01-01 00:00"), at("2021-01-01 00:10"), 1),
        ],
    ),
    Page(
        "SELECT a, window.start AS start, window.end AS end, window_time(window), cnt FROM (SELECT a, window, count(*) "
        "AS cnt FROM tab GROUP BY a, window(b, '5 minutes') ORDER BY a, window.start)",
        "window_time\\(window\\)",
    ),
    Page(
        "SELECT a, session_window.start, session_window.end, count(*) AS cnt FROM tab "
        "GROUP BY a, session_window(b, '5 minutes') ORDER BY a, start",
        [
            ("A1", at("2021-01-01 00:00"), at("2021-01-01 00:09:30"), 2),
            ("A1", at("2021-01-01 00:10"), at("2021-01-01 00:15"), 1),
            ("A2", at("2021-01-01 00:01"), at("2021-01-01 00:06"), 1),
        ],
    ),
    Page(
        "SELECT a, session_window.start, session_window.end, count(*) AS cnt FROM tab GROUP BY a, session_window(b, "
        "CASE WHEN a = 'A1' THEN '5 minutes' WHEN a = 'A2' THEN '1 minute' ELSE '10 minutes' END) ORDER BY a, start",
        "expected a literal",
    ),
    Page(
        "SELECT window.start, window.end, sum(val) AS sum FROM words GROUP BY window(date, '5 seconds')",
        [(at("2016-03-11 09:00:05"), at("2016-03-11 09:00:10"), 1)],
    ),
    Page(
        "SELECT window.start, min(val), max(val), count(val) FROM S "
        "GROUP BY window(stamp, '2 MINUTES 30 SECONDS', '30 SECONDS', '15 SECONDS') "
        "HAVING start <= timestamp_ntz '2020-08-01 12:22:45' ORDER BY 1",
        [
            (at("2020-08-01 12:18:15"), 12, 17, 2), (at("2020-08-01 12:18:45"), 12, 17, 2),
            (at("2020-08-01 12:19:15"), 12, 17, 2), (at("2020-08-01 12:19:45"), 12, 17, 2),
            (at("2020-08-01 12:20:15"), 12, 17, 2), (at("2020-08-01 12:20:45"), 8, 8, 1),
            (at("2020-08-01 12:21:15"), 8, 8, 1), (at("2020-08-01 12:21:45"), 8, 8, 1),
            (at("2020-08-01 12:22:15"), 8, 8, 1), (at("2020-08-01 12:22:45"), 8, 11, 2),
        ],
    ),
    Page("SELECT window, count(*) FROM tab GROUP BY window(b, '1 hour', '2 hours', '5 minutes', 3)", "expected window"),
]  # fmt: skip

PAGES = {
    "Flink, windowing functions": FLINK_FUNCTIONS, "Flink, window aggregation": FLINK_AGGREGATION,
    "Flink, over aggregation": FLINK_OVER, "RisingWave, time windows": RISINGWAVE,
    "BigQuery, window aggregation": BIGQUERY, "Spark, window functions": SPARK,
}  # fmt: skip
CASES = [(page, each) for page, queries in PAGES.items() for each in queries]


@pytest.mark.parametrize(("page", "asked"), CASES, ids=[f"{page}: {at}" for at, (page, _) in enumerate(CASES)])
def test_a_query_of_a_page(page: str, asked: Page) -> None:
    if isinstance(asked.shown, str):
        with pytest.raises(ff.QueryError, match=asked.shown) as refused:
            ff.sql(asked.query, **TABLES)
        assert len(str(refused.value).splitlines()) == 1
        return
    found = [tuple(row.values()) for row in ff.sql(asked.query, **TABLES).to_pylist()]
    shown = asked.shown if "ORDER BY" in asked.query.partition(" FROM ")[2] else sorted(asked.shown, key=repr)
    assert (found if shown is asked.shown else sorted(found, key=repr)) == shown


def test_there_are_sixty() -> None:
    assert len({each.query for _, each in CASES}) >= 60
