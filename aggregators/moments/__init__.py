"""Means, variances, higher moments and what two columns have in common."""
