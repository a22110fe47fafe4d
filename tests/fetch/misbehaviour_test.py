#!/usr/bin/python3
"""Registries that misbehave: with --fetch=auto, nothing ends worse than with --fetch=runtime.

Each mode of modes.py is pulled with both, alone and beside three registries that are well, and the table is
printed: what comes of it with each, the time of auto by that of the runtime, the requests of both, and the time of
the other registries by the one that they take alone. For every row: whatever the runtime gets comes with auto, too;
in 1.3 times the time at most; with twice the requests at most; and no ingest or lease is left that the runtime would
not leave. Beside others, the time is that of all of them where it is longer: the runtime has the first image of a list
first, and the agent shares its streams evenly among registries.

The images of the other registries take 1.2 times the time that they take alone, which is measured with each try of a
row. Where the registry that misbehaves does not hold downloads up, they may also take 1.2 times the time that they take
beside it with the runtime: its images are unpacked as well. A row that misses a time is measured twice more, and the
medians count.

misbehaviour_test.py [PART OF A ROW'S NAME]... Needs root, and from the environment: PREFETCHD. $PREFETCH_FETCH_TRIES:
how often a row is measured, 3 by default. $PREFETCH_FETCH_SIDE_BY_SIDE: rows at a time, 4 by default; fewer on a
machine with other work.
"""

import itertools
import os
import signal
import statistics
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../deploy"))

import modes
from cases import Cases
from node import Nodes
from registry import Registry

LIMIT = 6          # seconds for a run, at least
SLACK = 0.35       # of a time: starts of processes, and the looks of this test
TRIES = int(os.environ.get("PREFETCH_FETCH_TRIES", "3"))
SIDE_BY_SIDE = int(os.environ.get("PREFETCH_FETCH_SIDE_BY_SIDE", "4"))
WELL = 3           # registries
WELL_IMAGES = 3    # of each


class Row:
    """One list of images that misbehave. `bad`: (number of the registry, mode) of each."""

    def __init__(self, suite, name, bad):
        self.suite, self.name, self.bad = suite, name, bad
        self.runs = {}  # (fetch, beside): list of (Run, bad references, requests)
        self.alone = []  # times of the other registries
        self.problems = []

    def measure(self, fetch, beside):
        suite = self.suite
        node = suite.nodes.take()
        try:
            group = suite.next_group()
            repositories = [(suite.bad[at], f"{mode}/{group}/bad{number}")
                            for number, (at, mode) in enumerate(self.bad)]
            bad = [f"127.0.0.1:{registry.port}/{name}:v1" for registry, name in repositories]
            for registry, name in repositories:
                registry.image(name)  # made before it is asked for
            well = suite.well_references() if beside else []
            run = node.run(fetch, bad + well, suite.limit)
            run.well = run.last(well) if well else None
            run.bad = run.last(bad)
            run.came = [reference in run.pulled for reference in bad]
            run.requests = sum(registry.requests(name) for registry, name in repositories)
            run.bad_reasons = sorted({run.reasons.get(reference, "") for reference in bad})
            run.recorded_bad = [reference in run.recorded for reference in bad]
            self.runs.setdefault((fetch, beside), []).append(run)
        finally:
            suite.nodes.give(node)

    def median(self, fetch, beside, what):
        values = [getattr(run, what) for run in self.runs[fetch, beside]]
        values = [self.suite.limit if value is None else value for value in values]
        return statistics.median(values)

    def least_worse(self, beside, measure):
        """The first of pairs of tries in which auto is no worse; what a server answers to whom is chance."""
        pairs = zip(self.runs["runtime", beside], self.runs["auto", beside])
        return any(measure(runtime, auto) for runtime, auto in pairs)

    def judge(self):
        problems = []
        if self.name == "ok" and self.suite.agent_fetches and self.runs["auto", False][-1].left:
            problems.append(f"the agent does not download: {self.runs['auto', False][-1].left}")
        for beside in (False, True):
            where = "beside others" if beside else "alone"
            runtime, auto = (self.median(fetch, beside, "bad") for fetch in ("runtime", "auto"))
            if not self.least_worse(beside, lambda r, a: all(y or not x for x, y in zip(r.came, a.came))):
                problems.append(f"{where}: an image that the runtime gets does not come")
            # The runtime has the first image of a list first. The agent shares its streams evenly among registries.
            least = max(runtime, self.median("runtime", True, "well")) if beside else runtime
            allowed = 1.3 * least + SLACK + self.suite.patience(self)
            if runtime < self.suite.limit and auto > allowed:
                problems.append(f"{where}: {auto:.1f} s, and {runtime:.1f} s with the runtime")
            if not self.least_worse(beside, lambda r, a: a.requests <= 2 * r.requests + 1 or not all(r.came)):
                problems.append(f"{where}: {[run.requests for run in self.runs['auto', beside]]} requests, and "
                                f"{[run.requests for run in self.runs['runtime', beside]]} with the runtime")
            for what in ("leases", "ingests"):
                # One that goes on at the limit keeps its bytes for the next try.
                if not self.least_worse(beside, lambda r, a, w=what: getattr(a, w) <= getattr(r, w) or not a.ended):
                    problems.append(f"{where}: {what} are left")
            if not self.least_worse(beside, lambda r, a: r.came != a.came or r.recorded_bad == a.recorded_bad):
                problems.append(f"{where}: what is recorded differs")
        alone, well = statistics.median(self.alone), self.median("auto", True, "well")
        holds_up = any(mode in modes.HOLDING_UP for _, mode in self.bad)
        least = alone if holds_up else max(alone, self.median("runtime", True, "well"))
        if self.suite.agent_fetches and well > 1.2 * least + SLACK:
            with_what = "alone" if least == alone else "with the runtime"
            problems.append(f"others: {well:.1f} s, and {least:.1f} s {with_what}")
        self.problems = problems
        return problems

    def run(self):
        for _ in range(TRIES):
            for beside in (False, True):
                for fetch in ("runtime", "auto"):
                    self.measure(fetch, beside)
            self.alone.append(self.suite.measure_alone("auto"))
            if not self.judge():
                break
        print(self.line(), flush=True)

    def line(self):
        def outcome(fetch, beside):
            run = self.runs[fetch, beside][-1]
            if all(run.came):
                return f"{self.median(fetch, beside, 'bad'):.1f} s"
            return f"{sum(run.came)}/{len(run.came)} " + ",".join(r for r in run.bad_reasons if r)

        def ratio(beside, what):
            runtime, auto = (self.median(fetch, beside, what) for fetch in ("runtime", "auto"))
            return f"{auto / runtime:.2f}" if runtime < self.suite.limit else "-"

        requests = "/".join(str(round(self.median(fetch, False, "requests"))) for fetch in ("auto", "runtime"))
        return (f"{self.name:18} {outcome('runtime', False):26} {outcome('auto', False):26} "
                f"{ratio(False, 'bad'):>6} {ratio(True, 'bad'):>6} {requests:>9} "
                f"{self.median('auto', True, 'well') / statistics.median(self.alone):>6.2f} "
                f"{'; '.join(self.problems) if self.problems else 'ok'}")

    def check(self):
        assert not self.problems, f"{self.line()}\n" + "\n".join(self.problems)


