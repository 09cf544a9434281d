"""Draw the pictures of ``docs/windows.md``: ``python docs/make_pictures.py``.

Every picture is of the windows in the block above it: the block's ``windows`` over its ``events``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("windows.md")
FIGURE = re.compile(r"^```python\n(.*?)^```$(?:\n\n!\[[^]]*\]\(pictures/([\w-]+\.svg)\))?", re.MULTILINE | re.DOTALL)


def pictures(page: str) -> dict[str, str]:
    """The text of each picture that a page shows, by its file's name."""
    namespace: dict[str, Any] = {}
    found = {}
    for code, name in FIGURE.findall(page):
        exec(compile(code, "<docs>", "exec"), namespace)
        if name:
            found[name] = namespace["windows"].draw(namespace["events"]).as_svg()
    return found


if __name__ == "__main__":
    folder = PAGE.parent / "pictures"
    folder.mkdir(exist_ok=True)
    for name, svg in pictures(PAGE.read_text()).items():
        (folder / name).write_text(svg + "\n")
