# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Loops over windows, each in one pass where numpy takes several. The numpy code next to each caller gives the same."""

include "shared.pxi"

# The arithmetic loops, before what they are made of.
cdef extern from *:
    """
    FRAMEFOLD_WIDE static int framefold_split_tile(
        const double*, const double*, Py_ssize_t, const framefold_float*, int64_t*, int64_t*, int64_t*);
    FRAMEFOLD_WIDE static void framefold_add_up_tile(
        const int64_t*, const int64_t*, const int64_t*, Py_ssize_t, const framefold_float*, double*, double*);
    """

cdef enum:
    TILE = 8


cdef inline void transpose_tile(
    const word* source, Py_ssize_t of_source, word* target, Py_ssize_t of_target, Py_ssize_t rows, Py_ssize_t columns
) noexcept nogil:
    """Transpose a tile in squares of 2 x 2; ``of_source`` and ``of_target`` are the distances of rows, in words."""
    cdef const word* here
    cdef word* there
    cdef word first, right, below, across
    cdef Py_ssize_t i, j
    for j in range(0, columns - 1, 2):
        here, there = source + j, target + j * of_target
        for i in range(0, rows - 1, 2):
            first, right, below, across = here[0], here[1], here[of_source], here[of_source + 1]
            there[i], there[i + 1], there[of_target + i], there[of_target + i + 1] = first, below, right, across
            here += 2 * of_source
        if rows % 2:
            there[rows - 1], there[of_target + rows - 1] = here[0], here[1]
    if columns % 2:
        for i in range(rows):
            target[(columns - 1) * of_target + i] = source[i * of_source + columns - 1]


def transpose(const word[:, :] source not None, word[:, :] target not None):
    """Set ``target`` (columns, rows) to the transpose of ``source`` (rows, columns); rows of both are contiguous.

    In tiles along the shorter side, so that each cache line is read and written once. Lines are prefetched: the
    processor does not foresee strides this long.
    """
    cdef Py_ssize_t row = 0, column = 0, i, rows, columns, height = source.shape[0], width = source.shape[1]
    cdef Py_ssize_t of_source = source.strides[0] // sizeof(word), of_target = target.strides[0] // sizeof(word)
    cdef const word* here
    cdef word* there
    if target.shape[0] != width or target.shape[1] != height:
        raise ValueError("transpose: the target must have as many rows as the source has columns, and the reverse")
    if (width > 1 and source.strides[1] != sizeof(word)) or (height > 1 and target.strides[1] != sizeof(word)):
        raise ValueError("transpose: the words of a row must lie beside one another")
    with nogil:
        while row < height and column < width:
            rows, columns = min(TILE, height - row), min(TILE, width - column)
            here, there = &source[row, column], &target[column, row]
            if width < height:
                for i in range(TILE, min(2 * TILE, height - row)):
                    soon(here + i * of_source)
            else:
                for i in range(TILE, min(2 * TILE, width - column)):
                    soon(there + i * of_target)
            transpose_tile(here, of_source, there, of_target, rows, columns)
            if width < height:
                column += TILE
                if column >= width:
                    row, column = row + TILE, 0
            else:
                row += TILE
                if row >= height:
                    row, column = 0, column + TILE


def window_sums(const int64_t[::1] values not None, Py_ssize_t width, int64_t[::1] sums not None):
    """Set the sums of all windows of ``width`` rows, modulo 2**64."""
    cdef Py_ssize_t row
    cdef uint64_t total = 0
    if width < 1 or sums.shape[0] < 1 or sums.shape[0] != values.shape[0] - width + 1:
        raise ValueError("window_sums: there must be a sum for each window")
    with nogil:
        for row in range(width):
            total += <uint64_t>values[row]
        sums[0] = <int64_t>total
        for row in range(1, sums.shape[0]):
            total += <uint64_t>values[row + width - 1] - <uint64_t>values[row - 1]
            sums[row] = <int64_t>total


