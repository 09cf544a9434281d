"""What an aggregate is to an engine: a state made of columns, with functions that build, join, split, finish it."""

from __future__ import annotations

import copy
import html
import inspect
import re
from abc import ABC, ABCMeta, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import pyarrow as pa

from ..errors import OperationError, QueryError
from ..ranges.item_ranges import ascends
from ..states.arrays import Bools, Index, Ints
from ..states.fields import field
from ..states.rows import place, take
from .column_expressions import ColumnLike, column_name
from .frames import Frames
from .sql_spec import PLACEHOLDER, SqlSpec, by_field
from .words import said_here

State: TypeAlias = Mapping[str, Any]
"""Columns of states: one :data:`~framefold.aggregators.states.fields.Column` for each field, all of one length."""


class StateRanges(ABC):
    """What ``finish_ranges`` is given: half-open ranges of states that follow one another, in any order.

    Each window is one. Other operations are bound (:class:`~framefold.aggregators.contract.bound.BoundAggregate`).

    Parameters
    ----------
    low, high
        The first state of each range, and the state after its last one, shape (ranges,).
    """

    def __init__(self, low: Ints, high: Ints) -> None:
        self.low, self.high = low, high

    @property
    def ascending(self) -> bool:
        """Whether no end of a range is below that of the range before it."""
        return ascends(self.low) and ascends(self.high)

    def finish(self, operation: Any, states: State) -> pa.Array:
        """The results of another operation over the same ranges of its own states."""
        return self.finish_others(operation, states, self.low, self.high)

    @abstractmethod
    def finish_others(self, operation: Any, states: State, low: Ints, high: Ints) -> pa.Array:
        """The results of another operation over other ranges of other states."""


class Listed(ABCMeta):
    """The class of operations: of a built-in one ``dir`` and ``help`` list what its users call."""

    def __dir__(cls) -> list[str]:
        names = list(super().__dir__())
        if cls.__module__ != "framefold" or cls.__name__ in ("AggregateOperation", "PythonOperation"):
            return names  # what they have is for those who write operations
        return ["__init__", "over", "then"]


