#!/usr/bin/python3
"""Registries that misbehave: with --fetch=auto, each image ends as with --fetch=runtime, and nothing is left of it.

Two agents, one with each --fetch, pull the same images at the same time, into a containerd each: those of all modes of
modes.py, each from a registry of its own; and several that misbehave, alone and beside three registries that are well.
What the runtime brings must come with auto, too. What fails must fail with the same reason, or come. At a fixed point
all registries heal, and `prefetchctl retry` ends the pauses: then all images come with auto, but for those that are
broken themselves. No image that has come or failed for good has a lease or an ingest, and one that is tried again has
no more of them than the runtime leaves. Both runtimes record the same names, and auto asks and receives at most what
the constants below allow.

The table has each image's end before its registry heals, and auto by runtime: the time until it came, the time from the
healing on, the requests and the KiB. Times are printed and not judged; misbehaviour_test.py measures them.

states_test.py [PART OF A ROW'S NAME]. Needs root, and from the environment: PREFETCHD, PREFETCHCTL.
"""

import glob
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../deploy"))

import modes
from cases import Cases
from node import Node
from registry import Registry

LOOK = 5        # seconds in which the runtime shows how a batch ends; what has not ended then proves nothing
PATIENCE = 60   # seconds until auto must have got as far, and until all has come from registries that have healed
HEALED = 20     # seconds in which the runtime shows what comes from them
BATCH = 16
LANES = 2       # batches at a time
WELL, WELL_IMAGES = 3, 3  # registries, and images of each
FETCHES = ("runtime", "auto")
MUST_COME = ("ok", "large", "layers", "small", "index", "norange", "redirect", "basic",
             "breaksonce416", "largeslow", "largeslownorange", "largeslowlimited")
# Of an image that comes with both before its registry heals, times the runtime's. The agent asks, and may leave the
# image to the runtime.
MOST_REQUESTS = 2  # and one more
MOST_BYTES, MOST_BYTES_OF_GOOD = 3, 2


class Side(Node):
    def settings(self):
        return (super().settings() +
                f'[plugins."io.containerd.transfer.v1.local"]\n  max_concurrent_downloads = {4 * BATCH}\n')

    def look(self, run):
        run.recorded = {name for name in self.ctr("images", "ls", "-q").split() if name in run.references}

    def look_for_rest(self, run):
        """The digests of the blobs that are begun, and the leases."""
        run.begun = set()
        for path in glob.glob(self.path("root/io.containerd.content.v1.content/ingest/*/ref")):
            try:
                run.begun.add(self.read(path).split("-")[-1])
            except FileNotFoundError:
                pass  # it has just ended
        run.held = set(self.ctr("leases", "ls", "-q").split())

    def retry(self):
        subprocess.run([os.environ["PREFETCHCTL"], "retry", "--agent", f"unix://{self.path('agent.sock')}"],
                       check=True, stdout=subprocess.DEVNULL)


class Image:
    """That of one mode, as both sides have it."""

    def __init__(self, mode, registry, name, agent_downloads):
        self.is_chance = mode in modes.CHANCE or not agent_downloads and mode in modes.CHANCE_OF_RUNTIME
        self.mode, self.registry, self.blobs, self.repositories, self.names = mode, registry, set(), {}, {}
        self.before, self.counts = {}, []  # the registry heals
        for fetch in FETCHES:
            made = registry.image(f"{mode}/{fetch}/{name}")
            self.blobs |= set(made.blobs) | set(made.documents)
            self.repositories[fetch] = made.repository
            self.names[fetch] = f"127.0.0.1:{registry.port}/{made.repository}:v1"

    def end(self, fetch, run):
        """How it has ended; nothing while its first pull goes on."""
        name = self.names[fetch]
        if name in run.pulled:
            return "comes"
        if name in run.for_good:
            return f"fails: {run.reasons[name]}"
        return f"again: {run.reasons[name]}" if name in run.reasons else ""

    def is_as_far(self, runs):
        """Auto is where the runtime is."""
        runtime, auto = (self.end(fetch, runs[fetch]) for fetch in FETCHES)
        if not runtime or auto in (runtime, "comes"):
            return True
        reasons = [runs[fetch].all_reasons.get(self.names[fetch], set()) for fetch in FETCHES]
        return runtime.split(":")[0] == auto.split(":")[0] == "again" and bool(reasons[0] & reasons[1])

    def must_come_once_healed(self):
        # A registry that has limited requests is left alone for a minute, whoever asks for a retry.
        return self.mode in modes.HEALING and not any("RateLimited" in end for end in self.before.values())

    def left(self, fetch, run):
        lease = hashlib.sha256(self.names[fetch].encode()).hexdigest()[:32]
        return sorted(self.blobs & run.begun) + [held for held in run.held if held.endswith(lease)]

    def leaves_as_little(self, runs):
        runtime, auto = (len(self.left(fetch, runs[fetch])) for fetch in FETCHES)
        is_over = all(self.end(fetch, run) and not self.end(fetch, run).startswith("again") for fetch, run in runs.items())
        return auto == 0 if is_over else auto <= runtime

    def count(self):
        return [(self.registry.requests(name), self.registry.sent[name]) for name in self.repositories.values()]


