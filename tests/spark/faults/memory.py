"""A driver that cannot hold what it is sent: memory.py, with a spark.driver.maxResultSize of 1 MB."""

import logging
import resource
import sys
from pathlib import Path

import framefold as ff

sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.support.sessions import local_session

logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format="%(message)s")
spark = local_session("memory", "local[2]", **{"spark.driver.maxResultSize": "1m", "spark.log.level": "OFF"})
numbers = spark.range(0, 2_000_000, 1, 4).selectExpr("id as t", "id % 1000 as k", "double(id) as x")
asked = ff.events(numbers, time="t", by="k").window(ff.tumbling(5_000))
events = {"x": ff.Median("x"), "n": ff.Count()}
found = asked.options(combine="auto").aggregate(**events).selectExpr("count(*) as windows", "sum(n) as n").collect()
print(f"auto: {found[0]['windows']} windows of {found[0]['n']} events")
for options in ({}, {"accumulate": "spark"}):
    outputs = {"n": ff.Count()} if options else events
    try:
        asked.options(combine="driver", **options).aggregate(**outputs)
    except ff.EngineError as error:
        print(f"driver: {error}")

spark.stop()
spark = local_session("memory", "local[2]", **{"spark.driver.maxResultSize": "1g", "spark.log.level": "OFF"})
numbers = spark.range(0, 4_000_000, 1, 4).selectExpr("id as t", "id % 1000 as k", "double(id) as x")
asked = ff.events(numbers, time="t", by="k").window(ff.tumbling(100))
asked.options(combine="driver").aggregate(x=ff.Sum("x")).limit(1).count()  # all libraries are loaded
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (60 << 20), resource.RLIM_INFINITY))
try:
    asked.options(combine="driver").aggregate(all=ff.CollectList("x"), low=ff.Min("x"), x=ff.Median("x"))
except ff.EngineError as error:
    print(f"memory: {error}")
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
spark.stop()
