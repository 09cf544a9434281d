"""The interface of the store of a shard's tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import pyarrow as pa


class Store(Protocol):
    """Tables by page number: partials by page of frames, or held events by page of time."""

    def pages(self) -> Iterable[int]:
        """The numbers of all pages."""

    def get(self, page: int) -> pa.Table | None:
        """The table of a page; None where there is none."""

    def put(self, page: int, table: pa.Table) -> None:
        """Store a table, in place of the one that the page has."""

    def remove(self, page: int) -> None:
        """Forget a page, if there is one of this number."""
