"""Queries over windows: Flink SQL itself gives what `ff.sql` does, of streams and batches: `make flink`."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import framefold as ff
from benchmarks.environments import Unavailable, python_of

from ..sql import test_documentation as pages
from ..sql.test_duckdb import table as random_table

ANSWERS = Path(__file__).with_name("answers.py")
LIMIT = 1800
"""Seconds that all queries may take."""

ZONE = "Asia/Kathmandu"
"""Whose days the windows of times with a zone are by."""

TYPES = {
    pa.null(): "STRING", pa.string(): "STRING", pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN",
    pa.timestamp("us"): "TIMESTAMP(3)", pa.timestamp("us", ZONE): "TIMESTAMP_LTZ(3)",
    pa.decimal128(10, 2): "DECIMAL(10, 2)",
}  # fmt: skip


def minutes(*each: int) -> pa.Array:
    return pa.array([datetime.datetime(2024, 1, 1) + datetime.timedelta(minutes=number) for number in each])


TABLES = {
    **{name: pages.TABLES[name] for name in ("Bid", "SessionBid", "One", "Orders")},
    "r": random_table(0, ties=False).drop_columns("i").sort_by("t"),
    "ties": random_table(1, ties=True).drop_columns("i").sort_by("t"),
    # In the order in which they come, which is not that of their times.
    "odd": pa.table(
        {"t": minutes(3, 1, 2, 11), "x": [2**62, 2**62, 1, 7], "i": [3, -6, 4, 7], "s": ["c", None, "b", "d"]}
    ),
    "zoned": pa.table({"t": minutes(*range(30, 5000, 400)).cast(pa.timestamp("us", ZONE)), "x": range(13)}),
}


class Case(NamedTuple):
    """A query, and as which job Flink runs it."""

    query: str
    mode: str = "stream"

    @property
    def in_flink(self) -> str:
        """With words that are reserved there in their quotes."""
        return self.query.replace("user", "`user`").replace("TABLE One", "TABLE `One`")


NOT_FLINKS = ("top_n(", "WITH window1", "avg_amount", "'-16'", "'16'")
"""In queries of Flink's pages that are changed here, or to which Flink gives something else, as below."""

FLINKS = [entry.split("\n") for entry in pages.PAGES[: pages.PAGES.index("# RisingWave, time windows")]]
"""Queries of Flink's pages, each with what the page shows of it below."""

PAGES = [
    Case(query)
    for query, *shown in FLINKS
    if shown and shown[0][0] == "|" and not any(part in query for part in NOT_FLINKS)
]

AGGREGATES = ", ".join(
    f"{each} AS v{at}"
    for at, each in enumerate(
        [
            "COUNT(*)", "COUNT(x)", "SUM(x)", "AVG(y)", "MIN(y)", "MAX(s)", "MIN(b)", "STDDEV_POP(y)", "STDDEV_SAMP(y)",
            "STDDEV(y)", "VAR_POP(y)", "VAR_SAMP(y)", "VARIANCE(y)", "SUM(x) FILTER (WHERE y > 0)",
            "COUNT(*) FILTER (WHERE b)", "COUNT(DISTINCT x)", "SUM(DISTINCT x)", "SUM(x) + COUNT(*)",
            "SUM(y) / COUNT(*)", "MAX(UPPER(s))", "COALESCE(MAX(x), 0) * 2", "SUM(x + 1)", "PERCENTILE(y, 0.3)",
            "CASE WHEN COUNT(*) > 2 THEN 'many' ELSE 'few' END",
        ]
    )
)  # fmt: skip
BOUNDS = "window_start, window_end"
COUNTED = "COUNT(*) AS c, SUM(x) AS s"


def grouped(
    function: str, table: str, what: str = AGGREGATES, by: str = f"k, {BOUNDS}", where: str = "", having: str = ""
) -> str:
    of = function.format(f"TABLE {table}, DESCRIPTOR(t)")
    return f"SELECT {by}, {what} FROM TABLE({of}) {where} GROUP BY {by} {having}"


