#!/usr/bin/python3
"""tests/proof, with amounts of seconds.

Needs root, containerd, and from the environment: PREFETCH_SOURCE, PREFETCH_BUILD.
"""

import importlib.machinery
import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is
SOURCE = os.environ["PREFETCH_SOURCE"]
PROOF = os.path.join(SOURCE, "tests/proof")
sys.path.insert(0, os.path.join(SOURCE, "tests/deploy"))

from cases import Cases


def module():
    loader = importlib.machinery.SourceFileLoader("proof", PROOF)
    loaded = importlib.util.module_from_spec(importlib.util.spec_from_loader("proof", loader))
    loader.exec_module(loaded)
    return loaded


def started(scratch, *arguments):
    return subprocess.Popen([PROOF, "--build", os.environ["PREFETCH_BUILD"], "--out", scratch, *arguments],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def run(scratch, *arguments):
    process = started(scratch, *arguments)
    process.out, process.err = process.communicate()
    return process


def report(scratch):
    with open(os.path.join(scratch, "report.md"), encoding="utf-8") as file:
        return file.read()


def check_help():
    said = run("unused", "--help").out
    parts = re.findall(r"^  ([a-z]+)  +\S", said[said.index("Parts"):said.index("Without names")], re.M)
    assert parts == list(module().PARTS), said


def check_bad_usage():
    with tempfile.TemporaryDirectory() as scratch:
        for arguments, words in [(["faults"], "no part faults; there are: schedules"), (["--share", "0", "days"], "--share must be"),
                                 (["--containerd", scratch, "kills"], "has no program containerd"),
                                 (["--build", scratch, "days"], "run tests/run build first")]:
            process = run(os.path.join(scratch, "out"), *arguments)
            assert process.returncode == 2 and words in process.err and not process.out, (arguments, process.err)
            assert os.listdir(scratch) == [], "bad usage leaves something behind"


def check_schedules():
    with tempfile.TemporaryDirectory() as scratch:
        process = run(scratch, "--share", "0.001", "--first", "90000", "schedules")
        assert process.returncode == 0 and process.out.startswith("ok    schedules: 20 schedules, "), process.out + process.err
        rows = re.findall(r"^\| [^|]+ \| [^|]+ \| (\d+) \| 0 \|$", report(scratch), re.M)
        said = re.search(r"(\d+) faults, begun (\d+) times, 0 times with", process.out)
        assert said, process.out + report(scratch)
        assert len(rows) == int(said[1]) and sum(map(int, rows)) == int(said[2]) >= 20, report(scratch)
        steps = re.findall(r"^\| [A-Za-z ]+ \|((?: \d+ \|){7})$", report(scratch), re.M)
        met = sum(int(count) for row in steps for count in row.replace("|", " ").split())
        assert "| part | credential | resolve |" in report(scratch) and 0 < met < int(said[2]), report(scratch)


def check_a_part_that_fails():
    """It does not hide the next one, and both are in the report."""
    with tempfile.TemporaryDirectory() as scratch:
        broken = os.path.join(scratch, "build")
        for path in (*module().PROGRAMS.values(), "tests/faults/faults_test", "tests/faults/real_fault_rules_test"):
            os.makedirs(os.path.dirname(os.path.join(broken, path)), exist_ok=True)
            os.symlink("/bin/false" if path == "tests/faults/faults_test" else os.path.join(os.environ["PREFETCH_BUILD"], path),
                       os.path.join(broken, path))
        process = run(scratch, "--build", broken, "--share", "0.001", "schedules", "kills")
        assert process.returncode == 1 and process.out.startswith("FAIL  schedules: "), process.out + process.err
        assert "\nok    kills: 8 kills: " in process.out, process.out
        assert "## schedules" in report(scratch) and "## kills" in report(scratch), report(scratch)


def check_interrupted():
    """Nothing of it goes on, and what ended before is in the report."""
    with tempfile.TemporaryDirectory() as scratch:
        process = started(scratch, "--share", "0.0001", "schedules", "soak")
        first = process.stdout.readline()
        assert first.startswith("ok    schedules: "), first
        while not os.path.exists(os.path.join(scratch, "soak.log")):
            os.sched_yield()
        os.kill(process.pid, signal.SIGINT)
        process.communicate()
        assert process.returncode == 130, process.returncode
        left = subprocess.run(["pgrep", "-af", "/tests/soak/real_soak --minutes"], capture_output=True, text=True).stdout
        assert scratch not in left and f"{os.environ['PREFETCH_BUILD']}/tests/soak/real_soak --minutes 1 --sample 20 --pause 2\n" not in left, left
        assert "## schedules" in report(scratch) and "## soak" not in report(scratch), report(scratch)


TARGETS = [("ready: 612.4 ms  (target <= 2 s)", False), ("ready: 2.1 s  (target <= 2 s)", True),
           ("status: 5.8 MiB in 9.0 s  (target <= 8 MiB)", False), ("CPU: 12 ms  (target )", False),
           ("asked: p50 0.2 ms, p99 14.0 ms  (target p99 <= 10 ms)", True),
           ("asked: p50 20 ms, p99 9.0 ms  (target p99 <= 10 ms)", False), ("nothing  (target <= 2 s)", True)]


def check_targets():
    misses = module().misses
    wrong = [line for line, missed in TARGETS if misses(line) != missed]
    assert not wrong, wrong


def main():
    cases = Cases(sys.argv[1] if len(sys.argv) > 1 else "")
    for name, function in list(globals().items()):
        if name.startswith("check_"):
            cases.add("Proof", name.removeprefix("check_"), function)
    return cases.run()


if __name__ == "__main__":
    sys.exit(main())
