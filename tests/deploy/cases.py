"""Named cases that pass or fail, told as gtest tells them, so that tests/tally counts each."""

import concurrent.futures
import multiprocessing
import os
import sys
import time
import traceback
import xml.etree.ElementTree as ElementTree


class Cases:
    """Only those whose names hold `wanted` are run."""

    def __init__(self, wanted):
        self.wanted = wanted
        self.cases = []

    def add(self, group, name, function):
        if self.wanted in f"{group}.{name}":
            self.cases.append((group, name, function))

    def try_one(self, index):
        """(what went wrong or nothing, seconds)."""
        started, why = time.monotonic(), ""
        try:
            self.cases[index][2]()
        except Exception as error:  # whatever goes wrong is this case's, not the others'
            why = str(error) or repr(error) if isinstance(error, AssertionError) else traceback.format_exc()
        return why, time.monotonic() - started

    def outcomes(self, processes, begin):
        """Of each case, in order."""
        if processes == 1:
            yield from map(self.try_one, range(len(self.cases)))
            return
        with concurrent.futures.ProcessPoolExecutor(processes, multiprocessing.get_context("fork"), _start, (self, begin)) as pool:
            yield from pool.map(_try_one, range(len(self.cases)), chunksize=4)

    def run(self, processes=1, begin=lambda: None):
        """The exit code. A file for GTEST_OUTPUT=xml:FOLDER/ is written as gtest would. Several processes share the cases,
        and each calls `begin` first."""
        failed, suite = 0, ElementTree.Element("testsuite", name="deploy")
        for (group, name, _), (why, seconds) in zip(self.cases, self.outcomes(processes, begin)):
            element = ElementTree.SubElement(suite, "testcase", classname=group, name=name, status="run")
            if why:
                print(f"FAILED {group}.{name}\n{why}")
                ElementTree.SubElement(element, "failure", message=why)
                failed += 1
            element.set("time", f"{seconds:.3f}")
        print(f"{len(self.cases) - failed} passed, {failed} failed")
        output = os.environ.get("GTEST_OUTPUT", "")
        if output.startswith("xml:") and output.endswith("/"):
            path = os.path.join(output[len("xml:"):], os.path.basename(sys.argv[0]) + ".xml")
            ElementTree.ElementTree(suite).write(path)
        return 1 if failed or not self.cases else 0


_cases = None  # of a process that has a share of them


def _start(cases, begin):
    global _cases
    _cases = cases
    begin()


def _try_one(index):
    return _cases.try_one(index)
