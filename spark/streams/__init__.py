"""Structured Streaming: shards of keys whose partials live in Spark's state store."""
