"""What prefetchctl generate prints, beside what kustomize renders of the same."""

import copy
import itertools
import os
import re
import shlex
import subprocess
import tempfile

import yaml

from differences import differences
from render import COMPONENTS, DEPLOY, OF_OPENSHIFT, OVERLAYS, TOGETHER, documents_of, go_together, render
from guide_tables import pages_for_people
from shapes import CLUSTER_WIDE

LIST = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: quay.io/acme/app:v1  # \"<&>\" ä\n"
with open(os.path.join(DEPLOY, "base/images.yaml"), encoding="utf-8") as file:
    EMPTY = file.read()
OTHER = "# plain\nghcr.io/acme/tool:v2\n"
# Components meet each other the same way on every platform. On one: each alone, each two, all, and all but each one. On
# the others: each alone, and all.
ALL_SETS = [list(some) for count in range(3) for some in itertools.combinations(COMPONENTS, count) if go_together(some)] + [
    TOGETHER, *([one for one in TOGETHER if one != left_out] for left_out in TOGETHER)]
SETS = {platform: ALL_SETS if platform == "generic" else
        [some for some in ALL_SETS if len(some) <= 1 or some == TOGETHER] for platform in OVERLAYS}
SETS["openshift"] += [[one, "node-gate"] for one in OF_OPENSHIFT]


def run(arguments, files=None, command=("generate",)):
    """A finished process of `prefetchctl generate`, or another command, in a folder with `files`. With the image of
    deploy/, unless `arguments` have one, or are the whole command."""
    if command[:1] in (("generate",), ("migrate",)) and "--image" not in arguments:
        arguments = [*arguments, "--image", ""]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (files or {"images.yaml": LIST}).items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(text)
        result = subprocess.run([os.environ["PREFETCHCTL"], *command, *arguments], cwd=folder, capture_output=True,
                                text=True)
        result.written = {}
        for path, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(path, name), encoding="utf-8") as file:
                    result.written[os.path.relpath(os.path.join(path, name), folder)] = file.read()
        return result


def printed(words):
    """What a command prints, over lists of these names."""
    return generate(words, {words[i + 1]: LIST for i, one in enumerate(words) if one == "--list"}, ())


def generate(arguments, files=None, command=("generate",)):
    result = run(arguments, files, command)
    assert result.returncode == 0, result.stderr
    return documents_of(result.stdout)


def arguments(platform, components=(), lists=("images.yaml",)):
    given = ["--platform", platform]
    for component in components:
        given += ["--component", component]
    for one in lists:
        given += ["--list", one]
    return given


def policy_images(images):
    """What `list export --for policy` prints for these."""
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "prefetchd-policy", "namespace": "prefetchd", "labels": {"prefetchd.dev/policy": "images"}},
                           "data": {"images": "".join(one + "\n" for one in images)}})


def kustomized(platform, components=(), more="", files=None):
    """The kustomization that a person would write for one list."""
    files = dict(files or {})
    if "policy" in components:
        own = ["registry.example/team/prefetchd:1"] if "agent-image.yaml" in files else []
        files.setdefault("policy.yaml", policy_images(["quay.io/acme/app:v1", *own]))
        head, found, rest = more.partition("patches:\n")
        more = f"{head}patches:\n- path: policy.yaml\n{rest}"
    with_list = "options: {immutable: true}"
    touch = ", deploy/touch" if "touch" in components and "name" not in more else ""  # under its own names only
    return render(f"resources: [deploy/overlays/{platform}{touch}]\n"
                  f"components: [{', '.join('deploy/components/' + one for one in components)}]\n"
                  "configMapGenerator:\n- name: prefetchd-list\n  behavior: replace\n  files: [images.yaml]\n"
                  f"  {with_list}\n{more}", {"images.yaml": LIST, **files})


