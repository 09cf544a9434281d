"""``python -m framefold``: the command line."""

import sys

from .extras.cli import process

sys.exit(process())
