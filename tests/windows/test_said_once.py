"""Options that several kinds of windows have are one list, which ``help`` and the command line show of each kind."""

from __future__ import annotations

import pydoc
from inspect import Parameter, signature

import pyarrow as pa
import pytest

import framefold as ff

STEPS = {name: each for name, each in signature(ff.sliding).parameters.items() if each.kind is Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize(
    ("kind", "others"), [(ff.tumbling, {"gaps"}), (ff.cumulating, {"gaps", "min_fill"}), (ff.sliding, set())]
)
def test_the_options_of_windows_at_steps(kind: object, others: set[str]) -> None:
    shown = signature(kind).parameters  # type: ignore[arg-type]
    assert {name: each for name, each in shown.items() if each.kind is Parameter.KEYWORD_ONLY} == {
        name: each for name, each in STEPS.items() if name not in others
    }
    assert shown["closed"].default == "left"
    text = pydoc.render_doc(kind, renderer=pydoc.plaintext)
    assert "fill_from: 'Instant | None' = None" in text
    assert "options" not in text.partition("->")[0]


def test_what_is_no_option_is_said_as_python_does() -> None:
    for call, said in [
        (lambda: ff.tumbling(4, gaps="allow"), r"^tumbling\(\) got an unexpected keyword argument 'gaps'$"),  # type: ignore[call-arg]
        (lambda: ff.sliding(4, every=2, clsed="left"), r"^sliding\(\) got an unexpected keyword argument 'clsed'$"),  # type: ignore[call-arg]
        (lambda: ff.cumulating(), r"^cumulating\(\) missing a required argument: 'size'$"),  # type: ignore[call-arg]
        (lambda: ff.sliding(4, 2, "1"), r"^sliding\(\) too many positional arguments$"),  # type: ignore[misc]
    ]:
        with pytest.raises(TypeError, match=said):
            call()


def test_help_of_events_names_what_it_takes() -> None:
    text = pydoc.render_doc(ff.events, renderer=pydoc.plaintext)
    assert list(signature(ff.events).parameters) == ["data", "time", "by", "until", "longest", "ties", "null_time"]
    assert "null_time: 'NullTime' = 'error'" in text
    with pytest.raises(TypeError, match=r"events\(\) got an unexpected keyword argument 'untl'"):
        ff.events(pa.table({"t": [1]}), time="t", untl="t")  # type: ignore[call-overload]
