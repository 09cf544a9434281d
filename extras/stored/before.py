"""Stored partials that a stream begins with: which they are, or why they do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...aggregators.errors import QueryError
from ...aggregators.states.arrays import Bools, Ints
from ...runtime.frames.windows import Windows
from ...runtime.plan.plan import PARAMETERS, Plan, fingerprint
from ...runtime.streams.history import History
from .asked import Asked, view_of
from .commits import Commit, StoredFile
from .layout import Layout, frames_of
from .stored_rows import StoredRows
from .table import Table, query_of


@dataclass(frozen=True)
class Before(Asked):
    """The windows of a stream that begins at a tick: what they need of the frames before it.

    Parameters
    ----------
    begin
        The tick, which is ``after`` as well, or some time later where closed windows take late events.
    """

    begin: int = 0

    def together(self, others: Ints, ticks: Ints) -> tuple[Ints, Bools]:
        """The ticks themselves, as a stream has its frames, and which are in any window and before it begins."""
        inside = self.plan.axis.frames(ticks, None)[1]
        before: Bools = ticks < self.begin
        return ticks, before if inside is None else before & inside


@dataclass(frozen=True)
class AtRest(History):
    """Stored partials as of a commit.

    Parameters
    ----------
    table, layout, commit
        Whose they are, how they lie, and which files they are.
    """

    table: Table
    layout: Layout
    commit: Commit

    def parts(self, plan: Plan, begin: int, lateness: int, *, begun: bool) -> StoredRows:
        asked, files = (None, []) if begun else self.before(begin, plan, lateness)
        return StoredRows.of(self.table, self.layout, files, plan, asked)

    def before(self, begin: int, plan: Plan, lateness: int) -> tuple[Before, list[StoredFile]]:
        """What a stream of a plan that begins at a tick needs of them, and the files that have it.

        Parameters
        ----------
        begin
            The tick.
        plan
            The stream's.
        lateness
            How long after they have closed its windows take late events, in ticks.

        Raises
        ------
        QueryError
            If they are of another query, or of other frames, or do not reach back far enough.
        """
        self._require_same(plan)
        if plan.in_rows:
            frames_of(plan, *self.table.bounds(self.layout, ()))
        layout, asked = self.layout, Before(plan, after=begin - lateness, begin=begin)
        if not layout.is_bound(begin):
            raise self._cut(begin, *layout.bounds(np.array([begin])))
        for name, tick in self.commit.since.items():
            if name in plan.outputs:
                self._require_kept(asked, tick, f"{name!r} is stored", "or .refresh(...) from there on")
        if self.commit.expired is not None:
            self._require_kept(asked, self.commit.expired, "the stored partials are kept", "or shorter windows")
        files = [each for each in self.table.needed(plan, self.commit.parts, asked) if each.first < begin]
        starts, ends = self.table.bounds(layout, files)
        if (cut := (starts < begin) & (ends > begin)).any():
            raise self._cut(begin, starts[cut], ends[cut])
        frames_of(plan, starts[starts < begin], ends[starts < begin])
        layout.columns(plan)  # an error where a state is not stored
        return asked, files

    def _require_same(self, plan: Plan) -> None:
        """QueryError where the outputs of a plan are not stored, as states of events of the same types."""
        there, asked = query_of(self.layout), fingerprint(plan)
        if other := [name for name in plan.outputs if name not in there["outputs"]]:
            raise QueryError(
                f"history has no output {other[0]!r}; found {[*there['outputs']]}, expected those of the stream"
            )
        types = [{field.name: str(field.type) for field in of.input_schema} for of in (self.layout.plan, plan)]
        more = [
            ("ties", there.get("ties", []), [*plan.ties]),
            *((name, types[0].get(name), types[1][name]) for name in plan.columns),
        ]
        require_states(there, asked, plan.outputs, more, "history has stored partials")

    def _require_kept(self, asked: Before, tick: int, found: str, instead: str) -> None:
        """QueryError where windows reach back before a tick."""
        for windows in asked.plan.axis.windows:
            if reaches(asked, windows, tick - 1):
                word = self.layout.plan.times.word
                raise QueryError(
                    f"{found} from {word(tick - self.layout.after)} on, and {windows.named} that end after until, "
                    f"{word(asked.begin)}, may reach further back; expected a later until=, {instead}"
                )

    def _cut(self, begin: int, starts: Ints, ends: Ints) -> QueryError:
        """The error for a tick inside of the first of some frames."""
        at, first, end = map(self.layout.plan.times.word, (begin, int(starts[0]), int(ends[0])))
        return QueryError(
            f"until is {at}, inside of the stored frame of times from {first} up to {end}; expected one of these"
        )


def require_states(
    there: Mapping[str, Any],
    asked: Mapping[str, Any],
    outputs: Iterable[str],
    more: Iterable[tuple[str, Any, Any]],
    found: str,
) -> None:
    """QueryError where the states of some outputs are kept otherwise than they are asked for, or something more is.

    Parameters
    ----------
    there, asked
        The fingerprint of what is kept, and that of a query.
    outputs
        Those that both have.
    more
        Names of what else has to be the same, as it is kept, as it is asked for.
    found
        What is kept, in words.
    """
    names = [*outputs]
    pairs = [
        *((name, there[name], asked[name]) for name in ("time", "by")),
        *more,
        *((name, there["outputs"][name], asked["outputs"][name]) for name in names),
        *((f"states of {name}", there["states"][name], asked["states"][name]) for name in names),
        *((f"parameters of {name}", there[PARAMETERS][name], asked[PARAMETERS][name]) for name in names),
    ]
    if differs := next((f"{name} {old!r} became {new!r}" for name, old, new in pairs if old != new), None):
        raise QueryError(f"{found} of another query: {differs}; expected the same")


def reaches(asked: Before, windows: Windows, tick: int) -> bool:
    """Whether windows that are asked for may take in a tick."""
    if (numbers := asked.numbers(windows)) is None:
        return True
    ids = windows.window_ids(view_of(windows, np.array([tick])))
    return ids is None or bool(ids.last[0] >= numbers[0])
