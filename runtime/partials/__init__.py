"""One state for each key in each frame, as an Arrow table."""
