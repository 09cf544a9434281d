"""Contenders: a module each, imported by :mod:`benchmarks.worker` in a process and an environment of its own."""
