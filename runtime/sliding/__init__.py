"""Partials and window ranges to one state a window."""
