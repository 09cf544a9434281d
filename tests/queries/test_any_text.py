"""Any text as the name of a column, an output or a run, as a key, a value or a literal, is nothing but that text."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.shares import salt_of_run
from ..support.spark_results import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECRET, SETTING = "FRAMEFOLD_TEST_SECRET", "spark.framefold.text"
TEXTS = [
    f"${{env:{SECRET}}}", f"${{{SETTING}}}", "${system:user.home}", "${spark.app.name}", "$1 ${", "it's", "`tick`s`",
    'say "so"', "a.b", "new\nline\r", "nul\0nul", "back\\sl\\n", "50%_%s", "{0} {x}", "#rank", "'; --", "/* é日🙂 */",
]  # fmt: skip


class Words:
    """Texts for the roles of a query: the odd ones, or as many plain ones in their place."""

    def __init__(self, odd: bool, shift: int) -> None:
        texts = TEXTS[shift:] + TEXTS[:shift] if odd else [chr(97 + at) for at in range(len(TEXTS))]
        self.texts = [f"{text}{at % 7}" for at, text in enumerate(texts)]
        self.time, self.key, self.x, self.s, *self.other = self.texts

    def name(self, text: str) -> str:
        """A name in SQL."""
        return "`" + text.replace("`", "``") + "`"

    def literal(self, text: str) -> str:
        """A literal in SQL."""
        return "'" + text.replace("'", "''") + "'"

    @property
    def some(self) -> str:
        """A condition on a column of texts, in SQL."""
        listed = ", ".join(map(self.literal, self.texts[::2]))
        like = self.texts[5].replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return f"{self.name(self.s)} in ({listed}) or {self.name(self.s)} like {self.literal(like[:-1] + '_')}"

    def table(self, **more: Any) -> pa.Table:
        """Events whose keys and values are these texts."""
        texts = self.texts
        columns = {self.time: range(68), self.key: [texts[at * 5 % 4] for at in range(68)], self.x: range(68),
                   self.s: [texts[at % 17] for at in range(68)]}  # fmt: skip
        return pa.table({name: pa.array(values) for name, values in (columns | more).items()})


def undotted(text: str) -> str:
    """A text as the name of a part of an output, which has no dots."""
    return text.replace(".", ",")


def file_name(text: str) -> str:
    """A text as the name of a file, without what Spark refuses in one."""
    return text.translate(str.maketrans("/\0:", "∕0∶"))


def aggregated(w: Words, given: Callable[[pa.Table], Any], path: Path) -> Any:
    (a, b, c, d, e, f, g, *_), s = w.other, w.name(w.s)
    outputs = {
        a: ff.Sum(w.x), b: ff.First(ff.expr(w.literal(f))), c: ff.Filtered(ff.Count(), ff.expr(w.some)),
        d: ff.Last(w.s), f: ff.CollectList(w.s),
        e: ff.AllOf(**{undotted(f): ff.Count(), undotted(g): ff.Max(ff.expr(f"{w.name(w.x)} * 2"))}),
        g: ff.First(ff.expr(f"case {s} when {w.literal(w.texts[9])} then {w.literal(a)} else {s} end")),
    }  # fmt: skip
    events = ff.events(given(w.table()), time=w.time, by=w.key, ties=w.x).where(w.some)
    return events.window(ff.sliding(40, every=20)).aggregate(**outputs)


def grouped_by_sql(w: Words, given: Callable[[pa.Table], Any], path: Path) -> Any:
    events = ff.events(given(w.table()), time=w.time, by=[w.key, w.s]).where(ff.expr(w.some))
    return events.window(ff.tumbling(34)).aggregate(**{w.other[0]: ff.Sum(w.x), w.other[1]: ff.Max(w.x)})


def beside(w: Words, given: Callable[[pa.Table], Any], path: Path) -> Any:
    events = ff.events(given(w.table()), time=w.time, by=w.key).where(w.some)
    return events.window(ff.last_rows(3)).with_columns(
        **{w.other[0]: ff.Sum(w.x), w.other[1]: ff.First(ff.expr(f"{w.name(w.s)} || {w.literal(w.other[2])}"))}
    )


def lookbacks(w: Words, given: Callable[[pa.Table], Any], path: Path) -> Any:
    labels = pa.table({w.key: w.texts[:4], "at": [20, 30, 40, 50]})
    events = ff.events(given(w.table()), time=w.time, by=w.key).window(ff.lookback(10, 30, at=labels))
    return events.aggregate(**{w.other[0]: ff.Sum(w.x), w.other[1]: ff.Last(w.s)})


def related(w: Words, given: Callable[[pa.Table], Any], path: Path) -> Any:
    a, b, c, d, *_ = w.other
    calls = ff.events(given(w.table()), time=w.time, by=w.key).window(ff.sliding(4, every=1)).relation().where(w.some)
    rates = ff.relation(given(w.table(**{a: range(68), b: [*range(2, 69), None]})), valid_from=a, valid_to=b).select(
        w.key, w.s, **{c: w.literal(d)}
    )
    joined = calls.join(rates, on=[w.key, (w.s, w.s)], prefix=d)
    return joined.where(f"{w.name(d + c)} = {w.literal(d)}").select(w.key, d + c, **{b: f"{w.name(w.x)} + 1"}).rows()


def in_sql(w: Words, given: Callable[[pa.Table], Any], path: Path) -> Any:
    a, b, c, d, *_ = map(w.name, w.other)
    time, key, x = map(w.name, (w.time, w.key, w.x))
    return ff.sql(
        f"SELECT {key} AS {a}, window_end, SUM({x}) AS {b}, MAX({w.literal(w.other[5])}) AS {c}, "
        f"{w.literal(w.other[6])} AS {d} FROM TUMBLE(trips, {time}, 34) WHERE {w.some} GROUP BY {key}, window_end "
        f"HAVING {key} <> {w.literal(w.texts[1])}",
        trips=given(w.table()),
    )


def stored(w: Words, given: Callable[[pa.Table], Any], path: Path) -> Any:
    place = path / file_name(w.other[9])
    outputs = {w.other[0]: ff.Sum(w.x), w.other[1]: ff.CountDistinct(w.s)}
    spark = getattr(given(w.table()), "sparkSession", None)
    kept = ff.partials(place, time=w.time, by=[w.key, w.s], frame=17, spark=spark, **outputs)
    for run in [*w.texts[:2], *w.texts[:2]]:
        kept.append(given(w.table()), run=run)
    return kept.window(ff.tumbling(34)).aggregate()


def from_files(w: Words, given: Callable[[pa.Table], Any], path: Path) -> Any:
    place = path / file_name(w.other[9])
    place.mkdir(parents=True)
    pq.write_table(w.table(), place / f"{file_name(w.other[2])}.parquet")
    data = ff.parquet(place, spark=getattr(given(pa.table({"t": [1]})), "sparkSession", None))
    return (
        ff.events(data, time=w.time, by=w.key)
        .where(w.some)
        .window(ff.last_rows(4))
        .aggregate(**{w.other[0]: ff.Sum(w.x), w.other[1]: ff.Last(w.s)})
    )


ENTRIES = [aggregated, grouped_by_sql, beside, lookbacks, related, in_sql, stored, from_files]


def told(result: Any, words: Words, plain: Words) -> list[str]:
    """Rows as texts, in any order, with the plain texts in the place of the odd ones."""
    back = dict(zip(words.texts, plain.texts, strict=True))
    back |= {undotted(odd): word for odd, word in back.items()}

    def put(value: Any) -> Any:
        if isinstance(value, dict):
            return {put(name): put(each) for name, each in value.items()}
        if isinstance(value, list):
            return [put(each) for each in value]
        if not isinstance(value, str) or value in back:
            return back.get(value, value)
        for odd, word in sorted(back.items(), key=lambda pair: -len(pair[0])):  # one text put together of several
            value = value.replace(odd, word)
        return value

    return sorted(repr(put(row)) for row in rows(result))


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, "hunter2")


def shifts(entry: Callable[..., Any], count: int) -> list[int]:
    """Where in the list of texts a query begins: which role has which text. All of them, over some commits."""
    return random.Random(f"{salt_of_run()} {entry.__name__}").sample(range(len(TEXTS)), count)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.__name__)
def test_locally(entry: Callable[..., Any], tmp_path: Path) -> None:
    plain = Words(False, 0)
    expected = told(entry(plain, lambda table: table, tmp_path / "plain"), plain, plain)
    assert len(expected) > 1
    for shift in shifts(entry, 2):
        words = Words(True, shift)
        assert told(entry(words, lambda table: table, tmp_path / str(shift)), words, plain) == expected, shift


@pytest.mark.parametrize(
    "entry",
    [pytest.param(each, marks=pytest.mark.slow if each in (aggregated, related) else ()) for each in ENTRIES],
    ids=lambda entry: entry.__name__,
)
def test_on_spark(spark: SparkSession, entry: Callable[..., Any], tmp_path: Path) -> None:
    plain, (shift,) = Words(False, 0), shifts(entry, 1)
    words = Words(True, shift)
    expected = told(entry(plain, lambda table: table, tmp_path / "plain"), plain, plain)
    spark.conf.set(SETTING, "' or '1' = '1")
    try:
        assert told(entry(words, spark.createDataFrame, tmp_path / "odd"), words, plain) == expected, shift
    finally:
        spark.conf.unset(SETTING)


def test_of_conditions_on_spark(spark: SparkSession) -> None:
    """What Spark would put in the place of a variable."""
    spark.conf.set(SETTING, "' or '1' = '1")
    try:
        df = spark.createDataFrame(pa.table({"t": [0, 1, 2], "s": ["a", "b", f"${{{SETTING}}}"]}))
        for condition in (f"s = '${{{SETTING}}}'", ff.expr(f"s = '${{{SETTING}}}'")):
            query = ff.events(df, time="t").where(condition).window(ff.tumbling(3))
            [row] = rows(query.aggregate(n=ff.Count(), secret=ff.First(ff.expr(f"'${{env:{SECRET}}}'"))))
            assert (row["n"], row["secret"]) == (1, f"${{env:{SECRET}}}")
    finally:
        spark.conf.unset(SETTING)


def test_what_cannot_be_handed_on() -> None:
    columns = {"t": [0], "a\0b": [1]}
    for data in (pd.DataFrame(columns), pl.DataFrame(columns)):  # Polars would end the process
        with pytest.raises(ff.QueryError, match=r"the column 'a\\x00b' of a (pandas|polars).* has a NUL in its name"):
            ff.events(data, time="t", by="a\0b").window(ff.tumbling(1)).aggregate(n=ff.Count())
    for inner in ({"a\0b": 1}, {"u": {"a\0b": 1}}, [{"a\0b": 1}]):
        nested = pl.DataFrame({"t": [0], "x": [inner]})
        with pytest.raises(ff.QueryError, match=r"the column 'a\\x00b' of a polars.* has a NUL in its name"):
            ff.events(nested, time="t").window(ff.tumbling(1)).aggregate(n=ff.Last("x"))
    half, table = "\ud800", pa.table({"t": [0]})
    frame = pd.DataFrame([[0, 1]])
    frame.columns = pd.Index(["t", half], dtype=object)
    window, count = ff.tumbling(1), {"n": ff.Count()}
    for call in (
        lambda: ff.events(frame, time="t").window(window).aggregate(**count),
        *(lambda of=of: ff.events(table, **{"time": "t"} | of).window(window).aggregate(**count)
          for of in ({"time": half}, {"by": half}, {"ties": half}, {"until": half})),
        lambda: ff.events(table, time="t").window(window).aggregate(n=ff.Sum(half)),
        lambda: ff.events(table, time="t").window(window).aggregate(**{half: ff.Count()}),
        lambda: ff.events(table, time="t").window(ff.last_rows(1)).with_columns(**{half: ff.Count()}),
        lambda: ff.events(table, time="t").window(window).relation().aggregate(**{half: ff.Count()}),
        lambda: ff.sql(f"SELECT count(*) AS \"{half}\" FROM t GROUP BY tumble(t, 1)", t=table),
        lambda: ff.sql(f"SELECT count(*) FROM t WHERE t = '{half}' GROUP BY tumble(t, 1)", t=table),
    ):  # fmt: skip
        with pytest.raises(ff.QueryError, match=r"\\ud800.*, which is no text in Unicode; expected one without"):
            call()
    with pytest.raises(ff.QueryError, match="has half of a surrogate pair; expected whole characters"):
        ff.expr("'\ud800'")
