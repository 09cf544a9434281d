"""A job for spark-submit shown without its secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from ....aggregators.errors import without_secrets
from .command import CONF, Command

SETTING = "spark.redaction.regex"
"""The setting that says which settings are secret, by their names or their values."""

ALWAYS = re.compile("(?i)secret|password|token|access[.]?key|credential")
"""What it is unless set."""

HIDDEN = "*********(redacted)"
"""What Spark shows in place of a secret."""

JAVA_OPTIONS = "--driver-java-options"
"""The option of spark-submit whose value is that of a setting, and may have secrets like it."""

SHORT = 5
"""Secrets of fewer letters are left in logs, of which they may be any word."""


def without_secret_settings(command: Command) -> tuple[Command, list[str]]:
    """A job with :data:`HIDDEN` in place of secret values, and the names of the settings that have these.

    Addresses lose their logins and the values that they carry.

    Examples
    --------
    >>> job = Command(("--conf", "spark.my.password=abc", "--name", "a"), "job.py", ("s3://key:abc@trips",))
    >>> without_secret_settings(job)[0].options, without_secret_settings(job)[0].arguments
    (('--conf', 'spark.my.password=*********(redacted)', '--name', 'a'), ('s3://***@trips',))
    """
    secret, names, options = set(_secrets(command)), list[str](), list[str]()
    for name, *values in command.grouped():
        setting = _setting(name, *values)
        if setting in secret:
            names.append(setting[0])
            options += [name, HIDDEN if name == JAVA_OPTIONS else f"{setting[0]}={HIDDEN}"]
        else:
            options += [name, *map(without_secrets, values)]
    arguments = tuple(map(without_secrets, command.arguments))
    return replace(command, options=tuple(options), job=without_secrets(command.job), arguments=arguments), names


def hiding(command: Command) -> Callable[[str], str]:
    """A function that hides the secret values of a job's settings in text."""
    values = {value for _, value in _secrets(command) if len(value) >= SHORT and value not in ("true", "false")}
    if not values:
        return str
    found = re.compile("|".join(map(re.escape, sorted(values, key=len, reverse=True))))
    return lambda text: found.sub(HIDDEN, text)


def _secrets(command: Command) -> Iterator[tuple[str, str]]:
    """The settings by ``--conf`` that are secret, and their values; by :data:`JAVA_OPTIONS`, too."""
    own = _own_pattern(command)
    for option in command.grouped():
        said = _setting(*option)
        if said[0] not in ("", SETTING) and any(each.search(text) for each in (ALWAYS, own) for text in said):
            yield said


def _setting(name: str, value: str = "") -> tuple[str, str]:
    """The setting that an option gives, and its value; nothing where it gives none."""
    if name in CONF:
        setting, _, value = value.partition("=")
        return setting, value
    return (name, value) if name == JAVA_OPTIONS else ("", "")


def _own_pattern(command: Command) -> re.Pattern[str]:
    """What the user says is secret; anything, where Python has no such expression."""
    said = command.settings.get(SETTING)
    if said is None and command.defaults.exists():
        text = command.defaults.read_text(errors="replace")
        lines = re.finditer(rf"^[ \t]*{re.escape(SETTING)}[ \t]*[=: \t][ \t]*(.*?)[ \t]*$", text, re.M)
        said = next((line[1] for line in lines), None)
    try:
        return ALWAYS if said is None else re.compile(said)
    except re.error:
        return re.compile("")
