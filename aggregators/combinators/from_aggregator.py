"""from_aggregator: an operation made of an object with zero, reduce, merge, finish."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from ..contract.column_expressions import ColumnLike
from ..contract.python_operation import PythonOperation
from ..errors import OperationError, shown

METHODS = {"zero": "()", "reduce": "(buffer, value)", "merge": "(buffer1, buffer2)", "finish": "(buffer)"}
"""What an aggregator must have, and what each takes."""
WORDS = {"create": "zero", "accumulate": "reduce", "combine": "merge", "combine, deduct": "merge"}
"""What an aggregator calls the functions of an operation."""


class OfAggregator(PythonOperation):
    """An aggregator's methods as an operation, of a column's values."""

    from_user: ClassVar[bool] = True

    def __init__(self, aggregator: Any, *columns: ColumnLike, result: Any = None) -> None:
        super().__init__(*columns)
        self.aggregator = aggregator
        self.result = result

    def __repr__(self) -> str:
        return f"from_aggregator({', '.join([type(self.aggregator).__name__, *map(repr, self.columns)])})"

    def in_its_words(self, sentence: str) -> str:
        return re.sub(r"\b(combine, deduct|create|accumulate|combine)\b", lambda found: WORDS[found[0]], sentence)

    def create(self) -> Any:
        return self.aggregator.zero()

    def accumulate(self, state: Any, /, *values: Any, **named: Any) -> Any:
        return self.aggregator.reduce(state, values[0] if len(values) == 1 else values)

    def combine(self, a: Any, b: Any, /) -> Any:
        return self.aggregator.merge(a, b)

    def finish(self, state: Any, /) -> Any:
        return self.aggregator.finish(state)


class OfSparkAggregator(OfAggregator):
    """As Spark calls them: always of a tuple of values, of which some may be null."""

    drops_nulls = False

    def accumulate(self, state: Any, /, *values: Any, **named: Any) -> Any:
        return self.aggregator.reduce(state, values)


def of_aggregator(aggregator: Any, *columns: ColumnLike, result: Any = None) -> OfAggregator:
    """What ``from_aggregator`` gives, with the type of the result as operations declare it.

    Raises
    ------
    OperationError
        If the object lacks one of the methods, or no column is named.
    """
    if isinstance(aggregator, type):
        raise OperationError(
            f"from_aggregator is given the class {aggregator.__name__}; expected an object: {aggregator.__name__}()"
        )
    for method, takes in METHODS.items():
        if not callable(getattr(aggregator, method, None)):
            raise OperationError(
                f"from_aggregator is given {shown(aggregator)}, which has no {method}; expected an object with the "
                f"methods {', '.join(METHODS)}: write {method}{takes}"
            )
    if not columns:
        raise OperationError(
            f"from_aggregator of {type(aggregator).__name__} names no column; expected at least one to reduce"
        )
    as_spark = hasattr(aggregator, "bufferSchema")
    return (OfSparkAggregator if as_spark else OfAggregator)(aggregator, *columns, result=result)
