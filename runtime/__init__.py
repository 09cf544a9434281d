"""Windows, frames, partials, sliding: functions from Arrow tables to Arrow tables. Knows no Spark."""
