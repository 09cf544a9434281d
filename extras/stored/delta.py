"""How a stored table is a Delta Lake table: each commit is one of its log, with the manifest beside the files."""

from __future__ import annotations

import datetime
import itertools
import json
import math
import os
import re
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow.fs import FileType, LocalFileSystem

from ...aggregators.errors import EngineError, QueryError, installing
from ...runtime.sources.files import one_line
from .commits import MARKS, ROLLUPS, Commit, Commits, StoredFile, commit_in, flushed
from .layout import START

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema

LOG = "_delta_log"
"""Where Delta Lake's log is, under the path of the table."""

MANIFEST = "framefold"
"""The name of the manifest in the information of a commit, and of the transactions of which one wins."""

HOUR = datetime.timedelta(hours=1)
"""The unit of Delta Lake's retention."""

CODE = re.compile("%[0-9a-fA-F]{2}")
"""A character of an address."""

EPOCH = datetime.date(1970, 1, 1).toordinal()

DAY = "day"
"""The column that folders give."""


class DeltaCommits(Commits):
    """The commits of a Delta Lake table; the package ``deltalake`` writes them (the extra ``delta``)."""

    widens = False  # its files are of the types of its log

    @property
    def is_there(self) -> bool:
        try:
            return bool(self.system.get_file_info(self._at(LOG)).type == FileType.Directory)
        except (pa.ArrowException, OSError):
            return False

    def require(self, schema: pa.Schema) -> None:
        if isinstance(self.system, LocalFileSystem) and (code := CODE.search(self.path)):
            raise EngineError(
                f"the path {self.path!r} has {code[0]!r}, which Delta Lake reads as another character; expected a path "
                "without it, or format='parquet'"
            )
        delta_schema(schema)

    def folder(self, day: int) -> str:
        try:
            return f"day={datetime.date.fromordinal(day + EPOCH)}/"
        except (ValueError, OverflowError) as error:
            raise QueryError(
                f"events are of the day {np.datetime64(day, 'D')}, and Delta Lake has those of the years 1 to 9999; "
                "expected format='parquet', or no such times"
            ) from error

    def latest(self) -> Commit:
        table = self._table()
        found = Commit() if table is None else self._commit(table)
        self.kept.only({each.path for each in found.named})
        return found

    def vacuum(self, grace: datetime.timedelta) -> list[str]:
        """Delete the files that no version of the last time names, as Delta Lake does; gives their paths."""
        if (table := self._table()) is None:
            return []
        hours = math.ceil(grace / HOUR)
        gone = table.vacuum(hours, dry_run=False, enforce_retention_duration=False)
        limit = datetime.datetime.now(datetime.UTC) - hours * HOUR
        own = (self._at(MARKS), self._at(ROLLUPS))
        files = [each for each in self._files() if each.path.startswith(own)]
        unnamed = self._unnamed(files, self._commit(table).named, limit)
        self._delete(unnamed)
        return [*map(self._at, gone), *unnamed]

    def _write(self, before: Commit, after: Commit) -> bool:
        from deltalake import CommitProperties, Transaction
        from deltalake.exceptions import CommitFailedError, DeltaError
        from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

        now = int(time.time() * 1000)
        was, kept = {each.path for each in before.parts}, {each.path for each in after.parts}
        new = [each for each in after.parts if each.path not in was]
        added = [AddAction(each.path, each.bytes, day_of(each), now, True, stats(each)) for each in new]
        gone = [each for each in before.parts if each.path not in kept]
        removed = [RemoveAction(each.path, True, now, each.bytes, day_of(each)) for each in gone]
        properties = CommitProperties({MANIFEST: after.text}, 0, [Transaction(MANIFEST, after.number)])
        rows = after.schema("rows")
        by_day, schema = is_by_day(rows), delta_schema(rows)
        table = self._table()
        version = -1 if table is None else table.version()
        if (table is None) != (before.number == 0) or (table is not None and self._commit(table) != before):
            return False
        try:
            if table is None:
                create_table_with_add_actions(
                    self.address, schema, added, "error", [DAY] if by_day else [], commit_properties=properties
                )
            else:
                there = {field.name for field in table.schema().fields}
                if more := [field for field in schema.fields if field.name not in there]:
                    table.alter.add_columns(more)  # a version of its own, which changes nothing that is read
                table.create_write_transaction(
                    [*added, *removed],
                    "append",
                    table.schema(),
                    table.metadata().partition_columns,
                    commit_properties=properties,
                )
        except CommitFailedError:
            return False
        except DeltaError as error:
            if table is None and self._table() is not None:
                return False
            raise EngineError(f"the stored partials {self.path!r} cannot be written: {one_line(error)}") from error
        if isinstance(self.system, LocalFileSystem):  # deltalake leaves it to the machine
            paths = (self._at(LOG, f"{number:020}.json") for number in itertools.count(version + 1))
            for each in itertools.takewhile(os.path.exists, paths):
                flushed(each)
            self._flush_names(LOG, first=table is None)
        return True

    def _table(self) -> DeltaTable | None:
        """The table at its last version; None where there is none."""
        try:
            from deltalake import DeltaTable
            from deltalake.exceptions import DeltaError, TableNotFoundError
            from deltalake.transaction import RemoveAction  # noqa: F401 - earlier ones have none
        except ImportError as error:
            raise EngineError(
                f"partials in Delta Lake need deltalake, 1.6.6 or later; expected it installed: {installing('delta')}"
            ) from error
        try:
            return DeltaTable(self.address)
        except TableNotFoundError:
            return None
        except (DeltaError, OSError, ValueError) as error:
            raise EngineError(f"the stored partials {self.path!r} cannot be read: {one_line(error)}") from error

    def _commit(self, table: DeltaTable) -> Commit:
        """What the last manifest in the log says; EngineError where the table has other files."""
        for version in range(table.version(), -1, -1):  # the last one has it, unless others write there, too
            if (manifest := self._manifest(version)) is not None:
                return self._checked(manifest, table)
        raise EngineError(
            f"the Delta Lake table {self.path!r} is none of framefold's; expected one that ff.partials has made"
        )

    def _manifest(self, version: int) -> Any:
        """The manifest in the log's entry of a version, None where there is none or the entry is gone.

        ``DeltaTable.history`` reads the log anew, so it may be of later versions than the table.
        """
        path = self._at(LOG, f"{version:020}.json")
        try:
            with self.system.open_input_stream(path) as stream:
                actions = [json.loads(line) for line in stream.read().splitlines() if line.strip()]
            return next((each["commitInfo"].get(MANIFEST) for each in actions if "commitInfo" in each), None)
        except FileNotFoundError:
            return None
        except (pa.ArrowException, OSError, ValueError, TypeError, AttributeError) as error:
            raise EngineError(f"the log entry {path!r} cannot be read: {one_line(error)}") from error

    def _checked(self, manifest: Any, table: DeltaTable) -> Commit:
        try:
            found = json.loads(manifest)
            commit = commit_in(found, self._at(LOG), found["number"])
        except (ValueError, TypeError, KeyError) as error:
            raise EngineError(f"the manifest in {self._at(LOG)!r} cannot be read: {one_line(error)}") from error
        there = set(table.get_add_actions(flatten=True).column("path").to_pylist())
        if there != {each.path for each in commit.parts}:
            raise EngineError(
                f"the files of the Delta Lake table {self.path!r} were changed by another program, such as OPTIMIZE; "
                "expected RESTORE to the version before, and .compact() instead"
            )
        return commit


