"""How fast each zone was over the last hour, every ten minutes: a job that runs on any Spark as it is.

python speeds.py TRIPS RESULT
framefold submit --master yarn --deploy-mode cluster speeds.py hdfs:///trips hdfs:///speeds

TRIPS is Parquet with pickup, zone and speed, such as `framefold demo --keep` leaves.
"""

import sys

from means import GeometricMean  # a module beside this one, which executors get with it
from pyspark.sql import SparkSession

import framefold as ff

trips, result = sys.argv[1:]
spark = SparkSession.builder.appName("speeds").getOrCreate()  # no master: that is for whoever runs the job
speeds = (
    ff.events(ff.parquet(trips, spark=spark), time="pickup", by="zone")
    .window(ff.sliding("1 hour", every="10 minutes"))
    .aggregate(pace=GeometricMean("speed"), middle=ff.Median("speed"), trips=ff.Count())
)
speeds.write.mode("overwrite").parquet(result)
print(f"{spark.read.parquet(result).count()} windows in {result}")
spark.stop()
