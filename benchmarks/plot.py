"""Plots of the measurements: ours in colour, theirs in grey, logarithmic axes; the same figures give the same file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .contestants import TITLES, ours
from .figures import Found, curve

OURS = ("#d1495b", "#00798c", "#edae49", "#66a182", "#8d5a97", "#2e4057", "#c97b84")
THEIRS = ("#333333", "#777777", "#aaaaaa")
DASHES = ("-", "--", ":", "-.")
MARKS = "os^Dv<>pPX"


def draw(case: Found, folder: Path) -> str | None:
    """Draw a case, if it has an axis with two points.

    Returns
    -------
    str or None
        The path of the picture, relative to the folder's parent.
    """
    lines = {way: points for way in case["found"] if len(points := curve(case, way)) > 1}
    if not case["axis"] or not lines:
        return None
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "framefold", "svg.fonttype": "none", "font.size": 9}
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    figure, axes = pyplot.subplots(figsize=(8.5, 4.5), layout="constrained")
    order = sorted(lines, key=lambda way: -lines[way][-1][1])
    mine, theirs = [way for way in lines if ours(way)], [way for way in lines if not ours(way)]
    for way in order:
        x, y = zip(*lines[way], strict=True)
        if way in mine:
            number = mine.index(way)
            look: dict[str, Any] = {"color": OURS[number % len(OURS)], "linewidth": 2.2, "zorder": 3}
        else:
            number = theirs.index(way)
            shade, dash = THEIRS[number % len(THEIRS)], DASHES[1 + number // len(THEIRS) % 3]
            look = {"color": shade, "linewidth": 1.1, "linestyle": dash, "zorder": 2}
        axes.plot(x, y, marker=MARKS[number % len(MARKS)], markersize=4, label=TITLES[way], **look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([point["x"] for point in case["points"]])
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    plain = FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(plain)
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(case["axis"])
    axes.set_ylabel("seconds, median")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    folder.mkdir(exist_ok=True)
    path = folder / f"{case['name']}.svg"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return f"{folder.name}/{path.name}"
