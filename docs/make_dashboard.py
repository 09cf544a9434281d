"""The picture of the dashboard in docs/watching.md: its own queries, put to a Prometheus that runs, drawn by Altair.

``python docs/make_dashboard.py http://127.0.0.1:9090 docs/pictures/dashboard.png`` draws the last ten minutes, while
``examples/watching/watched.py`` runs. Grafana draws the same panels, in its own manner.
"""

from __future__ import annotations

import argparse
import json
import time
import urllib.parse
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import altair as alt

DASHBOARD = Path(__file__).parents[1] / "examples" / "watching" / "dashboard.json"
STEP = 5
"""Seconds between two points."""
WIDTH, HEIGHT = 54, 30
"""Pixels of one of the 24 columns of the dashboard, and of one of its rows."""
AXES = {"cps": "a second", "s": "seconds", "bytes": "bytes", "short": "", "none": ""}
"""What an axis says of the units of the dashboard."""


class Value(NamedTuple):
    """One point of one line."""

    at: int
    value: float
    line: str


def asked(server: str, query: str, minutes: float) -> list[Any]:
    """What a server of Prometheus answers to a query of a panel: a series for each set of labels."""
    until = time.time()
    interval = f"{4 * STEP}s"  # which Grafana makes of the interval in which Prometheus reads
    expression = query.replace("$__rate_interval", interval).replace("$query", ".*")
    words = {"query": expression, "start": until - 60 * minutes, "end": until, "step": STEP}
    url = f"{server.rstrip('/')}/api/v1/query_range?{urllib.parse.urlencode(words)}"
    with urllib.request.urlopen(url, timeout=20) as answer:
        found: list[Any] = json.load(answer)["data"]["result"]
    return found


def values(server: str, target: dict[str, str], minutes: float) -> list[Value]:
    """The points of all lines of a query, named as the dashboard says."""
    return [
        Value(int(float(at) * 1000), float(value), target["legendFormat"].replace("{{query}}", each["metric"]["query"]))
        for each in asked(server, target["expr"], minutes)
        for at, value in each["values"]
        if value != "NaN"
    ]


def panel(server: str, minutes: float, said: dict[str, Any]) -> Any:
    """One panel: its lines, or where it is of one figure the last one.

    Raises
    ------
    SystemExit
        If Prometheus has nothing to show on it.
    """
    points = [each for target in said["targets"] for each in values(server, target, minutes)]
    if not points:
        raise SystemExit(f"make_dashboard: Prometheus has nothing for the panel {said['title']!r} yet")
    unit, place = said["fieldConfig"]["defaults"].get("unit", "none"), said["gridPos"]
    title = alt.Title(said["title"], anchor="start", fontSize=12)
    size = {"width": place["w"] * WIDTH - 70, "height": place["h"] * HEIGHT - 60}
    if said["type"] == "stat":
        last = points[-1].value
        word = ("no", "yes")[int(last)] if unit == "bool_yes_no" else f"{last:.1f} s" if unit == "s" else f"{last:,.0f}"
        shown = alt.Chart(alt.Data(values=[{"word": word}]), title=title, **size)
        return shown.mark_text(fontSize=30, color="#3274d9").encode(text="word:N")
    data = alt.Data(values=[each._asdict() for each in points])
    kind = ".3~g" if unit == "s" else ".3~s"
    lines = alt.Chart(data, title=title, **size).mark_line()
    return lines.encode(
        alt.X("at:T", title=None, axis=alt.Axis(format="%H:%M", tickCount=5)),
        alt.Y(
            "value:Q",
            title=AXES[unit] or None,
            axis=alt.Axis(format=kind, tickCount=4, minExtent=40, maxExtent=40),
            scale=alt.Scale(domainMin=0),
        ),
        alt.Color("line:N", title=None, legend=alt.Legend(orient="bottom", columns=2)),
    )


def picture(server: str, minutes: float) -> Any:
    """All panels, in the rows in which they are on the dashboard."""
    rows: dict[int, list[Any]] = {}
    for said in json.loads(DASHBOARD.read_text())["panels"]:
        rows.setdefault(said["gridPos"]["y"], []).append(said)
    drawn = partial(panel, server, minutes)
    across = [
        alt.hconcat(*map(drawn, sorted(row, key=lambda each: each["gridPos"]["x"]))).resolve_scale(color="independent")
        for _, row in sorted(rows.items())
    ]
    return alt.vconcat(*across).resolve_scale(color="independent").configure_view(stroke="#ccc")


def main() -> None:
    """Draw it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("server", help="the address of Prometheus")
    parser.add_argument("picture", help="the file, PNG or SVG")
    parser.add_argument("--minutes", type=float, default=10.0)
    said = parser.parse_args()
    picture(said.server, said.minutes).save(said.picture, scale_factor=1.0)


if __name__ == "__main__":
    main()