def by_name(documents, loose):
    """{kind/name: object}. `loose`: without the order of what Kubernetes keeps by key, and of flags."""
    found = {}
    for document in copy.deepcopy(documents):
        if (document["apiVersion"], document["kind"]) in CLUSTER_WIDE:
            document["metadata"].pop("namespace", None)  # kustomize gives one where there is none
        if loose and document["kind"] == "DaemonSet":
            spec = document["spec"]["template"]["spec"]
            spec["volumes"].sort(key=lambda one: one["name"])
            for container in spec["containers"]:
                container["args"].sort()
                container["volumeMounts"].sort(key=lambda one: one["mountPath"])
                container["env"].sort(key=lambda one: one["name"])
        found[f"{document['kind']}/{document['metadata']['name']}"] = document
    return found


def check_same(ours, theirs, loose=False):
    return differences(by_name(ours, loose), by_name(theirs, loose))


def check_order(documents):
    """Nothing stands before what it needs: kubectl apply goes from the top."""
    kinds, problems = [document["kind"] for document in documents], []
    needs = [("Namespace", kind) for kind in kinds if kind not in ("Namespace",)]
    needs += [("ConfigMap", "DaemonSet"), ("ServiceAccount", "DaemonSet"), ("PriorityClass", "DaemonSet"),
              ("ValidatingAdmissionPolicyBinding", "DaemonSet"), ("SecurityContextConstraints", "DaemonSet"),
              ("ValidatingAdmissionPolicy", "ClusterRoleBinding")]
    for first, then in needs:
        if first in kinds and then in kinds and len(kinds) - 1 - kinds[::-1].index(first) > kinds.index(then):
            problems.append(f"{first} stands after {then}")
    return problems


# What follows belongs to the specification of the DaemonSet's pods.
POD_PATCH = """- patch: |-
    apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: prefetchd}
    spec:
      template:
        spec:
"""

# The list by which the agents tell of their own image.
OF_IMAGE = """apiVersion: prefetchd.dev/v1alpha1
kind: ImageList
images:
- image: registry.example/team/prefetchd:1
  required: false
"""
OF_IMAGE_TOO = """- name: prefetchd-list-agent-image
  namespace: prefetchd
  files: [agent-image.yaml]
  options: {disableNameSuffixHash: true}
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: job}
spec:
  containers:
  - {name: app, image: "quay.io/acme/app:v1"}
"""

# The same installation, told twice: the options, and the kustomization.
INSTANCE = OF_IMAGE_TOO + """namespace: prefetchd-ci
nameSuffix: -ci
patches:
""" + POD_PATCH + """          volumes:
          - name: list
            configMap: null
            projected:
              sources:
              - configMap: {name: prefetchd-list}
              - configMap: {name: prefetchd-list-agent-image}
- target: {kind: DaemonSet, name: prefetchd}
  patch: |-
    - {op: replace, path: /spec/template/spec/containers/0/args/2, value: "--listen=[$(POD_IP)]:9478"}
    - {op: replace, path: /spec/template/spec/containers/0/args/3, value: --local=/run/prefetchd-ci/prefetchd.sock}
    - {op: replace, path: /spec/template/spec/containers/0/ports/0/containerPort, value: 9478}
    - {op: replace, path: /spec/template/spec/containers/0/ports/0/hostPort, value: 9478}
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --instance=ci}
    - {op: add, path: /spec/template/spec/imagePullSecrets, value: [{name: pull}, {name: other.pull}]}
- target: {group: monitoring.coreos.com}
  patch: |-
    - {op: add, path: /metadata/labels, value: {release: kube-prometheus-stack, example.org/team: a}}
- target: {kind: ValidatingAdmissionPolicyBinding, name: prefetchd-policy}
  patch: '- {op: replace, path: /spec/paramRef/selector/matchLabels, value: {prefetchd.dev/policy: images-ci}}'
- target: {kind: ConfigMap, name: prefetchd-policy}
  patch: '- {op: replace, path: /metadata/labels, value: {prefetchd.dev/policy: images-ci}}'
- target: {kind: PrometheusRule, name: prefetchd}
  patch: |-
    - op: replace
      path: /spec/groups/1/rules/1/expr
      value: max by (node) (kube_node_labels{label_prefetchd_dev_ci="ready"}) unless on (node) prefetchd_ready == 1
""" + POD_PATCH + """          containers:
          - name: prefetchd
            image: registry.example/team/prefetchd:1
            env:
            - {name: PREFETCHD_KUBELET_VERSION, value: "1.36"}
            volumeMounts:
            - {name: run, mountPath: /run/prefetchd, $patch: delete}
            - {name: run, mountPath: /run/prefetchd-ci}
          volumes:
          - name: run
            hostPath: {path: /run/prefetchd-ci, type: DirectoryOrCreate}
"""
INSTANCE_ARGUMENTS = ["--instance", "ci", "--port", "9478", "--image", "registry.example/team/prefetchd:1",
                      "--kubelet-version", "1.36", "--gate", "label", "--gate", "condition", "--gate", "taint",
                      "--monitoring-label", "release=kube-prometheus-stack", "--monitoring-label", "example.org/team=a",
                      "--image-pull-secret", "pull", "--image-pull-secret", "other.pull"]


