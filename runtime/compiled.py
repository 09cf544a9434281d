"""The compiled loops over windows, where there are any; see :mod:`framefold.aggregators.compiled`."""

from ..aggregators.compiled import found

loops = found(__package__)
