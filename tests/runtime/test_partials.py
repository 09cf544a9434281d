"""Partials: grouped rows, nulls left out, and merging that depends on nothing but the order of parts."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

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
    "n": ff.Count(),
    "total": ff.Sum("x"),
    "variance": ff.Variance("x"),
    "low": ff.Min("x"),
    "first": ff.First("s"),
    "last": ff.Last("s"),
    "joined": Joined("s"),
}


def query() -> Plan:
    return trusting(bind(SCHEMA, time="t", by=["k"], window=ff.sliding(6, 2), outputs=OUTPUTS))


def part(seed: int, rows: int = 40) -> pa.Table:
    """Events of three keys; floats of all sizes, so that another order of adding would show."""
    chance = random.Random(seed)
    return pa.Table.from_pylist(
        [
            {
                "t": chance.randrange(12),
                "k": chance.choice(["a", "b", None]),
                "x": chance.choice([None, chance.uniform(-1, 1) * 10.0 ** chance.randrange(-12, 18), 1e300, 0.1]),
                "s": chance.choice([None, f"{seed}.{row};"]),
            }
            for row in range(rows)
        ],
        SCHEMA,
    )


def bits(table: pa.Table) -> list[bytes]:
    """A table's columns to the last bit."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks().take(pa.array(np.arange(len(table)))))
    return [sink.getvalue().to_pybytes()]


@pytest.mark.parametrize("parts", [1, 3, 17])
def test_the_order_in_which_parts_arrive_does_not_matter(parts: int) -> None:
    asked = query()
    made = [stages.accumulate(asked, part(number), number) for number in range(parts)]
    in_order = pa.concat_tables(made)
    orders = (
        list(itertools.permutations(range(parts)))
        if parts <= 3
        else [random.Random(i).sample(range(parts), parts) for i in range(8)]
    )
    merged, results = bits(stages.merge(asked, in_order)), bits(stages.results(asked, in_order))
    for order in orders:
        arrived = pa.concat_tables([made[number] for number in order])
        assert bits(stages.merge(asked, arrived)) == merged
        assert bits(stages.results(asked, arrived)) == results
        rows = np.random.default_rng(sum(order)).permutation(len(arrived))  # rows of one part, too, in any order
        assert bits(stages.merge(asked, arrived.take(pa.array(rows)))) == merged


