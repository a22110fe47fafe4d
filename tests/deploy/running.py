"""The built agent, started with the args of a DaemonSet."""

import json
import os
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request

from render import agent, of_kind, pod


PULL_SECRET = '{"auths": {"quay.io": {"username": "u", "password": "p"}}}'


def write_config_maps(documents, folder):
    """What the pod's ConfigMap and Secret volumes hold; {mount path: folder}."""
    config_maps = {one["metadata"]["name"]: one["data"] for one in of_kind(documents, "ConfigMap")}
    mounts = {mount["name"]: mount["mountPath"] for mount in agent(documents)["volumeMounts"]}
    there = {}
    for volume in pod(documents)["volumes"]:
        if "secret" in volume:
            path = there.setdefault(mounts[volume["name"]], os.path.join(folder, volume["name"]))
            os.makedirs(path)
            with open(os.path.join(path, ".dockerconfigjson"), "w", encoding="utf-8") as out:
                out.write(PULL_SECRET)
        sources = [volume] if "configMap" in volume else volume.get("projected", {}).get("sources", [])
        for source in sources:
            path = there.setdefault(mounts[volume["name"]], os.path.join(folder, volume["name"]))
            os.makedirs(path, exist_ok=True)
            for name, text in config_maps[source["configMap"]["name"]].items():
                with open(os.path.join(path, name), "w", encoding="utf-8") as out:
                    out.write(text)
    return there


class RunningAgent:
    """Its args as they are shipped, but for three: any free port, a socket folder of its own, and no real runtime."""

    def __init__(self, documents, folder):
        there = write_config_maps(documents, folder)
        for config in there.values():  # the agent's own configuration names a file beside itself
            for name in os.listdir(config):
                rewrite(os.path.join(config, name), there)
        port = agent(documents)["ports"][0]["containerPort"]
        args = []
        for arg in agent(documents)["args"]:
            flag, equals, value = arg.partition("=")
            if flag == "--listen":
                assert value == f"[$(POD_IP)]:{port}", value
                value = "[127.0.0.1]:0"
            elif flag == "--runtime-endpoint":
                value = f"unix://{folder}/no-runtime.sock"
            elif flag == "--local":
                value = f"{folder}/local.sock"
            args.append(f"{flag}{equals}{replace(value, there)}")
        environment = {one["name"]: one["value"] for one in agent(documents)["env"] if "value" in one}
        self.process = subprocess.Popen([os.environ["PREFETCHD"], *args], env=dict(environment, NODE_NAME="n1"),
                                        stderr=subprocess.PIPE, text=True)
        self.address = None
        self.log = []
        self.read_log_until_the_loop_turns()

    def read_log_until_the_loop_turns(self):
        """It has looked at the list and at the runtime then; before, /livez is right to say 503."""
        awaited = [{"prefetchd started"}, {"list in force", "list source is not valid"}, {"runtime not reachable"}]
        for line in self.process.stderr:
            self.log.append(line)
            said = json.loads(line) if line.startswith("{") else {}
            if said.get("msg") == "prefetchd started":
                self.address = said["listen"]
            awaited = [one for one in awaited if said.get("msg") not in one]
            if not awaited:
                return

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.log += self.process.stderr.readlines()
        self.process.wait()

    def get(self, path):
        """The status of an answer."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            return opener.open(f"http://{self.address}{path}", timeout=20).status
        except urllib.error.HTTPError as error:
            return error.code


def replace(text, there):
    for mounted, folder in there.items():
        text = text.replace(mounted, folder)
    return text


def rewrite(path, there):
    with open(path, encoding="utf-8") as old:
        text = replace(old.read(), there)
    with open(path, "w", encoding="utf-8") as new:
        new.write(text)


def check_running(documents):
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        with RunningAgent(documents, folder) as one:
            if one.address is None:
                return ["the agent does not start: " + "".join(one.log)]
            probes = {name: agent(documents)[name]["httpGet"]["path"]
                      for name in ("startupProbe", "livenessProbe", "readinessProbe")}
            # There is no runtime: alive, and not ready.
            expected = {"startupProbe": 200, "livenessProbe": 200, "readinessProbe": 503}
            for name, path in probes.items():
                status = one.get(path)
                problems += [f"{name}: {path} answers {status}"] if status != expected[name] else []
            for monitor in of_kind(documents, "PodMonitor") + of_kind(documents, "PodMonitoring"):
                for end in monitor["spec"].get("podMetricsEndpoints") or monitor["spec"]["endpoints"]:
                    status = one.get(end["path"])
                    problems += [f"{monitor['kind']}: {end['path']} answers {status}"] if status != 200 else []
        if one.process.returncode != 0:
            problems.append(f"SIGTERM ends the agent with {one.process.returncode}")
        problems += [f"the log says: {line.strip()}" for line in one.log
                     if '"list source is not valid"' in line or "pull-secret" in line]
    return problems
