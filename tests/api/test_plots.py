"""Results as charts: what is drawn of which rows, by the chart's own text, and what is refused."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import framefold as ff

from ..support.limits import limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("altair")

NOON = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
MINUTES = [0, 5, 14, 40, 10, 75]
TRIPS = pa.table(
    {
        "at": pa.array([NOON + dt.timedelta(minutes=each) for each in MINUTES], pa.timestamp("us", "UTC")),
        "zone": ["b", "b", "b", "b", "a", "a"],
        "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
)


def quarters(data: Any = TRIPS, **choices: Any) -> Any:
    query = ff.events(data, time="at", by="zone").window(ff.tumbling("15 minutes", **choices))
    return query.aggregate(s=ff.Sum("x"), n=ff.Count())


def rows_of(chart: Any) -> list[dict[str, Any]]:
    """The rows that a chart has with it."""
    spec = chart.to_dict()
    (found,) = spec["datasets"].values() if "datasets" in spec else [spec["data"]["values"]]
    return found


def lines_of(chart: Any, x: str, y: str, key: str = "zone") -> list[tuple[Any, list[tuple[Any, Any]]]]:
    """The lines that Vega-Lite draws: rows of one colour and detail, by x."""
    (detail,) = {each["encoding"]["detail"]["field"] for each in chart.to_dict().get("layer", [chart.to_dict()])}
    of = sorted(rows_of(chart), key=lambda row: (row.get(key, ""), row[detail]))
    return [
        (name, sorted(((row[x], row[y]) for row in rows), key=lambda each: each[0]))
        for (name, _), rows in groupby(of, lambda row: (row.get(key), row[detail]))
    ]


def at(minute: int, hours: int = 12) -> str:
    return (dt.datetime(2026, 5, 1, hours) + dt.timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


STEPS = [
    ("a", [(at(0), 5.0), (at(15), 5.0)]),
    ("a", [(at(75), 6.0), (at(90), 6.0)]),
    ("b", [(at(0), 6.0), (at(15), 6.0)]),
    ("b", [(at(30), 4.0), (at(45), 4.0)]),
]
"""By hand: the sums of quarters of an hour, from start to end, and none between."""


def test_windows_side_by_side_are_steps_that_end_where_one_is_missing() -> None:
    chart = ff.plot(quarters(), "s")
    spec = chart.to_dict()
    assert lines_of(chart, "window_start", "s") == STEPS
    assert spec["mark"]["interpolate"] == "step-after"
    encoding = spec["encoding"]
    assert (encoding["x"]["type"], encoding["x"]["scale"]) == ("temporal", {"type": "utc"})
    assert encoding["x"]["title"] == "window_start (UTC)"
    assert (encoding["color"]["field"], encoding["color"]["sort"]) == ("zone", ["a", "b"])
    assert encoding["y"]["field"] == "s"


@pytest.mark.parametrize("kind", ["flat", "columns", "pandas", "pandas, flat", "polars", "duckdb", "unsorted"])
def test_a_result_in_any_library_is_the_same_chart(kind: str) -> None:
    query = ff.events(TRIPS, time="at", by="zone").window(ff.tumbling("15 minutes"))
    outputs = {"s": ff.Sum("x"), "n": ff.Count()}
    result: Any = query.options(window="flat" if "flat" in kind else "struct").aggregate(**outputs)
    if "pandas" in kind:
        result = result.to_pandas()
        result.attrs["metrics"] = [object()]  # which no chart looks at
    elif kind == "columns":
        result = result.flatten()
    elif kind == "polars":
        result = pl.from_arrow(result)
    elif kind == "duckdb":
        result = duckdb.connect().from_arrow(result)
    elif kind == "unsorted":
        result = result.take([3, 1, 2, 0])
    assert lines_of(ff.plot(result, "s", timezone="UTC"), "window_start", "s") == STEPS


@pytest.mark.parametrize(("zone", "hours"), [("America/New_York", 8), ("Asia/Kolkata", 17.5), ("UTC", 12)])
def test_times_are_what_clocks_of_the_zone_show(zone: str, hours: float) -> None:
    own = TRIPS.set_column(0, "at", TRIPS["at"].cast(pa.timestamp("us", zone)))
    shift = int((hours - 12) * 60)
    expected = [
        (name, [(at(int(x[14:16]) + 60 * (int(x[11:13]) - 12) + shift), y) for x, y in line]) for name, line in STEPS
    ]
    for chart in (ff.plot(quarters(), "s", timezone=zone), ff.plot(quarters(own), "s")):
        assert lines_of(chart, "window_start", "s") == expected
        assert chart.to_dict()["encoding"]["x"]["title"] == f"window_start ({zone})"


def test_times_without_a_zone_dates_and_integers() -> None:
    plain = TRIPS.set_column(0, "at", TRIPS["at"].cast(pa.timestamp("us")))
    assert lines_of(ff.plot(quarters(plain), "s"), "window_start", "s") == STEPS
    assert ff.plot(quarters(plain), "s").to_dict()["encoding"]["x"]["title"] == "window_start"
    days = pa.table({"t": [dt.date(2026, 5, 1), dt.date(2026, 5, 3)]})
    chart = ff.plot(ff.events(days, time="t").window(ff.tumbling("1 day")).aggregate(n=ff.Count()))
    starts = [row["window_start"][8:10] for row in rows_of(chart)]
    assert starts == ["01", "03", "02", "04"]


def over(columns: dict[str, Any], windows: Any, time: str = "t", until: str | None = None, **outputs: Any) -> pa.Table:
    query = ff.events(pa.table(columns), time=time, until=until).window(windows)
    return query.aggregate(**(outputs or {"n": ff.Count()}))


OF_INTEGERS: dict[str, tuple[pa.Table, str, list[Any]]] = {
    "side by side": (over({"t": [0, 7, 25]}, ff.tumbling(10)), "window_start",
        [[(0, 2), (10, 2)], [(20, 1), (30, 1)]]),
    "overlapping: a line through their ends": (over({"t": [0, 5, 30, 31]}, ff.sliding(10, every=5)), "window_end",
        [[(5, 1), (10, 2), (15, 1)], [(35, 2), (40, 2)]]),
    "touching, however long": (over({"from": [0, 1, 30], "to": [10, 20, 40]}, ff.snapshot(), "from", "to"),
        "window_start", [[(0, 1), (1, 2), (10, 1), (20, 1)], [(30, 1), (40, 1)]]),
    "with nulls and what is no number": (over({"t": range(5), "x": [1.0, None, float("nan"), 2.0, 3.0]},
        ff.last_rows(1), n=ff.Last("x")), "at", [[(0, 1.0)], [(3, 2.0), (4, 3.0)]]),
    "with too few samples": (over({"t": [0, 1, 12, 20, 21]}, ff.tumbling(10, min_samples=2)), "window_start",
        [[(0, 2), (10, 2)], [(20, 2), (30, 2)]]),
}  # fmt: skip


@pytest.mark.parametrize("windows", OF_INTEGERS)
def test_lines_end_where_windows_are_missing(windows: str) -> None:
    result, x, lines = OF_INTEGERS[windows]
    chart = ff.plot(result)
    assert [line for _, line in lines_of(chart, x, "n")] == lines
    spec = chart.to_dict()
    assert spec["encoding"]["x"]["type"] == "quantitative"
    assert spec["mark"]["interpolate"] == ("step-after" if x == "window_start" else "linear")


def test_months_are_missing_by_the_calendar() -> None:
    months = {"t": [dt.datetime(2026, each, 10) for each in (1, 2, 3, 4, 7)]}
    chart = ff.plot(over(months, ff.sliding("2 months", every="1 month")))
    assert [len(line) for _, line in lines_of(chart, "window_end", "n")] == [5, 2]


def test_bands_lie_between_two_columns_under_the_line() -> None:
    query = ff.events(TRIPS, time="at", by="zone").window(ff.tumbling("15 minutes"))
    result = query.aggregate(low=ff.Min("x"), mean=ff.Average("x"), high=ff.Max("x"))
    chart = ff.plot(result, "mean", band=("low", "high"))
    area, line = chart.to_dict()["layer"]
    assert (area["mark"]["type"], line["mark"]["type"]) == ("area", "line")
    assert (area["encoding"]["y"]["field"], area["encoding"]["y2"]["field"]) == ("low", "high")
    assert line["encoding"]["y"]["field"] == "mean"
    for name, value in (("low", 1.0), ("mean", 2.0), ("high", 3.0)):
        assert ("b", [(at(0), value), (at(15), value)]) in lines_of(chart, "window_start", name)
    alone = ff.plot(result, band=("low", "high")).to_dict()
    assert (alone["mark"]["type"], alone["encoding"]["y"]["title"]) == ("area", "low to high")


def test_several_outputs_are_below_one_another_or_have_colours() -> None:
    chart = ff.plot(quarters())
    spec = chart.to_dict()
    assert (spec["encoding"]["row"]["field"], spec["encoding"]["row"]["sort"]) == ("#output", ["s", "n"])
    assert spec["resolve"] == {"scale": {"y": "independent"}}
    assert {(row["#output"], row["#value"]) for row in rows_of(chart) if row["zone"] == "b"} == {
        ("s", 6.0), ("s", 4.0), ("n", 3.0), ("n", 1.0)
    }  # fmt: skip
    result = ff.events(TRIPS, time="at").window(ff.tumbling("1 hour")).aggregate(low=ff.Min("x"), high=ff.Max("x"))
    encoding = ff.plot(result).to_dict()["encoding"]
    assert (encoding["color"]["field"], "row" in encoding) == ("#output", False)


def test_a_heat_map_has_a_row_for_each_key() -> None:
    chart = ff.plot(quarters(), "n", kind="heat")
    spec = chart.to_dict()["encoding"]
    assert [spec[each]["field"] for each in ("x", "x2", "y", "color")] == ["#from", "window_end", "zone", "n"]
    assert {(row["zone"], row["#from"], row["window_end"], row["n"]) for row in rows_of(chart)} == {
        ("a", at(0), at(15), 1), ("a", at(75), at(90), 1), ("b", at(0), at(15), 3), ("b", at(30), at(45), 1)
    }  # fmt: skip
    result = ff.events(pa.table({"t": [0, 5, 30]}), time="t").window(ff.sliding(10, every=5)).aggregate(n=ff.Count())
    chart = ff.plot(result, kind="heat")
    assert [(row["#from"], row["window_end"], row["n"]) for row in rows_of(chart)] == [
        (0, 5, 1), (5, 10, 2), (10, 15, 1), (30, 35, 1), (35, 40, 1)
    ]  # fmt: skip
    assert "y" not in chart.to_dict()["encoding"]


def test_keys_of_every_kind_are_in_their_order() -> None:
    events = pa.table({"t": [1, 1, 1], "i": [10, 9, None], "d": pa.array(["x", "y", "z"]).dictionary_encode()})
    result = ff.events(events, time="t", by=["i", "d"]).window(ff.tumbling(10)).aggregate(n=ff.Count())
    color = ff.plot(result).to_dict()["encoding"]["color"]
    assert (color["field"], color["sort"]) == ("i, d", ["9, y", "10, x", "null, z"])
    odd = events.rename_columns(["t", "a.b[0]", "d"])
    chart = ff.plot(ff.events(odd, time="t", by="`a.b[0]`").window(ff.tumbling(10)).aggregate(**{"x.y": ff.Count()}))
    encoding = chart.to_dict()["encoding"]
    assert (encoding["color"]["field"], encoding["y"]["field"]) == (r"a\.b\[0\]", r"x\.y")
    assert {"a.b[0]", "x.y"} <= rows_of(chart)[0].keys()


def test_columns_have_the_names_that_a_chart_might_use_itself() -> None:
    events = pa.table({"t": [0, 12, 1], "run": ["a", "a", "b"]})
    query = ff.events(events, time="t", by="run").window(ff.tumbling(10))
    chart = ff.plot(query.aggregate(value=ff.Count(), output=ff.Max("t")))
    assert {(row["run"], row["#output"], row["#value"]) for row in rows_of(chart)} == {
        ("a", "value", 1), ("a", "output", 0), ("a", "output", 12), ("b", "value", 1), ("b", "output", 1)
    }  # fmt: skip


def test_outputs_of_every_kind_of_number() -> None:
    columns = {"d": [Decimal("1.5")], "b": [True], "p": [dt.timedelta(seconds=90)], "i": pa.array([3], pa.uint64())}
    result = (
        ff.events(pa.table({"t": [1], **columns}), time="t")
        .window(ff.tumbling(2))
        .aggregate(**{name: ff.Last(name) for name in columns}, text=ff.CollectList("i"))
    )
    assert {row["#output"]: row["#value"] for row in rows_of(ff.plot(result))} == {"d": 1.5, "b": 1, "p": 90, "i": 3}


def test_rows_that_have_no_window_say_their_time_and_key() -> None:
    found = ff.events(TRIPS, time="at", by="zone").window(ff.lookback("10 minutes", closed="both"))
    chart = ff.plot(found.aggregate(n=ff.Count()), "n_10m", time="at", by="zone")
    assert lines_of(chart, "at", "n_10m") == [
        ("a", [(at(10), 1), (at(75), 1)]),
        ("b", [(at(0), 1), (at(5), 2), (at(14), 2), (at(40), 1)]),
    ]
    nested = pa.table({"when": [{"t": 1}, {"t": 2}], "bar": [{"low": 1.0}, {"low": 2.0}]})
    assert rows_of(ff.plot(nested, "bar.low", time="when.t"))[1]["bar.low"] == 2.0


def test_a_chart_is_drawn() -> None:
    """All that Vega makes of it: its text has the lines, the keys and the title that a user has added."""
    import altair

    for chart in (ff.plot(quarters(), "s"), ff.plot(quarters()), ff.plot(quarters(), "n", kind="heat")):
        assert isinstance(chart, altair.Chart)
    vl_convert = pytest.importorskip("vl_convert")
    chart = ff.plot(quarters(), "s", band=("s", "n")).properties(title="By zone")
    svg = vl_convert.vegalite_to_svg(chart.to_dict())
    assert svg.count('aria-roledescription="line mark"') == svg.count('aria-roledescription="area mark"') == len(STEPS)
    assert all(f">{word}</t" in svg for word in ("By zone", "zone", "12:30", "May 01", "window_start (UTC)"))
    assert vl_convert.vegalite_to_png(chart.to_dict()).startswith(b"\x89PNG")


@settings(max_examples=8, deadline=None)
@given(st.datetimes(dt.datetime(2001, 1, 1), dt.datetime(2030, 1, 1)), st.integers(-1, 44), st.booleans())
def test_no_two_ticks_have_one_label(first: dt.datetime, log: int, heat: bool) -> None:
    """From half a second to 80 years: labels that Vega draws differ, and are more than two or three."""
    vl_convert = pytest.importorskip("vl_convert")
    second = dt.timedelta(seconds=1.64**log)
    times = [first + each * second for each in range(11)]
    result = pa.table({"window_start": times[:-1], "window_end": times[1:], "n": range(10)})
    svg = vl_convert.vegalite_to_svg(ff.plot(result, kind="heat" if heat else "lines").to_dict())
    axis = svg[svg.index("X-axis") :].split("role-axis-title")[0]
    labels = [re.sub("<.*?>", " ", each) for each in re.findall("<text.*?>(.*?)</text>", axis)]
    assert len(set(labels)) == len(labels) >= 4, labels


KEYS = pa.table({"t": [1] * 300, "k": list(range(300))})
OF_KEYS = ff.events(KEYS, time="t", by="k").window(ff.tumbling(2))
BARS = OF_KEYS.aggregate(bar=ff.OHLC("t"))
RESULT, COUNTS = quarters(), OF_KEYS.aggregate(n=ff.Count())
NO_NUMBERS = r"; expected a column of numbers"
ALONG = r"; expected one output of windows along the time line"
A_RESULT = r"expected a result: a table of Arrow, pandas or Polars, or a DataFrame of Spark"
REFUSED: list[tuple[Any, list[str], dict[str, Any], str]] = [
    (RESULT, ["sum"], {}, r"plot\(\) names 'sum', which the result lacks; there are 'zone', 'window', 's', 'n'"),
    (RESULT, [], {"by": "zome"}, r"plot\(\) names 'zome', which the result lacks; did you mean 'zone'\?"),
    (RESULT, [], {"band": ("low", "n")}, r"plot\(\) names 'low', which the result lacks; there are .*"),
    (RESULT, ["zone"], {}, r"plot\(\) is given 'zone', which is string" + NO_NUMBERS),
    (RESULT, ["window"], {}, r"plot\(\) is given 'window', which is struct<.*>" + NO_NUMBERS),
    (RESULT, [], {"time": "zone"}, r"plot\(\) needs a column of timestamps, dates or integers; 'zone' is string.*"),
    (RESULT, [], {"by": "window"}, r"plot\(\) has the key 'window' of type struct<.*>; expected single values, .*"),
    (RESULT, [], {"kind": "bars"}, r"kind is 'bars'; expected 'lines' or 'heat'"),
    (RESULT, [], {"kind": "heat"}, r"plot\(kind='heat'\) is given 2 outputs" + ALONG),
    (RESULT, [], {"kind": "heat", "band": ("s", "n")}, r"plot\(kind='heat'\) is given a band; expected .*"),
    (RESULT, ["s", "n"], {"band": ("s", "n")}, r"plot\(band=\) is given 2 outputs besides; expected one, or none"),
    (RESULT, [], {"band": ("s",)}, r"band= is \('s',\); expected two columns, such as \('low', 'high'\)"),
    (RESULT, [], {"timezone": "Mars"}, r"timezone is 'Mars'; expected the name of a zone, such as 'Europe/Berlin'"),
    (COUNTS, [], {}, r"plot\(kind='lines'\) is given 300 keys; expected at most 20: keep .* them, or kind='heat'"),
    (COUNTS, [], {"kind": "heat"}, r"plot\(kind='heat'\) is given 300 keys; expected at most 200: keep some of them"),
    (OF_KEYS.events.window(ff.around(time=(-1, 0))).aggregate(n=ff.Count()), [], {"kind": "heat"},
        r"plot\(kind='heat'\) is given rows by 'at'; expected one output of .*"),
    (COUNTS.slice(0, 0), [], {}, r"plot\(\) is given 0 rows; expected 1 to 50,000: .*"),
    (OF_KEYS, [], {}, r"plot\(\) is given a query; expected its result, that of .aggregate\(...\)"),
    (KEYS, [], {}, r"plot\(\) finds no window in the columns 't', 'k'; expected a result with one, or time= and by="),
    (OF_KEYS.aggregate(x=ff.CollectList("k")), [], {},
        r"plot\(\) finds no column of numbers; expected the name of one"),
    (BARS, [], {}, r"plot\(\) finds no column of numbers; expected the name of one, such as 'bar\.close'"),
    (BARS, ["bar"], {}, r"plot\(\) is given 'bar', which is struct<.*>; expected a column .*, such as 'bar\.close'"),
    (COUNTS, [], {"timezone": "UTC"}, r"timezone is 'UTC', but the time 'window.start' is an integer column .*"),
    (5, [], {}, r"plot\(\) is given 5; " + A_RESULT),
]  # fmt: skip


@pytest.mark.parametrize(("result", "outputs", "choices", "sentence"), REFUSED, ids=[each[3] for each in REFUSED])
def test_what_a_chart_cannot_be_made_of(result: Any, outputs: list[str], choices: Any, sentence: str) -> None:
    with pytest.raises(ff.QueryError, match=f"^{sentence}$"):
        ff.plot(result, *outputs, **choices)


def test_a_chart_has_a_bound(limit: Callable[..., None]) -> None:
    limit(chart_rows=299)
    with pytest.raises(ff.QueryError, match=r"^plot\(\) is given 300 rows; expected 1 to 299: "):
        ff.plot(COUNTS, kind="heat")


def test_results_of_spark_in_the_zone_of_its_session(spark: SparkSession) -> None:
    from ..support.spark_results import conf

    result = quarters(spark.createDataFrame(TRIPS))
    stream = spark.readStream.format("rate").load()
    with conf(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        expected = lines_of(ff.plot(quarters(), "s", timezone="America/New_York"), "window_start", "s")
        for given in (result, result.toPandas()):
            assert lines_of(ff.plot(given, "s"), "window_start", "s") == expected
        assert lines_of(ff.plot(result.toArrow(), "s"), "window_start", "s") == STEPS  # Spark says that it is in UTC
        assert ff.plot(result, "s").to_dict()["encoding"]["x"]["title"] == "window_start (America/New_York)"
        assert lines_of(ff.plot(result, "s", timezone="UTC"), "window_start", "s") == STEPS
        assert len(lines_of(ff.plot(result.collect(), "s"), "window_start", "s")) == len(STEPS)
        with (
            limits(chart_rows=2),
            pytest.raises(ff.QueryError, match=r"^plot\(\) is given more rows; expected 1 to 2: "),
        ):
            ff.plot(result, "s")
        with pytest.raises(ff.ColumnError, match=r"^plot\(\) names 'sum', which the result lacks"):
            ff.plot(result, "sum")
        with pytest.raises(ff.QueryError, match=r"^plot\(\) is given a stream; expected results that are there"):
            ff.plot(stream)
