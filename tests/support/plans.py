"""Plans of queries, and operations bound to types."""

from framefold.aggregators.contract.bound import BoundAggregate, same
from framefold.aggregators.contract.column_expressions import ColumnExpression
from framefold.aggregators.contract.operation import Operation
from framefold.aggregators.contract.sample_columns import sample
from framefold.aggregators.laws.at_bind import try_laws
from framefold.runtime.plan.bind import bind
from framefold.runtime.plan.plan import Plan, fingerprint, in_this_process, is_library_code, pickled_outputs, trusting
from framefold.runtime.plan.text_codes import coded_columns, with_text_codes
from framefold.spark import options
from framefold.spark.options import Options
