"""The state of streams that a release has written is read by this one; another query is refused there."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from .shards import AFTER, BEFORE, HERE, OUTPUTS, SCHEMA, WATERMARK, WINDOWS, Processor, events, made, plan_of

FILES = sorted(HERE.glob("version_*.json"))


def rows(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=repr)


@pytest.mark.parametrize("at_once", [0, 1 << 20])
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_stored_state_goes_on(file: Any, name: str, at_once: int, limit: Callable[..., None]) -> None:
    """As if nothing had been between: what it gives are the batch's windows but for those that were given before."""
    limit(state_bytes_at_once=at_once)
    processor = Processor(plan_of(WINDOWS[name]), json.loads(file.read_text())[name])
    got = processor.batch(WATERMARK, events(AFTER)) + processor.batch(10_000)
    both = pa.concat_tables([events(BEFORE), events(AFTER)])
    batch = ff.events(both, time="time", by="key").window(WINDOWS[name]).aggregate(**OUTPUTS).to_pylist()

    def given(row: dict[str, Any]) -> bool:
        at = row.get("at") or row["window"]["end"]
        return bool(at.timestamp() <= WATERMARK - (name == "last rows"))

    assert rows(got) == rows([row for row in batch if not given(row)])
    assert len(got) >= 5


def test_this_version_has_a_file() -> None:
    [book] = {json.loads(each["book"])["version"] for each in made().values()}
    assert f"version_{book}" in [file.stem for file in FILES]


CHANGED = {
    r"windows \['20s? .*every 7.*became \['20.*every 5": {"windows": ff.sliding("20 seconds", every="5 seconds")},
    r"outputs: s Sum\('x'\) became Max\('x'\)": {"outputs": OUTPUTS | {"s": ff.Max("x")}},
    "outputs: most is new": {"outputs": OUTPUTS | {"most": ff.Max("x")}},
    "outputs: s is gone": {"outputs": {name: OUTPUTS[name] for name in OUTPUTS if name != "s"}},
    "outputs: t is new, s is gone": {"outputs": {{"s": "t"}.get(name, name): OUTPUTS[name] for name in OUTPUTS}},
    r"by \['key \(string\)'\] became \['i \(int32\)'\]": {"by": "i"},
    r"columns .*'i \(int32\)'.* became .*'i \(int64\)'": {"schema": SCHEMA.set(3, pa.field("i", pa.int64()))},
    r"columns .*'i \(int32\)'.* became .*'i \(double\)'": {"schema": SCHEMA.set(3, pa.field("i", pa.float64()))},
}


@pytest.mark.parametrize("said", CHANGED)
def test_another_query_is_refused(said: str) -> None:
    change = {"windows": WINDOWS["sliding"]} | CHANGED[said]
    processor = Processor(plan_of(**change), json.loads(FILES[-1].read_text())["sliding"])
    with pytest.raises(
        ff.EngineError, match=rf"the checkpoint is of another query: .*{said}.*; expected the same query"
    ):
        processor.batch(WATERMARK)


def test_other_parameters_are_refused() -> None:
    """Those that states depend on, which the text of an operation may leave out: the first 3 are not the first 5."""
    window, outputs = WINDOWS["sliding"], {"top": ff.TopN("x", 3), "q": ff.Quantile("x", 0.5)}
    begun = Processor(plan_of(window, outputs=outputs), {})
    begun.batch(WATERMARK, events(BEFORE))
    state = {"partials": {key: base64.b64encode(value) for key, value in begun.tables["partials"].items()}}
    state["book"] = begun.text
    with pytest.raises(ff.EngineError, match=r"parameters: top {'n': 3} became {'n': 5}; expected the same query"):
        Processor(plan_of(window, outputs=outputs | {"top": ff.TopN("x", 5)}), state).batch(WATERMARK)
    assert not Processor(plan_of(window, outputs=outputs | {"q": ff.Quantile("x", 0.9)}), state).batch(WATERMARK)


def test_a_later_release_is_refused() -> None:
    state = json.loads(FILES[-1].read_text())["sliding"]
    state["book"] = json.dumps(json.loads(state["book"]) | {"version": 99})
    with pytest.raises(ff.EngineError, match="the checkpoint has state of version 99, and this framefold knows up to"):
        Processor(plan_of(WINDOWS["sliding"]), state).batch(WATERMARK)


def test_how_long_blocks_of_held_events_are_may_change() -> None:
    """The width follows from the delay of the watermark, which may change: stored blocks keep theirs."""
    name = "last rows"
    processors = [
        Processor(plan_of(WINDOWS[name]), json.loads(FILES[-1].read_text())[name], width) for width in (1, 10**9)
    ]
    one, other = (rows(each.batch(WATERMARK, events(AFTER)) + each.batch(10_000)) for each in processors)
    assert one == other