def range_sums(
    const int64_t[::1] values not None,
    const int64_t[::1] begin not None,
    const int64_t[::1] end not None,
    int64_t[::1] sums not None,
):
    """Set the sums of ranges of rows, in any order, modulo 2**64."""
    cdef Py_ssize_t window, row = 0, rows = values.shape[0], length = sums.shape[0]
    cdef uint64_t total = 0
    if begin.shape[0] != length or end.shape[0] != length:
        raise ValueError("range_sums: there must be a beginning and an end for each sum")
    cdef uint64_t* running = <uint64_t*>memory((rows + 1) * sizeof(uint64_t))
    try:
        with nogil:
            running[0] = 0
            for window in range(length):
                require(0 <= begin[window] <= end[window] <= rows, "range_sums: ranges must be of rows")
                while row < end[window]:
                    total += <uint64_t>values[row]
                    row += 1
                    running[row] = total
                sums[window] = <int64_t>(running[end[window]] - running[begin[window]])
    finally:
        free(running)


ctypedef fused Number:
    double
    int64_t


cdef enum:
    SPAN_BITS = 4
    SPAN = 16


cdef inline Number better(Number one, Number other, bint least) noexcept nogil:
    if least:
        return one if one < other else other
    return one if one > other else other


cdef void extremes_of_spans(
    const Number* values, Py_ssize_t rows, bint least, Number* since, Number* until, Number* joined, Py_ssize_t levels
) noexcept nogil:
    """The extremes from the first row of each span up to each row, from each row up to its last one, and of all its rows.

    The latter are the first of some ``levels``: each next one has those of twice as many spans from each one on.
    """
    cdef Py_ssize_t span, row, begin, end, level, half, spans = (rows + SPAN - 1) >> SPAN_BITS
    cdef Number upward, downward
    cdef Number* longer
    for span in range(spans):
        begin, end = span << SPAN_BITS, min((span + 1) << SPAN_BITS, rows)
        upward, downward = values[begin], values[end - 1]
        for row in range(end - begin):
            upward = better(values[begin + row], upward, least)
            downward = better(values[end - 1 - row], downward, least)
            since[begin + row] = upward
            until[end - 1 - row] = downward
        joined[span] = upward
    for level in range(1, levels):
        half, longer = 1 << (level - 1), joined + spans
        for span in range(spans - 2 * half + 1):
            longer[span] = better(joined[span], joined[span + half], least)
        joined = longer


cdef void extremes_of_ranges(
    const int64_t* begin,
    const int64_t* end,
    Py_ssize_t length,
    Py_ssize_t rows,
    bint least,
    const Number* values,
    const Number* since,
    const Number* until,
    const Number* joined,
    Number* found,
) noexcept nogil:
    """The extremes of ranges of rows, none of which is empty, by those of spans."""
    cdef Py_ssize_t window, row, first, between, level, spans = (rows + SPAN - 1) >> SPAN_BITS
    cdef const Number* longest
    cdef Number best
    for window in range(length):
        first = begin[window] >> SPAN_BITS
        between = ((end[window] - 1) >> SPAN_BITS) - first - 1
        if between < 0:
            best = values[begin[window]]
            for row in range(begin[window] + 1, end[window]):
                best = better(values[row], best, least)
        else:
            best = better(until[begin[window]], since[end[window] - 1], least)
            if between:
                level = 0
                while between >> (level + 1):
                    level += 1
                longest = joined + level * spans + first + 1
                best = better(longest[0], best, least)
                best = better(longest[between - (1 << level)], best, least)
        found[window] = best


