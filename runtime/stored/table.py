"""A table of stored partials: runs are added to it, rows read from it."""

from __future__ import annotations

import base64
import datetime
import itertools
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...aggregators.errors import EngineError, QueryError
from ...aggregators.states.arrays import Ints
from ...aggregators.states.categories import Categories
from ...aggregators.states.large import is_text
from ..columns.field_types import CATEGORIES
from ..columns.key_codes import one_array
from ..partials.merge import merge
from ..partials.partials import Partials
from ..plan.plan import Plan, fingerprint
from ..results.finish import Wanted
from ..sources.files import Files, one_line
from ..streams.late_events import matched
from ..threads import at_once
from .asked import Asked, view_of
from .commits import VERSION, Commit, Commits, Run, StoredFile
from .layout import START, Layout


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
    def at(cls, path: str) -> Table:
        """The table at a path or address, there or not."""
        system, (place,) = Files((path,)).places
        return cls(Commits(system, place))

    def append(self, layout: Layout, merged: Partials, run: str) -> Run:
        """Add the partials of a run; see :meth:`commit`."""
        return self.commit(layout, list(self.write(layout, merged, run)), run)

    def commit(self, layout: Layout, written: Sequence[Written], run: str) -> Run:
        """Add files as those of a run, all or none; they go where the run is in already. The run as it is in the table.

        Raises
        ------
        EngineError
            If the table is of another query, or of events of other types.
        QueryError
            If the order of events counts, and the run has events of frames that are there.
        """
        files = tuple(file for file, _ in written)
        rows, size = sum(each.rows for each in files), sum(each.bytes for each in files)
        events = sum(count for _, count in written)
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        new = Run(run, events, rows, size, now)

        def added(before: Commit) -> Commit:
            if before.has(run):
                return before
            said = about(layout) if files or not before.number else before.about
            if files:
                check_fits(before, layout)
            if layout.plan.ordered:
                self._require_new_frames(layout, before.files, files)
            return replace(before, about=said, runs=(*before.runs, new), files=(*before.files, *files))

        after = self.commits.change(added)
        (found,) = (each for each in after.runs if each.run == run)
        if found is not new:  # another process was first
            self.remove(files)
        return found

    def _require_new_frames(self, layout: Layout, there: Sequence[StoredFile], new: Sequence[StoredFile]) -> None:
        """QueryError where files have a key and frame that others have, too."""
        first, last = min((each.first for each in new), default=0), max((each.last for each in new), default=-1)
        columns = [*layout.plan.by, START]
        some = self.read(layout, [each for each in there if each.first <= last and each.last >= first], columns)
        own = self.read(layout, new, columns)
        keys = [[one_array(of.column(name)) for of in (own, some)] for name in layout.plan.by]
        again = np.flatnonzero(matched(keys, layout.starts(own), layout.starts(some)))
        if len(again):
            ordered = next((name for name, each in layout.plan.outputs.items() if not each.commutative), "ties=")
            raise QueryError(
                f"the run has events of {len(again)} frames that are there, the first from "
                f"{own.column(START)[int(again[0])]} on, and the order of events counts for {ordered!r}; expected a "
                "run whose frames are all new"
            )

    def write(self, layout: Layout, merged: Partials, run: str) -> Iterator[Written]:
        """Write merged partials as files of a day each, which are in the table once they are committed."""
        rows, events = layout.rows(merged, run), layout.events(merged)
        days, starts = layout.days(rows), layout.starts(rows)
        coded = {"use_dictionary": [each.name for each in rows.schema if each.name in layout.own or is_text(each.type)]}
        if not len(rows):
            return
        for day in [None] if days is None else np.unique(days).tolist():
            mine = slice(None) if day is None else np.flatnonzero(days == day)
            some = rows if day is None else rows.take(pa.array(mine))
            folder = "" if day is None else f"day={datetime.date.fromordinal(day + EPOCH)}/"
            path = f"{folder}{uuid.uuid4().hex}.parquet"
            place = f"{self.commits.path}/{path}"
            self.commits.system.create_dir(place.rpartition("/")[0], recursive=True)
            pq.write_table(some, place, filesystem=self.commits.system, row_group_size=ROW_GROUP, **FORMAT, **coded)
            size = self.commits.system.get_file_info(place).size
            first, last = edges(starts[mine])
            yield StoredFile(path, (run,), len(some), size, int(first), int(last)), int(events[mine].sum())

    def read(self, layout: Layout, files: Iterable[StoredFile], columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of files; EngineError where they are not what the table says."""
        names = layout.schema.names if columns is None else list(columns)
        schema = pa.schema([layout.schema.field(name) for name in names])
        return pa.concat_tables([schema.empty_table(), *at_once(partial(self._read, schema), list(files))])

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
            rows = pa.concat_tables([schema.empty_table(), *(self._read(schema, each, keys) for each in part)])
            return merge(layout.partials(rows.combine_chunks(), plan, together)).unmerged()

        # What a user wrote is called by one thread only; what depends on the order of rows needs all of them at once.
        parts = [files] if plan.ordered or not plan.only_library_code else in_parts(files, PART_ROWS)
        return merge([Partials.none(plan), *at_once(merged, parts)])

    def _read(self, schema: pa.Schema, file: StoredFile, keys: pa.Table | None = None) -> pa.Table:
        """The columns of a schema of a file; the rows of some keys, if these are given."""
        place, names = f"{self.commits.path}/{file.path}", schema.names
        try:
            opened = pq.ParquetFile(place, filesystem=self.commits.system)
            groups = range(opened.num_row_groups) if keys is None else groups_of(opened.metadata, keys)
            found = opened.read_row_groups(groups, columns=names, use_threads=False).select(names)
        except (pa.ArrowException, OSError, KeyError) as error:
            raise EngineError(f"the stored partials {place!r} cannot be read: {one_line(error)}") from error
        if found.schema.types != in_parquet(schema).types or opened.metadata.num_rows != file.rows:
            raise EngineError(
                f"the stored partials {place!r} are {opened.metadata.num_rows} rows of {found.schema.to_string()}; "
                f"expected {file.rows} of {schema.to_string()}"
            )
        found = found.cast(schema)
        if keys is None or not len(found):
            return found
        pairs = [[one_array(of.column(name)) for of in (found, keys)] for name in keys.column_names]
        return found.filter(pa.array(matched(pairs, *(np.zeros(len(of), np.int64) for of in (found, keys)))))

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

    def remove(self, files: Iterable[StoredFile]) -> None:
        """Delete files that no commit names."""
        for each in files:
            self.commits.system.delete_file(f"{self.commits.path}/{each.path}")


def in_parts(files: Sequence[StoredFile], rows: int) -> list[list[StoredFile]]:
    """Files in parts of about so many rows, in their order."""
    before = itertools.accumulate((each.rows for each in files), initial=0)
    return [
        [file for _, file in part]
        for _, part in itertools.groupby(zip(before, files, strict=False), lambda pair: pair[0] // rows)
    ]


def groups_of(metadata: pq.FileMetaData, keys: pa.Table) -> list[int]:
    """The row groups that may have rows of some keys, by the bounds of the first key column."""
    name, found = keys.column_names[0], list(range(metadata.num_row_groups))
    place = next(at for at in range(metadata.num_columns) if metadata.schema.column(at).path == name)
    wanted = keys.column(0)
    if len(found) < 2 or not len(keys) or wanted.null_count:
        return found
    least, greatest = pc.min_max(wanted).as_py().values()
    bounds = [metadata.row_group(at).column(place).statistics for at in found]
    return [
        at
        for at, each in zip(found, bounds, strict=True)
        if each is None or not each.has_min_max or (each.min <= greatest and least <= each.max)
    ]


@lru_cache
def in_parquet(schema: pa.Schema) -> pa.Schema:
    """The columns of a file that a table of some columns is written to: some types have other names there."""
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink)
    return pq.read_schema(pa.BufferReader(sink.getvalue()))


Written = tuple[StoredFile, int]
"""A file, and the number of the events that it has."""

EPOCH = datetime.date(1970, 1, 1).toordinal()
FORMAT: dict[str, Any] = {"compression": "lz4"}
"""How files are written: a small column of a small file takes half the time to read that it takes with zstd."""

PART_ROWS = 1 << 17
"""Rows of partials that a thread merges at a time."""

ROW_GROUP = 1 << 16
"""Rows of partials that are read together at least."""


def edges(starts: Ints) -> tuple[Any, Any]:
    """The least and the greatest."""
    return starts.min(), starts.max()


def about(layout: Layout) -> dict[str, Any]:
    """What a table says of itself, as JSON: what must be the same for all its runs, and the types of their events."""
    schema = layout.events_schema.serialize().to_pybytes()
    return {"version": VERSION, "query": query_of(layout), "schema": base64.b64encode(schema).decode()}


def query_of(layout: Layout) -> dict[str, Any]:
    """What is stored, as text; with the categories that codes are of."""
    types = {field.name: field.type for field in layout.plan.events_schema}
    coded = {name: type.values.to_pylist() for name, type in types.items() if isinstance(type, Categories)}
    return fingerprint(layout.plan) | ({"categories": coded} if coded else {})


def schema_of(commit: Commit) -> pa.Schema:
    """The columns of the events of a table, as far as it needs them."""
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(commit.about["schema"])))
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise EngineError(f"the stored partials say nothing of their events: {one_line(error)}") from error


def known(events: pa.Schema, commit: Commit) -> pa.Schema:
    """The schema of events, with the categories that a table knows where there is no event to have any."""
    if not commit.number:
        return events
    there = schema_of(commit)
    for at, field in enumerate(events):
        given, own = (field.metadata or {}).get(CATEGORIES), there.get_field_index(field.name)
        if given is not None and own >= 0 and not len(Categories.__arrow_ext_deserialize__(pa.int32(), given).values):
            events = events.set(at, there.field(own))
    return events


def check_fits(commit: Commit, layout: Layout) -> None:
    """EngineError where a table has the partials of another query, or of events of other types."""
    if not commit.filled:
        return
    there, asked = commit.about["query"], query_of(layout)
    other = [name for name in asked if there.get(name) != asked[name]]
    if other:
        differs = "; ".join(f"{name} {there.get(name)!r} became {asked[name]!r}" for name in other)
        raise EngineError(f"the stored partials are of another query: {differs}; expected the same, or another path")
