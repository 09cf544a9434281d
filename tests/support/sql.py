"""Sums of floats in Spark SQL: by integers, in parts."""

from framefold.aggregators.moments import sql_squares
from framefold.aggregators.states import big_integers
from framefold.aggregators.states.limbs import joined
from framefold.aggregators.sums import sql_floats
from framefold.runtime.accumulate.sql_accumulate import ROW_LIMIT, SMALL_ROW_LIMIT
