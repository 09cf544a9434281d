"""Means, variances, higher moments, covariances and trends."""
