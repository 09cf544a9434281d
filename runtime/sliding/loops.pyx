# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Loops over windows that numpy takes several passes for; where they are not compiled, numpy does the same."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint64_t

# Loops that are arithmetic are compiled for any processor and once more for those of wider vectors, where GCC can do
# that; which of them runs is settled when they are loaded. What is declared here is added to what Cython writes.
cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
    #define FRAMEFOLD_WIDE __attribute__((target_clones("avx2", "default")))
    #else
    #define FRAMEFOLD_WIDE
    #endif
    #ifdef __GNUC__
    #define framefold_soon(place) __builtin_prefetch(place)
    #else
    #define framefold_soon(place) ((void) (place))
    #endif
    FRAMEFOLD_WIDE static int framefold_slide_two_planes(
        const double*, const double*, Py_ssize_t, double, double, double, double*, double*, Py_ssize_t);
    FRAMEFOLD_WIDE static int framefold_slide_three_planes(
        const double*, const double*, Py_ssize_t, double, double, double, double*, double*, Py_ssize_t);
    """
    void soon "framefold_soon" (const void* place) noexcept nogil

ctypedef fused word:
    int8_t
    int16_t
    int32_t
    int64_t

cdef enum:
    TILE = 8


cdef inline void transpose_tile(
    const word* source, Py_ssize_t of_source, word* target, Py_ssize_t of_target, Py_ssize_t rows, Py_ssize_t columns
) noexcept nogil:
    """Copy some rows and columns, two by two; ``of_source`` and ``of_target`` are how far their rows are apart."""
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
    """Copy a matrix to one that has its columns as rows; in both the words of a row lie beside one another.

    By squares, along the shorter side: each line of the cache is read and written once, however far rows lie apart,
    and asked for a while before, since the processor does not foresee what lies so far apart.
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


def steps_of_one(const int64_t[::1] low not None, const int64_t[::1] high not None):
    """Whether each is one more than the one before it, in both columns."""
    cdef Py_ssize_t row
    cdef uint64_t odd = 0
    if low.shape[0] != high.shape[0]:
        raise ValueError("steps_of_one: low and high must be of one length")
    with nogil:
        for row in range(1, low.shape[0]):
            odd |= (<uint64_t>low[row] - <uint64_t>low[row - 1]) ^ 1
            odd |= (<uint64_t>high[row] - <uint64_t>high[row - 1]) ^ 1
    return odd == 0


def window_sums(const int64_t[::1] values not None, Py_ssize_t width, int64_t[::1] sums not None):
    """Set the sums of all windows of a width; what does not fit wraps."""
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


cdef enum:
    AT_ONCE = 256


cdef union Float:
    double number
    int64_t bits


cdef inline int64_t apart(double a, double b) noexcept nogil:
    """0 if two finite numbers are the same, and otherwise not; without a branch or a mask, as loops are made wide."""
    cdef Float difference
    difference.number = a - b
    return difference.bits


cdef check_windows(
    str name,
    const double[::1] high,
    const double[::1] low,
    Py_ssize_t width,
    const double[::1] sums,
    const double[::1] lost,
):
    """Refuse columns that cannot be those of all windows of a width."""
    if width < 1 or sums.shape[0] < 1 or sums.shape[0] != high.shape[0] - width + 1:
        raise ValueError(f"{name}: there must be a sum for each window")
    if low.shape[0] != high.shape[0] or (lost is not None and lost.shape[0] != sums.shape[0]):
        raise ValueError(f"{name}: high and low, and sums and lost, must be of one length")


cdef inline int64_t cut_in_two(double high, double low, double first, double second, double* parts) noexcept nogil:
    """Cut a pair of floats into two; 0 if nothing is left of it."""
    cdef double rest, fine
    parts[0] = (high + first) - first
    rest = (high - parts[0]) + second
    fine = rest + low
    parts[1] = fine - second
    return apart(fine - rest, low)


