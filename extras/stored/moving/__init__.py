"""The state of a stream, moved to another query."""
