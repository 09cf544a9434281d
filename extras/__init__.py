"""Features above the core, a folder each."""
