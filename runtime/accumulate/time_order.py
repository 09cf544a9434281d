"""Events in the order of their keys, then of their times; numbered where windows are counted in rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators import loops
from ...aggregators.ranges.item_ranges import ascends
from ...aggregators.states.alike import are_numbers, numbers
from ...aggregators.states.arrays import Index, Ints
from ...aggregators.states.large import of_words, take, words_of
from ..columns.key_codes import code_key, dictionary, encode, key_codes, match, pack, span, subtract
from ..columns.plain import key_column, normalised, plain
from ..columns.sorting import dense, differs, few_runs, stable_order
from ..plan.plan import Plan, with_keys_numbered
from ..threads import at_once, parts_of
from ..tuning import KEYS_ROWS, MAX_SPARSE


def sorted_events(plan: Plan, events: pa.Table, *, dictionaries: bool = False) -> pa.Table:
    """Events by key, then time, ties and input order; with row numbers where windows are counted in rows.

    Parameters
    ----------
    plan
        What is computed.
    events
        With a time each.
    dictionaries
        Whether keys that are text may come with a dictionary, so that nobody makes one anew.
    """
    types = plan.input_schema
    columns = {name: plain(events.column(name), types.field(name).type) for name in (plan.time, *plan.ties)}
    ties = [encode(normalised(columns[name]), ordered=True) for name in plan.ties]
    times = pack([span(plan.times.ticks(columns[plan.time])), *ties], len(events))
    of_keys = {name: with_dictionary(events, name, types.field(name).type) for name in plan.by}
    keys = key_codes([normalised(column) for column in of_keys.values()], len(events), ordered=True)
    for name, column in of_keys.items():
        if dictionaries and isinstance(column, pa.DictionaryArray):
            events = events.set_column(events.schema.get_field_index(name), name, column)
    order = ordered(*keys, *times)
    if order is not None:
        rows = pa.array(order)
        taken = [take(column, rows) for column in events.columns]
        events = pa.table(taken, names=events.schema.names)
    if plan.in_rows:
        codes = keys[0] if order is None else keys[0][order]
        ranks = np.arange(len(codes))
        if keys[1] > 1:
            first = np.flatnonzero(differs(codes))
            ranks -= np.repeat(first, np.diff(np.append(first, len(codes))))
        events = events.append_column(plan.rank, pa.array(ranks))
    return events


class Keyed(NamedTuple):
    """The key of each event as a number, and the order of events in time.

    Attributes
    ----------
    codes, size
        For each of the parts of the events, a number below ``size`` for each.
    by_time
        The stable order of events by time and ties; None: as they are.
    """

    codes: list[NDArray[Any]]
    size: int
    by_time: Index | None

    @classmethod
    def of(cls, plan: Plan, events: pa.Table) -> Keyed:
        """Those of the events of a plan, with a time each."""
        return cls(*key_numbers(plan, events, parts_of(len(events))), time_order(plan, events))


class WholeKeys:
    """Events of some keys at a time, sorted, for results that are put beside them: keys come in any order.

    Parameters
    ----------
    plan
        What is computed.
    events
        In any order, with a time each.
    keyed
        What is known of these; None: nothing yet.

    Attributes
    ----------
    plan
        The same of events that have the number of their key.
    counts
        How many events each key has.
    place
        The place of each event among the sorted ones; None where they are sorted.
    """

    def __init__(self, plan: Plan, events: pa.Table, keyed: Keyed | None = None) -> None:
        self.plan, self.names, rows = with_keys_numbered(plan), plan.by, len(events)
        parts = parts_of(rows)
        codes, size, by_time = keyed or Keyed.of(plan, events)
        if by_time is not None:
            whole = np.concatenate(codes)[by_time]
            codes = [whole[some] for some in parts]
        counts = at_once(partial(counted, size), codes)
        self.counts = np.sum(counts, axis=0)
        self.ends = np.cumsum(self.counts)
        place, free = np.empty(rows, np.int64), np.cumsum([self.ends - self.counts, *counts[:-1]], axis=0)
        at_once(lambda at: loops.place_codes(codes[at], free[at], place[parts[at]]), range(len(parts)))
        if by_time is not None:
            place, sorted_by_time = np.empty(rows, np.int64), place
            place[by_time] = sorted_by_time
        self.place = None if are_numbers(place) else place
        self.columns = self._sorted(events.select([name for name in self.plan.columns if name not in self.plan.by]))

    def _sorted(self, events: pa.Table) -> pa.Table:
        if self.place is None:
            return events
        return pa.table(put_in_place(self.place, events.columns), names=events.schema.names)

    def parts(self) -> Iterator[slice]:
        """The rows of some keys at a time: about :data:`KEYS_ROWS`."""
        cuts = self.ends[np.flatnonzero(np.diff(self.ends // KEYS_ROWS, prepend=0))].tolist()
        for start, end in itertools.pairwise(dict.fromkeys([0, *cuts, len(self.columns)])):
            yield slice(start, end)

    def within(self, rows: slice) -> tuple[int, int]:
        """The first and the last number of the keys of some rows, which are of whole keys; where there are none, -1."""
        if rows.start == rows.stop:
            return -1, -1
        first, last = np.searchsorted(self.ends, [rows.start, rows.stop - 1], side="right").tolist()
        return first, last

    def labels(self, events: pa.Table, keys: Sequence[pa.Array]) -> tuple[Ints, Ints]:
        """The rows of a table of keys, sorted by the number of each among those of events, -1 for none; and these."""
        first = np.where(self.counts > 0, self.ends - self.counts, -1)
        if self.place is not None:
            order = np.empty(len(self.place), np.int64)
            loops.put_words(numbers(len(order)), self.place, order)
            first = np.where(first < 0, -1, order[np.minimum(first, len(order) - 1)])
        found = codes_of_keys(events, self.names, first, keys)
        order = stable_order(found + 1, len(self.counts) + 1)
        return order, found[order]

    def events(self, rows: slice) -> tuple[pa.Table, Index]:
        """The events of some rows, which are of whole keys, and where those of each key begin."""
        first, last = self.within(rows)
        counts = self.counts[first : last + 1]
        starts = (np.cumsum(counts) - counts)[counts > 0]
        found = self.columns[rows].add_column(0, self.plan.by[0], pa.array(np.repeat(np.arange(len(counts)), counts)))
        if not self.plan.in_rows:
            return found, starts
        ranks = np.empty(len(found), np.int64)
        loops.number_runs(starts, ranks)
        return found.append_column(self.plan.rank, pa.array(ranks)), starts


def codes_of_keys(events: pa.Table, by: Sequence[str], first: Ints, keys: Sequence[pa.Array]) -> Ints:
    """The codes of other keys than those of events, -1 for none, by the first event of each code, -1 for none."""
    known = np.flatnonzero(first >= 0)
    rows = pa.array(first[known])
    mine = [plain(events.column(name).take(rows), key.type) for name, key in zip(by, keys, strict=True)]
    found: Ints = np.append(known, -1)[match(mine, keys)]
    return found


def key_numbers(plan: Plan, events: pa.Table, parts: list[slice]) -> tuple[list[NDArray[Any]], int]:
    """For each part, a number below their size for each event's key: equal ones of equal keys, in no order."""
    columns = [key_column(events, name, plan.input_schema.field(name).type) for name in plan.by]
    coded = [coded_at_once(column, parts) for column in columns]
    size = math.prod(count for _, count in coded)
    if len(coded) == 1 and size <= max(MAX_SPARSE, 4 * len(events)):
        return coded[0]
    if size <= max(MAX_SPARSE, 4 * len(events)):
        return at_once(lambda at: packed_part(coded, at, parts[at]), range(len(parts))), size
    found, _ = pack([(np.concatenate(codes, dtype=np.int64), count) for codes, count in coded], len(events))
    found, size = dense(found)
    return [found[rows] for rows in parts], size


