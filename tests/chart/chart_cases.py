"""The cases of chart_test.py: values of the chart beside options of prefetchctl generate."""

import itertools
import json
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile

import yaml

from chart_files import CHART, COMPONENTS, PLATFORMS
from differences import differences
from generated import EMPTY, LIST, OTHER as PLAIN, arguments, run
from helm import Refused, Renderer
from render import documents_of

sys.path.append(os.path.join(os.path.dirname(CHART), "release"))
import layout

CONFIG = "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\nlimits: {parallelPulls: 3}  # ours\n"
WITH_SECRETS = CONFIG + "pullSecrets:\n" + "".join(
    f"- {{name: {one}, path: /etc/prefetchd/secrets/{one}, allowRepositories: [q.io/{one}], sources: [images.yaml]}}\n" for one in ("team-a", "b"))
WITH_SLASH = WITH_SECRETS.replace("/secrets/b,", "/secrets/b/,")
IMAGE = "registry.example:5000/team/prefetchd:1"


def generated(options, files=None):
    """{kind/namespace/name: object} of prefetchctl generate."""
    result = run(options, files)
    if result.returncode != 0:
        raise Refused(result.stderr.strip())
    return by_name(documents_of(result.stdout))


def by_name(documents):
    found = {}
    for one in documents:
        name = f"{one['kind']}/{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"
        assert name not in found, f"{name} is there twice"
        found[name] = one
    return found


def own(objects, namespace="prefetchd"):
    """Helm cannot own the release's namespace, so the chart leaves it out."""
    return {name: one for name, one in objects.items() if name != f"Namespace//{namespace}"}


def check_same(renderer, values, wanted, namespace="prefetchd"):
    objects, _, _ = renderer.render(values, namespace=namespace)
    found = differences(by_name(objects), wanted, names=("chart", "generate"))
    assert not found, "\n".join(found[:20])


def with_list(values):
    return {"list": {"text": LIST}, **values}


# --- every value ------------------------------------------------------------------------------------------


def daemon_set(objects):
    (one,) = [one for one in objects.values() if one["kind"] == "DaemonSet"]
    return one["spec"]["template"]["spec"]


def set_resources(wanted):
    daemon_set(wanted)["containers"][0]["resources"]["limits"]["memory"] = "256Mi"


def existing_map(wanted):
    (name,) = [name for name, one in wanted.items() if one["metadata"]["name"].startswith("prefetchd-list-")]
    del wanted[name]
    (volume,) = [one for one in daemon_set(wanted)["volumes"] if one["name"] == "list"]
    volume["configMap"]["name"] = "team-list"


