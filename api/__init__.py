"""Sliding-window aggregation for Apache Spark at a cost that does not depend on how far the windows overlap."""

import sys
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .aggregators.errors import *
    from .aggregators.laws.check import *
    from .aggregators.operations import *
    from .aggregators.weekdays import *
    from .events import *
    from .extras.listeners.listeners import *
    from .extras.listeners.stream_metrics import *
    from .extras.pictures.plots import *
    from .extras.relations.relation import *
    from .extras.sql.sql import *
    from .extras.stored.partials import *
    from .from_aggregator import *
    from .lookbacks import *
    from .reading import *
    from .runtime.explain import *
    from .runtime.expressions.text import *
    from .runtime.windows import *
    from .spark.session.settings import *
    from .start import *
    from .together import *
    from .windows import *

    __version__: str
else:  # a name is there when it is asked for: the command line's help needs none
    _MODULES = (
        "aggregators.errors", "aggregators.operations", "aggregators.laws.check", "events", "from_aggregator",
        "lookbacks", "reading", "start", "together", "windows",
        "runtime.explain", "runtime.expressions.text", "runtime.windows", "aggregators.weekdays",
        "spark.session.settings",
        "extras.pictures.plots", "extras.sql.sql", "extras.relations.relation", "extras.stored.partials",
        "extras.listeners.stream_metrics", "extras.listeners.listeners",
    )  # fmt: skip
    """The modules above, in the order in which a name is looked for: what each says in ``__all__`` is public."""
    _IN_MODULES_OF_THEIR_NAME = ("events", "from_aggregator", "together")

    class _Package(ModuleType):
        """A package in which no module takes the place of a function of its name, such as ``events``."""

        def __setattr__(self, name: str, value: object) -> None:
            if name not in _IN_MODULES_OF_THEIR_NAME or not isinstance(value, ModuleType):
                super().__setattr__(name, value)

    sys.modules[__name__].__class__ = _Package

    def __getattr__(name: str) -> object:
        """A public name, with those of the modules up to its own; all of them; the version."""
        if name == "__version__":
            return _version()
        if name == "__all__":
            return [*(each for module in _MODULES for each in _export(module)), "__version__"]
        if not name.startswith("__"):
            for module in _MODULES:
                if name in _export(module):
                    return globals()[name]
        from .aggregators.errors import nearest

        near = nearest(name, __getattr__("__all__"))
        hint = f"; {near}" if near.startswith("did you mean") else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name)

    def _export(module: str) -> list[str]:
        """The public names of a module, made this package's: errors, ``help`` and pickles say ``framefold.Sum``."""
        from importlib import import_module

        loaded = import_module(f".{module}", __name__)
        for name in loaded.__all__:
            value = globals().setdefault(name, getattr(loaded, name))
            if isinstance(value, (type, FunctionType)):
                value.__module__ = __name__
        return loaded.__all__

    def __dir__() -> list[str]:
        return sorted({name for name in globals() if name.startswith("__")} | {*__getattr__("__all__")})

    def _version() -> str:
        """What the metadata of the installed package say."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("framefold")
        except PackageNotFoundError:  # the package alone, as executors get it
            return "0+unknown"