def packed_part(coded: list[tuple[list[NDArray[Any]], int]], at: int, rows: slice) -> Ints:
    """The codes of several columns of a part, by its number, as one."""
    return pack([(codes[at].astype(np.int64), count) for codes, count in coded], rows.stop - rows.start)[0]


def coded_at_once(column: pa.Array, parts: list[slice]) -> tuple[list[NDArray[Any]], int]:
    """For each part, a code from 0 for each value of a key column, in no order; and how many there are."""
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if not text or len(parts) < 2 or few_runs(column) is not None:
        found = code_key(column)
        numbers_of_all = subtract(found.codes, found.least)
        return [numbers_of_all[rows] for rows in parts], found.count
    several = at_once(lambda rows: dictionary(column[rows]), parts)
    values = pa.concat_arrays([values for _, values in several]).dictionary_encode(null_encoding="encode")
    cuts = np.cumsum([len(values) for _, values in several])[:-1]
    own = np.split(values.indices.to_numpy(), cuts)
    codes = at_once(lambda each: np.take(*each), list(zip(own, [codes for codes, _ in several], strict=True)))
    return codes, len(values.dictionary)


def counted(size: int, codes: NDArray[Any]) -> Ints:
    """How many rows have each code below a size."""
    counts = np.zeros(size, np.int64)
    loops.count_codes(codes, counts)
    return counts


