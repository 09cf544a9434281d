"""A query on Spark."""