TOLERATIONS = [{"key": "ci", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}, {"key": "spot", "operator": "Exists"}]
MORE = [{"name": "Team_B.txt", "text": PLAIN}, {"name": "c.yaml", "text": EMPTY}]
MORE_FILES = {"images.yaml": LIST, "Team_B.txt": PLAIN, "c.yaml": EMPTY}
# name: (values, options of generate, files, what generate has no option for)
VALUES = {
    "platform": ({"platform": "eks"}, ["--platform", "eks"], None, None),
    "image": ({"image": IMAGE}, ["--image", IMAGE], None, None),
    "imagePullSecrets": ({"imagePullSecrets": [{"name": "one"}, {"name": "two.x"}]},
                         ["--image-pull-secret", "one", "--image-pull-secret", "two.x"], None, None),
    "list": ({"list": {"text": PLAIN, "name": "ci.txt"}}, ["--list", "ci.txt"], {"ci.txt": PLAIN}, None),
    "list.more": ({"list": {"text": LIST, "more": MORE}}, ["--list", "images.yaml", "--list", "Team_B.txt", "--list", "c.yaml"],
                  MORE_FILES, None),
    "list.existingConfigMap": ({"list": {"existingConfigMap": "team-list"}}, [], None, existing_map),
    "components": ({"components": ["node-gate", "fleet"]}, ["--component", "node-gate", "--component", "fleet"], None, None),
    "includeControlPlane": ({"includeControlPlane": True}, ["--include-control-plane"], None, None),
    "gate": ({"gate": ["label", "taint"], "components": ["node-gate"]},
             ["--component", "node-gate", "--gate", "label", "--gate", "taint"], None, None),
    "startupTaintKey": ({"startupTaintKey": "example.com/cold", "components": ["node-gate"], "tolerations": TOLERATIONS},
                        ["--component", "node-gate", "--startup-taint-key", "example.com/cold", "--toleration",
                         "ci=yes:NoSchedule", "--toleration", "spot"], None, None),
    "nodeSelector": ({"nodeSelector": {"pool": "ci", "example.org/disk": "big"}},
                     ["--node-selector", "pool=ci", "--node-selector", "example.org/disk=big"], None, None),
    "tolerations": ({"tolerations": TOLERATIONS}, ["--toleration", "ci=yes:NoSchedule", "--toleration", "spot"], None, None),
    "resources": ({"resources": {"limits": {"memory": "256Mi"}}}, [], None, set_resources),
    "port": ({"port": 9500, "components": ["preflight"]}, ["--component", "preflight", "--port", "9500"], None, None),
    "kubeletVersion": ({"kubeletVersion": "1.36"}, ["--kubelet-version", "1.36"], None, None),
    "agentConfig": ({"agentConfig": CONFIG}, ["--agent-config", "agent.yaml"], {"images.yaml": LIST, "agent.yaml": CONFIG}, None),
    "mountedPullSecrets": ({"mountedPullSecrets": ["team-a", "b"], "agentConfig": WITH_SECRETS},
                           ["--agent-config", "agent.yaml", "--mount-pull-secret", "team-a", "--mount-pull-secret", "b"],
                           {"images.yaml": LIST, "agent.yaml": WITH_SECRETS}, None),
    "mountedPullSecrets.slash": ({"mountedPullSecrets": ["b"], "agentConfig": WITH_SLASH},
                                 ["--agent-config", "agent.yaml", "--mount-pull-secret", "b"],
                                 {"images.yaml": LIST, "agent.yaml": WITH_SLASH}, None),
    "monitoringLabels": ({"monitoringLabels": {"release": "kube-prometheus-stack"}, "components": ["monitoring"]},
                         ["--component", "monitoring", "--monitoring-label", "release=kube-prometheus-stack"], None, None),
}
ALL_VALUES = {"image": IMAGE, "imagePullSecrets": [{"name": "one"}], "components": ["node-gate", "monitoring", "preflight", "touch"],
              "includeControlPlane": True, "gate": ["label"], "nodeSelector": {"pool": "ci"}, "tolerations": TOLERATIONS,
              "resources": {"limits": {"memory": "256Mi"}}, "port": 9500, "kubeletVersion": "1.36", "agentConfig": CONFIG,
              "monitoringLabels": {"release": "x"}, "list": {"text": LIST, "more": MORE}}
ALL_OPTIONS = ["--image", IMAGE, "--image-pull-secret", "one", "--include-control-plane", "--gate", "label", "--node-selector",
               "pool=ci", "--toleration", "ci=yes:NoSchedule", "--toleration", "spot", "--port", "9500", "--kubelet-version",
               "1.36", "--agent-config", "agent.yaml", "--monitoring-label", "release=x"]
NOT_OF_GENERATE = {"namespace", "createNamespace"}  # cases of their own


def check_value(renderer, name):
    values, options, files, change = VALUES[name]
    lists = [] if "--list" in options else ["--list", "images.yaml"]
    platform = [] if "--platform" in options else ["--platform", "generic"]
    wanted = own(generated([*platform, *lists, *options], files))
    if change:
        change(wanted)
    if "list" not in values:
        values = with_list(values)
    check_same(renderer, values, wanted)
    usual = by_name(renderer.render({"list": {"text": LIST}})[0])
    assert by_name(renderer.render(values)[0]) != usual, "this value changes nothing"