TEN = "TUMBLE({}, INTERVAL '10' MINUTE)"
HOP = "HOP({}, INTERVAL '5' MINUTE, INTERVAL '20' MINUTE)"
WINDOWS = [
    Case(grouped(TEN, "r")),
    Case(grouped("TUMBLE({}, INTERVAL '90' SECOND)", "ties", where="WHERE b OR k = 'a'")),
    Case(grouped("TUMBLE({}, INTERVAL '7' DAY)", "r")),
    Case(grouped("TUMBLE({}, INTERVAL '1' HOUR, INTERVAL '-7' MINUTE)", "ties")),
    Case(grouped(HOP, "r", where="WHERE y IS NOT NULL")),
    Case(grouped(HOP, "ties")),
    Case(grouped("HOP({}, INTERVAL '5' MINUTE, INTERVAL '20' MINUTE, INTERVAL '2' MINUTE)", "r")),
    Case(grouped("CUMULATE({}, INTERVAL '10' MINUTE, INTERVAL '1' HOUR)", "ties")),
    Case(grouped("CUMULATE({}, INTERVAL '10' MINUTE, INTERVAL '1' HOUR, INTERVAL '3' MINUTE)", "r")),
    Case(grouped("SESSION(TABLE r PARTITION BY k, DESCRIPTOR(t), INTERVAL '4' MINUTE)", "")),
    Case(grouped("SESSION(TABLE ties, DESCRIPTOR(t), INTERVAL '2' MINUTE)", "", COUNTED, BOUNDS)),
    Case(grouped(HOP, "ties", COUNTED, f"{BOUNDS}, window_time", having="HAVING COUNT(*) > 2 AND SUM(x) > 0")),
    Case(grouped(TEN, "r", "FIRST_VALUE(s) AS f, LAST_VALUE(x) AS l, LISTAGG(s, '-') AS a")),
    Case(grouped("TUMBLE({}, INTERVAL '1' DAY)", "zoned", COUNTED, BOUNDS)),
    Case(grouped(TEN, "r", "APPROX_COUNT_DISTINCT(x) AS a"), "batch"),
    Case(grouped("HOP({}, INTERVAL '3' MINUTE, INTERVAL '10' MINUTE)", "r", COUNTED), "batch"),
    Case(grouped(TEN, "r", COUNTED, having="ORDER BY s DESC, k, window_start LIMIT 9"), "batch"),
    Case(
        "WITH m AS (SELECT k, window_time AS late, SUM(x) AS total FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(t), INTERVAL "
        "'5' MINUTES)) GROUP BY k, window_start, window_end, window_time) SELECT window_start, window_end, SUM(total) "
        "AS s, COUNT(*) AS n FROM TABLE(HOP(TABLE m, DESCRIPTOR(late), INTERVAL '10' MINUTES, INTERVAL '20' MINUTES)) "
        "GROUP BY window_start, window_end"
    ),
    Case(
        "SELECT k, SESSION_START(t, INTERVAL '3' MINUTE) AS a, SESSION_END(t, INTERVAL '3' MINUTE) AS b, COUNT(*) AS c "
        "FROM r GROUP BY k, SESSION(t, INTERVAL '3' MINUTE)"
    ),
]

