"""The interface of operations, and operations bound to column types."""
