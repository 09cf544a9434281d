"""``python -m framefold``: the command line."""

import sys

from .cli import process

sys.exit(process())
