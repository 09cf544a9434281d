"""The laws of aggregation."""
