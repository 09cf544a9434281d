"""Choices that only streams have: ``.stream(...)``, and the old spelling in ``.options(...)``."""

from __future__ import annotations

import pydoc
import warnings
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = pa.table({"t": [1, 2, 7], "x": [1, 2, 3]})
OF_STREAMS: dict[str, dict[str, Any]] = {
    "shards": {"shards": 2},
    "checkpoint": {"checkpoint": "somewhere"},
    "trust_checkpoint": {"trust_checkpoint": True},
    "forget": {"forget": "1 day"},
    "watermark": {"watermark": "1 minute"},
    "ahead": {"watermark": "1 minute", "ahead": "1 hour"},
    "early": {"early": "1 minute"},
    "late": {"late": "drop_partial"},
    "allowed_lateness": {"late": "update", "allowed_lateness": "1 hour"},
    "history": {"history": TABLE, "until": "2024-01-01"},
}


def ways(data: Any, time: str) -> list[Any]:
    """Before and after the windows."""
    events = ff.events(data, time=time)
    return [events, events.window(ff.tumbling(5) if time == "t" else ff.tumbling("1 hour"))]


@pytest.mark.parametrize("name", OF_STREAMS)
def test_what_is_no_stream_is_refused(name: str) -> None:
    asked = ", ".join(f"{each}=" for each in OF_STREAMS[name]).replace("(", r"\(")
    for query in ways(TABLE, "t"):
        said = rf"^stream\({asked}\) is asked for events that are no stream; expected a stream$"
        with pytest.raises(ff.QueryError, match=said):
            query.stream(**OF_STREAMS[name])


@pytest.mark.parametrize("name", OF_STREAMS)
def test_the_old_spelling_is_the_new_one_with_a_warning(name: str, spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    for query in ways(stream, "timestamp"):
        new = query.stream(**OF_STREAMS[name])
        asked = ", ".join(f"{each}=" for each in OF_STREAMS[name])
        with pytest.warns(DeprecationWarning, match="streams only") as told:
            old = query.options(**OF_STREAMS[name])
        (warning,) = told
        assert str(warning.message) == f"options({asked}) is for streams only; expected .stream({asked})"
        assert warning.filename == __file__
        options = [getattr(each, "events", each).run_options for each in (old, new)]
        assert options[0] == options[1] != getattr(query, "events", query).run_options or name == "history"


def test_of_what_is_no_stream_the_old_spelling_changes_nothing() -> None:
    query = ways(TABLE, "t")[1]
    with pytest.warns(DeprecationWarning, match=r"expected \.stream\(late=\)$"):
        old = query.options(late="drop_partial", combine="driver")
    assert old.aggregate(n=ff.Count()) == query.aggregate(n=ff.Count())


def test_choices_of_all_queries_have_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for query in ways(TABLE, "t"):
            query.options(window="flat", combine="driver", max_driver_partials=7, accumulate="python", read="spark")


def test_what_is_not_known_is_said() -> None:
    query = ways(TABLE, "t")[1]
    for call, said in [
        (lambda: query.stream(watermrk="1 minute"), r"^stream\(\) is given 'watermrk'; did you mean 'watermark'\?$"),
        (lambda: query.stream(combine="driver"), r"^stream\(\) is given 'combine', .*expected \.options\(combine=\)$"),
        (lambda: query.options(lat="drop"), r"^options\(\) is given 'lat'; did you mean 'late'\?$"),
        (lambda: query.stream(shards=0), "^shards is 0, expected a whole number of at least 1$"),
    ]:
        with pytest.raises(ff.QueryError, match=said):
            call()


def test_help_explains_every_choice_at_one_of_the_two() -> None:
    plain = {"window", "combine", "max_driver_partials", "accumulate", "read"}
    for names, method in ((plain, ff.Events.options), ({*OF_STREAMS, "until"}, ff.Events.stream)):
        text = pydoc.render_doc(method, renderer=pydoc.plaintext).partition("Parameters")[2]
        told = {name.strip(" ,") for line in text.splitlines() for name in line.split(",") if line[4:5] != " "}
        assert {each for each in told if each in plain | {*OF_STREAMS, "until"}} == names
