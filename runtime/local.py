"""The local engine: events of one process, accumulated by several threads, to results."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..aggregators.errors import FarTimesWarning, NullTimeError
from ..aggregators.states.alike import numbers
from ..aggregators.states.arrays import Index
from ..aggregators.states.categories import Categories
from .accumulate.accumulate import accumulate
from .accumulate.portions import accumulate_reader
from .accumulate.time_order import Keyed, WholeKeys, sorted_events, time_order
from .columns.field_types import type_of
from .columns.key_codes import edges
from .columns.malloc import give_back
from .columns.plain import plain
from .columns.ticks import drop_null_times, null_times
from .explain import Explanation, explain
from .partials.add_aligned import add_or_append
from .partials.merge import merge
from .partials.partials import Partials
from .plan.bind import BOUNDS
from .plan.plan import Plan, in_this_process
from .plan.text_codes import is_held, with_text_codes
from .progress import watched
from .reporting import LOGGER, report_partials, report_way, warn, warn_of_nulls
from .results.as_they_come import goes_row_by_row, is_as_of, results_as_of, results_as_they_come
from .results.beside import put_beside, put_beside_labels
from .results.chunks import chunks
from .results.extensions import with_extensions
from .results.filled import filled
from .results.finish import Wanted, counted_results, results_of
from .sources.arrow import Reader, Readers, Source
from .sources.computed import with_columns
from .sources.struct_fields import StructFields, struct_paths
from .threads import workers
from .tuning import CHUNK_WINDOWS, FEW_BYTES, HELD_BYTES, PENDING_PARTIALS, PORTION_ROWS

BATCH_ROWS = PORTION_ROWS
"""The events that a thread accumulates at a time: more take more memory, and no less time."""

YEAR_10000 = 2_932_897
"""The days from the epoch to the first one that Python has no date for."""

STAGES = (
    ("accumulate, merge", f"in this process, in threads, {PORTION_ROWS:,} events or more at a time"),
    ("slide, finish", f"in this process, about {CHUNK_WINDOWS:,} windows at a time"),
)
SORTED = (("sort, accumulate, slide, finish", "in this process, all events by key and time"),)
AS_THEY_COME = (("accumulate, slide, finish", "in this process, row by row: events are in the order of time"),)
IF_IN_ORDER = (
    (
        "accumulate, slide, finish",
        "in this process, row by row if events are in the order of time; else they are sorted by key and time first",
    ),
)
"""Where each stage runs, for :func:`~framefold.runtime.explain.explain`; the latter three beside events."""

Item = TypeVar("Item")
Result = TypeVar("Result", bound=tuple[Any, ...])


class LocalEngine:
    """Arrow in, Arrow out, in this process; the methods are those of :class:`framefold.engines.Engine`."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def schema(self, used: Sequence[str]) -> pa.Schema:
        return self.source.schema

    def run(self, query: Plan, options: object) -> pa.Table:
        source, query = with_text_codes(self.source, query)
        return with_extensions(run(source, query), query, self.source.schema)

    def beside(self, query: Plan, options: object, rows: Sequence[str] | pa.Table) -> pa.Table:
        if isinstance(rows, pa.Table):
            source = self.source
            found = beside_labels(source.batches(query.columns).read_all(), query) if is_held(source) else None
            found = self.run(query, options) if found is None else with_extensions(found, query, source.schema)
            return put_beside_labels(rows, found)
        events = self.source.batches(list(dict.fromkeys([*rows, *query.columns]))).read_all()
        found = beside_events(events.select(rows), events.select(query.columns), query)
        return with_extensions(found, query, self.source.schema)

    def explain(self, query: Plan, options: object) -> Explanation:
        beside = query.axis.beside == "event"
        return explain(query, "the local engine", stages_beside(self.source, query) if beside else STAGES)

    def where(self, condition: Any) -> LocalEngine:
        return LocalEngine(self.source.where(condition))

    def with_columns(self, expressions: Mapping[str, Any]) -> LocalEngine:
        return LocalEngine(with_columns(self.source, expressions))

    def with_fields(self, names: Sequence[str]) -> LocalEngine:
        if set(names) <= set(self.source.schema.names):
            return self
        paths = struct_paths(self.source.schema, names)
        return LocalEngine(StructFields(self.source, paths)) if paths else self

    def first_events(self, names: Sequence[str], time: str, most: int) -> tuple[pa.Table, bool]:
        source = self.with_fields(names).source
        known = set(source.schema.names)
        return source.batches([name for name in dict.fromkeys(names) if name in known]).read_all(), True

    def without_time(self, time: str) -> pa.Table:
        source = self.with_fields([time]).source
        type_of(source.schema, time, "time=")
        events = source.batches(source.schema.names).read_all()
        return events.filter(pc.is_null(events.column(time))).select(range(len(self.source.schema)))


