"""Operations by the words that texts have for them."""

from __future__ import annotations

import inspect
import re

from . import aggregators
from .aggregators.contract.operation import AggregateOperation, Operation
from .aggregators.contract.python_operation import PythonOperation


def snake(name: str) -> str:
    """The name of a class as a word.

    >>> snake("CountDistinct"), snake("TopN"), snake("OHLC")
    ('count_distinct', 'top_n', 'ohlc')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _exported() -> dict[str, type[Operation]]:
    named = (getattr(aggregators, name) for name in vars(aggregators)["__all__"])
    kinds = (kind for kind in named if inspect.isclass(kind) and issubclass(kind, Operation))
    bases = (Operation, AggregateOperation, PythonOperation)
    return {snake(kind.__name__): kind for kind in kinds if kind not in bases}


NAMED = _exported()
"""All operations that are exported, by their names in words."""