def is_by_day(rows: pa.Schema) -> bool:
    """Whether files are of a day each."""
    return not pa.types.is_integer(rows.field(START).type)


def delta_schema(rows: pa.Schema) -> Schema:
    """The columns of files and folders in the types of Delta Lake; EngineError where it has no such type."""
    from deltalake import Schema

    own = pa.schema([each.with_type(in_utc(each.type)) for each in rows])
    own = own.append(pa.field(DAY, pa.date32())) if is_by_day(rows) else own
    names: dict[str, str] = {}
    for each in own:
        if (other := names.get(each.name.lower())) is not None:
            raise EngineError(
                f"the stored partials have columns {other!r} and {each.name!r}, which Delta Lake does not tell apart; "
                "expected another name, or format='parquet'"
            )
        names[each.name.lower()] = each.name
        try:
            Schema.from_arrow(pa.schema([each]))
        except Exception as error:
            raise EngineError(
                f"the column {each.name!r} of the stored partials is {each.type}, which Delta Lake has not; expected "
                "another type, or format='parquet'"
            ) from error
    return Schema.from_arrow(own)


def in_utc(kind: pa.DataType) -> pa.DataType:
    """The type with times in UTC, where they have a zone: the same instants, as Delta Lake keeps them."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(in_utc(each.type)) for each in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        make = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return make(kind.value_field.with_type(in_utc(kind.value_type)))
    return kind


def day_of(file: StoredFile) -> dict[str, str | None]:
    """The values of columns that the folder of a file gives."""
    folder, _, _ = file.path.rpartition("/")
    return {DAY: folder.partition("=")[2]} if folder else {}


def stats(file: StoredFile) -> str:
    """What Delta Lake is told of a file."""
    return json.dumps({"numRecords": file.rows})