class Lane:
    """A containerd for each side, and registries; runs one batch after the other."""

    def __init__(self, folder):
        self.bad = [Registry(modes) for _ in range(BATCH)]
        self.well = [Registry(modes) for _ in range(WELL)]
        ports = [registry.port for registry in self.bad + self.well]
        self.nodes = {fetch: Side(os.path.join(folder, fetch), ports) for fetch in FETCHES}
        self.agent_downloads = self.nodes["auto"].version() >= (2, 1)

    def stop(self):
        for node in self.nodes.values():
            node.stop()
        for registry in self.bad + self.well:
            registry.stop()


class Batch:
    """Images of one list. `bad`: of each image, the number of its registry and its mode."""

    def __init__(self, name, bad, beside, limits):
        self.name, self.bad, self.beside, self.limits = name, bad, beside, limits
        self.images, self.well, self.runs, self.over = [], [], {}, threading.Event()
        self.healed_at = None

    def everything(self):
        return self.images + self.well

    def run_side(self, node, fetch):
        def over(run):
            self.runs[fetch] = run
            return self.over.is_set()

        node.set_limits(self.limits)
        node.run(fetch, [image.names[fetch] for image in self.everything()], 4 * PATIENCE, over, once=False)

    @staticmethod
    def wait(condition, seconds=PATIENCE):
        until = time.monotonic() + seconds
        while not condition() and time.monotonic() < until:
            time.sleep(0.05)

    def run(self, lane):
        for registry in lane.bad:
            registry.fall_ill()
        label = self.name.replace(" ", "-")
        self.images = [Image(mode, lane.bad[at], f"{label}-{number}", lane.agent_downloads)
                       for number, (at, mode) in enumerate(self.bad)]
        if self.beside:
            self.well = [Image("ok", registry, f"{label}-well{at}-{number}", lane.agent_downloads)
                         for number in range(WELL_IMAGES) for at, registry in enumerate(lane.well)]
        with ThreadPoolExecutor(len(FETCHES)) as pool:
            sides = [pool.submit(self.run_side, lane.nodes[fetch], fetch) for fetch in FETCHES]
            try:
                self.misbehave()
                self.heal(lane)
                self.wait(lambda: self.nothing_left(lane), 10)  # the runtime goes on for a moment with what was cancelled
            finally:
                self.over.set()
            for side in sides:
                side.result()

    def misbehave(self):
        self.wait(lambda: len(self.runs) == len(FETCHES))
        started = time.monotonic()
        self.wait(lambda: time.monotonic() - started > LOOK and all(map(self.is_told, self.everything())))
        for image in self.everything():
            image.before = {fetch: image.end(fetch, self.runs[fetch]) for fetch in FETCHES}
            image.was_told, image.counts = self.is_told(image), image.count()

    def is_told(self, image):
        if image.is_chance:
            return True
        must = image in self.well or image.mode in MUST_COME
        return image.is_as_far(self.runs) and (not must or image.end("runtime", self.runs["runtime"]) == "comes")

    def heal(self, lane):
        self.healed_at = time.monotonic()
        for registry in lane.bad:
            registry.heal()
        for node in lane.nodes.values():
            node.retry()
        def have_come(fetch):
            return all(image.end(fetch, self.runs[fetch]) == "comes" for image in self.everything()
                       if image.must_come_once_healed())
        self.wait(lambda: have_come("runtime"), HEALED)
        self.wait(lambda: have_come("auto"))

    def nothing_left(self, lane):
        for fetch, run in self.runs.items():
            lane.nodes[fetch].look_for_rest(run)
        return all(image.leaves_as_little(self.runs) for image in self.everything())

    def check(self, image):
        line, ends = self.line(image), {fetch: image.end(fetch, run) for fetch, run in self.runs.items()}
        assert image.was_told, f"auto is not as far: {line}"
        assert image.is_as_far(self.runs), f"after the registry has healed: {ends}: {line}"
        if image.must_come_once_healed():
            assert ends["auto"] == "comes", f"after the registry has healed: {ends}: {line}"
        left = {fetch: image.left(fetch, run) for fetch, run in self.runs.items()}
        assert image.leaves_as_little(self.runs), f"left: {left}: {line}"
        recorded = {fetch: image.names[fetch] in run.recorded for fetch, run in self.runs.items()}
        assert ends["runtime"] != ends["auto"] or len(set(recorded.values())) == 1, f"recorded: {recorded}"
        if set(image.before.values()) == {"comes"} and not image.is_chance:
            (requests, sent), (auto_requests, auto_sent) = image.counts
            assert auto_requests <= MOST_REQUESTS * requests + 1, f"{auto_requests} requests, not {requests}: {line}"
            most = MOST_BYTES_OF_GOOD if image.mode in MUST_COME else MOST_BYTES
            assert auto_sent <= most * sent, f"{auto_sent} bytes, not {sent}: {line}"

    def check_all(self):
        for image in self.everything():
            self.check(image)

    def line(self, image):
        def ratio(is_for_it, since):
            times = [since(run, run.pulled.get(image.names[fetch])) for fetch, run in sorted(self.runs.items(), reverse=True)]
            return f"{times[1] / times[0]:.2f} x {times[0]:.1f} s" if is_for_it and None not in times else "-"

        came_before = set(image.before.values()) == {"comes"}
        time_of = ratio(came_before, lambda run, at: at)
        healed = ratio(image.must_come_once_healed() and "comes" not in image.before.values(),
                       lambda run, at: at and run.started + at - self.healed_at)
        (requests, sent), (auto_requests, auto_sent) = image.counts
        return (f"{image.mode:17} {image.before['runtime']:24} {image.before['auto']:24} {time_of:>13} {healed:>13} "
                f"{auto_requests:>4}/{requests:<4} {auto_sent >> 10:>5}/{sent >> 10:<5} "
                f"{self.runs['auto'].left.get(image.names['auto'], '')}").rstrip()


