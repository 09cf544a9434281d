"""Arrow columns as numbers: times as ticks, keys as codes."""
