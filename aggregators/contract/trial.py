"""Trials of an operation on made-up events: whether it keeps its contract."""

from __future__ import annotations

import decimal
import pickle
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import cloudpickle
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import LawError, OperationError, QueryError
from ..states.categories import Categories
from ..states.fields import Column, Compensated
from ..states.limbs import Exact
from ..states.ragged import Ragged
from .frames import Frames
from .operation import Operation, State
from .python_operation import ObjectColumns, folded_rows

if TYPE_CHECKING:
    from .bound import BoundAggregate

FEW_ROWS = 4
"""Rows that are accumulated to see whether a state is shared."""

TRIALS = 64
"""Pairs of states on which an undeclared operation is tried for commutativity."""


def sample(type: pa.DataType, length: int, seed: int = 0) -> pa.Array | None:
    """A column of small positive values with many ties, of a type; None where no such values can be made up."""
    numbers = np.random.default_rng(seed).integers(1, 7, length)
    if isinstance(type, Categories):
        count = len(type.values)
        return pa.array((numbers % count).astype(np.int32)).cast(type) if count else None
    try:
        if pa.types.is_floating(type):
            return pa.array(numbers / 4).cast(type)
        if pa.types.is_boolean(type):
            return pa.array(numbers > 3)
        if pa.types.is_decimal(type):
            scale = decimal.Decimal(1).scaleb(-type.scale)
            return pa.array([int(number) * scale for number in numbers], type=type)
        if pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type):
            return pa.array([chr(96 + int(number)) for number in numbers], type=type)
        if pa.types.is_fixed_size_binary(type):
            return pa.array([bytes([int(number)] * type.byte_width) for number in numbers], type=type)
        if pa.types.is_binary(type) or pa.types.is_large_binary(type):
            return pa.array([bytes([int(number)]) for number in numbers], type=type)
        if pa.types.is_date64(type):
            return pa.array(numbers * 86_400_000).cast(type)
        if pa.types.is_date32(type) or pa.types.is_time32(type):
            return pa.array(numbers.astype(np.int32)).cast(type)
        if pa.types.is_list(type) or pa.types.is_large_list(type):
            values = sample(type.value_type, length, seed)
            offsets = np.arange(length + 1)
            if values is None:
                return None
            made = pa.LargeListArray if pa.types.is_large_list(type) else pa.ListArray
            return made.from_arrays(
                pa.array(offsets, pa.int64() if pa.types.is_large_list(type) else pa.int32()), values
            )
        return pa.array(numbers).cast(type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None


STAND_INS = (pa.float64(), pa.bool_(), pa.string(), pa.int64(), pa.timestamp("us"), pa.list_(pa.float64()))
"""Types that a column of type null is taken for, all null: the first one that an operation takes."""


def with_known_types(operation: Operation, types: Sequence[pa.DataType]) -> tuple[pa.DataType, ...]:
    """The types of an operation's columns, with a type that it takes for those of type null."""
    if not any(map(pa.types.is_null, types)):
        return tuple(types)
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
    columns = [sample(type, rows, seed) for seed, type in enumerate(bound.types)]
    if any(column is None for column in columns):
        return None
    index = np.sort(np.r_[np.arange(2 * TRIALS), np.random.default_rng(1).integers(0, 2 * TRIALS, 2 * TRIALS)])
    frames = Frames(index.astype(np.intp), 2 * TRIALS, np.arange(rows, dtype=np.int64))
    return bound.accumulate(frames, [cast(pa.Array, column) for column in columns])


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


def named_type(spec: Operation, declared: Any) -> pa.DataType | None:
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
        a, b = ({key: column[part::2] for key, column in states.items()} for part in (0, 1))
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
    operation = bound.operation
    if not isinstance(operation, ObjectColumns):
        return
    columns = [sample(type, FEW_ROWS, seed) for seed, type in enumerate(bound.types)]
    if any(column is None for column in columns):
        return
    rows = list(zip(*(cast(pa.Array, column).to_pylist() for column in columns), strict=True))
    create, accumulate = operation.scalar.create, operation.scalar.accumulate
    try:
        # Together by pickle: what they share they still share, and what create gives stays as it is.
        one, other = pickle.loads(cloudpickle.dumps((create(), create())))
        before = cloudpickle.dumps(other)
        folded_rows(accumulate, one, rows)
        if cloudpickle.dumps(other) == before:
            return
    except Exception:  # of a user's functions on made-up events, or of pickling
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
