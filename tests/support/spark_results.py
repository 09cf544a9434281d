"""Results of either engine as rows, and settings of a session for a while."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from framefold.spark.session.conf_overrides import replaced_conf as conf


def rows(result: Any) -> list[dict[str, Any]]:
    """The rows of an Arrow table, or of a DataFrame."""
    return (result if isinstance(result, pa.Table) else result.toArrow()).to_pylist()


def listed(result: Any) -> list[str]:
    """Rows as text, of which NaN is equal to itself."""
    return [repr(row) for row in rows(result)]
