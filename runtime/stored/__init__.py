"""Partials at rest: written once a run of events, read by any windows whose frames theirs make up."""
