"""Windows at a constant step, in words."""

from __future__ import annotations

from collections.abc import Callable

from .steps import Steps


def describe_gaps(size: int, every: int, words: Callable[[int], str], *, even: bool = True) -> str | None:
    """The part of the axis in no window, with its share if units are all of one length; None without gaps.

    >>> describe_gaps(1, 60, "{} minutes".format), describe_gaps(2, 2, str), describe_gaps(1, 3, str, even=False)
    ('59 minutes of every 60 minutes (98 %)', None, '2 of every 3')
    """
    if every <= size:
        return None
    share = round(100 * (every - size) / every)
    percent = "less than 1" if share < 1 else "more than 99" if share > 99 else share
    one = words(every)
    one = one.removeprefix("1 ") if one.count(" ") == 1 else one
    return f"{words(every - size)} of every {one}" + (f" ({percent} %)" if even else "")


def describe_steps(steps: Steps, words: Callable[[int], str]) -> str:
    """The frames that windows cut, in words; ``words`` is a function of a length."""
    if steps.frames_in_window is None:
        return f"one frame every {words(1)}; up to {steps.longest} to a window"
    every = words(steps.every)
    if not steps.rest:
        return f"one frame every {every}; {steps.frames_in_window} to a window"
    first, second = words(steps.rest), words(steps.every - steps.rest)
    if not steps.steps:
        return f"one frame of {first} every {every}; the {second} after it are in no window"
    return f"two frames every {every}, of {first} and {second}; {steps.frames_in_window} to a window"


def rows_in_words(rows: int) -> str:
    """A number of rows, in words."""
    return f"{rows} row{'' if rows == 1 else 's'}"
