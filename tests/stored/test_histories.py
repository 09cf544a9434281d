"""Windows over a stored table stay those of one query over its events, whatever happens to the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .histories import OUTPUTS, History

pytestmark = [
    pytest.mark.filterwarnings("ignore::framefold.GapsWarning"),
    pytest.mark.filterwarnings("ignore::framefold.DroppedEventsWarning"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 12))])
def test_a_history(kind: str, seed: int, tmp_path: Path) -> None:
    history, changes = History(tmp_path / "table", seed, kind), ["append"]
    for _ in range(9):
        changes.append(history.change())
        try:
            history.ask()
        except Exception as error:
            error.add_note(" ".join(changes))
            raise


@pytest.mark.parametrize(("kind", "few"), [("any", None), ("exact", None), ("ordered", None), ("any", 0)])
def test_a_history_on_spark(kind: str, few: int | None, spark: Any, tmp_path: Path, limit: Callable[..., None]) -> None:
    """Written and read by this process and by tasks in turn; the last time by tasks alone."""
    if few is not None:
        limit(few_events=few, stored_driver_partials=0)
    history = History(tmp_path / "table", 1 if few is None else 2, kind, spark)
    for _ in range(4):
        history.change()
        history.ask()
