"""Check that an operation keeps the laws that sliding relies on."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyarrow as pa

from ..contract.operation import Operation
from ..errors import ColumnError, LawError, QueryError, SumOverflowError, nearest, needing
from ..states.views import viewless
from .laws import Law, Laws, Rows

__all__ = ["check_laws"]


def check_laws(operation: Operation, table: Any, *, examples: int = 100) -> None:
    """Try the laws of aggregation on an operation, with events from a table.

    Groups of rows are drawn from the table; where a law breaks, they are shrunk to the smallest that break it (D.
    MacIver et al., "Hypothesis: a new approach to property-based testing", 2019).

    =============  ==================================================================================================
    law            what must hold, compared by ``finish``
    =============  ==================================================================================================
    identity       ``combine(create, a)`` and ``combine(a, create)`` are ``a``
    associativity  ``combine(combine(a, b), c)`` is ``combine(a, combine(b, c))``
    split          accumulating all rows at once is accumulating them in two parts and combining
    elements       whole columns of states give what the states give one by one
    deduct         ``deduct(combine(a, b), a)`` is ``b``; to the last digit where windows slide by it
    commutativity  ``combine(a, b)`` is ``combine(b, a)``, where the operation says so
    purity         no function changes the states it is given, now or in a later call; ``finish`` can be called again
    travel         a state is the same after serialization
    =============  ==================================================================================================

    Floats may differ by rounding: by 1e-9 of the largest result or, where values cancel, by what a change of
    the input in its 48th binary digit does to the result; see :func:`framefold.aggregators.laws.tolerance.close`.

    Parameters
    ----------
    operation
        The operation, with the names of its columns.
    table
        Events, as any Arrow data, with typical values and edge cases.
    examples
        The number of examples to try.

    Raises
    ------
    LawError
        If a law breaks; the message says which, and shows the smallest example.
    QueryError
        If the table lacks a column, or has no row without nulls in them.
    EngineError
        If Hypothesis is not installed, which the extra ``framefold[laws]`` brings.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> ff.check_laws(ff.Average("x"), pa.table({"x": [1.0, 2.5, -3.0]}))
    >>> class Total(ff.AggregateOperation):
    ...     state = {"total": "int64"}
    ...     def accumulate(self, frames, x):
    ...         return {"total": frames.sum(x)}
    ...     def combine(self, a, b):
    ...         return {"total": a["total"] - b["total"]}
    ...     def finish(self, a):
    ...         return a["total"]
    >>> ff.check_laws(Total("x"), pa.table({"x": [0, 1]}))
    Traceback (most recent call last):
    ...
    framefold.LawError: identity: combine(create, a) is -1, not a, which is 1; a: x=[1]
    """
    if not isinstance(operation, Operation):
        raise QueryError(f"check_laws is given {operation!r}; expected an aggregate operation")
    with needing("check_laws needs", "laws"):
        import hypothesis  # noqa: F401
    laws = Laws(operation, _columns(operation, table))
    every = laws.all()
    try:
        _try(laws, every, examples, shrink=False)
    except LawError:  # another law may break on smaller groups: one law after the other has the smallest of its own
        for law in every:
            _try(laws, [law], examples)
        raise


def _try(laws: Laws, several: list[Law], examples: int, *, shrink: bool = True) -> None:
    """Try laws on groups of rows; LawError with the smallest groups that break one, or the first groups found."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    group = st.lists(st.integers(0, laws.rows - 1), min_size=1, max_size=6)

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(group, group, group)
    def example(a: Rows, b: Rows, c: Rows) -> None:
        for law in several:
            with suppress(SumOverflowError):  # no result, nothing to compare
                laws.require(law, a, b, c)

    try:
        example()
    except LawError as error:  # without Hypothesis's notes
        raise LawError(str(error)) from None


def _columns(operation: Operation, table: Any) -> dict[str, pa.Array]:
    """The operation's columns of a table, without rows that have a null in one."""
    events = table if isinstance(table, pa.Table) else pa.table(table)
    for name in operation.columns:
        if name not in events.column_names:
            raise ColumnError(f"{operation!r} names the unknown column {name!r}; {nearest(name, events.column_names)}")
    if not operation.columns:
        return {"": pa.nulls(max(len(events), 1))}
    names = list(dict.fromkeys(operation.columns))
    known = pa.table(
        {name: pa.chunked_array(map(_plain, events.column(name).chunks or [pa.nulls(0)])) for name in names}
    ).drop_null()
    if not len(known):
        raise QueryError(f"the table has no row without nulls in {list(operation.columns)}; expected at least one")
    return {name: pa.concat_arrays(known.column(name).chunks) for name in names}


def _plain(column: pa.Array) -> pa.Array:
    """A column with dictionaries and views unpacked, as queries unpack them."""
    if isinstance(column, pa.DictionaryArray):
        return _plain(column.dictionary).take(column.indices)
    return viewless(column)
