# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Loops over rows that numpy takes several passes for; where they are not compiled, numpy does the same."""

from libc.math cimport frexp, ldexp, sqrt

include "shared.pxi"

cdef enum:
    AHEAD = 16  # rows, of which the places of the last one are fetched
    IN_CACHE = 1 << 15  # groups whose places are in the cache anyway

cdef int64_t MOST_ROWS = (<uint64_t>1 << 63) - 1

cdef int FEW = 12
"""Rows that are joined one by one, because a block takes as long as these."""


def add_parts(
    const double[::1] values not None,
    const Py_ssize_t[::1] index not None,
    double first,
    double second,
    int64_t[:, ::1] sums not None,
):
    """Cut each value into two parts by numbers added, add their bits to the sums of its group, and count its row.

    Columns of ``sums``: the number of rows, and the bits of parts, each with those of what was added, modulo 2**64.
    Whether nothing is left of any value.
    """
    cdef Py_ssize_t row, group, size = sums.shape[0]
    cdef int64_t left = 0
    cdef int64_t* of
    cdef Float one, two, rest
    if index.shape[0] != values.shape[0] or sums.shape[1] != 3:
        raise ValueError("add_parts: values and index must be of one length, and sums have three columns")
    with nogil:
        for row in range(values.shape[0]):
            group = among(index[row], size, GROUP)
            if size > IN_CACHE and row + AHEAD < values.shape[0] and 0 <= index[row + AHEAD] < size:
                soon(&sums[index[row + AHEAD], 0])
            of = &sums[group, 0]
            one.number = values[row] + first
            rest.number = values[row] - (one.number - first)
            two.number = rest.number + second
            rest.number = rest.number - (two.number - second)
            of[0] += 1
            of[1] = <int64_t>(<uint64_t>of[1] + <uint64_t>one.bits)
            of[2] = <int64_t>(<uint64_t>of[2] + <uint64_t>two.bits)
            left |= rest.bits
    return <uint64_t>left << 1 == 0  # whatever the sign of a zero


def left_of_parts(
    const double[::1] values not None,
    const Py_ssize_t[::1] index not None,
    double first,
    double second,
    double[::1] rest not None,
    Py_ssize_t[::1] group not None,
):
    """Put what ``add_parts`` leaves of values, where it is not 0, into ``rest``, and its groups; how many there are."""
    cdef Py_ssize_t row, found = 0
    cdef double left
    if index.shape[0] != values.shape[0] or rest.shape[0] < values.shape[0] or group.shape[0] < values.shape[0]:
        raise ValueError("left_of_parts: values and index must be of one length, with room for as many")
    with nogil:
        for row in range(values.shape[0]):
            left = values[row] - ((values[row] + first) - first)
            left = left - ((left + second) - second)
            rest[found], group[found] = left, index[row]
            found += left != 0.0
    return found


cdef inline double to_odd(double rounded, double lost) noexcept nogil:
    """A rounded number with an odd last bit where rounding lost anything, as ``double_double.to_odd``."""
    cdef Float odd
    odd.number = rounded
    if lost != 0.0 and not odd.bits & 1:
        odd.bits += 1 if (lost > 0.0) == (rounded > 0.0) else -1
    return odd.number


def join_parts(
    const int64_t[:, ::1] sums not None,
    double first,
    double second,
    int step,
    double unit,
    double[::1] high not None,
    double[::1] low not None,
):
    """Set the sums that ``add_parts`` has made as pairs of floats, as ``joined`` does it.

    ``unit`` is that of the first part, and ``2**-step`` of it that of the second.
    """
    cdef Py_ssize_t group, size = sums.shape[0]
    cdef Float one, two
    cdef int64_t mask = (<int64_t>1 << step) - 1, upper, lower
    cdef double finer = 1.0 / <double>(<int64_t>1 << step)
    cdef double[3] parts
    cdef Pair fine, whole
    cdef int again, place
    if high.shape[0] != size or low.shape[0] != size or sums.shape[1] != 3:
        raise ValueError("join_parts: sums must have three columns, and high and low be as long")
    one.number, two.number = first, second
    with nogil:
        for group in range(size):
            upper = <int64_t>(<uint64_t>sums[group, 1] - <uint64_t>one.bits * <uint64_t>sums[group, 0])
            lower = <int64_t>(<uint64_t>sums[group, 2] - <uint64_t>two.bits * <uint64_t>sums[group, 0])
            upper += lower >> step
            parts[0] = <double>(upper & ~<int64_t>0xFFFFFFFF)
            parts[1] = <double>(upper & <int64_t>0xFFFFFFFF)
            parts[2] = <double>(lower & mask) * finer
            for again in range(2):
                for place in range(1, -1, -1):
                    whole = two_sum(parts[place], parts[place + 1])
                    parts[place], parts[place + 1] = whole.high, whole.low
            fine = two_sum(parts[1], parts[2])
            whole = two_sum(parts[0], to_odd(fine.high, fine.low))
            high[group] = whole.high * unit
            low[group] = whole.low * unit


def add_pairs(
    const double[::1] high not None,
    const double[::1] low not None,
    const Py_ssize_t[::1] index not None,
    double[::1] sums not None,
    double[::1] lows not None,
):
    """Add pairs of floats to those of their groups, in their order, as ``Compensated`` adds them."""
    cdef Py_ssize_t row = 0, at, group, many, rows = index.shape[0], size = sums.shape[0]
    if high.shape[0] != rows or low.shape[0] != rows or lows.shape[0] != size:
        raise ValueError("add_pairs: high, low and index, and sums and lows, must be of one length")
    with nogil:
        while row < rows:
            group = among(index[row], size, GROUP)
            many = consecutive(index, row, rows, size)
            if many < FEW:
                for at in range(many):
                    add_pair(high[row + at], low[row + at], &sums[group + at], &lows[group + at])
            else:
                add_rows(many, &high[row], &low[row], &sums[group], &lows[group])
            row += many


def add_integers(const int64_t[::1] values not None, const Py_ssize_t[::1] index not None, int64_t[::1] sums not None):
    """Add integers to the sums of their groups; they wrap as numpy's do."""
    cdef Py_ssize_t row, group, size = sums.shape[0]
    require(values.shape[0] == index.shape[0], "add_integers: values and index must be of one length")
    with nogil:
        for row in range(values.shape[0]):
            group = among(index[row], size, GROUP)
            sums[group] = <int64_t>(<uint64_t>sums[group] + <uint64_t>values[row])


cdef inline Py_ssize_t consecutive(
    const Py_ssize_t[::1] index, Py_ssize_t row, Py_ssize_t rows, Py_ssize_t size
) noexcept nogil:
    """How many rows from this one on have one group after the other, of ``size``."""
    cdef Py_ssize_t end = row + 1, group = index[row]
    if rows - row > size - group:
        rows = row + size - group
    while end < rows and index[end] - group == end - row:
        end += 1
    return end - row


