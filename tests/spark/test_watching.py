"""Figures of running streams in Prometheus: over HTTP, in a real server, on the dashboard, in alerts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

import framefold as ff

from ..support.pages import DOCS
from ..support.processes import free_port, running
from ..support.programs import load
from ..support.stream_source import MINUTE, Source, table
from .prometheus import FOLDER, program, server

pytestmark = pytest.mark.usefixtures("rocksdb")

NOW = int(time.time() * 1e6) // (60 * MINUTE) * 60
RULES = (FOLDER / "alerts.yml").read_text()
PAGE = (DOCS / "watching.md").read_text()
PANELS = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
SHOWN = [target["expr"] for panel in PANELS for target in panel["targets"]]


def names() -> set[str]:
    """The figures that there are, by the names of their samples."""
    registry = CollectorRegistry()
    ff.prometheus_listener(registry)
    families = text_string_to_metric_families(generate_latest(registry).decode())
    own = {(each.name, each.type) for each in families if not each.name.endswith("_created")}
    ends = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket"]}
    return {name + end for name, type in own for end in ends[type]}


@contextmanager
def shown(spark: SparkSession) -> Iterator[int]:
    """The figures of a session's streams, at a port of this machine."""
    registry, port = CollectorRegistry(), free_port()
    listener = ff.prometheus_listener(registry)
    spark.streams.addListener(listener)
    http, thread = start_http_server(port, "127.0.0.1", registry)
    try:
        yield port
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
        spark.streams.removeListener(listener)


def scraped(port: int, query: str = "watched") -> dict[str, float]:
    """The figures of a query."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    return {
        each.name: each.value
        for family in families
        for each in family.samples
        if each.labels.get("query") == query and "le" not in each.labels and not each.name.endswith("_created")
    }


def wait(until: Callable[[], Any], seconds: float = 120) -> Any:
    """What a function gives, as soon as it gives something true."""
    end = time.monotonic() + seconds
    while not (found := until()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.2)
    return found


@contextmanager
def started(source: Source) -> Iterator[Any]:
    """A query that waits for more files."""
    writer = source.query(shards=1).aggregate(n=ff.Count()).writeStream.queryName("watched").format("parquet")
    writer = writer.option("path", str(source.folder / "out"))
    query = writer.option("checkpointLocation", str(source.folder / "checkpoint")).start()
    try:
        yield query
    finally:
        query.stop()


@pytest.mark.slow
def test_a_prometheus_reads_all_that_the_dashboard_shows(spark: SparkSession, tmp_path: Path) -> None:
    program("prometheus")
    pytest.importorskip("altair")
    make_dashboard = load(DOCS / "make_dashboard.py", "make_dashboard")
    (tmp_path / "server").mkdir()
    source = Source(spark, tmp_path).add(table(NOW, NOW + 20))
    with shown(spark) as port, server(tmp_path / "server", port) as prometheus:
        with started(source):
            wait(lambda: prometheus.values("framefold_stream_running"))
            source.add(table(NOW + 25, NOW + 40, seed=1))
            wait(lambda: prometheus.values("framefold_stream_windows_total > 0"))
            for shown_there in SHOWN:
                asked = shown_there.replace("$query", ".*").replace("$__rate_interval", "1m")
                if "events_ahead" not in asked:  # of queries with ahead= only
                    assert wait(lambda asked=asked: prometheus.values(asked)), asked
            assert {rule["name"] for rule in rules_of(prometheus)} == set(re.findall(r"- alert: (\w+)", RULES))
            wait(lambda: all(rule["health"] == "ok" for rule in rules_of(prometheus)))
            drawn = make_dashboard.picture(f"http://{prometheus.address}", 1.0).to_dict()
            titles = [each["title"]["text"] for row in drawn["vconcat"] for each in row["hconcat"]]
            assert titles == [panel["title"] for panel in PANELS]
        wait(lambda: prometheus.values("framefold_stream_running == 0"))
        assert not prometheus.values("framefold_stream_running == 0 and framefold_stream_failures_total > 0")


def rules_of(prometheus: Any) -> list[Any]:
    """The rules of a server, with what has come of them."""
    return [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]


@pytest.mark.slow
def test_a_query_that_fails(spark: SparkSession, tmp_path: Path) -> None:
    def sink(batch: Any, number: int) -> None:
        raise OSError("no room")

    source = Source(spark, tmp_path).add(table(NOW, NOW + 20))
    with shown(spark) as port:
        writer = source.query().aggregate(n=ff.Count()).writeStream.queryName("watched").foreachBatch(sink)
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        with pytest.raises(Exception, match="no room"):
            query.awaitTermination(120)
        found = wait(lambda: scraped(port))
        assert (found["framefold_stream_failures_total"], found["framefold_stream_running"]) == (1, 0)


@pytest.mark.slow
def test_the_example_shows_its_figures(tmp_path: Path) -> None:
    """In a process of its own, as the page starts it."""
    port = free_port()
    command = [sys.executable, str(FOLDER / "watched.py"), "--seconds", "600", "--port", str(port)]
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with running(command, tmp_path / "log", environment, cwd=tmp_path) as process:

        def told() -> dict[str, float]:
            assert process.poll() is None, (tmp_path / "log").read_text()
            try:
                return scraped(port, "speeds")
            except OSError:  # it has not come that far
                return {}

        found = wait(lambda: (seen := told()).get("framefold_stream_windows_total") and seen, 300)
        assert found["framefold_stream_running"] == 1
        assert found["framefold_stream_input_rows_total"] > 0
        assert found["framefold_stream_events_ahead_total"] == 0


def figures_in(text: str) -> set[str]:
    return set(re.findall(r"framefold_stream_\w+", text))


def test_dashboard_alerts_and_page_name_figures_that_there_are() -> None:
    """And all figures are on the dashboard, and on the page."""
    known = names()
    assert figures_in(" ".join(SHOWN)) == known
    assert figures_in(RULES) <= known
    assert {name.removesuffix("_bucket") for name in known} == figures_in(PAGE)


def test_the_page_says_what_to_do_for_each_alert() -> None:
    assert re.findall(r"^\| `(Framefold\w+)` \|", PAGE, re.MULTILINE) == re.findall(r"- alert: (\w+)", RULES)


def test_the_rules_are_rules(tmp_path: Path) -> None:
    """By Prometheus' own tool: the configuration, the rules, and which alerts come of which figures."""
    tool = program("promtool")
    for command in (["check", "config", "prometheus.yml"], ["test", "rules", "alerts_test.yml"]):
        done = subprocess.run([tool, *command], cwd=FOLDER, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
