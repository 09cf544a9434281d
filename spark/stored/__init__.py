"""Partials at rest on Spark: read by tasks, and written by them."""
