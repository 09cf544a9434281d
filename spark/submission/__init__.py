"""A job handed to spark-submit, with what its driver and executors need."""
