"""Sources of events of the local engine; readers of files, which tasks share."""
