"""How a shard's partials are stored: in pages, each of the frames from where it begins to where the next one does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from ...aggregators.errors import EngineError
from ...aggregators.states.arrays import Ints
from ..columns.key_codes import code_numbers, grouped, subtract
from ..partials.partials import misfit
from ..tuning import PAGE_PARTIALS

FRAMES = 16
"""Frames that share a number, ``frame // FRAMES``: a page begins with one, and is called by it."""

NOWHERE = -(1 << 62)
"""The page of frames before all that are stored."""


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


def read(
    store: Store, pages: Iterable[int], schema: pa.Schema, full: Collection[str], **options: Any
) -> Iterator[pa.Table]:
    """The tables of some pages, in order; an earlier release may have stored their columns in another one.

    ``options`` are those of :func:`framefold.runtime.partials.partials.misfit`.

    Raises
    ------
    EngineError
        If one is not of the schema, or lacks a value in a column that is to be full.
    """
    for page in sorted(pages):
        if (table := store.get(page)) is None:
            continue
        if wrong := misfit(table, schema, full, **options):
            kinds = ", ".join(f"{field.name} ({field.type})" for field in table.schema)
            raise EngineError(f"the state of the stream is damaged: {len(table)} rows of {kinds}; expected {wrong}")
        yield table.select(schema.names)


def distinct(numbers: Ints) -> tuple[Ints, Ints, Ints]:
    """The distinct numbers in order; for each number its place among these; how often each of these occurs.

    >>> [found.tolist() for found in distinct(np.array([7, 5, 7]))]
    [[5, 7], [1, 0, 1], [1, 2]]
    """
    if not len(numbers):
        return numbers, numbers, numbers
    coded = code_numbers(numbers)
    group, first = grouped(subtract(coded.codes, coded.least), coded.count)
    return numbers[first], group, np.bincount(group)


def owners(numbers: Ints, pages: Iterable[int]) -> Ints:
    """The stored page of each frame, given its number ``frame // FRAMES`` and the numbers of all stored pages."""
    begins = np.array([NOWHERE, *sorted(pages)], np.int64)
    found: Ints = begins[np.searchsorted(begins, numbers, side="right") - 1]
    return found


def cut(numbers: Ints, counts: Ints, owned: Ints) -> Ints:
    """The page to store partials in; the partials of one stored page are spread over several if they are too many.

    Parameters
    ----------
    numbers
        The numbers ``frame // FRAMES`` of the partials' frames, each once, in order.
    counts
        How many partials have each number.
    owned
        The stored page of each number, from `owners`.
    """
    pages: list[int] = []
    rows, last = 0, None
    for begin, count, owner in zip(numbers.tolist(), counts.tolist(), owned.tolist(), strict=True):
        if owner != last or rows + count > PAGE_PARTIALS:
            pages.append(begin)
            rows, last = 0, owner
        else:
            pages.append(pages[-1])
        rows += count
    return np.array(pages, np.int64)
