"""What shards are called, so that Spark's own hash deals them evenly to the partitions of its state."""

from __future__ import annotations

SEED = 42
"""Of Spark's hash partitioning."""


def labels(shards: int, partitions: int) -> tuple[int, ...]:
    """A number for each shard; no partition has more than one shard more than another.

    Examples
    --------
    >>> [murmur3(label) % 4 for label in labels(8, 4)]
    [0, 1, 2, 3, 0, 1, 2, 3]
    """
    most = -(-shards // partitions)
    places: dict[int, list[int]] = {partition: [] for partition in range(partitions)}
    open_places, number = partitions, 0
    while open_places:
        place = places[murmur3(number) % partitions]
        if len(place) < most:
            place.append(number)
            open_places -= len(place) == most
        number += 1
    return tuple(places[shard % partitions][shard // partitions] for shard in range(shards))


def murmur3(number: int) -> int:
    """Spark's hash of an int (MurmurHash3, 32 bits), as a signed number.

    >>> murmur3(1)  # select hash(1)
    -559580957
    """
    mask = 0xFFFFFFFF

    def rotated(bits: int, by: int) -> int:
        return (bits << by | bits >> 32 - by) & mask

    k = rotated(number * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    h = rotated(SEED ^ k, 13) * 5 + 0xE6546B64 & mask
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h
