"""The state of each key and frame, as an Arrow table."""
