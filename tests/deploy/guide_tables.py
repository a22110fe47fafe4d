"""What the pages for people say of the overlays in tables, held against the overlays."""

import glob
import os
import re

from paths import is_mounted
from render import ALL_COMPONENTS, DEPLOY, ROOT, agent, flags, overlay, pod

PLATFORM_NAMES = {"generic": ["generic"], "kind": ["kind"], "GKE": ["gke"], "EKS": ["eks"], "AKS": ["aks"],
                  "OpenShift": ["openshift"], "CRI-O": ["crio"], "k3s": ["k3s"], "RKE2": ["rke2"],
                  "Bottlerocket": ["bottlerocket"]}


def page(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def pages_for_people():
    """README and every page below deploy/: (path, text)."""
    found = glob.glob("deploy/**/*.md", root_dir=ROOT, recursive=True)
    return [(name, page(name)) for name in ["README.md", *sorted(found)]]


def table(text, head):
    """The rows of the table whose head begins so, as lists of cells."""
    lines = text[text.index(f"\n| {head}"):].lstrip("\n").splitlines()
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows[2:]


def words(cell):
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def overlays_of(cell):
    return [overlay for name in re.split(r",\s*", cell) for overlay in PLATFORM_NAMES[name]]


def check_networks(overlays):
    """`overlays`: {name: documents}. Which are on the host's network."""
    problems, told = [], set()
    for row in table(page("deploy/docs/install.md"), "overlay | for | network"):
        for name in words(row[0]):
            told.add(name)
            says, is_so = row[2] == "host", pod(overlays[name]).get("hostNetwork", False)
            problems += [f"install.md: {name}: the network is {row[2]!r}, hostNetwork is {is_so}"] if says != is_so else []
            if "SELinux" in row[3] and "seLinuxOptions" not in pod(overlays[name])["securityContext"]:
                problems.append(f"install.md: {name}: has no SELinux type")
    problems += [f"install.md: no row for {name}" for name in sorted(overlays.keys() - told)]
    return problems


def check_mirrors(overlays):
    """The folder of the runtime's configuration is the one that the agent is told, and all hosts.toml files are mounted."""
    problems, told, folder = [], set(), None
    for row in table(page("deploy/docs/registries.md"), "overlay | folder | `hosts.toml` files"):
        folder = folder if row[1] == "the same" else None if row[1].startswith("none") else words(row[1])[0]
        for name in words(row[0]):
            told.add(name)
            given = flags(overlays[name])
            config = given.get("--registry-containerd-config") or given.get("--registries-conf")
            is_so = config and os.path.dirname(config)
            problems += [f"{name}: the page says {folder}, the agent is told {is_so}"] if folder != is_so else []
            problems += [f"{name}: {path} is not mounted" for path in words(row[2])
                         if not is_mounted(overlays[name], os.path.join(folder, path))]
    return problems + [f"no row for {name}" for name in sorted(overlays.keys() - told)]


def ca_bundle(documents):
    """The node's file that is mounted as the bundle of certificate authorities; None: the image's counts."""
    paths = [volume["hostPath"]["path"] for volume in pod(documents)["volumes"] if volume["name"] == "ca-certificates"]
    mounted = [mount for mount in agent(documents)["volumeMounts"] if mount["name"] == "ca-certificates"]
    return paths[0] if paths and mounted else None if not paths and not mounted else "half of a mount"


def check_ca_bundles(overlays):
    """What the page says is mounted; and what it advises for nodes of other systems, on every overlay."""
    problems, told, file = [], {}, None
    for row in table(page("deploy/docs/registries.md"), "overlay | file on the node"):
        file = file if row[1] == "the same" else None if row[1].startswith("none") else words(row[1])[0]
        told.update({name: file for name in words(row[0])})
    for name, documents in overlays.items():
        problems += [f"{name}: the page says {told.get(name)}, {ca_bundle(documents)} is mounted"] if (
            ca_bundle(documents) != told.get(name)) else []
        problems += [f"{name}: the bundle of ca-debian is not mounted"] if (
            ca_bundle(overlay(name, parts=["ca-debian"])) != "/etc/ssl/certs/ca-certificates.crt") else []
        problems += [f"{name}: a bundle is mounted with ca-image"] if ca_bundle(overlay(name, parts=["ca-image"])) else []
    return problems + [f"{name}: is no overlay" for name in sorted(told.keys() - overlays.keys() - {"others"})]


def check_kubelet_facts(overlays):
    """Each path is mounted, but for what the page tells people to mount themselves."""
    problems, told = [], set()
    for row in table(page("deploy/docs/upgrade.md"), "platform | policy"):
        for name in overlays_of(row[0]):
            told.add(name)
            documents = overlays[name]
            for cell in ["`/var/lib/kubelet/image_manager`", *row[1:]]:
                parent = ""
                for path in [] if "mount and name" in cell else words(cell):
                    path = path if path.startswith("/") else os.path.join(os.path.dirname(parent), path)
                    parent = path
                    problems += [] if is_mounted(documents, path) else [f"{name}: {path} is not mounted"]
            env = {one["name"]: one.get("value") for one in agent(documents)["env"]}
            from_node = env.get("PREFETCHD_KUBE_API") == "true" and not env.get("PREFETCHD_KUBELET_VERSION")
            problems += [] if from_node else [f"{name}: the version is not from the Node"]
            without = row[2] == "none" or "mount and name" in row[2] or row[2] == "as k3s"
            if without == ("--image-credential-provider-config" in flags(documents)):
                problems.append(f"{name}: what is said of credential providers is not so")
            looks = "--kubelet-proc" in flags(documents)
            problems += [f"{name}: flags of kubelet are {'read' if looks else 'not read'}"] if looks != (
                "flags" in row[1] and "flags given to" not in row[1]) else []
    return problems + [f"no row for {name}" for name in sorted(overlays.keys() - told)]


def check_components():
    """Each folder that a kustomization of people may name has its row."""
    told = {name for row in table(page("deploy/docs/install.md"), "component | does") for name in words(row[0])}
    there = {f"components/{name}" for name in ALL_COMPONENTS}
    parts = {f"parts/{name}" for name in os.listdir(os.path.join(DEPLOY, "parts"))}
    return ([f"no row for {name}" for name in sorted(there - told)] +
            [f"{name}: is not there" for name in sorted(told - there - parts)])
