"""The laws of aggregation: claims about groups of events."""

from __future__ import annotations

import copy
import functools
import itertools
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import cloudpickle
import numpy as np
import pyarrow as pa

from ..contract.aggregate import Bindable, State, StateRanges
from ..contract.bound import BoundAggregate, length
from ..contract.frames import Frames
from ..errors import FramefoldError, LawError, OperationError
from ..intervals.time_weighted import Lifetimes, lifetimes_of
from ..states.arrays import Ints
from ..states.fields import Column, Compensated
from ..states.objects import Objects
from ..states.rows import join, take
from .tolerance import LAST, NUDGE, close, nudge, size_of

Rows = list[int]

Groups = Sequence[Rows]
"""A group of rows for each example."""

LIFE, LIVES = 7919, 1009
"""Lifetimes of up to LIVES ticks, which differ by LIFE from row to row: primes, so that few are equal."""

TRIALS = 4
"""How often each column of numbers is perturbed, to estimate the effect of rounding on a result."""


@dataclass(frozen=True)
class Claim:
    """A law's claim about examples: two columns of states have equal results.

    Attributes
    ----------
    named, found
        A state, in words after the name of the law, and as columns.
    other, expected
        The expected state, in words and as columns.
    scale
        States whose results give the scale of rounding; None where results must be equal to the last bit.
    groups
        The groups of rows that the examples are made of.
    results
        The results that are found, where no state has them.
    """

    named: str
    found: State
    other: str
    expected: State
    groups: dict[str, Groups]
    scale: Sequence[State] | None = ()
    results: list[Any] | None = None