def check_all_values(renderer, platform):
    options = arguments(platform, ALL_VALUES["components"], MORE_FILES) + ALL_OPTIONS
    wanted = own(generated(options, {**MORE_FILES, "agent.yaml": CONFIG}))
    set_resources(wanted)
    check_same(renderer, {"platform": platform, **ALL_VALUES}, wanted)


def check_values_are_tried(renderer):
    with open(os.path.join(CHART, "values.yaml"), encoding="utf-8") as file:
        there = set(yaml.safe_load(file))
    tried = {name.split(".")[0] for name in VALUES} | NOT_OF_GENERATE
    assert tried == there, f"differ: {sorted(tried ^ there)}"
    schema = set(renderer.schema.schema["properties"]) - {"global"}
    assert schema == there, f"the schema differs: {sorted(schema ^ there)}"
    properties = renderer.schema.schema["properties"]
    assert properties["platform"]["enum"] == PLATFORMS and properties["components"]["items"]["enum"] == COMPONENTS
    undescribed = [name for name, one in properties.items() if "description" not in one and name != "list"]
    assert not undescribed, undescribed


def check_options_are_tried():
    """An option of generate that the chart has no value for is noted here, with the reason."""
    without = {"--policy-action": "the chart is without the component policy", "--instance": "several agents on one node need names of their own", "--output": "Helm's own",
               "--help": "Helm's own", "--from-cluster": "Helm keeps the values of a release itself",
               "--kubeconfig": "Helm's own", "--context": "Helm's own, --kube-context"}
    text = subprocess.check_output([os.environ["PREFETCHCTL"], "generate", "--help"], text=True)
    there = set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.M))
    used = {word for _, options, _, _ in VALUES.values() for word in options if word.startswith("--")}
    used |= {"--namespace", *without}
    assert used == there, f"differ: {sorted(used ^ there)}"


# --- sets of components -----------------------------------------------------------------------------------


def sets_of(platform):
    """Each alone, on one platform each with each other one, and by chance: the same in every run."""
    chance = random.Random(platform)
    sets = [[], *[[one] for one in COMPONENTS]]
    if platform == "openshift":  # which has components of its own
        return sets + [list(pair) for pair in itertools.combinations(COMPONENTS, 2)]
    return sets + [chance.sample(COMPONENTS, chance.randint(2, 5)) for _ in range(12)]


def check_components(renderer, platform, components):
    """The same objects, or both refuse."""
    values = with_list({"platform": platform, "components": components, "image": IMAGE})
    try:
        wanted = own(generated([*arguments(platform, components), "--image", IMAGE]))
    except Refused as refusal:
        # Where several reasons meet, the two may name different ones.
        why = str(refusal).rsplit("--component", 1)[-1].lstrip(": ").split(" needs --")[0]
        check_refused(renderer, values, why if len(components) <= 2 else "components: ")
        return
    check_same(renderer, values, wanted)


def check_refused(renderer, values, why):
    try:
        renderer.render(values)
    except Refused as refusal:
        assert why in str(refusal), f"{refusal}\nand not: {why}"
        return
    raise AssertionError(f"is not refused: {why}")


# --- namespaces -------------------------------------------------------------------------------------------


def check_other_namespace(renderer, create):
    """By the release's namespace, or by the value. `touch` has names of its own, and is not brought along."""
    components = ["fleet", "touch", "monitoring"]
    wanted = generated([*arguments("openshift", components), "--namespace", "123"])
    if create:
        values = with_list({"platform": "openshift", "components": components, "namespace": "123", "createNamespace": True})
        check_same(renderer, values, wanted, namespace="default")
        notes = renderer.render(values, namespace="default")[2]
        assert "kubectl label" not in notes
        assert "-k deploy/touch\n" in notes and "--role=prefetchd-touch --serviceaccount=123:prefetchd\n" in notes, notes
    else:
        check_same(renderer, with_list({"platform": "openshift", "components": components}), own(wanted, "123"), namespace="123")


