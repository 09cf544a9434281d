"""What is asked: a query checked against the schema of its events."""