def number_codes(const int64_t[::1] codes not None, int32_t[::1] places not None):
    """Number the codes in use in ascending order, each in its place of ``places``, which are zeros; how many there are.

    Places of codes that are not in use are of no meaning afterwards.
    """
    cdef Py_ssize_t row, rows = codes.shape[0], size = places.shape[0]
    cdef int32_t count = 0, used
    require(size < 1 << 31, "number_codes: there must be fewer places than numbers of 32 bits")
    with nogil:
        for row in range(rows):
            places[among(codes[row], size, CODE)] = 1
        for row in range(size):
            used = places[row]
            places[row] = count
            count += used
    return count


def number_rows(int64_t[::1] codes not None, const int32_t[::1] places not None, Py_ssize_t[::1] first not None):
    """Put the number of each row's code in its place, and the first row of each number into ``first``."""
    cdef Py_ssize_t row, size = places.shape[0], count = first.shape[0]
    cdef int64_t number
    with nogil:
        for row in range(codes.shape[0] - 1, -1, -1):
            if not 0 <= codes[row] < size or not 0 <= places[codes[row]] < count:
                with gil:
                    raise IndexError("number_rows: a code has no number")
            number = places[codes[row]]
            codes[row] = number
            first[number] = row


def unite(const int64_t[::1] left not None, const int64_t[::1] right not None, int64_t[::1] both not None):
    """Put the codes that are in either of two ascending arrays into ``both``, in their order; how many there are."""
    cdef Py_ssize_t a = 0, b = 0, count = 0, lefts = left.shape[0], rights = right.shape[0]
    cdef int64_t x, y
    require(both.shape[0] >= lefts + rights, "unite: both must have room for left and right")
    with nogil:
        while a < lefts and b < rights:
            x, y = left[a], right[b]
            both[count] = x if x < y else y
            a += x <= y
            b += y <= x
            count += 1
        memcpy(&both[count], &left[a], (lefts - a) * sizeof(int64_t))
        count += lefts - a
        memcpy(&both[count], &right[b], (rights - b) * sizeof(int64_t))
        count += rights - b
    return count


