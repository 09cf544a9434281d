"""A table of stored partials: runs are added to it, rows read from it."""

from __future__ import annotations

import datetime
import itertools
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from ...aggregators.errors import EngineError, QueryError
from ...aggregators.states.arrays import Bools, Ints
from ...aggregators.states.categories import Categories
from ...aggregators.states.large import fitting, is_text, one_array
from ...runtime.columns.field_types import CATEGORIES
from ...runtime.columns.key_codes import edges, key_codes
from ...runtime.partials.merge import merge
from ...runtime.partials.partials import Partials
from ...runtime.plan.plan import Plan, changes, differing, fingerprint
from ...runtime.results.finish import Wanted
from ...runtime.sources.files import Files, one_line
from ...runtime.sources.parquet_opening import require_small
from ...runtime.streams.late_events import matched
from ...runtime.threads import at_once
from .asked import Asked, view_of
from .commits import EARLIER, MARKS, VERSION, Commit, Commits, Rollup, Run, StoredFile, schema_text
from .delta import DeltaCommits
from .layout import END, START, Layout, in_parquet


class Written(NamedTuple):
    """Files that have been written, and the number of events in them."""

    files: list[StoredFile]
    events: int


@dataclass(frozen=True)
class Span:
    """Frames that are replaced.

    Parameters
    ----------
    first, until
        The first tick of them, and the first one after them.
    keys
        Whose they are; None: of all keys.
    drop_missing
        Whether keys may be gone that have none of the events which are given instead.
    """

    first: int
    until: int
    keys: pa.Table | None = None
    drop_missing: bool = False

    def has(self, layout: Layout, rows: pa.Table) -> Bools:
        """Which rows are of such frames."""
        starts = layout.starts(rows)
        mine: Bools = (starts >= self.first) & (starts < self.until)
        return mine if self.keys is None else mine & is_of_keys(rows, self.keys)

    def require_keys(self, layout: Layout, gone: pa.Table, given: pa.Table) -> None:
        """QueryError where rows that are gone have keys that those given instead have not."""
        if self.keys is not None or self.drop_missing or not layout.plan.by:
            return
        missing = gone.filter(pa.array(~is_of_keys(gone, given.select(layout.plan.by))))
        if count := len(np.unique(key_codes(layout.keys(missing), len(missing), ordered=False)[0])):
            values = [column[0].as_py() for column in layout.keys(missing)]
            raise QueryError(
                f"refresh() is given no events of {count} keys that are stored from {layout.word(self.first)} to "
                f"{layout.word(self.until)}, such as {values[0] if len(values) == 1 else tuple(values)!r}, which "
                "would be gone; expected all events of that time, keys=[...] for the events of some keys, or "
                "drop_missing=True"
            )