def check_instance(platform):
    given = [one for one in TOGETHER if one != "node-gate"] + ["node-gate"]
    return check_same(generate(arguments(platform, given) + INSTANCE_ARGUMENTS), kustomized(platform, given, INSTANCE, {"agent-image.yaml": OF_IMAGE}),
                      loose=True)


# A key that needs no flag of Cluster Autoscaler. The agent may take it away, and runs on nodes that have it.
TAINT_KEY = "startup-taint.cluster-autoscaler.kubernetes.io/prefetchd"
OF_TAINT_KEY = f"""patches:
- target: {{kind: ValidatingAdmissionPolicy, name: prefetchd-node-gate}}
  patch: |-
    - op: replace
      path: /spec/variables/4/expression
      value: "['prefetchd.dev/not-ready', '{TAINT_KEY}']"
- target: {{kind: DaemonSet, name: prefetchd}}
  patch: |-
    - {{op: add, path: /spec/template/spec/containers/0/args/-, value: --startup-taint-key={TAINT_KEY}}}
    - op: replace
      path: /spec/template/spec/tolerations
      value:
      - {{key: dedicated, operator: Exists}}
      - {{key: {TAINT_KEY}, operator: Exists}}
      - {{key: prefetchd.dev/not-ready, operator: Exists}}
"""


def check_startup_taint_key():
    return check_same(generate(arguments("eks", ["node-gate"]) + ["--startup-taint-key", TAINT_KEY, "--toleration", "dedicated"]),
                      kustomized("eks", ["node-gate"], OF_TAINT_KEY))


def check_policy_action(action):
    """Of an option, and of a patch."""
    theirs = kustomized("generic", ["policy"], "patches:\n- target: {kind: ValidatingAdmissionPolicyBinding, name: prefetchd-policy}\n"
                        f"  patch: '- {{op: replace, path: /spec/validationActions, value: [{action}]}}'\n")
    return check_same(generate(arguments("generic", ["policy"]) + ["--policy-action", action]), theirs)


# Of several files; kubelet adds "latest" where tag and digest are missing.
SPELLED = {"a.txt": "nginx\ndocker.io/library/nginx\nq.io/a:v1\n", "b.txt": "q.io/a:v1\nq.io/b:latest\nq.io/c@sha256:" + "0" * 64 + "\n"}
SPELLINGS = ["docker.io/library/nginx", "docker.io/library/nginx:latest", "nginx", "nginx:latest", "q.io/a:v1", "q.io/b",
             "q.io/b:latest", "q.io/c@sha256:" + "0" * 64]


def check_policy_images():
    """The lines are those of every list, and `list export` prints the same object."""
    (ours,) = [one for one in generate(arguments("generic", ["policy"], SPELLED), SPELLED)
               if one["kind"] == "ConfigMap" and one["metadata"]["name"] == "prefetchd-policy"]
    exported = generate(["--for", "policy", "--list", "a.txt", "--list", "b.txt"], SPELLED, ("list", "export"))
    lines = ours["data"]["images"].splitlines()
    return ([] if lines == SPELLINGS else [f"{lines}"]) + differences([ours], exported)


