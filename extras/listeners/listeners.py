"""Listeners that tell a monitoring system what streams say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ...aggregators.errors import QueryError, needing
from .stream_figures import DURATIONS, FIGURES, Figure, Instruments, Queries

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, Observation
    from prometheus_client import CollectorRegistry
    from pyspark.sql.streaming.listener import StreamingQueryListener

__all__ = ["opentelemetry_listener", "prometheus_listener"]

QUERY = "framefold.query.name"
"""The attribute that tells queries apart."""

TAKE = {"counter": "inc", "gauge": "set", "histogram": "observe"}
"""What a metric of Prometheus does with a value."""


def prometheus_listener(registry: CollectorRegistry | None = None) -> StreamingQueryListener:
    """A listener that gives the figures of framefold's streams to Prometheus, by Prometheus' own client library.

    ``spark.streams.addListener`` takes it, of a classic session or of Connect, before queries start or while they run.
    Figures are called ``framefold_stream_...``, with the label ``query``: the query's name, or its id if it has none.

    Parameters
    ----------
    registry
        A ``prometheus_client.CollectorRegistry``, which the program has to show; None: the library's own.

    Raises
    ------
    EngineError
        If prometheus-client or PySpark is not installed.
    QueryError
        If the registry is none, or has the figures of another listener.

    Examples
    --------
    >>> import framefold as ff
    >>> from prometheus_client import start_http_server  # doctest: +SKIP
    >>> start_http_server(9108)  # doctest: +SKIP
    >>> spark.streams.addListener(ff.prometheus_listener())  # doctest: +SKIP
    """
    with needing("prometheus_listener needs", "observe"):
        import prometheus_client as client
    if registry is not None and not isinstance(registry, client.CollectorRegistry):
        raise QueryError(f"registry is {registry!r}; expected a prometheus_client.CollectorRegistry, or None")
    listening = telling("prometheus_listener")
    try:
        return listening(Prometheus(client.REGISTRY if registry is None else registry))
    except ValueError as error:
        raise QueryError(f"the registry has another listener's figures ({error}); expected one of its own") from None


def opentelemetry_listener(meter: Meter | None = None) -> StreamingQueryListener:
    """A listener that gives the figures of framefold's streams to OpenTelemetry, by OpenTelemetry's own client library.

    ``spark.streams.addListener`` takes it, of a classic session or of Connect, before queries start or while they run.
    Figures are called ``framefold.stream. ...``, with the attribute ``framefold.query.name``: the query's name, or its
    id where it has none.

    Parameters
    ----------
    meter
        An ``opentelemetry.metrics.Meter``; None: one named framefold, of the provider that the program has set.

    Raises
    ------
    EngineError
        If opentelemetry-api or PySpark is not installed.
    QueryError
        If the meter is none.

    Examples
    --------
    >>> import framefold as ff
    >>> spark.streams.addListener(ff.opentelemetry_listener())  # doctest: +SKIP
    """
    with needing("opentelemetry_listener needs", "observe"):
        from opentelemetry import metrics
    if meter is not None and not isinstance(meter, metrics.Meter):
        raise QueryError(f"meter is {meter!r}; expected an opentelemetry.metrics.Meter, or None")
    listening = telling("opentelemetry_listener")
    return listening(OpenTelemetry(metrics.get_meter("framefold") if meter is None else meter))


def telling(function: str) -> Callable[[Instruments], StreamingQueryListener]:
    """The class of listeners of Spark's that tell a monitoring system; of a function that says what it lacks."""
    with needing(f"{function} needs", "spark"):
        from pyspark.sql.streaming.listener import StreamingQueryListener

    class Listener(StreamingQueryListener):
        """What Spark calls."""

        def __init__(self, told: Instruments) -> None:
            self.queries = Queries(told)

        def onQueryStarted(self, event: Any) -> None:
            self.queries.started(str(event.id), event.name)

        def onQueryProgress(self, event: Any) -> None:
            self.queries.progressed(str(event.progress["id"]), event.progress)

        def onQueryIdle(self, event: Any) -> None:
            self.queries.idle(str(event.id))

        def onQueryTerminated(self, event: Any) -> None:
            self.queries.ended(str(event.id), event.exception)

    return Listener


class Prometheus:
    """Figures by the names that Prometheus' conventions ask for, in a registry of its client library."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        kinds: dict[str, Any] = {"counter": Counter, "gauge": Gauge, "histogram": partial(Histogram, buckets=DURATIONS)}
        self.metrics = {}
        for figure in FIGURES:
            said = (f"framefold_stream_{figure.prometheus}", figure.words, ["query"])
            self.metrics[figure] = kinds[figure.kind](*said, registry=registry)

    def take(self, figure: Figure, query: str, value: float) -> None:
        getattr(self.metrics[figure].labels(query), TAKE[figure.kind])(value)

    def forget(self, figure: Figure, query: str) -> None:
        with suppress(KeyError):  # there was none
            self.metrics[figure].remove(query)


class OpenTelemetry:
    """Figures by the names that OpenTelemetry's conventions ask for, as instruments of its client library."""

    def __init__(self, meter: Meter) -> None:
        self.now: dict[Figure, dict[str, float]] = {}
        self.instruments: dict[Figure, Any] = {}
        for figure in FIGURES:
            said = (f"framefold.stream.{figure.opentelemetry}", figure.unit, figure.words)
            if figure.kind == "gauge":
                meter.create_observable_gauge(said[0], [self.asked(figure)], *said[1:])
            elif figure.kind == "counter":
                self.instruments[figure] = meter.create_counter(*said).add
            else:
                made = meter.create_histogram(*said, explicit_bucket_boundaries_advisory=DURATIONS)
                self.instruments[figure] = made.record

    def asked(self, figure: Figure) -> Callable[[CallbackOptions], Iterable[Observation]]:
        """What there is now, when it is asked for."""
        from opentelemetry.metrics import Observation

        values = self.now.setdefault(figure, {})
        return lambda _: [Observation(value, {QUERY: query}) for query, value in [*values.items()]]

    def take(self, figure: Figure, query: str, value: float) -> None:
        if figure.kind == "gauge":
            self.now[figure][query] = value
        else:
            self.instruments[figure](value, {QUERY: query})

    def forget(self, figure: Figure, query: str) -> None:
        self.now[figure].pop(query, None)
