"""A query checked against the schema of its events, as data."""
