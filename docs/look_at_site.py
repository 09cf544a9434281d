"""Look at the built site in a browser, as a reader would: ``python docs/look_at_site.py SITE SCREENSHOTS``.

Every page is opened at the width of a phone, and five at that of a desk, too. They must say no error on the console,
load nothing from elsewhere, show their pictures, and not be wider than the window; the search must find something.
Screenshots of the five are for a person to look at. Where no Chromium is on the PATH it says so, and looks at none.
"""

from __future__ import annotations

import contextlib
import http.server
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZES = {"phone": (390, 844), "desk": (1440, 900)}
SHOWN = ("index", "windows", "aggregates", "benchmarks/report", "reference/queries")

WRONG = """() => {
    const wide = document.documentElement.clientWidth
    const may = each => /auto|scroll/.test(getComputedStyle(each).overflowX)
    const scrolls = each => each && (may(each) || scrolls(each.parentElement))
    const found = document.documentElement.scrollWidth > wide ? ["it is wider than the window"] : []
    if (document.querySelector("article")?.textContent.includes("```")) found.push("a block is shown as text")
    for (const each of document.querySelectorAll("article :is(table, pre, img)")) {
        const box = each.getBoundingClientRect()
        if (box.right > wide && !scrolls(each))
            found.push(`a ${each.localName} is cut off: ${(each.textContent || each.src).slice(0, 60)}`)
        if (each.localName == "img" && !each.naturalWidth) found.push(`no picture: ${each.src}`)
    }
    return found
}"""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder, on this machine only."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *said: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Look:
    """A page at one size, and what is wrong with what it opens."""

    def __init__(self, page: Any, begin: str, size: str) -> None:
        self.page, self.begin, self.size, self.here = page, begin, size, ""
        self.wrong: list[str] = []
        page.on("console", lambda said: said.type in ("error", "warning") and self.fault(said.text))
        page.on("pageerror", lambda error: self.fault(str(error)))
        page.on("request", lambda to: to.url.startswith((begin, "data:", "blob:")) or self.fault(f"loads {to.url}"))

    def fault(self, what: str) -> None:
        """Note what is wrong here."""
        self.wrong.append(f"{self.here}, {self.size}: {what}")

    def open(self, name: str) -> None:
        """Open a page and check what it shows."""
        self.here = name
        self.page.goto(f"{self.begin}{name}.html", wait_until="load")
        for each in self.page.evaluate(WRONG):
            self.fault(each)

    def keep(self, shots: Path) -> None:
        """Take screenshots, as readers who prefer light and who prefer dark see a page that they open first."""
        for scheme, shown in (("dark", "slate"), ("light", "default")):
            page = self.page.context.browser.new_page(viewport=self.page.viewport_size, color_scheme=scheme)
            page.goto(self.page.url, wait_until="load")
            page.wait_for_timeout(300)  # colours fade
            if (found := page.evaluate("document.body.dataset.mdColorScheme")) != shown:
                self.fault(f"is {found} for readers who prefer {scheme}")
            page.screenshot(path=shots / f"{self.here.replace('/', '-')}-{self.size}-{scheme}.png")
            page.close()

    def search(self) -> None:
        """Look for a word, as a reader would."""
        self.open("index")
        self.page.locator("label[for=__search], .md-search__button").filter(visible=True).click()
        self.page.keyboard.type("watermark", delay=20)
        self.page.get_by_text("What a stream needs").first.wait_for()


def main(site: Path, shots: Path) -> int:
    """Look at a site; the number that a program ends with."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"There is none of {', '.join(BROWSERS)} on the PATH, and so the pages were not looked at in a browser")
        return 0
    from playwright.sync_api import sync_playwright

    shots.mkdir(parents=True, exist_ok=True)
    names = sorted(str(path.relative_to(site).with_suffix("")) for path in site.rglob("*.html"))
    wrong = []
    with served(site) as begin, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser)
        for size, (width, height) in SIZES.items():
            look = Look(chromium.new_page(viewport={"width": width, "height": height}), begin, size)
            for name in names if size == "phone" else SHOWN:
                look.open(name)
                if name in SHOWN:
                    look.keep(shots)
            look.search()
            wrong += look.wrong
        chromium.close()
    print(*wrong, f"{len(names)} pages in a browser: {len(wrong)} faults; screenshots in {shots}", sep="\n")
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
