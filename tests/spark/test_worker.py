"""Workers are used for one task after another."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pyspark")

ASIDE = """
import gc
import weakref
from framefold.spark.session.worker import freeze_gc

class Knot:
    pass

gc.disable()
knot = Knot()
knot.itself = knot
gone = weakref.ref(knot)
del knot
freeze_gc()
kept = gc.get_freeze_count()
freeze_gc()
print(gone() is None, kept > 1000, gc.get_freeze_count() == kept)
later = Knot()
later.itself = later
gone = weakref.ref(later)
del later
gc.collect()
print(gone() is None)
"""


def test_what_stays_is_set_aside_once_and_garbage_is_found_before_and_after() -> None:
    done = subprocess.run([sys.executable, "-c", ASIDE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 4