@dataclass(frozen=True)
class Table:
    """Stored partials under a path.

    Parameters
    ----------
    commits
        Its manifests.
    """

    commits: Commits

    @classmethod
    def at(cls, path: str, format: str | None = None) -> Table:
        """The table at a path or address, there or not, in one of the :data:`FORMATS`; None: in that of what is there.

        Raises
        ------
        EngineError
            If a table of the other format is there.
        """
        system, (place,) = Files((path,)).places
        address = place if isinstance(system, LocalFileSystem) else path
        kinds = {name: commits(system, place, address) for name, commits in FORMATS.items()}
        there = next((name for name, commits in kinds.items() if commits.is_there), format or "parquet")
        if format not in (None, there):
            raise EngineError(
                f"the stored partials {place!r} are of format {there!r}; expected it instead of {format!r}"
            )
        return cls(kinds[there])

    def append(self, layout: Layout, merged: Partials, run: str, within: Span | None = None) -> Run:
        """Add the partials of a run; see :meth:`commit`."""
        return self.commit(layout, self.write(layout, layout.rows(merged, run), run, within), run, within)

    def commit(self, layout: Layout, written: Written, run: str, within: Span | None = None) -> Run:
        """Add files as those of a run, all or none; they go where the run is in already. The run as it is in the table.

        Events whose frames are no longer kept are left out.

        Parameters
        ----------
        within
            The frames that they are instead of. None: they are added.

        Raises
        ------
        EngineError
            If the table is of another query, or of events of other types.
        QueryError
            If the order of events counts, and the run has events of frames that are there; or if keys would vanish.
        """
        is_in = False

        def added(before: Commit, change: Change) -> Commit:
            nonlocal is_in
            change.written.extend(written.files)
            if is_in := before.run(run) is not None:
                return before
            own = change.layout
            files, expired = change.kept(before, [replace(each, types=change.types) for each in written.files])
            if written.files and not before.filled and not self.commits.widens:
                self._require_types(own)
            said = about(own) if files or not before.number else before.about
            there = before.files if within is None else change.outside(before, files, run, within)
            if own.plan.ordered:
                self._require_new_frames(own, there, files)
            since = before.since if within is None else reaching(before.since, within)
            new = replace(run_of(run, Written(files, written.events - expired)), expired=expired)
            return replace(before, about=said, runs=(*before.runs, new), files=(*there, *files), since=since)

        found = self.change(layout, added, check=bool(written.files)).run(run)
        assert found is not None
        return replace(found, added=not is_in)

    def change(self, layout: Layout, make: Callable[[Commit, Change], Commit], *, check: bool = True) -> Commit:
        """Commit a change as a whole: what ``make`` gives for the last commit.

        The files that it writes and that are not in the commit in the end go. With ``check`` it is an EngineError if
        the table is of another query than a layout; where its types have become others meanwhile, or become wider by
        the change, the layout of the change has these.
        """
        change = Change(self, layout, len(layout.earlier))

        def made(before: Commit) -> Commit:
            if not check:
                return make(before, change)
            own, types = self.fitted(layout, before)
            return make(before, replace(change, layout=own, types=types))

        after = self.commits.change(made)
        for path in {each.path for each in change.written} - {each.path for each in after.named}:
            self.commits.system.delete_file(f"{self.commits.path}/{path}")
        return after

    def fitted(self, layout: Layout, commit: Commit) -> tuple[Layout, int]:
        """See :meth:`Layout.as_of`; EngineError where the table is of another query, or has values that do not fit."""
        found, number = layout.as_of(commit)
        known = found.written
        there = known[min(len(commit.schemas) if commit.filled else 1, len(known)) - 1]
        check_fits(commit, there)
        found.require_convertible(there)
        if found is not there:
            found.require_convertible(known[number])
            for each in commit.files:
                self.read(found, [each])
        return found, number

    def _require_types(self, layout: Layout) -> None:
        """QueryError where a column has no value in the first events, and so no type that later ones could have."""
        for each in layout.events_schema:
            if pa.types.is_null(each.type):
                raise QueryError(
                    f"the column {each.name!r} has no value in the first events, and so no type; expected it cast to "
                    "the type that later ones have"
                )

    def _require_new_frames(self, layout: Layout, there: Sequence[StoredFile], new: Sequence[StoredFile]) -> None:
        """QueryError where files have a key and a frame within one that others have."""
        first, last = min((each.first for each in new), default=0), max((each.end for each in new), default=0)
        columns = [*layout.plan.by, START, END]
        some = [each for each in there if each.first < last and each.end > first and not each.marks]
        own, other = self.read(layout, new, columns), self.read(layout, some, columns)
        keys = [pa.concat_arrays(both) for both in zip(layout.keys(own), layout.keys(other), strict=True)]
        codes = key_codes(keys, len(own) + len(other), ordered=False)[0]
        starts, ends = (np.concatenate([of(own), of(other)]) for of in (layout.starts, layout.ends))
        order = np.lexsort([starts, codes])
        # Frames of a key are one inside the other, or apart.
        both = np.flatnonzero((np.diff(codes[order]) == 0) & (starts[order][1:] < ends[order][:-1]))
        if len(both):
            ordered = next((name for name, each in layout.plan.outputs.items() if not each.commutative), "ties=")
            raise QueryError(
                f"the run has events of {len(both)} frames that are there, the first from "
                f"{layout.word(int(starts[order][both[0]]))} on, and the order of events counts for "
                f"{ordered!r}; expected a run whose frames are all new, or .refresh(...)"
            )

    def write(self, layout: Layout, rows: pa.Table, run: str, within: Span | None = None) -> Written:
        """Write the rows of a run, those of some frames, to files, which are not in the table yet."""
        if within is not None:
            rows = rows.filter(pa.array(within.has(layout, rows)))
        return Written(list(self.write_rows(layout, rows, (run,))), int(layout.counts(rows).sum()))

    def write_rows(
        self,
        layout: Layout,
        rows: pa.Table,
        runs: tuple[str, ...],
        merged: tuple[str, ...] = (),
        folder: str = "",
    ) -> Iterator[StoredFile]:
        """Write rows as files of a day each, below a folder."""
        if not len(rows):
            return
        coded = {"use_dictionary": [each.name for each in rows.schema if each.name in layout.own or is_text(each.type)]}
        days, starts, ends = layout.days(rows), layout.starts(rows), layout.ends(rows)
        folders = {None: ""} if days is None else {day: self.commits.folder(day) for day in np.unique(days).tolist()}
        for day, of_day in folders.items():
            mine = slice(None) if day is None else np.flatnonzero(days == day)
            some = rows if day is None else rows.take(pa.array(mine))
            path = f"{folder}{of_day}{uuid.uuid4().hex}.parquet"
            place = f"{self.commits.path}/{path}"
            self.commits.system.create_dir(place.rpartition("/")[0], recursive=True)
            pq.write_table(some, place, filesystem=self.commits.system, row_group_size=ROW_GROUP, **FORMAT, **coded)
            size = self.commits.system.get_file_info(place).size
            (first, last), end = edges(starts[mine]), int(ends[mine].max())
            yield StoredFile(
                path, runs, len(some), size, first, last, end, merged, folder == MARKS, len(layout.earlier)
            )

    def read(self, layout: Layout, files: Iterable[StoredFile], columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of files; EngineError where they are not what the table says."""
        names = layout.schema.names if columns is None else list(columns)
        schema = pa.schema([layout.schema.field(name) for name in names])
        return pa.concat_tables([schema.empty_table(), *at_once(partial(self._read, layout, schema), list(files))])

    def bounds(self, layout: Layout, files: Iterable[StoredFile]) -> tuple[Ints, Ints]:
        """The first ticks of the frames in files, and the first ones after them; each frame at least once."""

        def of(file: StoredFile) -> Ints:
            rows = self.read(layout, [file], [START, END])
            return np.unique(np.stack([layout.starts(rows), layout.ends(rows)]), axis=1)

        starts, ends = np.concatenate([np.empty((2, 0), np.int64), *at_once(of, [*files])], axis=1)
        return starts, ends

    def partials(
        self,
        layout: Layout,
        files: Sequence[StoredFile],
        plan: Plan,
        asked: Asked | None = None,
        keys: pa.Table | None = None,
    ) -> Partials:
        """The rows of files as merged partials of a query, of all keys or some; see :meth:`Layout.partials`."""
        columns = layout.columns(plan)
        schema = pa.schema([layout.schema.field(name) for name in columns])
        firsts = np.array([each.first for each in files], np.int64)
        together = None if asked is None else partial(asked.together, firsts)

        def merged(part: Sequence[StoredFile]) -> Partials:
            read = self._read if keys is None else partial(self._looked_up, keys=keys)
            rows = pa.concat_tables([schema.empty_table(), *(read(layout, schema, each) for each in part)])
            frames = not any(isinstance(each, Rollup) for each in part)
            return merge(layout.partials(rows.combine_chunks(), plan, together, frames)).unmerged()

        rollups = [each for each in files if isinstance(each, Rollup)]
        parts: list[Sequence[StoredFile]] = [[each for each in files if not isinstance(each, Rollup)], rollups]
        # What a user wrote is called by one thread only; what depends on the order of rows needs all of them at once.
        if not plan.ordered and plan.only_library_code:
            parts = [part for some in parts for part in in_parts(some, PART_ROWS)]
        return merge([Partials.none(plan), *at_once(merged, parts)])

    def _looked_up(self, layout: Layout, schema: pa.Schema, file: StoredFile, *, keys: pa.Table) -> pa.Table:
        """The columns of a schema of a file, of some keys; what it is taken from is kept for those that come next."""
        kept, names = self.commits.kept, tuple(schema.names)
        with self._reading(file):
            footer = kept.value(file.path, (), lambda: self._opened(file).metadata, lambda of: int(of.serialized_size))
            groups = groups_of(footer, keys)

        def rows_of(group: int) -> pa.Table:
            read = partial(self._read, layout, schema, file, [group])
            return kept.value(file.path, (group, names, *schema.types), read, lambda rows: int(rows.nbytes))

        return pa.concat_tables([schema.empty_table(), *(of_keys(rows_of(group), keys) for group in groups)])

    def _opened(self, file: StoredFile) -> pq.ParquetFile:
        return pq.ParquetFile(f"{self.commits.path}/{file.path}", filesystem=self.commits.system)

    @contextmanager
    def _reading(self, file: StoredFile) -> Iterator[None]:
        """EngineError where a file cannot be read."""
        try:
            yield
        except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError) as error:
            place = f"{self.commits.path}/{file.path}"
            raise EngineError(f"the stored partials {place!r} cannot be read: {one_line(error)}") from error

    def _read(
        self, layout: Layout, schema: pa.Schema, file: StoredFile, groups: Sequence[int] | None = None
    ) -> pa.Table:
        """The columns of a schema of a file, or of some row groups, in the types that the table has now."""
        if (there := layout.written[file.types]) is layout:
            return self._read_as_written(layout, schema, file, groups)
        own = pa.schema([there.schema.field(name) for name in layout.needed(there, schema.names)])
        return layout.widened(self._read_as_written(there, own, file, groups), there, schema.names)

    def _read_as_written(
        self, layout: Layout, schema: pa.Schema, file: StoredFile, groups: Sequence[int] | None
    ) -> pa.Table:
        """The columns of a schema of a file, or of some row groups; EngineError where the table says otherwise."""
        place, names = f"{self.commits.path}/{file.path}", schema.names
        with self._reading(file):
            opened = self._opened(file)
            known = set(opened.schema_arrow.names)
            there = [name for name in names if name in known]
            groups = range(opened.num_row_groups) if groups is None else groups
            require_small(opened.metadata, groups)
            found = opened.read_row_groups(groups, columns=there, use_threads=False)
        found = layout.completed(found, names)
        rows = opened.metadata.num_rows
        if wrong := layout.wrong(found, schema, len(found) + file.rows - rows):
            kinds = ", ".join(f"{field.name} ({field.type})" for field in found.schema)
            raise EngineError(
                f"the stored partials {place!r} are {rows} rows of {kinds}; expected {file.rows} rows with {wrong}"
            )
        return found.select(names).cast(schema)

    def files(self, plan: Plan, commit: Commit, asked: Asked | None) -> Sequence[StoredFile]:
        """The files to be read for windows: those that they may take in, or rollups of these."""
        if asked is None:
            return commit.parts
        return with_rollups(plan, self.needed(plan, commit.parts, asked), commit.rollups, asked)

    def needed(self, plan: Plan, files: Sequence[StoredFile], wanted: Wanted) -> list[StoredFile]:
        """The files with rows that wanted windows may take in: all, where windows are not numbered along the time."""
        if not files:
            return []
        some = np.zeros(len(files), bool)
        first, last = (np.array([getattr(each, name) for each in files]) for name in ("first", "last"))
        for windows in plan.axis.windows:
            numbers = wanted.numbers(windows)
            begin, end = (windows.window_ids(view_of(windows, ticks)) for ticks in (first, last))
            if numbers is None or begin is None or end is None:
                return list(files)
            some |= (begin.first <= numbers[1]) & (end.last >= numbers[0])
        return [each for each, kept in zip(files, some, strict=True) if kept]


@dataclass(frozen=True)
class Change:
    """What a commit changes in a table.

    Parameters
    ----------
    table, layout
        What is changed, and how its rows lie.
    types
        The number of the types of the layout that it was begun with.
    written
        The files that were written for it.
    """

    table: Table
    layout: Layout
    types: int
    written: list[StoredFile] = field(default_factory=list)

    def write(
        self, rows: pa.Table, runs: tuple[str, ...], merged: tuple[str, ...] = (), folder: str = ""
    ) -> list[StoredFile]:
        """Write rows; see :meth:`Table.write_rows`."""
        new = list(self.table.write_rows(self.layout, rows, runs, merged, folder))
        self.written.extend(new)
        return new

    def given(self, rows: pa.Table) -> pa.Table:
        """Rows of the layout that the change was begun with as rows of the one that it has now."""
        there = self.layout.written[self.types]
        return rows if there is self.layout else self.layout.widened(rows, there, self.layout.schema.names)

    def kept(self, before: Commit, files: Sequence[StoredFile]) -> tuple[list[StoredFile], int]:
        """New files without frames that are no longer kept, and how many events these have."""
        bound, layout = before.expired, self.layout
        late = [each for each in files if bound is not None and each.first < bound]
        if bound is None or not late:
            return [*files], 0
        rows = self.table.read(layout, late)
        expired = int(layout.counts(rows)[layout.ends(rows) <= bound].sum())
        rest = [each for each in files if each not in late]
        return [*rest, *self.rewritten(late, lambda rows: layout.ends(rows) > bound)], expired

    def rewritten(self, files: Iterable[StoredFile], kept: Callable[[pa.Table], Bools]) -> list[StoredFile]:
        """Files with the rows that are kept: those that lose any are written anew."""
        found = []
        for each in files:
            rows = self.table.read(self.layout, [each])
            mask = kept(rows)
            folder = MARKS if each.marks else ""
            whole = mask.all()
            found += [each] if whole else self.write(rows.filter(pa.array(mask)), each.runs, each.merged, folder)
        return found

    def marked(self, gone: pa.Table, run: str) -> list[StoredFile]:
        """Files that say that a run has changed the frames of rows that are gone."""
        return self.write(self.layout.merged(gone, run), (run,), folder=MARKS)

    def outside(self, before: Commit, new: Sequence[StoredFile], run: str, within: Span) -> list[StoredFile]:
        """The files without some frames, and a note of frames that the new files do not have."""
        table, layout = self.table, self.layout

        def kept(rows: pa.Table) -> Bools:
            mine, starts, ends = within.has(layout, rows), layout.starts(rows), layout.ends(rows)
            for tick in (within.first, within.until):
                cut = np.flatnonzero((starts < tick) & (ends > tick))
                if len(cut):
                    begin, end, at = map(layout.word, (int(starts[cut[0]]), int(ends[cut[0]]), tick))
                    raise QueryError(
                        f"{at} is inside of the stored frame from {begin} to {end}; expected its start or end"
                    )
            return ~mine

        touched = [each for each in before.files if each.first < within.until and each.end > within.first]
        there = [each for each in before.files if each not in touched]
        gone, given = table.read(layout, [each for each in touched if not each.marks]), table.read(layout, new)
        gone = gone.filter(pa.array(~kept(gone)))
        within.require_keys(layout, gone, given)
        gone = gone.filter(pa.array(~layout.in_frame(gone, given)))
        return [*there, *self.rewritten(touched, kept), *self.marked(gone, run)]


def with_rollups(
    plan: Plan, files: Sequence[StoredFile], rollups: Sequence[Rollup], asked: Asked
) -> Sequence[StoredFile]:
    """Files, with rollups instead of those whose frames are in the same windows; the longest ones first."""
    there = {each.path for each in files}
    some = [each for each in rollups if there.issuperset(each.of)]
    if not some or plan.ordered:
        return files
    # A rollup is in windows as a whole where its first and its last tick are in the same ones.
    edges = np.array([[each.first, each.end - 1] for each in some], np.int64)
    if (found := asked.together(np.empty(0, np.int64), edges.ravel())) is None:
        return files
    group, inside = (each.reshape(edges.shape) for each in found)
    whole = (group[:, 0] == group[:, 1]) & inside.all(axis=1)
    taken: list[StoredFile] = []
    for each in sorted((some[at] for at in np.flatnonzero(whole)), key=lambda each: -len(each.of)):
        if there.issuperset(each.of):
            there.difference_update(each.of)
            taken.append(each)
    return [*(each for each in files if each.path in there), *taken]


def run_of(run: str, written: Written) -> Run:
    """What a run has brought, as of now."""
    now, files = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds"), written.files
    return Run(run, written.events, sum(each.rows for each in files), sum(each.bytes for each in files), now)


def reaching(since: Mapping[str, int], within: Span) -> Mapping[str, int]:
    """From when on there are outputs, once frames have been replaced by some that have them all."""
    if within.keys is not None:
        return since
    first, until = within.first, within.until
    return {name: min(tick, first) if tick <= until else tick for name, tick in since.items()}


def in_parts(files: Sequence[StoredFile], rows: int) -> list[list[StoredFile]]:
    """Files in parts of about ``rows`` rows each, in their order."""
    before = itertools.accumulate((each.rows for each in files), initial=0)
    return [
        [file for _, file in part]
        for _, part in itertools.groupby(zip(before, files, strict=False), lambda pair: pair[0] // rows)
    ]


def of_keys(rows: pa.Table, keys: pa.Table) -> pa.Table:
    """The rows of some keys."""
    plain = [name for name in keys.column_names if is_compared_by_arrow(keys.schema.field(name).type)]
    for name in plain:
        rows = rows.filter(pc.is_in(rows.column(name), value_set=one_array(keys.column(name))))
    if not len(rows) or len(plain) == len(keys.column_names) == 1:
        return rows
    return rows.filter(pa.array(is_of_keys(rows, keys)))


def is_of_keys(rows: pa.Table, keys: pa.Table) -> Bools:
    """Which rows have one of some keys."""
    given = rows.select(keys.column_names).schema
    keys = pa.table([fitting(keys.column(each.name), each.type) for each in given], given)  # types may be wider by now
    pairs = [[one_array(of.column(name)) for of in (rows, keys)] for name in keys.column_names]
    return matched(pairs, *(np.zeros(len(of), np.int64) for of in (rows, keys)))


def is_compared_by_arrow(kind: pa.DataType) -> bool:
    """Whether values of a key column compare to us as they do to Arrow: those of floats need not."""
    types = pa.types
    kinds = (types.is_integer, types.is_string, types.is_large_string, types.is_boolean)
    return any(is_so(kind) for is_so in kinds)


def groups_of(metadata: pq.FileMetaData, keys: pa.Table) -> list[int]:
    """The row groups that may have rows of some keys, by the bounds of the first key column, where these say so."""
    name, found = keys.column_names[0], list(range(metadata.num_row_groups))
    place = next((at for at in range(metadata.num_columns) if metadata.schema.column(at).path == name), None)
    wanted = keys.column(0)
    if place is None or len(found) < 2 or not len(keys) or wanted.null_count or not is_compared_by_arrow(wanted.type):
        return found
    least, greatest = pc.min_max(wanted).as_py().values()
    bounds = [metadata.row_group(at).column(place).statistics for at in found]
    return [
        at
        for at, each in zip(found, bounds, strict=True)
        if each is None or not each.has_min_max or (each.min <= greatest and least <= each.max)
    ]


FORMATS: dict[str, type[Commits]] = {"delta": DeltaCommits, "parquet": Commits}
"""How the commits of each format are kept: those of Delta Lake, or of plain Parquet files with manifests of ours."""

FORMAT: dict[str, Any] = {"compression": "lz4"}
"""How files are written: a small column of a small file takes half the time to read that it takes with zstd."""

PART_ROWS = 1 << 17
"""Rows of partials that a thread merges at a time."""

ROW_GROUP = 1 << 16
"""Rows of partials that are read together at least."""


def about(layout: Layout) -> dict[str, Any]:
    """What a table says of itself, as JSON: what must be the same for all its runs, and the types of their events."""
    schemas = {"schema": layout.events_schema, "rows": in_parquet(layout.schema)}
    earlier = {EARLIER: [*map(schema_text, layout.earlier)]} if layout.earlier else {}
    said = {"version": VERSION if earlier else 1, "query": query_of(layout)} | earlier
    return said | {name: schema_text(each) for name, each in schemas.items()}


def query_of(layout: Layout) -> dict[str, Any]:
    """What is stored, as text; with the categories that codes are of."""
    types = {field.name: field.type for field in layout.plan.events_schema}
    coded = {name: type.values.to_pylist() for name, type in types.items() if isinstance(type, Categories)}
    ties = list(layout.plan.ties)
    return fingerprint(layout.plan) | ({"ties": ties} if ties else {}) | ({"categories": coded} if coded else {})


def known(events: pa.Schema, commit: Commit) -> pa.Schema:
    """The schema of events, with the categories that a table knows where there is no event to have any."""
    if not commit.number:
        return events
    there = commit.schema("schema")
    for at, column in enumerate(events):
        given, own = (column.metadata or {}).get(CATEGORIES), there.get_field_index(column.name)
        if given is not None and own >= 0 and not len(Categories.__arrow_ext_deserialize__(pa.int32(), given).values):
            events = events.set(at, there.field(own))
    return events


def require_named(commit: Commit, time: str, by: Sequence[str]) -> None:
    """EngineError where a table has other columns of times and keys."""
    for argument, asked in (("time", time), ("by", [*by])):
        said = commit.about["query"].get(argument)
        names = [str(each).rpartition(" (")[0] for each in (said if isinstance(said, list) else [said])]
        there: Any = names[0] if isinstance(asked, str) else names
        if said is not None and there != asked:
            raise EngineError(
                f"the partials are stored with {argument}={there!r}, and not {asked!r}; expected the same"
            )


def check_fits(commit: Commit, layout: Layout) -> None:
    """EngineError where a table has the partials of another query, or of events of other types."""
    if not commit.filled:
        return
    if other := differing(commit.about["query"], query_of(layout)):
        raise EngineError(
            f"the stored partials are of another query: {changes(other)}; expected the same, or another path"
        )
