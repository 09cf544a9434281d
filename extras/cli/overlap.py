"""Whether a result would lie among the events that it is made of, where the next run would read it."""

from __future__ import annotations

import fnmatch
import glob
import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cache
from urllib.parse import unquote, urlsplit

from ...aggregators.errors import QueryError
from .inputs import STANDARD, is_address

Place = tuple[str, ...]
"""A scheme and a host, empty on this machine, then the names of folders and of a file."""


def check_apart(out: str, events: Sequence[str]) -> None:
    """QueryError where a result would be one of the events, lie in a folder of them, or match their pattern.

    Parameters
    ----------
    out
        The path or address of the result.
    events
        Paths, addresses and patterns as they were given.
    """
    for place in places(out):
        for each in events:
            for read in places(each) if each != STANDARD else ():
                if is_among(read[: fixed(read)], place):
                    raise QueryError(f"--out {out!r} would overwrite the events in {each!r}")
                if is_among(place, read):
                    raise QueryError(
                        f"--out {out!r} is among the events of {each!r}, and the next run would read it as events; "
                        "expected a place of its own"
                    )


def places(path: str) -> Iterator[Place]:
    """A path as it is spelt, and as links lead.

    >>> list(places("s3a://bucket/trips/../a.csv?region=eu"))
    [('s3', 'bucket', 'a.csv')]
    """
    if is_address(path) and not path.startswith("file://"):
        parts = urlsplit(path)
        scheme = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}.get(parts.scheme, parts.scheme)
        host = parts.netloc if "@" in parts.netloc and scheme.startswith("abfs") else parts.netloc.rpartition("@")[2]
        several = re.sub(r"\{[^{}]*\}", "*", unquote(parts.path))  # {a,b} is a pattern for Spark
        yield (scheme, host, *_names(posixpath.normpath("/" + several)))
        return
    if path.startswith("file://"):
        path = unquote(path.removeprefix("file://").partition("?")[0])
    spelt = os.path.abspath(path)
    yield ("", "", *_names(spelt))
    names = _names(spelt)
    at = next((at for at, name in enumerate(names) if glob.has_magic(name)), len(names))
    if os.path.lexists(spelt):
        at = len(names)
    real = os.path.realpath(os.sep + os.sep.join(names[:at]))
    yield ("", "", *_names(real), *names[at:])


def is_among(place: Place, read: Place) -> bool:
    """Whether a place is one that is read, lies in it, or lies in what its pattern matches.

    >>> is_among(("", "", "in", "b.csv"), ("", "", "in")), is_among(("", "", "in", "b.csv"), ("", "", "in", "a*"))
    (True, False)
    """
    if not read:
        return True
    if read[0] == "**":
        return any(is_among(place[at:], read[1:]) for at in range(len(place) + 1))
    if not place:
        return False
    return (place[0] == read[0] or bool(_pattern(read[0]).match(place[0]))) and is_among(place[1:], read[1:])


def fixed(read: Place) -> int:
    """How many names of a place come before its first pattern."""
    return next((at for at, name in enumerate(read) if glob.has_magic(name)), len(read))


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(name) if glob.has_magic(name) else re.escape(name) + r"\Z")


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]
