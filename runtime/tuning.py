"""The numbers that tune speed."""

PORTION_ROWS = 1 << 19
"""Events of a portion that makes few partials; with fewer events the cost of calls dominates."""

MAX_PORTION_ROWS = 1 << 20
"""Events of a portion that makes many partials."""

PORTION_BYTES = 64 << 20
"""Bytes of events that are enough for a portion, whatever their number."""

EVENTS_PER_PARTIAL = 4
"""Partials are many if each stands for fewer events than this."""

KEY_TILE_ROWS = 1 << 15
"""Rows worked on at a time, so that intermediate columns stay in the cache."""

MAX_SPARSE = 1 << 18
"""Codes need not be consecutive where at most this many are possible, or a few per row."""

ROWS_PER_GROUP = 4
"""Groups may be empty where there are at least this many rows for each possible group: they cost little then."""

MAX_PLACES, FEW_PLACES = 4, 1 << 12
"""Possible groups for each row, or at all, up to which each has a place in an array; else rows are sorted."""

MAX_COUNTED = 1 << 18
"""Possible codes at most that are counted to be sorted: the counts stay in the processor's cache."""

RUNS_SAMPLE, LONG_RUN_OF_TEXT = 1 << 12, 16
"""Rows that are looked at for runs of equal text; rows of a run on average from which on it is coded once."""

MIN_SORTED_RUN = 1 << 12
"""Sorted runs of at least this many rows, such as the partials of a few tasks, are merged and not sorted again."""

PENDING_PARTIALS = 1 << 19
"""Partials are merged when there are more new ones than this, and than merged ones."""

NEAR_PARTIALS = 8
"""The latest partials, at most, that others may be added to row by row."""

MIN_CHUNK = 1 << 12
"""Rows of a chunk, on average, from which on states are joined where they are, and not put into one chunk before."""

MIN_CHUNK_BYTES = 1 << 16
"""Bytes of a chunk, on average, from which on it stays where it is, however few its rows."""

CHUNK_WINDOWS = 1 << 18
"""Windows that are slid at a time: few enough that threads get equal shares, and reuse each other's memory."""

CHUNK_BYTES, CHUNK_BYTES_OF_RANGES, CHUNK_BYTES_OF_LISTS = 64 << 20, 8 << 20, 4 << 20
"""Bytes of partials that are slid at a time; ranges of values need codes, too, and states that are lists grow."""

BYTES_OF_VALUE = 32
"""Bytes of a partial, about, that cost as much as a window does."""

BLOCK_VALUES, BLOCK_WINDOWS = 1 << 17, 1 << 18
"""The most values and windows of a block, unless its windows are wide."""

BLOCK_WIDTHS = 8
"""The fewest values of a block, in those of the widest window."""

TILE_WINDOWS, TILE_ROWS = 3 << 14, 3 << 15
"""The most windows and rows of a tile, unless its windows are wide."""

ROWS_PER_WIDTH = 4
"""The fewest rows of a tile, in widths of its widest window: rows that two tiles share are passed over twice."""

REGULAR_RUN = 1 << 12
"""The fewest windows of a run by a row that are worth a tile of their own among irregular ones."""

LONG_RUN_OF_WINDOWS = 8
"""Runs of more windows than this, on average, are checked at their first windows only."""

SCANNED_RANGES = 1 << 15
"""The ranges that are compared at a time."""

SHORT_SEGMENT, MANY_SEGMENTS = 64, 256
"""Segments of more rows than the first are scanned in pieces where fewer than the second would go side by side.

A call costs as much as some hundreds of additions: only then are fewer calls worth a second combine for each row."""

MAX_GROUPS = 1 << 12
"""The most groups of windows that slide at a time: enough for calls to cost little, few enough for the cache."""

MAX_SEGMENTS = (1 << 12) - 8
"""The most segments side by side: enough for calls to cost little, few enough for the cache.

Rows of a matrix with this many columns are an odd number of cache lines apart, so they do not compete for lines."""

MIN_SEGMENTS_ALONE = 1 << 9
"""The fewest segments of a run that slide in calls of their own."""

MAX_STATES = 1 << 16
"""The most states that are read, joined and written at a time, while the cache holds them."""

MIN_WINDOWS = 1 << 15
"""The fewest windows that slide side by side."""

MIN_SEGMENTS_OF_RUN = 8
"""The fewest segments of a run; the windows left of it, less than a segment, slide in the general way."""

RESTART_ROWS = 1 << 14
"""The fewest rows after which running states start anew, so that many of them run side by side.

Each new start costs as many extra combines as a window has rows. The first and last windows of a run make up for twice
that, so up to three times as many rows the bound of 2 element operations a window holds strictly."""

MANY_RANGES = 3 * RESTART_ROWS
"""The most ranges that slide by deduct however long their runs are, where two-stacks may be taken instead."""

RESTART_STEPS = 1 << 9
"""The steps after which running states start anew, so that many run side by side: a call costs some hundreds of
additions."""
