"""What ``framefold submit`` shows, packs and leaves behind: no secrets, nothing from elsewhere, nothing for others."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import framefold as ff
from framefold.extras.cli.submission import archive, command, follow, redaction

from ..support.command_line import main
from ..support.programs import WITH_SUPPORT
from ..support.sessions import KEPT_DAYS, cache_file
from .submitting import without_spark

pytestmark = pytest.mark.classic("spark-submit comes with the whole of PySpark")
HIDDEN = "*********(redacted)"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No Spark of the developer's, and a cache of its own, whose folder is given."""
    without_spark(monkeypatch, tmp_path)
    return tmp_path / "cache" / "framefold"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A job with a package beside it, and a file that is outside of its project."""
    (tmp_path / "project" / "helpers" / "data").mkdir(parents=True)
    (tmp_path / "project" / "helpers" / "__init__.py").write_text("")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "id_rsa").write_text("PRIVATE KEY")
    (tmp_path / "project" / "job.py").write_text("import helpers, single")
    return tmp_path / "project" / "job.py"


@pytest.mark.parametrize(
    "place", ["helpers/key.txt", "helpers/data/key.txt", "helpers/more.py", "single.py", "helpers"]
)
def test_links_to_outside_are_refused(job: Path, place: str) -> None:
    link, outside = job.parent / place, job.parent.parent / "outside"
    target: Path = outside / "id_rsa"
    if place == "helpers":
        (outside / "__init__.py").write_text("")
        (job.parent / "helpers" / "__init__.py").unlink()
        (job.parent / "helpers" / "data").rmdir()
        link.rmdir()
        target = outside
    link.symlink_to(target, target_is_directory=target.is_dir())
    with pytest.raises(
        ff.QueryError, match=r"/project/.*is a link to what is outside of '.*project', and would go"
    ) as it:
        archive.build("job-files", job)
    assert "PRIVATE" not in str(it.value)
    link.unlink()


def test_links_inside_are_packed(job: Path) -> None:
    (job.parent / "helpers" / "values.txt").write_text("3")
    (job.parent / "helpers" / "again.txt").symlink_to("values.txt")
    (job.parent / "helpers" / "itself").symlink_to("itself")
    (job.parent / "helpers" / "nowhere").symlink_to("missing")
    with zipfile.ZipFile(archive.build("job-files", job)) as opened:
        own = [name for name in opened.namelist() if name.startswith("helpers/") and not name.endswith("/")]
        assert sorted(own) == ["helpers/__init__.py", "helpers/again.txt", "helpers/values.txt"]
        assert opened.read("helpers/again.txt") == b"3"


def test_the_cache_is_private(environment: Path, job: Path) -> None:
    environment.mkdir(parents=True, mode=0o755)
    packed = archive.build("job-files", job)
    assert packed.is_relative_to(environment)
    assert environment.stat().st_mode & 0o777 == 0o700
    assert packed.stat().st_mode & 0o777 == 0o600
    assert cache_file("bin/it", "#!/bin/sh", executable=True).stat().st_mode & 0o777 == 0o700
    umask = os.umask(0)
    try:
        assert cache_file("other", "text").stat().st_mode & 0o077 == 0
    finally:
        os.umask(umask)


def test_a_cache_of_somebody_else_is_not_used(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.mkdir(parents=True)
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    path = cache_file("greeting", "hello")
    assert not path.is_relative_to(environment)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert list(environment.iterdir()) == []


def test_what_nobody_uses_is_removed(environment: Path) -> None:
    def elsewhere(program: str) -> list[Path]:
        """What a process of its own prints, which makes files in the cache."""
        command = [sys.executable, "-c", f"{WITH_SUPPORT}from tests.support.sessions import cache_file as k; {program}"]
        made = subprocess.run(command, capture_output=True, text=True, check=True)
        return [*map(Path, made.stdout.split())]

    theirs, recent = elsewhere("print(k('a', '1'), k('b', '2'))")
    ours = cache_file("c", "3")
    other = environment / "not one of ours"
    other.mkdir()
    long_ago = time.time() - (KEPT_DAYS + 1) * 86_400
    for each in (theirs.parent, ours.parent, other):
        os.utime(each, (long_ago, long_ago))
    cache_file("d", "4")
    assert not theirs.parent.exists()  # its process has ended
    assert recent.exists()
    assert ours.exists()
    assert other.exists()
    # Another process that is still running keeps what it uses.
    os.utime(ours.parent, (long_ago, long_ago))
    elsewhere("k('e', '5')")
    assert ours.read_text() == "3"


OPTIONS = [
    "--conf", "spark.my.password=hunter2", "--conf=spark.hadoop.fs.s3a.access.key=AKIA123",
    "-c", "spark.x.Token=abcdef", "--conf", "spark.driver.extraJavaOptions=-Dstore.password=pass1234",
    "--conf", "spark.plain=shown", "--conf", "spark.store=s3a://user:word99@bucket/a",
]  # fmt: skip
SECRETS = ["hunter2", "AKIA123", "abcdef", "pass1234", "word99", "tokenized9"]


@pytest.mark.parametrize("way", ["--dry-run", "--manifest"])
def test_no_secrets_are_shown(job: Path, capsys: pytest.CaptureFixture[str], way: str) -> None:
    (job.parent / "single.py").write_text("")
    remote = ["--remote", "sc://host:15002/;token=tokenized9", str(job)]
    words = remote if way == "--dry-run" else ["local:///opt/job.py"]
    assert main(["submit", way, *OPTIONS, *words, "s3://user:word99@bucket/b"]) == 0
    said = capsys.readouterr()
    assert not [secret for secret in SECRETS if secret in said.out + said.err]
    if way == "--dry-run":
        assert "spark.plain=shown" in said.out
        assert f"'spark.my.password={HIDDEN}'" in said.out
    else:
        settings = json.loads(said.out)["spec"]["sparkConf"]
        assert settings["spark.my.password"] == settings["spark.x.Token"] == HIDDEN
        assert settings["spark.plain"] == "shown"
    assert "framefold: not shown are the values of spark.my.password, spark.hadoop.fs.s3a.access.key, " in said.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--conf", "spark.my.password=hunter2"],  # no job
        ["--dry-run", "--conf", "spark.plain=shown", "spark.my.password=hunter2", "job.py"],  # a --conf is missing
        ["--dry-run", "--driver-java-options", "-Dstore.password=hunter2", "local:///opt/job.py"],
        ["--dry-run", "https://user:hunter2@host/job.py"],
        ["--manifest", "https://user:hunter2@host/job.py"],
    ],
)
def test_neither_errors_nor_options_nor_the_job_show_secrets(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(["submit", *arguments]) == (0 if arguments[-1].endswith("/job.py") else 2)
    said = capsys.readouterr()
    assert "hunter2" not in said.out + said.err
    shown = ("spark.my.password=...", "https://***@host/job.py", f"--driver-java-options '{HIDDEN}'")
    assert any(each in said.out + said.err for each in shown)


def test_secret_options_of_java_are_hidden_in_logs() -> None:
    given = command.Command(("--driver-java-options", "-Dstore.password=hunter2"), "job.py", ())
    assert redaction.hiding(given)("it has -Dstore.password=hunter2.") == f"it has {HIDDEN}."
    assert redaction.without_secret_settings(given)[1] == ["--driver-java-options"]
    plain = command.Command(("--driver-java-options", "-Xmx1g"), "job.py", ())
    assert redaction.without_secret_settings(plain) == (plain, [])


def test_what_is_secret_is_said_by_a_setting(tmp_path: Path) -> None:
    def hidden(*options: str) -> list[str]:
        return redaction.without_secret_settings(command.Command(options, "job.py", ()))[1]

    own = ("--conf", "spark.own.thing=zebra", "--conf", "spark.my.password=hunter2")
    assert hidden(*own) == ["spark.my.password"]
    assert hidden(*own, "--conf", "spark.redaction.regex=(?i)OWN") == ["spark.own.thing", "spark.my.password"]
    assert hidden(*own, "--conf", "spark.redaction.regex=zeb") == ["spark.own.thing", "spark.my.password"]
    # Java has expressions that Python has not: then nothing is shown.
    assert hidden(*own, "--conf", "spark.redaction.regex=a(?i)b") == ["spark.own.thing", "spark.my.password"]
    file = tmp_path / "some.conf"
    file.write_text("spark.master local\n  spark.redaction.regex   (?i)thing\n")
    assert hidden("--properties-file", str(file), *own) == ["spark.own.thing", "spark.my.password"]
    assert hidden("--conf", "spark.a.secret=1", "--conf", "spark.a.secret=2") == ["spark.a.secret", "spark.a.secret"]


def test_logs_have_no_secrets() -> None:
    given = command.Command((*OPTIONS, "--conf", "spark.token.on=true"), "job.py", ())
    shown: list[str] = []
    kept = io.StringIO()
    log = follow.Log(kept, shown.append, lambda _: None, redaction.hiding(given))
    for line in (
        "24/01/01 00:00:00 WARN It: hunter2 and AKIA123 is true\n",
        "24/01/01 00:00:00 INFO It: pass hunter2\n",
    ):
        log.take(line)
    assert shown == [f"24/01/01 00:00:00 WARN It: {HIDDEN} and {HIDDEN} is true\n"]
    assert "hunter2" not in kept.getvalue()
    assert redaction.hiding(command.Command((), "job.py", ()))("text") == "text"
