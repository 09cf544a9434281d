"""Distinct values, quantiles, histograms: exact, or by sketches."""
