"""The arguments of ``framefold run``, from text to values or operations."""

from __future__ import annotations

import datetime
import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from inspect import BoundArguments, Parameter
from typing import Any, cast

from ...aggregators.contract.operation import Operation
from ...aggregators.errors import QueryError, nearest
from ...named import NAMED
from .inputs import STANDARD, is_address


def number(duration: str) -> int | str:
    """A duration without a unit as the integer it is, for integer time columns.

    >>> number("60"), number("1 hour")
    (60, '1 hour')
    """
    return int(duration) if re.fullmatch(r"\s*[+-]?\d{1,18}\s*", duration) else duration


def value(text: str) -> Any:
    """A number, or a date or time in ISO format, from its text; the text itself where it is neither.

    >>> value("3"), value("0.5"), value("2024-01-31"), value("red")
    (3, 0.5, datetime.date(2024, 1, 31), 'red')
    """
    readers: tuple[Callable[[str], Any], ...]
    readers = (int, float, datetime.date.fromisoformat, datetime.datetime.fromisoformat)
    for reader in readers:
        with suppress(ValueError):
            return reader(text.strip())
    return text


def values(text: str) -> Any:
    """One value, or a list of several.

    >>> values("0.5"), values("0,10,20")
    (0.5, [0, 10, 20])
    """
    several = [value(each) for each in text.split(",")]
    return several if len(several) > 1 else several[0]


def truth(text: str) -> Any:
    """True or False from its text; the text itself where it is neither."""
    return {"true": True, "false": False}.get(text.strip().lower(), text)


MASTER = re.compile(
    r"local(\[(\*|[1-9]\d*)(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|(spark|k8s|sc)://.+|yarn", re.ASCII | re.IGNORECASE
)
"""The master URLs of Spark, and the addresses of Connect; for others its JVM prints a traceback."""

READERS: dict[str, Callable[[str], Any]] = {
    "Sequence": values,
    "bool": truth,
    "Duration": number,
    "int": value,
    "float": value,
    "str": str,
    "ColumnLike": str,
    "Literal": str,
    "Output": str,
    "object": value,
}
"""The parsers of options, by a word in the type of the operation's parameter."""


def reader_of(parameter: Parameter, readers: Mapping[str, Callable[[str], Any]]) -> Callable[[str], Any] | None:
    """The parser of a parameter's text, by a word in its type; None where there is none."""
    words = re.findall(r"\w+", str(parameter.annotation))
    return next((readers[word] for word in readers if word in words), None)


def split_options(text: str) -> tuple[str, list[tuple[str, str]]]:
    """What stands in front of options, and these by their names.

    >>> split_options("a,b:n=3,q=0.5,0.9"), split_options("a,b")
    (('a,b', [('n', '3'), ('q', '0.5,0.9')]), ('a,b', []))
    """
    if (found := re.fullmatch(r"(?:(.*?):)?(\w+=.*)", text)) is None:
        return text, []
    pairs = (each.partition("=") for each in re.split(r",(?=\s*\w+=)", found[2]))
    return found[1] or "", [(name.strip(), said) for name, _, said in pairs]


def read_options(options: list[tuple[str, str]], known: Collection[str], where: str) -> dict[str, str]:
    """Options, each given once; QueryError, which begins with ``where``, where one is unknown or is given again."""
    given: dict[str, str] = {}
    for name, said in options:
        if name not in known:
            raise QueryError(
                f"{where} the unknown option {name!r}; {nearest(name, known) if known else 'it takes none'}"
            )
        if name in given:
            raise QueryError(f"{where} {name} twice; expected it once")
        given[name] = said
    return given


def is_column(parameter: Parameter) -> bool:
    """Whether a parameter of an operation takes the name of a column, by its place."""
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return True
    column = str(parameter.annotation).removesuffix(" | None") in ("str", "ColumnLike")
    named = column and parameter.default in (Parameter.empty, None)
    return named and parameter.kind is Parameter.POSITIONAL_OR_KEYWORD


def options_of(kind: type[Operation]) -> dict[str, Callable[[str], Any]]:
    """The options of an operation that an argument can give, with the parser of each."""
    readers = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        reader = reader_of(parameter, READERS)
        if reader is not None and not is_column(parameter):
            readers[name] = reader
    return readers


def is_expressible(kind: type[Operation]) -> bool:
    """Whether columns and options are enough to make an operation: those made of others, or of functions, are not."""
    readers = options_of(kind)
    return all(
        name in readers or is_column(each) or each.default is not Parameter.empty
        for name, each in inspect.signature(kind).parameters.items()
    )


OPERATIONS = {name: kind for name, kind in NAMED.items() if is_expressible(kind)}
"""The operations of ``--agg`` by their names: all that are exported and that columns and options make."""

ALIASES = {"avg": "average", "mean": "average", **{name.replace("_", ""): name for name in OPERATIONS if "_" in name}}
"""Other names for some of them."""


