"""The numbers that tune the speed of a query on Spark.

Measured as those of ``runtime/tuning.py`` are, by ``python -m benchmarks.tuning --spark``: the two figures of each are
the time with a fourth of the number and with four times as much, in times that with the number. What a task does is
measured in one process; what the driver decides, by the time of processors of the driver, the JVM and its workers.
Numbers without figures wait for a machine that is quiet enough for the latter.
"""

FEW_EVENTS = 1 << 21
"""The most events that the driver gets rather than partials, by the footers of the files that they come from.

0.87 and 0.97, Sum of a DataFrame of a file.
"""

MANY_A_GROUP = 16
"""Events for each key and frame, by the footers, from which on tasks make partials of few events, too.

0.89 and 0.95, Sum of a DataFrame of a file, by Spark SQL.
"""

FEW_GROUPS = 1 << 14
"""Keys and frames, by the footers, up to which the driver does not ask for the number of partials first.

1.21 and 0.89, Sum of a DataFrame of a file, by Spark SQL.
"""

PARTIALS_AT_ONCE = 1 << 19
"""The partials of tasks, about, that come to the driver with the numbers of all, which spares another job.

1.03 and 0.88, Sum of a DataFrame, many keys.
"""

TASK_HELD_BYTES = 64 << 20
"""The partials that a task holds before it merges them, and emits them if many are left. Bytes and not rows: partials
of events in no order are many in each portion, and merging them with those of the next portions makes them few.

0.97 and 0.98, blobs of a task, many keys.
"""

MERGED_ROWS = 1 << 18
"""The sorted partials that are merged together after a shuffle.

1.07 and 0.93, a task after a shuffle, many keys.
"""

SLID_ROWS = 1 << 17
"""The partials of whole keys that are slid together.

1.12 and 0.98, a task after a shuffle, many keys.
"""

ROW_BYTES = 512
"""Bytes of partials that count as another row, where these are larger, to those that say how many rows are enough.

1.03 and 0.99, a task after a shuffle, values.
"""

BLOB_ROWS = 1 << 16
"""The partials in one IPC blob, as :func:`framefold.spark.engine.tasks.weight_of` counts them.

1.37 and 0.91, blobs of a task, many keys.
"""

WEIGHT_BYTES = 128
"""Bytes of lists and binaries in partials that are as much as one partial more: such partials consist of values.

1.17 and 1.02, blobs of a task, values.
"""

WIRE_ROWS, WIRE_BYTES = 1 << 16, 16 << 20
"""Rows, and bytes, of the batches that a task hands to Spark.

WIRE_ROWS: 1.04 and 1.01, a task after a shuffle, many keys.
WIRE_BYTES: 0.99 and 1.02, a task after a shuffle, values.
"""

MIN_SHARE = 1 << 17
"""The partials that each task may send at least; with more tasks than that allows, all are counted first.

0.99 and 0.88, Sum of files, many keys.
"""

READ_TASK_BYTES, MIN_READ_TASK_BYTES = 64 << 20, 1 << 20
"""Bytes of files from which on there are more tasks than cores, and the fewest of a task.

READ_TASK_BYTES: 1.02 and 1.08, Sum of files, many keys.
MIN_READ_TASK_BYTES: 1.06 and 0.85, Sum of files, many keys.
"""

READ_TASKS_A_CORE = 4
"""The most tasks that read files, for each core.

0.95 and 1.11, Sum of files, many keys.
"""

LOCAL_RELATION_BYTES = 1 << 16
"""A table below this is a local relation: rows that are on the driver can be collected without a job.

1.04 and 0.91, few results, used by Spark.
"""

RESULT_TASK_ROWS, RESULT_TASK_BYTES = 1 << 17, 16 << 20
"""Rows, and bytes, of a table of results that one task hands on.

RESULT_TASK_ROWS: 0.91 and 1.18, many results, used by Spark.
RESULT_TASK_BYTES: 1.02 and 1.18, many results, used by Spark.
"""

ASOF_BUCKETS = 256
"""Into how many buckets the time of an as-of join is cut.

0.95 and 1.08, an as-of join on Spark.
"""

BUCKET_STEP = 5
"""Bits by which buckets of an overlap join are wider from level to level.

1.07 and 0.98, a join of validities on Spark.
"""