OVER = "COUNT(*) OVER w AS c, SUM(x) OVER w AS a, AVG(y) OVER w AS m, MAX(s) OVER w AS u, VAR_POP(y) OVER w AS d"
RANGES = [
    "", "RANGE UNBOUNDED PRECEDING", "RANGE BETWEEN INTERVAL '7' MINUTE PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW",
]  # fmt: skip
ROWS = ["ROWS 3 PRECEDING", "ROWS UNBOUNDED PRECEDING", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"]
IN_BATCHES = [
    "ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING", "ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
]  # fmt: skip


def over(frame: str, table: str, by: str = "PARTITION BY k", what: str = OVER) -> str:
    return f"SELECT n, {what} FROM {table} WINDOW w AS ({by} ORDER BY t {frame})"


FRAMES = [
    *(Case(over(frame, table)) for frame in RANGES for table in ("r", "ties")),
    *(Case(over(frame, "r", by)) for frame, by in zip(ROWS, ("PARTITION BY k, s", "", "PARTITION BY k"), strict=True)),
    *(Case(over(frame, "r"), "batch") for frame in IN_BATCHES),
    Case(over("RANGE BETWEEN CURRENT ROW AND CURRENT ROW", "ties"), "batch"),
    Case("SELECT n, COUNT(DISTINCT x) OVER (ORDER BY t ROWS 2 PRECEDING) AS c FROM r WHERE y > 0"),
    Case("SELECT n, SUM(x) OVER (ORDER BY t ROWS 2 PRECEDING) AS v FROM r ORDER BY v DESC, n LIMIT 20", "batch"),
    Case("SELECT n, x, COUNT(*) OVER (ORDER BY t) AS v FROM r ORDER BY x, n LIMIT 20", "batch"),
    Case("SELECT n, x, COUNT(*) OVER (ORDER BY t) AS v FROM r ORDER BY x DESC, n", "batch"),
]

FIRST, SECOND = ((pages.at(f"2024-01-01 00:{at}0"), pages.at(f"2024-01-01 00:{at + 1}0")) for at in range(2))
OTHERWISE: dict[str, tuple[Case, Any, Any]] = {
    "averages and quotients of integers are integers": (Case(grouped(TEN, "odd",
        "AVG(i) AS a, SUM(i) / COUNT(*) AS q, STDDEV_POP(i) AS d", BOUNDS)), [(*FIRST, 0, 0, 4), (*SECOND, 7, 7, 0)],
        [(*FIRST, 1 / 3, 1 / 3, (182 / 9) ** 0.5), (*SECOND, 7, 7, 0)]),
    "a sum beyond 64 bits wraps": (Case(grouped(TEN, "odd", "SUM(x) AS s", BOUNDS)),
        [(*FIRST, 1 - 2**63), (*SECOND, 7)], "the sum of 'x' does not fit int64"),
    "values are in the order in which they come, and not in that of time": (Case(grouped(TEN, "odd",
        "FIRST_VALUE(s) AS f, LAST_VALUE(s) AS l, LISTAGG(s) AS a", BOUNDS)),
        [(*FIRST, "c", "b", "c,b"), (*SECOND, "d", "d", "d")], [(*FIRST, "b", "c", "b,c"), (*SECOND, "d", "d", "d")]),
    "FIRST_VALUE over frames leaves nulls out, and takes no IGNORE NULLS that would say so": (
        Case("SELECT i, FIRST_VALUE(s) OVER (ORDER BY t ROWS 2 PRECEDING) AS f FROM odd"),
        [(-6, None), (4, "b"), (3, "b"), (7, "b")],
        "expected first_value\\(s\\) IGNORE NULLS",
    ),
    "an offset is shorter than the windows, also where its page has a longer one": (Case(next(query
        for query, *_ in FLINKS if "'-16'" in query)), r"must satisfy abs\(offset\) < size",
        [(pages.at("2021-06-29 23:54"), pages.at("2021-06-30 00:04"), 1)]),
    "on a stream the size of HOP is a multiple of its slide": (
        Case(grouped("HOP({}, INTERVAL '8' MINUTE, INTERVAL '10' MINUTE)", "odd", "COUNT(*) AS c", BOUNDS)),
        "requires size must be an integral multiple of slide",
        [
            (pages.at("2023-12-31 23:52"), pages.at("2024-01-01 00:02"), 1),
            (*FIRST, 3),
            (pages.at("2024-01-01 00:08"), pages.at("2024-01-01 00:18"), 1),
        ],
    ),
}  # fmt: skip
"""What Flink does, and here: rows, or what an error says."""

DEVIATION = Case(
    "SELECT n, STDDEV_POP(y) OVER (PARTITION BY k, s ORDER BY t ROWS 1 PRECEDING) AS d FROM r WHERE y IS NOT NULL"
)

CASES = [*PAGES, *WINDOWS, *FRAMES]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Flink says to all queries, in a process of its own."""
    try:
        python = python_of("peer-flink")
    except Unavailable as error:
        pytest.skip(f"PyFlink cannot be had here: {error}")
    folder = tmp_path_factory.mktemp("flink")
    cases = [*CASES, *(case for case, _, _ in OTHERWISE.values()), DEVIATION]
    tables = {name: written(each, folder / f"{name}.csv") for name, each in TABLES.items()}
    queries = [(each.mode, each.in_flink) for each in cases]
    (folder / "asked").write_text(json.dumps({"zone": ZONE, "tables": tables, "queries": queries}))
    command = [str(python), str(ANSWERS), str(folder / "asked"), str(folder / "found")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip((each.query for each in cases), json.loads((folder / "found").read_text()), strict=True))


def written(table: pa.Table, path: Path) -> dict[str, Any]:
    """Write a table as CSV; what Flink needs to know of it."""
    (time,) = (field for field in table.schema if pa.types.is_timestamp(field.type))
    stamps = pc.strftime(table[time.name].cast(pa.timestamp("ms", time.type.tz and "UTC")), "%Y-%m-%d %H:%M:%S")
    stamps = pc.binary_join_element_wise(stamps, "Z" if time.type.tz else "", "")
    columns = [stamps if name == time.name else table[name] for name in table.column_names]
    rows = zip(*(each.to_pylist() for each in columns), strict=True)
    path.write_text("".join(",".join("null" if each is None else str(each) for each in row) + "\n" for row in rows))
    kinds = {field.name: TYPES[field.type] for field in table.schema}
    return {"columns": kinds, "time": time.name, "path": path.as_uri()}


def plain(value: Any) -> Any:
    """As `answers.plain` has it; times with a zone as the clock of that zone shows them."""
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat()
    return float(value) if isinstance(value, (int, Decimal)) and not isinstance(value, bool) else value


def same(found: Iterable[Iterable[Any]], right: Iterable[Iterable[Any]], *, ordered: bool) -> None:
    """The same rows; floats but for their last digits."""

    def rounded(row: list[Any]) -> str:
        return repr([round(value, 4) + 0.0 if isinstance(value, float) else value for value in row])

    one, other = ([[plain(value) for value in row] for row in rows] for rows in (found, right))
    if not ordered:
        one, other = sorted(one, key=rounded), sorted(other, key=rounded)
    assert len(one) == len(other)
    for mine, theirs in zip(one, other, strict=True):
        close = [pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value for value in theirs]
        assert mine == close


def ours(query: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in ff.sql(query, **TABLES).to_pylist()]


@pytest.mark.filterwarnings("ignore::framefold.CalendarWarning")  # days are those of the zone, as Flink has them
@pytest.mark.parametrize("case", CASES, ids=[f"{at}: {each.query[:60]}" for at, each in enumerate(CASES)])
def test_flink_gives_the_same(answers: dict[str, Any], case: Case) -> None:
    found = answers[case.query]
    assert not isinstance(found, str), found
    assert found
    same(found, ours(case.query), ordered="ORDER BY" in case.query.rpartition(")")[2])


@pytest.mark.parametrize(("case", "theirs", "mine"), OTHERWISE.values(), ids=OTHERWISE)
def test_where_flink_means_something_else(answers: dict[str, Any], case: Case, theirs: Any, mine: Any) -> None:
    """As docs/sql.md says."""
    found = answers[case.query]
    if isinstance(theirs, str):
        assert isinstance(found, str)
        assert re.search(theirs, found)
    else:
        same(found, theirs, ordered=False)
    if isinstance(mine, str):
        with pytest.raises(ff.FramefoldError, match=mine):
            ours(case.query)
    else:
        same(ours(case.query), mine, ordered=False)


def test_deviations_over_frames(answers: dict[str, Any]) -> None:
    """Flink takes values that leave a frame out of a sum of squares: digits are lost, or there is no root."""
    mine, theirs = ({row[0]: row[1] for row in rows} for rows in (ours(DEVIATION.query), answers[DEVIATION.query]))
    assert mine.keys() == theirs.keys()
    assert all(theirs[at] != theirs[at] or theirs[at] == pytest.approx(right, abs=1e-6) for at, right in mine.items())
