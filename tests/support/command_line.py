"""The command line, called in this process."""

from framefold.cli import main
from framefold.cli.arguments import ALIASES, OPERATIONS
from framefold.cli.cli import run
from framefold.cli.job import own_session
from framefold.cli.plain import plain_arguments
from framefold.cli.trips import DAY, ZONES, make_trips

__all__ = ["ALIASES", "DAY", "OPERATIONS", "ZONES", "main", "make_trips", "own_session", "plain_arguments", "run"]
