"""The interface of operations."""
