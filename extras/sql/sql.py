"""``ff.sql``: a query over windows in SQL, answered by an engine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from ...aggregators.contract.operation import Operation
from ...aggregators.errors import ColumnError, QueryError, nearest
from ...engines import engine_for
from ...events import Events
from ...runtime.columns.field_types import keys_in, type_of
from ...runtime.plan.window_inputs import own_name
from ...runtime.results.selected import Order, Selection, selected
from ...start import events
from .calls import is_call, literal, operation, or_none, refused, unknown_call
from .trees import as_few, column, conjuncts, expression, kind, parsed, path_of, replaced, text_of
from .windowing import NAMES, Over, Windowing, frame_of, of_group, of_over, of_table, require_apart, require_whole

__all__ = ["sql"]

CLAUSES = {"with_", "expressions", "from_", "where", "group", "having", "windows", "order", "limit", "offset"}
CLAUSES |= {"partition"}
KNOWN = "WHERE, GROUP BY, HAVING, WINDOW, ORDER BY and LIMIT"
WORDS = (
    (r"^time= names the unknown column", "the query has windows of the unknown column"),
    (r"^time= needs a column of (.*?); parse it .*", r"the query has windows of a time that is none; expected \1"),
    (r"^by= names", "the query names"),
    (r"^(.+?)=\w+\(.*?\) names the unknown column", r"\1 names the unknown column"),
    (r"^the condition of where\(\) (.*?) names", r"the condition \1 of WHERE names"),
)
WINDOWS = "a function of windows: FROM TUMBLE(...), GROUP BY window(...), or OVER (...)"


def sql(query: str, /, **tables: Any) -> Any:
    """What a query in SQL gives of tables: aggregates over windows, as :func:`~framefold.events` gives them.

    Windows are functions of tables in ``FROM`` (``TUMBLE``, ``HOP``, ``CUMULATE``, ``SESSION``, as Flink, BigQuery and
    RisingWave write them), functions in ``GROUP BY`` (``window`` and ``session_window`` of Spark, ``TUMBLE`` and others
    of Flink), or frames: ``OVER (PARTITION BY ... ORDER BY time RANGE BETWEEN ...)``. Aggregates have SQL's names, or
    are operations by theirs, such as ``geometric_mean(x)``; all else in it is as :func:`~framefold.expr` has it. A
    query is one ``SELECT`` of one table, or of another ``SELECT``. It needs sqlglot, the extra ``framefold[sql]``.

    Parameters
    ----------
    query
        The SQL. What is not known is refused by its name.
    **tables
        What the tables are that it names: whatever :func:`~framefold.events` takes, or events, with their ``ties=`` and
        choices.

    Returns
    -------
    A Spark DataFrame for data on Spark, a pyarrow Table otherwise, with the columns of the ``SELECT``.

    Raises
    ------
    QueryError, OperationError
        If the query is no such SQL, or does not fit the tables: before anything runs.
    EngineError
        If sqlglot is not installed.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> trips = pa.table({"at": [0, 30, 70], "driver": ["ann", "bob", "ann"], "speed": [20.0, 25.0, 30.0]})
    >>> ff.sql("SELECT window_start, MAX(speed) AS top FROM TUMBLE(trips, at, 60) GROUP BY window_start", trips=trips)
    pyarrow.Table
    window_start: int64
    top: double
    ----
    window_start: [[0,60]]
    top: [[25,30]]
    """
    try:
        return Query(parsed(query), tables).result()
    except QueryError as error:
        if (said := in_words_of_sql(str(error))) == str(error):
            raise
        raise type(error)(said) from error


def in_words_of_sql(said: str) -> str:
    """Words about an argument of Python, in the words of the query that stands for it."""
    for words, instead in WORDS:
        said = re.sub(words, instead, said)
    return said


@dataclass(frozen=True)
class Origin:
    """Where the rows of a ``SELECT`` come from.

    Attributes
    ----------
    data
        What was given, or the result of another ``SELECT``.
    own
        Whether it is such a result.
    names
        What the names of an inner ``SELECT`` stand for; those that are not there are columns, if it is ``open``.
    conditions, before
        What inner ``SELECT`` s ask of rows; how many of these are asked before rows get their windows.
    windowing
        The windows of a function of tables.
    alias
        What columns may be qualified by.
    """

    data: Any
    own: bool = False
    names: Mapping[str, Any] | None = None
    open: bool = True
    conditions: tuple[Any, ...] = ()
    before: int = 0
    windowing: Windowing | None = None
    alias: str = ""

    def meant(self, node: Any) -> Any:
        """A part of an outer ``SELECT`` in terms of the data."""

        def by(each: Any) -> Any:
            path = path_of(each)
            if path is None:
                return None
            if len(path) > 1 and path[0].lower() == self.alias.lower():
                path = path[1:]
            if len(path) == 1 and self.names is not None and path[0] in self.names:
                return self.names[path[0]]
            if not self.open and path[0] not in (self.names or {}) and path[0].lower() not in NAMES:
                raise ColumnError(f"the query names the unknown column {'.'.join(path)!r}; "
                                  f"{nearest(path[0], self.names or {})}")  # fmt: skip
            return column(*path)

        return replaced(node, by)


class Named(NamedTuple):
    """A ``SELECT`` in ``WITH``, and the tables that it may name."""

    select: Any
    tables: Mapping[str, Any]


class Query:
    """A ``SELECT`` of some tables."""

    def __init__(self, select: Any, tables: Mapping[str, Any]) -> None:
        for name, value in select.args.items():
            if value and name not in CLAUSES:
                parts = value if isinstance(value, list) else [value]
                said = ", ".join(text_of(each) if hasattr(each, "sql") else str(each) for each in parts)
                raise QueryError(
                    f"the query has {said or name.upper()}; expected one SELECT of one table, with {KNOWN}"
                )
        self.select = select
        self.tables = tables
        for each in getattr(select.args.get("with_"), "expressions", ()):
            self.tables = {**self.tables, each.alias: Named(each.this, self.tables)}
        source = select.args.get("from_")
        if source is None:
            raise refused(select, "SELECT ... FROM a table")
        self.origin = self.origin_of(source.this)

    def origin_of(self, source: Any) -> Origin:
        """Where the rows of a part of ``FROM`` come from."""
        alias = source.alias if hasattr(source, "alias") else ""
        if kind(source) == "TableFromRows" or (kind(source) == "Table" and hasattr(source.this, "sql_names")):
            call = source.this
            while kind(call) == "Anonymous" and call.name.upper() == "TABLE" and len(call.expressions) == 1:
                call = call.expressions[0]
            found = of_table(call)
            if found is None:
                raise refused(call, "TUMBLE, HOP, CUMULATE, SESSION, or the name of a table")
            table, windowing = found
            of = self.origin_of(table)
            if of.windowing is not None:
                raise refused(call, "windows of a table that has none yet")
            meant = replace(windowing, time=of.meant(windowing.time), keys=tuple(map(of.meant, windowing.keys or ())))
            return replace(of, windowing=meant, alias=alias, before=len(of.conditions))
        if kind(source) == "Select":
            return replace(inner(Query(source, self.tables)), alias=alias)
        more = any(source.args.get(each) for each in ("joins", "pivots", "laterals", "sample"))
        if more or kind(source) not in ("Subquery", "Table", "Column"):
            raise refused(source, "one table, or one SELECT in brackets")
        if kind(source) == "Subquery":
            return replace(self.origin_of(source.this), alias=alias)
        name = ".".join(each.name for each in source.parts)
        data = self.table(name)
        if isinstance(data, Named):
            return replace(inner(Query(*data)), alias=alias or name)
        return Origin(data, alias=alias or name.rpartition(".")[2])

    def table(self, name: str) -> Any:
        """The table of a name, in whatever case, without that of its database if that is not given."""
        for each in (name, name.rpartition(".")[2]):
            for known, data in self.tables.items():
                if known.lower() == each.lower():
                    return data
        raise QueryError(f"the query asks for the table {name!r}; {nearest(name, self.tables)}")

    @property
    def is_plain(self) -> bool:
        """Whether it has nothing but columns of its rows, conditions and an order."""
        grouped = any(self.select.args.get(each) for each in ("group", "having", "windows"))
        return not grouped and not any(is_call(each) or kind(each) == "Window" for each in self.walk())

    def walk(self) -> Iterator[Any]:
        """All parts but those of inner ones."""
        yield from self.select.walk(prune=lambda each: kind(each) in ("From", "With"))

    def items(self, names: Sequence[str] = ()) -> Iterator[tuple[str, Any]]:
        """What is selected, by name; ``names`` are what ``*`` is."""
        for each in self.select.expressions:
            if kind(each) == "Star" and not any(each.args.values()):
                yield from ((name, column(name)) for name in names)
                continue
            if kind(each) == "Star" or (kind(each) == "Column" and kind(each.this) == "Star"):
                raise refused(each, "* alone, or columns by their names")
            path = path_of(each)
            yield (each.alias, each.this) if kind(each) == "Alias" else (path[-1] if path else text_of(each), each)

    @property
    def starred(self) -> bool:
        return any(kind(each) == "Star" for each in self.select.expressions)

    @property
    def conditions(self) -> list[Any]:
        """What ``WHERE`` asks."""
        where = self.select.args.get("where")
        return [] if where is None else [self.origin.meant(each) for each in conjuncts(where.this)]

    def result(self) -> Any:
        """The result, by the engine of the data."""
        overs = list(self.of_rows())
        if overs:
            return self.beside(overs)
        groups = self.groups()
        windows = [found for each in groups if (found := of_group(each)) is not None]
        if self.origin.windowing is not None:
            windows.insert(0, self.origin.windowing)
        if len(windows) > 1:
            raise refused(windows[1].call, "windows once in a query")
        if windows:
            return self.aggregated(windows[0], groups)
        if self.origin.own and self.is_plain:
            return rows_of(self.origin.data, self.selection(self.conditions, self.origin.meant, self.names()))
        raise refused(self.select, WINDOWS)

    def groups(self) -> list[Any]:
        """What ``GROUP BY`` names: columns, numbers of what is selected, its names, or expressions."""
        group = self.select.args.get("group")
        if group is None:
            return []
        odd = [each for name, each in group.args.items() if each and name != "expressions"]
        odd += [each for each in group.expressions if kind(each) in ("GroupingSets", "Rollup", "Cube", "Tuple")]
        if odd:
            raise refused(group, "GROUP BY columns and windows")
        own = {*self.names()}
        named = {name: each for name, each in self.items() if name not in own}
        found = []
        for each in group.expressions:
            if kind(each) == "Literal" and not each.is_string:
                each = self.numbered(each)
            elif (path := path_of(each)) is not None and len(path) == 1 and path[0] in named:
                each = named[path[0]]
            found.append(self.origin.meant(each))
        return found

    def numbered(self, number: Any) -> Any:
        """What is selected, by its number from 1 on."""
        columns = [each for _, each in self.items()]
        at = literal(number)
        if not isinstance(at, int) or not 0 < at <= len(columns) or self.starred:
            raise refused(number, f"a number from 1 to {len(columns)}, of what is selected")
        return columns[at - 1]

    def of_rows(self) -> Iterator[tuple[Any, Over]]:
        """Each ``OVER``, and what it takes in."""
        named = {each.name: each for each in self.select.args.get("windows") or ()}
        for each in self.walk():
            if kind(each) == "Window" and each.arg_key != "windows":
                said = of_over(each, named)
                keys = tuple(map(self.origin.meant, said.keys))
                yield each, replace(said, keys=keys, time=self.origin.meant(said.time))

    def events(self, time: Any, keys: Sequence[Any], conditions: Sequence[Any]) -> tuple[Events[Any], list[str]]:
        """The events of the data, and the names of the columns that keys are."""
        data, when = self.origin.data, expression(time)
        if not isinstance(data, Events):
            found = events(data, when)
        elif data.by or data.time != when.column:
            raise QueryError(
                f"the query has windows of {when.text}, and keys; expected events with time={when.text!r}, without by="
            )
        else:
            found = data
        for each in as_few(conditions):
            found = found.where(expression(each))
        engine, taken, names = found.engine, found.engine.schema([]).names, list[str]()
        for key in keys:
            by = expression(key)
            name = by.column
            if name is None:
                name = own_name(by.text, [*taken, *names])
                engine = engine.with_columns({name: by})
            names.append(name)
        if names:
            keys_in(engine.with_fields(names).schema(names), names, ())
        return replace(found, engine=engine, by=tuple(names)), names

    def aggregated(self, windowing: Windowing, groups: Sequence[Any]) -> Any:
        """Aggregates over windows, a row for each group."""
        bound = [windowing.bound(each) for each in groups]
        keys = [each for each, of_window in zip(groups, bound, strict=True) if of_window is None]
        require_whole(windowing, [each for each in bound if each is not None], keys)
        if self.starred:
            raise refused(self.select, "columns by their names, and aggregates")
        asked = [*self.origin.conditions, *self.conditions]
        after = [each for each in asked if self.of_windows(each, windowing)]
        later = [each for each in asked[self.origin.before :] if each not in after]
        require_apart(windowing, later)
        of, names = self.events(windowing.time, keys, [each for each in asked if each not in after])
        outputs: dict[str, Operation] = {}
        calls: dict[Any, str] = {}

        def finished(node: Any) -> Any:
            """A part of the query in terms of the result."""
            for key, name in zip(keys, names, strict=True):
                if node == key:
                    return column(name)
            if (of_window := windowing.bound(node)) is not None:
                return of_window
            if is_call(node):
                if node not in calls:
                    name = calls[node] = own_name(text_of(node), [*names, "window", *outputs])
                    outputs[name] = operation(node, windowing.time)
                return column(calls[node])
            if kind(node) == "Column":
                raise refused(node, "columns of GROUP BY, or aggregates of others")
            if kind(node) == "Anonymous":
                raise unknown_call(node)
            return None

        having = self.select.args.get("having")
        if having is not None:
            after.append(self.origin.meant(self.with_names(having.this)))

        def meant(node: Any) -> Any:
            return replaced(node, finished)

        selection = self.selection([meant(each) for each in after], lambda node: meant(self.origin.meant(node)), [])
        if not outputs:
            raise refused(self.select, "at least one aggregate, such as COUNT(*)")
        result = of.window(windowing.spec(type_of_time(of))).aggregate(**outputs)
        return rows_of(result, selection)

    def of_windows(self, condition: Any, windowing: Windowing) -> bool:
        """Whether a condition is one on windows, and not on columns of rows."""
        found = {windowing.bound(node) is not None for node in condition.walk() if kind(node) == "Column"}
        if len(found) == 2:
            raise refused(condition, "conditions on columns, and others on windows")
        return found == {True}

    def with_names(self, condition: Any) -> Any:
        """A condition on groups, in which names of what is selected are this, if no columns are called so."""
        own = {*self.names()}
        named = {name: each for name, each in self.items() if name not in own}

        def by(node: Any) -> Any:
            path = path_of(node)
            return node if is_call(node) else named.get(path[0]) if path is not None and len(path) == 1 else None

        return replaced(condition, by)

    def beside(self, overs: Sequence[tuple[Any, Over]]) -> Any:
        """Aggregates over the frames of rows, beside these."""
        first = overs[0][1]
        for each, other in overs:
            if (other.keys, other.time) != (first.keys, first.time):
                raise refused(each, "the same PARTITION BY and ORDER BY in each OVER")
        if self.origin.windowing is not None or self.select.args.get("group") or self.select.args.get("having"):
            raise refused(overs[0][0], "OVER, or GROUP BY with other windows")
        rows, _ = self.events(first.time, first.keys, [*self.origin.conditions, *self.conditions])
        of = {self.origin.meant(each): over for each, over in overs}
        integers = pa.types.is_integer(type_of_time(rows))
        taken = rows.engine.schema([]).names
        outputs: dict[str, Operation] = {}
        calls: dict[Any, str] = {}

        def finished(node: Any) -> Any:
            if kind(node) == "Window":
                if node not in calls:
                    if not is_call(node.this):
                        raise unknown_call(node.this)
                    name = calls[node] = own_name(text_of(node), [*taken, *outputs])
                    frame = frame_of(of[node].window, integers)
                    outputs[name] = operation(node.this, first.time, over=True).over(frame)
                return or_none(node.this, column(calls[node]))
            if is_call(node):
                raise refused(node, "OVER in each aggregate")
            return None

        selection = self.selection([], lambda node: replaced(self.origin.meant(node), finished), self.names())
        return rows_of(rows.window().with_columns(**outputs), selection)

    def names(self) -> list[str]:
        """The columns of ``*``."""
        of, data = self.origin, self.origin.data
        own = (data.engine if isinstance(data, Events) else engine_for(data)).schema([]).names if of.open else []
        return list(dict.fromkeys([*own, *(of.names or {})]))

    def selection(self, conditions: Sequence[Any], meant: Any, names: Sequence[str]) -> Selection:
        """What is selected of a result, in whose terms a function puts it; ``names`` are what ``*`` is."""
        columns: dict[str, Any] = {}
        for name, each in self.items(names):
            if name in columns:
                raise QueryError(f"the query has two columns called {name!r}; expected AS other names")
            columns[name] = meant(each)
        order = []
        for each in getattr(self.select.args.get("order"), "expressions", ()):
            by = each.this
            if kind(by) == "Literal" and not by.is_string:
                by = self.numbered(by)
            path = path_of(by)
            tree = columns[path[-1]] if path is not None and len(path) == 1 and path[-1] in columns else meant(by)
            order.append(Order(expression(tree), bool(each.args.get("desc")), bool(each.args["nulls_first"])))
        numbers: dict[str, Any] = {}
        for clause in ("limit", "offset"):
            said = self.select.args.get(clause)
            if said is not None:
                numbers[clause] = literal(said.expression) if said.args.get("expression") is not None else None
                if not isinstance(numbers[clause], int):
                    raise refused(said, "a number of rows")
        made = {name: expression(each) for name, each in columns.items()}
        return Selection([expression(each) for each in as_few(conditions)], made, order, **numbers)


def type_of_time(of: Events[Any]) -> pa.DataType:
    """The type of the times of events."""
    return type_of(of.engine.with_fields([of.time]).schema([of.time]), of.time, "time=")


def inner(query: Query) -> Origin:
    """What an inner ``SELECT`` gives: its result, or, of plain columns and conditions, what it is of."""
    cut = any(query.select.args.get(each) for each in ("order", "limit", "offset"))
    if cut or not query.is_plain or query.origin.own:
        return Origin(query.result(), own=True)
    of = query.origin
    names = {name: of.meant(each) for name, each in query.items()}
    if query.starred:
        names = {**(of.names or {}), **names}
    conditions = (*of.conditions, *query.conditions)
    return replace(of, names=names, open=of.open and query.starred, conditions=conditions)


def rows_of(result: Any, selection: Selection) -> Any:
    """Rows and columns of a result."""
    if isinstance(result, pa.Table):
        return selected(result, selection)
    from ...spark.engine.selected import selected as selected_on_spark

    return selected_on_spark(result, selection)
