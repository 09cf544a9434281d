# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Loops over rows that numpy takes several passes for; where they are not compiled, numpy does the same."""


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