def check_policies_of_one_namespace():
    """Each instance judges by its own list alone: the action of one must not reach the list of another."""
    documents, problems = [], []
    for more in ([], ["--instance", "a"], ["--instance", "b"]):
        documents += generate(arguments("generic", ["policy"]) + ["--namespace", "shared"] + more)
    maps = [one for one in documents if one["kind"] == "ConfigMap" and one["metadata"]["namespace"] == "shared"]
    for binding in (one for one in documents if one["kind"] == "ValidatingAdmissionPolicyBinding"):
        wanted = binding["spec"]["paramRef"]["selector"]["matchLabels"].items()
        selected = [one["metadata"]["name"] for one in maps if wanted <= one["metadata"].get("labels", {}).items()]
        problems += [] if selected == [binding["metadata"]["name"]] else [f"{binding['metadata']['name']}: {selected}"]
    return problems


def check_own_image():
    """An image that init containers use is on a list of its own with preflight, and only there."""
    image, problems = ["--image", "registry.example/team/prefetchd:1"], []
    for given, more, listed in ((["preflight"], image, True), (["preflight"], [], False), (["fleet"], image, False)):
        lists = [one["data"] for one in generate(arguments("generic", given) + more) if one["kind"] == "ConfigMap"]
        if ({"agent-image.yaml": OF_IMAGE} in lists) != listed:
            problems.append(f"{given} {more}: {lists}")
    return problems


def check_namespace(platform):
    return check_same(generate(arguments(platform, ["node-gate"]) + ["--namespace", "other"]),
                      kustomized(platform, ["node-gate"], "namespace: other\n"))


# Which nodes, told twice. What prefetchd itself puts on nodes is tolerated without a word.
CHOICE = """patches:
""" + POD_PATCH + """          nodeSelector: {pool: ci, acme.io/zone.of_teams: ""}
          tolerations:
          - {key: dedicated, operator: Equal, value: ci, effect: NoSchedule}
          - {key: acme.io/any, operator: Exists}
          - {key: prefetchd.dev/not-ready, operator: Exists}
"""
CHOICE_ARGUMENTS = ["--node-selector", "pool=ci", "--node-selector", "acme.io/zone.of_teams=",
                    "--toleration", "dedicated=ci:NoSchedule", "--toleration", "acme.io/any", "--include-control-plane"]


def check_choice(platform):
    return check_same(generate(arguments(platform) + CHOICE_ARGUMENTS), kustomized(platform, ["control-plane"], CHOICE))


# Each file a ConfigMap of its own, in one folder on the nodes.
SEVERAL = """- name: prefetchd-list-team-b
  namespace: prefetchd
  files: [Team_B.txt]
  options: {immutable: true}
patches:
""" + POD_PATCH + """          volumes:
          - name: list
            configMap: null
            projected:
              sources:
              - configMap: {name: prefetchd-list}
              - configMap: {name: prefetchd-list-team-b}
"""


AGENT = "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\npreflight:\n  namespaces:\n  - ci\n"
PROVIDERS = "providerEnvironment: /etc/prefetchd/agent/provider.env\n"


def check_agent_config():
    """agent.yaml takes the place of the shipped one, and keeps what platforms need."""
    problems = []
    for text, expect in ((AGENT, AGENT + PROVIDERS), ("# mine\n" + AGENT + "providerEnvironment: /x\n", None),
                         (AGENT + "providerEnvironment:\n  PATH: /usr/bin\n  HTTPS_PROXY: http://proxy.example:3128\n", None)):
        files = {"images.yaml": LIST, "mine.yaml": text}
        theirs = kustomized("eks", ["preflight"], "- name: prefetchd-agent\n  behavior: merge\n  files: [agent.yaml]\n"
                            "  options: {immutable: true}\n", {"agent.yaml": expect or text})
        problems += check_same(generate(arguments("eks", ["preflight"]) + ["--agent-config", "mine.yaml"], files), theirs)
    return problems


def check_several_lists():
    files = {"images.yaml": LIST, "Team_B.txt": OTHER}
    ours = generate(arguments("generic", lists=("images.yaml", "Team_B.txt")), files)
    theirs = render("resources: [deploy/overlays/generic]\nconfigMapGenerator:\n- name: prefetchd-list\n"
                    "  behavior: replace\n  files: [images.yaml]\n  options: {immutable: true}\n" + SEVERAL, files)
    return check_same(ours, theirs, loose=True)


