"""Plans of queries, and operations bound to types."""

from framefold.aggregators.contract.bound import BoundAggregate
from framefold.aggregators.contract.operation import Operation
from framefold.aggregators.contract.trial import laws_untried, same, sample
from framefold.runtime.plan.bind import bind
from framefold.runtime.plan.plan import Plan, in_this_process, is_library_code, pickled_outputs, trusting
from framefold.runtime.plan.text_codes import coded_columns, with_text_codes

__all__ = [
    "BoundAggregate",
    "Operation",
    "Plan",
    "bind",
    "coded_columns",
    "in_this_process",
    "is_library_code",
    "pickled_outputs",
    "same",
    "laws_untried",
    "sample",
    "trusting",
    "with_text_codes",
]