def range_extremes(
    const Number[::1] values not None,
    const int64_t[::1] begin not None,
    const int64_t[::1] end not None,
    bint least,
    Number[::1] found not None,
):
    """Set the least or the greatest of ranges of rows, in any order, none of which is empty; no value is NaN.

    Rows are in spans of equal length: a range begins and ends in one each, whose extremes from there on and up to there
    are known, and those between are two runs of a power of two, of the sparse table of all spans.
    """
    cdef Py_ssize_t window, widest = 0, levels = 1, rows = values.shape[0], length = found.shape[0]
    cdef Number* since
    cdef Number* joined
    if begin.shape[0] != length or end.shape[0] != length:
        raise ValueError("range_extremes: there must be a beginning and an end for each")
    with nogil:
        for window in range(length):
            require(
                0 <= begin[window] < end[window] <= rows, "range_extremes: ranges must be of rows, and not empty"
            )
            widest = max(widest, end[window] - begin[window])
    if not length:
        return
    while widest >> (SPAN_BITS + levels):
        levels += 1
    since = <Number*>memory((2 * rows + levels * (rows // SPAN + 1)) * sizeof(Number))
    joined = since + 2 * rows
    with nogil:
        extremes_of_spans(&values[0], rows, least, since, since + rows, joined, levels)
        extremes_of_ranges(&begin[0], &end[0], length, rows, least, &values[0], since, since + rows, joined, &found[0])
    free(since)


def first_rows(
    const int64_t[::1] numbers not None,
    const int64_t[::1] starts not None,
    const int64_t[::1] ends not None,
    const int64_t[::1] keys not None,
    const int64_t[::1] wanted not None,
    int64_t[::1] found not None,
):
    """Set the first row of each key whose number is not below what is wanted; the end of the key's where there is none.

    Numbers ascend in each key. Where the same key is wanted with a greater number next, its rows before are not looked
    at again.
    """
    cdef Py_ssize_t at, length = found.shape[0], rows = numbers.shape[0], low, size, step
    cdef int64_t key = -1, before = 0, number
    cdef const char* wrong = "first_rows: there must be rows of each key"
    if starts.shape[0] != ends.shape[0] or keys.shape[0] != length or wanted.shape[0] != length:
        raise ValueError("first_rows: there must be a key and a number for each, and as many ends as beginnings")
    with nogil:
        for at in range(length):
            number = wanted[at]
            if at and keys[at] == key and number >= before:
                low = found[at - 1]
            else:
                key = keys[at]
                require(0 <= key < starts.shape[0] and 0 <= starts[key] <= ends[key] <= rows, wrong)
                low = starts[key]
            before = number
            size = ends[key] - low
            step = 1
            while step <= size and numbers[low + step - 1] < number:
                low += step
                size -= step
                step *= 2
            size = min(size, step - 1)
            while size > 0:  # the row is among these, or comes after them
                step = (size + 1) // 2
                low += step if numbers[low + step - 1] < number else 0
                size -= step
            found[at] = low


def decayed_means(
    columns not None, const double[::1] decay not None, const int64_t[::1] begin not None,
    const int64_t[::1] end not None, made not None
):
    """Set the weighted means of ranges that only grow, each step as ``Ewma.combine`` does it; False where others are.

    ``columns`` are the weight, the mean and what rounding lost of it for each row, those of ``made`` for each range.
    Rows weigh less by their ``decay`` when the next one comes: that of a row is for all before it.
    """
    cdef const double[::1] weights = columns[0], means = columns[1], lows = columns[2]
    cdef double[::1] weight = made[0], mean = made[1], low = made[2]
    cdef Py_ssize_t window, row = 0, rows = decay.shape[0], length = begin.shape[0]
    cdef double own = 0.0, lost = 0.0, older, newer, share
    cdef Pair sum
    cdef bint grow = True
    require_lengths(columns, rows, "decayed_means: all columns of rows must be of one length")
    require_lengths((end, *made), length, "decayed_means: there must be a beginning and an end for each range")
    with nogil:
        for window in range(length):
            if not 0 <= begin[window] < end[window] <= rows or end[window] < row:
                grow = False
                break
            if window == 0 or begin[window] != begin[window - 1]:
                if begin[window] < row:
                    grow = False
                    break
                row = begin[window]
                own, sum.high, lost = weights[row], means[row], lows[row]
                row += 1
            while row < end[window]:
                older, newer = own * decay[row], weights[row]
                own = older + newer
                if older >= newer:
                    share = newer / own
                    sum = two_sum(sum.high, (means[row] - sum.high) * share)
                    lost = lost + (sum.low + (lows[row] - lost) * share)
                else:
                    share = older / own
                    sum = two_sum(means[row], (sum.high - means[row]) * share)
                    lost = lows[row] + (sum.low + (lost - lows[row]) * share)
                row += 1
            weight[window], mean[window], low[window] = own, sum.high, lost
    return grow


def begin_runs(const int64_t[::1] low not None, const int64_t[::1] high not None, int64_t[::1] first not None):
    """Put the places of ranges that do not begin and end a row after the one before into ``first``; their number."""
    cdef Py_ssize_t at, found = 0
    if high.shape[0] != low.shape[0] or first.shape[0] < low.shape[0]:
        raise ValueError("begin_runs: there must be as many ends as beginnings, and room for all")
    with nogil:
        for at in range(1, low.shape[0]):
            first[found] = at
            found += low[at] - low[at - 1] != 1 or high[at] - high[at - 1] != 1
    return found


cdef enum:
    TILE_ROWS = 256


cdef inline int64_t differ(double a, double b) noexcept nogil:
    """0 if two finite numbers are equal, otherwise not 0; without a branch, so that loops vectorize."""
    cdef Float difference
    difference.number = a - b
    return difference.bits


cdef inline double add_up(double upper, double middle, double lower, double* lost) noexcept nogil:
    """The sum of three floats, and what rounding lost of it; as ``_add_up`` of prefix_sums.py."""
    cdef double fine = middle + lower
    cdef double least = lower - (fine - middle)
    cdef double total = upper + fine
    cdef double rest = fine - (total - upper)
    cdef Float odd, error
    cdef int64_t inexact
    odd.number = rest + least
    fine = odd.number - rest
    error.number = (rest - (odd.number - fine)) + (least - fine)
    # An even last bit becomes odd where there is an error, towards it; without a branch, so that loops vectorize.
    inexact = <int64_t>(<uint64_t>error.bits << 1)
    inexact = (inexact | -inexact) >> 63
    odd.bits += (1 | (error.bits ^ odd.bits) >> 63) & inexact & ((odd.bits & 1) - 1)
    fine = total + odd.number
    lost[0] = odd.number - (fine - total)
    return fine


cdef inline int64_t split_in_integers(
    double high, double low, const Float* adders, int64_t* first, int64_t* second, int64_t* third
) noexcept nogil:
    """Split a pair of floats into three; 0 if nothing of it is left or lost.

    Set are the bits of each part with its adder, modulo 2**64: twice the adder in the second.
    """
    cdef Float one, two, of_low, three
    cdef double rest, left, virtual
    one.number = high + adders[0].number
    rest = high - (one.number - adders[0].number)
    two.number, of_low.number = rest + adders[1].number, low + adders[1].number
    rest -= two.number - adders[1].number
    low -= of_low.number - adders[1].number
    left = rest + low
    virtual = left - rest
    three.number = left + adders[2].number
    first[0], second[0], third[0] = one.bits, <int64_t>(<uint64_t>two.bits + <uint64_t>of_low.bits), three.bits
    return differ(left, three.number - adders[2].number) | differ(low, virtual) | differ(rest, left - virtual)


cdef bint split_tile "framefold_split_tile" (
    const double* values,
    const double* lows,
    Py_ssize_t rows,
    const Float* adders,
    int64_t* firsts,
    int64_t* seconds,
    int64_t* thirds,
) noexcept nogil:
    """``split_in_integers`` of floats, or of pairs where there are ``lows``; whether nothing is left of any."""
    cdef Py_ssize_t row
    cdef int64_t odd = 0
    cdef Float[3] by  # of its own: nothing else changes them
    by[0], by[1], by[2] = adders[0], adders[1], adders[2]
    if lows == NULL:
        for row in range(rows):
            odd |= split_in_integers(values[row], 0.0, by, &firsts[row], &seconds[row], &thirds[row])
    else:
        for row in range(rows):
            odd |= split_in_integers(values[row], lows[row], by, &firsts[row], &seconds[row], &thirds[row])
    return not odd


cdef void add_up_tile "framefold_add_up_tile" (
    const int64_t* firsts,
    const int64_t* seconds,
    const int64_t* thirds,
    Py_ssize_t rows,
    const Float* adders,
    double* sums,
    double* lost,
) noexcept nogil:
    """The sums of three parts each, of the bits of floats with their adders."""
    cdef Py_ssize_t row
    cdef Float upper, middle, lower
    cdef double first = adders[0].number, second = adders[1].number, third = adders[2].number
    for row in range(rows):
        upper.bits, middle.bits, lower.bits = firsts[row], seconds[row], thirds[row]
        sums[row] = add_up(upper.number - first, middle.number - second, lower.number - third, &lost[row])


cdef bint slide(
    const double* high,
    const double* low,
    Py_ssize_t width,
    const int64_t* begin,
    const int64_t* end,
    const Float* adders,
    double* sums,
    double* lost,
    Py_ssize_t length,
    Py_ssize_t rows,
    uint64_t* running,
) noexcept nogil:
    """``plane_sums``, as differences of running sums of integers: ``running`` has room for three a row, and 3."""
    cdef Py_ssize_t window, start = 0, some, row = 0, until, at, many
    cdef uint64_t one = 0, two = 0, three = 0
    cdef int64_t[TILE_ROWS] firsts, seconds, thirds
    cdef double[TILE_ROWS] left
    cdef const uint64_t* before
    cdef const uint64_t* after
    running[0] = running[1] = running[2] = 0
    while start < length:
        some = min(TILE_ROWS, length - start)
        until = start + some - 1 + width
        if begin != NULL:
            until = 0
            for window in range(start, start + some):
                if not 0 <= begin[window] <= end[window] <= rows:
                    return False
                until = max(until, end[window])
        while row < until:
            many = min(TILE_ROWS, until - row)
            if not split_tile(high + row, low + row, many, adders, firsts, seconds, thirds):
                return False
            for at in range(many):
                row += 1
                one += <uint64_t>firsts[at] - <uint64_t>adders[0].bits
                two += <uint64_t>seconds[at] - 2 * <uint64_t>adders[1].bits
                three += <uint64_t>thirds[at] - <uint64_t>adders[2].bits
                running[3 * row], running[3 * row + 1], running[3 * row + 2] = one, two, three
        for at in range(some):
            window = start + at
            before = running + 3 * (window if begin == NULL else begin[window])
            after = running + 3 * (window + width if begin == NULL else end[window])
            firsts[at] = <int64_t>(after[0] - before[0]) + adders[0].bits
            seconds[at] = <int64_t>(after[1] - before[1]) + adders[1].bits
            thirds[at] = <int64_t>(after[2] - before[2]) + adders[2].bits
        add_up_tile(firsts, seconds, thirds, some, adders, sums + start, &left[0] if lost == NULL else lost + start)
        start += some
    return True


def plane_sums(
    const double[::1] high not None,
    const double[::1] low not None,
    Py_ssize_t width,
    const int64_t[::1] begin,
    const int64_t[::1] end,
    adders not None,
    double[::1] sums not None,
    double[::1] lost,
):
    """Set the sums of windows over pairs of floats, and what rounding lost of them unless ``lost`` is None.

    Each value is split by the three ``adders`` into three floats whose sums are exact. Where ``begin`` is None, a
    window of ``width`` rows begins at each row; otherwise windows are ranges of rows, in any order. False, with
    unspecified sums, where three floats do not hold a pair, or a range is not of rows.
    """
    cdef bint whole
    cdef Float[3] by
    cdef const int64_t* begins = NULL
    cdef const int64_t* ends = NULL
    cdef uint64_t* running
    cdef Py_ssize_t rows = high.shape[0], length = sums.shape[0]
    by[0].number, by[1].number, by[2].number = adders
    if low.shape[0] != rows or (lost is not None and lost.shape[0] != length):
        raise ValueError("plane_sums: high and low, and sums and lost, must be of one length")
    if begin is None:
        require(length > 0 < width and length == rows - width + 1, "plane_sums: there must be a sum for each window")
    elif end is None or begin.shape[0] != length or end.shape[0] != length:
        raise ValueError("plane_sums: there must be a beginning and an end for each sum")
    if not length:
        return True
    if begin is not None:
        begins, ends = &begin[0], &end[0]
    cdef double* into_lost = NULL if lost is None else &lost[0]
    running = <uint64_t*>memory(3 * (rows + 1) * sizeof(uint64_t))
    with nogil:
        whole = slide(&high[0], &low[0], width, begins, ends, by, &sums[0], into_lost, length, rows, running)
    free(running)
    return whole


cdef inline int between_tile(
    const uint64_t* places,
    Py_ssize_t mask,
    const int64_t* before,
    const int64_t* last,
    Py_ssize_t start,
    Py_ssize_t some,
    Py_ssize_t rows,
    const uint64_t* bits,
    int64_t* firsts,
    int64_t* seconds,
    int64_t* thirds,
) except -1 nogil:
    """The bits of sums between the running ones of some rows, each in its place; IndexError unless they are of rows."""
    cdef uint64_t[3] none = [0, 0, 0]
    cdef const uint64_t* of
    cdef const uint64_t* after
    cdef Py_ssize_t at
    cdef int64_t begin, end
    for at in range(some):
        begin, end = before[start + at], start + at if last == NULL else last[start + at]
        if not -1 <= begin <= end < rows:
            with gil:
                raise IndexError("a window does not end where it begins, or later, among the rows")
        of = places + 3 * (begin & mask) if begin >= 0 else none
        after = places + 3 * (end & mask) if end >= 0 else none
        firsts[at] = <int64_t>(after[0] - of[0] + bits[0])
        seconds[at] = <int64_t>(after[1] - of[1] + bits[1])
        thirds[at] = <int64_t>(after[2] - of[2] + bits[2])
    return 0


def plane_sums_so_far(
    const double[::1] values not None,
    const double[::1] lows,
    const int32_t[::1] codes not None,
    Py_ssize_t size,
    const int64_t[::1] before,
    const int64_t[::1] last,
    adders not None,
    double[::1] sums not None,
    double[::1] lost,
):
    """Set for each row the sum of the rows of its code up to it, and what rounding lost unless ``lost`` is None.

    Codes are below ``size``; values are pairs where there are ``lows``. With ``before``, a window has those rows of a
    code that come after one, and up to another, the ``last`` one (None: its own): -1 for none. As ``plane_sums``:
    False, with unspecified sums, where three floats do not hold a value.
    """
    cdef Py_ssize_t rows = values.shape[0], windows = sums.shape[0], start = 0, some, row, room = 1, far = 0
    cdef int64_t[TILE_ROWS] firsts, seconds, thirds
    cdef double[TILE_ROWS] left
    cdef uint64_t[3] bits
    cdef Float[3] by
    cdef uint64_t* of
    cdef uint64_t* place
    cdef bint whole = True, ranges = before is not None, own = last is None
    cdef double* into
    cdef uint64_t* running = NULL
    cdef uint64_t* places = NULL
    by[0].number, by[1].number, by[2].number = adders
    bits[0], bits[1], bits[2] = <uint64_t>by[0].bits, <uint64_t>by[1].bits, <uint64_t>by[2].bits
    if codes.shape[0] != rows or lows is not None and lows.shape[0] != rows:
        raise ValueError("plane_sums_so_far: values and codes must be of one length")
    if lost is not None and lost.shape[0] != windows:
        raise ValueError("plane_sums_so_far: sums and lost must be of one length")
    if ranges and before.shape[0] != windows or own and windows != rows or not own and last.shape[0] != windows:
        raise ValueError("plane_sums_so_far: there must be a sum for each row, or a beginning and an end for each sum")
    if not windows or not rows and not ranges:
        return True
    if ranges:  # the running sums of as many rows as windows reach back, where they end with their own; else of all
        with nogil:
            for row in range(rows if own else 0):
                if before[row] >= 0:
                    far = max(far, row - before[row])
            far = far + TILE_ROWS if own else rows
            while room < far:
                room *= 2
    try:
        running = <uint64_t*>memory(3 * size * sizeof(uint64_t), zeroed=True)
        places = <uint64_t*>memory(3 * room * sizeof(uint64_t))
        with nogil:
            while start < rows and whole:
                some = min(TILE_ROWS, rows - start)
                whole = split_tile(
                    &values[start], NULL if lows is None else &lows[start], some, by, firsts, seconds, thirds
                )
                for row in range(some):
                    of = running + 3 * among(codes[start + row], size, CODE)
                    of[0] += <uint64_t>firsts[row] - bits[0]
                    of[1] += <uint64_t>seconds[row] - 2 * bits[1]
                    of[2] += <uint64_t>thirds[row] - bits[2]
                    if ranges:
                        place = places + 3 * ((start + row) & (room - 1))
                        place[0], place[1], place[2] = of[0], of[1], of[2]
                    else:
                        firsts[row] = <int64_t>(of[0] + bits[0])
                        seconds[row] = <int64_t>(of[1] + bits[1])
                        thirds[row] = <int64_t>(of[2] + bits[2])
                if own and ranges:
                    between_tile(places, room - 1, &before[0], NULL, start, some, rows, bits, firsts, seconds, thirds)
                if own:
                    into = &left[0] if lost is None else &lost[start]
                    add_up_tile(firsts, seconds, thirds, some, by, &sums[start], into)
                start += some
            start = 0
            while not own and start < windows and whole:
                some = min(TILE_ROWS, windows - start)
                between_tile(places, room - 1, &before[0], &last[0], start, some, rows, bits, firsts, seconds, thirds)
                into = &left[0] if lost is None else &lost[start]
                add_up_tile(firsts, seconds, thirds, some, by, &sums[start], into)
                start += some
    finally:
        free(running)
        free(places)
    return whole
