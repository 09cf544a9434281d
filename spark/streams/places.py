"""Where Spark's readers of state find a checkpoint, whatever characters its path has."""

from __future__ import annotations

import hashlib
import os
import re
from urllib.parse import quote

from pyspark.sql import SparkSession

QUOTED = re.compile(r'[\x00-\x20"#%<>?\[\\\]^`{|}\x7f]')
"""What a path has in another spelling as an address (java.net.URI)."""

SCHEME = "framefold"
VIEWS = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"


def readable(spark: SparkSession, checkpoint: str) -> str:
    """An address of a checkpoint that Spark's readers of state take.

    They make an address of a path, and take that for a path again: where both differ, they look for a folder that is
    not there. So such a one gets another name, by one of Hadoop's file systems whose folders are views of others: two
    settings of the session, of a scheme that nobody else uses. (Under the scheme ``viewfs`` Hadoop makes the same
    mistake as Spark.)
    """
    if QUOTED.search(checkpoint) is None:
        return checkpoint
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", checkpoint)
    path = checkpoint if scheme or checkpoint.startswith("/") else os.path.abspath(checkpoint)
    name = "of-" + hashlib.sha256(path.encode()).hexdigest()[:16]
    spark.conf.set(f"fs.{SCHEME}.impl", VIEWS)
    spark.conf.set(f"fs.viewfs.mounttable.{name}.link./checkpoint", quote(path, safe="/:@!$&'()*+,;=~"))
    return f"{SCHEME}://{name}/checkpoint"