# --- values that are refused ------------------------------------------------------------------------------

REFUSED = {
    "UnknownValue": ({"tolerantions": []}, "'tolerantions' was unexpected"),
    "UnknownValueInside": ({"list": {"texts": ""}}, "'texts' was unexpected"),
    "Platform": ({"platform": "ecs"}, "'ecs' is not one of"),
    "Component": ({"components": ["gate"]}, "'gate' is not one of"),
    "ComponentTwice": ({"components": ["fleet", "fleet"]}, "non-unique"),
    "Image": ({"image": "no tag"}, "does not match"),
    "ImageWithAPortAndNoTag": ({"image": "registry.example:5000/p"}, "does not match"),
    "Version": ({"kubeletVersion": 1.36}, "is not of type 'string'"),
    "OldVersion": ({"kubeletVersion": "1.20"}, "does not match"),
    "OldestVersion": ({"kubeletVersion": "1.30.9"}, "does not match"),
    "SecretOfNoConfiguration": ({"mountedPullSecrets": ["team-a"]}, "no entry of pullSecrets in agentConfig has the path"),
    "SecretOfALongerName": ({"mountedPullSecrets": ["team"], "agentConfig": WITH_SECRETS}, "has the path /etc/prefetchd/secrets/team"),
    "SecretsName": ({"mountedPullSecrets": ["team.a"]}, "does not match"),
    "Windows": ({"nodeSelector": {"kubernetes.io/os": "windows"}}, "'linux' was expected"),
    "Selector": ({"nodeSelector": {"pool": True}}, "is not of type 'string'"),
    "Taint": ({"tolerations": [{"key": "ci", "effect": "No"}]}, "is not one of"),
    "Secret": ({"imagePullSecrets": ["registry"]}, "is not of type 'object'"),
    "Port": ({"port": 70000}, "maximum"),
    "FileName": ({"list": {"name": "images"}}, "does not match"),
    "StartupTaintKey": ({"startupTaintKey": "cold", "components": ["node-gate"]}, "does not match"),
    "StartupTaintKeyOfKubernetes": ({"startupTaintKey": "node.kubernetes.io/cold", "components": ["node-gate"]}, "is not valid under any"),
    "StartupTaintKeyOfNothing": ({"startupTaintKey": "example.com/cold"}, "startupTaintKey needs the component node-gate"),
    "Gate": ({"gate": ["label"]}, "gate needs the component node-gate"),
    "MonitoringLabels": ({"monitoringLabels": {"release": "x"}}, "monitoringLabels needs the component monitoring"),
    "TwoLists": ({"list": {"text": LIST, "existingConfigMap": "x"}}, "are alternatives"),
    "OneStem": ({"list": {"text": LIST, "more": [{"name": "a.b.txt", "text": "x"}, {"name": "a-b.txt", "text": "y"}]}},
                "several files would be the ConfigMap prefetchd-list-a-b"),
    "OneFile": ({"list": {"text": LIST, "more": [{"name": "images.yaml", "text": "x"}]}}, "several files have the name images.yaml"),
    "AgentConfig": ({"agentConfig": "limits: {}"}, "must be the text of an AgentConfiguration"),
    "AgentConfigInJson": ({"agentConfig": "{\"kind\": \"AgentConfiguration\"}"}, "must have the field providerEnvironment"),
    "OwnNamespace": ({"createNamespace": True}, "the release's own namespace exists already"),
}


# --- what else the chart has ------------------------------------------------------------------------------


def check_default(renderer):
    """The default values are an empty list on the platform generic."""
    check_same(renderer, {}, own(generated(arguments("generic"), {"images.yaml": EMPTY})))
    notes = renderer.render({})[2]
    assert "the list has no images" in notes and "`image` is not set" in notes, notes


