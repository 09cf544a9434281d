"""What the tests on every cluster ask of it: small executors, the demo, a job that has an accident."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from ..spark.submitting import JOB, expected, found, submit, submit_options, write_trips
from .processes import BARE, QUICK, lacks_framefold

TWO_SMALL = {
    "spark.driver.defaultJavaOptions": QUICK,
    "spark.executor.defaultJavaOptions": QUICK,
    "spark.executor.memory": "600m",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
"""Of executors, two of which fit beside all else on this machine."""

MISHAP = Path(__file__).with_name("mishap.py")


def options_of(master: str, settings: Mapping[str, str]) -> list[str]:
    """Of spark-submit: small executors, whose Python lacks all that is ours."""
    assert lacks_framefold(BARE)
    return submit_options(master, TWO_SMALL | dict(settings))


def run_example(
    folder: Path, *options: object, job: object = JOB, env: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """Run the job with an aggregate from the module beside it; its result is the local engine's, to the last bit.

    Returns
    -------
    str, str
        What it printed, and what was said about it; the whole log is in ``log``.
    """
    trips, result = write_trips(folder / "trips", 20_000), folder / "result"
    done = submit("--log", folder / "log", *options, job, trips, result, env=env)
    assert found(result) == expected(trips)
    return done.stdout, done.stderr


def run_demo(folder: Path, *options: object, env: Mapping[str, str] | None = None) -> str:
    """Run the demo, which compares its result with the local engine's; what it printed."""
    done = submit(*options, "demo", "--rows", 20_000, "--keep", folder / "kept", env=env)
    return done.stdout


def is_bit_for_bit(printed: str) -> bool:
    """Whether the demo has found no difference at all."""
    return "gives the same windows, bit for bit" in " ".join(printed.split())


def run_mishap(folder: Path, kind: str, *options: object, env: Mapping[str, str] | None = None) -> str:
    """Run a job in which one task is lost or slow; its result is the local engine's; the whole log of it.

    Parameters
    ----------
    folder
        For all files; ``marker`` in it tells where the task is, from when it runs.
    kind
        ``"lost"``: the task kills its executor; ``"slow"``: it sleeps.
    """
    trips, result = write_trips(folder / "trips"), folder / "result"
    for file in (JOB.with_name("means.py"), MISHAP):
        shutil.copy(file, folder)
    job = [folder / MISHAP.name, trips.as_uri(), result.as_uri(), kind, folder / "marker"]
    submit("--log", folder / "log", *options, *job, env=env)
    assert (folder / "marker").exists()
    assert found(result) == expected(trips)
    return (folder / "log").read_text()
