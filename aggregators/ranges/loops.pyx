# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Sweeps over ranges of items: those that enter a range are counted, those that leave it are counted off again.

Both ends of the ranges ascend, so that an item enters once and leaves once, however far ranges overlap. Items are codes,
the ranks of their values. The codes that are in the range are bits, 64 of a word, with a bit above for each word that is
not 0, and so on: the next code is found in as many steps as there are levels (P. van Emde Boas, "Preserving order in a
forest in less than logarithmic time", 1975, with words for its recursion).
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

cdef extern from *:
    """
    #include <stdint.h>
    #ifdef __GNUC__
    #define framefold_lowest(word) __builtin_ctzll(word)
    #define framefold_highest(word) (63 - __builtin_clzll(word))
    #else
    static int framefold_lowest(uint64_t word) { int n = 0; while (!(word >> n & 1)) n++; return n; }
    static int framefold_highest(uint64_t word) { int n = 63; while (!(word >> n & 1)) n--; return n; }
    #endif
    """
    int lowest "framefold_lowest" (uint64_t word) noexcept nogil
    int highest "framefold_highest" (uint64_t word) noexcept nogil

cdef enum:
    LEVELS = 6  # of 64 ** 6 codes, which are more than fit int32


cdef struct Present:
    # The weight of each code in the range; the bits of those that are, level by level; the levels, and the codes.
    int64_t* counts
    uint64_t* words
    uint64_t* level[LEVELS]
    int levels
    int64_t codes


cdef bint begin(Present* of, int64_t codes) noexcept nogil:
    """Make room for codes from 0 to below ``codes``; whether there was memory."""
    cdef int64_t size = codes, total = 0
    cdef int64_t[LEVELS] start
    cdef int at
    of.levels, of.codes = 0, codes
    while True:
        size = (size + 63) >> 6
        start[of.levels] = total
        total += size + 1
        of.levels += 1
        if size <= 1:
            break
    of.counts = <int64_t*>calloc(codes + 1, sizeof(int64_t))
    of.words = <uint64_t*>calloc(total, sizeof(uint64_t))
    for at in range(of.levels):
        of.level[at] = of.words + start[at]
    return of.counts != NULL and of.words != NULL


cdef void end(Present* of) noexcept nogil:
    free(of.counts)
    free(of.words)


cdef inline void add(Present* of, int64_t code, int64_t weight) noexcept nogil:
    """Count a code that enters."""
    cdef int at
    cdef uint64_t before
    cdef int64_t place = code
    if of.counts[code] == 0:
        for at in range(of.levels):
            before = of.level[at][place >> 6]
            of.level[at][place >> 6] = before | (<uint64_t>1 << (place & 63))
            if before:
                break
            place >>= 6
    of.counts[code] += weight


cdef inline void drop(Present* of, int64_t code, int64_t weight) noexcept nogil:
    """Count off a code that leaves."""
    cdef int at
    cdef int64_t place = code
    of.counts[code] -= weight
    if of.counts[code] == 0:
        for at in range(of.levels):
            of.level[at][place >> 6] &= ~(<uint64_t>1 << (place & 63))
            if of.level[at][place >> 6]:
                break
            place >>= 6


cdef inline int64_t next_code(Present* of, int64_t code) noexcept nogil:
    """The least code in the range from this one on; that there is one is known."""
    cdef int at
    cdef int64_t place = code
    cdef uint64_t word
    for at in range(of.levels):
        word = of.level[at][place >> 6] & (~<uint64_t>0 << (place & 63))
        if word:
            place = (place & ~<int64_t>63) + lowest(word)
            while at:
                at -= 1
                place = (place << 6) + lowest(of.level[at][place])
            return place
        place = (place >> 6) + 1
    return of.codes


cdef inline int64_t previous_code(Present* of, int64_t code) noexcept nogil:
    """The greatest code in the range below this one; that there is one is known."""
    cdef int at
    cdef int64_t place = code
    cdef uint64_t word
    for at in range(of.levels):
        word = of.level[at][place >> 6] & ((<uint64_t>1 << (place & 63)) - 1)
        if word:
            place = (place & ~<int64_t>63) + highest(word)
            while at:
                at -= 1
                place = (place << 6) + highest(of.level[at][place])
            return place
        place >>= 6
    return -1


cdef struct Moving:
    # A range of items that moves forward: those from ``leaving`` up to ``entering`` are in it.
    const int32_t* codes
    const int64_t* weights
    Py_ssize_t leaving, entering


cdef struct Item:
    # How many of a code an item stands for.
    int64_t code, weight


cdef Moving at_first(const int32_t[::1] code, const int64_t[::1] weight):
    """A range that has no item yet."""
    cdef Moving found
    found.codes = &code[0] if code.shape[0] else NULL
    found.weights = &weight[0] if weight is not None and weight.shape[0] else NULL
    found.leaving = found.entering = 0
    return found


cdef inline bint leaves(Moving* of, int64_t low, Item* item) noexcept nogil:
    """Set the next item that leaves as the range moves on to begin at ``low``; False once none does."""
    if of.leaving < of.entering and of.leaving < low:
        item.code = of.codes[of.leaving]
        item.weight = 1 if of.weights == NULL else of.weights[of.leaving]
        of.leaving += 1
        return True
    if of.leaving == of.entering:
        of.leaving = of.entering = low
    return False


cdef inline bint enters(Moving* of, int64_t high, Item* item) noexcept nogil:
    """Set the next item that enters as the range moves on to end before ``high``; False once none does."""
    if of.entering < high:
        item.code = of.codes[of.entering]
        item.weight = 1 if of.weights == NULL else of.weights[of.entering]
        of.entering += 1
        return True
    return False


cdef check(
    const int32_t[::1] code,
    const int64_t[::1] weight,
    const int64_t[::1] low,
    const int64_t[::1] high,
    Py_ssize_t found,
    int64_t codes,
):
    """ValueError unless ranges are of items and ascend, and codes are below ``codes``."""
    cdef Py_ssize_t at, items = code.shape[0], ranges = low.shape[0]
    cdef bint right = high.shape[0] == ranges == found and (weight is None or weight.shape[0] == items)
    cdef int64_t before = 0, past = 0
    with nogil:
        for at in range(items):
            if not 0 <= code[at] < codes:
                right = False
        if right:
            for at in range(ranges):
                if not (before <= low[at] < high[at] <= items and past <= high[at]):
                    right = False
                    break
                before, past = low[at], high[at]
    if not right:
        raise ValueError("ranges must be of items, not empty and ascend, and codes must be below their number")


def select(
    const int32_t[::1] code not None,
    const int64_t[::1] weight,
    int64_t codes,
    const int64_t[::1] low not None,
    const int64_t[::1] high not None,
    const int64_t[::1] rank not None,
    int32_t[::1] found not None,
    int32_t[::1] following not None,
):
    """Set the code at a rank of each range, counted from 0, and the one at the next rank, or the last.

    An item stands for as many of its code as its weight says. From range to range the place in the codes moves by one
    code for each that enters or leaves, at most.
    """
    cdef Present present
    cdef Moving items = at_first(code, weight)
    cdef Item item
    cdef Py_ssize_t window, windows = low.shape[0]
    cdef int64_t place = 0, below = 0, total = 0, goal
    cdef bint room
    check(code, weight, low, high, found.shape[0], codes)
    if rank.shape[0] != windows or following.shape[0] != windows:
        raise ValueError("select: there must be a rank for each range")
    with nogil:
        room = begin(&present, codes)
        if room:
            for window in range(windows):
                while leaves(&items, low[window], &item):
                    drop(&present, item.code, item.weight)
                    total -= item.weight
                    if item.code < place:
                        below -= item.weight
                if items.leaving == items.entering:
                    place, below, total = code[items.entering], 0, 0
                while enters(&items, high[window], &item):
                    add(&present, item.code, item.weight)
                    total += item.weight
                    if item.code < place:
                        below += item.weight
                goal = rank[window]
                if not 0 <= goal < total:
                    found[window] = following[window] = -1
                    continue
                while below > goal:
                    place = previous_code(&present, place)
                    below -= present.counts[place]
                while below + present.counts[place] <= goal:
                    below += present.counts[place]
                    place = next_code(&present, place + 1)
                found[window] = following[window] = <int32_t>place
                if goal + 1 < total and below + present.counts[place] <= goal + 1:
                    following[window] = <int32_t>next_code(&present, place + 1)
        end(&present)
    if not room:
        raise MemoryError


def count_distinct(
    const int32_t[::1] code not None,
    int64_t codes,
    const int64_t[::1] low not None,
    const int64_t[::1] high not None,
    int64_t[::1] found not None,
):
    """Set the number of different codes of each range."""
    cdef int32_t* counts
    cdef Moving items = at_first(code, None)
    cdef Item item
    cdef Py_ssize_t window, windows = low.shape[0]
    cdef int64_t distinct = 0
    check(code, None, low, high, found.shape[0], codes)
    with nogil:
        counts = <int32_t*>calloc(codes + 1, sizeof(int32_t))
        if counts != NULL:
            for window in range(windows):
                while leaves(&items, low[window], &item):
                    counts[item.code] -= 1
                    distinct -= counts[item.code] == 0
                while enters(&items, high[window], &item):
                    distinct += counts[item.code] == 0
                    counts[item.code] += 1
                found[window] = distinct
        free(counts)
    if counts == NULL:
        raise MemoryError


def list_codes(
    const int32_t[::1] code not None,
    const int64_t[::1] weight,
    int64_t codes,
    const int64_t[::1] low not None,
    const int64_t[::1] high not None,
    const int64_t[::1] offsets not None,
    int32_t[::1] found not None,
    int64_t[::1] counts,
):
    """Set the least codes of each range, ascending, as many as there is room between its offsets; and their weights."""
    cdef Present present
    cdef Moving items = at_first(code, weight)
    cdef Item item
    cdef Py_ssize_t window, windows = low.shape[0], at = 0
    cdef int64_t place
    cdef bint room, right = True
    check(code, weight, low, high, offsets.shape[0] - 1, codes)
    if counts is not None and counts.shape[0] != found.shape[0]:
        raise ValueError("list_codes: there must be a count for each code")
    with nogil:
        room = begin(&present, codes)
        if room:
            for window in range(windows):
                while leaves(&items, low[window], &item):
                    drop(&present, item.code, item.weight)
                while enters(&items, high[window], &item):
                    add(&present, item.code, item.weight)
                place = -1
                if not 0 <= offsets[window] <= offsets[window + 1] <= found.shape[0]:
                    right = False
                    break
                for at in range(offsets[window], offsets[window + 1]):
                    place = next_code(&present, place + 1)
                    if place >= codes:
                        right = False
                        break
                    found[at] = <int32_t>place
                    if counts is not None:
                        counts[at] = present.counts[place]
                if not right:
                    break
        end(&present)
    if not room:
        raise MemoryError
    if not right:
        raise ValueError("list_codes: a range has fewer codes than it has room")


def most_frequent(
    const int32_t[::1] code not None,
    const int64_t[::1] weight,
    int64_t codes,
    const int64_t[::1] low not None,
    const int64_t[::1] high not None,
    int32_t[::1] found not None,
):
    """Set the code of each range whose items weigh most together, the least of several.

    The winners of pairs of codes, of pairs of these, and so on, are kept: a change is followed up as far as it matters.
    """
    cdef int64_t* counts
    cdef int32_t* winner
    cdef Moving items = at_first(code, weight)
    cdef Item item
    cdef Py_ssize_t window, windows = low.shape[0]
    cdef int64_t size = 1
    check(code, weight, low, high, found.shape[0], codes)
    while size < codes:
        size *= 2
    with nogil:
        counts = <int64_t*>calloc(size + 1, sizeof(int64_t))
        winner = <int32_t*>calloc(2 * size + 1, sizeof(int32_t))
        if counts != NULL and winner != NULL:
            begin_winners(winner, size)
            for window in range(windows):
                while leaves(&items, low[window], &item):
                    counts[item.code] -= item.weight
                    follow_up(counts, winner, size, item.code)
                while enters(&items, high[window], &item):
                    counts[item.code] += item.weight
                    follow_up(counts, winner, size, item.code)
                found[window] = winner[1]
        free(counts)
        free(winner)
    if counts == NULL or winner == NULL:
        raise MemoryError


cdef void begin_winners(int32_t* winner, int64_t size) noexcept nogil:
    """Of pairs of equal counts the lesser code wins."""
    cdef int64_t node
    for node in range(size):
        winner[size + node] = <int32_t>node
    for node in range(size - 1, 0, -1):
        winner[node] = winner[2 * node]


cdef inline void follow_up(int64_t* counts, int32_t* winner, int64_t size, int64_t code) noexcept nogil:
    """Let pairs compete again, from that of a code whose count changed up to where another one wins as before."""
    cdef int64_t node = (size + code) >> 1
    cdef int32_t left, right, won
    while node:
        left, right = winner[2 * node], winner[2 * node + 1]
        won = right if counts[right] > counts[left] else left
        if won == winner[node] and won != code:
            break
        winner[node] = won
        node >>= 1


cdef enum:
    DIGIT = 11
    DIGITS = 6
    PLACES = 1 << DIGIT


def order_values(const int64_t[::1] values not None, Py_ssize_t[::1] order not None):
    """Set the stable order of values: digit by digit, without those that all values have in common.

    D. E. Knuth, "The Art of Computer Programming", volume 3, 5.2.5: radix sort.
    """
    cdef Py_ssize_t row, rows = values.shape[0], at, before, each
    cdef Py_ssize_t* places
    cdef uint64_t* keys
    cdef uint64_t* other_keys
    cdef int32_t* numbers
    cdef int32_t* other_numbers
    cdef void* room
    cdef uint64_t key, all_keys
    cdef int64_t least, most
    cdef int digit, shift
    if order.shape[0] != rows or rows >= <int64_t>1 << 31:
        raise ValueError("order_values: there must be a place for each value, and less than 2**31 of them")
    if not rows:
        return
    with nogil:
        places = <Py_ssize_t*>calloc(DIGITS * PLACES, sizeof(Py_ssize_t))
        room = malloc(rows * 24)
        if places != NULL and room != NULL:
            keys = <uint64_t*>room
            other_keys = keys + rows
            numbers = <int32_t*>(other_keys + rows)
            other_numbers = numbers + rows
            least = most = values[0]
            for row in range(rows):
                least = min(least, values[row])
                most = max(most, values[row])
            all_keys = <uint64_t>most - <uint64_t>least
            for row in range(rows):
                key = <uint64_t>values[row] - <uint64_t>least
                keys[row], numbers[row] = key, <int32_t>row
                for digit in range(DIGITS):
                    places[digit * PLACES + ((key >> (digit * DIGIT)) & (PLACES - 1))] += 1
            for digit in range(DIGITS):
                shift = digit * DIGIT
                if not all_keys >> shift:
                    break
                before = 0
                for at in range(digit * PLACES, (digit + 1) * PLACES):
                    each = places[at]
                    places[at] = before
                    before += each
                for row in range(rows):
                    key = keys[row]
                    at = digit * PLACES + ((key >> shift) & (PLACES - 1))
                    other_keys[places[at]], other_numbers[places[at]] = key, numbers[row]
                    places[at] += 1
                keys, other_keys = other_keys, keys
                numbers, other_numbers = other_numbers, numbers
            for row in range(rows):
                order[row] = numbers[row]
        free(places)
        free(room)
    if places == NULL or room == NULL:
        raise MemoryError