def run(source: Source, plan: Plan, readers: Readers | None = None) -> pa.Table:
    """The results of a plan over events: read and accumulate by several threads, merge, slide, finish.

    Functions that a user wrote are called by one thread only.

    Parameters
    ----------
    source
        Events, with at least the plan's columns.
    plan
        What is computed.
    readers
        Of the same events, in the order that the plan needs; None: those of the source.

    Raises
    ------
    NullTimeError
        If events have no time, with their number, unless the plan drops those (a DroppedEventsWarning then has it).
    """
    began = time.monotonic()
    report_way(plan, "the local engine", STAGES)
    plan = in_this_process(plan)
    partials, nulls, events = partials_of(source, plan, readers)
    warn_of_nulls(plan, nulls, events)
    if large := sum(each.table.nbytes for each in partials) >= FEW_BYTES:
        give_back()
    merged = merge([*Partials.of_given_keys(plan), *partials])
    del partials  # merging has copied some of them
    if large:
        give_back()
    report_partials(merged, "the local engine", events)
    return results_of_partials(merged, began, watched_by=not source.shows_progress)


def results_of_partials(
    merged: Partials, began: float, *, watched_by: bool = True, wanted: Wanted | None = None
) -> pa.Table:
    """The results of merged partials, by several threads.

    Parameters
    ----------
    merged
        All partials of a query.
    began
        When the query began, by the monotonic clock.
    watched_by
        Whether it says how far it is.
    wanted
        The windows that are wanted; None: all.
    """
    plan = merged.plan
    threads = pa.cpu_count() if plan.only_library_code else 1
    parts = chunks(merged, CHUNK_WINDOWS)
    watch = partial(watched, what="sliding windows", total=lambda: len(merged), began=began) if watched_by else None
    slid = in_order(partial(counted_results, wanted=wanted), parts, threads, watch)
    tables = (table for _, table in slid)
    found = pa.concat_tables(filled(plan, tables) if plan.filled else tables)
    warn_of_far_times(found, plan)
    LOGGER.info("the local engine gives %s windows", f"{len(found):,}")
    return found


def beside_events(rows: pa.Table, events: pa.Table, plan: Plan) -> pa.Table:
    """Rows, and beside them the outputs of a plan with a window for each event.

    Parameters
    ----------
    rows
        What the outputs are beside: one row an event, in their order.
    events
        Of the plan's columns.

    Raises
    ------
    NullTimeError
        If events have no time, unless the plan drops those: their outputs are null then.
    """
    source, plan = with_text_codes(Source(events), in_this_process(plan))
    some, kept = source.data, None
    if nulls := some.column(plan.time).null_count:
        if plan.null_time == "error":
            raise NullTimeError(null_times(plan.time, nulls, len(events)))
        kept = np.flatnonzero(some.column(plan.time).is_valid().to_numpy())
        some = drop_null_times(some, plan.time)
    keyed = Keyed.of(plan, some)
    found, place = results_as_they_come(plan, some, keyed), None
    if found is None:
        keys = WholeKeys(plan, some, keyed)
        found, place = results_of_whole_keys(keys), keys.place
    else:
        report_way(plan, "the local engine", AS_THEY_COME)
        LOGGER.info("the local engine gives %s windows", f"{len(found):,}")
    if kept is not None:
        own = numbers(len(kept)) if place is None else place
        place = np.full(len(rows), -1)
        place[kept] = own
    return put_beside(rows, place, found)


def stages_beside(source: Source, plan: Plan) -> tuple[tuple[str, str], ...]:
    """Where each stage runs beside events; the order of those that are not held is not known before they are read."""
    if not goes_row_by_row(plan):
        return SORTED
    if not is_held(source):
        return IF_IN_ORDER
    times = source.batches(list(dict.fromkeys([plan.time, *plan.ties]))).read_all()
    return AS_THEY_COME if time_order(plan, drop_null_times(times, plan.time)) is None else SORTED


def results_of_whole_keys(keys: WholeKeys) -> pa.Table:
    """The results beside events that are put in the order of their keys, in that order."""
    plan, rows = keys.plan, len(keys.columns)
    threads = pa.cpu_count() if plan.only_library_code else 1
    if len(keys.counts) < 2 or int(keys.counts.max()) > PORTION_ROWS:  # then a key's events are for several threads
        events = keys.events(slice(0, rows))[0]
        return run(Source(events), plan, Readers(in_turn(of_one_size(events.to_reader())), threads + (threads > 1)))
    report_way(plan, "the local engine", STAGES)
    found = pa.concat_tables(
        table
        for _, table in in_order(
            lambda number, part: (part.stop - part.start, results_of_keys(plan, *keys.events(part))),
            keys.parts(),
            threads,
            partial(watched, what="sliding windows", total=lambda: rows, began=time.monotonic()),
        )
    )
    LOGGER.info("the local engine gives %s windows", f"{len(found):,}")
    return found


