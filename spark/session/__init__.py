"""The session: how it starts, what it is told, and what goes to its executors."""
