"""Extremes; boolean or bitwise reductions."""
