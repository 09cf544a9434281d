"""Relations: rows that are valid from an instant on up to another, and the operators of the window algebra."""
