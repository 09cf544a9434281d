"""What all tests share: one Spark session, the hypothesis profiles, the shared data."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from .support.shares import in_share, number_of, salt_of_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Settings of the developer's own Spark would change results, or point to another Spark altogether.
for inherited in (
    "HADOOP_CONF_DIR",
    "PYSPARK_DRIVER_PYTHON",
    "PYSPARK_PYTHON",
    "PYSPARK_SUBMIT_ARGS",
    "PYTHONPATH",
    "SPARK_CONF_DIR",
    "SPARK_HOME",
    "SPARK_REMOTE",
):
    os.environ.pop(inherited, None)

# Each JVM that tests start, here or in a process of its own: most are over before what the second compiler makes of
# their code is of use. The code cache of the first alone is small and full soon, and methods are compiled anew.
os.environ["SPARK_LAUNCHER_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
os.environ["SPARK_SUBMIT_OPTS"] = os.environ["SPARK_LAUNCHER_OPTS"] + " -XX:ReservedCodeCacheSize=256m"

# A slow machine is no failure. HYPOTHESIS_PROFILE asks for more examples, "more" or "thorough", or for "few". CI has a
# fixed budget, and so fewer of them.
in_ci = bool(os.environ.get("CI"))
hypothesis.settings.register_profile("dev", deadline=None, max_examples=40)
hypothesis.settings.register_profile("few", deadline=None, max_examples=6)
hypothesis.settings.register_profile("more", deadline=None, max_examples=40 if in_ci else 100)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=120 if in_ci else 1000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "dev")


REMOTE = os.environ.get("FRAMEFOLD_REMOTE")
"""The address of a server of Connect, through which tests have their session; without it they start a Spark."""

SALT = salt_of_run()
"""What decides which tests a share contains, and in CI the examples of Hypothesis: the commit."""

SHARE = int(os.environ.get("FRAMEFOLD_SHARE") or 1)
"""The run takes one in so many tests."""

WITH_SPARK = ("tests/spark/", "tests/kafka/", "tests/s3/", "tests/api/test_cli.py", "tests/api/test_demo.py")
"""Where tests start a Spark of their own, or ask for that of the run as they go."""

NEED_SPARK = ["spark/test_[!j]*.py", "kafka/test_*.py", "s3/test_*.py", "stored_state/test_*.py"]
"""Files that import PySpark: all there but `test_java.py`."""

collect_ignore_glob = [] if find_spec("pyspark") else NEED_SPARK

COMBINED = ("driver", "executors")
"""Parameters of a test that stand for Spark."""

QUICK = (
    "tests/test_three_engines.py",
    "tests/api/test_demo.py",
    "tests/spark/test_combining.py",
    "tests/spark/test_rows.py",
    "tests/spark/test_state.py",
    "tests/spark/test_submit.py",
    "tests/spark/test_submit_secrets.py",
    "tests/spark/test_tasks.py",
    "tests/spark/test_types.py",
)
"""Tests of the main job, and those of Spark's side that need no session: quick ones beside the cells."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """In CI, let Hypothesis begin with the number of the salt, so that each commit tries other examples."""
    if in_ci and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(number_of(SALT))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Return the salt of the run, and how to repeat the run."""
    share = f"one test in {SHARE}" if SHARE > 1 else "all tests"
    seed = f", --hypothesis-seed={config.option.hypothesis_seed}" if config.option.hypothesis_seed is not None else ""
    repeat = f"FRAMEFOLD_SALT={SALT}" + (f" FRAMEFOLD_SHARE={SHARE}" if SHARE > 1 else "")
    absent = [f"Spark is not installed, left out: {' '.join(NEED_SPARK)}"] if collect_ignore_glob else []
    return [f"share: {share}; to repeat this choice: {repeat}{seed}", *absent]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that need Spark and the quick ones, so that a run can have all of them, or none."""
    if SHARE > 1:
        kept = [item for item in items if in_share(item.nodeid, SHARE, SALT)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept
    for item in items:
        if REMOTE and (classic := item.get_closest_marker("classic")):
            item.add_marker(pytest.mark.skip(reason=f"not through Connect: {classic.args[0]}"))
        engines = getattr(getattr(item, "callspec", None), "params", {}).values()
        asked = "spark" in getattr(item, "fixturenames", ()) or any(
            isinstance(each, str) and each in COMBINED for each in engines
        )
        if asked or item.nodeid.startswith(WITH_SPARK):
            item.add_marker(pytest.mark.spark)
        if sampled := item.get_closest_marker("sampled"):
            quick = in_share(item.nodeid, *sampled.args, SALT)
        else:
            main = item.nodeid.startswith(QUICK) or item.get_closest_marker("cell") is not None
            quick = main or item.get_closest_marker("spark") is None
        if quick:
            item.add_marker(pytest.mark.quick)


def pytest_collection_finish() -> None:
    """Let the collector of garbage be: the tests themselves live as long as the run, and it would visit them often."""
    # Before its first example an older Hypothesis looks who refers to NumPy's generator, and sees nobody who is frozen.
    hypothesis.find(hypothesis.strategies.none(), lambda _: True)
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Accept a share without a test: of a few tests another commit takes them."""
    if SHARE > 1 and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What the run was of, where the table of versions asks for it."""
    if folder := os.environ.get("FRAMEFOLD_VERSIONS"):
        from .support.versions import record

        record(terminalreporter, Path(folder), bool(REMOTE))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark session of the run, started by the first test that asks for it.

    Its time zone is the machine's: a test that depends on one sets it, and sets it back.
    """
    pytest.importorskip("pyspark", reason="Spark is not installed: pip install '.[spark]'")
    if REMOTE:
        from pyspark.sql import SparkSession

        session = SparkSession.builder.remote(REMOTE).getOrCreate()
        yield session
        session.stop()
        return
    from .support.sessions import home_without_zip, local_session

    settings = {
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.python.authenticate.socketTimeout": "120s",  # on a busy machine results are fetched late
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SPARK_HOME", str(home_without_zip(tmp_path_factory.mktemp("home"))))
        patched.setenv("SPARK_SUBMIT_OPTS", os.environ["SPARK_SUBMIT_OPTS"] + " -Xms1g -Xmn600m")  # fewer collections
        session = local_session("framefold tests", "local[2]", **settings)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def spark_of_docs(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, which programs that name no Spark find as well; what they set for streams is undone."""
    from .support.sessions import settings_kept

    with pytest.MonkeyPatch.context() as patched, settings_kept(spark):
        if REMOTE:
            patched.setenv("SPARK_REMOTE", REMOTE)
        yield spark


@pytest.fixture
def rocksdb(spark: SparkSession) -> Iterator[None]:
    """The settings that streams need."""
    pytest.importorskip("google.protobuf", reason="protobuf is not installed: pip install '.[spark]'")
    pytest.importorskip("pyspark", minversion="4.1")  # which streams need
    from .support.sessions import state_in_rocksdb

    with state_in_rocksdb(spark):
        yield


@pytest.fixture(params=["loops", "numpy"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """With compiled loops, and without."""
    from .support.loops import WAYS, WHY_NOT, by

    if request.param not in WAYS:
        pytest.skip(WHY_NOT)
    with by(request.param):
        yield request.param


@pytest.fixture
def limit() -> Iterator[Callable[..., None]]:
    """Other limits until the test is over: see ``limits``."""
    from .support.limits import limits

    with ExitStack() as stack:
        yield lambda **bounds: stack.enter_context(limits(**bounds))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data next to the repository."""
    folder = Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("there is no folder `shared` next to the repository, so its data cannot be tested with")
    return folder


@pytest.fixture(scope="session")
def flights(shared: Path) -> Path:
    """20,000 real departures, as a Parquet file."""
    path = shared / "data" / "flights.parquet"
    if not path.is_file():
        pytest.skip("shared/data/flights.parquet is absent, so nothing can be compared on real departures")
    return path
