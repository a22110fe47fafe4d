"""Named cases that pass or fail, told as gtest tells them, so that tests/tally counts each."""

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

    def run(self):
        """The exit code. A file for GTEST_OUTPUT=xml:FOLDER/ is written as gtest would."""
        failed, suite = 0, ElementTree.Element("testsuite", name="deploy")
        for group, name, function in self.cases:
            element = ElementTree.SubElement(suite, "testcase", classname=group, name=name, status="run")
            started = time.monotonic()
            try:
                function()
            except Exception as error:  # whatever goes wrong is this case's, not the others'
                why = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
                print(f"FAILED {group}.{name}\n{why}")
                ElementTree.SubElement(element, "failure", message=why)
                failed += 1
            element.set("time", f"{time.monotonic() - started:.3f}")
        print(f"{len(self.cases) - failed} passed, {failed} failed")
        output = os.environ.get("GTEST_OUTPUT", "")
        if output.startswith("xml:") and output.endswith("/"):
            path = os.path.join(output[len("xml:"):], os.path.basename(sys.argv[0]) + ".xml")
            ElementTree.ElementTree(suite).write(path)
        return 1 if failed or not self.cases else 0
