"""Rows reduced to groups by numpy and by compiled loops."""
