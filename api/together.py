"""Several inputs in the same windows."""

from __future__ import annotations

from dataclasses import replace

from . import engines
from .aggregators.errors import QueryError, shown
from .events import Events
from .query import Result
from .runtime.sources.co_inputs import Roles, check_roles

__all__ = ["together"]


def together(**inputs: Events[Result]) -> Events[Result]:
    """Several inputs in the same windows: co-aggregation, as Hazelcast Jet's ``aggregateOperation2`` and ``3``.

    Each column goes by its input's name, a dot, and its own name; an aggregate over it sees that input's events.
    Time and keys go by the names that the first input has for them. ``Count()`` counts the events of all inputs.

    Parameters
    ----------
    **inputs
        Events with equal numbers and types of keys, under the names they go by.

    Raises
    ------
    QueryError
        If they do not fit together.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> orders = ff.events(pa.table({"at": [1, 2, 9], "shop": ["a", "b", "a"], "sum": [10, 20, 30]}), "at", by="shop")
    >>> visits = ff.events(pa.table({"seen": [0, 3, 4], "place": ["a", "a", "b"]}), "seen", by="place")
    >>> both = ff.together(orders=orders, visits=visits).window(ff.tumbling(10))
    >>> result = both.aggregate(sold=ff.Sum("orders.sum"), visits=ff.Count("visits.seen"))
    >>> result.select(["shop", "sold", "visits"]).to_pydict()
    {'shop': ['a', 'b'], 'sold': [40, 20], 'visits': [2, 1]}
    """
    for name, each in inputs.items():
        if not isinstance(each, Events):
            raise QueryError(f"the input {name!r} is {shown(each)}; expected ff.events(...)")
    roles = {name: Roles(events.time, events.by, events.until) for name, events in inputs.items()}
    common = check_roles(roles)
    first = next(iter(inputs.values()))
    for name, events in inputs.items():
        for option in ("null_time", "longest"):
            if (found := getattr(events, option)) != getattr(first, option):
                raise QueryError(f"{option} of the input {name!r} is {found!r}; expected one for all inputs")
    engine = engines.together({name: events.engine.with_fields(events.names) for name, events in inputs.items()}, roles)
    ties = tuple(f"{name}.{column}" for name, events in inputs.items() for column in events.ties)
    return replace(first, engine=engine, time=common.time, by=common.by, until=common.until, ties=ties)
