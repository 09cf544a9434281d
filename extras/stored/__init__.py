"""Partials at rest: tables of partial states, which grow by runs."""
