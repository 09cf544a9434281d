"""Durations, as users write them and as whole microseconds."""

from framefold.aggregators.durations import MICROSECONDS, microseconds, written
