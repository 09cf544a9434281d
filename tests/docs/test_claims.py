"""What the README and the page on streams say there is and is not: each tied to what is taken, and what is refused."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from ..support.plans import Operation, bind
from ..support.shards import why_not

ROOT = Path(__file__).parents[2]
README = " ".join((ROOT / "README.md").read_text().split())
STREAMS = (ROOT / "docs" / "streams.md").read_text()
TIME = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema([("t", TIME), ("until", TIME), ("k", pa.string()), ("x", pa.float64())])
GIVEN = pa.table({"from": pa.array([0], TIME), "to": pa.array([9], TIME), "k": ["a"]})

KINDS: dict[str, Any] = {
    "sliding": ff.sliding("1 hour", every="1 minute"),
    "tumbling": ff.tumbling("1 hour"),
    "cumulating": ff.cumulating("1 day", every="1 hour"),
    "landmark": ff.landmark(),
    "session": ff.session("5 minutes"),
    "last_rows": ff.last_rows(3),
    "around": ff.around(rows=(-1, 1)),
    "policy": ff.policy(ff.by_count(3)),
    "windows_from": ff.windows_from(GIVEN, start="from", end="to"),
    "snapshot": ff.snapshot(),
}
"""Every function that makes windows; a new one is to be here as well."""

DELTA = ff.policy(ff.by_delta("x", 1.0), min_fill="full")
EACH_KEY = ff.windows_from(GIVEN, start="from", end="to", by="k", empty="emit")
EMIT = ff.tumbling("1 hour", empty="emit")
REFUSED: dict[str, list[dict[str, Any]]] = {
    "windows filled between two times (`fill_from=`, `fill_to=`)": [
        {"window": [ff.tumbling("1 hour", empty="emit", fill_from="1970-01-01T00:00:00Z")]}
    ],
    "several kinds of windows in one pass with `policy`, landmarks or `empty=\"emit\"` among them": [
        {"window": [KINDS["policy"], KINDS["tumbling"]]},
        {"window": [KINDS["landmark"], KINDS["tumbling"]]},
        {"window": [EMIT, KINDS["session"]]},
    ],
    "`policy` with an eviction by delta and `min_fill=\"full\"`": [{"window": [DELTA]}],
    "windows by key from another data set with `empty=\"emit\"`": [{"window": [EACH_KEY]}],
    "interval events with an operation that depends on their order, with `ties=` or with `empty=\"emit\"`": [
        {"window": [KINDS["tumbling"]], "until": "until", "outputs": {"x": ff.CollectList("x")}},
        {"window": [KINDS["tumbling"]], "until": "until", "ties": ["x"]},
        {"window": [EMIT], "until": "until"},
    ],
}  # fmt: skip


def refusal(query: dict[str, Any]) -> str | None:
    given = {
        "by": ["k"],
        "outputs": {"n": ff.Count()},
        "until": None,
        "longest": None,
        "ties": (),
        "null_time": "error",
    }
    return why_not(bind(SCHEMA, time="t", **(given | query)))


def test_a_stream_is_in_every_kind_of_windows() -> None:
    assert (
        "streams](https://github.com/framefold/framefold/blob/main/docs/streams.md) in every kind of windows" in README
    )
    made = {name for name in ff.__all__ if isinstance(getattr(ff, name), type(ff.sliding))}
    makers = {name for name in made if "Windows" in (getattr(ff, name).__doc__ or "").split(".")[0]}
    makers |= {name for name in made if "window" in (getattr(ff, name).__doc__ or "").splitlines()[0]}
    assert makers - KINDS.keys() <= {"by_count", "by_delta", "by_time", "together", "events"}
    for name, windows in KINDS.items():
        assert refusal({"window": [windows], "until": "until" if name == "snapshot" else None}) is None, name


def test_what_the_page_says_a_stream_refuses_is_refused_and_nothing_else_is_listed() -> None:
    listed = STREAMS.split("## What a stream cannot answer\n")[1].split("\n## ")[0]
    listed = " ".join(listed.split()).removeprefix("It is refused when the query is written, with its reason: ")
    assert [each.strip(" .") for each in listed.split(";")] == list(REFUSED)
    for phrase, queries in REFUSED.items():
        for query in queries:
            assert refusal(query), (phrase, query)


def test_there_are_as_many_aggregates_as_it_says() -> None:
    assert "more than fifty" in README
    named = [getattr(ff, name) for name in ff.__all__ if name not in ("AggregateOperation", "PythonOperation")]
    assert len({each for each in named if isinstance(each, type) and issubclass(each, Operation)}) > 50


def test_the_page_on_streams_has_each_option_of_streams() -> None:
    pytest.importorskip("pyspark")
    from ..support.plans import Options

    words = re.split(r"\n    (\w+)\n        ", Options.__doc__ or "")
    of_streams = {name for name, said in zip(words[1::2], words[2::2], strict=True) if said.startswith("Of a stream")}
    assert {"history", "forget", "checkpoint"} <= of_streams <= {each.name for each in fields(Options)}
    for name in of_streams:
        assert f"{name}=" in STREAMS, name
