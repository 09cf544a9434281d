"""Scans: the states of all beginnings (or ends) of many segments of rows at once.

Control goes along the segments, data across them: step s combines the s-th row of every segment that is that long
with what its segment has so far. Longest segments first, the states are laid out step by step (the jagged diagonals of
sparse matrices; Y. Saad, "Krylov subspace methods on supercomputers", 1989), so that every step works on contiguous
arrays.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import isqrt
from typing import cast

import numpy as np

from ...aggregators.contract.bound import BoundAggregate, length
from ...aggregators.contract.operation import State
from ...aggregators.states.arrays import Ints
from ...aggregators.states.rows import join, take
from ..tuning import MANY_SEGMENTS, MAX_GROUPS, SHORT_SEGMENT


class Scan:
    """The states of the first 1, 2, 3, ... rows of each segment, or backwards: of its last 1, 2, 3, ... rows.

    Costs one combine for each row but a segment's first, and as many calls as the longest segment has rows.

    Parameters
    ----------
    operation
        What combines.
    states
        One state a row.
    starts, lengths
        The segments: their first rows, and how many rows each has (at least 1). They may overlap.
    backwards
        Whether to go from each segment's last row to its first.
    """

    def __init__(
        self, operation: BoundAggregate, states: State, starts: Ints, lengths: Ints, backwards: bool = False
    ) -> None:
        self.rank = np.empty(len(starts), np.int64)
        by_length = np.argsort(-lengths, kind="stable")
        self.rank[by_length] = np.arange(len(starts))
        longest = int(lengths.max(initial=0))
        active = np.searchsorted(-lengths[by_length], -np.arange(longest), side="left")
        self.offsets = np.concatenate([[0], np.cumsum(active)]).astype(np.int64)
        rows = (starts + lengths - 1 if backwards else starts)[by_length]
        pieces = [take(states, rows)]
        for step, count in enumerate(active[1:].tolist(), start=1):
            so_far, after = take(pieces[-1], slice(0, count)), rows[:count]
            if backwards:
                pieces.append(operation.combine(take(states, after - step), so_far))
            else:
                pieces.append(operation.combine(so_far, take(states, after + step)))
        self.states = join(pieces)

    def position(self, segment: Ints, rows: Ints) -> Ints:
        """The places in ``states`` of the first (or last) ``rows`` rows of each segment; ``rows`` is 1 or more."""
        return cast(Ints, self.offsets[rows - 1] + self.rank[segment])


def piece_size(lengths: Ints) -> int:
    """The rows of the pieces in which segments are scanned; the length of the longest one where it is in one piece.

    >>> piece_size(np.array([10_000])), piece_size(np.full(1_000, 500))
    (100, 500)
    """
    longest = int(lengths.max(initial=1))
    if longest <= SHORT_SEGMENT or int(lengths.sum()) >= MANY_SEGMENTS * longest:
        return longest
    return isqrt(longest - 1) + 1


def beginnings(
    operation: BoundAggregate,
    states: State,
    starts: Ints,
    lengths: Ints,
    segment: Ints,
    rows: Ints,
    backwards: bool = False,
    spare: int | None = None,
) -> State:
    """The states of some beginnings of segments (or ends), in two levels where segments are long.

    Pieces of a segment are scanned side by side, then the totals of its pieces; a beginning is the total of the pieces
    before its last one and a beginning of that (G. E. Blelloch, "Prefix sums and their applications", 1990). Fewer
    calls cost more combines, whatever the algorithm: all beginnings of n rows in a depth of d take at least
    2n - 2 - d of them (M. Snir, "Depth-size trade-offs for parallel prefix computation", 1986).

    Parameters
    ----------
    operation
        What combines.
    states
        One state a row.
    starts, lengths
        The segments, shape (segments,): their first rows, and how many rows each has (at least 1).
    segment, rows
        The beginnings, shape (beginnings,): the first ``rows`` rows (at least 1) of a segment.
    backwards
        Whether to take its last rows instead.
    spare
        How many combines may be spent on a second level; None: any number.

    Returns
    -------
    One state for each beginning, by less than one combine for each row of the segments and at most one for each
    beginning, in about 2 sqrt(n) calls where the longest segment has n rows (n where there are many side by side).

    Examples
    --------
    >>> import framefold as ff
    >>> import pyarrow as pa
    >>> most = BoundAggregate("most", ff.Max("x"), [pa.int64()])
    >>> states = {"value": np.array([3, 1, 4, 1, 5]), "seen": np.ones(5, bool)}
    >>> one = np.array([0])
    >>> beginnings(most, states, one, one + 5, np.zeros(3, np.int64), np.array([1, 2, 4]))["value"].tolist()
    [3, 3, 4]
    """
    size = int(lengths.max(initial=1)) if spare is not None and len(rows) > spare else piece_size(lengths)
    pieces = -(-lengths // size)
    first = np.cumsum(pieces) - pieces
    of = np.repeat(np.arange(len(starts)), pieces)
    before = np.arange(len(of)) - first[of]
    held = np.minimum(size, lengths[of] - before * size)
    skipped = lengths[of] - before * size - held if backwards else before * size
    inner = Scan(operation, states, starts[of] + skipped, held, backwards)
    piece = (rows - 1) // size
    place = inner.position(first[segment] + piece, rows - piece * size)
    beyond = np.flatnonzero(piece)
    if not len(beyond):
        return take(inner.states, place)
    # Every piece that another one of its segment follows is full, and its total is wanted.
    followed = np.flatnonzero(before + 1 < pieces[of])
    totals = take(inner.states, inner.position(followed, np.full(len(followed), size)))
    long = np.flatnonzero(pieces > 1)
    number = np.cumsum(pieces > 1) - 1
    past = np.cumsum(pieces - 1)
    outer_starts = past - (pieces - 1)
    if backwards:  # in time order
        totals, outer_starts = take(totals, slice(None, None, -1)), len(followed) - past
    outer = Scan(operation, totals, outer_starts[long], pieces[long] - 1, backwards)
    so_far = take(outer.states, outer.position(number[segment[beyond]], piece[beyond]))
    rest = take(inner.states, place[beyond])
    joined = operation.combine(rest, so_far) if backwards else operation.combine(so_far, rest)
    place[beyond] = length(inner.states) + np.arange(len(beyond))
    return take(join([inner.states, joined]), place)


Groups = Callable[[BoundAggregate, State, Ints, Ints, Ints], State]
"""What gives the states of windows that fall into groups: of their ranges, and the first ones of groups."""


def in_parts(way: Groups, operation: BoundAggregate, states: State, low: Ints, high: Ints, first: Ints) -> State:
    """Windows that fall into groups, of which ``first`` are the first ones, some groups at a time."""
    bounds = [*first[::MAX_GROUPS].tolist(), len(low)]
    groups = np.split(first, range(MAX_GROUPS, len(first), MAX_GROUPS))
    return join(
        [
            way(operation, states, low[begin:end], high[begin:end], group - begin)
            for (begin, end), group in zip(itertools.pairwise(bounds), groups, strict=True)
        ]
    )
