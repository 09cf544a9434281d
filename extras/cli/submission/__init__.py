"""A job handed to spark-submit, with what its driver or executors need."""
