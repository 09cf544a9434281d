"""Where the local engine and tasks read events from."""

from framefold.reading import Format as FORMATS
from framefold.runtime.accumulate.portions import accumulate_reader, in_portions
from framefold.runtime.local import LocalEngine, by_key_and_time, in_order, of_one_size
from framefold.runtime.sources.arrow import Readers, Source
from framefold.runtime.sources.conditions import possible
from framefold.runtime.sources.file_source import FileSource
from framefold.runtime.sources.files import File, Files, files_of
from framefold.runtime.sources.formats import READERS, Format
from framefold.runtime.sources.ipc import read_stream
from framefold.runtime.sources.parquet_opening import OPTIONS as OPTIONS_OF_PARQUET