def beside_labels(events: pa.Table, plan: Plan) -> pa.Table | None:
    """The numbers of labels, and beside them the outputs of a plan with windows for each; None where labels are few.

    Keys go side by side, with the labels of each: keys that have labels only come last.
    """
    plan, first = in_this_process(plan), plan.axis.windows[0]
    of_keys = [key for _, key in first.anchor_keys]
    kinds = [plan.input_schema.field(name).type for name in plan.by]
    if not of_keys or not len(events) or any(isinstance(kind, Categories) for kind in kinds):
        return None
    if plan.until is not None or events.column(plan.time).null_count:
        return None
    keyed = Keyed.of(plan, events) if is_as_of(plan) else None
    if keyed is not None and (looked_up := results_as_of(plan, events, keyed)) is not None:
        return looked_up
    if not plan.axis.alike or not all(each.same_rows(first) for each in plan.axis.windows):
        return None
    ticks = edges(plan.times.ticks(plain(events.column(plan.time), plan.input_schema.field(plan.time).type)))
    nobody = numbers(0)
    if any(each.of_anchors(nobody, pa.array(nobody), ticks) is None for each in plan.axis.windows):
        return None
    keys = WholeKeys(plan, events, keyed)
    if int(keys.counts.max()) > PORTION_ROWS:  # a key's events are for several threads then
        return None
    labels, own = keys.labels(events, of_keys)
    parts = [*keys.parts(), *([slice(0, 0)] if len(own) and own[0] < 0 else [])]

    def found(number: int, part: slice) -> tuple[pa.Table]:
        first, last = keys.within(part)
        some = slice(*np.searchsorted(own, [first, last + 1]))
        given = (each.of_anchors(labels[some], pa.array(own[some] - first), ticks) for each in plan.axis.windows)
        axis = replace(keys.plan.axis, windows=tuple(each for each in given if each is not None))
        table, starts = keys.events(part)
        results = results_of_keys(replace(keys.plan, axis=axis), table, starts, with_given=part.start == part.stop)
        rows = pa.array(labels[some][results.column(0).to_numpy()])
        return (results.set_column(0, results.schema.field(0), rows),)

    threads = pa.cpu_count() if plan.only_library_code else 1
    return pa.concat_tables(table for (table,) in in_order(found, parts, threads))


def results_of_keys(plan: Plan, events: pa.Table, starts: Index, *, with_given: bool = True) -> pa.Table:
    """The results of the events of whole keys, sorted, by the thread that calls; each begins at one of ``starts``.

    ``with_given`` says whether windows may be given for keys without an event.
    """
    given = Partials.of_given_keys(plan) if with_given else []
    merged = merge([*given, accumulate(plan, events, 0, with_empty=True, starts=starts)])
    return pa.concat_tables(map(results_of, chunks(merged, CHUNK_WINDOWS)))


def warn_of_far_times(results: pa.Table, plan: Plan) -> None:
    """A FarTimesWarning where windows end after the year 9999."""
    bound = plan.times.bound_type
    if pa.types.is_integer(bound) or plan.axis.beside is not None or not len(results):
        return
    windows, days = results.column(len(plan.by)), pa.types.is_date(bound)
    ends = pc.struct_field(windows, 1) if pa.types.is_struct(windows.type) else results.column(BOUNDS[1])
    last = pc.max(ends.cast(pa.int32() if days else pa.int64())).as_py()
    if last is not None and last >= (YEAR_10000 if days else YEAR_10000 * 86_400_000_000):
        year = np.array(last).astype("datetime64[D]" if days else "datetime64[us]").astype("datetime64[Y]")
        warn(
            f"windows end as late as the year {year}: to_pandas and to_pylist fail, since Python has no time beyond "
            f"9999; expected earlier times in {plan.time!r}, which may be in another unit",
            FarTimesWarning,
        )


