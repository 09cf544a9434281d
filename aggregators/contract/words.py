"""What the words of other libraries are called here."""

from __future__ import annotations

WINDOWS = "expected .window(ff.tumbling('1 minute', empty='emit')).aggregate(x=ff.Last('x').filled('last'))"
FILLED = "expected .filled('last') or .filled('linear') of an output, such as ff.Last('x').filled('last')"
KEYS = "expected the keys in ff.events(..., by=)"
ROWS = "expected .window(ff.around(time=('-1 hour', '0 s'))).with_columns(...)"
OF_OTHERS = {
    **dict.fromkeys(["resample", "asfreq", "upsample", "group_by_dynamic"], WINDOWS),
    **dict.fromkeys(["ffill", "pad", "interpolate", "fillna", "fill_null", "forward_fill"], FILLED),
    **dict.fromkeys(["groupby", "groupBy", "group_by"], KEYS),
    "rolling": ROWS,
}
"""By words of pandas, Polars and Spark."""


def said_here(word: str) -> str:
    """The end of a sentence, with what to write instead of a word of another library.

    >>> said_here("groupby"), said_here("other")
    ('; expected the keys in ff.events(..., by=)', '')
    """
    return f"; {OF_OTHERS[word]}" if word in OF_OTHERS else ""
