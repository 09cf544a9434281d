"""Sums, counts, products and moving averages."""