def large(count, bytes_each=200):
    return "".join(f"quay.io/acme/{i:0{bytes_each - 14}d}\n" for i in range(count))


# Name, arguments, files, exit code, what the person is told.
TOLD = [
    ("NoPlatform", ["--list", "images.yaml"], None, 2, "--platform is required"),
    ("UnknownPlatform", arguments("minikube"), None, 2, "--platform must be one of aks, bottlerocket, crio, eks"),
    ("NoList", ["--platform", "eks"], None, 2, "--list is required"),
    ("UnknownComponent", arguments("eks", ["gate"]), None, 2, "--component must be one of control-plane, ephemeral"),
    ("ReservedName", arguments("eks", ["preflight"], ["agent-image.yaml"]) + ["--image", "r.example/p:1"],
     {"agent-image.yaml": LIST}, 2, "rename yours"),
    ("FleetsName", arguments("eks") + ["--instance", "prefetchd-fleet"], None, 2, "choose another name"),
    ("AgentConfigWithAMistake", arguments("eks") + ["--agent-config", "a.yaml"],
     {"images.yaml": LIST, "a.yaml": AGENT + "limit: 1\n"}, 2, "a.yaml:6:1: limit"),
    ("AgentConfigThatIsNotThere", arguments("eks") + ["--agent-config", "no.yaml"], None, 2, "no.yaml"),
    ("ListThatIsNotThere", arguments("eks", lists=["no.yaml"]), None, 2, "no.yaml"),
    ("ListWithMistakes", arguments("eks"), {"images.yaml": LIST + "- image: Quay.io/A\n- {imag: x}\n"}, 2,
     "images.yaml:5:10: images[1].image"),
    ("EveryMistakeIsTold", arguments("eks"), {"images.yaml": LIST + "- image: Quay.io/A\n- {imag: x}\n"}, 2,
     "images[2]"),
    ("NameThatNoConfigMapTakes", arguments("eks", lists=["my list.txt"]), {"my list.txt": OTHER}, 2, "letters, digits"),
    ("TwoOfOneName", arguments("eks", lists=["a/x.txt", "b/x.txt"]), {"a/x.txt": OTHER, "b/x.txt": LIST[:0]}, 2,
     "rename one"),
    ("TooLarge", arguments("eks", lists=["x.txt"]), {"x.txt": "#" + "x" * (1 << 20)}, 2, "split it into several files"),
    ("LargeNeedsServerSide", arguments("eks", lists=["x.txt"]), {"x.txt": large(1400)}, 0, "--server-side"),
    ("Instance", arguments("eks") + ["--instance", "Team_A"], None, 2, "--instance must be"),
    ("Namespace", arguments("eks") + ["--namespace", "a.b"], None, 2, "--namespace must be"),
    ("Image", arguments("eks") + ["--image", "UPPER"], None, 2, "--image"),
    ("Version", arguments("eks") + ["--kubelet-version", "1.30"], None, 2, "--kubelet-version must be 1.31 or later"),
    ("Port", arguments("eks") + ["--port", "70000"], None, 2, "--port"),
    ("StartupTaintKeyOfNothing", arguments("eks") + ["--startup-taint-key", TAINT_KEY], None, 2,
     "--startup-taint-key needs --component node-gate with --gate taint"),
    ("StartupTaintKeyOfAnInstance", arguments("eks", ["node-gate"]) + ["--startup-taint-key", TAINT_KEY, "--instance", "a"], None, 2,
     "--startup-taint-key needs --component node-gate with --gate taint"),
    ("StartupTaintKeyOfKubernetes", arguments("eks", ["node-gate"]) + ["--startup-taint-key", "node.kubernetes.io/not-ready"], None, 2,
     "--startup-taint-key must be a key of a domain of yours"),
    ("GateOfNothing", arguments("eks") + ["--gate", "label"], None, 2, "--gate needs --component node-gate"),
    ("MonitorLabelOfNothing", arguments("eks") + ["--monitoring-label", "release=x"], None, 2,
     "--monitoring-label needs --component monitoring"),
    ("MonitorLabelWithoutValue", arguments("eks", ["monitoring"]) + ["--monitoring-label", "release"], None, 2,
     "--monitoring-label must be KEY=VALUE"),
    ("MonitorLabelThatIsNone", arguments("eks", ["monitoring"]) + ["--monitoring-label", "release=a b"], None, 2,
     "--monitoring-label must be KEY=VALUE"),
    ("BothMonitorings", arguments("gke", ["monitoring", "monitoring-gke"]), None, 2,
     "monitoring and monitoring-gke are alternatives"),
    ("PullSecretThatIsNoName", arguments("eks") + ["--image-pull-secret", "Pull_Secret"], None, 2, "--image-pull-secret"),
    ("PullSecretAndTheRecords", arguments("eks") + ["--image-pull-secret", "pull"], None, 0,
     "the Secret pull must exist in the namespace prefetchd"),
    ("OutputThatCannotBe", arguments("eks") + ["-o", "no/where/"], None, 2, "-o no/where/"),
    ("NothingIsPublished", arguments("eks"), None, 0, "no registry has the image"),
    ("ImageWithoutTag", arguments("eks") + ["--image", "registry.example/prefetchd"], None, 0, "means the tag latest"),
    ("NewestKnownVersion", arguments("eks") + ["--kubelet-version", "v1.37.0-eks-1"], None, 0, ""),
    ("NewerVersion", arguments("eks") + ["--kubelet-version", "1.99"], None, 0, "newer than the rules"),
    ("NoVersionAndNoApi", arguments("eks", ["no-api-access"]), None, 0, "FactsUnknown"),
    ("VersionIsAnOverride", arguments("eks") + ["--kubelet-version", "1.36"], None, 0, "from its own Node"),
    ("NoApiAccessAndTheGate", arguments("eks", ["node-gate", "no-api-access"]), None, 2, "removes rights that node-gate needs"),
    ("NoApiAccessAndTouch", arguments("eks", ["touch", "no-api-access"]), None, 2, "removes rights that touch needs"),
    ("NoApiAccessAndKubelet", arguments("eks", ["kubelet-api", "no-api-access"]), None, 2,
     "removes rights that kubelet-api needs"),
    ("PortsOfTheNode", arguments("eks") + ["--instance", "a"], None, 0, "give --port"),
    ("TouchIsElsewhere", arguments("eks", ["touch"]) + ["--instance", "a"], None, 0, "apply deploy/touch once"),
    ("OpenShiftElsewhere", arguments("eks", ["openshift-aws"]), None, 2, "openshift-aws needs --platform openshift"),
    ("TwoClouds", arguments("openshift", ["openshift-aws", "openshift-gcp"]), None, 2, "are alternatives"),
    ("SelectorThatIsNone", arguments("eks") + ["--node-selector", "pool"], None, 2, "--node-selector pool: must be KEY=VALUE"),
    ("SelectorKey", arguments("eks") + ["--node-selector", "Pool/=ci"], None, 2, "must be KEY=VALUE"),
    ("SelectorPrefix", arguments("eks") + ["--node-selector", "Acme.io/pool=ci"], None, 2, "must be KEY=VALUE"),
    ("SelectorValue", arguments("eks") + ["--node-selector", "pool=-ci"], None, 2, "must be KEY=VALUE"),
    ("SelectorTwice", arguments("eks") + ["--node-selector", "pool=a", "--node-selector", "pool=b"], None, 2, "given twice"),
    ("SelectorOfWindows", arguments("eks") + ["--node-selector", "kubernetes.io/os=windows"], None, 2, "Linux only"),
    ("SelectorOfControlPlanes", arguments("rke2") + ["--node-selector", "node-role.kubernetes.io/control-plane=true"], None, 0,
     "only with --include-control-plane"),
    ("TolerationKey", arguments("eks") + ["--toleration", "=ci"], None, 2, "--toleration =ci: must be KEY"),
    ("TolerationEffect", arguments("eks") + ["--toleration", "dedicated=ci:Never"], None, 2, "must be KEY"),
    ("PolicyNeedsALabel", arguments("eks", ["policy"]), None, 0, "prefetchd.dev/policy=enforce"),
    ("PolicyWatchesConfigMaps", arguments("eks", ["policy"]), None, 0, "watch all ConfigMaps"),
    ("PolicyActionOfNothing", arguments("eks") + ["--policy-action", "Deny"], None, 2, "--policy-action needs --component policy"),
    ("PolicyActionThatIsNone", arguments("eks", ["policy"]) + ["--policy-action", "deny"], None, 2, "Audit"),
    ("PolicyOfTooManyImages", arguments("eks", ["policy"], ["a.txt", "b.txt", "c.txt"]),
     {f"{one}.txt": "".join(f"quay.io/acme/{one}{i}:v1\n" for i in range(3400)) for one in "abc"}, 2, "up to 10000 spellings"),
]


