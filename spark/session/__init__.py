"""The session: its start, its settings, its errors, the package on its executors."""
