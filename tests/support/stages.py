"""The stages of a plan on tables, for tests that run one by itself."""

from __future__ import annotations

import pyarrow as pa

from framefold.runtime.accumulate import accumulate as accumulating
from framefold.runtime.partials import merge as merging
from framefold.runtime.partials.merge import Partials
from framefold.runtime.plan.plan import Plan
from framefold.runtime.results import finish


def accumulate(plan: Plan, events: pa.Table, batch_rank: int) -> pa.Table:
    return accumulating.accumulate(plan, events, batch_rank).table


def merge(plan: Plan, partials: pa.Table) -> pa.Table:
    return merging.merge(plan, Partials(partials)).table


def results(plan: Plan, partials: pa.Table) -> pa.Table:
    return pa.concat_tables(finish.results(plan, merging.merge(plan, Partials(partials))))
