"""How the time line is cut into frames, and which frames make up a window."""
