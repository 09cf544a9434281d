"""SPL's sliding windows, simulated arrival by arrival."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .windows_rows import Brute, Row, Window, changes, each_key, of_rows


class Policy(NamedTuple):
    """When to evict, or when to trigger: by "count", "time" or "delta" of this much."""

    kind: str
    by: float


def by_count(n: int) -> Policy:
    """R4 for eviction, R8 for a trigger."""
    return Policy("count", n)


def by_time(duration: int) -> Policy:
    """R5 for eviction, R9 for a trigger."""
    return Policy("time", duration)


def by_delta(column: str, delta: float) -> Policy:
    """R6 for eviction, R10 for a trigger."""
    assert column == "attr"
    return Policy("delta", delta)


@dataclass
class SplWindow:
    """The window of one key: what it holds now, and what it has sent."""

    rows: Sequence[Row]
    evict: Policy
    trigger: Policy
    min_fill: str
    empty: str
    held: list[int] = field(default_factory=list)
    sent: list[Window] = field(default_factory=list)
    inserted: int = 0
    since_trigger: int = 0
    has_evicted: bool = False
    reference: float | None = None

    def arrive(self, number: int) -> None:
        """R7: eviction, insertion and triggers one after the other, in SPL's order."""
        row = self.rows[number]
        self.advance(row.time)
        if self.trigger.kind == "delta":  # R10: before the row's own eviction and insertion
            if self.reference is None:
                self.reference = row.attr
            elif row.attr - self.reference > self.trigger.by:
                self.reference = row.attr
                self.fire(row.time)
        if self.evict.kind == "count" and len(self.held) == self.evict.by:  # R4: exactly the oldest
            self.drop(self.held[:1])
        if self.evict.kind == "delta":  # R6: by value alone, wherever they are
            self.drop([n for n in self.held if row.attr - self.rows[n].attr > self.evict.by])
        self.held.append(number)
        self.inserted += 1
        self.since_trigger += 1
        if self.trigger.kind == "count" and self.since_trigger == self.trigger.by:  # R8: the new row is in
            self.since_trigger = 0
            self.fire(row.time)

    def advance(self, now: int) -> None:
        """R5: what is older than t leaves, whether or not anything arrives; age t stays."""
        if self.evict.kind == "time":
            self.drop([n for n in self.held if now - self.rows[n].time > self.evict.by])

    def drop(self, numbers: Sequence[int]) -> None:
        if numbers:
            self.has_evicted = True
            self.held = [n for n in self.held if n not in numbers]

    @property
    def full(self) -> bool:
        """R11: by count at the nth insertion, by delta at the first eviction, by time from the first row."""
        if self.evict.kind == "count":
            return self.inserted >= self.evict.by
        return self.has_evicted or self.evict.kind == "time"

    def fire(self, at: int) -> None:
        """R3, R9: a result over what is held now; of nothing there is no row, unless asked for."""
        if self.min_fill == "full" and not self.full:
            return
        if self.held:
            self.sent.append(of_rows(self.rows, self.held, at))
        elif self.empty == "emit" and self.trigger.kind == "time":
            self.sent.append(Window(None, at, at, (), at))


def policy(
    *,
    evict: Policy,
    trigger: Policy | None = None,
    min_fill: str = "partial",
    until: int | None = None,
    emit: str = "every",
    empty: str = "skip",
) -> Brute:
    """R1, R2: an eviction and a trigger, independent of each other; the trigger is count(1) unless said."""
    when = trigger or by_count(1)

    def of_key(rows: Sequence[Row], own: list[int]) -> list[Window]:
        window = SplWindow(rows, evict, when, min_fill, empty)
        last = rows[own[-1]].time if until is None else until
        moments: list[tuple[int, int | None]] = [(rows[number].time, number) for number in own]
        if when.kind == "time":  # R9, choice 10: every t from the first multiple after the first event, up to `last`
            t = int(when.by)
            ticks = range((rows[own[0]].time // t + 1) * t, last + 1, t)
            moments = sorted([*moments, *((tick, None) for tick in ticks)], key=lambda each: (each[0], each[1] is None))
        for time, number in moments:
            if number is None:
                window.advance(time)
                window.fire(time)
            else:
                window.arrive(number)
        return changes(window.sent, emit)

    return each_key(of_key)
