"""Which tests does a share of a run contain?

A run that has no time for all tests takes one in n of them. Which one follows from the commit: the same commit runs the
same tests, and n commits can see all of them.
"""

from __future__ import annotations

import os
import subprocess
import zlib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def salt_of_run() -> str:
    """Return the salt: ``FRAMEFOLD_SALT``, or else the commit, or "none" where the sources have no history."""
    if salt := os.environ.get("FRAMEFOLD_SALT"):
        return salt
    try:
        return subprocess.run(
            ("git", "rev-parse", "HEAD"), cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"


def number_of(salt: str) -> int:
    """Return a number of 32 bits that follows from a salt.

    A salt of digits alone is its own number, so that whoever counts from 0 on meets every share.
    """
    return int(salt) if salt.isdecimal() else zlib.crc32(salt.encode())


def in_share(nodeid: str, share: int, salt: str) -> bool:
    """Return whether one test in ``share`` is this one, in runs with this salt.

    >>> [in_share("tests/test_a.py::test_b", 3, salt) for salt in ("0", "1", "2", "3")]
    [True, False, False, True]
    """
    return (zlib.crc32(nodeid.encode()) + number_of(salt)) % share == 0


if __name__ == "__main__":
    print(number_of(salt_of_run()))
