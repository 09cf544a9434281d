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
    """Add the part of each value above the cut and the rest of it to those of its group, and count its row."""
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


def add_deviations(
    const double[::1] values not None, const Py_ssize_t[::1] index not None, double cut, double[:, ::1] sums not None
):
    """Add the deviation of each value from the first one of its group, and its square, to the group's.

    Both are of the part above the cut. Columns of ``sums``: how many rows, the part of the first value, and the sums
    of the parts' deviations, of the rests, of the deviations' squares, and of what these lack for the rests.
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