def time_order(plan: Plan, events: pa.Table) -> Index | None:
    """The stable order of events by time and ties; None: as they are."""
    types = plan.input_schema
    columns = {name: plain(events.column(name), types.field(name).type) for name in (plan.time, *plan.ties)}
    ticks = plan.times.ticks(columns[plan.time])
    if not plan.ties and ascends(ticks):
        return None
    ties = [encode(normalised(columns[name]), ordered=True) for name in plan.ties]
    times, size = pack([span(ticks), *ties], len(events))
    return None if ascends(times) else stable_order(times, size)


def put_in_place(place: Ints, columns: list[pa.ChunkedArray]) -> list[pa.Array | pa.ChunkedArray]:
    """Columns whose values are at other places."""
    given = list(map(words_of, columns))
    made = [[np.empty_like(words) for words in several] for several in given]
    pairs = zip(itertools.chain(*given), itertools.chain(*made), strict=True)
    tasks = [(words[rows], place[rows], to) for words, to in pairs for rows in parts_of(len(place))]
    at_once(lambda each: loops.put_words(*each), tasks)
    order = None
    if not all(made):
        order = np.empty(len(place), np.int64)
        order[place] = np.arange(len(place))
    return [
        of_words(words, column.type) if words else take(column, pa.array(order))
        for words, column in zip(made, columns, strict=True)
    ]


def with_dictionary(events: pa.Table, name: str, type: pa.DataType) -> pa.Array:
    """A key column with a sorted dictionary where it is text without a null, or has a dictionary; else as it is."""
    found = key_column(events, name, type)
    if pa.types.is_string(found.type) or pa.types.is_large_string(found.type):
        found = found.dictionary_encode()
    if not isinstance(found, pa.DictionaryArray):
        return found
    if found.null_count or found.dictionary.null_count:
        return plain(events.column(name), type)
    ranks, count = encode(found.dictionary, ordered=True)
    first = np.zeros(count, np.int64)
    first[ranks] = np.arange(len(ranks))
    codes = ranks.astype(np.int32)[found.indices.to_numpy()]
    return pa.DictionaryArray.from_arrays(codes, found.dictionary.take(pa.array(first)))


def ordered(keys: Ints, key_size: int, times: Ints, time_size: int) -> Index | None:
    """The stable order of rows by two columns of codes from 0 to below their sizes; None: as they are."""
    if ascends(times):
        return None if ascends(keys) else stable_order(keys, key_size)
    by_time = stable_order(times, time_size)
    return by_time[stable_order(keys[by_time], key_size)]
