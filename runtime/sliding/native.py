"""The compiled loops over windows, where there are any; see :mod:`framefold.aggregators.numeric.native`."""

from ...aggregators.numeric.native import compiled_loops

loops = compiled_loops(__package__)
