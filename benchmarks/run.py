"""Measure framefold side by side with what a user could use instead, and write ``benchmarks/report.md``.

``python -m benchmarks.run`` takes nearly an hour and a half. ``--quick`` checks on few events, with the peers that
the extra ``test`` brings, that all results are equal, and writes nothing. ``--report`` makes the report anew from
``benchmarks/results.json``. ``--cases billion`` is of a billion events, ``--cases streams`` of streams,
``--cases stream-rates`` of the events a second that they take, ``--cases stream-settings`` of what the settings of a
session are to them, ``--cases relations`` of relations, ``--cases idioms`` of an analyst's idioms, ``--cases
lookbacks`` of lookbacks, ``--cases partials`` of partials at rest, ``--cases wide`` of tables of many columns, and
``--cases holistic`` of what needs all values of a window (or of these ``holistic-local``, ``holistic-spark``,
``holistic-memory`` and ``holistic-large``): only made where they are asked for; their last results are kept. The exit
code is 1 where a result is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from framefold.spark.session.java import ensure_java

from . import cases
from .arena import Arena
from .case import Case
from .child import ROOT
from .contestants import PEERS, ours
from .environments import Unavailable, python_of
from .measure import job_of, measure

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
KEPT = ROOT / ".benchmarks"
WRITTEN = ("benchmarks/results.json", "benchmarks/report.md", "benchmarks/plots")
"""The files that a measurement writes: they are no change to the program."""

KEPT_SECTIONS = ("Streams", "Relations", "Idioms", "Lookbacks", "Partials", "Wide", "Holistic")
"""How the titles of sections begin that are measured only where they are asked for."""


def machine() -> dict[str, Any]:
    """What it runs on."""
    model = platform.processor()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    commit, changed = (
        subprocess.run(["git", *each], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
        for each in (
            ["describe", "--always"],
            ["status", "--porcelain", "-uno", "--", ".", *map(":!{}".format, WRITTEN)],
        )
    )
    return {
        "cores": os.cpu_count(),
        "processor": model,
        "memory": f"{memory:.0f} GiB",
        "system": platform.system(),
        "Python": platform.python_version(),
        "commit": commit + "-dirty" * bool(changed),
    }


def wrong(case: dict[str, Any]) -> list[str]:
    """The contenders of a case whose results are not ours, at which points; and where ours failed."""
    failed = [
        f"{case['name']} at {left['label'] or left['x']}: {left['contender']}: {left['reason']}"
        for left in case["left_out"]
        if ours(left["contender"])
    ]
    return failed + [
        f"{case['name']} at {x}: {contender}"
        for contender, at in case["found"].items()
        for x, entry in at.items()
        if entry.get("check", {}).get("wrong")
    ]


def prepare(chosen: list[Case], folder: Path) -> None:
    """Make environments and events that are not there yet, which is done once and takes time of its own."""
    for extra in {PEERS[way.split(".")[0]].extra for case in chosen for way in case.contenders}:
        with contextlib.suppress(Unavailable):  # said again, and noted, where the peer is needed
            python_of(extra)
    for case in chosen:
        for point in case.points:
            job_of(point, folder / "data")


def run(chosen: list[Case], folder: Path, minutes: float, where: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All that is to be measured: what is known after each case.

    The cases share the time that is left, each its part of it.
    """
    started = time.time()
    arena = Arena(folder, lambda line: print(f"{time.time() - started:6.0f} s  {line}", flush=True))
    found = []
    try:
        for number, case in enumerate(chosen):
            left = max(started + 60 * minutes - time.time(), 0.0)
            part = left / sum(later.box for later in chosen[number:])
            found.append(measure(replace(case, box=case.box * part), arena) | where)
            yield where | {"versions": arena.versions, "unavailable": arena.unavailable, "cases": found}
    finally:
        arena.close()


def merged(before: dict[str, Any], now: dict[str, Any], order: list[str]) -> dict[str, Any]:
    """Earlier results with those cases replaced that were measured now."""
    where = {key: before[key] for key in ("machine", "date") if key in before}
    cases = {case["name"]: where | case for case in before.get("cases", [])}
    cases |= {case["name"]: case for case in now["cases"]}
    versions = before.get("versions", {}) | now["versions"]
    return before | now | {"cases": [cases[name] for name in order if name in cases], "versions": versions}


def keep(results: dict[str, Any]) -> None:
    """Write the results, the report and its plots."""
    from .report import report

    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    (HERE / "report.md").write_text(report(results, HERE / "plots"))


