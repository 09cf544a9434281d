"""Windows over interval events."""
