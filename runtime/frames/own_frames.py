"""Frames that are cut only where windows of their own key start or end, of windows from another table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Bools, Ints
from ..columns.key_codes import key_codes, match
from ..columns.plain import plain
from ..columns.sorting import dense, differs
from .windows import Windows


class OwnFrames(NamedTuple):
    """The frames of each key, as runs of the frames of all keys between the bounds of its own windows.

    Events of one key in one run are in the same windows, however many windows of other keys cut it.

    Attributes
    ----------
    keys
        The columns of the different keys.
    bounds
        The sorted frames in which a window of any key starts or ends.
    places
        The bounds of each key's own windows: the number of the key and that among ``bounds`` in one, ascending.
    first
        The frame of each of these.
    inside
        Whether a window of the key has the frames from it on.
    """

    keys: list[pa.Array]
    bounds: Ints
    places: Ints
    first: Ints
    inside: Bools

    @classmethod
    def of(cls, kinds: Sequence[Windows]) -> OwnFrames | None:
        """Those of kinds of windows that cut the axis alike; None where any of them is not from a table."""
        found = [each.anchor_frames for each in kinds]
        pairs = [each for each in found if each is not None]
        if len(pairs) < len(kinds):
            return None
        several = [[key for _, key in each.anchor_keys] for each in kinds]
        keys = list(map(pa.concat_arrays, zip(*several, strict=True)))
        codes, _ = dense(key_codes(keys, sum(len(begin) for begin, _ in pairs), ordered=False)[0])
        _, row = np.unique(codes, return_index=True)
        frames = np.concatenate([*(begin for begin, _ in pairs), *(stop for _, stop in pairs)])
        bounds = np.unique(frames)
        places = np.tile(codes, 2) * (len(bounds) + 1) + np.searchsorted(bounds, frames) + 1
        order = np.argsort(places, kind="stable")
        places = places[order]
        fresh = np.flatnonzero(differs(places))
        windows = np.cumsum(np.where(order < len(codes), 1, -1))[np.append(fresh[1:], len(places)) - 1]
        different = [key.take(pa.array(row)) for key in keys]
        return cls(different, bounds, places[fresh], frames[order[fresh]], windows > 0)

    def of_rows(self, keys: Sequence[pa.Array], frames: Ints) -> tuple[Ints, Bools]:
        """The first frame of the run that each row is in, and which rows are in a window of their key."""
        own = np.zeros(len(frames), np.int64)
        if self.keys:
            own = match(self.keys, [plain(key, known.type) for key, known in zip(keys, self.keys, strict=True)])
        number = np.searchsorted(self.bounds, frames, side="right")
        least = own * (len(self.bounds) + 1)
        at = np.searchsorted(self.places, least + number, side="right") - 1
        known = (own >= 0) & (at >= 0)
        at[~known] = 0
        return self.first[at], known & (self.places[at] > least) & self.inside[at]