def split(names: str, columns: list[str]) -> list[str]:
    """Columns from a list with commas, unless it is the name of a column as it stands.

    >>> split("a,b", ["a", "b"]), split("a,b", ["a,b"])
    (['a', 'b'], ['a,b'])
    """
    return [names] if names in columns else [name.strip() for name in names.split(",")]


def read_aggregates(texts: list[str], columns: list[str]) -> dict[str, Operation]:
    """The operations of ``--agg``.

    Parameters
    ----------
    texts
        ``NAME=OP[:COLUMN,...[:OPTION=VALUE,...]]``.
    columns
        The columns there are.

    Raises
    ------
    QueryError
        If one is invalid.

    Examples
    --------
    >>> read_aggregates(["n=count", "speed=average:speed", "top=top_n:speed:n=3"], ["speed"])
    {'n': Count(), 'speed': Average('speed'), 'top': TopN('speed')}
    """
    outputs: dict[str, Operation] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        name, rest = name.strip(), rest.strip()
        if not (name and equals and rest) or ":" in name:
            raise QueryError(
                f"--agg {text!r} is not an output; expected NAME=OP:COLUMN, such as speed=average:speed or n=count"
            )
        if name in outputs:
            raise QueryError(f"--agg names the output {name!r} twice; expected another name for one of them")
        outputs[name] = _operation(text, rest, columns)
    return outputs


def _operation(text: str, rest: str, names: list[str]) -> Operation:
    word, _, arguments = rest.partition(":")
    name = word.strip().lower()
    kind = OPERATIONS.get(ALIASES.get(name, name))
    if kind is None:
        offered = nearest(word, [*OPERATIONS, *ALIASES])
        raise QueryError(f"--agg {text!r} asks for the unknown operation {word!r}; {offered}")
    columns, said = (arguments, []) if arguments in names else split_options(arguments)
    readers = options_of(kind)
    given = read_options(said, [*readers, "filled"], f"--agg {text!r} gives {word}")
    how = given.pop("filled", None)
    options = {name: readers[name](each) for name, each in given.items()}
    made = _made(kind, split(columns, names) if columns else [], options, text, word)
    return made if how is None else made.filled(cast(Any, how))


def _made(kind: type[Operation], columns: list[str], options: dict[str, Any], text: str, word: str) -> Operation:
    """The operation, with its columns and options where its parameters want them."""
    bound, missing, left = BoundArguments(inspect.signature(kind), dict(options)), [], list(columns)
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is Parameter.VAR_POSITIONAL:
            bound.arguments[name], left = tuple(left), []
        elif is_column(parameter) and left:
            bound.arguments[name] = left.pop(0)
        elif parameter.default is Parameter.empty and name not in options:
            missing.append(name)
    if left or missing:
        columns_said = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
        found = columns_said if left or not set(missing) & options_of(kind).keys() else f"no {missing[0]}="
        raise QueryError(f"--agg {text!r} gives {word} {found}; expected {usage(kind, word)}")
    bound.apply_defaults()
    return cast(Any, kind)(*bound.args, **bound.kwargs)  # type: ignore[no-any-return]


def usage(kind: type[Operation], word: str) -> str:
    """How an operation is written: its columns, and the options that it must have.

    >>> usage(OPERATIONS["top_n"], "top_n"), usage(OPERATIONS["count"], "count")
    ('top_n:COLUMN[,COMPANIONS...]:n=N', 'count or count:COLUMN')
    """
    columns, needed = "", []
    parameters = inspect.signature(kind).parameters
    for name, parameter in parameters.items():
        if parameter.kind is Parameter.VAR_POSITIONAL:
            columns += f"[,{name.upper()}...]"
        elif is_column(parameter):
            columns += f",{name.upper()}" if columns else name.upper()
        elif parameter.default is Parameter.empty:
            needed.append(f"{name}={name.upper()}")
    said = ":".join(filter(None, [word, columns, ",".join(needed)]))
    optional = any(is_column(each) and each.default is None for each in parameters.values())
    return f"{word} or {said}" if optional else said


def is_cluster(master: str) -> bool:
    """Whether a master has tasks run on other machines.

    >>> is_cluster("yarn"), is_cluster("local[4]"), is_cluster("local-cluster[2,1,1024]"), is_cluster("sc://localhost")
    (True, False, False, False)
    """
    return not re.match(r"local|sc://(localhost|127\.0\.0\.1)(:|/|$)", master)


def check_shared(master: str, paths: Sequence[str]) -> None:
    """QueryError where a cluster is given a path that it need not have."""
    if not is_cluster(master):
        return
    for path in paths:
        if not is_address(path):
            found = "standard input or output" if path == STANDARD else "a path"
            raise QueryError(
                f"{path!r} is {found} of this machine, and --master is {master!r}, whose machines need not have it; "
                "expected an address such as hdfs://... or s3a://..., or file:///... for what all of them share"
            )
