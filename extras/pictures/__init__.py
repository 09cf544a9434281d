"""Pictures of windows, charts of results."""
