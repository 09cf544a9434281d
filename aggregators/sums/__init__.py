"""Sums, counts, products, moving averages."""
