# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Loops over rows that numpy takes several passes for; where they are not compiled, numpy does the same."""

from libc.stdint cimport int32_t, int64_t

ctypedef fused number:
    double
    float
    int64_t
    int32_t


def largest(const double[::1] values not None):
    """The greatest magnitude of some floats, NaN if any is; 0 of none."""
    cdef double most = 0.0
    cdef Py_ssize_t row
    with nogil:
        for row in range(values.shape[0]):
            if not -most <= values[row] <= most:
                most = values[row] if values[row] > 0 else -values[row]
                if most != most:
                    break
    return most


def add_parts(
    const double[::1] values not None,
    const Py_ssize_t[::1] index not None,
    double cut,
    double[::1] above not None,
    double[::1] below not None,
    Py_ssize_t[::1] counts not None,
):
    """Add the upper and the low part of each value to the sums of its group, and count its row."""
    cdef Py_ssize_t row, group = 0, size = above.shape[0]
    cdef double part
    if index.shape[0] != values.shape[0] or below.shape[0] != size or counts.shape[0] != size:
        raise ValueError("add_parts: values and index, and above, below and counts, must be of one length")
    with nogil:
        for row in range(values.shape[0]):
            group = index[row]
            if not 0 <= group < size:
                break
            part = (values[row] + cut) - cut
            above[group] += part
            below[group] += values[row] - part
            counts[group] += 1
    if values.shape[0] and not 0 <= group < size:
        raise IndexError(f"group {group} of a row is not among {size}")


def add_pairs(
    const double[::1] high not None,
    const double[::1] low not None,
    const Py_ssize_t[::1] index not None,
    double[::1] sums not None,
    double[::1] lows not None,
):
    """Add pairs of floats to those of their groups, in their order, as ``Compensated`` adds them."""
    cdef Py_ssize_t row, group = 0, size = sums.shape[0]
    cdef double total, virtual, lost
    if high.shape[0] != index.shape[0] or low.shape[0] != index.shape[0] or lows.shape[0] != size:
        raise ValueError("add_pairs: high, low and index, and sums and lows, must be of one length")
    with nogil:
        for row in range(index.shape[0]):
            group = index[row]
            if not 0 <= group < size:
                break
            total = sums[group] + high[row]
            virtual = total - sums[group]
            lost = (sums[group] - (total - virtual)) + (high[row] - virtual) + (lows[group] + low[row])
            sums[group] = total + lost
            virtual = sums[group] - total
            lows[group] = (total - (sums[group] - virtual)) + (lost - virtual)
    if index.shape[0] and not 0 <= group < size:
        raise IndexError(f"group {group} of a row is not among {size}")


def add_deviations(
    const double[::1] values not None, const Py_ssize_t[::1] index not None, double cut, double[:, ::1] sums not None
):
    """Add the deviation of each value from the first one of its group, and its square, to the group's.

    Both are of the part above the cut. Columns of ``sums``: the number of rows, the upper part of the first value, and
    the sums of the deviations of upper parts, of low parts, of the deviations' squares, and of what these lack.
    """
    cdef Py_ssize_t row, group = 0, size = sums.shape[0]
    cdef double part, rest
    cdef double* of
    if index.shape[0] != values.shape[0] or sums.shape[1] != 6:
        raise ValueError("add_deviations: values and index must be of one length, and sums have six columns")
    with nogil:
        for row in range(values.shape[0]):
            group = index[row]
            if not 0 <= group < size:
                break
            of = &sums[group, 0]
            part = (values[row] + cut) - cut
            rest = values[row] - part
            if of[0] == 0.0:
                of[1] = part
            part -= of[1]
            of[0] += 1.0
            of[2] += part
            of[3] += rest
            of[4] += part * part
            of[5] += (part + part + rest) * rest
    if values.shape[0] and not 0 <= group < size:
        raise IndexError(f"group {group} of a row is not among {size}")


def take_least(const number[::1] values not None, const Py_ssize_t[::1] index not None, number[::1] found not None):
    """Put the least value of each group in the place of what is greater, or NaN, among ``found``."""
    cdef Py_ssize_t row, group = 0, size = found.shape[0]
    if index.shape[0] != values.shape[0]:
        raise ValueError("take_least: values and index must be of one length")
    with nogil:
        for row in range(values.shape[0]):
            group = index[row]
            if not 0 <= group < size:
                break
            if values[row] < found[group] or found[group] != found[group]:
                found[group] = values[row]
    if values.shape[0] and not 0 <= group < size:
        raise IndexError(f"group {group} of a row is not among {size}")


