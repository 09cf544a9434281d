"""Columns of states: the types a field can have."""
