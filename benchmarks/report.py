"""The report of a measurement, as Markdown: where peers win, what must hold, then everything."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .claims import claims
from .contestants import ALSO, LEAVES_OUT, TITLES, ours
from .figures import Found, label, median, number, seconds, times
from .measure import IDLE, SHORT, WAKE_UPS, WARM_UPS
from .plot import draw
from .reasons import reason_for
from .rounds import CHEAP
from .sections import won
from .wins import Loss, losses, overall

FEW = 5
"""The pairs that a median shall rest on."""


def table(head: list[str], rows: list[list[str]], left: int = 1) -> list[str]:
    """Lines of a Markdown table; the first ``left`` columns are aligned to the left."""
    rules = ["---"] * left + ["---:"] * (len(head) - left)
    return [f"| {' | '.join(row)} |" for row in (head, rules, *rows)]


def report(results: dict[str, Any], plots: Path) -> str:
    """The text; plots are drawn into a folder beside it."""
    cases = results["cases"]
    lines = [
        "# Benchmark report",
        "",
        "Written by `make bench` from its measurements (`results.json`); no figure is typed by hand.",
        "",
        *states(results),
        *wins(cases, results.get("others", {})),
        *must_hold(cases),
        *how(results),
    ]
    for case in cases:
        lines += section(case, plots)
    for title, other in results.get("others", {}).items():
        lines += [f"## {title}", "", *other["lines"], ""]
    return "\n".join([*lines, *APART])


APART = [
    "## Measured apart",
    "",
    "`python -m benchmarks.many_keys`: a million keys in 1,440 windows each, on executors of a Spark of 2 GiB. "
    "`python -m benchmarks.big_key`: 20 million rows of one key in windows of its last thousand rows. "
    "`python -m benchmarks.local`: the reference job alone, in one process, and the processor's time of it. "
    "`python -m benchmarks.parquet`: the same on one Spark. "
    "`make bench-kernels`: accumulate, merge, slide and the local engine by themselves. "
    "[docs/exactness.md](../docs/exactness.md): what rounding does to everybody's results.",
    "",
]
"""What takes too long for this report, or is of another kind."""


def states(results: dict[str, Any]) -> Iterator[str]:
    """Which states of the program were measured, if they are several, or not all of them are commits."""
    measured = [*results["cases"], *results.get("others", {}).values()]
    commits = {of.get("machine", results["machine"])["commit"] for of in measured}
    if dirty := sorted(each for each in commits if each.endswith("-dirty")):
        yield (
            f"**Some figures cannot be measured again as they were: the program had changes that are in no commit "
            f'({", ".join(dirty)}).** "How it was measured" names these sections.'
        )
        yield ""
    if len(commits) > 1:
        yield f"Sections were measured at {len(commits)} states of the program; compare figures within a section only."
        yield ""


def wins(cases: list[Found], others: dict[str, Any]) -> Iterator[str]:
    """Every case that a peer wins, in any section."""
    yield "## Where a peer wins"
    yield ""
    found = losses(cases)
    if found:
        yield (
            "Every case in which one of our ways takes longer than a peer that runs on the same (Spark, or one "
            "process), by the median of pairs of runs, one right after the other. The largest difference comes first; "
            "those where at no point the peer was faster in every pair, which may be noise, come last."
        )
        yield ""
        head = ["case", "peer", "our way", "at", "ours takes, times as long", "pairs that the peer won"]
        yield from table(head, [loss.row() for loss in found], 4)
        yield from why(found)
    else:
        yield "None of our ways takes longer than a peer that runs on the same (Spark, or one process)."
    yield ""
    if elsewhere := list(won(others)):
        yield "In the sections with tables of their own, the largest difference first:"
        yield ""
        yield from table(["section", "case", "peer", "ours takes, times as long"], elsewhere, 3)
        yield ""
    yield from overall(cases)
    yield ""


def why(found: list[Loss]) -> Iterator[str]:
    """Why a peer wins every pair of some point, and what was tried."""
    lines = []
    for loss in found:
        known = reason_for(loss.case, loss.ours, loss.peer) if loss.sure else None
        if loss.sure:
            said = f"{known.why}. Tried: {known.tried}" if known else "**not explained yet**"
            lines.append(f"- {loss.case}, {TITLES[loss.ours]}, against {TITLES[loss.peer]}: {said}.")
    if lines:
        yield from ["", "Where a peer won every pair of a point:", "", *lines]


def must_hold(cases: list[Found]) -> Iterator[str]:
    """The claims."""
    yield "## What must hold"
    yield ""
    yield (
        "Seen: the median of the ratios of two runs, one right after the other, the least and the greatest of them, "
        "and how many pairs there are. Memory is the most that was resident in a new process that runs the job once: "
        "in the largest Python worker of the Spark, or in the process itself where no worker takes part. What the JVM "
        "holds is what it is given, and not among it."
    )
    yield ""
    found = claims(cases)
    words = {True: "yes", False: "**no**", None: "not measured"}
    rows = [[each.what, each.target, each.seen, words[each.holds]] for each in found]
    yield from table(["claim", "asked", "seen", "holds"], rows, 4)
    yield ""
    reasons = [f"- {each.what}: {each.why}." for each in found if each.holds is False and each.why]
    yield from [*reasons, ""] if reasons else []


def where(of: dict[str, Any]) -> str:
    """On what and when something was measured, and what."""
    machine = of["machine"]
    return (
        f"{machine['cores']} cores of {machine['processor']}, {machine['memory']}, {machine['system']}, "
        f"Python {machine['Python']}, commit {machine['commit']}, {of['date']}"
    )


def how(results: dict[str, Any]) -> Iterator[str]:
    """How it was measured, on what, with which versions."""
    yield "## How it was measured"
    yield ""
    yield (
        "Every peer lives in a process of its own, and in an environment of its own where its packages do not go "
        "with ours. A contender's first run at a point does not count, and has its result compared with ours, window "
        "by window: sums to 1e-9 of their size (of 1 where they are smaller), variances to 1e-9. What is short then "
        f"warms up: it runs for {SHORT:g} s more, {WARM_UPS} times at most. Whoever had nothing to do for {IDLE:g} s "
        f"while others ran, after which Spark ends Python workers, warms up again, {WAKE_UPS} times at most; what the "
        "first of these runs took is said below the tables. Then each peer runs in "
        f"turns with our ways that run on the same, there and back: {FEW} times, {2 * FEW} where a round takes under "
        f"{CHEAP:g} s, fewer where it takes too long; so ours run more often than peers do. A time is from the file to "
        "the whole result: in memory, or on Spark and Flink to a sink that throws it away. Figures are medians, in "
        f"seconds; in brackets how many runs where they are fewer than {FEW}."
    )
    yield ""
    runs: dict[str, list[str]] = {}
    others = {f'"{title}"': other for title, other in results.get("others", {}).items()}
    for name, of in [*((case["name"], case) for case in results["cases"]), *others.items()]:
        runs.setdefault(where({key: of.get(key, results[key]) for key in ("machine", "date")}), []).append(name)
    if len(runs) == 1:
        yield f"{next(iter(runs))}."
    for place, names in runs.items() if len(runs) > 1 else ():
        yield f"- {', '.join(names)}: {place}."
    yield ""
    if results.get("scale", 1.0) != 1.0:
        yield f"The numbers of events are {results['scale']:g} times the usual ones, but for the axis of events."
        yield ""
    versions: dict[str, str] = {}
    for found in results["versions"].values():
        versions |= {name: of for name, of in found.items() if name not in versions}
    yield ", ".join(f"{name} {of}" for name, of in versions.items()) + "."
    if "Polars for decoding" in versions:
        yield "framefold has its extra `fast`: numbers in local Parquet files come from Polars, the rest from pyarrow."
    yield ""
    for module, reason in results["unavailable"].items():
        yield f"- **{module} took no part**: {reason}"
    wrong = [
        f"- **{TITLES[contender]}, {case['title']}, {label(case, float(x))}: differs from ours**: {entry['check']}"
        for case in results["cases"]
        for contender, at in case["found"].items()
        for x, entry in at.items()
        if entry.get("check", {}).get("wrong")
    ]
    yield from wrong
    compared = sum(
        "check" in entry for case in results["cases"] for at in case["found"].values() for entry in at.values()
    )
    yield f"{compared} results were compared, {len(wrong)} of them wrong."
    yield ""


def section(case: Found, plots: Path) -> Iterator[str]:
    """A case: its table, its plot, and what is to be known of those who took part."""
    yield f"## {case['title']}"
    yield ""
    if case["about"]:
        yield case["about"]
        yield ""
    points = [point["x"] for point in case["points"]]

    def cell(way: str, x: float) -> str:
        runs = len(times(case, way, x))
        return seconds(median(case, way, x)) + (f" ({runs})" if 0 < runs < FEW else "")

    def name(way: str) -> str:
        return f"**{TITLES[way]}**" if ours(way) else TITLES[way]

    ways = sorted(case["found"], key=lambda way: [median(case, way, x) or 1e9 for x in reversed(points)])
    head = [case["axis"] or "seconds", *(label(case, x) for x in points)]
    yield from table(head, [[name(way), *(cell(way, x) for x in points)] for way in ways])
    yield ""
    counts = [number(point["windows"]) if point["windows"] else "?" for point in case["points"]]
    same = len(set(counts)) == 1
    results = f"At each point {counts[0]}" if same else f"In turn {', '.join(counts)}"
    yield f"{results} results."
    yield ""
    if picture := draw(case, plots):
        yield f"![{case['title']}]({picture})"
        yield ""
    yield from notes(case, ways)


def notes(case: Found, ways: list[str]) -> Iterator[str]:
    """What contenders leave out or add, and where one took no part."""
    lines = []
    for way in ways:
        missing = max((entry.get("check", {}).get("missing", 0) for entry in case["found"][way].values()), default=0)
        if missing:
            lines.append(
                f"- {TITLES[way]} leaves out {LEAVES_OUT.get(way, 'windows')}: up to {number(missing)} of them."
            )
        idle = {x: entry["after_idling"] for x, entry in case["found"][way].items() if "after_idling" in entry}
        if idle and ours(way):
            taken = ", ".join(
                f"{seconds(statistics.median(each))} at {label(case, float(x))}" for x, each in idle.items()
            )
            lines.append(f"- {TITLES[way]}, the first run after {IDLE:g} s of idling, in seconds: {taken}.")
        if way in ALSO:
            lines.append(f"- {TITLES[way]} {ALSO[way]}.")
    reasons: dict[tuple[str, str], list[str]] = {}
    for left in case["left_out"]:
        reasons.setdefault((left["contender"], left["reason"]), []).append(label(case, left["x"]))
    for (way, reason), at in reasons.items():
        lines.append(f"- {TITLES[way]} took no part at {', '.join(at)}: {reason}.")
    yield from [*lines, ""] if lines else []