class Suite:
    def __init__(self, scratch):
        self.bad = [Registry(modes) for _ in range(8)]
        self.well = [Registry(modes) for _ in range(WELL)]
        self.nodes = Nodes(scratch, SIDE_BY_SIDE, [registry.port for registry in self.bad + self.well])
        self.names, self.limit = itertools.count(), LIMIT

    def next_group(self):
        return f"g{next(self.names)}"

    def well_references(self):
        """Of each registry in turn."""
        references, group = [], self.next_group()
        for number in range(WELL_IMAGES):
            for at, registry in enumerate(self.well):
                name = f"ok/{group}/well{at}-{number}"
                registry.image(name)
                references.append(f"127.0.0.1:{registry.port}/{name}:v1")
        return references

    @staticmethod
    def patience(row):
        """Seconds for which the registry asks the agent to wait before it asks again."""
        return {"limitedfirst": 5, "rate": 2, "mlimited": 7}.get(row.name, 0)

    def measure_alone(self, fetch):
        """Seconds that the registries take that are well."""
        node = self.nodes.take()
        try:
            references = self.well_references()
            took = node.run(fetch, references, 5 * LIMIT).last(references)
            assert took, f"{fetch}: registries that are well: {node.read('agent.log')[-3000:]}"
            return took
        finally:
            self.nodes.give(node)

    def rows(self):
        for mode in modes.ALL:
            yield Row(self, mode, [(0, mode)])
        for name, bad in modes.SEVERAL.items():
            yield Row(self, name, bad)

    def stop(self):
        self.nodes.stop()
        for registry in self.bad + self.well:
            registry.stop()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    wanted = sys.argv[1:] or [""]
    cases = Cases("")
    with tempfile.TemporaryDirectory() as scratch:
        suite = Suite(scratch)
        try:
            version = suite.nodes.all[0].version()
            with ThreadPoolExecutor(2) as pool:
                runtime, auto = pool.map(suite.measure_alone, ("runtime", "auto"))
            # A machine that is busy gets more time.
            suite.limit = max(LIMIT, round(3 * max(runtime, auto)))
            suite.agent_fetches = version >= (2, 1)
            print(f"containerd {version[0]}.{version[1]}; others alone: runtime {runtime:.1f} s, "
                  f"auto {auto:.1f} s\n{'':18} {'runtime':26} {'auto':26} {'alone':>6} {'beside':>6} "
                  f"{'requests':>9} {'others':>6}", flush=True)
            rows = [row for row in suite.rows() if any(part in row.name for part in wanted)]
            with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
                list(pool.map(Row.run, rows))
            for row in rows:
                cases.add("Misbehaviour", row.name, row.check)
        finally:
            suite.stop()
    return cases.run()


if __name__ == "__main__":
    sys.exit(main())