def batches(wanted, agent_downloads):
    places = f"parallelPulls: {BATCH}, parallelPullsWhenReady: {BATCH}, perRegistryPulls: {BATCH}"
    names = [mode for mode in modes.ALL if wanted in mode]
    for at in range(0, len(names), BATCH):  # some hold their place for ever
        yield Batch(f"modes {at // BATCH}", list(enumerate(names[at:at + BATCH])), False, f"{Node.limits}, {places}")
    # Before containerd 2.1, both sides do the same.
    for name, bad in modes.SEVERAL.items() if agent_downloads else ():
        for beside in (False, True):
            if wanted in name:
                yield Batch(f"{name} beside" if beside else f"{name} alone", bad, beside, Node.limits)


def run_all(lanes, all_batches):
    free, printing = SimpleQueue(), threading.Lock()
    for lane in lanes:
        free.put(lane)

    def run(batch):
        lane = free.get()
        try:
            batch.run(lane)
        finally:
            free.put(lane)
        with printing:
            print(f"{batch.name}:", *map(batch.line, batch.everything()), sep="\n", flush=True)

    with ThreadPoolExecutor(len(lanes)) as pool:
        list(pool.map(run, all_batches))


def check_that_it_downloads(all_batches):
    for batch in all_batches:
        for image in batch.images:
            if image.mode in ("ok", "large", "tar"):
                assert image.names["auto"] not in batch.runs["auto"].left, batch.line(image)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    cases, lanes = Cases(""), []
    with tempfile.TemporaryDirectory() as scratch:
        # On a disk, each commit waits for a sync. An image takes 2 GiB of the room until its size is known.
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=99g", "tmpfs", scratch], check=True)
        try:
            for number in range(LANES):
                lanes.append(Lane(os.path.join(scratch, str(number))))
            agent_downloads = lanes[0].agent_downloads
            all_batches = list(batches(sys.argv[1] if len(sys.argv) > 1 else "", agent_downloads))
            print(f"{'':17} {'runtime':24} {'auto':24} {'time':>13} {'once healed':>13} {'requests':9} KiB", flush=True)
            run_all(lanes, all_batches)
            for batch in all_batches:
                if batch.name.startswith("modes"):
                    for image in batch.images:
                        cases.add("States", image.mode, lambda batch=batch, image=image: batch.check(image))
                else:
                    cases.add("States", batch.name, batch.check_all)
            if agent_downloads:
                cases.add("States", "TheAgentDownloads", lambda: check_that_it_downloads(all_batches))
            return cases.run()
        finally:
            for lane in lanes:
                lane.stop()
            subprocess.run(["umount", "--lazy", scratch], check=True)


if __name__ == "__main__":
    sys.exit(main())
