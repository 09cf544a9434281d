"""Queries over windows in SQL."""
