"""What a worker keeps of a shard's state between two micro-batches, and when it reads Spark's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from framefold.spark.streams.state import StateStore, recalled, remember

from ..stored_state.shards import Table
from ..support.inner import place_of


class Map(Table):
    """A map of Spark's state, which counts how often values are read."""

    def __init__(self) -> None:
        super().__init__({})
        self.reads = 0

    def iterator(self) -> Any:
        self.reads += 1
        return super().iterator()

    def getValue(self, key: tuple[int]) -> Any:
        self.reads += 1
        return super().getValue(key)


@pytest.fixture(autouse=True)
def nothing_recent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*place_of("recent states"), {})


def table(*frames: int) -> pa.Table:
    return pa.table({"frame": pa.array(frames, pa.int64())})


def written(of: Map, changes: dict[int, pa.Table | None], store: StateStore | None = None) -> StateStore:
    """A store after a micro-batch that puts and removes pages."""
    store = store or StateStore(of)
    for page, each in changes.items():
        if each is None:
            store.remove(page)
        else:
            store.put(page, each)
    store.write()
    return store


def found(store: StateStore) -> dict[int, Any]:
    return {page: store.get(page).to_pydict()["frame"] for page in sorted(store.pages())}  # type: ignore[union-attr]


def test_what_was_written_is_not_read_again() -> None:
    of = Map()
    first = written(of, {1: table(1, 2), 2: table(3), 3: table(4)})
    mark = remember({"partials": first})
    recent = recalled(mark)["partials"]
    reads = of.reads
    second = written(of, {2: None, 3: table(4, 5)}, StateStore(of, first.size, recent))
    assert (of.reads, found(second)) == (reads, {1: [1, 2], 3: [4, 5]})
    assert found(StateStore(of)) == found(second)
    assert (second.size.rows, second.size.frames, second.size.bytes) == StateStore(of).size


def test_another_mark_is_read_from_spark() -> None:
    """As after a micro-batch that failed once it had written: Spark has the state, and the book, of the one before."""
    of = Map()
    before = written(of, {1: table(1)})
    old, values = remember({"partials": before}), dict(of.values)
    lost = remember({"partials": written(of, {1: table(1, 2)}, StateStore(of, before.size, recalled(old)["partials"]))})
    of.values = values
    assert lost != old
    again = StateStore(of, before.size, recalled(old).get("partials"))
    assert found(again) == {1: [1]}
    assert recalled(None) == recalled("no mark of this worker") == {}


def test_a_mark_is_good_for_once() -> None:
    mark = remember({"partials": written(Map(), {1: table(1)})})
    assert recalled(mark)["partials"].keys() == {1}
    assert recalled(mark) == {}


def test_what_is_not_at_hand_has_no_mark(limit: Callable[..., None]) -> None:
    of = Map()
    size = written(of, {1: table(1), 2: table(2)}).size
    assert remember({"partials": StateStore(of, size)}) is None  # nothing was asked for
    limit(state_bytes_at_once=size.bytes - 1)
    part = StateStore(of, size)
    part.get(1)
    assert remember({"partials": part}) is None  # a part was read
    part.get(2)
    assert remember({"partials": part}) is None  # all of it, and it is too much


def test_the_oldest_are_forgotten(limit: Callable[..., None]) -> None:
    size = written(Map(), {1: table(1)}).size.bytes
    limit(recent_states=2 * size)
    marks = [remember({"partials": written(Map(), {1: table(1)})}) for _ in range(3)]
    assert [bool(recalled(mark)) for mark in marks] == [False, True, True]
    limit(recent_states=0)
    assert recalled(remember({"partials": written(Map(), {1: table(1)})}))  # the newest stays
