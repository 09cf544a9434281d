"""Spark for the runtime: sessions, tables, tasks. Knows no arithmetic."""
