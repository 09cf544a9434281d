"""The partials that the files of a table have for a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from ...runtime.partials.partials import Partials
from ...runtime.plan.plan import Plan
from .asked import Asked
from .commits import StoredFile
from .layout import Layout
from .table import Table, in_parts

TASK_ROWS = 1 << 20
"""The rows of files that one task reads."""


@dataclass(frozen=True)
class StoredRows:
    """The rows of some files.

    Parameters
    ----------
    table, layout
        Whose files they are.
    files
        In parts, one a task.
    asked
        The windows that are wanted; None: all.
    """

    table: Table
    layout: Layout
    files: Sequence[Sequence[StoredFile]]
    asked: Asked | None = None

    @classmethod
    def of(cls, table: Table, layout: Layout, files: Sequence[StoredFile], plan: Plan, asked: Asked | None) -> Self:
        """Files for a query: where its events have an order, one task puts together what one frame is made of."""
        return cls(table, layout, in_parts(files, TASK_ROWS) if files and not plan.ordered else [files], asked)

    def __len__(self) -> int:
        return len(self.files)

    def partials(self, plan: Plan, *parts: int) -> Partials:
        """The partials of some parts, merged, in the frames of a query."""
        files = [file for part in parts for file in self.files[part]]
        return self.table.partials(self.layout, files, plan, self.asked)
