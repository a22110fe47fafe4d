"""Whether what the agent is told to read, or finds by itself, is mounted."""

import os
import re

from render import ROOT, agent, flags

# Flags whose value is a path, or a socket's address.
PATHS = {"--list", "--config", "--local", "--runtime-endpoint", "--image-credential-provider-config",
         "--image-credential-provider-bin-dir", "--docker-config", "--kubelet-root", "--kubelet-config",
         "--kubelet-config-dir", "--kubelet-proc", "--registry-config-path", "--registry-containerd-config",
         "--registries-conf"}


def is_mounted(documents, path):
    mounts = [mount["mountPath"] for mount in agent(documents)["volumeMounts"]]
    return any(path == mount or path.startswith(mount + "/") for mount in mounts)


def check_paths(documents):
    names = [arg.split("=", 1)[0] for arg in agent(documents)["args"]]
    problems = [f"{name}: is there twice" for name in sorted(set(names)) if names.count(name) > 1]
    problems += [f"{flag}={value}: nothing is mounted there" for flag, value in flags(documents).items()
                 if flag in PATHS and not is_mounted(documents, value.removeprefix("unix://"))]
    if not is_mounted(documents, "/var/lib/kubelet/image_manager"):
        problems.append("kubelet's records are not mounted")
    return problems


def usual_configs():
    """The agent's own table: (file, folder of drop-ins)."""
    with open(os.path.join(ROOT, "lib/kubelet/node_facts_reader.cc"), encoding="utf-8") as source:
        return re.findall(r'\{"([^"]*)", "([^"]*)"\}', source.read())


def check_kubelet_config(documents):
    """The agent finds kubelet's configuration: it is named, or it is at one of the usual places."""
    named = flags(documents).get("--kubelet-config") or flags(documents).get("--kubelet-config-dir")
    found = [path for pair in usual_configs() for path in pair if path and is_mounted(documents, path)]
    return [] if named or found else ["no configuration of kubelet is mounted where the agent looks"]
