"""Windows that close as a watermark passes them: the partials of some keys, kept until the last of theirs has."""
