"""The command line, called in this process."""

from framefold.cli import inputs, main, output, replacing
from framefold.cli.arguments import ALIASES, OPERATIONS, check_shared
from framefold.cli.cli import run
from framefold.cli.demo import _agreement as agreement_of_demo
from framefold.cli.demo import _query as query_of_demo
from framefold.cli.holding import check_columns, holds
from framefold.cli.inputs import FileError
from framefold.cli.job import own_session
from framefold.cli.live import live
from framefold.cli.live.trips_stream import LATEST, TripsStream
from framefold.cli.overlap import check_apart
from framefold.cli.plain import plain_arguments
from framefold.cli.trips import DAY, ZONES, make_trips
from framefold.cli.windows import KINDS as KINDS_OF_WINDOWS
from framefold.cli.windows import read_windows
