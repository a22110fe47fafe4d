#!/usr/bin/python3
"""The Helm chart deploy/chart, rendered by tests/chart/*.go and compared with prefetchctl generate, object by object.

chart_test.py [TEXT]     only the cases whose names hold TEXT

PREFETCH_ACCEPT=1 first writes deploy/chart/files anew. From the environment: PREFETCHCTL, PREFETCHD, CHART_RENDERER.
"""

import os
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "deploy")]

from cases import Cases
from chart_cases import add_cases
from chart_files import CHART, chart_files
from helm import Renderer


def files_there():
    found = {}
    top = os.path.join(CHART, "files")
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                found[os.path.relpath(path, top)] = file.read()
    return found


def write(files):
    for path in files_there():
        if path not in files:
            os.remove(os.path.join(CHART, "files", path))
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(CHART, "files", path)), exist_ok=True)
        with open(os.path.join(CHART, "files", path), "w", encoding="utf-8") as out:
            out.write(text)


def check_current(made):
    there = files_there()
    stale = sorted(path for path in there.keys() | made.keys() if there.get(path) != made.get(path))
    assert not stale, f"PREFETCH_ACCEPT=1 tests/run chart writes them anew: {', '.join(stale)}"


def main():
    made = chart_files()
    if os.environ.get("PREFETCH_ACCEPT"):
        write(made)
    cases = Cases(sys.argv[1] if len(sys.argv) > 1 else "")
    cases.add("Chart", "FilesAreCurrent", lambda: check_current(made))
    with Renderer(CHART) as renderer:
        add_cases(cases, renderer)
        return cases.run(len(os.sched_getaffinity(0)), renderer.start)


sys.exit(main())