cdef bint slide_two_planes "framefold_slide_two_planes" (
    const double* high,
    const double* low,
    Py_ssize_t width,
    double first,
    double second,
    double left,
    double* sums,
    double* lost,
    Py_ssize_t length,
) noexcept nogil:
    """``two_plane_sums`` of so many windows."""
    cdef Py_ssize_t row, start = 1, some
    cdef double upper = 0.0, lower = 0.0, total
    cdef double[AT_ONCE] uppers, lowers
    cdef double[2] parts, leaving
    cdef const double* value
    cdef const double* value_low
    cdef int64_t odd = 0, unsure = 0
    for row in range(width):
        odd |= cut_in_two(high[row], low[row], first, second, parts)
        upper += parts[0]
        lower += parts[1]
    sums[0] = upper + lower
    unsure |= apart(upper + (lower + left), upper + (lower - left))
    if lost:
        lost[0] = lower - (sums[0] - upper)
    while start < length:
        # Three loops, of which none but the middle one waits for the row before.
        some = min(AT_ONCE, length - start)
        value, value_low = &high[start - 1], &low[start - 1]
        for row in range(some):
            cut_in_two(value[row], value_low[row], first, second, leaving)
            odd |= cut_in_two(value[row + width], value_low[row + width], first, second, parts)
            uppers[row] = parts[0] - leaving[0]
            lowers[row] = parts[1] - leaving[1]
        for row in range(some):
            upper += uppers[row]
            lower += lowers[row]
            uppers[row] = upper
            lowers[row] = lower
        for row in range(some):
            total = uppers[row] + lowers[row]
            unsure |= apart(uppers[row] + (lowers[row] + left), uppers[row] + (lowers[row] - left))
            sums[start + row] = total
        if lost:
            for row in range(some):
                lost[start + row] = lowers[row] - (sums[start + row] - uppers[row])
        if odd and (unsure or left == 0.0):
            return False
        start += some
    return not odd or not (unsure or left == 0.0)


def two_plane_sums(
    const double[::1] high not None,
    const double[::1] low not None,
    Py_ssize_t width,
    double first,
    double second,
    double left,
    double[::1] sums not None,
    double[::1] lost,
):
    """Set the sums of all windows of a width over positive pairs of floats, and what rounding lost if it is asked for.

    Each value is cut by ``first`` and ``second`` into two, of which sums are exact. Of its low float may be left, in a
    window no more than ``left``; where that is 0 nothing may. False where a sum is not surely rounded correctly.
    """
    cdef bint sure
    check_windows("two_plane_sums", high, low, width, sums, lost)
    cdef double* into_lost = NULL if lost is None else &lost[0]
    with nogil:
        sure = slide_two_planes(&high[0], &low[0], width, first, second, left, &sums[0], into_lost, sums.shape[0])
    return sure


cdef struct Adders:
    double first
    double second
    double third


cdef inline int64_t cut_in_three(double high, double low, const Adders* by, double* parts) noexcept nogil:
    """Cut a pair of floats into three; 0 if nothing is left of it."""
    cdef double rest, of_low
    parts[0] = (high + by.first) - by.first
    rest = high - parts[0]
    parts[1] = (rest + by.second) - by.second
    of_low = (low + by.second) - by.second
    rest = (rest - parts[1]) + (low - of_low)
    parts[1] += of_low
    parts[2] = (rest + by.third) - by.third
    return apart(rest, parts[2])


cdef inline double add_up(double upper, double middle, double lower, double* lost) noexcept nogil:
    """The sum of three floats, each a multiple of the unit in the last place of the next, and what rounding lost."""
    cdef double fine = middle + lower
    cdef double rest = lower - (fine - middle)
    cdef double total = upper + fine
    rest += fine - (total - upper)
    fine = total + rest
    lost[0] = rest - (fine - total)
    return fine


