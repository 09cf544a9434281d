"""Relations on Spark: the operators of the window algebra as lazy DataFrames."""
