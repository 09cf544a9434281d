"""The numbers that tune how rows become states, which become results.

Measured as those of ``runtime/tuning.py`` are, by ``python -m benchmarks.tuning``: the two figures of each are the time
with a fourth of the number and with four times as much, in times that with the number.
"""

CACHED_ROWS = 1 << 14
"""Rows that numpy's loops, and deviations from a grid, work on at a time: intermediate columns stay in the cache.

0.99 and 0.98, Variance by the hour, in order.
"""

DEVIATION_ROWS = 1 << 13
"""Rows whose deviations are cut in two at a time: intermediate columns stay in the cache.

1.03 and 1.00, Variance of all sizes by the hour.
"""

SQUARE_STATES = 1 << 14
"""States that are made of sums of Spark SQL at a time: intermediate columns stay in the cache.

0.93 and 0.90, Variance by Spark SQL.
"""

DENSE_VALUES = 1 << 20
"""Values are counted in an array of all possible ones where there are no more of these, or no more than rows.

0.99 and 0.98, Mode by the hour, many keys.
"""

MIN_SORTED_ROWS = 1 << 6
"""Rows from which on a compiled loop sorts them; a call of it costs more than to sort fewer by numpy.

1.02 and 0.97, Median by the hour, many keys.
"""

SUMMED_ITEMS = 1 << 16
"""Distinct items that are added up at a time.

1.00 and 1.00, Sum of distinct values by the hour.
"""

OBJECT_SAMPLE = 1 << 8
"""Values of a column, about, that are pickled to know how large they are.

0.99 and 1.05, a user's Python by the hour.
"""
