#!/usr/bin/python3
"""Registries that misbehave: with --fetch=auto, each image ends as with --fetch=runtime, and nothing is left of it.

Each mode of modes.py has a registry of its own. Two agents, one with each --fetch, pull the images of a batch of modes at
the same time, into a containerd each. What the runtime brings must come with auto, too, and what fails for good must
fail for good, or come; auto is waited for. No image that has come or failed for good may have a lease or an ingest, and
both runtimes must record the same names. misbehaviour_test.py measures times.

states_test.py [PART OF A MODE'S NAME]. Needs root, and from the environment: PREFETCHD.
"""

import glob
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../deploy"))

import modes
from cases import Cases
from node import Node
from registry import Registry

LOOK = 5        # seconds in which the runtime shows how a batch ends; what has not ended then proves nothing
PATIENCE = 60   # seconds until auto must have got as far
BATCH = 16
MUST_COME = ("ok", "large", "layers", "small", "index", "norange", "redirect", "basic")


class Side(Node):
    """One that has a place for each image, since some hold theirs for ever."""

    limits = Node.limits + f", parallelPulls: {BATCH}, parallelPullsWhenReady: {BATCH}, perRegistryPulls: {BATCH}"

    def settings(self):
        return (super().settings() +
                f'[plugins."io.containerd.transfer.v1.local"]\n  max_concurrent_downloads = {4 * BATCH}\n')

    def look(self, run):
        run.recorded = {name for name in self.ctr("images", "ls", "-q").split() if name in run.references}
        self.look_for_rest(run)

    def look_for_rest(self, run):
        """The digests of the blobs that are begun, and the leases."""
        run.begun = set()
        for path in glob.glob(self.path("root/io.containerd.content.v1.content/ingest/*/ref")):
            try:
                run.begun.add(self.read(path).split("-")[-1])
            except FileNotFoundError:
                pass  # it has just ended
        run.held = set(self.ctr("leases", "ls", "-q").split())


class Image:
    """That of one mode, as both sides have it."""

    def __init__(self, mode, registry):
        self.mode, self.blobs, self.names = mode, set(), {}
        for fetch in ("runtime", "auto"):
            made = registry.image(f"{mode}/{fetch}/image")
            self.blobs |= set(made.blobs) | set(made.documents)
            self.names[fetch] = f"127.0.0.1:{registry.port}/{made.repository}:v1"

    def end(self, fetch, run):
        """How it has ended; nothing while it is tried again."""
        name = self.names[fetch]
        if name in run.pulled:
            return "comes"
        return f"fails: {run.reasons[name]}" if name in run.for_good else ""

    def left(self, fetch, run):
        if not self.end(fetch, run):
            return []
        lease = hashlib.sha256(self.names[fetch].encode()).hexdigest()[:32]
        return sorted(self.blobs & run.begun) + [held for held in run.held if held.endswith(lease)]


class Batch:
    def __init__(self, suite, images):
        self.suite, self.images, self.runs = suite, images, {}

    def run_side(self, fetch, until):
        def over(run):
            self.runs[fetch] = run
            return until()

        names = [image.names[fetch] for image in self.images]
        self.runs[fetch] = self.suite.nodes[fetch].run(fetch, names, PATIENCE, over)

    def is_as_far(self, image):
        runtime, auto = (image.end(fetch, self.runs[fetch]) for fetch in ("runtime", "auto"))
        return not runtime or auto in (runtime, "comes")

    def run(self):
        started = time.monotonic()

        def runtime_is_over():
            return time.monotonic() - started > LOOK and all(
                image.end("runtime", self.runs["runtime"]) for image in self.images if image.mode in MUST_COME)

        with ThreadPoolExecutor(2) as pool:
            runtime = pool.submit(self.run_side, "runtime", runtime_is_over)
            auto = pool.submit(self.run_side, "auto", lambda: runtime.done() and all(map(self.is_as_far, self.images)))
            runtime.result()
            auto.result()
        # The runtime goes on for a moment with what was cancelled.
        until = time.monotonic() + 10
        for fetch, run in self.runs.items():
            while any(image.left(fetch, run) for image in self.images) and time.monotonic() < until:
                time.sleep(0.1)
                self.suite.nodes[fetch].look_for_rest(run)

    def check(self, image):
        ends = {fetch: image.end(fetch, run) for fetch, run in self.runs.items()}
        assert self.is_as_far(image) and (image.mode not in MUST_COME or ends["runtime"] == "comes"), self.line(image)
        for fetch, run in self.runs.items():
            left = image.left(fetch, run)
            assert not left, f"{fetch}: {left} is left: {self.line(image)}"
        recorded = {fetch: image.names[fetch] in run.recorded for fetch, run in self.runs.items()}
        assert not ends["runtime"] or ends["runtime"] != ends["auto"] or len(set(recorded.values())) == 1, f"recorded: {recorded}"

    def line(self, image):
        ends = [f"{image.end(fetch, run) or 'again: ' + run.reasons.get(image.names[fetch], ''):26}"
                for fetch, run in sorted(self.runs.items(), reverse=True)]
        return f"{image.mode:18} {' '.join(ends)} {self.runs['auto'].left.get(image.names['auto'], '')}".rstrip()


class Suite:
    def __init__(self, scratch, wanted):
        self.registries, images = [], []
        for mode in modes.ALL:
            if wanted in mode:
                self.registries.append(Registry(modes))
                images.append(Image(mode, self.registries[-1]))
        ports = [registry.port for registry in self.registries]
        self.nodes = {fetch: Side(os.path.join(scratch, fetch), ports) for fetch in ("runtime", "auto")}
        self.batches = [Batch(self, images[at:at + BATCH]) for at in range(0, len(images), BATCH)]

    def check_that_it_downloads(self):
        """From 2.1 on; else both sides are the same."""
        for batch in self.batches:
            for image in batch.images:
                if image.mode in ("ok", "large", "tar") and self.nodes["auto"].version() >= (2, 1):
                    assert image.names["auto"] not in batch.runs["auto"].left, batch.line(image)

    def stop(self):
        for node in self.nodes.values():
            node.stop()
        for registry in self.registries:
            registry.stop()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    cases = Cases("")
    with tempfile.TemporaryDirectory() as scratch:
        # On a disk, each commit waits for a sync. An image takes 2 GiB of the room until its size is known.
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=99g", "tmpfs", scratch], check=True)
        try:
            suite = Suite(scratch, sys.argv[1] if len(sys.argv) > 1 else "")
            try:
                for batch in suite.batches:
                    batch.run()
                    for image in batch.images:
                        print(batch.line(image), flush=True)
                        cases.add("States", image.mode, lambda batch=batch, image=image: batch.check(image))
                cases.add("States", "TheAgentDownloads", suite.check_that_it_downloads)
                return cases.run()
            finally:
                suite.stop()
        finally:
            subprocess.run(["umount", "--lazy", scratch], check=True)


if __name__ == "__main__":
    sys.exit(main())
