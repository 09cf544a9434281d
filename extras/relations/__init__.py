"""Relations of rows that are valid from an instant on up to another."""
