"""The compiled loops over windows, where there are any; see :mod:`framefold.aggregators.numeric.native`."""

from ...aggregators.numeric.native import found

loops = found(__package__)
