"""Scans: the states of all beginnings (or ends) of many blocks of rows at once.

Control goes along the blocks, data across them: step s combines the s-th row of every block that is that long with
what its block has so far. The rows are laid out step by step (the jagged diagonals of sparse matrices; Y. Saad,
"Krylov subspace methods on supercomputers", 1989), so that every step works on contiguous arrays.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..aggregators.binding import Bound
from ..aggregators.fields import Rows, concatenate
from ..aggregators.operation import State

Ints = NDArray[np.int64]


def take(states: State, rows: Rows) -> State:
    """Some rows of states."""
    return {key: column[rows] for key, column in states.items()}


def join(pieces: list[State]) -> State:
    """Pieces of states one after the other."""
    return {key: concatenate([piece[key] for piece in pieces]) for key in pieces[0]}


class Scan:
    """The states of the first 1, 2, 3, ... rows of each block, or backwards: of its last 1, 2, 3, ... rows.

    Costs one combine for each row but a block's first, and as many calls as the longest block has rows.

    Parameters
    ----------
    operation
        What combines.
    states
        One state a row.
    starts, lengths
        The blocks: their first rows, and how many rows each has (at least 1). They may overlap.
    backwards
        Whether to go from each block's last row to its first.
    """

    def __init__(self, operation: Bound, states: State, starts: Ints, lengths: Ints, backwards: bool = False) -> None:
        self.rank = np.empty(len(starts), np.int64)
        by_length = np.argsort(-lengths, kind="stable")
        self.rank[by_length] = np.arange(len(starts))
        longest = int(lengths.max()) if len(lengths) else 0
        active = np.searchsorted(-lengths[by_length], -np.arange(longest), side="left")
        self.offsets = np.concatenate([[0], np.cumsum(active)]).astype(np.int64)
        if not longest:
            self.states = take(states, slice(0, 0))
            return
        block = np.repeat(np.arange(len(starts)), lengths)
        step = np.arange(len(block)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        rows = np.empty(len(block), np.int64)
        rows[self.offsets[step] + self.rank[block]] = (
            starts[block] + lengths[block] - 1 - step if backwards else starts[block] + step
        )
        laid_out = take(states, rows)
        pieces = [take(laid_out, slice(0, int(active[0])))]
        for s in range(1, longest):
            count = int(active[s])
            so_far = take(pieces[-1], slice(0, count))
            row = take(laid_out, slice(int(self.offsets[s]), int(self.offsets[s + 1])))
            pieces.append(operation.combine(row, so_far) if backwards else operation.combine(so_far, row))
        self.states = join(pieces)

    def position(self, block: Ints, rows: Ints) -> Ints:
        """Where in ``states`` the state of each block's first (or last) so many rows is; ``rows`` counts from 1."""
        return cast(Ints, self.offsets[rows - 1] + self.rank[block])
