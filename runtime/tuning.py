"""The numbers that tune speed.

``python -m benchmarks.tuning`` measures the case of each. Its figures stand here: the time of processors with a fourth
of the number and with four times as much, in times that with the number, of 400,000 events on two busy cores, where a
tenth may be noise. Figures near 1 say that the case does not ask for another number.
"""

PORTION_ROWS = 1 << 19
"""Events of a portion that makes few partials; with fewer events the cost of calls dominates.

0.95 and 1.03, Sum by the hour, in order.
"""

MAX_PORTION_ROWS = 1 << 20
"""Events of a portion that makes many partials.

0.99 and 1.28, Sum by the hour, many keys.
"""

PORTION_BYTES = 64 << 20
"""Bytes of events that are enough for a portion, whatever their number.

1.03 and 0.99, Sum by the hour, in order.
"""

EVENTS_PER_PARTIAL = 4
"""Partials are many if each stands for fewer events than this.

0.98 and 0.97, Sum by the hour, many keys.
"""

KEYS_ROWS = 1 << 17
"""Events of whole keys that a thread works on at a time: few enough that threads get equal shares.

1.21 and 0.95, Sum beside each event, many keys.
"""

MANY_ROWS = 1 << 17
"""Rows from which on several threads share them.

0.99 and 0.99, Sum beside each event, many keys.
"""

KEY_TILE_ROWS = 1 << 15
"""Rows worked on at a time, so that intermediate columns stay in the cache.

0.92 and 0.96, Sum by the hour, many keys.
"""

MAX_SPARSE = 1 << 18
"""Codes need not be consecutive where at most this many are possible, or a few per row.

1.01 and 1.37, Sum by the hour, many keys.
"""

ROWS_PER_GROUP = 4
"""Groups may be empty where there are at least this many rows for each possible group: they cost little then.

0.97 and 1.06, Sum by the hour, many keys.
"""

MAX_PLACES, FEW_PLACES = 4, 1 << 12
"""Possible groups for each row, or at all, up to which each has a place in an array; else rows are sorted.

MAX_PLACES: 1.02 and 1.01, Sum by the hour, many keys.
FEW_PLACES: 1.00 and 1.08, Sum by the hour, many keys.
"""

MAX_COUNTED = 1 << 18
"""Possible codes at most that are counted to be sorted: the counts stay in the processor's cache.

1.05 and 0.86, Sum by the hour, many keys.
"""

RUNS_SAMPLE, LONG_RUN_OF_TEXT = 1 << 12, 16
"""Rows that are looked at for runs of equal text; rows of a run on average from which on it is coded once.

RUNS_SAMPLE: 1.00 and 1.03, Max by ten minutes, keys of text.
LONG_RUN_OF_TEXT: 0.97 and 1.01, Max by ten minutes, keys of text.
"""

MIN_SORTED_RUN = 1 << 12
"""Sorted runs of at least this many rows, such as the partials of a few tasks, are merged and not sorted again.

1.06 and 1.07, Sum by the hour, many keys.
"""

PENDING_PARTIALS = 1 << 19
"""Partials are merged when there are more new ones than this, and than merged ones.

1.02 and 1.01, Max around each event.
"""

NEAR_PARTIALS = 8
"""The latest partials, at most, that others may be added to row by row.

1.11 and 1.03, Sum by the hour, in no order.
"""

FEW_BYTES = 64 << 20
"""Bytes of partials from which on what is left free is given back, before and after they are merged, too.

The system clears what it gives out again: of fewer, that takes a fifth of a query's time.

The most memory: 1.00 and 1.08.

0.93 and 1.07, Medians around each event, large partials.
"""

HELD_BYTES = 16 << 20
"""Bytes of new partials, beyond the first few, after which what accumulating has left free among them is given back.

The most memory: 1.01 and 1.00.

0.99 and 1.05, Medians around each event, large partials.
"""

MIN_CHUNK = 1 << 12
"""Rows of a chunk, on average, from which on states are joined where they are, and not put into one chunk before.

1.05 and 0.95, Median around each event.
"""

MIN_CHUNK_BYTES = 1 << 16
"""Bytes of a chunk, on average, from which on it stays where it is, however few its rows.

0.91 and 1.01, Median around each event.
"""

CHUNK_WINDOWS = 1 << 18
"""Windows that are slid at a time: few enough that threads get equal shares, and reuse each other's memory.

1.14 and 0.90, Sum around each event.
"""

CHUNK_BYTES, CHUNK_BYTES_OF_LISTS = 64 << 20, 4 << 20
"""Bytes of partials that are slid at a time; ranges of values need codes, too, and states that are lists grow.

CHUNK_BYTES: 0.98 and 0.97, Max around each event.
CHUNK_BYTES_OF_LISTS: 1.01 and 0.94, Histogram by the hour.
"""

BYTES_OF_VALUE = 32
"""Bytes of a partial, about, that cost as much as a window does.

1.00 and 1.02, Median around each event.
"""

BLOCK_VALUES, BLOCK_WINDOWS = 1 << 17, 1 << 18
"""The most values and windows of a block, unless its windows are wide.

BLOCK_VALUES: 0.99 and 0.94, Median around each event.
BLOCK_WINDOWS: 0.97 and 0.95, Median around each event.
"""

BLOCK_WIDTHS = 8
"""The fewest values of a block, in those of the widest window.

1.02 and 0.99, CountDistinct by the hour.
"""