class Laws:
    """The laws of one operation, each a function from examples, of up to three groups of rows each, to claims.

    Parameters
    ----------
    operation, columns
        The operation, and events in columns by name.
    bound
        The operation bound to their types; bound here where None.
    """

    def __init__(
        self, operation: Bindable, columns: Mapping[str, pa.Array], bound: BoundAggregate | None = None
    ) -> None:
        self.operation = operation
        self.columns = columns
        self.rows = len(next(iter(columns.values())))
        if bound is None:
            try:
                bound = BoundAggregate("check_laws", operation, [columns[name].type for name in operation.columns])
            except OperationError as error:
                raise error.__cause__ if isinstance(error.__cause__, LawError) else error from None
        self.bound = bound
        self.lives = lifetimes_of(self.bound) is not None

    def all(self) -> list[Law]:
        """The laws that apply."""
        laws: list[Law] = [Laws.identity, Laws.associativity, Laws.split, Laws.elements, Laws.purity, Laws.travel]
        if self.bound.operation.has("deduct"):
            laws.append(Laws.deduct)
        if self.bound.spec.commutative or self.bound.operation.commutative:
            laws.append(Laws.commutativity)
        if self.bound.answers_ranges:
            laws.append(Laws.ranges)
        return laws

    def identity(self, a: Groups, b: Groups, c: Groups) -> Iterator[Claim]:
        states = self.states(a)
        create = take(self.bound.identity, np.zeros(len(a), np.intp))
        yield Claim("identity: combine(create, a)", self.bound.combine(create, states), "a", states, {"a": a})
        yield Claim("identity: combine(a, create)", self.bound.combine(states, create), "a", states, {"a": a})

    def associativity(self, a: Groups, b: Groups, c: Groups) -> Iterator[Claim]:
        combine = self.bound.combine
        x, y, z = self.in_order(a, b, c)
        left, right = combine(combine(x, y), z), combine(x, combine(y, z))
        yield Claim("associativity: (a b) c", left, "a (b c)", right, {"a": a, "b": b, "c": c}, (x, y, z))

    def split(self, a: Groups, b: Groups, c: Groups) -> Iterator[Claim]:
        x, y = self.in_order(a, b)
        at_once = self.states([one + other for one, other in zip(a, b, strict=True)])
        named = "split: combine(accumulate(a), accumulate(b))"
        yield Claim(named, self.bound.combine(x, y), "accumulate(a + b)", at_once, {"a": a, "b": b}, (x, y))

    def elements(self, a: Groups, b: Groups, c: Groups) -> Iterator[Claim]:
        x, y, z = map(self.states, (a, b, c))
        together, groups = self.states([*a, *b, *c]), {"a": a, "b": b, "c": c}
        yield Claim("elements: accumulate of three frames", together, "one by one", join([x, y, z]), groups)
        columns = self.bound.combine(join([x, y]), join([y, z]))
        singles = join([self.bound.combine(x, y), self.bound.combine(y, z)])
        yield Claim("elements: combine of columns", columns, "one by one", singles, groups)

    def deduct(self, a: Groups, b: Groups, c: Groups) -> Iterator[Claim]:
        x, y = self.in_order(a, b)
        both = self.bound.combine(x, y)
        if any(np.isinf(cast(Compensated, both[key]).magnitude()).any() for key in self.bound.compensated):
            return  # too large for a pair of floats: no window slides by it
        exact = self.bound.deducts[0] and not self.bound.compensated
        rest, groups = self.bound.deduct(both, x), {"a": a, "b": b}
        yield Claim("deduct: deduct(combine(a, b), a)", rest, "b", y, groups, None if exact else (x, y))

    def commutativity(self, a: Groups, b: Groups, c: Groups) -> Iterator[Claim]:
        x, y = self.in_order(a, b)
        one, other = self.bound.combine(x, y), self.bound.combine(y, x)
        yield Claim("commutativity: combine(a, b)", one, "combine(b, a)", other, {"a": a, "b": b}, (x, y))

    def ranges(self, a: Groups, b: Groups, c: Groups) -> Iterator[Claim]:
        x, y, z = self.in_order(a, b, c)
        combined = {(0, 0): self.bound.identity, (0, 1): x, (1, 2): y, (2, 3): z}
        combined[0, 2], combined[1, 3] = self.bound.combine(x, y), self.bound.combine(y, z)
        combined[0, 3] = self.bound.combine(combined[0, 2], z)
        forward = sorted(combined)
        for way in (forward[:3] + forward[4:], forward[::-1]):  # both ends ascend; in another order, and nested
            low, high = np.array(way).T
            found = self.bound.finish_ranges(join([x, y, z]), Combined(low, high))
            if found is not None:
                found = self.bound.finish(found) if isinstance(found, Mapping) else found
                expected = join([combined[each] for each in way])
                named = f"ranges: finish_ranges from {low.tolist()} to {high.tolist()} of a, b, c"
                groups = {"a": a, "b": b, "c": c}
                yield Claim(named, expected, "that of combined states", expected, groups, (x, y, z), found.to_pylist())

    def purity(self, a: Groups, b: Groups, c: Groups) -> Iterator[Claim]:
        x, y, z = self.in_order(a, b, c)
        before = [_frozen(state) for state in (x, y, z)]
        joined = self.bound.combine(x, y)
        kept, first = _frozen(joined), self.finished(joined)
        self.bound.combine(joined, z)
        if self.bound.operation.has("deduct"):
            self.bound.deduct(joined, x)
        shown = self.shown({"a": a, "b": b, "c": c})
        for name, state, frozen in zip("abc", (x, y, z), before, strict=True):
            if _frozen(state) != frozen:
                said = self.operation.in_its_words("purity: a combine, deduct or finish changed its argument")
                raise LawError(f"{said} {name}; {shown}")
        if _frozen(joined) != kept or not close(self.finished(joined), first, None):
            raise LawError(f"purity: a state changed after it was combined or finished; {shown}")
        yield from ()

    def travel(self, a: Groups, b: Groups, c: Groups) -> Iterator[Claim]:
        states = self.states([*a, *b])
        back = travelled(self.bound, states)
        yield Claim("travel: states that went over the wire", back, "those sent", states, {"a": a, "b": b})

    def require(self, law: Law, a: Rows, b: Rows, c: Rows) -> None:
        """LawError unless all claims of a law about these groups of rows, an example, hold."""
        for number, claim in enumerate(law(self, [a], [b], [c])):
            found = self.finished(claim.found) if claim.results is None else claim.results
            expected = self.finished(claim.expected)
            size = None
            if claim.scale is not None:
                size = max((size_of(self.finished(state)) for state in claim.scale), default=0.0)
            if not (close(found, expected, size) or self._rounded(law, number, claim, found, expected, size)):
                x, y = (values[0] if len(values) == 1 else values for values in (found, expected))
                named, other = map(self.operation.in_its_words, (claim.named, claim.other))
                raise LawError(f"{named} is {x!r}, not {other}, which is {y!r}; {self.shown(claim.groups)}")

    def _rounded(
        self, law: Law, number: int, claim: Claim, found: list[Any], expected: list[Any], size: float | None
    ) -> bool:
        """Whether results differ by no more than the effect of rounding the input."""
        nearby: list[tuple[float, list[Any]]] = []
        for each in self._nearby(law, number, claim) if size is not None else ():
            nearby.append(each)
            if close(found, expected, size, nearby):
                return True
        return False

    def _nearby(self, law: Law, number: int, claim: Claim) -> Iterator[tuple[float, list[Any]]]:
        """The expected results of a claim where a column is perturbed or a row is doubled, each after its weight."""
        groups = {name: several[0] for name, several in claim.groups.items()}

        def expected(laws: Laws, groups: Mapping[str, Rows]) -> list[list[Any]]:
            claims = law(laws, *([groups.get(group, [])] for group in "abc"))
            return [laws.finished(each.expected) for each in itertools.islice(claims, number, number + 1)]

        for name, group in groups.items():
            for row in dict.fromkeys(group):
                with suppress(FramefoldError):  # an error on other events is not one on these
                    yield from ((LAST, result) for result in expected(self, {**groups, name: [*group, row]}))
        rows = pa.array([row for group in groups.values() for row in group])
        place = iter(range(len(rows)))
        alone = {name: list(itertools.islice(place, len(group))) for name, group in groups.items()}
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        for name, seed in itertools.product(columns, range(TRIALS)):
            with suppress(FramefoldError):  # the operation is for integers only, say
                if (column := nudge(columns[name], seed)) is not None:
                    nudged = expected(Laws(self.operation, {**columns, name: column}), alone)
                    yield from ((LAST / NUDGE, result) for result in nudged)

    def states(self, groups: Groups, start: int = 0) -> State:
        """The states of groups of rows, each group one frame, in time order from a tick on."""
        rows = np.array([row for group in groups for row in group])
        index = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        ticks = np.arange(start, start + len(rows))
        frames = Frames(index, len(groups), ticks)
        if self.lives:  # a row has one lifetime, however often it is drawn
            frames = Lifetimes(index, len(groups), ticks, head=rows * LIFE % LIVES + 1, tail=rows % LIVES)
        return self.bound.accumulate(frames, [self.columns[name].take(pa.array(rows)) for name in self.bound.columns])

    def in_order(self, *several: Groups) -> list[State]:
        """The states of groups of rows, each time later than those of the groups before."""
        starts = itertools.accumulate((sum(map(len, groups)) for groups in several[:-1]), initial=0)
        return list(map(self.states, several, starts))

    def finished(self, state: State) -> list[Any]:
        """The results of states as Python values."""
        results: list[Any] = self.bound.finish(state).to_pylist()
        return results

    def shown(self, groups: Mapping[str, Groups]) -> str:
        """The groups of rows of an example in words."""
        of = self.bound.columns
        return "; ".join(
            f"{name}: "
            + (", ".join(f"{c}={self.columns[c].take(pa.array(rows)).to_pylist()}" for c in of) or f"{len(rows)} rows")
            for name, (rows, *_) in groups.items()
        )


