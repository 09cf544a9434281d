"""The laws of a user's operation, tried on made-up events when a query is planned."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..contract.bound import BoundAggregate
from ..contract.operation import State
from ..contract.sample_columns import samples
from ..errors import FramefoldError, ImpureError, LawError, OperationError
from .laws import Groups, Law, Laws, Rows, parts_of, travelled
from .tolerance import close, size_of

TRIPLES = 16
"""Groups of made-up events that are tried, three at a time."""

SUSPECTS = 4
"""The most examples with different results that are examined further: they may differ by rounding only."""

REPEATS = 3
"""How often the trial is repeated where results differ: an operation may be random."""


class Outcome(NamedTuple):
    """The results of a law on many examples: two columns that should be equal."""

    law: Law
    examples: Sequence[tuple[Rows, Rows, Rows]]
    found: pa.Array
    expected: pa.Array
    sizes: Sequence[float]
    """The size of the largest result, for each example."""

    def differing(self) -> list[tuple[Rows, Rows, Rows]]:
        """The examples whose results differ by more than rounding."""
        pairs = zip(self.examples, self.found.to_pylist(), self.expected.to_pylist(), self.sizes, strict=True)
        return [example for example, found, expected, size in pairs if not close(found, expected, size)]


def try_laws(bound: BoundAggregate) -> None:
    """OperationError where ``create`` is no identity, ``combine`` is not associative, or a function changes states.

    Of an operation of a user's, or one that an operation is made of, as far as trials can tell.
    """
    for part in bound.made_of:
        try_laws(part)
    if not ((bound.untrusted or bound.operation.has_user_combine) and bound.spec.try_laws):
        return
    try:
        said = broken_law(bound)
    except ImpureError:
        raise
    except (FramefoldError, ValueError, OverflowError):
        # What fails on made-up events may work on real ones; if not, it raises there. ValueError and OverflowError: a
        # result that Python has no value for, such as a date beyond the year 9999.
        return
    if said is not None:
        raise OperationError(
            f"on made-up events {bound.spec!r} for {bound.name!r} breaks the law of {said}; ff.check_laws tries all "
            "laws on events of yours, and try_laws = False leaves this trial out"
        )


def broken_law(bound: BoundAggregate) -> str | None:
    """The broken law, identity, associativity or purity, in words with its example; None where no example breaks one.

    Random operations pass, and so do those with states equal up to rounding, whatever the results: ``finish`` may
    round, or compare.
    """
    types = dict(zip(bound.columns, bound.types, strict=True))
    columns = samples(list(types.values()), 6 * TRIPLES)
    if columns is None:
        return None
    given = dict(zip(types, columns, strict=True)) or {"": pa.nulls(6 * TRIPLES)}
    try:
        if (said := impurity(_fresh(bound), given)) is not None:
            return said
    except ImpureError:
        raise
    except Exception:  # of copying a user's objects, or of a function on made-up events
        pass
    fresh = _fresh(bound)
    outcomes = _outcomes(Laws(bound.spec, given, fresh))
    if all(each.found.equals(each.expected) for each in outcomes):
        return None
    suspects = [(each.law, example) for each in outcomes for example in each.differing()]
    if not suspects:
        return None
    laws = Laws(bound.spec, given)
    for _ in range(REPEATS):
        if not all(map(_repeatable, outcomes, _outcomes(laws))):
            return None
    suspects.sort(key=lambda suspect: sum(map(len, suspect[1])))
    found = (_broken_by(laws, *suspect) for suspect in suspects[:SUSPECTS])
    return next((said for said in found if said is not None), None)


def _fresh(bound: BoundAggregate) -> BoundAggregate:
    """The operation with an identity of its own: functions that change it must not change what the query uses."""
    fresh = copy.copy(bound)
    fresh.identity = bound.created()
    return fresh


def impurity(bound: BoundAggregate, given: dict[str, pa.Array]) -> str | None:
    """The law of purity where a function changes its arguments so that results differ; else None."""
    laws = Laws(bound.spec, given, bound)
    examples = _examples()
    x, y, z = three = laws.in_order(*examples)
    copies, others = ([travelled(bound, state) for state in three] for _ in range(2))

    def expected(x: State, y: State, z: State) -> list[pa.Array]:
        joined = bound.combine(*(travelled(bound, state) for state in (x, y)))
        return [bound.finish(travelled(bound, state)) for state in (x, y, z, joined)]

    wanted = expected(*copies)
    joined = bound.combine(x, y)
    bound.finish(joined)
    bound.combine(joined, z)
    if bound.operation.has("deduct"):
        bound.deduct(joined, x)
    found = [bound.finish(state) for state in (x, y, z, joined)]
    differing = _differing(found, wanted)
    if not differing or _differing(expected(*others), wanted):  # or random
        return None
    place = min(differing, key=lambda place: sum(len(groups[place]) for groups in examples))
    example = [[groups[place]] for groups in examples]
    try:
        list(Laws(bound.spec, given, _fresh(bound)).purity(*example))
    except LawError as error:
        return str(error)
    shown = laws.shown(dict(zip("abc", example, strict=True)))
    said = bound.spec.in_its_words("purity: a combine, deduct or finish changed a state that it was given")
    return f"{said}; {shown}"


def _differing(found: Sequence[pa.Array], expected: Sequence[pa.Array]) -> set[int]:
    """The places at which any two columns of results differ by more than rounding."""
    return {
        place
        for ours, theirs in zip(found, expected, strict=True)
        if not ours.equals(theirs)
        for place, pair in enumerate(zip(ours.to_pylist(), theirs.to_pylist(), strict=True))
        if not close(*pair, None)
    }


def _examples() -> list[Groups]:
    """The groups of made-up events that are tried, three for each example."""
    index = np.random.default_rng(1).integers(0, 3 * TRIPLES, 3 * TRIPLES)
    sizes = np.bincount(index, minlength=3 * TRIPLES) + 1
    groups = [rows.tolist() for rows in np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1])]
    return [groups[part::3] for part in range(3)]


def _outcomes(laws: Laws) -> list[Outcome]:
    """Identity on the left and on the right of every group of events, and associativity of every three."""
    three = _examples()
    alone = list(itertools.chain.from_iterable(three))
    nothing: Groups = [[]] * len(alone)
    outcomes = []
    for law, examples in ((Laws.identity, [alone, nothing, nothing]), (Laws.associativity, three)):
        for claim in law(laws, *examples):
            found, expected = (laws.bound.finish(states) for states in (claim.found, claim.expected))
            sizes = [list(map(size_of, laws.finished(states))) for states in claim.scale or ()]
            largest = [max(each) for each in zip(*sizes, strict=True)] if sizes else [0.0] * len(found)
            outcomes.append(Outcome(law, list(zip(*examples, strict=True)), found, expected, largest))
    return outcomes


def _repeatable(one: Outcome, other: Outcome) -> bool:
    """Whether the same examples gave the same results."""
    return not any(
        one._replace(found=ours, expected=theirs).differing()
        for ours, theirs in ((one.found, other.found), (one.expected, other.expected))
    )


def _broken_by(laws: Laws, law: Law, example: tuple[Rows, Rows, Rows]) -> str | None:
    """How an example breaks a law, in words; None where it is no more than rounding, of results or of states."""
    try:
        laws.require(law, *example)
    except LawError as error:
        if not all(_alike(claim.found, claim.expected) for claim in law(laws, *([rows] for rows in example))):
            return str(error)
    return None


def _alike(one: State, other: State) -> bool:
    """Whether two states are equal up to rounding; False where they hold objects that cannot be compared."""
    try:
        pairs = [(parts_of(one[key]), parts_of(other[key])) for key in one]
        return all(close(ours, theirs, max(size_of(ours), size_of(theirs))) for ours, theirs in pairs)
    except Exception:  # of comparing or pickling a user's objects
        return False
