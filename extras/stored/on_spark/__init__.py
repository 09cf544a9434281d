"""Partials at rest on Spark: read by tasks, written by tasks."""
