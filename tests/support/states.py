"""Columns of states, and the fields that they are of."""

from framefold.aggregators.intervals.time_weighted import Lifetimes, lifetimes_of
from framefold.aggregators.moments.deviations import Deviations
from framefold.aggregators.ordered.sort_keys import Order
from framefold.aggregators.states.alike import to_arrow as alike_to_arrow
from framefold.aggregators.states.categories import Categories
from framefold.aggregators.states.double_double import two_sum
from framefold.aggregators.states.fields import HUGE, Compensated, CompensatedField, Plain, field, numpy_type
from framefold.aggregators.states.limbs import Exact, ExactField
from framefold.aggregators.states.objects import HeldObjects, Objects
from framefold.aggregators.states.ragged import Ragged, leaves
from framefold.aggregators.states.rows import concatenate, join, place, take
from framefold.aggregators.states.views import viewless, without_views
