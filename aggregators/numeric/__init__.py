"""Rows reduced to groups."""
