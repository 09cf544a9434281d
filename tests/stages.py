"""The stages of a plan on tables, for tests that run one by itself."""

from __future__ import annotations

import pyarrow as pa

from framefold.runtime import pipeline
from framefold.runtime.partials.merge import Partials
from framefold.runtime.plan.plan import Plan


def accumulate(plan: Plan, events: pa.Table, batch_rank: int) -> pa.Table:
    return pipeline.accumulate(plan, events, batch_rank).table


def merge(plan: Plan, partials: pa.Table) -> pa.Table:
    return pipeline.merge(plan, Partials(partials)).table


def results(plan: Plan, partials: pa.Table) -> pa.Table:
    return pa.concat_tables(pipeline.results(plan, pipeline.merge(plan, Partials(partials))))
