"""What Flink SQL answers to queries of CSV files; run by the Python that has PyFlink."""

from __future__ import annotations

import datetime
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment

# Far behind, so that nothing is late: where its input ends, a stream's watermark goes to the end of time.
TABLE = (
    "CREATE TEMPORARY TABLE `{name}` ({columns}, WATERMARK FOR `{time}` AS `{time}` - INTERVAL '30' DAY) WITH "
    "('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv', 'csv.null-literal' = 'null')"
)
MODES = {"stream": EnvironmentSettings.in_streaming_mode, "batch": EnvironmentSettings.in_batch_mode}


def environment(mode: str, given: dict[str, Any]) -> TableEnvironment:
    """One that has the tables."""
    made = TableEnvironment.create(MODES[mode]())
    made.get_config().set("table.local-time-zone", given["zone"])
    made.get_config().set("parallelism.default", "1")
    for name, each in given["tables"].items():
        columns = ", ".join(f"`{column}` {kind}" for column, kind in each["columns"].items())
        made.execute_sql(TABLE.format(name=name, columns=columns, time=each["time"], path=each["path"]))
    return made


def answer(made: TableEnvironment, query: str) -> Any:
    """Rows, or the reason why there are none."""
    try:
        with made.execute_sql(query).collect() as rows:
            return [[plain(value) for value in row] for row in rows]
    except Exception as error:
        causes = [line for line in str(error).splitlines() if line and not line.startswith(("\t", "/*"))]
        return " ".join(causes)


def plain(value: Any) -> Any:
    """A value of JSON: times as text, numbers as floats."""
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()
    return float(value) if isinstance(value, (int, Decimal)) and not isinstance(value, bool) else value


def main(asked: str, into: str) -> None:
    """Answer what a file asks in another one."""
    given = json.loads(Path(asked).read_text())
    made = {mode: environment(mode, given) for mode in MODES}
    found = [answer(made[mode], query) for mode, query in given["queries"]]
    Path(into).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