def take_greatest(const number[::1] values not None, const Py_ssize_t[::1] index not None, number[::1] found not None):
    """Put the greatest value of each group, which NaN is, in the place of what is less among ``found``."""
    cdef Py_ssize_t row, group = 0, size = found.shape[0]
    if index.shape[0] != values.shape[0]:
        raise ValueError("take_greatest: values and index must be of one length")
    with nogil:
        for row in range(values.shape[0]):
            group = index[row]
            if not 0 <= group < size:
                break
            if values[row] > found[group] or values[row] != values[row]:
                found[group] = values[row]
    if values.shape[0] and not 0 <= group < size:
        raise IndexError(f"group {group} of a row is not among {size}")


cdef inline double add(double a, double a_low, double b, double b_low, double* low) noexcept nogil:
    """The sum of two pairs of floats, as ``double_double.add`` computes it."""
    cdef double total = a + b
    cdef double virtual = total - a
    low[0] = (b - virtual) + (a - (total - virtual)) + a_low + b_low
    return total


def join_deviations(left not None, right not None, made not None, double ordinary):
    """Join deviations of level 0 about the left ones' centres, each step as ``Deviations`` does it; whether it can.

    The columns of each: counts; centres, sums and what they lack, sums of squares and what they lack. It cannot where
    the square of the distance of two centres would overflow or vanish.
    """
    cdef const int64_t[::1] a_count = left[0], b_count = right[0]
    cdef const double[::1] a_centre = left[1], a_sum = left[2], a_sum_low = left[3]
    cdef const double[::1] a_squares = left[4], a_squares_low = left[5]
    cdef const double[::1] b_centre = right[1], b_sum = right[2], b_sum_low = right[3]
    cdef const double[::1] b_squares = right[4], b_squares_low = right[5]
    cdef int64_t[::1] count = made[0]
    cdef double[::1] centre = made[1], sums = made[2], sums_low = made[3]
    cdef double[::1] squares = made[4], squares_low = made[5]
    cdef Py_ssize_t row, rows = count.shape[0]
    cdef double base, n, apart, low, virtual, upper, lower, shift, many, rest, splitter = 134217729.0
    cdef double moved, moved_low, twice, twice_low, twice_upper, twice_lower, more, more_low, high
    for column in (*left, *right, *made):
        if len(column) != rows:
            raise ValueError("join_deviations: all columns must be of one length")
    with nogil:
        for row in range(rows):
            base = b_centre[row] if a_count[row] == 0 else a_centre[row]
            apart = b_centre[row] - base
            virtual = apart - b_centre[row]
            low = (b_centre[row] - (apart - virtual)) - (virtual + base)
            if apart != 0.0 and not (1.0 / ordinary <= apart < ordinary or 1.0 / ordinary <= -apart < ordinary):
                break
            n = <double>b_count[row]
            upper = splitter * apart
            upper -= upper - apart
            lower = apart - upper + low
            many = splitter * n
            many -= many - n
            rest = n - many
            shift = n * apart
            low = many * upper - shift + rest * upper + n * lower
            moved = add(b_sum[row], b_sum_low[row], shift, low, &moved_low)
            high = add(a_sum[row], a_sum_low[row], moved, moved_low, &low)
            sums[row] = high
            sums_low[row] = low
            twice = add(moved, moved_low, b_sum[row], b_sum_low[row], &twice_low)
            more = apart * twice
            twice_upper = splitter * twice
            twice_upper -= twice_upper - twice
            twice_lower = twice - twice_upper + twice_low
            more_low = upper * twice_upper - more + twice_lower * upper + lower * twice
            high = add(b_squares[row], b_squares_low[row], more, more_low, &low)
            high = add(a_squares[row], a_squares_low[row], high, low, &low)
            squares[row] = high
            squares_low[row] = low
            centre[row] = base
            count[row] = a_count[row] + b_count[row]
        else:
            row = rows
    return row == rows