def check_told(given, files, code, words, command=("generate",)):
    result = run(given, files, command)
    problems = [] if result.returncode == code else [f"exit code {result.returncode}, not {code}: {result.stderr}"]
    problems += [] if words in result.stderr else [f"nothing says {words!r}: {result.stderr}"]
    return problems + (["something is printed all the same"] if code != 0 and result.stdout else [])


def check_image_is_required(words):
    """`words` without --image; nothing adds it here."""
    return check_told(words, None, 2, "--image is required", ())


def check_quiet_where_all_is_said():
    result = run(arguments("k3s") + ["--image", "registry.example/prefetchd:1"])
    return [result.stderr] if result.stderr else []


def check_outputs():
    """A file, and a folder of files in the order of creation, hold the same as standard output."""
    printed, problems = generate(arguments("eks")), []
    as_file = run(arguments("eks") + ["-o", "all.yaml"])
    if documents_of(as_file.written["all.yaml"]) != printed or as_file.stdout:
        problems.append("-o FILE holds something else")
    as_folder = run(arguments("eks") + ["-o", "folder/"])
    names = sorted(name for name in as_folder.written if name.startswith("folder/"))
    if [documents_of(as_folder.written[name])[0] for name in names] != printed:
        problems.append(f"-o FOLDER holds something else: {names}")
    return problems