class Bindable(metaclass=Listed):
    """An operation without operators, and what it is bound to: the columns they take.

    Parameters
    ----------
    *columns
        The names of the input columns, or expressions that compute them, in the order in which ``accumulate`` takes
        them.

    Attributes
    ----------
    result
        The type of the result: an Arrow type, or its name such as ``"float64"``. Inferred by a trial where None.
    drops_nulls
        Whether rows with a null in an input column are left out before ``accumulate``. An operation that wants to
        see them gets Arrow arrays.
    exact_deduct
        Whether ``deduct`` inverts ``combine`` exactly although the state has float fields.
    commutative
        Whether ``combine(a, b)`` equals ``combine(b, a)``. Inferred by a trial where None. Partials of operations that
        are not are merged strictly in time order, which costs a shuffle of the events on Spark.
    compares
        Which of its columns it compares: where these have ordered categories they come as codes, which compare as the
        categories do, and all others as values. None for an operation made of others, of which each says so.
    keeps
        Which of its other columns it only tells apart or hands on: these may come as such codes, too. For built-in
        operations only.
    hands_on
        Which of those it only hands on, so that equal values may have different codes.
    uses_order
        Whether results depend on which of several events came first, although states know it and merge in any order.
    try_laws
        Whether a query tries on a few made-up events that ``create`` is an identity and ``combine`` associative, and
        refuses the operation otherwise. False for operations for which this holds approximately, such as sketches, or
        not for small positive numbers.
    from_user
        Whether its methods are a user's although its class is not. For built-in operations only.
    """

    result: Any = None
    drops_nulls: ClassVar[bool] = True
    exact_deduct: bool = False
    commutative: bool | None = None
    compares: slice | None = slice(0)
    keeps: ClassVar[slice] = slice(0)
    hands_on: ClassVar[slice] = slice(0)
    uses_order: ClassVar[bool] = False
    try_laws: bool = True
    from_user: ClassVar[bool] = False
    joins_results: ClassVar[bool] = False
    """Whether its results are joined from those of the operations it is made of, which may be over other windows."""
    columns: tuple[str, ...] = ()
    windows: tuple[Any, ...] = ()
    filling: str | None = None

    def __init__(self, *columns: ColumnLike) -> None:
        named = type(self).__name__
        self.columns = tuple(column_name(each, named) for each in columns)

    if not TYPE_CHECKING:  # or a misspelt name would have a type

        def __getattr__(self, name: str) -> Any:
            message = f"{type(self).__name__!r} object has no attribute {name!r}{said_here(name)}"
            raise AttributeError(message, name=name, obj=self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.columns))})"

    def _repr_html_(self) -> str:
        """How it was made, what it computes, and windows of its own: what a notebook shows."""
        computes = re.sub(r":\w+:|`", "", (type(self).__doc__ or "").strip().partition("\n")[0])
        lines = [computes, *(f"over {each}" for each in self.windows)]
        said = "".join(f"<br>{html.escape(line)}" for line in lines if line)
        return f"<div><code>{html.escape(repr(self))}</code>{said}</div>"

    @abstractmethod
    def bind(self, *types: pa.DataType) -> StateFunctions:
        """The operation for input columns of these types; ColumnError where it cannot work on them."""

    def at_times(self, duration: Callable[[Any, str], int]) -> Bindable:
        """The operation for a time column; ``duration(value, argument)`` gives the ticks of a duration.

        Operations made of others pass it on; those without durations are unchanged.
        """
        inner = {name: _each(value, lambda part: part.at_times(duration)) for name, value in self._made_of().items()}
        if not inner:
            return self
        return self.changed(**inner)

    def changed(self, **attributes: Any) -> Self:
        """A copy with other values of some attributes."""
        operation = copy.copy(self)
        vars(operation).update(attributes)
        return operation

    def _made_of(self) -> dict[str, Any]:
        """The attributes that hold the operations this one is made of: one each, or several by name."""
        return {
            name: value
            for name, value in vars(self).items()
            if isinstance(value, Bindable)
            or (isinstance(value, dict) and value and all(isinstance(part, Bindable) for part in value.values()))
        }

    def _parts(self) -> list[Bindable]:
        """The operations this one is made of."""
        parts: list[Bindable] = []
        for value in self._made_of().values():
            parts += value.values() if isinstance(value, dict) else [value]
        return parts

    def parts_joined(self) -> dict[str, Any]:
        """The operations whose results it joins, by their names."""
        made_of = self._made_of()
        return next((value for value in made_of.values() if isinstance(value, dict)), made_of)

    def in_its_words(self, sentence: str) -> str:
        """A sentence about laws, in which functions have the names that whoever wrote them gave them."""
        for part in self._parts():
            sentence = part.in_its_words(sentence)
        return sentence

    @property
    def is_made_of_others(self) -> bool:
        """Whether it computes other operations, as ``AllOf`` does."""
        return bool(self._made_of())

    @property
    def in_order(self) -> bool:
        """Whether this operation, or one it is made of, uses the order of events."""
        return self.uses_order or any(part.in_order for part in self._parts())

    @property
    def has_inner_filling(self) -> bool:
        """Whether a part of this operation is filled, which only a whole output can be."""
        return any(part.filling or part.has_inner_filling for part in self._parts())

    @property
    def has_inner_windows(self) -> bool:
        """Whether a part of this operation was given windows of its own, which only a whole output can have."""
        return any(part.windows or part.has_inner_windows for part in self._parts())

    def with_windows(self, change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Self:
        """The operation over other windows; where parts of it have windows of their own, each of its parts."""
        if not self.has_inner_windows:
            return self.over(*change(self.windows))
        inner = {name: _each(value, lambda part: part.with_windows(change)) for name, value in self._made_of().items()}
        return self.changed(**inner)

    def windows_of_parts(self) -> list[tuple[Any, ...]]:
        """The windows of this operation, or of each of its parts where these have windows of their own."""
        if not self.has_inner_windows:
            return [self.windows]
        return [windows for part in self._parts() for windows in part.windows_of_parts()]

    def is_alike(self, other: Bindable) -> bool:
        """Whether another operation is known to compute the same, over whatever windows."""
        return self.computes() == other.computes()

    def computes(self) -> Hashable:
        """What it computes, over whatever windows: equal for two operations that are known to compute the same."""
        return _likeness(self.changed(windows=()))

    @property
    def of_lifetimes(self) -> bool:
        """Whether this operation, or one it is made of, is of the lifetimes of interval events."""
        return any(part.of_lifetimes for part in self._parts())

    def over(self, *windows: Any) -> Self:
        """The operation over windows of its own, instead of those of the query; one pass, on shared frames.

        The result has a row for every window of every output; an output is null in windows that are not its own.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> events = pa.table({"t": [0, 1, 5], "x": [1, 2, 3]})
        >>> both = ff.Sum("x").over(ff.tumbling(2), ff.tumbling(4))
        >>> ff.events(events, time="t").window(ff.tumbling(4)).aggregate(x=both, n=ff.Count()).to_pylist()[:2]
        [{'window': {'start': 0, 'end': 2}, 'x': 3, 'n': None}, {'window': {'start': 0, 'end': 4}, 'x': 3, 'n': 2}]
        """
        return self.changed(windows=windows)

    def filled(self, how: Literal["last", "linear"]) -> Self:
        """The operation with values in windows where it has none, such as those without an event (``empty="emit"``).

        As a gap filler of SQL, or pandas' ``resample(...).ffill()`` and ``interpolate()``, each key for itself.

        Parameters
        ----------
        how
            ``"last"`` for the value of the last window before that has one. ``"linear"`` for a number on the line
            between this and the next one, by the ends of windows, or by ``at`` where these have it (``stamp=``); a
            double, and null after the last value. Before the first value all is null.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> events = ff.events(pa.table({"t": [0, 3], "x": [1.0, 4.0]}), time="t").window(ff.tumbling(1, empty="emit"))
        >>> x = ff.Last("x")
        >>> events.aggregate(last=x.filled("last"), line=x.filled("linear"), n=ff.Count()).drop(["window"]).to_pydict()
        {'last': [1.0, 1.0, 1.0, 4.0], 'line': [1.0, 2.0, 3.0, 4.0], 'n': [1, 0, 0, 1]}
        """
        if how not in ("last", "linear"):
            raise QueryError(f"filled() is given {how!r}; expected 'last' (as pandas' ffill) or 'linear' (interpolate)")
        return self.changed(filling=how)


class StateFunctions(Bindable):
    """What an operation is bound to: functions over whole columns of states; see :class:`AggregateOperation`."""

    state: Mapping[str, Any] = {}
    ufuncs: Mapping[str, Any] = {}
    range_cost: str = "what its finish_ranges takes"
    """What a window costs where ``finish_ranges`` answers, in words for ``.explain()``."""

    answers_nested: bool = True
    """Whether ``finish_ranges`` answers ranges that lie within one another, too, rather than return None for them."""

    picks: Literal["first", "last"] | None = None
    """Which of the states in a range whose field ``seen`` is true finishes to the result of all. For built-in
    operations only."""

    centred: Any = None
    """The bound operation whose sums about centres the results of windows are made of, if there is one: then
    ``joined``, ``about_codes`` and ``finish_centred`` are there, too. For built-in operations only."""

    joined: Any = None
    """The operation itself, bound, by joining states, where sums about centres have too few bits."""

    has_user_combine: ClassVar[bool] = False
    """Whether ``combine`` calls a function that a user gave. For built-in operations only."""

    def bind(self, *types: pa.DataType) -> StateFunctions:
        """The operation for input columns of these types: itself, unless its state depends on them."""
        return self

    def create(self) -> Mapping[str, Any]:
        """The identity, one scalar a field: ``combine(create, x) == x``. Zeros unless a subclass says otherwise."""
        return dict.fromkeys(self.state, 0)

    def combine(self, a: State, b: State, /) -> State:
        """Two states to one, for each element of two columns; ``a`` is the earlier.

        ::

            element       0            1            2        one for each window, or for each key and frame
            a          ├─────┤      ├──┤         ├─────┤     the time that each state is of
            b                ├──┤      ├─────┤         ├──┤
            combine    ├────────┤   ├────────┤   ├────────┤

        It is associative: of three neighbours, either pair may be combined first, and the result is the same.
        """
        raise OperationError(f"{type(self).__name__} has no combine: write combine(self, a, b)")

    def combine_groups(self, blocks: Iterable[tuple[State, Index]], groups: int) -> State | None:
        """The states of each group of rows combined, in their order; None: by ``combine``. For built-in ones only.

        Blocks are states of rows and the group of each.
        """
        return None

    def deduct(self, a: State, b: State, /) -> State:
        """Remove ``b`` from the left end of ``a``. Optional."""
        raise OperationError(f"{type(self).__name__} has no deduct")

    def finish(self, a: State, /) -> Any:
        """The results of states: a numpy array (masked where null), an Arrow array, or a list."""
        raise OperationError(f"{type(self).__name__} has no finish: write finish(self, a)")

    def finish_ranges(self, a: State, ranges: StateRanges, /) -> Any:
        """The results of ranges of states, as ``finish`` gives them of states combined from left to right. Optional.

        For operations whose states hold values: those of a range follow one another in ``a``, so it can be asked about
        them without a state of its own. ``ranges.low`` and ``ranges.high`` are the first state of each range and the
        one after its last, in any order; empty ranges are as ``create``. Results as ``finish`` gives them, or states
        that it makes them of, such as those of the few values that matter; None where it cannot answer these ranges.
        """
        raise OperationError(f"{type(self).__name__} has no finish_ranges")

    def about_codes(self, a: State, codes: Any, size: int) -> tuple[State, Any] | None:
        """States of ``centred`` about a centre for each code, below ``size``, of the rows that have it; and each unit.

        None where states are not such that this can be done.
        """
        return None

    def finish_centred(self, sums: State, unit: Any) -> tuple[Any, Any, Any]:
        """The results of sums of ``about_codes`` in some units, which are null, and the rows of those with few bits."""
        raise OperationError(f"{type(self).__name__} has no finish_centred")

    def has(self, method: str) -> bool:
        """Whether a subclass has written the method."""
        return getattr(type(self), method, None) not in (None, getattr(Accumulator, method))


class Accumulator(StateFunctions):
    """Functions that also make the states, of rows; the states of others are made of other states."""

    takes_empty_frames: ClassVar[bool] = False
    """Whether ``accumulate`` takes frames without a row, whose states are dropped. For built-in operations only."""

    sql: ClassVar[Mapping[str, str] | None] = None
    """Optional: an aggregate of Spark's SQL for each field, such as ``{"total": "sum({0})"}``, where ``{0}``, ``{1}``,
    ... are the input columns. Spark then builds the states itself, and events need not cross into Python. It must give
    what ``accumulate`` gives; a null is the identity. Several columns are all null in rows where any of them is."""

    def changes_created(self, rows: Sequence[tuple[Any, ...]], /) -> bool:
        """Whether ``create`` gives one object each time, which to accumulate rows changes. For Python objects only."""
        return False

    def accumulate(self, frames: Frames, /, *columns: Any, **named: Any) -> State:
        """The states of a batch's frames, from its rows: ``accumulate(self, frames, x, ...)``, a column each."""
        raise OperationError(f"{type(self).__name__} has no accumulate: write accumulate(self, frames, ...)")

    def sql_spec(self, *types: pa.DataType) -> SqlSpec | None:
        """How Spark builds states from columns of these types by itself; None where it cannot: see ``sql``.

        Raises
        ------
        OperationError
            If ``sql`` does not have the fields of the state, or names a column that the operation is not given.
        """
        if self.sql is None:
            return None
        kinds = {name: field(declared) for name, declared in self.state.items()}
        if self.sql.keys() != kinds.keys():
            found, expected = (", ".join(map(repr, names)) or "nothing" for names in (self.sql, kinds))
            raise OperationError(f"the sql of {self!r} has {found}; expected an aggregate for each of {expected}")
        columns = [str(place) for place in range(len(self.columns))]
        for name, text in self.sql.items():
            for word in PLACEHOLDER.findall(text):
                if word not in (*columns, "ticks"):
                    raise OperationError(
                        f"the sql of {self!r} for {name!r} names {{{word}}}; expected one of its "
                        f"{len(columns)} columns, from {{0}}"
                    )
        return by_field(self.sql, kinds, self.create(), columns if self.drops_nulls else [])


class TypedOperation(Accumulator):
    """An operation bound to column types; ``spec`` is the unbound one, as which it prints."""

    def __init__(self, spec: Bindable) -> None:
        super().__init__(*spec.columns)
        self.spec = spec

    def __repr__(self) -> str:
        return repr(self.spec)


def _likeness(value: Any) -> Hashable:
    """Equal for values that are known to be alike; of what cannot be compared, for one object only."""
    if isinstance(value, Bindable):
        return type(value), _likeness(vars(value))
    if isinstance(value, dict):
        return type(value), frozenset((name, _likeness(each)) for name, each in value.items())
    if isinstance(value, tuple):
        return type(value), tuple(map(_likeness, value))
    return type(value), value if isinstance(value, (str, int, float, pa.DataType)) else id(value)


def _each(value: Any, change: Callable[[Bindable], Bindable]) -> Any:
    return {name: change(part) for name, part in value.items()} if isinstance(value, dict) else change(value)


def check_arity(named: str, accumulate: Callable[..., Any], columns: Sequence[str]) -> None:
    """OperationError unless a function takes frames or a state, and then each of the columns."""
    try:
        inspect.signature(accumulate).bind(None, *columns)
    except TypeError:
        takes = max(len(inspect.signature(accumulate).parameters) - 1, 0)
        raise OperationError(f"{named} is given {len(columns)} columns, but its accumulate takes {takes}") from None


def accumulate_where(
    frames: Frames,
    rows: Bools,
    columns: Sequence[pa.Array],
    accumulate: Callable[[Frames, Sequence[pa.Array]], State],
    identity: State,
) -> dict[str, Any]:
    """States of some of the rows, as ``accumulate`` makes them; the identity, one state, in frames with no such row."""
    some, left = frames.where(rows)
    states = accumulate(some, at_rows(columns, rows)) if some.size else take(identity, slice(0))
    return {key: place(frames.size, left, states[key], column) for key, column in identity.items()}


def at_rows(columns: Sequence[pa.Array], rows: Bools) -> list[pa.Array]:
    """Columns at some rows: Arrow filters faster where most are left, and takes faster where few are."""
    if 4 * np.count_nonzero(rows) > 3 * len(rows):
        left = pa.array(rows)
        return [column.filter(left) for column in columns]
    left = pa.array(np.flatnonzero(rows))
    return [column.take(left) for column in columns]
