"""The command line, called in this process."""

from framefold.extras.cli import inputs, main, output, replacing
from framefold.extras.cli.arguments import ALIASES, OPERATIONS, check_shared
from framefold.extras.cli.cli import run
from framefold.extras.cli.demo import _agreement as agreement_of_demo
from framefold.extras.cli.demo import _query as query_of_demo
from framefold.extras.cli.holding import check_columns, holds
from framefold.extras.cli.inputs import FileError
from framefold.extras.cli.job import own_session
from framefold.extras.cli.live import live
from framefold.extras.cli.live.trips_stream import LATEST, TripsStream
from framefold.extras.cli.overlap import check_apart
from framefold.extras.cli.plain import plain_arguments
from framefold.extras.cli.trips import DAY, ZONES, make_trips
from framefold.extras.cli.windows import KINDS as KINDS_OF_WINDOWS
from framefold.extras.cli.windows import read_windows