def check_notes(renderer):
    _, _, notes = renderer.render(with_list({"image": IMAGE, "platform": "openshift"}), release="images", namespace="ns")
    for wanted in ("kubectl -n ns rollout status daemonset/prefetchd\n", "helm test images --namespace ns --logs\n",
                   "kubectl label --overwrite namespace ns", " pod-security.kubernetes.io/enforce=privileged",
                   "kubectl annotate --overwrite namespace ns openshift.io/node-selector="):
        assert wanted in notes, f"{wanted!r} is not in\n{notes}"
    assert "WARNING" not in notes, notes
    assert "deploy/touch" not in renderer.render(with_list({"components": ["touch"]}))[2]
    _, _, notes = renderer.render({"image": IMAGE, "list": {"existingConfigMap": "x"}}, namespace="ns")
    assert "prefetchctl wait --fleet --list images.yaml --namespace ns\n" in notes and "rollout status d" not in notes, notes


def check_test_pod(renderer):
    """It meets the Pod Security Standard restricted, goes where the agents go, and its command asks an agent."""
    values = with_list({"image": IMAGE, "imagePullSecrets": [{"name": "one"}], "nodeSelector": {"pool": "ci"}})
    objects, (hook,), _ = renderer.render(values, namespace="ns")
    assert hook["metadata"]["annotations"]["helm.sh/hook"] == "test" and hook["kind"] == "Pod"
    agents, spec = daemon_set(by_name(objects)), hook["spec"]
    for key in ("nodeSelector", "affinity", "tolerations", "imagePullSecrets"):
        assert spec[key] == agents[key], key
    (container,) = spec["containers"]
    assert container["image"] == IMAGE and spec["restartPolicy"] == "Never" and not spec["automountServiceAccountToken"]
    assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["securityContext"]["runAsUser"] == 65534
    # OpenShift's SCC restricted-v2 assigns a user of the namespace's range, and refuses every other one.
    _, (on_openshift,), _ = renderer.render(with_list({"platform": "openshift", "image": IMAGE}), namespace="ns")
    assert "runAsUser" not in on_openshift["spec"]["securityContext"] and on_openshift["spec"]["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    (service,) = [one for one in objects if one["kind"] == "Service"]
    assert f"--agent=http://{service['metadata']['name']}.ns.svc:{service['spec']['ports'][0]['port']}" in container["command"]
    with tempfile.TemporaryDirectory() as folder:
        check_command(container["command"], folder)


def check_command(command, folder):
    """Against an agent without a runtime, which is not ready."""
    with open(os.path.join(folder, "images.txt"), "w", encoding="utf-8") as out:
        out.write(PLAIN)
    agent = subprocess.Popen([os.environ["PREFETCHD"], f"--list={folder}", "--listen=127.0.0.1:0", f"--local={folder}/agent.sock",
                              f"--runtime-endpoint=unix://{folder}/none.sock", "--kubelet=none", "--log-format=json"],
                             stderr=subprocess.PIPE, text=True)
    try:
        started = next(one for one in map(json.loads, agent.stderr) if one["msg"] == "prefetchd started")
        given = [f"--agent=http://{started['listen']}" if one.startswith("--agent=") else
                 "--timeout=1s" if one.startswith("--timeout=") else one for one in command[1:]]
        result = subprocess.run([os.environ["PREFETCHCTL"], *given], capture_output=True, text=True)
        assert result.returncode == 3 and "ghcr.io/acme/tool:v2" in result.stdout + result.stderr, result
    finally:
        agent.terminate()
        agent.communicate()


def shown_values():
    """(page, values, namespace) of each helm command and each values.yaml that the pages for people show."""
    root = os.path.dirname(os.path.dirname(CHART))
    for page in ("README.md", "deploy/docs/install.md"):
        with open(os.path.join(root, page), encoding="utf-8") as file:
            text = file.read()
        for block in re.findall(r"^```yaml\n# values.yaml\n(.*?)^```", text, re.M | re.S):
            yield page, yaml.safe_load(block), "prefetchd"
        for command in re.findall(r"^helm upgrade (?:.*\\\n)*.*", text, re.M):
            words, values, namespace = shlex.split(command), {}, None
            for option, value in zip(words, words[1:]):
                namespace = value if option == "--namespace" else namespace
                if option in ("--set", "--set-file"):
                    put(values, *value.split("=", 1), from_file=option == "--set-file")
            yield page, values, namespace


def check_released():
    """The chart of a release, as deploy/release makes it, installs that release."""
    image, own = "registry.example/platform/prefetchd:9.8.7", "mirror.example/prefetchd:9.8.7"
    with tempfile.TemporaryDirectory() as folder:
        layout.stage_chart(CHART, os.path.join(folder, "prefetchd"), "9.8.7", image)
        with Renderer(os.path.join(folder, "prefetchd")) as released:
            for values, wanted in (({}, image), ({"image": own}, own)):
                pod = daemon_set(by_name(released.render(values)[0]))
                (container,) = pod["containers"]
                assert container["image"] == wanted, container["image"]


def put(values, path, value, from_file):
    """As --set does: `true` is no string."""
    *inner, last = path.split(".")
    for step in inner:
        values = values.setdefault(step, {})
    values[last] = LIST if from_file else {"true": True, "false": False}.get(value, value)


def check_shown(renderer):
    shown = list(shown_values())
    assert len(shown) == 3, shown
    for page, values, namespace in shown:
        try:
            objects, _, notes = renderer.render(values, namespace=namespace)
        except Refused as refusal:
            raise AssertionError(f"{page}: {values}: {refusal}") from refusal
        assert len(objects) > 5 and "the list has no images" not in notes, page
        assert daemon_set(by_name(objects)) != daemon_set(by_name(renderer.render({})[0])), page


def check_version():
    with open(os.path.join(CHART, "Chart.yaml"), encoding="utf-8") as file:
        chart = yaml.safe_load(file)
    version = subprocess.check_output([os.environ["PREFETCHD"], "--version"], text=True).split()[1]
    assert chart["version"] == chart["appVersion"] == version, chart
    assert chart["apiVersion"] == "v2", chart


def check_size():
    """Helm keeps a release, chart and all, in one Secret of at most 1 MiB; gzip makes about a fifth of it."""
    size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(CHART) for name in names)
    assert size < 200_000, size


