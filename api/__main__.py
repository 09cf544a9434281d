"""``python -m framefold``: the command line."""

import sys

from .cli.cli import process

sys.exit(process())