def check_second_instance(documents):
    """A second instance that is patched by hand is the one that generate makes."""
    given = arguments("eks", ["live-reload", "node-gate"]) + ["--instance", "team-a", "--port", "9478"]
    return check_same(generate(given, {"images.yaml": EMPTY}), documents, loose=True)


def shown_commands():
    """Every `prefetchctl generate …` and `migrate …` that the pages and --help show, up to a pipe or a comment, as words."""
    texts = [subprocess.check_output([os.environ["PREFETCHCTL"], *command, "--help"], text=True)
             for command in (["generate"], ["generate", "init-container"], ["migrate", "image-prefetcher"])]
    for _, text in pages_for_people():
        texts += re.findall(r"^```sh\n(.*?)^```", text, flags=re.M | re.S)
    lines = [line for text in texts for line in text.replace("\\\n", " ").splitlines()]
    return [shlex.split(re.split(r"[|>#]", line)[0])[1:] for line in lines
            if line.strip().startswith(("prefetchctl generate --", "prefetchctl migrate image-prefetcher ",
                                        "prefetchctl generate init-container "))]


def check_shown_command(given):
    files = {name: OTHER if name.endswith(".txt") else LIST
             for name in [given[i + 1] for i, one in enumerate(given) if one == "--list"]}
    given = ["stdin.yaml" if one == "-" else one for one in given]
    # There is no cluster here; tests/system/uninstall_command_test.cc has one.
    given = ["--image=r.io/prefetchd:1" if one == "--from-cluster" else one for one in given]
    secrets = [given[i + 1] for i, one in enumerate(given) if one == "--mount-pull-secret"]
    config = AGENT + ("pullSecrets:\n" if secrets else "") + "".join(
        f"- {{name: {one}, path: /etc/prefetchd/secrets/{one}, allowRepositories: [q.io/a], sources: [images.yaml]}}\n" for one in secrets)
    files.update({given[i + 1]: POD if one == "-f" else config for i, one in enumerate(given)
                  if one in ("-f", "--agent-config")})
    result = run(given, files, command=())
    return [] if result.returncode == 0 else [result.stderr]


