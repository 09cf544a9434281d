"""How the axis is cut into frames; which frames make up a window."""
