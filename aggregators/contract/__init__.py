"""What an operation is, and what the engine makes of it."""
