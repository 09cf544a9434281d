"""Arrow files of Polars on Spark: views are plain columns for tasks, and ordered dictionaries are not compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import framefold as ff

polars = pytest.importorskip("polars")
pytestmark = pytest.mark.skipif(
    int(pa.__version__.split(".")[0]) < 20, reason="pyarrow 18 itself crashes on files of views"
)


@pytest.fixture
def frame() -> Any:
    return polars.DataFrame(
        {
            "t": [1, 2, 3, 14],
            "k": ["a", "b", None, "a"],
            "l": [["p"], ["q" * 20, None], [], None],
            "s": [{"of": ["p"]}, {"of": None}, None, {"of": ["q"]}],
            "c": polars.Series(["y", "x", "y", None], dtype=polars.Categorical),
            "e": polars.Series(["low", "high", "mid", "low"], dtype=polars.Enum(["low", "mid", "high"])),
        }
    )


OUTPUTS: dict[str, ff.Operation] = {
    "n": ff.Count(), "min": ff.Min("k"), "list": ff.CollectList("l"), "last": ff.Last("s"), "set": ff.CollectSet("c"),
    "enum": ff.Last("e"),
}  # fmt: skip


@pytest.mark.cell
def test_files_of_views(spark: SparkSession, tmp_path: Path, frame: Any) -> None:
    frame.write_ipc(tmp_path / "a.arrow")
    for window in (ff.tumbling(10), ff.last_rows(2)):
        files = ff.files(str(tmp_path / "a.arrow"), format="arrow", spark=spark)
        found = ff.events(files, time="t", by="k").window(window).aggregate(**OUTPUTS).toArrow()
        expected = ff.events(frame, time="t", by="k").window(window).aggregate(**OUTPUTS)
        assert found.to_pylist() == expected.to_pylist()


def test_ordered_dictionaries_are_not_compared(spark: SparkSession, tmp_path: Path, frame: Any) -> None:
    frame.write_ipc(tmp_path / "a.arrow")
    frame.select("t", "e").to_pandas().to_parquet(tmp_path / "a.parquet")
    for files in (
        ff.files(str(tmp_path / "a.arrow"), format="arrow", spark=spark),
        ff.parquet(str(tmp_path / "a.parquet"), spark=spark),
    ):
        query = ff.events(files, time="t").window(ff.tumbling(10))
        with pytest.raises(ff.ColumnError, match=r"Min\('e'\) compares 'e', an ordered dictionary, whose order"):
            query.aggregate(low=ff.Min("e"))
        with pytest.raises(ff.ColumnError, match="by= names 'e', an ordered dictionary whose order is not known"):
            ff.events(files, time="t", by="e").window(ff.tumbling(10)).aggregate(n=ff.Count())
        assert [row["e"] for row in query.aggregate(e=ff.Last("e")).collect()] == ["mid", "low"]
