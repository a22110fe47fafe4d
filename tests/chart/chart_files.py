"""The files of deploy/chart/files: what prefetchctl generate prints for each platform, and what each component changes.

The chart's templates put them together, so that no template repeats a manifest. Markers stand for the namespace and
for the agent's image, and names of ConfigMaps are without their hashes.
"""

import itertools
import json
import os
import re

import yaml

from generated import EMPTY, arguments, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(ROOT, "deploy")
CHART = os.path.join(DEPLOY, "chart")
NAMESPACE, IMAGE, FLAG = "chart-namespace", "chart.invalid/image:marker", "chart-marker"
DEFAULT_NAMESPACE = "prefetchd"
HEAD = "# Made from deploy/ with prefetchctl generate; do not edit. PREFETCH_ACCEPT=1 tests/run chart writes it anew.\n"


def folders(name):
    return sorted(one for one in os.listdir(os.path.join(DEPLOY, name))
                  if os.path.exists(os.path.join(DEPLOY, name, one, "kustomization.yaml")))


# Not in the chart: the ConfigMap of policy has every spelling of the list's images, and templates cannot read a list.
WITHOUT = {"policy"}
PLATFORMS, COMPONENTS = folders("overlays"), [one for one in folders("components") if one not in WITHOUT]


def ask(platform, components=(), more=(), lists=("images.yaml",)):
    """A finished process of prefetchctl generate, over lists that are as the shipped one."""
    return run([*arguments(platform, components, lists), *more], dict.fromkeys(lists, EMPTY))


def without_hashes(text):
    """ConfigMaps that end with a hash are immutable; the templates compute the hash anew."""
    names = re.findall(r"^kind: ConfigMap\n(?:(?!---).*\n)*?  name: (\S+)\n(?:(?!---).*\n)*?immutable: true\n", text, re.M)
    for name in names:
        assert re.search(r"-[2456789bcdfghkmt]{10}$", name), f"{name} is immutable, and has no hash"
        text = text.replace(name, name[:-11])
    return text


def rendered(platform, components=(), more=("--namespace", NAMESPACE, "--image", IMAGE), lists=("images.yaml",)):
    """{(kind, name): object}, in the order of creation."""
    result = ask(platform, components, more, lists)
    if result.returncode != 0:
        raise RuntimeError(f"generate: {result.stderr}")
    documents = [one for one in yaml.load_all(without_hashes(result.stdout), Loader=yaml.CSafeLoader) if one]
    return {(one["kind"], one["metadata"]["name"]): one for one in documents}


# --- what a component changes -----------------------------------------------------------------------------


def names_of(items):
    named = all(isinstance(one, dict) and "name" in one for one in items)
    return [one["name"] for one in items] if named else []


class Changes:
    """Differences of one object, each at a mapping of it: templates/_change.tpl applies them."""

    def __init__(self, key):
        self.key = key
        self.at = {}

    def note(self, path, verb, key, value):
        change = self.at.setdefault(tuple(path), {})
        if verb == "unset":
            change.setdefault(verb, []).append(key)
        else:
            change.setdefault(verb, {})[key] = value

    def of_list(self, path, key, old, new):
        if new[:len(old)] == old:
            self.note(path, "append", key, new[len(old):])
        elif new[len(new) - len(old):] == old:
            self.note(path, "prepend", key, new[:len(new) - len(old)])
        elif names_of(old) and names_of(new) == names_of(old):
            for before, after in zip(old, new):
                self.of_mapping([*path, key, before["name"]], before, after)
        elif names_of(old) and [one for one in old if one in new] == new:
            self.note(path, "drop", key, [one["name"] for one in old if one not in new])
        else:
            raise RuntimeError(f"{self.key} {path} {key}: this change of a list is new: teach it to chart_files.py")

    def of_mapping(self, path, old, new):
        for key in sorted(old.keys() | new.keys()):
            if key not in new:
                self.note(path, "unset", key, None)
            elif key not in old:
                self.note(path, "set", key, new[key])
            elif old[key] == new[key]:
                continue
            elif isinstance(old[key], dict) and isinstance(new[key], dict):
                self.of_mapping([*path, key], old[key], new[key])
            elif isinstance(old[key], list) and isinstance(new[key], list):
                self.of_list(path, key, old[key], new[key])
            else:
                self.note(path, "set", key, new[key])

    def told(self):
        kind, name = self.key
        assert not any("/" in step for path in self.at for step in path), self.at
        return [{"kind": kind, "name": name, "path": "/".join(path), **change} for path, change in self.at.items()]


def changes_of(before, after):
    """Objects that come, objects that go, and changes."""
    told = {"objects": [after[key] for key in after if key not in before]}
    gone = [{"kind": kind, "name": name} for kind, name in before if (kind, name) not in after]
    if gone:
        told["remove"] = gone
    changes = []
    for key in before:
        if key in after:
            one = Changes(key)
            one.of_mapping([], before[key], after[key])
            changes += one.told()
    if changes:
        told["changes"] = changes
    return told


