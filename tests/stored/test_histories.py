"""Windows over a stored table stay those of one query over its events, whatever happens to the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .histories import OUTPUTS, History

pytestmark = pytest.mark.filterwarnings("ignore::framefold.GapsWarning")


@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 30))])
def test_a_history(kind: str, seed: int, tmp_path: Path) -> None:
    history, changes = History(tmp_path / "table", seed, kind), ["append"]
    for _ in range(9):
        changes.append(history.change())
        try:
            history.ask()
        except Exception as error:
            error.add_note(" ".join(changes))
            raise


@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_history_on_spark(kind: str, spark: Any, tmp_path: Path) -> None:
    history = History(tmp_path / "table", 0, kind, spark)
    for _ in range(4):
        history.change()
        history.ask()
