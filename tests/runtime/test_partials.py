"""Partials: grouped rows, nulls left out, and merging that depends on nothing but the order of parts."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..support import stages
from ..support.plans import BoundAggregate, Plan, bind, trusting
from ..support.stages import combine_groups
from ..support.toys import Joined

SCHEMA = pa.schema({"t": pa.int64(), "k": pa.string(), "x": pa.float64(), "s": pa.string()})


OUTPUTS = {
    "n": ff.Count(), "total": ff.Sum("x"), "variance": ff.Variance("x"), "low": ff.Min("x"), "first": ff.First("s"),
    "last": ff.Last("s"), "joined": Joined("s"),
}  # fmt: skip


def query() -> Plan:
    return trusting(bind(SCHEMA, time="t", by=["k"], window=ff.sliding(6, 2), outputs=OUTPUTS))


def part(seed: int, rows: int = 40) -> pa.Table:
    """Events of three keys; floats of all sizes, so that another order of adding would show."""
    chance = random.Random(seed)
    of_x = (lambda: None, lambda: chance.uniform(-1, 1) * 10.0 ** chance.randrange(-12, 18), lambda: 1e300, lambda: 0.1)
    return pa.table(
        {
            "t": [chance.randrange(12) for _ in range(rows)],
            "k": [chance.choice(["a", "b", None]) for _ in range(rows)],
            "x": [chance.choice(of_x)() for _ in range(rows)],
            "s": [chance.choice([None, f"{seed}.{row};"]) for row in range(rows)],
        },
        SCHEMA,
    )


def made(parts: int, first: int = 0) -> list[pa.Table]:
    """Partials of some parts, each ranked."""
    return [stages.accumulate(query(), part(number), number + first) for number in range(parts)]


def bits(table: pa.Table) -> bytes:
    """A table's columns to the last bit."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks().take(pa.array(np.arange(len(table)))))
    return bytes(sink.getvalue().to_pybytes())


@pytest.mark.parametrize("parts", [1, 3, 17])
def test_the_order_in_which_parts_arrive_does_not_matter(parts: int, limit: Callable[..., None]) -> None:
    """Nor that of the rows of one part, whether groups have places or are sorted; what is merged stays as it is."""
    asked, some = query(), made(parts)
    whole = stages.merge(asked, pa.concat_tables(some))
    merged, results = bits(whole), bits(stages.results(asked, whole))
    for seed in range(6):
        arrived = pa.concat_tables(random.Random(seed).sample(some, parts))
        assert bits(stages.merge(asked, arrived)) == merged
        assert bits(stages.results(asked, arrived)) == results
        rows = np.random.default_rng(seed).permutation(len(arrived))
        assert bits(stages.merge(asked, arrived.take(pa.array(rows)))) == merged
    assert bits(stages.merge(asked, whole)) == merged
    assert stages.merge(asked, whole.slice(0, 0)).num_rows == 0
    limit(places=0, few_places=0)
    assert bits(stages.merge(asked, pa.concat_tables(some))) == merged


def test_what_is_merged_on_the_way_comes_before_what_follows() -> None:
    asked, some = query(), made(6, first=3)
    early, late = (stages.merge(asked, pa.concat_tables(each)) for each in (some[:4], some[4:]))
    columns = ["joined.state", "n.count", "first.value", "last.value"]
    whole = stages.merge(asked, pa.concat_tables(some)).select(columns)
    assert stages.merge(asked, pa.concat_tables([late, early])).select(columns).to_pydict() == whole.to_pydict()


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.randoms())
def test_groups_of_rows_are_combined_in_their_order(sizes: list[int], chance: random.Random) -> None:
    bound = BoundAggregate("s", Joined("x"), [pa.string()])
    group = [number for number, size in enumerate(sizes) for _ in range(size)]
    chance.shuffle(group)
    letters = [chr(65 + row) for row in range(len(group))]
    calls = []
    combine = bound.operation.combine
    bound.operation.combine = lambda a, b: calls.append(1) or combine(a, b)  # type: ignore[method-assign, func-returns-value]
    first = np.array([group.index(number) for number in range(len(sizes))])
    combined = combine_groups(bound, [{"state": np.array(letters, object)}], np.array(group), first)
    expected = [
        "".join(letter for of, letter in zip(group, letters, strict=True) if of == n) for n in range(len(sizes))
    ]
    assert combined["state"].tolist() == expected
    assert len(calls) == math.ceil(math.log2(max(sizes)))


def test_the_schema_says_what_comes() -> None:
    asked, (some,) = query(), made(1, first=3)
    assert some.schema == asked.partials_schema
    assert some.schema.names[:3] == ["k", "frame", "batch_rank"]
    assert set(some["batch_rank"].to_pylist()) == {3}
    some.validate(full=True)
    assert stages.accumulate(asked, part(0).slice(0, 0), 0).schema == asked.partials_schema
    result = stages.results(asked, some)
    assert result.schema == asked.result_schema
    result.validate(full=True)
