"""The compiled loops; pyproject.toml has everything else.

With ``FRAMEFOLD_PURE=1`` in the environment the package is built without them: a wheel that runs everywhere, in which
numpy does the same. Where there is no compiler framefold is installed without them, too.
"""

import os
import sys

from setuptools import Extension, setup

# Floats are rounded as numpy rounds them, whatever CFLAGS say; and what is shipped to executors is to be small.
FLAGS = ["/fp:precise", "/std:c11"] if sys.platform == "win32" else ["-fno-fast-math", "-ffp-contract=off", "-g0"]
LOOPS = ("rows", "ranges", "windows")

pure = os.environ.get("FRAMEFOLD_PURE", "0") not in ("", "0")
setup(
    ext_modules=[]
    if pure
    else [
        Extension(
            f"framefold.aggregators.loops.{name}",
            [f"aggregators/loops/{name}.pyx"],
            depends=["aggregators/loops/shared.pxi"],
            extra_compile_args=FLAGS,
            optional=True,
        )
        for name in LOOPS
    ]
)
