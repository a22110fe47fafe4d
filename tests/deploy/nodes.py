"""Which node gets a pod: decided as the DaemonSet controller decides it (daemon_controller.go: NodeShouldRunDaemonPod), from
what was rendered, over the labels and taints that platforms give their nodes."""

import os
import re

from render import ROOT, of_kind

# What the DaemonSet controller makes every pod of a DaemonSet tolerate (util.AddOrUpdateDaemonPodTolerations).
OF_THE_CONTROLLER = [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect} for key, effect in [
    ("not-ready", "NoExecute"), ("unreachable", "NoExecute"), ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"), ("pid-pressure", "NoSchedule"), ("unschedulable", "NoSchedule")]]

LINUX = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux"}
WINDOWS = {"kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "windows"}
ROLE = "node-role.kubernetes.io/"
CONTROL, MASTER, WORKER = {ROLE + "control-plane": ""}, {ROLE + "master": ""}, {ROLE + "worker": ""}
NO_LOAD = {"node.kubernetes.io/exclude-from-external-load-balancers": ""}
EC2 = {**LINUX, "topology.kubernetes.io/region": "eu-west-1", "node.kubernetes.io/instance-type": "m7g.large"}
MANAGED = {**EC2, "eks.amazonaws.com/nodegroup": "ci", "eks.amazonaws.com/nodegroup-image": "ami-0abc",
           "eks.amazonaws.com/capacityType": "ON_DEMAND"}
AKS = {**LINUX, "kubernetes.azure.com/role": "agent", "kubernetes.azure.com/agentpool": "pool1",
       "kubernetes.azure.com/mode": "user"}
GKE = {**LINUX, "cloud.google.com/gke-nodepool": "default-pool", "cloud.google.com/gke-container-runtime": "containerd"}


def taint(key, effect="NoSchedule", value=""):
    return {"key": key, "effect": effect, "value": value}


with open(os.path.join(ROOT, "lib/base/label_syntax.h"), encoding="utf-8") as file:
    (STARTUP_TAINT,) = re.findall(r'kStartupTaintKey = "([^"]+)"', file.read())
CONTROL_TAINT = taint(ROLE + "control-plane")
OPENSHIFT = {**LINUX, "node.openshift.io/os_id": "rhel"}
# Overlays that run on such nodes: name of the node, (labels, taints, does it get a pod?).
NODES = {
    "generic crio": {
        "kubeadm control plane": ({**LINUX, **CONTROL, **NO_LOAD}, [CONTROL_TAINT], False),
        "kubeadm control plane whose taint was removed": ({**LINUX, **CONTROL, **NO_LOAD}, [], False),
        "kubeadm control plane of 1.23": ({**LINUX, **CONTROL, **MASTER}, [taint(ROLE + "master")], False),
        "kubeadm worker": (LINUX, [], True),
        "kubeadm worker with a role": ({**LINUX, **WORKER}, [], True),
        "control plane that works, too": ({**LINUX, **CONTROL, **WORKER}, [], True),
        "kubespray's control plane that is also a node": ({**LINUX, **CONTROL, ROLE + "node": ""}, [], False),
        "CI pool with a taint": ({**LINUX, "pool": "ci"}, [taint("dedicated", value="ci")], True),
        "GPU node that evicts": (LINUX, [taint("nvidia.com/gpu", "NoExecute", "present")], True),
        "node that starts": (LINUX, [taint("node.cloudprovider.kubernetes.io/uninitialized", value="true"),
                                     taint("node.kubernetes.io/not-ready"), taint(STARTUP_TAINT)], True),
        "cordoned node": (LINUX, [taint("node.kubernetes.io/unschedulable")], True),
        "Windows": (WINDOWS, [], False),
        "virtual kubelet": ({**LINUX, "type": "virtual-kubelet"}, [taint("virtual-kubelet.io/provider", value="x")], False),
    },
    "kind": {
        "the only node": ({**LINUX, **CONTROL, **NO_LOAD}, [], True),
        "control plane of several": ({**LINUX, **CONTROL}, [CONTROL_TAINT], True),
        "worker": (LINUX, [], True),
    },
    "k3s": {
        "server": ({**LINUX, **CONTROL, **MASTER, "node.kubernetes.io/instance-type": "k3s"}, [], True),
        "server with embedded etcd": ({**LINUX, ROLE + "control-plane": "true", ROLE + "master": "true", ROLE + "etcd": "true",
                                       "egress.k3s.io/cluster": "true"}, [], True),
        "server of 1.34": ({**LINUX, ROLE + "control-plane": "true", "egress.k3s.io/cluster": "true"}, [], True),
        "agent": ({**LINUX, "egress.k3s.io/cluster": "true"}, [], True),
        "Windows": (WINDOWS, [], False),
    },
    "rke2": {
        "server": ({**LINUX, ROLE + "control-plane": "true", ROLE + "master": "true", ROLE + "etcd": "true"}, [], False),
        "server that Rancher lets work, too": (
            {**LINUX, ROLE + "control-plane": "true", ROLE + "etcd": "true", ROLE + "worker": "true"}, [], True),
        "agent": ({**LINUX, "node.kubernetes.io/instance-type": "rke2"}, [], True),
        "worker of Rancher": ({**LINUX, ROLE + "worker": "true"}, [], True),
        "Windows": (WINDOWS, [], False),
    },
    "openshift": {
        "master": ({**OPENSHIFT, **CONTROL, **MASTER}, [taint(ROLE + "master")], False),
        "worker": ({**OPENSHIFT, **WORKER}, [], True),
        "infra": ({**OPENSHIFT, **WORKER, ROLE + "infra": ""}, [taint(ROLE + "infra", value="reserved")], True),
        "compact cluster": ({**OPENSHIFT, **CONTROL, **MASTER, **WORKER}, [], True),
        "single node": ({**OPENSHIFT, **CONTROL, **MASTER, **WORKER}, [], True),
        "Windows": ({**WINDOWS, **WORKER}, [taint("os", value="Windows")], False),
    },
    "eks": {
        "managed node group": (MANAGED, [], True),
        "self-managed": (EC2, [], True),
        "Karpenter": ({**EC2, "karpenter.sh/nodepool": "ci", "karpenter.sh/registered": "true"}, [], True),
        "Karpenter that starts": ({**EC2, "karpenter.sh/nodepool": "ci"}, [taint("karpenter.sh/unregistered", "NoExecute")],
                                  True),
        # Ubuntu and the like have no CA bundle at the overlay's path.
        "hybrid": ({**LINUX, "eks.amazonaws.com/compute-type": "hybrid"}, [], False),
        "hybrid that is labelled as a worker": ({**LINUX, **WORKER, "eks.amazonaws.com/compute-type": "hybrid"}, [], False),
        "Bottlerocket that works beside a control plane": (
            {**MANAGED, **CONTROL, **WORKER, "bottlerocket.aws/updater-interface-version": "2.0.0"}, [], False),
        "Auto Mode": ({**EC2, "eks.amazonaws.com/compute-type": "auto", "karpenter.sh/nodepool": "general-purpose"}, [],
                      False),
        "Fargate": ({**LINUX, "eks.amazonaws.com/compute-type": "fargate"},
                    [taint("eks.amazonaws.com/compute-type", value="fargate")], False),
        "Bottlerocket that its update operator knows": ({**MANAGED, "bottlerocket.aws/updater-interface-version": "2.0.0"},
                                                        [], False),
        "Windows": ({**WINDOWS, "eks.amazonaws.com/nodegroup": "win"}, [], False),
    },
    "bottlerocket": {
        "managed node group": (MANAGED, [], True),
        "known to its update operator": ({**MANAGED, "bottlerocket.aws/updater-interface-version": "2.0.0"}, [], True),
        "Auto Mode": ({**EC2, "eks.amazonaws.com/compute-type": "auto"}, [], False),
        "Fargate": ({**LINUX, "eks.amazonaws.com/compute-type": "fargate"},
                    [taint("eks.amazonaws.com/compute-type", value="fargate")], False),
        "hybrid": ({**LINUX, "eks.amazonaws.com/compute-type": "hybrid"}, [], True),
        "on vSphere, control plane": ({**LINUX, **CONTROL}, [CONTROL_TAINT], False),
        "Windows": ({**WINDOWS, "eks.amazonaws.com/nodegroup": "win"}, [], False),
    },
    "gke": {
        "COS": ({**GKE, "cloud.google.com/gke-os-distribution": "cos"}, [], True),
        "Ubuntu": ({**GKE, "cloud.google.com/gke-os-distribution": "ubuntu"}, [], True),
        "GPU": ({**GKE, "cloud.google.com/gke-accelerator": "nvidia-l4"}, [taint("nvidia.com/gpu", value="present")], True),
        "sandbox": ({**GKE, "sandbox.gke.io/runtime": "gvisor"}, [taint("sandbox.gke.io/runtime", value="gvisor")], True),
        "Windows": ({**WINDOWS, "cloud.google.com/gke-os-distribution": "windows_ltsc"},
                    [taint("node.kubernetes.io/os", value="windows")], False),
    },
    "aks": {
        "Ubuntu": ({**AKS, "kubernetes.azure.com/os-sku": "Ubuntu"}, [], True),
        "Azure Linux": ({**AKS, "kubernetes.azure.com/os-sku": "AzureLinux"}, [], True),
        # Its plugin is a symbolic link to /usr/bin: the agent runs, and reports that.
        "Flatcar": ({**AKS, "kubernetes.azure.com/os-sku": "Flatcar"}, [], True),
        "system pool": ({**AKS, "kubernetes.azure.com/mode": "system"}, [taint("CriticalAddonsOnly", value="true")], True),
        "spot": ({**AKS, "kubernetes.azure.com/scalesetpriority": "spot"},
                 [taint("kubernetes.azure.com/scalesetpriority", value="spot")], True),
        "virtual node": ({**LINUX, "type": "virtual-kubelet", "kubernetes.azure.com/role": "agent"},
                         [taint("virtual-kubelet.io/provider", value="azure")], False),
        "Windows": ({**WINDOWS, "kubernetes.azure.com/os-sku": "Windows2022"}, [], False),
    },
}


def expression_holds(one, labels):
    """A NodeSelectorRequirement; NotIn holds where the label is absent (labels.Requirement.Matches)."""
    there, value = one["key"] in labels, labels.get(one["key"])
    holds = {"In": there and value in one.get("values", []), "NotIn": not there or value not in one.get("values", []),
             "Exists": there, "DoesNotExist": not there}
    return holds[one["operator"]]


def affinity_holds(spec, labels):
    required = spec.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    # One term is enough; a term without expressions matches nothing.
    return any(term.get("matchExpressions") and all(expression_holds(one, labels) for one in term["matchExpressions"])
               for term in required["nodeSelectorTerms"])


def tolerates(toleration, one):
    if toleration.get("effect") not in (None, "", one["effect"]):
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    return toleration["key"] == one["key"] and (toleration.get("operator") == "Exists" or
                                                toleration.get("value", "") == one["value"])


def gets_pod(spec, labels, taints):
    """`spec` is that of a DaemonSet's pods."""
    tolerations = spec.get("tolerations", []) + OF_THE_CONTROLLER
    return (spec.get("nodeSelector", {}).items() <= labels.items() and affinity_holds(spec, labels) and
            all(any(tolerates(toleration, one) for toleration in tolerations)
                for one in taints if one["effect"] in ("NoSchedule", "NoExecute")))


def pod_specs(documents):
    return [one["spec"]["template"]["spec"] for one in of_kind(documents, "DaemonSet")]


def check_node(documents, labels, taints, wanted):
    got = {gets_pod(spec, labels, taints) for spec in pod_specs(documents)}
    return [] if got == {wanted} else [f"gets a pod: {got}, not {wanted}; labels {labels}, taints {taints}"]


# With options of generate, also of migrate and touch-daemonset: options, labels, taints, does it get a pod?
CHOSEN = {
    "selected": (["--node-selector", "pool=ci"], {**LINUX, "pool": "ci"}, [], True),
    "not selected": (["--node-selector", "pool=ci"], {**LINUX, "pool": "web"}, [], False),
    "all labels count": (["--node-selector", "pool=ci", "--node-selector", "zone=a"], {**LINUX, "pool": "ci"}, [], False),
    "selected and control plane": (["--node-selector", "pool=ci"], {**LINUX, **CONTROL, "pool": "ci"}, [], False),
    "control plane, included": (["--include-control-plane"], {**LINUX, **CONTROL}, [CONTROL_TAINT], True),
    "master, included": (["--include-control-plane"], {**LINUX, **MASTER}, [taint(ROLE + "master")], True),
    "worker beside it": (["--include-control-plane"], LINUX, [], True),
    "Fargate all the same": (["--include-control-plane"], {**LINUX, "eks.amazonaws.com/compute-type": "fargate"}, [], False),
    "Windows all the same": (["--include-control-plane"], WINDOWS, [], False),
    "tolerated": (["--toleration", "dedicated=ci"], LINUX, [taint("dedicated", value="ci")], True),
    "another value": (["--toleration", "dedicated=ci"], LINUX, [taint("dedicated", value="web")], False),
    "any value": (["--toleration", "dedicated"], LINUX, [taint("dedicated", "NoExecute", "web")], True),
    "another effect": (["--toleration", "dedicated:NoSchedule"], LINUX, [taint("dedicated", "NoExecute")], False),
    "another taint": (["--toleration", "dedicated"], LINUX, [taint("nvidia.com/gpu")], False),
    "no taint": (["--toleration", "dedicated"], LINUX, [], True),
    "its own startup taint": (["--toleration", "dedicated"], LINUX, [taint(STARTUP_TAINT)], True),
}
COMMANDS = {"generate": ["generate", "--platform", "generic", "--list", "images.yaml", "--image", ""],
            "migrate": ["migrate", "image-prefetcher", "images", "--namespace", "x", "--image", ""],
            "touch-daemonset": ["generate", "touch-daemonset", "--list", "images.yaml"]}


def add_nodes(cases, overlay, generated, none):
    """`overlay` renders one, `generated` gives what a command prints."""
    for command, words in COMMANDS.items():
        for name, (more, labels, taints, wanted) in CHOSEN.items():
            cases.add("node", f"{command}: {name}", lambda words=words, more=more, labels=labels, taints=taints,
                      wanted=wanted: none(check_node(generated(words + more), labels, taints, wanted)))
    for names, nodes in NODES.items():
        for name in names.split():
            for node, (labels, taints, wanted) in nodes.items():
                cases.add("node", f"{name}: {node}", lambda name=name, labels=labels, taints=taints, wanted=wanted: none(
                    check_node(overlay(name), labels, taints, wanted)))


POOL = "cloud.google.com/gke-nodepool"


def check_side_by_side(instances):
    """`instances`: {pool: documents}. They share no object, and on a node of a pool only the pool's own gets a pod."""
    problems, owner = ([] if len(instances) == 2 else [f"{len(instances)} instances"]), {}
    for pool, documents in instances.items():
        for one in documents:
            name = (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"])
            problems += [f"{name} is of {owner[name]} and of {pool}"] if name in owner else []
            owner[name] = pool
    for of_node in [*instances, "default-pool"]:
        got = {pool for pool, documents in instances.items() for spec in pod_specs(documents)
               if gets_pod(spec, {**GKE, POOL: of_node}, [taint("dedicated", value=of_node)])}
        problems += [] if got == {of_node} & instances.keys() else [f"a node of {of_node} gets pods of {got}"]
    return problems
