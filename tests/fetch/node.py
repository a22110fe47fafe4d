"""A containerd of its own, and the built agent beside it, once over a list."""

import base64
import json
import os
import subprocess
import threading
import time

LOGIN = base64.b64encode(b"robot:hunter2-of-misbehaviour").decode()


def program(name):
    folder = os.environ.get("PREFETCH_CONTAINERD")
    return os.path.join(folder, name) if folder else name


class Run:
    """What came of one list. Times are seconds from the agent's start."""

    def __init__(self, references):
        self.references = references
        self.started = time.monotonic()
        self.pulled, self.reasons = {}, {}  # by reference
        self.all_reasons = {}  # by reference: of each failure
        self.left = {}         # why the agent leaves it to the runtime
        self.for_good = set()  # references whose failure is not retried
        self.recorded, self.leases, self.ingests = set(), 0, 0

    def last(self, references):
        """When the last of them was here; None: not all came."""
        if not all(reference in self.pulled for reference in references):
            return None
        return max(self.pulled[reference] for reference in references)


class Node:
    limits = "diskHighPercent: 99, diskMinFreeBytes: 1000000"

    def __init__(self, folder, ports):
        """Registries on loopback have these ports, and speak http."""
        self.folder = folder
        for port in ports:
            os.makedirs(os.path.join(folder, f"certs.d/127.0.0.1:{port}"))
            self.write(f"certs.d/127.0.0.1:{port}/hosts.toml", f'server = "http://127.0.0.1:{port}"\n[host]\n')
        os.makedirs(os.path.join(folder, "root"))
        self.socket = os.path.join(folder, "containerd.sock")
        self.config = self.write("containerd.toml", self.settings())
        self.write("docker.json", "")
        self.set_limits(self.limits)
        self.log = open(os.path.join(folder, "containerd.log"), "w", encoding="utf-8")
        self.process = subprocess.Popen([program("containerd"), "--config", self.config],
                                        stdout=self.log, stderr=self.log)
        until = time.monotonic() + 30
        while not self.ctr("version") or "Start streaming server" not in self.read("containerd.log"):
            assert time.monotonic() < until and self.process.poll() is None, self.read("containerd.log")[-2000:]
            time.sleep(0.1)

    def settings(self):
        return f"""version = 2
root = "{self.folder}/root"
state = "{self.folder}/state"
[grpc]
  address = "{self.socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{self.folder}/opt"
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{self.folder}/certs.d"
"""

    def set_limits(self, limits):
        self.write("agent.yaml", "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\n"
                                 f"limits: {{{limits}}}\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def ctr(self, *words):
        ran = subprocess.run([program("ctr"), "--address", self.socket, "--namespace", "k8s.io", *words],
                             capture_output=True, text=True, timeout=60, check=False)
        return ran.stdout if ran.returncode == 0 else ""

    def version(self):
        text = self.ctr("version").split("Server:")[-1]
        found = next(line for line in text.splitlines() if "Version:" in line).split()[-1].lstrip("v").split(".")
        return int(found[0]), int(found[1])

    def clean(self):
        for lease in self.ctr("leases", "ls", "-q").split():
            self.ctr("leases", "rm", lease)
        images = self.ctr("images", "ls", "-q").split()
        if images:
            self.ctr("images", "rm", "--sync", *images)
        # The removal of any lease collects garbage.
        self.ctr("leases", "create", "--id", "collect-garbage")
        self.ctr("leases", "rm", "--sync", "collect-garbage")
        for line in self.ctr("content", "active").splitlines()[1:]:
            self.ctr("content", "abort", line.split()[0])

    def run(self, fetch, references, limit, until=None, once=True):
        """Ends after `limit` seconds, or as soon as `until` of the Run so far is true. With `once`, also as soon as
        no image is worth waiting for."""
        run = Run(references)
        items = "".join(f"- image: {reference}\n" for reference in references)
        self.write("images.yaml", f"apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n{items}")
        hosts = {reference.split("/")[0] for reference in references if "/basic" in reference}
        self.write("docker.json", json.dumps({"auths": {host: {"auth": LOGIN} for host in hosts}}))
        words = [os.environ["PREFETCHD"], "--kubelet=none", "--fetch", fetch, "--list", self.path("images.yaml"),
                 "--config", self.path("agent.yaml"), "--docker-config", self.path("docker.json"),
                 "--registry-containerd-config", self.config, "--runtime-endpoint", f"unix://{self.socket}",
                 "--listen", "127.0.0.1:0", "--local", self.path("agent.sock"), "--log-level", "debug",
                 "--log-format", "json", *(["--once", "--timeout", f"{limit}s"] if once else [])]
        with open(self.path("agent.log"), "w", encoding="utf-8") as log:
            started = run.started = time.monotonic()
            agent = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=log)
        with open(self.path("agent.log"), encoding="utf-8", errors="replace") as log:
            rest = ""
            while True:
                over = agent.poll() is not None
                rest += log.read()
                *lines, rest = rest.split("\n")
                for line in lines:
                    self.note(run, line, time.monotonic() - started)
                if over:
                    break
                if (until and until(run)) or time.monotonic() > started + limit + (20 if once else 0):
                    agent.terminate()
                    agent.wait()
                time.sleep(0.01)
        run.ended = time.monotonic() - started < limit
        self.look(run)
        return run

    @staticmethod
    def note(run, line, at):
        try:
            entry = json.loads(line)
        except ValueError:
            return
        image = entry.get("image", "")
        if entry.get("msg") == "image pulled":
            run.pulled.setdefault(image, at)
        elif entry.get("msg") == "pull failed":
            run.reasons[image] = entry.get("reason", "")
            run.all_reasons.setdefault(image, set()).add(run.reasons[image])
            if "retry" in entry:
                run.for_good.add(image)
        elif entry.get("msg") in ("the runtime fetches", "the runtime fetches the rest"):
            run.left.setdefault(image, entry.get("reason") or entry.get("error", ""))

    def look(self, run):
        """What is left in the store; the runtime goes on for a moment with what was cancelled."""
        until = time.monotonic() + (2 if len(run.pulled) < len(run.references) else 0.3)
        while True:
            run.leases = len(self.ctr("leases", "ls", "-q").split())
            run.ingests = len(self.ctr("content", "active").splitlines()[1:])
            if (run.leases == 0 and run.ingests == 0) or time.monotonic() > until:
                break
            time.sleep(0.1)
        run.recorded = {name for name in self.ctr("images", "ls", "-q").split() if name in run.references}
        self.clean()

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()


class Nodes:
    """Several, for runs side by side."""

    def __init__(self, folder, count, ports):
        self.changed = threading.Condition()
        self.all = [Node(os.path.join(folder, f"node{i}"), ports) for i in range(count)]
        self.free = list(self.all)

    def take(self):
        with self.changed:
            while not self.free:
                self.changed.wait()
            return self.free.pop()

    def give(self, node):
        with self.changed:
            self.free.append(node)
            self.changed.notify()

    def stop(self):
        for node in self.all:
            node.stop()
