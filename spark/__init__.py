"""Moves tables between Spark and the runtime. Knows no arithmetic."""
