"""Figures of running streams for logs or dashboards."""
