"""Inner limits by names of the tests' own, changed for a while: few rows then take the ways that many take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

LIMITS: dict[str, str | tuple[str, ...]] = {
    # events read and accumulated by the local engine
    "batch_rows": "runtime.local.BATCH_ROWS",
    "pending_partials": "runtime.local.PENDING_PARTIALS",
    "chunk_windows": ("runtime.local.CHUNK_WINDOWS", "runtime.results.finish.CHUNK_WINDOWS"),
    "range_chunk_bytes": "runtime.results.chunks.CHUNK_BYTES_OF_LISTS",
    "portion_rows": "runtime.accumulate.portions.PORTION_ROWS",
    "max_portion_rows": "runtime.accumulate.portions.MAX_PORTION_ROWS",
    "portion_bytes": "runtime.accumulate.portions.PORTION_BYTES",
    "file_batch_rows": ("runtime.sources.file_source.READ_ROWS", "runtime.sources.parquet_decoding.READ_ROWS"),
    "buffered_bytes": "runtime.sources.file_source.BUFFERED_BYTES",
    "buffer_bytes": "runtime.sources.file_source.BUFFER_BYTES",
    "text_block_bytes": "runtime.sources.formats.BLOCK_BYTES",
    "decoded_batch_rows": "runtime.sources.parquet_decoding.READ_ROWS",
    "min_decoded_rows": "runtime.sources.parquet_decoding.MIN_DECODED_ROWS",
    "keys_rows": "runtime.accumulate.time_order.KEYS_ROWS",
    "many_rows": "runtime.threads.MANY_ROWS",
    # rows to groups
    "counted_codes": "runtime.columns.sorting.MAX_COUNTED",
    "sparse_codes": "runtime.columns.key_codes.MAX_SPARSE",
    "assigned_block": "runtime.columns.key_codes.KEY_TILE_ROWS",
    "sampled_runs": ("runtime.columns.sorting.RUNS_SAMPLE", "runtime.columns.key_codes.RUNS_SAMPLE"),
    "long_run_of_text": "runtime.columns.sorting.LONG_RUN_OF_TEXT",
    "rows_per_group": "runtime.columns.key_codes.ROWS_PER_GROUP",
    "places": "runtime.columns.key_codes.MAX_PLACES",
    "few_places": "runtime.columns.key_codes.FEW_PLACES",
    "min_run": "runtime.columns.key_codes.MIN_SORTED_RUN",
    "packed_codes": "runtime.columns.key_codes.MAX_PACKED",
    "min_merge_chunk": "runtime.partials.merge.MIN_CHUNK",
    "sum_chunk": "aggregators.contract.frames.CHUNK",
    "held_object_bytes": "aggregators.states.objects.MAX_HELD_BYTES",
    "array_bytes": "aggregators.states.large.ARRAY_BYTES",
    # sliding
    "restart_rows": "runtime.sliding.deduct.RESTART_ROWS",
    "restart_steps": "runtime.intervals.sweep.RESTART_STEPS",
    "copied_rows": "runtime.intervals.coverage.MAX_COPIES",
    "scanned_groups": "runtime.sliding.scan.MAX_GROUPS",
    "short_block": "runtime.sliding.scan.SHORT_SEGMENT",
    "block_windows": "runtime.sliding.tiles.TILE_WINDOWS",
    "block_rows": "runtime.sliding.tiles.TILE_ROWS",
    "regular_run": "runtime.sliding.tiles.REGULAR_RUN",
    "scanned_ranges": "runtime.sliding.range_facts.SCANNED_RANGES",
    "long_run": "runtime.sliding.tiles.LONG_RUN_OF_WINDOWS",
    "run_blocks": "runtime.sliding.van_herk.MAX_SEGMENTS",
    "run_states": "runtime.sliding.van_herk.MAX_STATES",
    "min_run_blocks": "runtime.sliding.van_herk.MIN_SEGMENTS_OF_RUN",
    "min_lone_blocks": "runtime.sliding.van_herk.MIN_SEGMENTS_ALONE",
    "min_side_by_side": "runtime.sliding.slide.MIN_WINDOWS",
    "many_ranges": "runtime.sliding.slide.MANY_RANGES",
    "lookback_edges": "lookbacks.FEW_EDGES",
    # results
    "range_block_values": "runtime.results.over_ranges.BLOCK_VALUES",
    "range_block_windows": "runtime.results.over_ranges.BLOCK_WINDOWS",
    "window_block_ticks": "runtime.results.blocks.LEAST_TICKS",
    "row_block": "runtime.results.blocks.WIDTH",
    "progress_patience": "runtime.progress.PATIENCE",
    # shards of streams
    "shard_block_partials": "runtime.streams.pages.PAGE_PARTIALS",
    "state_bytes_at_once": "spark.streams.state.STATE_BYTES_AT_ONCE",
    "recent_states": "spark.streams.state.MOST_RECENT",
    # Spark: driver or executors
    "auto_result_bytes": "spark.engine.driver.AUTO_RESULT_BYTES",
    "sent_partials_bytes": "spark.engine.driver.SENT_PARTIALS_BYTES",
    "driver_result_bytes": "spark.engine.driver.DRIVER_RESULT_BYTES",
    "pending_bytes": "spark.engine.events_source.PENDING_BYTES",
    "partials_at_once": "spark.engine.events_source.PARTIALS_AT_ONCE",
    "few_events": "spark.engine.few_events.FEW_EVENTS",
    "few_groups": "spark.engine.few_events.FEW_GROUPS",
    "kept_bytes": "extras.stored.kept.KEPT_BYTES",
    "rows_of_a_byte": "runtime.sources.parquet_opening.MOST_ROWS",
    "few_rows_of_bytes": "runtime.sources.parquet_opening.FEW_ROWS",
    "stored_row_group": "extras.stored.table.ROW_GROUP",
    "stored_driver_partials": "extras.stored.on_spark.engine.DRIVER_PARTIALS",
    "few_files": "spark.input.scan_bounds.FEW_FILES",
    "task_held_bytes": "spark.engine.tasks.TASK_HELD_BYTES",
    "task_merged_rows": "spark.engine.tasks.MERGED_ROWS",
    "task_slid_rows": "spark.engine.tasks.SLID_ROWS",
    "min_task_bytes": "spark.session.parallelism.MIN_READ_TASK_BYTES",
    "local_relation_bytes": "spark.session.dataframes.LOCAL_RELATION_BYTES",
    "java_patience": "spark.session.java.PATIENCE",
    "sql_rows": "runtime.accumulate.sql_accumulate.ROW_LIMIT",
    "few_sql_rows": "runtime.accumulate.sql_accumulate.SMALL_ROW_LIMIT",
    # the front door and the command line
    "picture_rows": "notebook.PICTURE_ROWS",
    "chart_rows": "extras.pictures.plots.MOST_ROWS",
    "replace_patience": "extras.cli.replacing.PATIENCE",
}
"""The constant that each name stands for, or several of one meaning."""


def limit_of(name: str) -> Any:
    """What a limit is."""
    module, _, constant = f"framefold.{LIMITS[name]}".rpartition(".")
    return getattr(import_module(module), constant)


@contextmanager
def limits(**bounds: Any) -> Iterator[None]:
    """Other limits, by their names in LIMITS.

    >>> with limits(batch_rows=10):
    ...     ...
    """
    with ExitStack() as stack:
        for name, bound in bounds.items():
            for path in [LIMITS[name]] if isinstance(LIMITS[name], str) else LIMITS[name]:
                module, _, constant = f"framefold.{path}".rpartition(".")
                stack.enter_context(patch.object(import_module(module), constant, bound))
        yield
