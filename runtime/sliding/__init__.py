"""Partials to one state a window."""
