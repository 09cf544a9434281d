"""The reference of the site: each public name with its signature and docstring, as pages of Markdown.

``docs/make_site.py`` puts them among the other pages. The page of a name follows from the module that exports it.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any, get_origin

import framefold as ff

PAGES = {
    "queries": "Data in, windows, results: what a query is made of.",
    "windows": "Kinds of windows. With pictures: [Windows](../windows.md).",
    "aggregates": "What is computed of windows. Side by side in tables: [Aggregates](../aggregates.md).",
    "own-aggregates": "What an aggregate of yours is made of: [how to write one](../write-your-own-aggregate.md).",
    "relations": "Rows with their validity: [Validity and relations](../validity-and-relations.md).",
    "partials-at-rest": "Partials that stay in files: [Every day again](../every-day-again.md).",
    "errors": "What is raised, and what is warned of.",
}
"""The pages, with what each begins with."""

OF_MODULES = {
    "aggregators.errors": "errors",
    "aggregators.operations": "aggregates",
    "aggregators.laws.check": "own-aggregates",
    "aggregators.weekdays": "windows",
    "from_aggregator": "own-aggregates",
    "relations": "relations",
    "runtime.windows": "windows",
    "stored": "partials-at-rest",
    "windows": "windows",
}
"""The page of what a module exports; what others export is among the queries."""

WRITTEN = ("create", "accumulate", "combine", "deduct", "finish")
OF_OWN = {
    "AggregateOperation": (*WRITTEN, "finish_ranges", "over", "filled", "then"),
    "PythonOperation": WRITTEN,
    "Frames": (
        "where",
        "repeated",
        "count",
        "sum",
        "exact_sum",
        "compensated_sum",
        "min",
        "max",
        "first",
        "last",
        "mean",
        "group",
    ),
    "State": (),
}
"""What own aggregates are made of, with the methods that are written or called there."""

GIVEN = ("Events", "Explanation", "Expr", "Relation", "StoredPartials", "Windowed")
"""Classes whose objects users are given, and do not make."""

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(\S.*)\n((?: .*\n|\n(?= ))+)", re.MULTILINE)
SESSION = re.compile(r"^>>> .*\n(?:.+\n)*", re.MULTILINE)
TABLE = re.compile(r"^=+ .*\n(?:.+\n)+", re.MULTILINE)
ROLE = re.compile(r":\w+:`~?([\w.]+)`")
KEPT = "\N{NO-BREAK SPACE}"


def pages_of_names() -> dict[str, str]:
    """The page of each public name."""
    found: dict[str, str] = {}
    for module in ff._MODULES:
        for name in importlib.import_module(f"framefold.{module}").__all__:
            found.setdefault(name, "own-aggregates" if name in OF_OWN else OF_MODULES.get(module, "queries"))
    return found


def methods(name: str) -> Iterator[tuple[str, Any]]:
    """The methods that are said with a class."""
    value = getattr(ff, name)
    if name in GIVEN:
        public = [each for each in vars(value) if not each.startswith("_") and each != "described"]
        yield from ((each, made) for each in public if (made := inspect.getattr_static(value, each)).__doc__)
    yield from ((each, getattr(value, each)) for each in OF_OWN.get(name, ()))


class Word(str):
    """An annotation as it is written."""

    __repr__ = str.__str__


def signature(name: str, value: Any) -> str:
    """How a name is called, as Python; nothing where users do not call it."""
    if name in GIVEN or not callable(value) or (inspect.isclass(value) and issubclass(value, Exception)):
        return ""
    called = inspect.signature(value)
    parameters = [each.replace(annotation=worded(each.annotation)) for each in called.parameters.values()]
    if parameters and parameters[0].name == "self":
        del parameters[0]
    made = called.replace(
        parameters=parameters, return_annotation=worded(Any if inspect.isclass(value) else called.return_annotation)
    )
    whole = re.sub("(?<!,) ", KEPT, name + str(made))
    lines = textwrap.wrap(whole, 88, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace(KEPT, " ")


def worded(annotation: Any) -> Any:
    """An annotation without quotes; none where it says nothing."""
    return Word(annotation) if isinstance(annotation, str) and annotation != "Any" else inspect.Signature.empty


def heading(name: str) -> str:
    """What is above a name: of ``Events`` and ``events``, which differ in case only, not the same."""
    return f"class {name}" if name in GIVEN else name


def slug(heading: str) -> str:
    """The anchor of a heading, as the builder and code hosts make it."""
    return heading.lower().replace(".", "").replace(" ", "-")


def entries(text: str) -> str:
    """Parameters or errors, each with what is said of it, as a list."""
    return ENTRY.sub(lambda each: f"- `{each[1]}`: {' '.join(each[2].split())}\n", text)


def prose(text: str, where: dict[str, str], here: str) -> str:
    """A part of a docstring: its roles are links where they name what is public, its sessions are blocks."""

    def role(match: re.Match[str]) -> str:
        name = match[1].removeprefix("framefold.")
        page = where.get(name.partition(".")[0])
        code = f"`{name}`"
        return f"[{code}]({'' if page == here else page + '.md'}#{slug(heading(name))})" if page else code

    text = re.sub(r"^::\n\n|(?<=:):$", "", ROLE.sub(role, text), flags=re.MULTILINE)
    text = TABLE.sub(lambda table: f"```text\n{table[0]}```\n", text)
    return SESSION.sub(lambda session: f"```pycon\n{session[0]}```\n", text)


def described(text: str, where: dict[str, str], here: str) -> str:
    """A docstring as Markdown."""
    begin, *parts = SECTION.split(text + "\n")
    found = [begin]
    for title, part in zip(parts[::2], parts[1::2], strict=True):
        found += [f"**{title}**\n", entries(part) if title in ("Parameters", "Raises") else part]
    return "\n".join(prose(each, where, here).strip() + "\n" for each in found)


def entry(name: str, value: Any, level: str, where: dict[str, str], here: str) -> str:
    """What is said of one name."""
    called = signature(name, value)
    block = f"```python\n{called}\n```\n\n" if called else ""
    return f"{level} {heading(name)}\n\n{block}{described(inspect.getdoc(value) or '', where, here)}"


def pages() -> dict[str, str]:
    """The Markdown of each page, by its file's name."""
    where = pages_of_names()
    found = {}
    for page, begin in PAGES.items():
        parts = [f"# {page.capitalize().replace('-', ' ')}\n\n{begin}\n"]
        for name in sorted((each for each in where if where[each] == page), key=str.lower):
            value = getattr(ff, name)
            if isinstance(value, str):
                continue
            if get_origin(value):
                parts.append(f"## {name}\n\nAn annotation: `{value}`.\n")
            elif inspect.isclass(value) and value.__name__ != name:
                parts.append(f"## {name}\n\nAnother name of [`{value.__name__}`](#{value.__name__.lower()}).\n")
            else:
                parts.append(entry(name, value, "##", where, page))
            parts += [entry(f"{name}.{each}", method, "###", where, page) for each, method in methods(name)]
        found[f"{page}.md"] = "\n".join(parts)
    return found
