"""The compiled loops over ranges of values, if there are any; see :mod:`framefold.aggregators.numeric.native`."""

from ..numeric.native import compiled_loops

loops = compiled_loops(__package__)
