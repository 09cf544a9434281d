"""Questions about ranges of values, answered without a state for each range: order statistics, distinct values."""
