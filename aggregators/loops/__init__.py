"""Which loops there are: the compiled ones, or numpy's where there was no compiler.

Here alone is chosen which, for all of them together: what calls a loop calls ``loops.NAME``. Where numpy takes another
algorithm altogether, not another loop, the caller asks ``loops.compiled``.
"""

from typing import TYPE_CHECKING, Any

from . import by_numpy
from .native import LOOPS, compiled_loops

_compiled = [compiled_loops(name) for name in LOOPS]

compiled = None not in _compiled
"""Whether these are the compiled loops."""

for _each in _compiled if compiled else [by_numpy]:
    globals().update({name: value for name, value in vars(_each).items() if not name.startswith("_")})

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """A loop."""