def check_gate_of_an_instance():
    """Condition and taint are one a node: a second instance leaves them to the first."""
    documents = generate(arguments("generic", ["node-gate"]) + ["--instance", "ci"])
    (daemon_set,) = [one for one in documents if one["kind"] == "DaemonSet"]
    given = daemon_set["spec"]["template"]["spec"]["containers"][0]["args"]
    return [f"{flag} is given" for flag in ("--node-condition", "--startup-taint") if flag in given] + (
        [] if "--node-label" in given else ["no --node-label"])


def add_generated(cases, add_rendering, none):
    """`add_rendering` adds the cases that judge any rendering, `none` fails where there are problems."""
    for platform in OVERLAYS:
        for components in SETS[platform]:
            cases.add("generate", f"{platform}={'+'.join(components) or 'alone'}",
                      lambda platform=platform, components=components: none(
                          check_same(generate(arguments(platform, components)), kustomized(platform, components))))
        cases.add("generate", f"{platform}=instance", lambda platform=platform: none(check_instance(platform)))
        cases.add("generate", f"{platform}=namespace", lambda platform=platform: none(check_namespace(platform)))
        cases.add("generate", f"{platform}=nodes", lambda platform=platform: none(check_choice(platform)))
        cases.add("generate", f"{platform}=order", lambda platform=platform: none(
            check_order(generate(arguments(platform, TOGETHER)))))
        add_rendering(cases, f"generate:{platform}", lambda platform=platform: generate(
            arguments(platform, [one for one in TOGETHER if one != "live-reload"]) + ["--instance", "ci"]))
    add_rendering(cases, "generate:several", lambda: generate(
        arguments("generic", lists=("images.yaml", "Team_B.txt")), {"images.yaml": LIST, "Team_B.txt": OTHER}))
    add_rendering(cases, "generate:several+live", lambda: generate(
        arguments("generic", ["live-reload"], ("images.yaml", "Team_B.txt")),
        {"images.yaml": LIST, "Team_B.txt": OTHER}), live_reload=True)
    cases.add("generate", "several_lists", lambda: none(check_several_lists()))
    cases.add("generate", "startup_taint_key", lambda: none(check_startup_taint_key()))
    add_rendering(cases, "startup_taint_key", lambda: generate(
        arguments("eks", ["node-gate"]) + ["--startup-taint-key", TAINT_KEY]))
    cases.add("generate", "gate_of_an_instance", lambda: none(check_gate_of_an_instance()))
    cases.add("generate", "agent_config", lambda: none(check_agent_config()))
    for action in ("Warn", "Audit", "Deny"):
        cases.add("generate", f"policy_action={action}", lambda action=action: none(check_policy_action(action)))
    add_rendering(cases, "generate:policy", lambda: generate(arguments("generic", ["policy"]) + ["--policy-action", "Deny"]))
    cases.add("generate", "policy_images", lambda: none(check_policy_images()))
    cases.add("generate", "policies_of_one_namespace", lambda: none(check_policies_of_one_namespace()))
    cases.add("generate", "own_image", lambda: none(check_own_image()))
    cases.add("generate", "outputs", lambda: none(check_outputs()))
    cases.add("generate", "quiet_where_all_is_said", lambda: none(check_quiet_where_all_is_said()))
    cases.add("generate", "commands_are_shown", lambda: none([] if len(shown_commands()) >= 5 else ["too few"]))
    for given in shown_commands():
        cases.add("generate", f"shown: {' '.join(given)}", lambda given=given: none(check_shown_command(given)))
    cases.add("generate", "NoImage", lambda: none(check_image_is_required(["generate", *arguments("eks")])))
    for name, given, files, code, words in TOLD:
        cases.add("generate_says", name, lambda given=given, files=files, code=code, words=words: none(
            check_told(given, files, code, words)))