def add_cases(cases, renderer):
    cases.add("Chart", "DefaultValues", lambda: check_default(renderer))
    cases.add("Chart", "EveryValueIsTried", lambda: check_values_are_tried(renderer))
    cases.add("Chart", "EveryOptionOfGenerateIsTried", check_options_are_tried)
    cases.add("Chart", "Notes", lambda: check_notes(renderer))
    cases.add("Chart", "TestPod", lambda: check_test_pod(renderer))
    cases.add("Chart", "ShownValues", lambda: check_shown(renderer))
    cases.add("Chart", "Version", check_version)
    cases.add("Chart", "OfARelease", check_released)
    cases.add("Chart", "Size", check_size)
    for name in VALUES:
        cases.add("Value", name, lambda name=name: check_value(renderer, name))
    for platform in PLATFORMS:
        cases.add("AllValues", platform, lambda platform=platform: check_all_values(renderer, platform))
        for components in sets_of(platform):
            cases.add("Components", f"{platform}:{'+'.join(components) or 'none'}",
                      lambda platform=platform, components=components: check_components(renderer, platform, components))
    for create in (False, True):
        cases.add("Namespace", "created" if create else "ofTheRelease", lambda create=create: check_other_namespace(renderer, create))
    for name, (values, why) in REFUSED.items():
        cases.add("Refused", name, lambda values=values, why=why: check_refused(renderer, values, why))
