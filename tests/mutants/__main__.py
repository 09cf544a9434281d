"""Check that tests catch mistakes: ``python -m tests.mutants``, or ``make mutants``.

Each mutant in ``chosen.json`` has one line changed. Only the tests that reach this line run against it. Which these are
is recorded once per commit, in ``.venv/mutants``. The last commit is checked: changes that are not committed are not.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from . import chosen, copies
from .reached import KINDS, Reached, folder_of, record
from .running import Result, check, fail_anyway

MARKS = "not slow"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n\n")[2])
    parser.add_argument("do", nargs="?", choices=["run", "record", "choose", "find"], default="run")
    parser.add_argument("paths", nargs="*", help="run only tests below these paths")
    parser.add_argument("-m", dest="marks", default=MARKS, help="run only tests with these marks, as pytest takes them")
    parser.add_argument("--commit", default="HEAD", help="what is checked")
    parser.add_argument("--kind", choices=[*KINDS], help="record only this kind of tests")
    parser.add_argument("--recorded", default=MARKS, help="record the tests with these marks")
    parser.add_argument("--jobs", type=int, default=1, help="2: record tests with and without Spark at the same time")
    parser.add_argument("--again", action="store_true", help="record again")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of mutants")
    parser.add_argument("--tests", type=Path, help="a file of test ids, one per line: run only these")
    parser.add_argument("--output", type=Path, default=copies.HERE / "results.json", help="results, as JSON")
    parser.add_argument("--compare", type=Path, help="earlier results: fail if a mutant lives that was caught there")
    asked = parser.parse_intermixed_args()
    commit = copies.git("rev-parse", f"{asked.commit}^{{commit}}")
    copies.make(commit)
    if asked.do == "find":
        return find()
    kinds = [asked.kind] if asked.kind else list(KINDS)
    missing = [kind for kind in kinds if asked.again or not (folder_of(commit) / kind / "all").exists()]
    if missing:
        said = ", ".join(KINDS[kind] for kind in missing)
        print(f"Recording which lines the tests reach: those {said}", file=sys.stderr)
        with ThreadPoolExecutor(asked.jobs) as threads:
            list(threads.map(lambda kind: record(commit, kind, asked.recorded, []), missing))
    if asked.do == "choose":
        from .choosing import choose

        choose(commit)
    if asked.do == "run":
        return run(asked, commit)
    return 0


def find() -> int:
    """Say which mutants are lost, because their lines have changed."""
    lost = [mutant for mutant in chosen.load() if chosen.find(copies.TREE, mutant) is None]
    for mutant in lost:
        print(f"{mutant.number:3} {mutant.file} {mutant.function}: {mutant.before}")
    print(f"{len(lost)} mutants are lost")
    return bool(lost)


def run(asked: argparse.Namespace, commit: str) -> int:
    """Check the mutants, print each result as it comes, and write all of them."""

    def write() -> None:
        asked.output.write_text(json.dumps([asdict(each) for each in results], indent=1))

    reached = Reached(commit)
    among = {*asked.tests.read_text().split("\n")} if asked.tests else None
    results: list[Result] = []
    for mutant in chosen.load():
        if not asked.only or mutant.number in asked.only:
            each = check(mutant, reached, asked.marks, asked.paths, among)
            results.append(each)
            fate = each.caught_by or each.note or "ALIVE"
            print(f"{each.number:3} {each.seconds:6.1f} s {each.tests:5} tests  {each.file}  {fate}", flush=True)
            write()
    flaky = fail_anyway([test for each in results if (test := reached.tests.get(each.caught_by))])
    for each in results:
        if each.caught_by in flaky:
            each.note, each.caught_by = f"{each.caught_by} fails without a mutant, too", ""
            print(f"{each.number:3} {each.note}")
    write()
    caught = [each for each in results if each.caught_by]
    print(f"{len(caught)} of {len(results)} mutants are caught")
    for each in results:
        if not each.caught_by:
            print(f"{each.number:3} {each.file} {each.function}\n    - {each.before}\n    + {each.after}")
    if asked.compare:
        before = {each["number"] for each in json.loads(asked.compare.read_text()) if each["caught_by"]}
        lost = sorted(before & {each.number for each in results if not each.caught_by})
        print(f"Caught before, and alive now: {lost or 'none'}")
        return bool(lost)
    return 0


if __name__ == "__main__":
    sys.exit(main())