def partials_of(source: Source, plan: Plan, readers: Readers | None = None) -> tuple[list[Partials], int, int]:
    """The partials of events, in any order, the number of those without a time, and the number of all."""
    partials: list[Partials] = []
    merged = nulls = events = 0
    held = HELD_BYTES - FEW_BYTES
    readers = readers or readers_of(source, plan)
    watch = partial(watched, what="accumulating events", total=source.count, began=time.monotonic())
    parts = in_order(
        partial(accumulate_reader, plan), readers.readers, readers.threads, None if source.shows_progress else watch
    )
    for count, without, found in parts:
        events += count
        nulls += without
        for each in found:
            count = len(partials)
            add_or_append(partials, each)
            held += each.table.nbytes if len(partials) > count > 0 else 0
        # As many new ones as there are merged ones: each is merged a few times only.
        if sum(map(len, partials)) > merged + max(PENDING_PARTIALS, merged):
            partials = [merge(partials)]
            partials[0].release_others()
            merged, held = len(partials[0]), HELD_BYTES
        if held >= HELD_BYTES:
            give_back()
            held = 0
    if nulls and plan.null_time == "error":
        raise NullTimeError(null_times(plan.time, nulls, events))
    return partials or [Partials.none(plan)], nulls, events


def readers_of(source: Source, plan: Plan) -> Readers:
    """The readers of the events, and the number of threads that call them."""
    if not plan.only_library_code:
        return Readers(batches_in_turn(source, plan), 1)
    if not (plan.ordered or plan.in_rows) and (readers := source.readers(plan.columns, plan.by)) is not None:
        return readers
    # One more than there are cores: numpy holds the GIL in some loops, and the others wait for it.
    return Readers(batches_in_turn(source, plan), pa.cpu_count() + 1)


def batches_in_turn(source: Source, plan: Plan) -> Iterator[Reader]:
    """The events batch by batch, as they are read by this thread and those of pyarrow."""
    batches = source.batches(plan.columns)
    return in_turn(by_key_and_time(batches, plan) if plan.ordered or plan.in_rows else of_one_size(batches))


def in_turn(batches: Iterable[pa.Table]) -> Iterator[Reader]:
    """A reader for each batch."""
    for batch in batches:
        yield partial(list, [batch])
        del batch  # or it would be held while the next one is read


def of_one_size(source: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The events in tables of about one size: small batches are concatenated, large ones cut."""
    waiting: list[pa.RecordBatch] = []
    for batch in source:
        for start in range(0, len(batch), BATCH_ROWS):
            waiting.append(batch.slice(start, BATCH_ROWS))
            if sum(map(len, waiting)) >= BATCH_ROWS:
                yield pa.Table.from_batches(waiting)
                waiting = []
        del batch  # or it would be held while the next one is read
    if waiting:
        yield pa.Table.from_batches(waiting)


def by_key_and_time(source: pa.RecordBatchReader, plan: Plan) -> Iterator[pa.Table]:
    """All events by key, then time, ties and input order; with row numbers where windows are counted in rows."""
    events = source.read_all().select(plan.columns)
    column = events.column(plan.time)
    if column.null_count:  # these come first: they are only counted
        nulls = events.filter(pc.is_null(column))
        yield nulls.append_column(plan.rank, pa.array(np.zeros(len(nulls), np.int64))) if plan.in_rows else nulls
        events = drop_null_times(events, plan.time)
    yield from of_one_size(sorted_events(plan, events, dictionaries=True).to_reader())


def in_order(
    function: Callable[[int, Item], Result],
    items: Iterable[Item],
    threads: int,
    watch: Callable[[Iterator[Result]], Iterator[Result]] | None = None,
) -> Iterator[Result]:
    """A function's results for items and their numbers, in the order of the items; a single one takes no thread.

    numpy and pyarrow release the GIL for most of their work, so that threads are enough. No item is held after the
    function has returned.

    Parameters
    ----------
    threads
        The most items that are worked on at a time; one more is held.
    watch
        Gives the same results, where there is more than one.
    """
    numbers, rest = itertools.count(), iter(items)  # enumerate would hold an item while the next one is made
    first = deque(itertools.islice(rest, 2 if threads > 1 else 0))
    if len(first) == 1:
        return map(function, numbers, first)
    found = pooled(function, numbers, first, rest, threads) if first else map(function, numbers, rest)
    return found if watch is None else watch(found)


def pooled(
    function: Callable[[int, Item], Result],
    numbers: Iterator[int],
    first: deque[Item],
    rest: Iterator[Item],
    threads: int,
) -> Iterator[Result]:
    """What :func:`in_order` gives, by several threads, of the first items, which are freed, and the rest."""
    pool = workers(threads)
    waiting: deque[Future[Result]] = deque()
    try:
        while first:
            waiting.append(pool.submit(function, next(numbers), first.popleft()))
        for item in rest:
            waiting.append(pool.submit(function, next(numbers), item))
            del item  # or it would be held while the next one is made
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        wait([each for each in waiting if not each.cancel()])
