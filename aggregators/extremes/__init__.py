"""The least and the greatest, ranges, and bitwise and boolean reductions."""
