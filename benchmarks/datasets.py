"""Files of events, made once and kept: what kind, how many, and how they are cut into files."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as text
import pyarrow.parquet as pq

from .events import ROW_GROUP, START, tables, write_chunks, write_events
from .layouts import variant, write

VERSION = 1
"""Raised whenever the same description means other events."""


@dataclass(frozen=True)
class Data:
    """Events of some kind.

    Parameters
    ----------
    kind
        ``"events"``; ``"texts"``, the same with strings as keys; ``"seconds"``, whole seconds, none twice in a key;
        ``"bids"``, of NEXMark; ``"connections"``, a trace like LBL-CONN-7; and those of
        :func:`benchmarks.layouts.variant`.
    rows, keys
        How many events, of how many keys; bids and connections have keys of their own.
    files
        Into how many files they are cut; one if 0.
    rate
        Events a second, of connections.
    text
        Whether they are also written as CSV.
    layout
        How rows lie in files, see :func:`benchmarks.layouts.write`; in the order of time where empty. ``"chunks"``: so
        too, a file for some million rows each, however many there are.
    """

    kind: str = "events"
    rows: int = 8_000_000
    keys: int = 100
    files: int = 0
    rate: int = 0
    text: bool = False
    layout: str = ""

    @property
    def name(self) -> str:
        """The name of the file or folder."""
        parts = (self.kind, self.rows, self.keys, self.files, self.rate, *[self.layout] * bool(self.layout), VERSION)
        return "-".join(map(str, parts)) + ("" if self.files or self.layout else ".parquet")

    def path(self, folder: Path) -> Path:
        """Where the events are, which are made if they are not there."""
        path = folder / self.name
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            part = folder / f"part-{os.getpid()}"
            self._write(part)
            part.rename(path)
        return path

    def csv(self, folder: Path) -> str:
        """Where they are as text, if they are."""
        if not self.text:
            return ""
        path = folder / f"{self.name.removesuffix('.parquet')}.csv"
        if not path.exists():
            table = pq.read_table(self.path(folder))
            table = table.set_column(0, "t", table["t"].cast(pa.timestamp("us")).cast(pa.timestamp("ms"), safe=False))
            text.write_csv(table, path, text.WriteOptions(include_header=False))
        return str(path)

    def _write(self, path: Path) -> None:
        if self.layout == "chunks":
            shutil.rmtree(path, ignore_errors=True)
            write_chunks(path, self.rows, self.keys)
            return
        if self.kind in ("events", "texts"):
            whole = path.with_name(f"{path.name}-whole") if self.files else path
            write_events(whole, self.rows, self.keys, texts=self.kind == "texts")
            if self.files:
                shutil.rmtree(path, ignore_errors=True)
                write(self.layout or "time", pq.read_table(whole), self.files, path)
                whole.unlink()
            return
        if self.kind in ("zipf", "pairs", "naive", "integers", "nulls"):
            rng = np.random.default_rng(7)
            events = pa.concat_tables(variant(self.kind, each, self.keys, rng) for each in tables(self.rows, self.keys))
            pq.write_table(events, path, row_group_size=ROW_GROUP)
            return
        table = {"seconds": seconds, "bids": bids, "connections": connections}[self.kind](self)
        pq.write_table(table, path, row_group_size=ROW_GROUP)


def timestamps(microseconds: np.ndarray) -> pa.Array:
    """Times as Parquet has them."""
    return pa.array(microseconds).cast(pa.timestamp("us", tz="UTC"))


def seconds(data: Data) -> pa.Table:
    """Events at whole seconds, none twice in a key, so that every engine means the same by the past hour."""
    rng = np.random.default_rng(7)
    each = data.rows // data.keys
    times = np.concatenate([rng.choice(86_400, each, replace=False) for _ in range(data.keys)])
    keys = np.repeat(np.arange(data.keys), each)
    order = np.lexsort((keys, times))
    x = rng.normal(50.0, 10.0, len(times)).round(2)
    return pa.table({"t": timestamps(times[order] * 1_000_000 + START), "k": keys[order], "x": x})


def bids(data: Data) -> pa.Table:
    """NEXMark's bids as its generator has them: 10,000 events a second, 46 of 50 bids, half of them on hot auctions."""
    rng = np.random.default_rng(7)
    event = np.arange(data.rows) * 50 // 46
    auctions = 1000 + event * 3 // 50
    hot = auctions // 100 * 100
    other = auctions - rng.integers(0, 100, data.rows)
    return pa.table(
        {
            "t": timestamps(event * 100 + START),
            "auction": np.maximum(np.where(rng.random(data.rows) < 0.5, hot, other), 1000),
            "bidder": 1000 + event // 50 - rng.integers(0, 100, data.rows).clip(max=event // 50),
            "price": np.round(10 ** (rng.random(data.rows) * 6) * 100).astype(np.int64),
        }
    )


def connections(data: Data) -> pa.Table:
    """A trace with the schema of LBL-CONN-7, ``data.rate`` tuples a second, all of a second stamped alike (one wave).

    The trace itself cannot be shipped; hosts follow Zipf's law, durations are log-normal, as traffic does.
    """
    rng = np.random.default_rng(7)
    protocols = ["smtp", "nntp", "ftp-data", "telnet", "finger", "domain", "ftp", "shell", "login", "other"]
    weights = np.array([0.35, 0.2, 0.15, 0.06, 0.06, 0.06, 0.04, 0.03, 0.03, 0.02])
    order = np.arange(data.rows)
    return pa.table(
        {
            "t": timestamps(order // data.rate * 1_000_000 + START),
            "admitted": order,
            "protocol": pa.array(protocols).take(pa.array(rng.choice(len(protocols), data.rows, p=weights))),
            "local": hosts(rng, 1_600, data.rows),
            "remote": hosts(rng, 13_000, data.rows),
            "duration": rng.lognormal(0.5, 1.8, data.rows).round(2),
        }
    )


def hosts(rng: np.random.Generator, many: int, rows: int) -> np.ndarray:
    """Numbers of hosts, the first the busiest."""
    weights = 1.0 / np.arange(1, many + 1)
    return rng.choice(many, rows, p=weights / weights.sum())
