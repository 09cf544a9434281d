"""Jobs on an S3 server, locally and on Spark: program.py JARS EVENT_LOG; credentials are in the environment."""

import logging
import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
from pyarrow.fs import S3FileSystem

import framefold as ff

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.support.command_line import main
from tests.support.sessions import local_session

jars, event_log = sys.argv[1:]
key, secret, server = (os.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"))
host = server.removeprefix("http://")
IN_ADDRESS = "Pa55/w0rd+in=an&address"
QUOTED = IN_ADDRESS.replace("/", "%2F").replace("+", "%2B").replace("=", "%3D").replace("&", "%26")
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
logging.getLogger("py4j").setLevel(logging.WARNING)

system = S3FileSystem(endpoint_override=host, scheme="http", allow_bucket_creation=True)
system.create_dir("trips")
columns = {"k": [at % 3 for at in range(1000)], "x": [float(at * at % 97) for at in range(1000)]}
table = pa.table({"t": range(1000), **columns})
for number, part in enumerate((table.slice(0, 300), table.slice(300, 300), table.slice(600))):
    pq.write_table(part, f"trips/in/{number}.parquet", filesystem=system)
    pq.write_table(part, f"trips/by/day={number}/part.parquet", filesystem=system)
with system.open_output_stream("trips/in.csv") as file:
    csv.write_csv(table, file)

settings = {
    "spark.jars": jars,
    "spark.eventLog.enabled": "true",
    "spark.eventLog.dir": event_log,
    "spark.eventLog.compress": "false",
    "spark.log.level": "INFO",
    "spark.hadoop.fs.s3a.access.key": key,
    "spark.hadoop.fs.s3a.secret.key": secret,
    "spark.hadoop.fs.s3a.endpoint": server,
    "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
    "spark.hadoop.fs.s3a.path.style.access": "true",
}
spark = local_session("s3", "local[2]", **settings)
outputs = {"n": ff.Count(), "x": ff.Median("x")}
hops, rows = ff.sliding(10, every=5), ff.last_rows(7)


def query(data, spec=hops):
    return ff.events(data, time="t", by="k").window(spec)


wanted = query(table).aggregate(**outputs)
given = {"login": f"s3://{key}:{QUOTED}@trips/in", "options": f"s3://trips/in?endpoint_override={host}&scheme=http"}
local = {
    "local": ff.parquet("s3://trips/in"),
    "local, hive folders": ff.parquet("s3://trips/by"),
    "local, CSV": ff.files("s3://trips/in.csv", format="csv"),
    "local, a login": ff.parquet(given["login"]),
    "local, options": ff.parquet(given["options"]),
}
for name, data in local.items():
    print(f"{name}: {query(data).aggregate(**outputs).equals(wanted)}")
for name, address in {"plain": "s3://trips/in", "s3a": "s3a://trips/in", **given}.items():
    asked = query(ff.parquet(address, spark=spark))
    print(f"tasks, {name}: {asked.aggregate(**outputs).toArrow().to_pylist() == wanted.to_pylist()}")
    print(asked.explain(**outputs), file=sys.stderr)
by_rows = query(table, rows).aggregate(**outputs).to_pylist()
for name, address in {"s3": "s3://trips/in", "s3a": "s3a://trips/in", "login": given["login"]}.items():
    asked = query(ff.parquet(address, spark=spark), rows)
    result = asked.options(combine="executors").aggregate(**outputs)
    print(f"Spark, {name}: {result.toArrow().to_pylist() == by_rows}")
    print(asked.explain(**outputs), file=sys.stderr)
    result.explain(extended=True)
result = query(spark.read.parquet("s3a://trips/in")).aggregate(**outputs)
result.write.parquet("s3a://trips/out")
written = spark.read.parquet("s3a://trips/out").orderBy("k", "window").toArrow()
print(f"written: {written.to_pylist() == wanted.to_pylist()}")
many = query(spark.read.parquet("s3a://trips/in")).options(combine="executors").aggregate(**outputs)
many.write.parquet("s3a://trips/many")
print(f"written, lazily: {spark.read.parquet('s3a://trips/many').count() == len(wanted)}")

run = ["run", "s3://trips/in", "--time", "t", "--by", "k", "--window", "10", "--every", "5"]
run += ["--agg", "n=count", "--agg", "x=median:x", "--preview", "0", "--out"]
for engine in ("local", "spark"):
    main([*run, f"s3://trips/{engine}.parquet", "--engine", engine])
    found = pq.read_table(f"trips/{engine}.parquet", filesystem=system)
    print(f"run, {engine}: {found.select(wanted.column_names).cast(wanted.schema).equals(wanted)}")
main(["run", given["login"] + "/nothing", "--time", "t", "--window", "10", "--agg", "n=count", "--engine", "local"])

wrong = [f"s3://{key}:{QUOTED}@trips/nothing", f"s3://{key}:{IN_ADDRESS}@trips/in", f"nowhere://a:{QUOTED}@b/c"]
wrong.append(f"s3://trips/nothing?endpoint_override={host}&scheme=http&secret={QUOTED}")
wrong.append(f"s3://trips/in?secret_key={QUOTED}")
unknown_to_pyarrow = (wrong[1], wrong[-1])
"""Spark, which is given these without a login and options, reads them with its own credentials."""
for address in wrong:
    for session in (None, spark):
        try:
            result = query(ff.parquet(address, spark=session)).aggregate(**outputs)
        except ff.FramefoldError as error:
            logging.exception("as it is printed")
            print(f"refused: {'***' in str(error)}")
        else:
            read = session is spark and address in unknown_to_pyarrow
            print(f"read by Spark: {read and result.toArrow().to_pylist() == wanted.to_pylist()}")
for engine in (None, spark):
    at_rest = ff.partials("s3://trips/at-rest", time="t", by="k", frame=5, spark=engine, **outputs)
    for run in range(2):
        at_rest.append(table.slice(run * 50, None if run else 50), run=str(run))
    found = at_rest.window(hops).aggregate()
    found = found if engine is None else found.toArrow()
    print(f"at rest, {'local' if engine is None else 'Spark'}: {found.to_pylist() == wanted.to_pylist()}")
print(repr(ff.parquet(given["login"])), file=sys.stderr)
spark.stop()