class Combined(StateRanges):
    """Ranges of states, over which other operations are computed from states combined one after the other."""

    def finish_others(self, operation: BoundAggregate, states: State, low: Ints, high: Ints) -> pa.Array:
        rows = [
            join([operation.identity, take(states, slice(first, last))])
            for first, last in zip(low.tolist(), high.tolist(), strict=True)
        ]
        return operation.finish(join([reduced(operation, each) for each in rows]))


def reduced(operation: BoundAggregate, states: State) -> State:
    """All states combined to one."""
    each = [take(states, slice(row, row + 1)) for row in range(length(states))]
    return functools.reduce(operation.combine, each)


Law = Callable[[Laws, Groups, Groups, Groups], Iterator[Claim]]


def travelled(bound: BoundAggregate, state: State) -> State:
    """States that went over the wire, and share nothing with those sent."""
    fields = {key: kind.of_pickles(lambda: Objects(trusted=True)) for key, kind in bound.fields.items()}
    return {key: kind.from_arrow(kind.to_arrow(state[key])) for key, kind in fields.items()}


def _frozen(state: State) -> bytes:
    """The bytes of a state, to detect changes."""
    columns: dict[str, Column] = {key: copy.deepcopy(column) for key, column in state.items()}
    frozen: bytes = cloudpickle.dumps({key: parts_of(column) for key, column in columns.items()})
    return frozen


def parts_of(column: Column) -> Any:
    """A column of states as Python values."""
    if isinstance(column, np.ndarray):
        return [pickle.loads(cloudpickle.dumps(value)) for value in column.tolist()]
    return [np.asarray(getattr(column, slot)).tolist() for slot in type(column).__slots__]
