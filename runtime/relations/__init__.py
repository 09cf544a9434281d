"""Relations: rows that are valid from an instant on up to another; operators of the window algebra."""
