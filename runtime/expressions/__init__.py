"""Expressions in SQL that mean the same on every engine: their text, their types, what pyarrow makes of them."""