def main() -> None:
    """Measure, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few events, no report: only whether results are equal")
    parser.add_argument("--report", action="store_true", help="no measurement: the report of the last one, made anew")
    parser.add_argument("--events", type=int, default=100_000_000, help="the most events (default: 100 million)")
    parser.add_argument("--scale", type=float, default=1.0, help="how much of the other cases' events (default: 1.0)")
    parser.add_argument("--minutes", type=float, default=82.0, help="how long the cases should take (default: 82)")
    parser.add_argument("--repeats", type=int, default=5, help="the most timed rounds, but for short ones (default: 5)")
    parser.add_argument("--cases", help="only these, by name, with commas; others keep their last results")
    parser.add_argument("--folder", type=Path, default=KEPT, help="where events are kept from run to run")
    asked = parser.parse_args()
    before = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if not (asked.quick or asked.report) and machine()["commit"].endswith("-dirty"):
        parser.error("there are changes that are in no commit: commit them, so that the report names what it measures")
    if not asked.cases and not asked.report:
        kept = {title: of for title, of in before.get("others", {}).items() if title.startswith(KEPT_SECTIONS)}
        before = {"cases": [case for case in before.get("cases", []) if case["name"] == "billion"], "others": kept}
    if asked.report:
        keep(before)
        return
    ensure_java()
    every = cases.quick() if asked.quick else cases.default(asked.events, asked.scale)
    wanted = asked.cases.split(",") if asked.cases else [*(case.name for case in every), "others"]
    every.append(cases.billion(int(1_000_000_000 * asked.scale)))
    order = [case.name for case in every]
    # Asked before the report is written, which would be a change to the commit.
    where = {"machine": machine(), "date": time.strftime("%Y-%m-%d", time.gmtime())}
    chosen = [replace(case, repeats=min(case.repeats, asked.repeats)) for case in every if case.name in wanted]
    now: dict[str, Any] = {"cases": []}
    with tempfile.TemporaryDirectory() as empty:
        folder = Path(empty) if asked.quick else asked.folder
        folder.mkdir(parents=True, exist_ok=True)
        prepare(chosen, folder)
        for now in run(chosen, folder, asked.minutes, where):
            if not asked.quick:
                before = merged(before, now | {"scale": asked.scale}, order)
                keep(before)
    if "others" in wanted and not asked.quick:
        from .others import tables

        found = {title: where | {"lines": lines} for title, lines in tables().items()}
        before |= {"others": before.get("others", {}) | found}
        keep(before)
    if "streams" in wanted:
        from .streams import table

        before |= {"others": before.get("others", {}) | {"Streams, a micro-batch": where | {"lines": table()}}}
        keep(before)
    if "stream-rates" in wanted:
        from .streams import rates

        before |= {"others": before.get("others", {}) | {"Streams, events a second": where | {"lines": rates()}}}
        keep(before)
    if "stream-settings" in wanted:
        from .stream_settings import TITLE
        from .stream_settings import table as of_settings

        before |= {"others": before.get("others", {}) | {TITLE: where | {"lines": of_settings()}}}
        keep(before)
    if "relations" in wanted:
        from .relations import measured

        for title, lines in measured():
            before |= {"others": before.get("others", {}) | {title: where | {"lines": lines}}}
            keep(before)
    if "idioms" in wanted or (asked.quick and not asked.cases):
        from .idioms import QUICK, REPORTED
        from .idioms import tables as of_idioms

        lines = of_idioms(QUICK, rounds=1) if asked.quick else of_idioms(REPORTED)
        if not asked.quick:
            found = {title: where | {"lines": each} for title, each in lines.items()}
            before |= {"others": before.get("others", {}) | found}
            keep(before)
    if asked.quick and not asked.cases:
        from .lookbacks import check

        check()
        from .partials import check as check_partials

        check_partials()
    if "partials" in wanted:
        from .partials import tables as of_partials

        found = {title: where | {"lines": lines} for title, lines in of_partials().items()}
        before |= {"others": before.get("others", {}) | found}
        keep(before)
    if "lookbacks" in wanted:
        from .lookbacks import tables as of_lookbacks

        found = {title: where | {"lines": lines} for title, lines in of_lookbacks().items()}
        before |= {"others": before.get("others", {}) | found}
        keep(before)
    if "wide" in wanted:
        from .wide import tables as of_wide

        found = {title: where | {"lines": lines} for title, lines in of_wide().items()}
        before |= {"others": before.get("others", {}) | found}
        keep(before)
    if any(name.startswith("holistic") for name in wanted):
        from .holistic import PARTS
        from .holistic import tables as of_all_values

        parts = [part for part in PARTS if {"holistic", f"holistic-{part}"} & set(wanted)]
        found = {title: where | {"lines": lines} for title, lines in of_all_values(parts).items()}
        others = before.get("others", {})
        if len(parts) == len(PARTS):
            others = {title: of for title, of in others.items() if not title.startswith("Holistic, ")}
        keep(before | {"others": others | found})
    faults = [fault for case in now["cases"] for fault in wrong(case)]
    print("\n".join(faults) or "All results are equal.")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
