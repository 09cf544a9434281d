"""A day of made-up taxi trips, for the demo or for trying things out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_NAMES = """
Airport Central Harbour Old-Town Station University Museum-Mile Market Riverside Parliament Exchange
Theatre-Row Stadium Hospital Garden-City Canal-Side West-End East-Gate North-Park South-Bank
Mill-Hill Fairground Lakeside Docklands Brewery Tannery Orchard Lighthouse Cathedral Observatory
Bridgefoot Chapel-Hill Foundry Meadows Quarry Sandpit Vineyard Windmill Woodlands Zoo
"""

ZONES = _NAMES.split()
"""Where trips start, the busiest zone first."""

DAY = np.datetime64("2024-05-17T00:00:00", "us")

# How many trips start at each hour, and how fast traffic moves then, from midnight to midnight.
_DEMAND = [22, 15, 10, 7, 6, 9, 20, 45, 70, 62, 50, 48, 52, 54, 55, 60, 70, 85, 95, 90, 75, 62, 50, 36, 22]
_PACE = [31, 33, 34, 35, 34, 32, 27, 20, 16, 17, 20, 21, 20, 20, 19, 18, 16, 14, 14, 16, 20, 23, 26, 29, 31]


def make_trips(rows: int, seed: int = 7) -> pa.Table:
    """Taxi trips of one day: rush hours are busy and slow, some zones are busier than others, a few values are missing.

    Parameters
    ----------
    rows
        How many trips.
    seed
        The same seed gives the same trips.

    Returns
    -------
    pa.Table
        ``pickup`` (timestamp, wall-clock time, in no order), ``zone``, ``driver``, ``distance`` (km), ``speed`` (km/h,
        null where there was no signal), ``fare`` and ``tip`` (null where it was paid in cash).

    Examples
    --------
    >>> from framefold.extras.cli.trips import make_trips
    >>> make_trips(1000).column_names
    ['pickup', 'zone', 'driver', 'distance', 'speed', 'fare', 'tip']
    """
    random = np.random.default_rng(seed)
    seconds = _pickups(rows, random)
    popularity = 1 / np.arange(1, len(ZONES) + 1) ** 0.7
    zones = random.choice(len(ZONES), size=rows, p=popularity / popularity.sum()).astype(np.int32)
    distance = np.round(np.clip(random.lognormal(1.1, 0.6, rows), 0.4, 60), 2)
    pace = np.interp(seconds / 3600, np.arange(25), _PACE) * random.uniform(0.8, 1.25, len(ZONES))[zones]
    # Long trips take faster roads; the rest is luck with the lights.
    speed = np.round(np.clip(pace * (distance / 3) ** 0.15 * random.lognormal(0, 0.2, rows), 3, 110), 1)
    fare = np.round(3.5 + 1.6 * distance + 0.4 * 60 * distance / speed, 2)
    tip = np.round(fare * random.choice([0, 0.1, 0.15, 0.2], size=rows, p=[0.3, 0.3, 0.25, 0.15]), 2)
    return pa.table(
        {
            "pickup": pa.array(DAY + (seconds * 1e6).astype("timedelta64[us]")),
            "zone": pa.DictionaryArray.from_arrays(pa.array(zones), pa.array(ZONES)).cast(pa.string()),
            "driver": pa.array(random.integers(1, max(2, rows // 25), rows)),
            "distance": pa.array(distance),
            "speed": pa.array(speed, mask=random.random(rows) < 0.002),
            "fare": pa.array(fare),
            "tip": pa.array(tip, mask=random.random(rows) < 0.05),
        }
    )


def _pickups(rows: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Seconds of the day, drawn from the demand by the inverse of its distribution, a minute wide."""
    minutes = np.interp(np.arange(1441) / 60, np.arange(25), _DEMAND)
    total = np.concatenate([[0], np.cumsum(minutes[:-1])])
    return np.minimum(np.interp(random.random(rows), total / total[-1], np.arange(1441)) * 60, 86399.999999)