def test_a_group_is_combined_in_the_order_of_parts() -> None:
    asked = query()
    made = [stages.accumulate(asked, part(number), number) for number in range(17)]
    merged = stages.merge(asked, pa.concat_tables(made[::-1])).to_pylist()
    events = [(row["k"], row["t"] // 2, number, row) for number in range(17) for row in part(number).to_pylist()]
    groups: dict[Any, list[Any]] = {}
    for key, frame, number, row in events:
        groups.setdefault((key, frame), []).append((number, row["t"], row))
    assert [(row["k"], row["frame"]) for row in merged] == sorted(
        groups, key=lambda g: (g[0] is not None, g[0] or "", g[1])
    )
    frames = {
        (row["k"], row["frame"]): row for row in stages.results(asked, pa.concat_tables(made)).to_pylist() and merged
    }
    kind = asked.outputs["joined"].fields["state"]
    column = stages.merge(asked, pa.concat_tables(made)).column("joined.state").combine_chunks()
    texts = kind.from_arrow([column])
    for (place, where), text in zip(enumerate(frames), texts.tolist(), strict=True):
        in_part = sorted(groups[where], key=lambda event: event[:2])  # within a part by time, ties as they came
        assert text == "".join(row["s"] for *_, row in in_part if row["s"] is not None), place
        assert frames[where]["n.count"] == len(in_part)


def test_merging_twice_changes_nothing() -> None:
    asked = query()
    made = [stages.accumulate(asked, part(number), number) for number in range(5)]
    once = stages.merge(asked, pa.concat_tables(made))
    assert bits(stages.merge(asked, once)) == bits(once)
    assert stages.merge(asked, once.slice(0, 0)).num_rows == 0


def test_groups_have_places_or_are_sorted(limit: Callable[..., None]) -> None:
    asked = query()
    made = pa.concat_tables([stages.accumulate(asked, part(number), number) for number in range(5)])
    in_places = stages.merge(asked, made)
    limit(places=0, few_places=0)
    assert bits(stages.merge(asked, made)) == bits(in_places)


def test_what_is_merged_on_the_way_comes_before_what_follows() -> None:
    asked = query()
    made = [stages.accumulate(asked, part(number), number + 3) for number in range(6)]
    early = stages.merge(asked, pa.concat_tables(made[:4]))
    late = stages.merge(asked, pa.concat_tables(made[4:]))
    columns = ["joined.state", "n.count", "first.value", "last.value"]
    whole = stages.merge(asked, pa.concat_tables(made)).select(columns)
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


FLOATS = st.one_of(
    st.floats(-1e280, 1e280), st.sampled_from([1e16, -1e16, 1.0, 1e300, -1e300, math.inf, -math.inf, math.nan])
)


@given(st.lists(st.tuples(st.integers(0, 4), FLOATS, st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=60))
def test_states_of_built_in_operations_are_merged_exactly(rows: list[tuple[int, float, int]]) -> None:
    schema = pa.schema({"t": pa.int64(), "x": pa.float64(), "i": pa.int64(), "b": pa.bool_()})
    outputs = {
        "sum": ff.Sum("x"),
        "top": ff.Max("x"),
        "least": ff.Min("i"),
        "most": ff.Max("i"),
        "mean": ff.Average("i"),
        "n": ff.Count(),
        "apart": ff.Variance("i", ddof=0),
        "all": ff.Min("b"),
        "any": ff.Max("b"),
    }
    asked = trusting(bind(schema, time="t", by=[], window=ff.tumbling(1), outputs=outputs))
    tables = [pa.Table.from_pylist([{"t": t, "x": x, "i": i, "b": i % 2 == 0}], schema) for t, x, i in rows]
    made = pa.concat_tables([stages.accumulate(asked, table, rank) for rank, table in enumerate(tables)])
    for found in stages.results(asked, made).to_pylist():
        of = [row for row in rows if row[0] == found["window"]["start"]]
        floats, integers = [x for _, x, _ in of], [i for *_, i in of]
        assert (found["least"], found["most"], found["n"]) == (min(integers), max(integers), len(of))
        assert (found["all"], found["any"]) == (all(i % 2 == 0 for i in integers), any(i % 2 == 0 for i in integers))
        near = [Fraction(float(i)) for i in integers]
        apart = sum(i * i for i in near) / len(of) - (sum(near) / len(of)) ** 2
        assert found["apart"] == pytest.approx(float(apart), rel=1e-15)
        assert found["mean"] == pytest.approx(float(Fraction(sum(integers), len(of))), rel=1e-15)
        top = math.nan if any(map(math.isnan, floats)) else max(floats)  # NaN is above all others
        assert found["top"] == pytest.approx(top, rel=0, abs=0, nan_ok=True)
        finite = all(map(math.isfinite, floats))
        if finite:
            expected = float(sum(map(Fraction, floats)))
            assert found["sum"] == pytest.approx(expected, rel=1e-15, abs=1e-27 * max(map(abs, floats)))
        else:
            assert str(found["sum"]) == str(sum(x for x in floats if not math.isfinite(x)))


def test_nulls_are_left_out_and_frames_without_values_have_the_identity() -> None:
    schema = pa.schema({"t": pa.int64(), "x": pa.int64(), "y": pa.int64()})
    events = pa.table({"t": [0, 0, 1, 2], "x": [1, None, None, 5], "y": [None, None, 7, None]}, schema)
    outputs = {"x": ff.Sum("x"), "y": ff.Max("y"), "n": ff.Count(), "nx": ff.Count("x")}
    asked = trusting(bind(schema, time="t", by=[], window=ff.tumbling(1), outputs=outputs))
    results = stages.results(asked, stages.accumulate(asked, events, 0)).select(list(outputs)).to_pylist()
    assert results == [
        {"x": 1, "y": None, "n": 2, "nx": 1},
        {"x": None, "y": 7, "n": 1, "nx": 0},
        {"x": 5, "y": None, "n": 1, "nx": 1},
    ]


def test_the_schema_says_what_comes() -> None:
    asked = query()
    made = stages.accumulate(asked, part(0), 3)
    assert made.schema == asked.partials_schema
    assert made.schema.names[:3] == ["k", "frame", "batch_rank"]
    assert set(made["batch_rank"].to_pylist()) == {3}
    made.validate(full=True)
    assert stages.accumulate(asked, part(0).slice(0, 0), 0).schema == asked.partials_schema
    result = stages.results(asked, made)
    assert result.schema == asked.result_schema
    result.validate(full=True)
