"""Files that tasks read by themselves."""