# The list with the agent's own image, which preflight brings along; the templates place it.
OWN_IMAGE = ("ConfigMap", "prefetchd-list-agent-image")


def without_own_image(objects):
    (agents,) = [one for (kind, _), one in objects.items() if kind == "DaemonSet"]
    for volume in agents["spec"]["template"]["spec"]["volumes"]:
        if volume["name"] == "list":
            volume.pop("projected", None)
            volume["configMap"] = {"name": "prefetchd-list"}
    return {key: one for key, one in objects.items() if key != OWN_IMAGE}


def refusal(*given):
    """Of what generate refuses, its sentence in the chart's words."""
    result = ask(*given)
    if result.returncode == 0:
        return None
    told = re.sub(r"^prefetchctl: ", "", result.stderr.strip().splitlines()[-1])
    return re.sub(r"--component:? ", "components: ", told).replace("--platform ", "platform ")


def component_on(platform, component, base):
    if why := refusal(platform, [component]):
        return {"refused": why}
    with_marker = rendered(platform, [component])
    told = changes_of(base, without_own_image(with_marker))
    # In a namespace of another name, an installation does not bring everything along.
    default = rendered(platform, [component], ("--image", IMAGE))
    only = [one for key, one in default.items() if key not in with_marker and key != ("Namespace", DEFAULT_NAMESPACE)]
    if only:
        told["only"] = {"namespace": DEFAULT_NAMESPACE, "objects": only}
    return told


def component_file(component, bases):
    on = {platform: component_on(platform, component, bases[platform]) for platform in PLATFORMS}
    usual = on["generic"]
    told = dict(usual)
    others = {platform: one for platform, one in on.items() if one != usual}
    if others:
        told["onPlatform"] = others
    return told


def refused_pairs(platform="generic"):
    """{component: {component: why}}; what no platform but OpenShift takes is tried there."""
    found = {}
    for one, other in itertools.combinations(COMPONENTS, 2):
        where = "openshift" if "openshift-" in one + other else platform
        if why := refusal(where, [one, other]):
            found.setdefault(one, {})[other] = why
    return found


# --- all files --------------------------------------------------------------------------------------------


def pod_of(objects):
    return objects[("DaemonSet", "prefetchd")]["spec"]["template"]["spec"]


def gate_flags():
    """{part: flag}, for each part of component node-gate."""
    all_args = pod_of(rendered("generic", ["node-gate"]))["containers"][0]["args"]
    usual = pod_of(rendered("generic"))["containers"][0]["args"]
    parts = {}
    for part in ("condition", "label", "taint"):
        args = pod_of(rendered("generic", ["node-gate"], ("--gate", part)))["containers"][0]["args"]
        (parts[part],) = [one for one in args if one in all_args and one not in usual]
    return parts


def settings():
    """What the templates need beside the objects."""
    several = rendered("generic", ["preflight"], lists=("images.yaml", "marker.yaml"))
    more = several[("ConfigMap", "prefetchd-list-marker")]
    more["metadata"]["name"] = "prefetchd-list"
    more["data"] = {}
    tolerations = pod_of(rendered("generic", more=("--toleration", FLAG)))["tolerations"]
    assert tolerations[0]["key"] == FLAG and len(tolerations) == 2, tolerations
    usual = rendered("generic", more=())
    return {"image": pod_of(usual)["containers"][0]["image"], "furtherList": more, "ownImageList": several[OWN_IMAGE],
            "ownToleration": tolerations[1], "gate": gate_flags()}


class Quoted(yaml.SafeDumper):
    """Strings with a marker are quoted: what takes its place may look like a number."""

    def ignore_aliases(self, data):
        return True


def write_string(dumper, text):
    style = '"' if NAMESPACE in text or text == IMAGE else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


Quoted.add_representer(str, write_string)


def text_of(data):
    return HEAD + yaml.dump(data, Dumper=Quoted, sort_keys=False, width=1000, allow_unicode=True)


def chart_files():
    """{path below deploy/chart/files: text}."""
    bases = {platform: rendered(platform) for platform in PLATFORMS}
    shared = [key for key, one in bases["generic"].items() if all(base.get(key) == one for base in bases.values())]
    files = {"common.yaml": {"objects": [bases["generic"][key] for key in shared]}, "settings.yaml": settings()}
    for platform, base in bases.items():
        files[f"platforms/{platform}.yaml"] = {"objects": [base[key] for key in base if key not in shared]}
    pairs = refused_pairs()
    for component in COMPONENTS:
        told = component_file(component, bases)
        if component in pairs:
            told["refusedWith"] = pairs[component]
        files[f"components/{component}.yaml"] = told
    return {path: text_of(json.loads(json.dumps(data))) for path, data in sorted(files.items())}