cdef bint slide_three_planes "framefold_slide_three_planes" (
    const double* high,
    const double* low,
    Py_ssize_t width,
    double first,
    double second,
    double third,
    double* sums,
    double* lost,
    Py_ssize_t length,
) noexcept nogil:
    """``three_plane_sums`` of so many windows."""
    cdef Py_ssize_t row, start = 1, some
    cdef double upper = 0.0, middle = 0.0, lower = 0.0
    cdef double[AT_ONCE] uppers, middles, lowers, left
    cdef double[3] parts, leaving
    cdef const double* value
    cdef const double* value_low
    cdef Adders by
    cdef int64_t odd = 0
    by.first, by.second, by.third = first, second, third
    for row in range(width):
        odd |= cut_in_three(high[row], low[row], &by, parts)
        upper += parts[0]
        middle += parts[1]
        lower += parts[2]
    sums[0] = add_up(upper, middle, lower, left)
    if lost:
        lost[0] = left[0]
    while start < length and not odd:
        # As in ``slide_two_planes``.
        some = min(AT_ONCE, length - start)
        value, value_low = &high[start - 1], &low[start - 1]
        for row in range(some):
            cut_in_three(value[row], value_low[row], &by, leaving)
            odd |= cut_in_three(value[row + width], value_low[row + width], &by, parts)
            uppers[row] = parts[0] - leaving[0]
            middles[row] = parts[1] - leaving[1]
            lowers[row] = parts[2] - leaving[2]
        for row in range(some):
            upper += uppers[row]
            middle += middles[row]
            lower += lowers[row]
            uppers[row] = upper
            middles[row] = middle
            lowers[row] = lower
        for row in range(some):
            sums[start + row] = add_up(uppers[row], middles[row], lowers[row], &left[row])
        if lost:
            for row in range(some):
                lost[start + row] = left[row]
        start += some
    return not odd


def three_plane_sums(
    const double[::1] high not None,
    const double[::1] low not None,
    Py_ssize_t width,
    adders not None,
    double[::1] sums not None,
    double[::1] lost,
):
    """Set the sums of all windows of a width over pairs of floats, and what rounding lost if it is asked for.

    Each value is cut by the three ``adders`` into three, of which sums are exact. False where more is left of one.
    """
    cdef bint whole
    cdef double first, second, third
    first, second, third = adders
    check_windows("three_plane_sums", high, low, width, sums, lost)
    cdef double* into_lost = NULL if lost is None else &lost[0]
    with nogil:
        whole = slide_three_planes(&high[0], &low[0], width, first, second, third, &sums[0], into_lost, sums.shape[0])
    return whole


def three_plane_sums_of(
    const double[::1] high not None,
    const double[::1] low not None,
    const int64_t[::1] begin not None,
    const int64_t[::1] end not None,
    adders not None,
    double[::1] sums not None,
    double[::1] lost,
):
    """The same for windows from one row to before another, both of which ascend; False if they do not, too."""
    cdef Py_ssize_t window, entering = 0, leaving = 0, size = high.shape[0]
    cdef double upper = 0.0, middle = 0.0, lower = 0.0, left
    cdef double[3] parts
    cdef Adders by
    cdef int64_t odd = 0
    by.first, by.second, by.third = adders
    if low.shape[0] != size or (lost is not None and lost.shape[0] != sums.shape[0]):
        raise ValueError("three_plane_sums_of: high and low, and sums and lost, must be of one length")
    if begin.shape[0] != sums.shape[0] or end.shape[0] != sums.shape[0]:
        raise ValueError("three_plane_sums_of: there must be a beginning and an end for each sum")
    cdef bint keep = lost is not None
    with nogil:
        for window in range(sums.shape[0]):
            if not leaving <= begin[window] <= end[window] <= size or end[window] < entering:
                odd = 1
                break
            if begin[window] >= entering:
                entering = leaving = begin[window]
                upper = middle = lower = 0.0
            while entering < end[window]:
                odd |= cut_in_three(high[entering], low[entering], &by, parts)
                upper += parts[0]
                middle += parts[1]
                lower += parts[2]
                entering += 1
            while leaving < begin[window]:
                cut_in_three(high[leaving], low[leaving], &by, parts)
                upper -= parts[0]
                middle -= parts[1]
                lower -= parts[2]
                leaving += 1
            if odd:
                break
            sums[window] = add_up(upper, middle, lower, &left)
            if keep:
                lost[window] = left
    return not odd
