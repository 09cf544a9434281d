"""Made-up taxi trips that come in as time goes by: a file each half second."""

from __future__ import annotations

import os
import threading
import time as clock
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..trips import ZONES, make_trips

SCHEMA = "pickup timestamp, zone string, speed double"
ZONES_SHOWN = ZONES[:8]
EVERY, RATE = 0.5, 200
"""The seconds between files, and the trips in a second."""

LATEST = 2.0
"""How many seconds after it began a trip is known at most."""


class TripsStream(threading.Thread):
    """Writes trips into a folder until it is stopped.

    Parameters
    ----------
    folder
        Where the files go.
    seed
        The same seed gives the same zones and speeds.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self.folder, self.seed = folder, seed
        self.stopped = threading.Event()

    def run(self) -> None:
        number = 0
        while not self.stopped.wait(EVERY):
            self.write(number)
            number += 1

    def stop(self) -> None:
        """Stop, once the file that is being written is there."""
        self.stopped.set()
        self.join()

    def write(self, number: int) -> None:
        """One file, with its trips up to now; it is there as a whole or not at all."""
        random = np.random.default_rng(self.seed + number)
        trips = make_trips(4 * int(RATE * EVERY), self.seed + number)
        trips = trips.filter(pa.compute.is_in(trips["zone"], pa.array(ZONES_SHOWN)))
        began = clock.time() - random.uniform(0, LATEST, len(trips))
        pickup = pa.array((began * 1e6).astype("int64")).cast(pa.timestamp("us", tz="UTC"))
        hidden = self.folder / f".{number}.parquet"
        pq.write_table(pa.table({"pickup": pickup, "zone": trips["zone"], "speed": trips["speed"]}), hidden)
        os.replace(hidden, self.folder / f"{number}.parquet")
