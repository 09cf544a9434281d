"""Distinct values, quantiles and histograms, exact and by sketches."""
