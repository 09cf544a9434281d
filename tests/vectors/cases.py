"""The cases of `vectors/`, brought to the API: those that a batch or a stream runs, and what the others wait for."""

from __future__ import annotations

from . import cases_given as vector_cases_given
from . import cases_grid as vector_cases_grid
from . import cases_rows as vector_cases_rows
from .cases_model import load

CASES = [*vector_cases_grid.cases(), *vector_cases_rows.cases(), *vector_cases_given.cases()]

# These are tests of their own in test_vectors.py: they take two queries, or end in an error, or are about cost. The
# last four are about operators between windows: tests/rules/test_relations.py has them.
ON_THEIR_OWN = {
    "SI-07", "HZ-12", "SPL-19", "PSI-DYN-11", "PS-24", "PS-27", "TR-CLIP", "PS-15", "PS-19", "PS-20", "PS-28",
}  # fmt: skip

# These are about watermarks and late events: tests of their own in test_vectors_streams.py. Three of them run as
# batches too, as far as a batch has what they ask for.
ON_STREAMS = {"HZ06", "SPL-20", "FL02", "FL06", "SI-08"}

# What nothing can run yet, by what it waits for.
AWAITED: dict[str, list[str]] = {}


def all_ids() -> list[str]:
    """The names of all cases of both files."""
    return [vector["id"] for name in ("hazelcast_flink.json", "semantics.json") for vector in load(name)]
