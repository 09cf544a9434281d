"""One output of a query: an operation bound to the types of its input columns.

Users' functions get read-only columns, and what they return is checked: every field, its type and its length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import ColumnError, FramefoldError, ImpureError, LawError, OperationError, QueryError, shown
from ..numeric.texts import text_at
from ..states.arrays import Index
from ..states.categories import Categories, plain_values, values_type
from ..states.fields import Column, Compensated, CompensatedField, Plain, field, joins_exactly, to_values
from ..states.large import fitting, has_room, one_array
from ..states.limbs import Exact
from ..states.ragged import Ragged, RaggedField
from ..states.rows import place, take
from ..states.views import is_made
from .aggregate import Accumulator, Bindable, State, StateFunctions, StateRanges, accumulate_where, check_arity
from .frames import Frames, Values, valid_rows
from .sample_columns import samples
from .sql_spec import Planes, SqlSpec

FEW_ROWS = 4
"""Rows that are accumulated to see whether a state is shared."""

TRIALS = 64
"""Pairs of states on which an undeclared operation is tried for commutativity."""

FINER = pa.time64("ns")
"""Times of day finer than Python's, of which states are."""

PACKAGE = __name__.partition(".")[0]
"""Where built-in operations are defined: their functions are trusted."""


class BoundAggregate:
    """One output of a query: an operation that knows its input types.

    Parameters
    ----------
    name
        The output's name, for messages.
    operation
        What the user gave.
    types
        The Arrow types of its input columns.

    Raises
    ------
    ColumnError
        If the operation cannot work on these types.
    OperationError
        If the operation lacks a method or breaks its contract in a
    """

    def __init__(self, name: str, operation: Bindable, types: Sequence[pa.DataType]) -> None:
        self.name = name
        self.spec = operation
        self.columns = operation.columns
        self.of_nulls = any(map(pa.types.is_null, types))
        self.untrusted = operation.from_user or type(operation).__module__.partition(".")[0] != PACKAGE
        types = self._without_categories(types)
        types = [pa.time64("us") if type == FINER else type for type in types]
        self.types = with_known_types(operation, types) if self.of_nulls else tuple(types)
        self.operation: StateFunctions = self._call("bind", operation.bind, *self.types)
        held = vars(self.operation).values()
        parts = [part for each in held for part in (each.values() if isinstance(each, Mapping) else [each])]
        self.made_of = [part for part in parts if isinstance(part, BoundAggregate)]
        of_rows = ["accumulate"] if isinstance(self.operation, Accumulator) else []
        for method in (*of_rows, "combine", "finish"):
            if not self.operation.has(method):
                raise OperationError(
                    f"{operation!r} for {name!r} has no {method}, which every AggregateOperation must have"
                )
        if self.untrusted:
            check_arity(f"{operation!r} for {name!r}", self.accumulator.accumulate, self.columns)
        state = self.operation.state
        if not state or not isinstance(state, Mapping):
            found = f"declares state = {shown(state)}" if state else "declares no state"
            raise OperationError(
                f"{operation!r} for {name!r} {found}; expected a dict of fields and types: {{'total': 'float64'}}"
            )
        self.fields = {key: field(declared) for key, declared in self.operation.state.items()}
        for kept in (type for each in self.fields.values() for type in each.planes.values()):
            if not is_made(kept):
                raise ColumnError(
                    f"{operation!r} keeps values of {kept}, which Arrow does not make; expected plain ones"
                )
        self.identity: State = self.created()
        if self.untrusted and operation.try_laws:
            check_create(self)
        self.result: pa.DataType = self.operation.result
        self.codes: pa.DataType | None = None  # the type of results that are codes
        if self.untrusted or not isinstance(self.result, pa.DataType):
            self.result = result_type(self)
        elif values_type(self.result) != self.result:
            self.codes, self.result = self.result, values_type(self.result)
        self.commutative = self.operation.commutative
        if self.commutative is None:
            self.commutative = commutes(self)
        if self.untrusted and self.ufuncs:
            check_ufuncs(self)

    def _without_categories(self, types: Sequence[pa.DataType]) -> Sequence[pa.DataType]:
        """The types that the operation is bound to; ColumnError where it compares what it knows no order of."""
        if self.spec.compares is None:
            return types
        found = list(map(values_type, types))
        for at in range(len(types))[self.spec.compares]:
            type, column = types[at], self.columns[at]
            if isinstance(type, Categories) and not self.untrusted:  # a subclass of a user's expects values
                found[at] = type
            elif found[at] != type:
                raise ColumnError(
                    f"{self.spec!r} compares {column!r}, an ordered dictionary, whose order it cannot go by; expected "
                    f"a column of {found[at]}: cast it"
                )
        for at, (name, type) in enumerate(zip(self.columns, types, strict=True)):
            if isinstance(type, Categories) and name in self.coded_columns:
                found[at] = type
        return found

    @property
    def accumulator(self) -> Accumulator:
        """The operation, of rows: one of joined states is never asked for any."""
        assert isinstance(self.operation, Accumulator)
        return self.operation

    @property
    def coded_columns(self) -> set[str]:
        """The columns that it can take as codes in the order of their values, and in no other way."""
        if self.untrusted or self.spec.compares is None:
            return set()
        coded = set(self.columns[self.spec.compares]) | set(self.columns[self.spec.keeps])
        return {name for name in coded if self.columns.count(name) == 1}

    @property
    def deducts(self) -> tuple[bool, str]:
        """Whether windows slide by deduct, and why or why not."""
        if not self.operation.has("deduct"):
            return False, "it has no deduct"
        if self.operation.exact_deduct:
            return True, "it declares exact_deduct"
        inexact = [key for key, kind in self.fields.items() if not kind.exact]
        if not inexact:
            return True, "its deduct is exact: no field of its state loses anything"
        kind = self.fields[inexact[0]]
        what = "a list of items" if isinstance(kind, RaggedField) else "a Python object"
        what = f"a plain {kind.dtype}" if isinstance(kind, Plain) else what
        return False, f"its deduct may not be exact: the field {inexact[0]!r} is {what}"

    @property
    def answers_ranges(self) -> bool:
        """Whether it is answered over ranges of its states, and no subclass overrides what that stands for."""
        written = written_last(self.operation, "finish_ranges", "finish", "combine")
        return "finish_ranges" in written and self.operation.has("finish_ranges")

    @property
    def takes_empty_frames(self) -> bool:
        """Whether it takes frames without a row, whose states are dropped; never for users' operations."""
        return self.accumulator.takes_empty_frames and not self.untrusted

    @property
    def sql_spec(self) -> SqlSpec | None:
        """The spec by which Spark builds states; None without one, or where a subclass overrides ``accumulate``."""
        if self.of_nulls or written_last(self.operation, "sql", "sql_spec", "accumulate") == {"accumulate"}:
            return None
        found: SqlSpec | None = self._call("sql_spec", self.accumulator.sql_spec, *self.types)
        return found

    def read(self, planes: Planes) -> State:
        """The states that Spark SQL has accumulated."""
        spec = self.sql_spec
        assert spec is not None
        return self._checked("sql", self._call("sql", spec.read, planes), len(next(iter(planes.values()))))

    @property
    def compensated(self) -> list[str]:
        """The compensated fields, whose deductions are checked."""
        return [key for key, kind in self.fields.items() if isinstance(kind, CompensatedField)]

    @property
    def ufuncs(self) -> Mapping[str, Any]:
        """The numpy functions that join fields, if the operation names them and no subclass overrides ``combine``."""
        of = self.operation
        return of.ufuncs if "ufuncs" in vars(of).keys() | written_last(of, "ufuncs", "combine") else {}

    @property
    def has_kernels(self) -> bool:
        """Whether numpy functions join all fields, and lose nothing in whatever order."""
        functions = self.ufuncs
        return bool(functions) and all(joins_exactly(functions.get(key), kind) for key, kind in self.fields.items())

    def accumulate(self, frames: Frames, inputs: Sequence[pa.Array]) -> State:
        """The states of all frames of a batch; rows with a null in an input column are left out."""
        inputs = list(map(self._taken, inputs, self.types, self.columns))
        valid = valid_rows(inputs) if self.spec.drops_nulls else None
        if valid is None:
            return self._accumulate(frames, inputs)
        return accumulate_where(frames, valid, inputs, self._accumulate, self.identity)

    def _taken(self, given: pa.Array, type: pa.DataType, column: str) -> pa.Array:
        """An input as the operation takes it; ColumnError where times of day have digits below a microsecond."""
        if given.type == FINER:
            try:
                given = given.cast(pa.time64("us"))
            except pa.ArrowInvalid as error:
                raise ColumnError(
                    f"{self.spec!r} names {column!r}, which is {FINER}; expected time64[us], or no digits below a "
                    "microsecond: round it first"
                ) from error
        if given.type != type and self.spec.compares is not None:
            given = plain_values(given)
        return given.cast(type) if self.of_nulls else given

    def _accumulate(self, frames: Frames, inputs: Sequence[pa.Array]) -> State:
        values: Iterable[Values] = map(to_values, inputs) if self.spec.drops_nulls else inputs
        with np.errstate(all="ignore"):
            states = self._call("accumulate", self.accumulator.accumulate, frames, *map(self._locked_values, values))
        return self._checked("accumulate", states, frames.size)

    def combine(self, a: State, b: State) -> State:
        """States joined element by element, the left ones earlier."""
        return self._join("combine", self.operation.combine, a, b)

    def combine_groups(self, blocks: Iterable[tuple[State, Index]], groups: int) -> State | None:
        """The states of each group of rows combined, in the order of the rows; None where only ``combine`` can."""
        return None if self.untrusted else self.operation.combine_groups(blocks, groups)

    def combine_locked(self, a: State, b: State) -> State:
        """:meth:`combine` of read-only columns within ``np.errstate``; the caller sees to both, once for many calls."""
        states: State = self._call("combine", self.operation.combine, a, b)
        return self._checked("combine", states, length(a)) if self.untrusted else states

    def deduct(self, a: State, b: State) -> State:
        """The states ``a`` without the states ``b``."""
        return self._join("deduct", self.operation.deduct, a, b)

    def _join(self, method: str, function: Callable[[State, State], State], a: State, b: State) -> State:
        with np.errstate(all="ignore"):
            states: State = self._call(method, function, self._locked(a), self._locked(b))
        return self._checked(method, states, length(a)) if self.untrusted else states

    def finish(self, a: State) -> pa.Array:
        """The results of states, of the type ``result``."""
        return self._results(self.finished(a))

    @property
    def joined_parts(self) -> Mapping[str, BoundAggregate]:
        """The operations whose results it joins, by their names; for one whose spec ``joins_results``."""
        parts: Mapping[str, BoundAggregate] = getattr(self.operation, "joined_parts", {})
        return parts

    def joined(self, results: Mapping[str, pa.Array]) -> pa.Array:
        """The results that those of :attr:`joined_parts` are joined to."""
        join: Any = self.operation
        with np.errstate(all="ignore"):
            return self._results(self._call("finish", join.joined, results))

    def _results(self, values: Any) -> pa.Array:
        """What ``finish`` returned, or ``finish_ranges``, as a column of the type ``result``."""
        found = self.to_result(values, self.codes or self.result)
        return found if self.codes is None else plain_values(found, text_at)

    def finish_ranges(self, a: State, ranges: StateRanges) -> pa.Array | State | None:
        """The results of ranges of states, or states that finish to them; None where the operation cannot answer them.

        For one that ``answers_ranges``.
        """
        with np.errstate(all="ignore"):
            values = self._call("finish_ranges", self.operation.finish_ranges, self._locked(a), ranges)
        if values is None:
            return None
        if isinstance(values, Mapping):
            return self._checked("finish_ranges", values, len(ranges.low))
        return self._results(self._one_each("finish_ranges", values, len(ranges.low), "ranges"))

    def created(self) -> State:
        """The identity, made anew: columns of one state."""
        identity = self._call("create", self.operation.create)
        self._check_keys("create", identity)
        return {key: self._column("create", key, None, identity[key]) for key in self.fields}

    def scatter(self, size: int, rows: Index, states: State) -> State:
        """States at some of ``size`` frames, and the identity at the others."""
        return {key: place(size, rows, states[key], self.identity[key]) for key in self.fields}

    def finished(self, a: State) -> Any:
        """The values that the operation's ``finish`` returns; OperationError where their number is wrong."""
        with np.errstate(all="ignore"):
            values = self._call("finish", self.operation.finish, self._locked(a))
        return self._one_each("finish", values, length(a), "states")

    def _one_each(self, method: str, values: Any, size: int, what: str) -> Any:
        """What a method returned as a column; OperationError unless it has as many values as it must."""
        if isinstance(values, Compensated):
            values = values.value()
        elif isinstance(values, Exact):
            values = values.int64()[0]
        if not hasattr(values, "__len__") or len(values) != size:
            found = f"{len(values)} results" if hasattr(values, "__len__") else repr(values)
            raise OperationError(f"{method} of {self.name!r} returned {found} for {size} {what}; expected one each")
        return values

    def to_result(self, values: Any, type: pa.DataType | None) -> pa.Array:
        """Values that ``finish`` returned as a column of a type; of an inferred one where None."""
        try:
            column = to_column(values)
            return column if type is None else fitting(column, type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            typed = isinstance(values, (pa.Array, pa.ChunkedArray))
            if type is not None and not typed and not pa.types.is_integer(type):
                with suppress(pa.ArrowInvalid, pa.ArrowTypeError):
                    return array_of(list(values), type)
            said = f"finish of {self.name!r} returned what cannot be a column of {type or 'one type'}: {error}"
            if self.operation.result is None:
                said += "; declare the type of the result, such as result = 'float64'"
            raise OperationError(said) from error

    def _checked(self, method: str, states: Any, size: int) -> State:
        self._check_keys(method, states)
        return {key: self._column(method, key, size, states[key]) for key in self.fields}

    def _check_keys(self, method: str, states: Any) -> None:
        if isinstance(states, dict) and states.keys() == self.fields.keys():
            return
        if not isinstance(states, Mapping):
            found = "None" if states is None else f"a {type(states).__name__}"
            raise OperationError(f"{method} of {self.name!r} returned {found}; expected a dict of its state's fields")
        for key in sorted(self.fields.keys() ^ states.keys(), key=str):
            wrong = "no field" if key in self.fields else "an undeclared field"
            declared = ", ".join(map(repr, self.fields))
            raise OperationError(f"{method} of {self.name!r} returned {wrong} {key!r}; its state declares {declared}")

    def _column(self, method: str, key: str, size: int | None, values: Any) -> Column:
        kind = self.fields[key]
        if type(values) is np.ndarray and isinstance(kind, Plain):
            array: NDArray[Any] = values
            if array.dtype == kind.dtype and array.shape == (size,):
                return array
        try:
            column = kind.full(values, 1) if size is None else kind.column(values)
            found = len(column)
        except (TypeError, ValueError, OverflowError) as error:
            declared = self.operation.state[key]
            raise OperationError(
                f"{method} of {self.name!r} returned for field {key!r} what cannot be {str(declared)!r}: {error}"
            ) from error
        if size is not None and found != size:
            expected = f"{size}, one a frame" if method == "accumulate" else size
            raise OperationError(
                f"{method} of {self.name!r} returned {found} states in field {key!r}; expected {expected}"
            )
        return column

    def _call(self, method: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a user's function; its own traceback stays attached to the error that names it."""
        try:
            return function(*arguments)
        except FramefoldError:
            raise
        except Exception as error:
            said = f"{method} of {self.name!r} ({self.spec!r}) failed: {type(error).__name__}: {error}"
            if isinstance(error, ValueError) and "read-only" in str(error):
                raise ImpureError(
                    f"{said}; by the law of purity it leaves its arguments as they are, and gives new columns"
                ) from error
            raise OperationError(said) from error

    def _locked(self, states: State) -> State:
        return {key: self._locked_values(column) for key, column in states.items()} if self.untrusted else states

    def _locked_values(self, values: Any) -> Any:
        if self.untrusted and isinstance(values, np.ndarray):
            values = values.view()
            values.setflags(write=False)
        return values


def written_last(operation: StateFunctions, *names: str) -> set[str]:
    """Those of some names that are written in the same class, below which no subclass writes any of them."""
    return next(found for kind in type(operation).__mro__ if (found := vars(kind).keys() & set(names)))


def length(states: State) -> int:
    """The number of states."""
    return len(next(iter(states.values())))


def to_column(values: Any) -> pa.Array:
    """Values that a user's function returned as an Arrow array; masked values are null."""
    if isinstance(values, pa.ChunkedArray):
        return values if values.num_chunks > 1 and not has_room(values, values.type) else one_array(values)
    if isinstance(values, np.ma.MaskedArray):
        return pa.array(np.asarray(values.data), mask=np.ma.getmaskarray(values))
    return values if isinstance(values, pa.Array) else array_of(values)


def array_of(values: Any, type: pa.DataType | None = None) -> pa.Array:
    """Python values as an Arrow array; ArrowInvalid where they are none, also where pyarrow raises other exceptions."""
    try:
        return pa.array(values, type=type)
    except OverflowError as error:
        raise pa.ArrowInvalid("an integer has more than 64 bits, as only decimals may") from error
    except (UnicodeError, RecursionError) as error:  # half of a surrogate pair; a list that holds itself
        raise pa.ArrowInvalid(str(error)) from error


STAND_INS = (pa.float64(), pa.bool_(), pa.string(), pa.int64(), pa.timestamp("us"), pa.list_(pa.float64()))
"""Types that a column of type null is taken for, all null: the first one that an operation takes."""


def with_known_types(operation: Bindable, types: Sequence[pa.DataType]) -> tuple[pa.DataType, ...]:
    """The types of an operation's columns, with a type that it takes for those of type null."""
    choices = [tuple(stand_in if pa.types.is_null(type) else type for type in types) for stand_in in STAND_INS]
    of_others = [tuple(types)] if operation.is_made_of_others else []  # these find a type each by itself
    for choice in (*of_others, *choices):
        with suppress(QueryError, OperationError):
            operation.bind(*choice)
            return choice
    return choices[0]


def states_of_samples(bound: BoundAggregate) -> State | None:
    """States of made-up events, in time order; None where no events can be made up for its types."""
    rows = 4 * TRIALS
    columns = samples(bound.types, rows)
    if columns is None:
        return None
    index = np.sort(np.r_[np.arange(2 * TRIALS), np.random.default_rng(1).integers(0, 2 * TRIALS, 2 * TRIALS)])
    frames = Frames(index.astype(np.intp), 2 * TRIALS, np.arange(rows, dtype=np.int64))
    return bound.accumulate(frames, columns)


def result_type(bound: BoundAggregate) -> pa.DataType:
    """The type of an operation's results: the declared one, or that of a trial.

    Raises
    ------
    OperationError
        If it breaks its contract in the trial, or the type cannot be told.
    """
    declared = named_type(bound.spec, bound.operation.result)
    found = declared
    failed = ""
    problem: BaseException | None = None
    if bound.untrusted or declared is None:
        try:
            states = states_of_samples(bound)
            if states is not None:
                found = bound.to_result(bound.finished(states), declared).type
        except OperationError as error:
            problem = error.__cause__
            if problem is None:  # it broke its contract; anything else may be the made-up values' fault
                raise
            failed = f", as it fails on made-up events ({type(problem).__name__}: {problem})"
    if declared is not None:
        return declared
    if found is None or pa.types.is_null(found):
        found = bound.to_result(bound.finished(bound.identity), None).type
    if pa.types.is_null(found):
        raise OperationError(
            f"the type of the result of {bound.spec!r} for {bound.name!r} cannot be told{failed}; declare "
            "it, such as result = 'float64'"
        ) from problem
    return found


def named_type(spec: Bindable, declared: Any) -> pa.DataType | None:
    """The Arrow type that an operation declares for its result."""
    if declared is None or isinstance(declared, pa.DataType):
        return declared
    try:
        if isinstance(declared, str):
            name = declared.strip()
            if name.startswith("list<") and name.endswith(">"):
                return pa.list_(named_type(spec, name[5:-1]))
            return pa.type_for_alias(name)
        return pa.from_numpy_dtype(np.dtype(declared))
    except (ValueError, TypeError, pa.ArrowNotImplementedError) as error:
        raise OperationError(
            f"result of {spec!r} is {declared!r}; expected an Arrow type or its name, such as "
            "'float64' or 'list<string>'"
        ) from error


def commutes(bound: BoundAggregate) -> bool:
    """Whether ``combine`` is commutative in all trials; False where unknown."""
    joined = joined_samples(bound)
    return joined is not None and all(same(joined[2][key], joined[3][key]) for key in bound.fields)


def joined_samples(bound: BoundAggregate) -> tuple[State, State, State, State] | None:
    """Two columns of states of made-up events, and these combined in both orders; None where that fails."""
    try:
        states = states_of_samples(bound)
        if states is None:
            return None
        a, b = (take(states, slice(part, None, 2)) for part in (0, 1))
        return a, b, bound.combine(a, b), bound.combine(b, a)
    except OperationError:
        return None


def check_ufuncs(bound: BoundAggregate) -> None:
    """OperationError where the functions of ``ufuncs`` are not what ``combine`` does, as far as trials can tell."""
    declared = ", ".join(map(repr, bound.fields))
    for key, function in bound.ufuncs.items():
        if key not in bound.fields:
            raise OperationError(f"ufuncs of {bound.name!r} names {key!r}; expected fields of its state: {declared}")
        if not isinstance(function, np.ufunc):
            raise OperationError(
                f"ufuncs of {bound.name!r} has {function!r} for field {key!r}; expected a numpy function such as np.add"
            )
    trial = joined_samples(bound)
    if trial is None:
        return
    a, b, joined, _ = trial
    for key, function in bound.ufuncs.items():
        x, y = cast(Any, a[key]), cast(Any, b[key])
        with np.errstate(all="ignore"):
            expected = x + y if isinstance(x, (Compensated, Exact)) else function(x, y)
        if not same(joined[key], expected):
            raise OperationError(
                f"ufuncs of {bound.name!r} has {function.__name__} for field {key!r}; expected what its combine does"
            )


def check_create(bound: BoundAggregate) -> None:
    """OperationError where ``create`` gives one object each time, which ``accumulate`` changes.

    To be called before any other trial: these would leave made-up events in that object.
    """
    columns = samples(bound.types, FEW_ROWS) if bound.operation.has("changes_created") else None
    if columns is None:
        return
    rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
    if not bound.accumulator.changes_created(rows):
        return
    said = "purity: create gives the same object each time, which accumulate changes; expected a new one"
    law = LawError(bound.spec.in_its_words(said))
    raise OperationError(f"{bound.spec!r} for {bound.name!r} breaks the law of {law}") from law


def same(a: Column, b: Column) -> bool:
    """Whether two columns hold equal states; NaN equals NaN."""
    if isinstance(a, Exact):
        return isinstance(b, Exact) and a.integers() == b.integers()
    if isinstance(a, Compensated):
        return isinstance(b, Compensated) and bool(np.array_equal(a.value(), b.value(), equal_nan=True))
    if isinstance(a, Ragged):
        ours, theirs = a.planes, cast(Ragged, b).planes
        return bool(np.array_equal(a.offsets, cast(Ragged, b).offsets)) and all(same(ours[k], theirs[k]) for k in ours)
    x, y = a, cast(NDArray[Any], b)
    if x.dtype == object:
        return all(bool(np.all(left == right)) for left, right in zip(x.tolist(), y.tolist(), strict=True))
    return bool(np.array_equal(x, y, equal_nan=x.dtype.kind in "fcmM"))
