"""What users type by mistake, and what they read then: tables of calls and sentences, as the docs write them."""

from __future__ import annotations

import datetime as dt
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import framefold as ff

LIBRARIES = {"dt": dt, "math": math, "np": np, "pa": pa, "pc": pc, "pd": pd, "pl": pl, "Path": Path}
"""What a call may name beside the names of its file."""


def mistakes(table: str) -> pytest.MarkDecorator:
    """Parametrise a test by the ``call`` and the sentence (``said``) of each row of a table.

    After a call stands ``# ->``, then the type of the error, unless any QueryError will do, and a part of its
    sentence. Both may take several lines; those of a sentence begin with ``#``. " ... " stands for any words.
    """
    rows: list[list[str]] = [["", ""]]
    for line in table.splitlines():
        call, _, said = line.partition("# -> ")
        if said:
            rows[-1] = [" ".join([rows[-1][0], call]).strip(), said]
            rows.append(["", ""])
        elif line.lstrip().startswith("#  "):
            rows[-2][1] += " " + line.lstrip("# ")
        else:
            rows[-1][0] += call
    assert rows.pop() == ["", ""]
    return pytest.mark.parametrize(("call", "said"), rows, ids=[call for call, _ in rows])


def require(call: str, said: str, names: dict[str, Any]) -> None:
    """Raise AssertionError unless a call, with names of its file, raises the error in one sentence of one line."""
    kind, sentence = re.fullmatch(r"(?:(\w+Error): )?(.*)", said).groups()  # type: ignore[union-attr]
    with pytest.raises(getattr(ff, kind or "QueryError")) as caught:
        eval(call, LIBRARIES | names)
    assert re.search(".*".join(map(re.escape, sentence.split(" ... "))), str(caught.value)), caught.value
    assert "\n" not in str(caught.value)
    assert not str(caught.value).endswith(".")
