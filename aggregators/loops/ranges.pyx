# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Sweeps over ranges of items: those that enter a range are counted, those that leave it are counted off again.

Both ends of the ranges ascend, so that an item enters once and leaves once, however far ranges overlap. Items are codes,
the ranks of their values. The codes that are in the range are bits, 64 of a word, with a bit above for each word that is
not 0, and so on: the next code is found in as many steps as there are levels (P. van Emde Boas, "Preserving order in a
forest in less than logarithmic time", 1975, with words for its recursion).
"""

include "shared.pxi"

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
    # The weight of each code in the range, NULL where each code is of one item of weight 1; the bits of those that are,
    # level by level; the levels, and the codes.
    int64_t* counts
    uint64_t* words
    uint64_t* level[LEVELS]
    int levels
    int64_t codes


cdef struct Moving:
    # A range of items that moves forward: those from ``leaving`` up to ``entering`` are in it.
    const int32_t* codes
    const int64_t* weights
    Py_ssize_t leaving, entering


cdef int begin(Present* of, const Moving* items, Py_ssize_t count, int64_t codes) except -1 nogil:
    """Make room for the codes of items, from 0 to below ``codes``."""
    cdef int64_t size = codes, total = 0
    cdef int64_t[LEVELS] start
    cdef int at
    cdef Py_ssize_t item
    cdef uint64_t bit, again = 0
    of.levels, of.codes = 0, codes
    while True:
        size = (size + 63) >> 6
        start[of.levels] = total
        total += size + 1
        of.levels += 1
        if size <= 1:
            break
    of.words = <uint64_t*>memory(total * sizeof(uint64_t), zeroed=True)
    for at in range(of.levels):
        of.level[at] = of.words + start[at]
    if items.weights == NULL and count == codes:
        for item in range(count):
            bit = <uint64_t>1 << (items.codes[item] & 63)
            again |= of.words[items.codes[item] >> 6] & bit
            of.words[items.codes[item] >> 6] |= bit
        memset(of.words, 0, total * sizeof(uint64_t))
        if not again:
            return 0
    of.counts = <int64_t*>memory((codes + 1) * sizeof(int64_t), zeroed=True)
    return 0


cdef void end(Present* of) noexcept nogil:
    free(of.counts)
    free(of.words)


cdef inline int64_t weight_of(Present* of, int64_t code) noexcept nogil:
    """The weight of a code in the range."""
    return <int64_t>(of.level[0][code >> 6] >> (code & 63) & 1) if of.counts == NULL else of.counts[code]


cdef inline void add(Present* of, int64_t code, int64_t weight) noexcept nogil:
    """Count a code that enters; all levels are set, which takes less than to ask whether they are."""
    cdef int at
    cdef int64_t place = code
    if of.counts != NULL:
        of.counts[code] += weight
        if of.counts[code] != weight:
            return
    for at in range(of.levels):
        of.level[at][place >> 6] |= <uint64_t>1 << (place & 63)
        place >>= 6


cdef inline void drop(Present* of, int64_t code, int64_t weight) noexcept nogil:
    """Count off a code that leaves; a level's bit goes where no code below it is left."""
    cdef int at
    cdef int64_t place = code
    cdef uint64_t gone = 1
    if of.counts != NULL:
        of.counts[code] -= weight
        if of.counts[code]:
            return
    for at in range(of.levels):
        of.level[at][place >> 6] &= ~(gone << (place & 63))
        gone = of.level[at][place >> 6] == 0
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
    cdef int64_t before = 0, past = 0
    cdef const char* wrong = "ranges must be of items, not empty and ascend, and codes must be below their number"
    require(high.shape[0] == ranges == found and (weight is None or weight.shape[0] == items), wrong)
    with nogil:
        for at in range(items):
            require(0 <= code[at] < codes, wrong)
        for at in range(ranges):
            require(before <= low[at] < high[at] <= items and past <= high[at], wrong)
            before, past = low[at], high[at]


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
    check(code, weight, low, high, found.shape[0], codes)
    if rank.shape[0] != windows or following.shape[0] != windows:
        raise ValueError("select: there must be a rank for each range")
    present.counts, present.words = NULL, NULL
    try:
        with nogil:
            begin(&present, &items, code.shape[0], codes)
            for window in range(windows):
                while leaves(&items, low[window], &item):
                    drop(&present, item.code, item.weight)
                    total -= item.weight
                    below -= item.weight * (item.code < place)
                if items.leaving == items.entering:
                    place, below, total = code[items.entering], 0, 0
                while enters(&items, high[window], &item):
                    add(&present, item.code, item.weight)
                    total += item.weight
                    below += item.weight * (item.code < place)
                goal = rank[window]
                if not 0 <= goal < total:
                    found[window] = following[window] = -1
                    continue
                while below > goal:
                    place = previous_code(&present, place)
                    below -= weight_of(&present, place)
                while below + weight_of(&present, place) <= goal:
                    below += weight_of(&present, place)
                    place = next_code(&present, place + 1)
                found[window] = following[window] = <int32_t>place
                if goal + 1 < total and below + weight_of(&present, place) <= goal + 1:
                    following[window] = <int32_t>next_code(&present, place + 1)
    finally:
        end(&present)


def count_distinct(
    const int32_t[::1] code not None,
    int64_t codes,
    const int64_t[::1] low not None,
    const int64_t[::1] high not None,
    int64_t[::1] found not None,
):
    """Set the number of different codes of each range."""
    cdef Moving items = at_first(code, None)
    cdef Item item
    cdef Py_ssize_t window, windows = low.shape[0]
    cdef int64_t distinct = 0
    check(code, None, low, high, found.shape[0], codes)
    cdef int32_t* counts = <int32_t*>memory((codes + 1) * sizeof(int32_t), zeroed=True)
    with nogil:
        for window in range(windows):
            while leaves(&items, low[window], &item):
                counts[item.code] -= 1
                distinct -= counts[item.code] == 0
            while enters(&items, high[window], &item):
                distinct += counts[item.code] == 0
                counts[item.code] += 1
            found[window] = distinct
    free(counts)


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
    cdef Py_ssize_t window, windows = low.shape[0], at
    cdef int64_t place
    cdef const char* wrong = "list_codes: a range has fewer codes than it has room"
    check(code, weight, low, high, offsets.shape[0] - 1, codes)
    if counts is not None and counts.shape[0] != found.shape[0]:
        raise ValueError("list_codes: there must be a count for each code")
    present.counts, present.words = NULL, NULL
    try:
        with nogil:
            begin(&present, &items, code.shape[0], codes)
            for window in range(windows):
                while leaves(&items, low[window], &item):
                    drop(&present, item.code, item.weight)
                while enters(&items, high[window], &item):
                    add(&present, item.code, item.weight)
                place = -1
                require(0 <= offsets[window] <= offsets[window + 1] <= found.shape[0], wrong)
                for at in range(offsets[window], offsets[window + 1]):
                    place = next_code(&present, place + 1)
                    require(place < codes, wrong)
                    found[at] = <int32_t>place
                    if counts is not None:
                        counts[at] = weight_of(&present, place)
    finally:
        end(&present)


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
    They are those of a group of ranges that have no item in common with others, so that few codes have few pairs.
    """
    cdef Moving items = at_first(code, weight)
    cdef Item item
    cdef Py_ssize_t window, windows = low.shape[0], group = 0, at
    cdef int64_t size = 1, past, least = 0, most
    check(code, weight, low, high, found.shape[0], codes)
    while size < codes:
        size *= 2
    cdef int64_t* counts = <int64_t*>memory((size + 1) * sizeof(int64_t) + (2 * size + 1) * sizeof(int32_t))
    cdef int32_t* winner = <int32_t*>(counts + size + 1)
    with nogil:
        for window in range(windows):
            if window == group:
                past = low[window] + 1
                while group < windows and low[group] < past:
                    past = high[group]
                    group += 1
                least = most = code[low[window]]
                for at in range(low[window], past):
                    least = min(least, <int64_t>code[at])
                    most = max(most, <int64_t>code[at])
                size = 1
                while size <= most - least:
                    size *= 2
                memset(counts, 0, (size + 1) * sizeof(int64_t))
                begin_winners(winner, size)
                items.leaving = items.entering = low[window]
            while leaves(&items, low[window], &item):
                counts[item.code - least] -= item.weight
                follow_up(counts, winner, size, item.code - least)
            while enters(&items, high[window], &item):
                counts[item.code - least] += item.weight
                follow_up(counts, winner, size, item.code - least)
            found[window] = <int32_t>(least + winner[1])
    free(counts)


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


def keys_of_floats(const double[::1] values not None, int64_t[::1] keys not None):
    """Set integers in the order of floats: NaN is one, above all others, and -0.0 is 0.0."""
    cdef Py_ssize_t row, rows = values.shape[0]
    cdef Float each
    if keys.shape[0] != rows:
        raise ValueError("keys_of_floats: there must be a key for each value")
    with nogil:
        for row in range(rows):
            each.number = values[row] + 0.0
            keys[row] = each.bits ^ ((each.bits >> 63) & NAN_KEY) if each.number == each.number else NAN_KEY


def floats_of_keys(const int64_t[::1] keys not None, double[::1] values not None):
    """Set the floats of such integers."""
    cdef Py_ssize_t row, rows = keys.shape[0]
    cdef Float each
    if values.shape[0] != rows:
        raise ValueError("floats_of_keys: there must be a value for each key")
    with nogil:
        for row in range(rows):
            each.bits = keys[row] ^ ((keys[row] >> 63) & NAN_KEY)
            if each.number != each.number:
                each.bits = NAN_BITS
            values[row] = each.number + 0.0


def items_of_ranges(
    const word[::1] values not None,
    const int64_t[::1] edges not None,
    bint last,
    const int64_t[::1] offsets not None,
    word[::1] found not None,
):
    """Set some values from where each range begins, or before where it ends if ``last``, as its offsets have room."""
    cdef Py_ssize_t window, windows = edges.shape[0], at, size = values.shape[0], room = found.shape[0]
    cdef int64_t begin, end, start
    cdef const char* wrong = "items_of_ranges: ranges must be of the values, and offsets of what is found"
    cdef const word* here
    cdef word* there
    require(offsets.shape[0] == windows + 1, wrong)
    with nogil:
        end = offsets[0]
        for window in range(windows):
            begin, end = end, offsets[window + 1]
            start = edges[window] - (end - begin) if last else edges[window]
            require(0 <= begin <= end <= room and 0 <= start <= size - (end - begin), wrong)
            if begin == end:
                continue
            here, there, at = &values[start], &found[begin], 0
            if begin + 4 <= room and start + 4 <= size:  # those beyond the last one are set again
                there[0], there[1], there[2], there[3] = here[0], here[1], here[2], here[3]
                at = 4
            while at < end - begin:
                there[at] = here[at]
                at += 1


cdef int64_t NAN_KEY = (<uint64_t>1 << 63) - 1, NAN_BITS = <int64_t>0x7FF8 << 48

cdef enum:
    APART = 16  # bits by which values are sorted first, beyond those that number the rows
    MOST_MOVES = 4  # of each value by insertion
    FEW = 48  # values that are sorted by insertion


def order_values(const int64_t[::1] values not None, Py_ssize_t[::1] order not None):
    """Set the stable order of values."""
    cdef Py_ssize_t rows = values.shape[0]
    if order.shape[0] != rows or rows >= <int64_t>1 << 31:
        raise ValueError("order_values: there must be a place for each value, and less than 2**31 of them")
    if rows:
        with nogil:
            order_run(&values[0], 0, rows, &order[0])


def code_groups(
    const int64_t[::1] values not None,
    const int64_t[::1] starts not None,
    bint distinct,
    int32_t[::1] code not None,
    Py_ssize_t[::1] first not None,
    Py_ssize_t[::1] order not None,
):
    """Number the values of each group in their order, from group to group: the number of codes.

    ``starts`` has where each group begins, the first with 0. Equal values of a group have one code if ``distinct``. Set
    the code of each row, the first row of each code, and the rows by code, those of one code as they are.
    """
    cdef Py_ssize_t group, groups = starts.shape[0], rows = values.shape[0], start = 0, end, at, row, number = -1
    cdef int64_t value, before = 0
    if not code.shape[0] == first.shape[0] == order.shape[0] == rows or rows >= <int64_t>1 << 31:
        raise ValueError("code_groups: there must be a place for each value, and less than 2**31 of them")
    if (starts[0] if groups else rows) != 0:
        raise ValueError("code_groups: the first group must begin with the first value")
    with nogil:
        for group in range(groups):
            end = starts[group + 1] if group + 1 < groups else rows
            require(start <= end <= rows, "code_groups: groups must ascend")
            order_run(&values[0], start, end, &order[start])
            for at in range(start, end):
                row = order[at]
                value = values[row]
                if not distinct or at == start or value != before:
                    number += 1
                    first[number] = row
                before = value
                code[row] = <int32_t>number
            start = end
    return number + 1


cdef int order_run(const int64_t* values, Py_ssize_t start, Py_ssize_t end, Py_ssize_t* order) except -1 nogil:
    """Set the stable order of some rows by their values."""
    cdef Py_ssize_t row, at
    cdef int64_t value
    if end - start > FEW:
        return order_digits(values, start, end, order)
    for row in range(start, end):
        value, at = values[row], row - start
        while at and values[order[at - 1]] > value:
            order[at] = order[at - 1]
            at -= 1
        order[at] = row
    return 0


cdef struct Words:
    # A part of a key above the number of its row, as they are sorted so far; room for as many; how many bits a number has.
    uint64_t* words
    uint64_t* other
    int number_bits


cdef int order_digits(const int64_t* values, Py_ssize_t start, Py_ssize_t end, Py_ssize_t* order) except -1 nogil:
    """Set the stable order of some rows by their values.

    By as many of the upper bits as tell most rows apart, and what is left by insertion; where that takes long, by all bits.
    D. E. Knuth, "The Art of Computer Programming", volume 3, 5.2.5: radix sort.
    """
    cdef Words of
    cdef Py_ssize_t row, rows = end - start
    cdef int64_t least = values[start], most = least
    cdef uint64_t* room
    cdef uint64_t mask
    cdef int bits = 0, held, upper
    for row in range(start, end):
        least = min(least, values[row])
        most = max(most, values[row])
    if most != least:
        bits = highest(<uint64_t>most - <uint64_t>least) + 1
    of.number_bits = highest(<uint64_t>rows) + 1
    mask = (<uint64_t>1 << of.number_bits) - 1
    held = min(bits, 64 - of.number_bits)
    upper = min(held, (of.number_bits + APART + DIGIT - 1) // DIGIT * DIGIT)
    of.words = room = <uint64_t*>memory(2 * rows * sizeof(uint64_t))
    of.other = of.words + rows
    for row in range(rows):
        of.words[row] = (key_of(values[start + row], least) >> (bits - held)) << of.number_bits | <uint64_t>row
    sort_by_digits(&of, rows, held - upper, held)
    if upper < bits and not insert_rest(&of, values + start, rows):
        for row in range(rows):  # those of a part that is shifted out are 0
            of.words[row] = key_of(values[start + row], least) << of.number_bits | <uint64_t>row
        sort_by_digits(&of, rows, 0, held)
        for row in range(rows):
            of.words[row] &= mask
            if held < bits:
                of.words[row] |= (key_of(values[start + <Py_ssize_t>of.words[row]], least) >> held) << of.number_bits
        sort_by_digits(&of, rows, 0, bits - held)
    for row in range(rows):
        order[row] = start + <Py_ssize_t>(of.words[row] & mask)
    free(room)
    return 0


cdef inline uint64_t key_of(int64_t value, int64_t least) noexcept nogil:
    """How far a value is above the least one."""
    return <uint64_t>value - <uint64_t>least


cdef bint insert_rest(Words* of, const int64_t* values, Py_ssize_t rows) noexcept nogil:
    """Sort by insertion what is sorted by upper bits; False, with nothing lost, where that takes long."""
    cdef Py_ssize_t row, at, moves = 0, most = MOST_MOVES * rows
    cdef uint64_t word, before, mask = (<uint64_t>1 << of.number_bits) - 1
    for row in range(1, rows):
        word, at = of.words[row], row
        while at:
            before = of.words[at - 1]
            if before >> of.number_bits < word >> of.number_bits:
                break
            if before >> of.number_bits == word >> of.number_bits and values[before & mask] <= values[word & mask]:
                break
            of.words[at] = before
            at -= 1
            moves += 1
        of.words[at] = word
        if moves > most:
            return False
    return True


cdef void sort_by_digits(Words* of, Py_ssize_t rows, int low, int high) noexcept nogil:
    """Sort by the bits of keys from ``low`` to below ``high``; those equal in them stay as they are."""
    if sorted_by_bits(of.words, of.other, rows, low + of.number_bits, high + of.number_bits) != of.words:
        of.words, of.other = of.other, of.words