TILE_WINDOWS, TILE_ROWS = 3 << 14, 3 << 15
"""The most windows and rows of a tile, unless its windows are wide.

TILE_WINDOWS: 1.04 and 0.97, Sum around each event.
TILE_ROWS: 1.05 and 0.97, Sum around each event.
"""

ROWS_PER_WIDTH = 4
"""The fewest rows of a tile, in widths of its widest window: rows that two tiles share are passed over twice.

1.04 and 0.99, Sum around each event.
"""

REGULAR_RUN = 1 << 12
"""The fewest windows of a run by a row that are worth a tile of their own among irregular ones.

0.98 and 0.99, Max by ten minutes, keys of text.
"""

LONG_RUN_OF_WINDOWS = 8
"""Runs of more windows than this, on average, are checked at their first windows only.

0.99 and 1.01, Max of the last 1,000 rows.
"""

SCANNED_RANGES = 1 << 15
"""The ranges that are compared at a time.

1.07 and 1.03, Max around each event.
"""

SHORT_SEGMENT, MANY_SEGMENTS = 64, 256
"""Segments of more rows than the first are scanned in pieces where fewer than the second would go side by side.

A call costs as much as some hundreds of additions: only then are fewer calls worth a second combine for each row.

SHORT_SEGMENT: 0.98 and 0.97, a user's operation around each event.
MANY_SEGMENTS: 1.04 and 0.96, a user's operation around each event.
"""

MAX_GROUPS = 1 << 12
"""The most groups of windows that slide at a time: enough for calls to cost little, few enough for the cache.

0.96 and 0.98, a user's operation around each event.
"""

MAX_SEGMENTS = (1 << 12) - 8
"""The most segments side by side: enough for calls to cost little, few enough for the cache.

Rows of a matrix with this many columns are an odd number of cache lines apart, so they do not compete for lines.

1.01 and 1.02, Variance of the last 1,000 rows.
"""

MIN_SEGMENTS_ALONE = 1 << 9
"""The fewest segments of a run that slide in calls of their own.

1.00 and 1.02, Variance of the last 1,000 rows.
"""

MAX_STATES = 1 << 16
"""The most states that are read, joined and written at a time, while the cache holds them.

0.96 and 1.06, Variance of the last 1,000 rows.
"""

MIN_WINDOWS = 1 << 15
"""The fewest windows that slide side by side.

1.00 and 1.00, Variance of the last 1,000 rows.
"""

MIN_SEGMENTS_OF_RUN = 8
"""The fewest segments of a run; the windows left of it, less than a segment, slide in the general way.

0.98 and 0.99, Variance of the last 1,000 rows.
"""

RESTART_ROWS = 1 << 14
"""The fewest rows after which running states start anew, so that many of them run side by side.

Each new start costs as many extra combines as a window has rows. The first and last windows of a run make up for twice
that, so up to three times as many rows the bound of 2 element operations a window holds strictly.

0.99 and 1.00, Histogram by the hour.
"""

MANY_RANGES = 3 * RESTART_ROWS
"""The most ranges that slide by deduct however long their runs are, where two-stacks may be taken instead.

1.00 and 1.01, Histogram by the hour.
"""

RESTART_STEPS = 1 << 9
"""The steps after which running states start anew, so that many run side by side: a call costs some hundreds of
additions.

Each new start costs two combines for a row whose run crosses it. A fourth of the steps would take a third of the time
for one key, and one operation in sixty more than the two that a window is promised.

0.29 and 1.01, Sum of intervals.
"""

READ_ROWS = 1 << 20
"""The most events that are read from files at a time.

1.23 and 1.07, Sum by the hour, of a file.
"""

THREADS_FROM_BYTES = 1 << 20
"""Bytes from which on several threads unpack a stream of Arrow; for fewer it takes longer to hand it to them.

0.97 and 1.00, blobs of a task, many keys.
"""

MIN_RADIX_ROWS, MAX_RADIX_CODES = 1 << 12, 1 << 44
"""Rows at least, and possible codes at most, that are sorted digit by digit: four digits are.

MIN_RADIX_ROWS: 1.04 and 0.98, Sum by the hour, many keys.
MAX_RADIX_CODES: 0.99 and 0.98, Sum by the hour, many keys.
"""

ORDER_SAMPLE = 1 << 12
"""Rows that are looked at for the order of rows.

0.99 and 0.97, Sum by the hour, in order.
"""

MOSTLY_FULL = 8
"""Partials without an event are left among the others where they are less than one in this many.

1.01 and 0.99, blobs of a task, in order.
"""

MAX_COPIES = 1 << 20
"""The most copies of states that are made at a time, where windows of interval events are no ranges.

1.01 and 1.00, First of intervals.
"""

CALL_COST = 1000
"""The cost of a call, in element operations, by which few long runs slide by two-stacks and not by deduct.

0.98 and 0.99, a user's sums around each event.
"""

LEVELS_A_PART = 4
"""Ranges are combined in one part for each LEVELS_A_PART levels of the tree, so that a part has at most twice as many
nodes a range (each has up to two of a level), and the number of parts does not depend on that of ranges.

0.96 and 0.98, a user's operation in given windows.
"""

MAX_PLANES = 6
"""The most planes of a float: beside values so much greater that it needs more, two-stacks is as fast.

1.94 and 1.02, Sum of all sizes around each event.
"""

PAGE_PARTIALS = 1 << 12
"""The most partials of a stored page of several frames: a micro-batch writes the pages that it touches anew.

1.10 and 1.09, a shard of a stream.
"""
