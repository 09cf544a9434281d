"""Columns as codes, and rows in groups."""

from framefold.aggregators.numeric.texts import text_at
from framefold.aggregators.states import large
from framefold.aggregators.states.alike import are_numbers, are_ones, numbers, ones
from framefold.aggregators.states.fields import to_values
from framefold.runtime.columns.key_codes import assign, code_key, code_numbers, code_ordered
from framefold.runtime.columns.key_codes import sorted_groups as groups_of
from framefold.runtime.columns.key_types import wider
from framefold.runtime.columns.plain import normalised, plain, plain_type, require_key
from framefold.runtime.columns.sorting import groups_by_runs, groups_by_sorting, stable_order
from framefold.runtime.partials.add_aligned import add_or_append
