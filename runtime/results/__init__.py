"""Merged partials to results."""
