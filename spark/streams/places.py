"""Where Spark's readers of state find a checkpoint, whatever characters its path has."""

from __future__ import annotations

import hashlib
import re

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from ..files.spark_reader import as_no_pattern

QUOTED = re.compile(r'[\x00-\x20"#%<>?\[\\\]^`{|}\x7f]')
"""What a path has in another spelling as an address (java.net.URI)."""

SCHEME = "framefold"
VIEWS = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"


def readable(spark: SparkSession, checkpoint: str) -> str:
    """An address of a checkpoint that Spark's readers of state take.

    They make an address of a path, and take that for a path again: where both differ, they look for a folder that is
    not there. So such a one gets another name, by one of Hadoop's file systems whose folders are views of others: two
    settings of the session, of a scheme that nobody else uses. (Under the scheme ``viewfs`` Hadoop takes an address for
    a path as well.)
    """
    if QUOTED.search(checkpoint) is None:
        return checkpoint
    try:
        (file,) = spark.read.text(as_no_pattern(checkpoint) + "/metadata").inputFiles()  # as an address
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return checkpoint  # where nothing is found by any name
    name = "of-" + hashlib.sha256(file.encode()).hexdigest()[:16]
    spark.conf.set(f"fs.{SCHEME}.impl", VIEWS)
    spark.conf.set(f"fs.viewfs.mounttable.{name}.link./checkpoint", file.removesuffix("/metadata"))
    return f"{SCHEME}://{name}/checkpoint"
