"""PyFlink on a stream: the HOP table function in streaming mode, from files of CSV (its package reads no Parquet).

Flink has no micro-batches: what so many more events take is the difference of two runs, over the difference of events.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

SOURCE = (
    "CREATE TEMPORARY TABLE `{name}` (t TIMESTAMP(3), k BIGINT, x DOUBLE, WATERMARK FOR t AS t - INTERVAL '1' MINUTE) "
    "WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"
)
SINK = (
    "CREATE TEMPORARY TABLE results (k BIGINT, window_start TIMESTAMP(3), total DOUBLE, events BIGINT) "
    "WITH ('connector' = 'blackhole')"
)
QUERY = (
    "INSERT INTO results SELECT k, window_start, sum(x), count(*) FROM HOP(TABLE `{name}`, DESCRIPTOR(t), "
    "INTERVAL '1' MINUTE, INTERVAL '60' MINUTE) GROUP BY k, window_start, window_end"
)


def seconds(made: TableEnvironment, name: str, folder: str) -> float:
    """What all events in a folder take, with the start of the job."""
    made.execute_sql(SOURCE.format(name=name, path=Path(folder).as_uri()))
    begin = time.perf_counter()
    made.execute_sql(QUERY.format(name=name)).wait()
    return time.perf_counter() - begin


def main(few: str, many: str) -> None:
    """Print what the events in one folder take beyond those in another, several times."""
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made.get_config().set("table.local-time-zone", "UTC")
    made.get_config().set("parallelism.default", str(os.cpu_count() or 1))
    made.execute_sql(SINK)
    for turn in range(4):  # in the first one the JVM compiles
        taken = [seconds(made, f"{which}{turn}", folder) for which, folder in (("few", few), ("many", many))]
        if turn:
            print(taken[1] - taken[0], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
