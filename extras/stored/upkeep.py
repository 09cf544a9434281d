"""What keeps a stored table small: runs are merged, frames made longer, old ones taken away."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

import numpy as np
import pyarrow as pa

from ...aggregators.durations import Duration, length_of
from ...aggregators.errors import QueryError
from ...aggregators.states.arrays import Bools
from ...runtime.columns.ticks import TimeColumn, describe
from ...runtime.partials.merge import merge
from .commits import MARKS, ROLLUPS, Commit, Rollup, StoredFile
from .layout import Layout
from .table import Change, Table, about

MERGED = ""
"""The run in rows that are of several."""


def compact(table: Table, layout: Layout) -> None:
    """Merge the files of each day into one, in which a key and frame has one row."""

    def compacted(before: Commit, change: Change) -> Commit:
        files: list[StoredFile] = []
        for some in by_day(before.files):
            files += some if len(some) == 1 and not some[0].marks else one_file(change, some)
        return before if {*files} == {*before.files} else replace(before, files=tuple(files))

    table.change(layout, compacted)


def one_file(change: Change, files: Sequence[StoredFile]) -> list[StoredFile]:
    """Files of a day as one; it keeps the name of a run that they are all of."""
    runs, layout = names(files), change.layout
    rows = change.table.read(layout, [each for each in files if not each.marks])
    if len(runs) == 1 and not any(each.merged or each.marks for each in files):
        return change.write(layout.merged(rows, runs[0]), runs)
    return change.write(layout.merged(rows, MERGED), (), runs)


def names(files: Iterable[StoredFile]) -> tuple[str, ...]:
    """The runs whose rows are in files, with their names or without."""
    return tuple(dict.fromkeys(run for each in files for run in (*each.merged, *each.runs)))


def by_day(files: Iterable[StoredFile]) -> list[list[StoredFile]]:
    """Files by the folders that they are in."""
    ordered = sorted(files, key=folder)
    return [list(some) for _, some in itertools.groupby(ordered, folder)]


def folder(file: StoredFile) -> str:
    """The folder of a file, that of its day."""
    return file.path.removeprefix(MARKS).rpartition("/")[0]


def coarsen(table: Table, layout: Layout, longer: Layout, older: Duration) -> None:
    """Merge frames that end long enough before the last one to longer ones; QueryError where these cut any."""

    def coarsened(before: Commit, change: Change) -> Commit:
        if (end := before.end) is None:
            return before
        layout, coarse = change.layout, longer.as_of(before)[0]
        bound = coarse.begin(back(layout.plan.times, end, older))
        files, old, touched = [], [], []
        for each in before.files:
            rows = None if each.marks or each.first >= bound else table.read(layout, [each])
            if rows is None or not (mine := finer(layout, coarse, rows, bound)).any():
                files.append(each)
                continue
            touched.append(each)
            old.append(rows.filter(pa.array(mine)))
            files += change.write(rows.filter(pa.array(~mine)), each.runs, each.merged)
        if not old:
            return before
        rows = coarse.rows(merge(layout.partials(pa.concat_tables(old), coarse.plan)), MERGED)
        return replace(before, files=(*files, *change.write(rows, (), names(touched))))

    table.change(layout, coarsened)


def finer(layout: Layout, coarse: Layout, rows: pa.Table, bound: int) -> Bools:
    """Which rows end by a tick, in frames shorter than others."""
    starts, ends = layout.starts(rows), layout.ends(rows)
    begins, untils = coarse.bounds(starts)
    mine: Bools = (ends <= bound) & (ends - starts < untils - begins)
    return mine


def roll_up(table: Table, layout: Layout, longer: Layout) -> None:
    """Sum the files in each longer frame that has ended to one file beside them, with a row for each key."""

    def rolled_up(before: Commit, change: Change) -> Commit:
        long = longer.as_of(before)[0]
        there, found = {(each.begin, each.until): each for each in before.rollups}, {}
        for (begin, until), files in in_frames(long, before.parts).items():
            old = there.get((begin, until))
            if before.end is None or until > before.end or len(files) < 2:
                continue
            if old is None or {*old.of} != {each.path for each in files}:
                found[begin, until] = rollup(change, long, files, begin, until)
        return replace(before, rollups=tuple((there | found).values())) if found else before

    table.change(layout, rolled_up)


def in_frames(long: Layout, files: Sequence[StoredFile]) -> dict[tuple[int, int], list[StoredFile]]:
    """The files whose rows are in one longer frame, by its start and its end; QueryError where no file is."""
    found = dict[tuple[int, int], list[StoredFile]]()
    bounds = long.bounds(np.array([each.first for each in files], np.int64))
    for file, begin, until in zip(files, *(each.tolist() for each in bounds), strict=True):
        if file.end <= until:
            found.setdefault((begin, until), []).append(file)
    if files and not found:
        (begin, end), one = ((each[0].item() for each in bounds), files[0])
        type = long.plan.times.type
        if pa.types.is_integer(type):
            raise QueryError(
                f"frame is of {end - begin}, and no file lies in one: where times are integers a file has all frames "
                f"of an append(), the first from {one.first} to {one.end}; expected a longer frame, or shorter appends"
            )
        raise QueryError(
            f"frame is of {describe(end - begin, type)}, and the files have longer ones, the first of "
            f"{describe(one.end - one.first, type)}; expected a longer frame, that whole files lie in"
        )
    return found


def rollup(change: Change, long: Layout, files: Sequence[StoredFile], begin: int, until: int) -> Rollup:
    """The rows of files as those of one longer frame."""
    merged = merge(change.layout.partials(change.table.read(change.layout, files), long.plan))
    first, end = min(each.first for each in files), max(each.end for each in files)
    rows = long.rows(merged, MERGED, (np.full(len(merged), first), np.full(len(merged), end)))
    (file,) = change.write(rows, (), folder=ROLLUPS)
    of = tuple(each.path for each in files)
    return Rollup(**asdict(file), of=of, begin=begin, until=until)


def expire(table: Table, layout: Layout, older: Duration) -> None:
    """Take away the frames that end long enough before the last one."""

    def expired(before: Commit, change: Change) -> Commit:
        if (end := before.end) is None:
            return before
        layout = change.layout
        bound = layout.begin(back(layout.plan.times, end, older))
        bound = bound if before.expired is None else max(bound, before.expired)
        old = [each for each in before.files if each.first < bound]
        some = [each for each in old if each.end > bound]
        files = [each for each in before.files if each not in old]
        files += change.rewritten(some, lambda rows: layout.ends(rows) > bound)
        if not old and before.expired == bound:
            return before
        return replace(before, files=tuple(files), expired=bound)

    table.change(layout, expired)


def add_output(table: Table, layout: Layout, more: Layout, names: Sequence[str]) -> None:
    """Change a table to be of more outputs, from the end of its last frame on."""

    def added(before: Commit, _: Change) -> Commit:
        since = before.since if before.end is None else {**before.since, **dict.fromkeys(names, before.end)}
        return replace(before, about=about(more.as_of(before)[0]), since=since)

    table.change(layout, added)


def back(times: TimeColumn, end: int, older: Duration) -> int:
    """The tick that is some time before another one, or before now where that is yet to come."""
    if pa.types.is_integer(times.type):
        return end - times.length(older, "older")
    date = pa.types.is_date(times.type)
    now = datetime.datetime.now(datetime.UTC).timestamp()
    last = min(end, int(now // 86_400) if date else int(now * 1_000_000))
    months = length_of(older, "older").months if isinstance(older, str) else 0
    if not months:
        return last - times.length(older, "older")
    ticks = np.array([last]).view("datetime64[D]" if date else "datetime64[us]")
    month = ticks.astype("datetime64[M]")
    return int(((month - months).astype(ticks.dtype) + (ticks - month.astype(ticks.dtype))).view(np.int64)[0])
