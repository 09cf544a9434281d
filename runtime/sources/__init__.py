"""Sources of events of the local engine, and readers of files for it and for tasks."""