def number_ascending(
    int64_t[::1] codes not None, const int64_t[::1] values not None, Py_ssize_t start, Py_ssize_t[::1] first not None
):
    """Put the number that each of some ascending codes has among values in its place, and its row into ``first``.

    The first of the codes is of row ``start``; values ascend, too.
    """
    cdef Py_ssize_t row, count = values.shape[0], place = 0, step, end
    cdef int64_t code
    require(first.shape[0] == count, "number_ascending: values and first must be of one length")
    with nogil:
        for row in range(codes.shape[0]):
            code = codes[row]
            if place < count and values[place] < code:
                place += 1
                step = 1
                while place + step < count and values[place + step] < code:  # in strides that grow, then by halves
                    place += step
                    step *= 2
                end = place + step if place + step < count else count
                while place < end:
                    if values[place + (end - place) // 2] < code:
                        place = place + (end - place) // 2 + 1
                    else:
                        end = place + (end - place) // 2
            if place >= count or values[place] != code:
                with gil:
                    raise IndexError("number_ascending: a code is not among the values")
            codes[row] = place
            first[place] = start + row


ctypedef fused code_number:
    int32_t
    int64_t


def place_codes(const code_number[::1] codes not None, int64_t[::1] free not None, int64_t[::1] place not None):
    """Put the place of each code among sorted ones into ``place``; ``free`` has the first place of each, and changes."""
    cdef Py_ssize_t row, rows = codes.shape[0], size = free.shape[0]
    cdef int64_t code
    require(place.shape[0] == rows, "place_codes: codes and places must be of one length")
    with nogil:
        for row in range(rows):
            code = among(codes[row], size, CODE)
            place[row] = free[code]
            free[code] += 1


ctypedef fused floating:
    double
    float

ctypedef fused folded:
    double
    float
    int64_t
    int32_t
    int8_t


cdef inline bint takes(folded value, folded other, bint least) noexcept nogil:
    """Whether a value takes the place of another: the least one, but NaN; or the greatest, which NaN is."""
    if folded in floating:
        return (value < other or other != other) if least else (value > other or value != value)
    else:
        return value < other if least else value > other


def extremes_so_far(
    const folded[::1] values not None,
    const int32_t[::1] codes not None,
    bint least,
    folded[::1] best not None,
    folded[::1] found not None,
):
    """Set for each row the least (as ``fmin``), or the greatest (as ``maximum``), of those of its code up to it.

    ``best`` has that of each code before the first row, and changes.
    """
    cdef Py_ssize_t row, rows = codes.shape[0], size = best.shape[0]
    cdef int64_t code
    if values.shape[0] != rows or found.shape[0] != rows:
        raise ValueError("extremes_so_far: values, codes and what is found must be of one length")
    with nogil:
        for row in range(rows):
            code = among(codes[row], size, CODE)
            if takes(values[row], best[code], least):
                best[code] = values[row]
            found[row] = best[code]


def sums_so_far(
    const int64_t[::1] values not None,
    const int32_t[::1] codes not None,
    int64_t[::1] sums not None,
    int64_t[::1] found not None,
):
    """Set for each row the sum of those of its code up to it, modulo 2**64; ``sums`` has that of each, and changes."""
    cdef Py_ssize_t row, rows = codes.shape[0], size = sums.shape[0]
    cdef int64_t code
    if values.shape[0] != rows or found.shape[0] != rows:
        raise ValueError("sums_so_far: values, codes and what is found must be of one length")
    with nogil:
        for row in range(rows):
            code = among(codes[row], size, CODE)
            sums[code] = <int64_t>(<uint64_t>sums[code] + <uint64_t>values[row])
            found[row] = sums[code]


def rows_so_far(
    const int32_t[::1] codes not None,
    const int8_t[::1] seen,
    bint first,
    int64_t[::1] known not None,
    int64_t[::1] found not None,
):
    """Set for each row the first one, or the last, of its code up to it that is ``seen`` (None: all are), or -1.

    ``known`` has that of each code, -1 before the first row, and changes.
    """
    cdef Py_ssize_t row, rows = codes.shape[0], size = known.shape[0]
    cdef int64_t code
    cdef bint all = seen is None
    if found.shape[0] != rows or not all and seen.shape[0] != rows:
        raise ValueError("rows_so_far: codes, what is seen and what is found must be of one length")
    with nogil:
        for row in range(rows):
            code = among(codes[row], size, CODE)
            if (all or seen[row]) and not (first and known[code] >= 0):
                known[code] = row
            found[row] = known[code]


def rows_before(const int32_t[::1] codes not None, int64_t[:, ::1] last not None, int64_t[::1] found not None):
    """Set for each row the one that is as many rows of its code before as ``last`` has columns but one, or -1.

    The columns of ``last`` have the last rows of each code in a ring, -1 for none, and then which of these is the
    oldest; they change.
    """
    cdef Py_ssize_t row, rows = codes.shape[0], size = last.shape[0], many = last.shape[1] - 1
    cdef int64_t code
    cdef int64_t* of
    if found.shape[0] != rows or many < 1:
        raise ValueError("rows_before: codes and what is found must be of one length, and there must be a row to keep")
    with nogil:
        for row in range(rows):
            code = among(codes[row], size, CODE)
            of = &last[code, 0]
            if not 0 <= of[many] < many:
                of[many] = 0
            found[row] = of[of[many]]
            of[of[many]] = row
            of[many] = of[many] + 1 if of[many] + 1 < many else 0


def rows_as_of(
    const int32_t[::1] codes not None,
    const int64_t[::1] ticks not None,
    const int8_t[::1] seen,
    const int32_t[::1] wanted not None,
    const int64_t[::1] until not None,
    int64_t[::1] known not None,
    int64_t[::1] found not None,
):
    """Set for each of some ascending ticks the last row below it of the ``wanted`` code that is ``seen``, or -1.

    Rows are in the order of their ticks, all of them seen where that is None; a code below 0 has none. ``known`` has
    the last row of each code, -1 before the first row, and changes.
    """
    cdef Py_ssize_t at, row = 0, rows = codes.shape[0], size = known.shape[0]
    cdef int64_t code = 0, tick
    cdef bint all = seen is None, forward = True, right = True
    if ticks.shape[0] != rows or not all and seen.shape[0] != rows:
        raise ValueError("rows_as_of: codes, ticks and what is seen must be of one length")
    if until.shape[0] != wanted.shape[0] or found.shape[0] != wanted.shape[0]:
        raise ValueError("rows_as_of: what is wanted, its ticks and what is found must be of one length")
    with nogil:
        for at in range(wanted.shape[0]):
            tick = until[at]
            forward = at == 0 or until[at - 1] <= tick
            while row < rows and ticks[row] < tick and right:
                code = codes[row]
                right = 0 <= code < size
                if right and (all or seen[row]):
                    known[code] = row
                row += 1
            if right:
                code = wanted[at]
                right = code < size
            if not (forward and right):
                break
            found[at] = known[code] if code >= 0 else -1
    if not forward:
        raise ValueError("rows_as_of: ticks must ascend")
    if not right:
        raise IndexError(f"code {code} of a row is not among {size}")


def rows_of_windows(
    const int32_t[::1] codes not None,
    const int64_t[::1] last not None,
    const int64_t[::1] offsets not None,
    int64_t[::1] found not None,
):
    """Set the rows of some windows: of each as many as its offsets say, all of one code, up to its last one.

    Whether that is done: not where there are as many rows between them as there are rows.
    """
    cdef Py_ssize_t window, row, place, rows = codes.shape[0], windows = last.shape[0], left = rows
    cdef const char* wrong = "rows_of_windows: windows must have as many rows of one code as there is room for"
    require(offsets.shape[0] == windows + 1, wrong)
    with nogil:
        for window in range(windows):
            row = last[window] + 1
            require(0 < row <= rows and 0 <= offsets[window] <= offsets[window + 1] <= found.shape[0], wrong)
            for place in range(offsets[window + 1] - 1, offsets[window] - 1, -1):
                row -= 1
                while row >= 0 and codes[row] != codes[last[window]]:
                    row -= 1
                    left -= 1
                require(row >= 0, wrong)
                if left < 0:
                    break
                found[place] = row
            if left < 0:
                break
    return left >= 0


def order_codes(const int64_t[::1] codes not None, int64_t[::1] places not None, Py_ssize_t[::1] order not None):
    """Put the stable order of codes into ``order``; ``places``, one more than there are possible codes, are zeros."""
    cdef Py_ssize_t row, rows = codes.shape[0], size = places.shape[0] - 1
    cdef int64_t code
    require(order.shape[0] == rows, "order_codes: codes and order must be of one length")
    with nogil:
        for row in range(rows):
            places[among(codes[row], size, CODE) + 1] += 1
        for code in range(size):
            places[code + 1] += places[code]
        for row in range(rows):
            order[places[codes[row]]] = row
            places[codes[row]] += 1


def sort_by_bits(int64_t[::1] values not None, int64_t[::1] other not None, int low, int high):
    """Sort numbers that are not negative by their bits from ``low`` to below ``high``; ``other`` has room for them."""
    cdef Py_ssize_t rows = values.shape[0]
    cdef uint64_t* words = <uint64_t*>&values[0]
    if other.shape[0] != rows or not 0 <= low <= high <= 63:
        raise ValueError("sort_by_bits: both must be of one length, and bits from 0 to 63")
    with nogil:
        if sorted_by_bits(words, <uint64_t*>&other[0], rows, low, high) != words:
            values[:] = other


def group_sorted(
    int64_t[::1] both not None,
    int bits,
    Py_ssize_t[::1] group not None,
    Py_ssize_t[::1] first not None,
    int64_t[::1] counts not None,
):
    """Number the groups of equal codes in sorted codes with the row, of ``bits`` bits, below each; how many they are.

    Sets the group of each row, and the first row and the number of rows of each group; ``both`` is overwritten with
    the code of each group.
    """
    cdef Py_ssize_t at, row, number = -1, rows = both.shape[0]
    cdef int64_t code, before = -1, mask = (<int64_t>1 << bits) - 1
    if group.shape[0] != rows or first.shape[0] != rows or counts.shape[0] != rows:
        raise ValueError("group_sorted: both, group, first and counts must be of one length")
    with nogil:
        for at in range(rows):
            row, code = among(both[at] & mask, rows, ROW), both[at] >> bits
            if at + AHEAD < rows and (both[at + AHEAD] & mask) < rows:
                soon(&group[both[at + AHEAD] & mask])
            if code != before:
                number += 1
                first[number], counts[number], both[number], before = row, 0, code, code
            group[row] = number
            counts[number] += 1
    return number + 1


cdef uint64_t MANY = <uint64_t>1 << 61
"""More windows than anything holds, and few enough to be added up."""


cdef struct Run:
    # The windows that a row brings: the first one, and how many; and of how many it is the last row.
    int64_t begin, brings, leaves


cdef inline Run run_of(
    int64_t first, int64_t last, int64_t after, int64_t next, bint all, int64_t least, int64_t most
) noexcept nogil:
    """What a row brings that is in windows from a first to a last one: ``after`` is the one after those of the row
    before, and ``next`` the first one of the row after it.
    """
    cdef int64_t high = min(last, most)
    cdef Run run
    run.begin = max(after if all or after > first else first, least)
    run.brings = <int64_t>min(<uint64_t>high - <uint64_t>run.begin, MANY) + 1 if high >= run.begin else 0
    if not all and next > last:
        next = last + 1
    if next > most:
        next = most + 1
    first = max(first, least)
    run.leaves = <int64_t>min(<uint64_t>next - <uint64_t>first, MANY) if next > first else 0
    return run


def count_windows(
    const int64_t[::1] first not None,
    const int64_t[::1] last not None,
    const int64_t[::1] starts not None,
    bint all,
    int64_t least,
    int64_t most,
):
    """The number of the windows that :func:`ranges_of_windows` sets, and whether each row is in one."""
    cdef Py_ssize_t at, key, end, rows = first.shape[0], keys = starts.shape[0]
    cdef bint covered = True
    cdef int64_t after
    cdef double total = 0
    require(last.shape[0] == rows, "count_windows: first and last must be of one length")
    with nogil:
        for key in range(keys):
            end = starts[key + 1] if key + 1 < keys else rows
            after = first[starts[key]]
            for at in range(starts[key], end):
                covered &= first[at] <= last[at]
                total += run_of(first[at], last[at], after, 0, all, least, most).brings
                after = last[at] + 1
    return total, covered


def ranges_of_windows(
    const int64_t[::1] first not None,
    const int64_t[::1] last not None,
    const int64_t[::1] starts not None,
    bint all,
    int64_t least,
    int64_t most,
    int64_t[::1] high not None,
    int64_t[::1] row not None,
    int64_t[::1] number not None,
):
    """Set the windows from ``least`` to ``most`` that rows are in, each from a first one to a last one.

    ``row`` is the one that brings a window, the first one in it, and ``high`` the one after the last one in it. With
    ``all`` there may be none: each key has all windows from its first to its last, those between two rows with the
    latter.
    """
    cdef Py_ssize_t at, key, end, rows = first.shape[0], keys = starts.shape[0], windows = high.shape[0]
    cdef Py_ssize_t place = 0, left = 0
    cdef int64_t window, after
    cdef Run run
    require(last.shape[0] == rows, "ranges_of_windows: first and last must be of one length")
    if row.shape[0] != windows or number.shape[0] != windows:
        raise ValueError("ranges_of_windows: high, row and number must be of one length")
    with nogil:
        for key in range(keys):
            end = starts[key + 1] if key + 1 < keys else rows
            after = first[starts[key]]
            for at in range(starts[key], end):
                run = run_of(
                    first[at], last[at], after, first[at + 1] if at + 1 < end else last[at] + 1, all, least, most
                )
                after = last[at] + 1
                for window in range(run.leaves):
                    if left < windows:
                        high[left] = at + 1
                    left += 1
                for window in range(run.brings):
                    if place < windows:
                        row[place] = at
                        number[place] = run.begin + window
                    place += 1
    if place != windows or left != windows:
        raise ValueError(f"ranges_of_windows: {place} windows begin and {left} end; there is room for {windows}")


cdef enum:
    REACHES = 1024  # rows after which values are tried anew for being evenly apart


cdef inline Py_ssize_t lower_bound(const int64_t* values, Py_ssize_t count, int64_t least) noexcept nogil:
    """The first of ascending values that is not below another; their number where there is none."""
    cdef Py_ssize_t low = 0, middle
    while low < count:
        middle = (low + count) // 2
        if values[middle] < least:
            low = middle + 1
        else:
            count = middle
    return low


cdef inline Py_ssize_t next_place(
    const int64_t* values, Py_ssize_t place, Py_ssize_t end, int64_t least
) noexcept nogil:
    """The first value from a place on that is not below another: how far that is is random, so no branch guesses it."""
    cdef Py_ssize_t below
    while place + 4 <= end:
        below = (
            (values[place] < least)
            + (values[place + 1] < least)
            + (values[place + 2] < least)
            + (values[place + 3] < least)
        )
        place += below
        if below < 4:
            return place
    while place < end and values[place] < least:
        place += 1
    return place


def reach(
    const int64_t[::1] values not None, const int64_t[::1] starts not None, int64_t distance, int64_t[::1] found not None
):
    """For each value, the first of its run's that is not below it plus a distance, by its place; else the run's end.

    Values ascend in each run. ``starts`` has where each begins, the first with 0.
    """
    cdef Py_ssize_t run, row, first, stop, place, end, rest, middle, half, ahead
    cdef Py_ssize_t rows = values.shape[0], runs = starts.shape[0]
    require(found.shape[0] == rows, "reach: values and found must be of one length")
    with nogil:
        for run in range(runs):
            first = row = place = starts[run]
            end = starts[run + 1] if run + 1 < runs else rows
            while row < end:
                stop = min(row + REACHES, end)
                if place > first:  # where values are evenly apart, each reaches a place further than the one before
                    rest = place + 1 - row
                    while row < min(stop, end - rest) and (
                        values[row + rest - 1] < values[row] + distance <= values[row + rest]
                    ):
                        found[row] = place = row + rest
                        row += 1
                half = (stop - row) // 2
                if half >= 64:  # the second half by turns with the first one, as each waits for its own place
                    middle = row + half
                    ahead = place + lower_bound(&values[place], end - place, values[middle] + distance)
                    while row < middle:
                        place = next_place(&values[0], place, end, values[row] + distance)
                        ahead = next_place(&values[0], ahead, end, values[row + half] + distance)
                        found[row], found[row + half] = place, ahead
                        row += 1
                    row, place = middle + half, ahead
                while row < stop:
                    place = next_place(&values[0], place, end, values[row] + distance)
                    found[row] = place
                    row += 1


cdef int require_runs(const int64_t[::1] starts, Py_ssize_t rows, const char* sentence) except -1 nogil:
    """ValueError unless runs begin at rows that ascend, the first one at 0."""
    cdef Py_ssize_t run, runs = starts.shape[0]
    require(runs > 0 and starts[0] == 0 and starts[runs - 1] <= rows or rows == 0, sentence)
    for run in range(1, runs):
        require(starts[run - 1] <= starts[run], sentence)
    return 0


def number_runs(const int64_t[::1] starts not None, int64_t[::1] found not None):
    """Number the rows of each run from 0 on; ``starts`` has where each begins, the first with 0."""
    cdef Py_ssize_t run, row, end, rows = found.shape[0], runs = starts.shape[0]
    require_runs(starts, rows, "number_runs: runs must begin at rows that ascend, the first one at 0")
    with nogil:
        for run in range(runs):
            end = starts[run + 1] if run + 1 < runs else rows
            for row in range(starts[run], end):
                found[row] = row - starts[run]


def rows_around(
    const int64_t[::1] starts not None, int64_t first, int64_t last, int64_t[::1] low not None, int64_t[::1] high not None
):
    """For each row the range of rows from a first one to a last one around it, as far as its run has them.

    ``starts`` has where each run begins, the first with 0. Whether no range can be empty.
    """
    cdef Py_ssize_t run, row, start, end, rows = low.shape[0], runs = starts.shape[0]
    cdef bint filled = True
    require(high.shape[0] == rows, "rows_around: low and high must be of one length")
    require_runs(starts, rows, "rows_around: runs must begin at rows that ascend, the first one at 0")
    first, last = max(-rows, min(first, rows)), max(-rows, min(last, rows)) + 1
    with nogil:
        for run in range(runs):
            start, end = starts[run], starts[run + 1] if run + 1 < runs else rows
            for row in range(start, end):
                low[row] = max(start, min(row + first, end))
                high[row] = max(start, min(row + last, end))
            filled &= start == end or first <= 0 < last  # its own row is in each
    return filled


def add_deviations(
    const double[::1] values not None, const Py_ssize_t[::1] index not None, double cut, double[:, ::1] sums not None
):
    """Add the deviation of each value from the first one of its group, and its square, to the group's.

    Both are of the part above the cut. Columns of ``sums``: the number of rows, the upper part of the first value, and
    the sums of the deviations of upper parts, of low parts, of the deviations' squares, and of what these lack.
    """
    cdef Py_ssize_t row, group, size = sums.shape[0]
    cdef double part, rest
    cdef double* of
    if index.shape[0] != values.shape[0] or sums.shape[1] != 6:
        raise ValueError("add_deviations: values and index must be of one length, and sums have six columns")
    with nogil:
        for row in range(values.shape[0]):
            group = among(index[row], size, GROUP)
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


def take_extremes(
    const folded[::1] values not None, const Py_ssize_t[::1] index not None, bint least, folded[::1] found not None
):
    """Put the least (as ``fmin``) or the greatest (as ``maximum``) value of each group in its place among ``found``."""
    require(index.shape[0] == values.shape[0], "take_extremes: values and index must be of one length")
    with nogil:
        if least:
            put_extremes(values, index, True, found)
        else:
            put_extremes(values, index, False, found)


cdef inline int put_extremes(
    const folded[::1] values, const Py_ssize_t[::1] index, bint least, folded[::1] found
) except -1 nogil:
    """The same; inline, so that no row asks which of the two it is."""
    cdef Py_ssize_t row, group, size = found.shape[0]
    for row in range(values.shape[0]):
        group = among(index[row], size, GROUP)
        if takes(values[row], found[group], least):
            found[group] = values[row]
    return 0


cdef extern from *:
    """
    /* A pair of floats added to another, as ``Compensated`` adds them. */
    static inline void framefold_add_pair(double high, double low, double *sum, double *lows)
    {
        framefold_pair total = framefold_two_sum(*sum, high);
        total = framefold_two_sum(total.high, total.low + (*lows + low));
        *sum = total.high;
        *lows = total.low;
    }
    FRAMEFOLD_WIDEST
    static void framefold_add_rows(
        Py_ssize_t rows, const double *restrict high, const double *restrict low,
        double *restrict sums, double *restrict lows)
    {
        for (Py_ssize_t i = 0; i < rows; i++)
            framefold_add_pair(high[i], low[i], sums + i, lows + i);
    }
    /* Sums of deviations from a centre, and of their squares. */
    typedef struct { framefold_pair sum, squares; } framefold_sums;
    /* Deviations of ``n`` values, about a centre that is ``apart`` away, added to others; as ``Deviations._moved``. */
    static inline framefold_sums framefold_join(
        framefold_sums to, framefold_sums own, double n, framefold_pair apart)
    {
        framefold_pair by = framefold_halves(apart.high), many = framefold_halves(n), shift, more, twice, parts;
        by.low = by.low + apart.low;
        shift.high = n * apart.high;
        shift.low = many.high * by.high - shift.high + many.low * by.high + n * by.low;
        framefold_pair moved = framefold_add(own.sum, shift);
        twice = framefold_add(moved, own.sum);
        parts = framefold_halves(twice.high);
        parts.low = parts.low + twice.low;
        more.high = apart.high * twice.high;
        more.low = by.high * parts.high - more.high + parts.low * by.high + by.low * twice.high;
        to.sum = framefold_add(to.sum, moved);
        to.squares = framefold_add(to.squares, framefold_add(own.squares, more));
        return to;
    }
    /* As ``join``, of rows that follow one another; ``base`` are the centres that there are then. */
    FRAMEFOLD_WIDEST
    static int framefold_join_rows(
        Py_ssize_t rows, double least, double most, const int64_t *restrict count, const double *restrict centre,
        const double *restrict sum, const double *restrict sum_low, const double *restrict squares,
        const double *restrict squares_low, const double *restrict base, double *restrict to_sum,
        double *restrict to_sum_low, double *restrict to_squares, double *restrict to_squares_low)
    {
        int64_t wide = 0, bad = 0;
        for (Py_ssize_t i = 0; i < rows; i++)
            wide |= count[i];
        if (wide < 0 || wide >= ((int64_t)1 << 52))
            return 0;
        for (Py_ssize_t i = 0; i < rows; i++) {  /* counts as floats, as vectors have it: the bits of 2**52 plus each */
            int64_t bits = count[i] | (int64_t)0x4330000000000000;
            double n;
            memcpy(&n, &bits, sizeof n);
            framefold_pair apart = framefold_two_sum(centre[i], -base[i]);
            double size = fabs(apart.high);
            bad |= (apart.high != 0.0) & !((least <= size) & (size < most)) ? 1 : 0;
            framefold_sums own = {{sum[i], sum_low[i]}, {squares[i], squares_low[i]}};
            framefold_sums to = {{to_sum[i], to_sum_low[i]}, {to_squares[i], to_squares_low[i]}};
            to = framefold_join(to, own, n - 4503599627370496.0, apart);
            to_sum[i] = to.sum.high;
            to_sum_low[i] = to.sum.low;
            to_squares[i] = to.squares.high;
            to_squares_low[i] = to.squares.low;
        }
        return bad == 0;
    }
    /* As ``Deviations.variance``. */
    FRAMEFOLD_WIDEST
    static void framefold_variances(
        Py_ssize_t rows, double ddof, const int64_t *restrict count, const double *restrict sum,
        const double *restrict sum_low, const double *restrict squares, const double *restrict squares_low,
        double *restrict high, double *restrict low)
    {
        for (Py_ssize_t i = 0; i < rows; i++) {
            double n = (double)count[i] > 1.0 ? (double)count[i] : 1.0;
            double less = n - ddof > 1.0 ? n - ddof : 1.0;
            framefold_pair part = framefold_product(sum[i], sum[i]);
            part.low = part.low + 2.0 * sum[i] * sum_low[i];
            part = framefold_quotient(part, n);
            framefold_pair found = framefold_two_sum(squares[i], -part.high);
            found.low = squares_low[i] - part.low + found.low;
            found = framefold_quotient(found, less);
            int none = found.high + found.low <= 0.0;
            high[i] = none ? 0.0 : found.high;
            low[i] = none ? 0.0 : found.low;
        }
    }
    /* As ``sliding_pairs.times``. */
    static inline framefold_pair framefold_times(double a, double a_low, double b, double b_low)
    {
        framefold_pair product = framefold_product(a, b);
        product.low = product.low + a_low * b + a * b_low;
        return product;
    }
    FRAMEFOLD_WIDEST
    static void framefold_multiply_pairs(
        Py_ssize_t rows, const double *restrict a, const double *restrict a_low, const double *restrict b,
        const double *restrict b_low, double *restrict high, double *restrict low)
    {
        for (Py_ssize_t i = 0; i < rows; i++) {
            framefold_pair product = framefold_times(a[i], a_low[i], b[i], b_low[i]);
            high[i] = product.high;
            low[i] = product.low;
        }
    }
    /* As ``sliding_pairs.about_means``. */
    FRAMEFOLD_WIDEST
    static void framefold_about_means(
        Py_ssize_t rows, const double *restrict total, const double *restrict total_low, const double *restrict a,
        const double *restrict a_low, const double *restrict b, const double *restrict b_low,
        const double *restrict count, double *restrict found)
    {
        for (Py_ssize_t i = 0; i < rows; i++) {
            framefold_pair part = framefold_quotient(framefold_times(a[i], a_low[i], b[i], b_low[i]), count[i]);
            framefold_pair rest = framefold_two_sum(total[i], -part.high);
            found[i] = rest.high + (total_low[i] - part.low + rest.low);
        }
    }
    /* As ``double_double.root``. */
    FRAMEFOLD_WIDEST
    static void framefold_roots(
        Py_ssize_t rows, const double *restrict high, const double *restrict low, double *restrict roots)
    {
        for (Py_ssize_t i = 0; i < rows; i++) {
            double r = sqrt(high[i]);
            framefold_pair back = framefold_product(r, r);
            roots[i] = r + (high[i] - back.high - back.low + low[i]) / (r > 0.0 ? 2.0 * r : 1.0);
        }
    }
    """
    ctypedef struct Sums "framefold_sums":
        Pair sum, squares
    void add_pair "framefold_add_pair" (double high, double low, double* sum, double* lows) noexcept nogil
    void add_rows "framefold_add_rows" (
        Py_ssize_t rows, const double* high, const double* low, double* sums, double* lows
    ) noexcept nogil
    Sums join "framefold_join" (Sums to, Sums own, double n, Pair apart) noexcept nogil
    int join_rows "framefold_join_rows" (
        Py_ssize_t rows, double least, double most, const int64_t* count, const double* centre, const double* sum,
        const double* sum_low, const double* squares, const double* squares_low, const double* base, double* to_sum,
        double* to_sum_low, double* to_squares, double* to_squares_low
    ) noexcept nogil
    void framefold_variances(
        Py_ssize_t rows, double ddof, const int64_t* count, const double* sum, const double* sum_low,
        const double* squares, const double* squares_low, double* high, double* low
    ) noexcept nogil
    void framefold_multiply_pairs(
        Py_ssize_t rows, const double* a, const double* a_low, const double* b, const double* b_low, double* high,
        double* low
    ) noexcept nogil
    void framefold_about_means(
        Py_ssize_t rows, const double* total, const double* total_low, const double* a, const double* a_low,
        const double* b, const double* b_low, const double* count, double* found
    ) noexcept nogil
    void framefold_roots(Py_ssize_t rows, const double* high, const double* low, double* roots) noexcept nogil


cdef inline bint near(double apart, double least, double most) noexcept nogil:
    """Whether the square of a distance neither overflows nor vanishes."""
    return apart == 0.0 or least <= fabs(apart) < most


def join_groups_of_deviations(columns not None, const Py_ssize_t[::1] index not None, made not None, double ordinary):
    """Join deviations of level 0 to those of their groups, in their order; whether all can be joined.

    The columns of each: counts; centres, sums and what they lack, sums of squares and what they lack. Those of ``made``
    have what they are joined to, zeros for nothing.
    """
    cdef const int64_t[::1] b_count = columns[0]
    cdef const double[::1] b_centre = columns[1], b_sum = columns[2], b_sum_low = columns[3]
    cdef const double[::1] b_squares = columns[4], b_squares_low = columns[5]
    cdef int64_t[::1] count = made[0]
    cdef double[::1] centre = made[1], sums = made[2], sums_low = made[3]
    cdef double[::1] squares = made[4], squares_low = made[5]
    cdef Py_ssize_t row = 0, at, group, many, rows = index.shape[0], size = count.shape[0]
    cdef Sums both
    cdef Pair apart
    cdef bint can = True
    cdef double least = 1.0 / ordinary
    require_lengths(columns, rows, "join_groups_of_deviations: all columns must be of the length of index")
    require_lengths(made, size, "join_groups_of_deviations: all columns of groups must be of one length")
    with nogil:
        while can and row < rows:
            group = among(index[row], size, GROUP)
            many = consecutive(index, row, rows, size)
            for at in range(many):
                if count[group + at] == 0:
                    centre[group + at] = b_centre[row + at]
                count[group + at] += b_count[row + at]
            if many >= FEW:
                can = join_rows(
                    many, least, ordinary, &b_count[row], &b_centre[row], &b_sum[row], &b_sum_low[row],
                    &b_squares[row], &b_squares_low[row], &centre[group], &sums[group], &sums_low[group],
                    &squares[group], &squares_low[group],
                )
                row += many
                continue
            for group in range(group, group + many):
                apart = two_sum(b_centre[row], -centre[group])
                can &= near(apart.high, least, ordinary)
                both = join(
                    Sums(Pair(sums[group], sums_low[group]), Pair(squares[group], squares_low[group])),
                    Sums(Pair(b_sum[row], b_sum_low[row]), Pair(b_squares[row], b_squares_low[row])),
                    <double>b_count[row],
                    apart,
                )
                sums[group], sums_low[group] = both.sum.high, both.sum.low
                squares[group], squares_low[group] = both.squares.high, both.squares.low
                row += 1
    return can


cdef double GRID = 1.5 / (<uint64_t>1 << 46)


def sums_about(
    columns not None,
    bint single,
    const int32_t[::1] codes not None,
    made not None,
    int64_t[::1] exponents not None,
    double ordinary,
):
    """Move deviations of level 0 to a centre for each code, that of its first row; whether that can be done.

    The columns are those of ``join_groups_of_deviations``, of ``single`` values if this is known. ``made`` has columns
    for the sums, what they lack, the sums of squares and what they lack: of deviations divided by a power of two, whose
    exponent is that of the code, so that none is above 1, and what they lack cut to ``2**-98``.
    """
    cdef const int64_t[::1] count = columns[0]
    cdef const double[::1] centre = columns[1], of_sum = columns[2], of_sum_low = columns[3]
    cdef const double[::1] of_squares = columns[4], of_squares_low = columns[5]
    cdef double[::1] sums = made[0], sums_low = made[1], squares = made[2], squares_low = made[3]
    cdef Py_ssize_t row, rows = codes.shape[0], size = exponents.shape[0]
    cdef double least = 1.0 / ordinary, unit
    cdef int64_t code
    cdef int exponent
    cdef bint can = True
    cdef Pair apart, square
    cdef Sums found, none = Sums(Pair(0.0, 0.0), Pair(0.0, 0.0))
    require_lengths((*columns, *made), rows, "sums_about: all columns must be of one length")
    cdef double* base = <double*>memory(2 * size * sizeof(double))
    cdef double* most = base + size
    try:
        with nogil:
            for code in range(size):
                most[code] = -1.0  # before the first row
            for row in range(rows):
                code = among(codes[row], size, CODE)
                if most[code] < 0.0:
                    base[code], most[code] = centre[row], 0.0
                apart = two_sum(centre[row], -base[code])
                can &= near(apart.high, least, ordinary)
                sums[row], sums_low[row] = apart.high, apart.low  # those of a single value
                square = product(apart.high, apart.high)
                squares[row], squares_low[row] = square.high, square.low + 2.0 * apart.high * apart.low
                if not (single or count[row] == 1 and of_sum[row] == of_sum_low[row] == of_squares[row] == 0.0):
                    found = Sums(Pair(of_sum[row], of_sum_low[row]), Pair(of_squares[row], of_squares_low[row]))
                    found = join(none, found, <double>count[row], apart)
                    can &= found.squares.high < ordinary * ordinary
                    sums[row], sums_low[row] = found.sum.high, found.sum.low
                    squares[row], squares_low[row] = found.squares.high, found.squares.low
                if squares[row] > most[code]:
                    most[code] = squares[row]
            for code in range(size):
                frexp(sqrt(max(most[code], 0.0)), &exponent)
                exponents[code] = exponent + 1
                most[code] = ldexp(1.0, -exponent - 1)
            for row in range(rows):
                unit = most[codes[row]]
                sums[row] *= unit
                sums_low[row] = (sums_low[row] * unit + GRID) - GRID
                squares[row] *= unit * unit
                squares_low[row] = (squares_low[row] * (unit * unit) + GRID) - GRID
    finally:
        free(base)
    return can


def variances(columns not None, double ddof, double[::1] high not None, double[::1] low not None):
    """Set the variances of sums and what rounding lost of them, each step as ``Deviations.variance`` does it.

    The columns are counts, the sums of deviations, what they lack, the sums of squares and what they lack.
    """
    cdef const int64_t[::1] count = columns[0]
    cdef const double[::1] sums = columns[1], sums_low = columns[2], squares = columns[3], squares_low = columns[4]
    cdef Py_ssize_t row, rows = high.shape[0]
    require_lengths((*columns, low), rows, "variances: all columns must be of one length")
    if rows:
        with nogil:
            framefold_variances(
                rows, ddof, &count[0], &sums[0], &sums_low[0], &squares[0], &squares_low[0], &high[0], &low[0]
            )
    return True


def multiply_pairs(a not None, b not None, double[::1] high not None, double[::1] low not None):
    """Set the products of pairs of floats, each step as ``sliding_pairs.times`` does it; whether that is done."""
    cdef const double[::1] x = a[0], x_low = a[1], y = b[0], y_low = b[1]
    cdef Py_ssize_t rows = high.shape[0]
    require_lengths((*a, *b, low), rows, "multiply_pairs: all columns must be of one length")
    if rows:
        with nogil:
            framefold_multiply_pairs(rows, &x[0], &x_low[0], &y[0], &y_low[0], &high[0], &low[0])
    return True


def about_means(total not None, a not None, b not None, const double[::1] count not None, double[::1] found not None):
    """Set sums of products about means, each step as ``sliding_pairs.about_means`` does it; whether that is done."""
    cdef const double[::1] high = total[0], low = total[1], x = a[0], x_low = a[1], y = b[0], y_low = b[1]
    cdef Py_ssize_t rows = found.shape[0]
    require_lengths((*total, *a, *b, count), rows, "about_means: all columns must be of one length")
    if rows:
        with nogil:
            framefold_about_means(
                rows, &high[0], &low[0], &x[0], &x_low[0], &y[0], &y_low[0], &count[0], &found[0]
            )
    return True


def roots(const double[::1] high not None, const double[::1] low not None, double[::1] found not None):
    """Set the square roots of pairs of floats."""
    require(high.shape[0] == low.shape[0] == found.shape[0], "roots: all columns must be of one length")
    if high.shape[0]:
        with nogil:
            framefold_roots(high.shape[0], &high[0], &low[0], &found[0])
    return True


cdef enum:
    SLOTS = 1 << 15  # of a table of different texts: twice as many as there may be

cdef struct Text:
    # What tells texts of up to 16 bytes apart, and longer ones nearly always; and the first row of each.
    uint64_t head, tail
    int64_t length, row


cdef inline uint64_t bytes_of(const uint8_t* text, int64_t count) noexcept nogil:
    """As many bytes of text, 8 at most, as a number."""
    cdef uint64_t found = 0
    memcpy(&found, text, count)
    return found


cdef uint64_t[25] UPTO  # the bits of the first bytes of 8, from -8 on
for _count in range(25):
    UPTO[_count] = (1 << 8 * min(max(_count - 8, 0), 8)) - 1


cdef inline uint64_t mixed(uint64_t a, uint64_t b) noexcept nogil:
    """Two numbers as one in whose upper bits all of theirs have a say."""
    a = (a ^ 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL
    a = ((a ^ a >> 32) + b) * 0xCA5A826395121157ULL
    return a ^ a >> 32


def code_text(const code_number[::1] ends not None, const uint8_t[::1] text not None, codes not None, first not None):
    """Number the different texts in the order of their first rows, each in the place of its rows; how many there are.

    ``ends`` has where each begins, and where the last one ends. The first row of each goes into ``first``; where there
    are more than that has room for, or a table of them would be slow, there are -1.
    """
    cdef int32_t[::1] code = codes
    cdef int64_t[::1] firsts = first
    cdef Py_ssize_t row, at, rows = code.shape[0], places = min(rows, firsts.shape[0], SLOTS // 2), step
    cdef int64_t begin, length, done, size = text.shape[0]
    cdef int32_t found, count = 0
    cdef uint64_t hashed
    cdef const uint8_t* own
    cdef Text one
    cdef Text* known = <Text*>memory(places * sizeof(Text) + SLOTS * sizeof(int32_t))
    cdef int32_t* slots = <int32_t*>(known + places)
    cdef bint right = ends.shape[0] == rows + 1
    with nogil:
        memset(slots, 0xFF, SLOTS * sizeof(int32_t))
        for row in range(rows if right else 0):
            begin = ends[row]
            length = ends[row + 1] - begin
            if not (0 <= begin and 0 <= length <= size - begin):
                right = False
                break
            own = &text[0] + begin
            one.length, one.tail = length, 0
            if length <= 16 and begin + 16 <= size:  # what is too much is left out
                memcpy(&one.head, own, 8)
                memcpy(&one.tail, own + 8, 8)
                one.head, one.tail = one.head & UPTO[length + 8], one.tail & UPTO[length]
            elif length <= 8:
                one.head = bytes_of(own, length)
            elif length <= 16:
                one.head, one.tail = bytes_of(own, 8), bytes_of(own + 8, length - 8)
            else:
                one.head, done = 0, 0
                while done + 8 < length:
                    one.head = mixed(one.head, bytes_of(own + done, 8))
                    done += 8
                one.tail = bytes_of(own + length - 8, 8)
            hashed = mixed(one.head + <uint64_t>length, one.tail)
            at, step = <Py_ssize_t>(hashed >> 49), 0
            found = slots[at]
            while found >= 0:
                if (
                    known[found].head == one.head and known[found].tail == one.tail and known[found].length == length
                    and (length <= 16 or memcmp(&text[0] + ends[known[found].row], own, length) == 0)
                ):
                    break
                step += 1
                at = (at + 1) & (SLOTS - 1)
                found = slots[at]
            if found < 0:
                if count == places or step > AHEAD:
                    count = -1
                    break
                one.row = row
                known[count], firsts[count], slots[at], found = one, row, count, count
                count += 1
            code[row] = found
    free(known)
    require(right, "code_text: there must be a code for each text, whose ends ascend and are in the text")
    return count


def count_codes(const code_number[::1] codes not None, int64_t[::1] counts not None):
    """Add the number of rows of each code to ``counts``."""
    cdef Py_ssize_t row, size = counts.shape[0]
    with nogil:
        for row in range(codes.shape[0]):
            counts[among(codes[row], size, CODE)] += 1


def put_words(const word[::1] values not None, const int64_t[::1] place not None, word[::1] found not None):
    """Put each value in its place."""
    cdef Py_ssize_t row, size = found.shape[0]
    require(values.shape[0] == place.shape[0], "put_words: values and places must be of one length")
    with nogil:
        for row in range(values.shape[0]):
            found[among(place[row], size, PLACE)] = values[row]


def take_words(const word[::1] values not None, const int64_t[::1] rows not None, word[::1] found not None):
    """Set the values of some rows, 0 where there is none, at -1; how many of these there are."""
    cdef Py_ssize_t at, size = values.shape[0]
    cdef int64_t row, none = 0
    require(rows.shape[0] == found.shape[0], "take_words: rows and what is found must be of one length")
    with nogil:
        for at in range(rows.shape[0]):
            row = rows[at]
            if at + 2 * AHEAD < rows.shape[0] and 0 <= rows[at + 2 * AHEAD] < size:
                soon(&values[rows[at + 2 * AHEAD]])
            found[at] = 0 if row == -1 else values[among(row, size, ROW)]
            none += row == -1
    return none


def take_bits(
    const uint8_t[::1] bits, Py_ssize_t offset, const int64_t[::1] rows not None, uint8_t[::1] found not None
):
    """Set the bits of some rows, from ``offset`` on in ``bits``, which are 1 where these are None; 0 at -1.

    ``found`` has room for whole bytes.
    """
    cdef Py_ssize_t at, count = rows.shape[0], size = MOST_ROWS if bits is None else 8 * bits.shape[0] - offset
    cdef int64_t row
    cdef uint8_t made = 0
    cdef bint all = bits is None
    require(offset >= 0, "take_bits: an offset must not be below 0")
    require(found.shape[0] == (count + 7) // 8, "take_bits: there must be room for a bit for each row")
    with nogil:
        for at in range(count):
            row = rows[at]
            if row != -1:
                row = offset + among(row, size, ROW)
                made |= <uint8_t>((1 if all else bits[row >> 3] >> (row & 7) & 1) << (at & 7))
            if at & 7 == 7 or at == count - 1:
                found[at >> 3] = made
                made = 0


def ends_of_text(
    const int32_t[::1] ends not None, const int32_t[::1] rows not None, int32_t[::1] found not None
):
    """Set where the text of some rows ends, one after the other, from 0 on; the bytes of all, which may be too many."""
    cdef Py_ssize_t at, count = rows.shape[0], values = ends.shape[0] - 1
    cdef int64_t total = 0
    cdef const char* wrong = "ends_of_text: rows must be of the column, and there must be an end for each, and one more"
    require(found.shape[0] == count + 1, wrong)
    with nogil:
        found[0] = 0
        for at in range(count):
            require(0 <= rows[at] < values, wrong)
            total += ends[rows[at] + 1] - ends[rows[at]]
            found[at + 1] = <int32_t>total
    return total


def text_of_rows(
    const int32_t[::1] ends not None,
    const uint8_t[::1] text not None,
    const int32_t[::1] rows not None,
    const int32_t[::1] found_ends not None,
    uint8_t[::1] found not None,
):
    """Set the text of some rows, whose ends are those of :func:`ends_of_text`."""
    cdef Py_ssize_t at, count = rows.shape[0], size = text.shape[0], space = found.shape[0], values = ends.shape[0] - 1
    cdef int64_t begin, length, place
    cdef const char* wrong = "text_of_rows: rows must be of the column, and there must be room for their text"
    require(found_ends.shape[0] == count + 1, wrong)
    with nogil:
        for at in range(count):
            require(0 <= rows[at] < values, wrong)
            begin, place = ends[rows[at]], found_ends[at]
            length = ends[rows[at] + 1] - begin
            require(length >= 0 and 0 <= begin <= size - length and 0 <= place <= space - length, wrong)
            if length <= 16 and begin + 16 <= size and place + 16 <= space:  # what is too much is set again
                memcpy(&found[place], &text[begin], 16)
            elif length:
                memcpy(&found[place], &text[begin], length)


def interpolate(
    const double[::1] values not None,
    const int32_t[::1] low not None,
    const int32_t[::1] high not None,
    const int64_t[::1] rest not None,
    int64_t denominator,
    double[::1] found not None,
):
    """Set what is ``rest / denominator`` of the way from the value of a row to that of another."""
    cdef Py_ssize_t at, rows = values.shape[0], length = found.shape[0]
    cdef double x, y, share
    if not low.shape[0] == high.shape[0] == rest.shape[0] == length:
        raise ValueError("interpolate: there must be two rows and a rest for each")
    with nogil:
        for at in range(length):
            require(0 <= low[at] < rows and 0 <= high[at] < rows, "interpolate: there must be such rows")
            x, y = values[low[at]], values[high[at]]
            if rest[at] and x != y:
                share = <double>rest[at] / <double>denominator
                x = x * (1.0 - share) + y * share
            found[at] = x
