"""How the axis is cut into frames, and which frames make up a window."""
