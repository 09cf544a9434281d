"""Means, variances, higher moments, covariances, trends."""
