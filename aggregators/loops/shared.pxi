# What do the files of loops have in common? Refusals, room in memory, pairs of floats.

from libc.math cimport fabs
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>
    #include <string.h>
    /* With GCC the processor fetches what a later row needs, and arithmetic is compiled several times: for any
       processor, and for those with wider registers. The loader picks one. */
    #ifdef __GNUC__
    #define framefold_soon(place) __builtin_prefetch(place)
    #define framefold_unlikely(right) __builtin_expect(right, 0)
    #else
    #define framefold_soon(place) ((void) (place))
    #define framefold_unlikely(right) (right)
    #endif
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    #define FRAMEFOLD_WIDE __attribute__((target_clones("avx2", "default")))
    #define FRAMEFOLD_WIDEST __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
    #else
    #define FRAMEFOLD_WIDE
    #define FRAMEFOLD_WIDEST
    #endif
    typedef union { double number; int64_t bits; } framefold_float;
    /* A float and what rounding lost of it; as in double_double.py. */
    typedef struct { double high, low; } framefold_pair;
    static inline framefold_pair framefold_two_sum(double a, double b)
    {
        double total = a + b, virtual = total - a;
        framefold_pair sum = {total, (a - (total - virtual)) + (b - virtual)};
        return sum;
    }
    static inline framefold_pair framefold_add(framefold_pair a, framefold_pair b)
    {
        framefold_pair sum = framefold_two_sum(a.high, b.high);
        sum.low = sum.low + a.low + b.low;
        return sum;
    }
    static inline framefold_pair framefold_halves(double a)
    {
        double upper = 134217729.0 * a;
        upper = upper - (upper - a);
        framefold_pair halves = {upper, a - upper};
        return halves;
    }
    static inline framefold_pair framefold_product(double a, double b)
    {
        framefold_pair x = framefold_halves(a), y = framefold_halves(b), product = {a * b, 0.0};
        product.low = x.high * y.high - product.high + x.high * y.low + x.low * y.high + x.low * y.low;
        return product;
    }
    static inline framefold_pair framefold_quotient(framefold_pair a, double b)
    {
        double rounded = a.high / b;
        framefold_pair back = framefold_product(rounded, b);
        framefold_pair quotient = {rounded, (a.high - back.high - back.low + a.low) / b};
        return quotient;
    }
    """
    ctypedef union Float "framefold_float":
        double number
        int64_t bits
    ctypedef struct Pair "framefold_pair":
        double high, low
    void soon "framefold_soon" (const void* place) noexcept nogil
    bint unlikely "framefold_unlikely" (bint right) noexcept nogil
    Pair two_sum "framefold_two_sum" (double a, double b) noexcept nogil
    Pair product "framefold_product" (double a, double b) noexcept nogil

ctypedef fused word:
    int8_t
    int16_t
    int32_t
    int64_t

cdef const char* CODE = "code %d of a row"
cdef const char* GROUP = "group %d of a row"
cdef const char* PLACE = "place %d of a row"
cdef const char* ROW = "row %d"


cdef inline int64_t among(int64_t number, Py_ssize_t size, const char* words) except -1 nogil:
    """A number from 0 to below a size; IndexError where it is another."""
    if unlikely(<uint64_t>number >= <uint64_t>size):
        refuse(number, size, words)
    return number


cdef int refuse(int64_t number, Py_ssize_t size, const char* words) except -1 nogil:
    with gil:
        raise IndexError(f"{words.decode() % number} is not among {size}")


cdef inline int require(bint right, const char* sentence) except -1 nogil:
    """ValueError unless something is right."""
    if unlikely(not right):
        with gil:
            raise ValueError(sentence.decode())
    return 0


cdef require_lengths(columns, Py_ssize_t rows, str sentence):
    """ValueError unless all columns have a number of rows."""
    if any(len(column) != rows for column in columns):
        raise ValueError(sentence)


cdef void* memory(size_t bytes, bint zeroed=False) except NULL nogil:
    """Memory of a size; MemoryError where there is none."""
    cdef void* found = calloc(1, bytes + 8) if zeroed else malloc(bytes + 8)
    if found == NULL:
        with gil:
            raise MemoryError
    return found


cdef enum:
    DIGIT = 11


cdef uint64_t* sorted_by_bits(uint64_t* words, uint64_t* other, Py_ssize_t rows, int low, int high) noexcept nogil:
    """Words sorted by their bits from ``low`` to below ``high``, stably: digit by digit, in their room or the other.

    D. E. Knuth, "The Art of Computer Programming", volume 3, 5.2.5: radix sort.
    """
    cdef Py_ssize_t[1 << DIGIT] places
    cdef Py_ssize_t row, at, before, count
    cdef int digits = (high - low + DIGIT - 1) // DIGIT, digit, shift
    cdef int width = (high - low + digits - 1) // digits if digits else 0
    cdef uint64_t mask = (<uint64_t>1 << width) - 1
    for digit in range(digits):
        shift = low + digit * width
        memset(places, 0, sizeof(places))
        for row in range(rows):
            places[words[row] >> shift & mask] += 1
        before = 0
        for at in range(<Py_ssize_t>mask + 1):
            count = places[at]
            places[at] = before
            before += count
        for row in range(rows):
            at = words[row] >> shift & mask
            other[places[at]] = words[row]
            places[at] += 1
        words, other = other, words
    return words
