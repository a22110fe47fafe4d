"""Whether alerts and dashboards ask for what the agent says: names and labels of its golden file."""

import glob
import json
import os
import re

from render import ROOT, of_kind

# Prometheus adds these: of the target, of a histogram.
ADDED = {"namespace", "node", "pod", "container", "job", "instance", "endpoint", "le"}


# Of Prometheus itself, and of kube-state-metrics (docs/metrics/workload/daemonset-metrics.md, cluster/node-metrics.md).
OTHERS = {"up": set(), "kube_daemonset_status_desired_number_scheduled": {"daemonset"},
          "kube_daemonset_status_number_available": {"daemonset"}, "kube_node_labels": {"label_prefetchd_dev_prefetchd"}}


def known_metrics():
    """{name: labels} of the golden file, a histogram's parts each by itself; and what others say."""
    path = os.path.join(os.environ["PREFETCH_TESTDATA"], "agent", "metrics.txt")
    known = {name: set(labels) for name, labels in OTHERS.items()}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            match = re.match(r"([a-z_]+)(?:\{(.*)\})? ", line)
            if match and not line.startswith("#"):
                known.setdefault(match[1], set()).update(re.findall(r'(\w+)="', match[2] or ""))
    return known


def expressions(documents):
    for rules in of_kind(documents, "PrometheusRule"):
        for group in rules["spec"]["groups"]:
            yield from ((rule.get("alert") or rule["record"], rule["expr"]) for rule in group["rules"])
    for config in of_kind(documents, "ConfigMap"):
        for name, text in config["data"].items():
            if name.endswith(".json"):
                for panel in json.loads(text)["panels"]:
                    yield from ((panel["title"], target["expr"]) for target in panel["targets"])


def check_metrics(documents):
    known, problems = known_metrics(), []
    for where, expression in expressions(documents):
        names = set(re.findall(r"\b(?:prefetchd|process|kube)_\w+|\bup\b", re.sub(r'"[^"]*"', '""', expression)))
        problems += [f"{where}: the agent has no metric {name}" for name in sorted(names - known.keys())]
        labels = set(re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"', expression))
        for inside in re.findall(r"\bby \(([^)]*)\)", expression):
            labels |= {label.strip() for label in inside.split(",")}
        has = ADDED.union(*(known.get(name, set()) for name in names))
        problems += [f"{where}: {', '.join(sorted(names))} has no label {label}" for label in sorted(labels - has)]
        problems += [f"{where}: asks for nothing"] if not names else []
    return problems


# Labels whose values are names of the cluster, or whatever is chosen in the dashboard.
FREE = {"namespace", "node", "pod", "container", "job", "daemonset", "instance", "endpoint", "source", "hash", "version", "name", "le"}


def known_values():
    """Words that the agent says anywhere: the values of a label are names of closed lists, enumerators among them."""
    words = set()
    for path in glob.glob(os.path.join(ROOT, "lib/**/*.cc"), recursive=True):
        with open(path, encoding="utf-8") as source:
            text = source.read()
            words |= set(re.findall(r'return "([A-Za-z-]+)";', text))
            words |= {word for two in re.findall(r'\? "([A-Za-z-]+)" : "([A-Za-z-]+)"', text) for word in two}
    for path in glob.glob(os.path.join(ROOT, "lib/**/*.h"), recursive=True):
        with open(path, encoding="utf-8") as source:
            for names in re.findall(r"enum class \w+(?: : [\w:]+)? {([^}]*)}", re.sub(r"//.*", "", source.read())):
                words |= set(re.findall(r"\bk([A-Z]\w*)", names))
    with open(os.path.join(ROOT, "lib/plan/reason.h"), encoding="utf-8") as source:
        words |= set(re.findall(r'ReasonRow{Reason::\w+,\s+"(\w+)"', source.read()))
    path = os.path.join(os.environ["PREFETCH_TESTDATA"], "agent", "metrics.txt")
    with open(path, encoding="utf-8") as lines:
        words |= set(re.findall(r'="([^"]*)"', lines.read()))
    return words | {"true", "false"}


def check_values(documents):
    """An alert that waits for a value which nobody ever says stays silent."""
    known, problems = known_values(), []
    for where, expression in expressions(documents):
        for label, value in re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"', expression):
            problems += [f"{where}: {label} is never {one!r}" for one in value.split("|")
                         if label not in FREE and one not in known]
    return problems
