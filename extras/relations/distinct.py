"""Distinct rows where the one found is kept until it expires, then the youngest equal one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...aggregators.extremes.min_max import Max
from ...aggregators.states.arrays import Ints
from ...runtime.columns.key_codes import pack, span
from ...runtime.columns.sorting import differs
from ...runtime.columns.ticks import NEVER
from ...runtime.local import run
from ...runtime.plan.bind import bind
from ...runtime.sources.arrow import Source
from ...runtime.windows import snapshot
from .overlaps import Validities


def latest(rows: Validities, rank: Ints) -> tuple[Validities, Ints]:
    """From when to when each key has which greatest rank, sorted by key and time; pieces that touch may be equal."""
    table = pa.table({"key": rows.key, "first": rows.first, "until": rows.until, "rank": rank})
    plan = bind(
        table.schema, time="first", by=["key"], until="until", window=snapshot(emit="on_change"),
        outputs={"rank": Max("rank")}, flat=True,
    )  # fmt: skip
    key, first, until, found = (column.fill_null(NEVER).to_numpy() for column in run(Source(table), plan).columns)
    return Validities(key, first, until), found


def distinct(rows: Validities, at: Ints) -> tuple[Ints, Ints]:
    """The rows that are kept at some time, and from when on each is; until it ends.

    Parameters
    ----------
    rows
        When rows are valid; rows of one key are equal.
    at
        The time of each, by which one is younger than another; of one time the later row is.

    Examples
    --------
    >>> same = Validities(*np.array([[0, 0, 0], [0, 1, 9], [4, 5, 13]]))
    >>> [column.tolist() for column in distinct(same, same.first)]
    [[0, 1, 2], [0, 4, 9]]
    """
    if not len(at):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.lexsort((at, rows.first, rows.key))
    key, first, until = rows.at(order)
    by_age = np.argsort(at, kind="stable")
    place, rank = np.argsort(order), np.argsort(by_age)
    pieces, youngest = latest(rows, rank)
    # The piece of its key in which each row ends, and else the next one: there the first row to begin is taken.
    piece = positions(pieces, key, until)
    alive = (pieces.key[piece] == key) & (until < pieces.until[piece])
    following = np.minimum(piece + 1, len(pieces.key) - 1)
    heads = np.flatnonzero(differs(key, first))
    fresh = (piece < following) & (pieces.key[following] == key)
    first_row = positions(rows.at(order[heads]), pieces.key[following], pieces.first[following])
    missing = len(key)
    after = np.where(alive, place[by_age[youngest[piece]]], np.where(fresh, heads[first_row], missing))
    chosen = np.append(differs(key), False)
    jump = np.append(after, missing)
    while (jump < missing).any():  # twice as far each time
        chosen[jump[chosen]] = True
        jump = jump[jump]
    found = np.flatnonzero(chosen[:-1])
    since = first.copy()
    told = found[alive[found]]
    since[after[told]] = until[told]
    return order[found], since[found]


def positions(of: Validities, key: Ints, at: Ints) -> Ints:
    """The last of some validities, sorted by key and begin, that begins by a time in a key, or is of a lesser key."""
    keys = np.concatenate([of.key, key])
    packed, _ = pack([(keys, int(keys.max(initial=0)) + 1), span(np.concatenate([of.first, at]))], len(keys))
    return np.searchsorted(packed[: len(of.key)], packed[len(of.key) :], "right") - 1
