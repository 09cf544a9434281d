"""The laws of aggregation, and how an operation is checked for them."""
