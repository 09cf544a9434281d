"""The line of spark-submit for a job."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ....aggregators.errors import EngineError, QueryError, installing

SWITCHES = frozenset(
    {"--help", "-h", "--load-spark-defaults", "--supervise", "--usage-error", "--verbose", "-v", "--version"}
)
"""The options of spark-submit that take no value; every other takes one."""

CONF = ("--conf", "-c")
"""The options of spark-submit that give a setting."""

OPTIONS = {
    "--master": "spark.master",
    "--deploy-mode": "spark.submit.deployMode",
    "--name": "spark.app.name",
    "--num-executors": "spark.executor.instances",
    "--executor-cores": "spark.executor.cores",
    "--executor-memory": "spark.executor.memory",
    "--driver-cores": "spark.driver.cores",
    "--driver-memory": "spark.driver.memory",
    "--py-files": "spark.submit.pyFiles",
    "--files": "spark.files",
    "--jars": "spark.jars",
    "--archives": "spark.archives",
    "--packages": "spark.jars.packages",
    "--repositories": "spark.jars.repositories",
}
"""The settings that say the same as options of spark-submit."""

COMMANDS = ("run", "stream", "demo")
"""The commands of framefold that can be a job."""

PATTERN = re.compile(r"[][{}*?,\\]")
"""What spark-submit does not take as it is in the path of a job."""

ENVIRONMENT = "environment"
"""The folder in which executors unpack an environment."""


@dataclass(frozen=True)
class Command:
    """What is given to spark-submit.

    Parameters
    ----------
    options
        Of spark-submit, as they are written.
    job
        A Python file, or a command of framefold.
    arguments
        Of the job.
    """

    options: tuple[str, ...]
    job: str
    arguments: tuple[str, ...]

    @cached_property
    def settings(self) -> dict[str, str]:
        """What the options say, as settings; the last of a name counts, and an option counts more than ``--conf``."""
        given: dict[str, str] = {}
        named: dict[str, str] = {}
        for name, *values in self.grouped():
            if name in CONF:
                setting, _, value = values[0].partition("=")
                given[setting] = value
            elif name in OPTIONS:
                named[OPTIONS[name]] = values[0]
        return given | named

    def option(self, name: str) -> str | None:
        """The value of an option; the last one counts, as for spark-submit."""
        return {option: values[0] for option, *values in self.grouped() if values}.get(name)

    def grouped(self) -> Iterator[tuple[str, ...]]:
        """The options as ``(name,)`` or ``(name, value)``."""
        for words in leading(self.options):
            name, equals, value = words[0].partition("=")
            yield (name, value) if equals else words

    @property
    def master(self) -> str | None:
        """The master, as far as the options or the environment say it."""
        return self.settings.get("spark.master") or os.environ.get("MASTER")

    @property
    def remote(self) -> str | None:
        """The address of a server of Spark Connect, as far as the options say it."""
        return self.option("--remote") or self.settings.get("spark.remote")

    @property
    def is_local(self) -> bool:
        """Whether all processes are on this machine, as far as that can be told."""
        if self.master is not None:
            return self.master.startswith("local")
        return self.remote is None and not self.defaults.exists()

    @property
    def defaults(self) -> Path:
        """The file of settings beside those that are known here, which need not be there."""
        folder = os.environ.get("SPARK_CONF_DIR") or spark_home() / "conf"
        return Path(self.option("--properties-file") or Path(folder, "spark-defaults.conf"))

    @property
    def on_cluster(self) -> bool:
        """Whether the driver runs on the cluster, too."""
        return self.settings.get("spark.submit.deployMode") == "cluster"

    def line(self, script: Path | str, archive: Path | None, environment: Path | None) -> list[str]:
        """The arguments of spark-submit, itself first.

        Parameters
        ----------
        script
            The Python file that is run.
        archive
            What goes on the Python path of driver and executors; None: it is in their image.
        environment
            An archive of the Python that executors run; None: what spark-submit takes otherwise.
        """
        added = self._joined("--py-files", "spark.submit.pyFiles", str(archive)) if archive else []
        if environment is not None:
            added += self._joined("--archives", "spark.archives", f"{environment}#{ENVIRONMENT}")
            added += ["--conf", f"spark.pyspark.python=./{ENVIRONMENT}/bin/python"]
        changed = bool(environment) or self.settings.get("spark.pyspark.python") is not None
        if changed and not self.on_cluster and self.settings.get("spark.pyspark.driver.python") is None:
            added += ["--conf", f"spark.pyspark.driver.python={driver_python()}"]
        if self.on_cluster and self.master == "yarn" and self.settings.get("spark.yarn.includeDriverLogsLink") is None:
            added += ["--conf", "spark.yarn.includeDriverLogsLink=true"]  # so that its log can be fetched
        joined = {word for word in ("--py-files", "--archives") if word in added}
        kept = [word for option in self.grouped() if option[0] not in joined for word in option]
        return [str(spark_home() / "bin" / "spark-submit"), *kept, *added, str(script), *self.arguments]

    def _joined(self, name: str, setting: str, first: str) -> list[str]:
        """An option with a list, ours before what the user gives."""
        theirs = self.settings.get(setting)
        return [name, f"{first},{theirs}" if theirs else first]

    def environment(self) -> dict[str, str]:
        """The environment variables that spark-submit needs in addition; any setting overrides them."""
        variables = {"SPARK_HOME": str(spark_home())}
        if home := os.environ.get("JAVA_HOME"):
            variables["JAVA_HOME"] = home
        if not self.on_cluster:
            variables["PYSPARK_DRIVER_PYTHON"] = driver_python()
        if self.remote is not None:
            variables["SPARK_REMOTE"] = self.remote  # spark-submit starts the driver as one of classic Spark
        if self.is_local:
            variables["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON") or sys.executable
        return variables


def read(arguments: Sequence[str]) -> Command:
    """Tell the options of spark-submit from the job, and the job from its arguments.

    Raises
    ------
    QueryError
        If there is no job, or what is there is none.

    Examples
    --------
    >>> command = read(["--master", "yarn", "--conf", "spark.ui.port=4050", "--verbose", "run", "trips.parquet"])
    >>> command.master, command.job, command.arguments
    ('yarn', 'run', ('trips.parquet',))
    """
    at = sum(map(len, leading(arguments)))
    if at >= len(arguments):
        after = f" after {shlex.join(map(without_value, arguments[-2:]))!r}" if arguments else ""
        raise QueryError(f"there is no job{after}; expected a Python file, or `run` and its arguments")
    job, rest = arguments[at], tuple(arguments[at + 1 :])
    if job in COMMANDS:
        if any(each.partition("=")[0] == "--master" for each in rest):
            raise QueryError(f"--master stands behind {job!r}; expected it in front, where spark-submit takes it")
    elif not job.endswith(".py"):
        raise QueryError(f"the job is {without_value(job)!r}; expected a Python file, or `run` and its arguments")
    elif "://" not in job and not Path(job).is_file():
        raise QueryError(f"the job {job!r} does not exist")
    elif "://" not in job and (found := PATTERN.search(job)) is not None:
        raise QueryError(
            f"the job is {job!r}, and spark-submit takes {found[0]!r} in it for a pattern of paths; expected a path "
            "without it"
        )
    return Command(tuple(arguments[:at]), job, rest)


def without_value(argument: str) -> str:
    """An argument as errors show it: what it gives a setting may be secret.

    >>> without_value("spark.my.password=abc"), without_value("job.txt")
    ('spark.my.password=...', 'job.txt')
    """
    name, equals, _ = argument.partition("=")
    return f"{name}=..." if equals else argument


def leading(arguments: Sequence[str], switches: Collection[str] = SWITCHES) -> Iterator[tuple[str, ...]]:
    """The options in front of a job, each with its value where that is an argument of its own."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        words = 1 if arguments[at] in switches or "=" in arguments[at] else 2
        yield tuple(arguments[at : at + words])
        at += words


def spark_home() -> Path:
    """The Spark whose spark-submit is used: that of ``SPARK_HOME``, or the one that pyspark brings.

    Raises
    ------
    EngineError
        If there is none.
    """
    import pyspark

    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    if not (home / "bin" / "spark-submit").is_file():
        raise EngineError(
            f"{str(home)!r} has no bin/spark-submit; expected pyspark with its JVM ({installing('spark')}), "
            "or SPARK_HOME to name an installed Spark"
        )
    return home


def driver_python() -> str:
    """The Python of a driver on this machine."""
    return os.environ.get("PYSPARK_DRIVER_PYTHON") or sys.executable


def shown(line: Sequence[str], variables: Mapping[str, str]) -> str:
    """A line that a shell runs as it is.

    >>> shown(["spark-submit", "--name", "a b"], {"SPARK_HOME": "/opt/spark"})
    "SPARK_HOME=/opt/spark spark-submit --name 'a b'"
    """
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in variables.items()), shlex.join(line)])
