"""A case: one job over some axis, who takes part, and how often each runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .contestants import PEERS, family
from .datasets import Data

OURS = ("framefold_local.local", "framefold_spark.parquet", "framefold_spark.dataframe")
STAGES = ("spark.two_stages", "duckdb.two_stages", "polars.two_stages")
COPIED = ("spark.copied", "duckdb.copied", "polars.every")
"""Two stages that leave out no window."""
WINDOWS = ("spark.window", "polars.dynamic")


@dataclass(frozen=True)
class Point:
    """One job of a case: where on the axis it is, its events, and what differs from the reference job."""

    x: float
    data: Data
    job: dict[str, Any] = field(default_factory=dict)
    label: str = ""


@dataclass(frozen=True)
class Case:
    """A job over some axis.

    Parameters
    ----------
    name, title
        A word, and a heading.
    axis
        What ``x`` of the points is; empty where there is no axis, and the points have labels.
    contenders
        Who takes part, as ``module.way``.
    about
        What there is to say of it.
    repeats
        The most timed rounds of each group of contenders.
    box
        Seconds for the case in a whole run of all of them: untimed first runs, then rounds as many as fit.
    patience
        A peer that took longer than this at a point takes no part in those after it.
    only
        Contenders that take part at some points only.
    across
        Points at which our ways are compared each with itself.
    memory
        Points at which it is measured how much memory our ways hold.
    """

    name: str
    title: str
    axis: str
    points: tuple[Point, ...]
    contenders: tuple[str, ...]
    about: str = ""
    repeats: int = 5
    box: float = 45.0
    patience: float = 20.0
    only: dict[str, tuple[float, ...]] = field(default_factory=dict)
    across: tuple[float, ...] = ()
    memory: tuple[float, ...] = ()

    def quick(self, spark: bool) -> Case:
        """The smallest points alone, contenders of our own environment alone, nothing but the first run."""
        points = self.points if not self.axis else self.points[:1]
        at_home = tuple(way for way in self.contenders if at_hand(way, spark))
        return replace(self, points=points, contenders=at_home, repeats=0)

    def taking_part(self, point: Point) -> list[str]:
        """Who takes part at a point."""
        return [way for way in self.contenders if point.x in self.only.get(way, (point.x,))]


def at_hand(way: str, spark: bool) -> bool:
    """Whether a contender needs no environment of its own, nor a Spark where there shall be none."""
    return not PEERS[way.split(".")[0]].extra and (spark or family(way) != "Spark")
