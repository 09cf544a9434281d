"""Does what the README says, from top to bottom, in the folder it is run in: ``follow_readme.py README.md``.

Needs nothing but what a reader has. Fails where a command does, or prints something else than what is shown under it.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any


def lines(text: str) -> list[str]:
    """What is printed, without the space that fills lines and tables."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def printed(kind: str, block: str, namespace: dict[str, Any]) -> str:
    """What a block of commands prints, or one of Python in the namespace of those above it."""
    if kind == "sh":
        return subprocess.run(["bash", "-euc", block], stdout=subprocess.PIPE, text=True, check=True).stdout
    with redirect_stdout(io.StringIO()) as out:
        exec(compile(block, "<README>", "exec"), namespace)
    return out.getvalue()


def main(readme: str) -> None:
    text = Path(readme).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    ran = compared = 0
    for (kind, block), (following, shown) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind not in ("sh", "python"):
            continue
        said = printed(kind, block, namespace)
        ran += 1
        if following == "text":
            assert lines(said) == lines(shown), f"{block}\nprints\n{said}\nnot\n{shown}"
            compared += 1
    assert ran >= 5, ran
    assert compared >= 3, compared
    print(f"README: {ran} blocks run, {compared} of them compared with what is shown")


if __name__ == "__main__":
    main(sys.argv[1])
