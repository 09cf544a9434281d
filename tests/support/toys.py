"""Small operations as a user writes them, for tests that need one of a kind."""

from __future__ import annotations

from typing import Any

import framefold as ff


class Joined(ff.PythonOperation):
    """The values as text, one after the other: it depends on their order, and has no inverse."""

    result = "string"

    def create(self) -> str:
        return ""

    def accumulate(self, state: str, value: Any) -> str:
        return state + str(value)

    def combine(self, a: str, b: str) -> str:
        return a + b


class Longest(ff.PythonOperation):
    """The longest text, the earliest of several."""

    result = "string"

    def create(self) -> str:
        return ""

    def accumulate(self, state: str, value: str) -> str:
        return self.combine(state, value)

    def combine(self, a: str, b: str) -> str:
        return b if len(b) > len(a) else a


class Items(ff.PythonOperation):
    """The values in a list, in their order."""

    result: Any = "list<int64>"

    def create(self) -> Any:
        return ()

    def accumulate(self, state: Any, value: Any) -> Any:
        return (*state, value)

    def combine(self, a: Any, b: Any) -> Any:
        return a + b

    def finish(self, state: Any) -> Any:
        return list(state)


class Total(ff.AggregateOperation):
    """An int64 sum."""

    state = {"total": "int64"}

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"total": frames.sum(x)}

    def combine(self, a: Any, b: Any) -> Any:
        return {"total": a["total"] + b["total"]}

    def finish(self, a: Any) -> Any:
        return a["total"]
