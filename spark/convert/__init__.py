"""Types and tables between Arrow and Spark."""
