"""Conversions from Arrow to Spark or back: types, names, tables."""
