#!/usr/bin/python3
"""Renders everything below deploy/ and judges it. Each overlay, each combination, each check is a case of its own.

deploy_test.py [TEXT]     only the cases whose names hold TEXT
deploy_test.py --write FOLDER     judges nothing, writes every rendering

Needs kustomize (tests/run fetches it), promtool, and from the environment: PREFETCHD, PREFETCHCTL, PREFETCH_TESTDATA.
"""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile

import yaml

sys.dont_write_bytecode = True  # the source tree stays as it is

from alerts import FIRES, GOOD, OUTSIDE_WINDOW, check_alert, check_all_alerts_are_tried, check_quiet, check_same_on_gke
from cases import Cases
from compat import add_compat
from dockerfile import add_dockerfile
from generated import add_generated, check_same, check_second_instance, generate, policy_images, printed, shown_commands
from guide_tables import check_ca_bundles, check_components, check_kubelet_facts, check_mirrors, check_networks, page, pages_for_people
from metrics import check_metrics, check_values
from nodes import NODES, add_nodes, check_side_by_side
from paths import check_kubelet_config, check_paths
from policy import (CHECKS, RIGHTS, check_containers, check_host_paths, check_list, check_names, check_rights,
                    check_scheduling, check_service, check_write_limits, lists_of)
from render import (COMPONENTS, DEPLOY, OF_OPENSHIFT, OVERLAYS, ROOT, TOGETHER, agent, build, daemon_set, flags, of_kind, overlay,
                    pod, render)
from running import check_running
from shapes import check_shapes

# What each platform is about: network, runtime's socket, credential providers, where kubelet's configuration is found
# and whether its process is looked at. spec: the operators' page has the same table for people.
CONTAINERD = "unix:///run/containerd/containerd.sock"
K3S = "unix:///run/k3s/containerd/containerd.sock"
CRIO = "unix:///run/crio/crio.sock"
PLATFORMS = {
    "aks": (False, CONTAINERD, ("/var/lib/kubelet/credential-provider-config.yaml", "/var/lib/kubelet/credential-provider"),
            ["/etc/default", "/etc/kubernetes/azure.json"], True),
    "bottlerocket": (True, CONTAINERD, ("/etc/kubernetes/kubelet/credential-provider-config.yaml",
                                        "/usr/libexec/kubernetes/kubelet/plugins"),
                     ["/etc/kubernetes/kubelet", "/usr/libexec/kubernetes/kubelet/plugins",
                      "/etc/ssl/certs/ca-certificates.crt"], True),
    "crio": (False, CRIO, (None, None), ["/var/lib/kubelet/config.yaml"], True),
    "eks": (True, CONTAINERD, ("/etc/eks/image-credential-provider/config.json", "/etc/eks/image-credential-provider"),
            ["/etc/kubernetes/kubelet", "/etc/eks/image-credential-provider", "/etc/ssl/certs/ca-certificates.crt"], True),
    "generic": (False, CONTAINERD, (None, None), ["/var/lib/kubelet/config.yaml"], True),
    "gke": (True, CONTAINERD, ("/etc/srv/kubernetes/cri_auth_config.yaml", "/home/kubernetes/bin"),
            ["/home/kubernetes/kubelet-config.yaml", "/home/kubernetes/bin", "/etc/ssl/certs/ca-certificates.crt"], True),
    "k3s": (False, K3S, (None, None), ["/var/lib/rancher/k3s/agent/etc"], False),
    "kind": (False, CONTAINERD, (None, None), ["/var/lib/kubelet/config.yaml"], True),
    "openshift": (False, CRIO, (None, None),
                  ["/var/lib/kubelet/config.json", "/etc/kubernetes/kubelet.conf", "/etc/openshift/kubelet.conf.d",
                   "/etc/ssl/certs/ca-certificates.crt"], True),
    "rke2": (False, K3S, (None, None), ["/var/lib/rancher/rke2/agent/etc"], True),
}
# The folder of containerd's configuration, which says where it looks for mirrors (hosts.toml), and of these. CRI-O has
# another one.
ETC = "/etc/containerd"
CONFIG = {"aks": ETC, "bottlerocket": ETC, "crio": None, "eks": ETC, "generic": ETC, "gke": ETC, "kind": ETC, "openshift": None,
          "k3s": "/var/lib/rancher/k3s/agent/etc/containerd", "rke2": "/var/lib/rancher/rke2/agent/etc/containerd"}
WITH_REGISTRIES_CONF = {"crio", "openshift"}
REGISTRIES = "/etc/containers"
# Folders of mirrors and certificates elsewhere.
MORE_HOSTS = {"eks": ["/etc/docker/certs.d"], "crio": [REGISTRIES], "openshift": [REGISTRIES, "/etc/docker/certs.d"]}
# OpenShift, Bottlerocket; RKE2 and k3s where SELinux is enforced.
SPC_T = {"bottlerocket", "k3s", "openshift", "rke2"}


# Not every version has these folders, so the one above is mounted, which all have.
IN_ONE_MOUNT = {"k3s", "rke2"}


def may_be_absent(name):
    return [path for path in (None if name in IN_ONE_MOUNT else CONFIG[name], *MORE_HOSTS.get(name, []), "/var/lib/kubelet/image_manager") if path]


def check_platform(documents, name):
    network, endpoint, provider, mounted, looks_at_process = PLATFORMS[name]
    given, said = flags(documents), []
    mounts = [mount["mountPath"] for mount in agent(documents)["volumeMounts"]]
    facts = {"hostNetwork": (pod(documents).get("hostNetwork", False), network),
             "runtime": (given.get("--runtime-endpoint"), endpoint),
             "provider": ((given.get("--image-credential-provider-config"),
                           given.get("--image-credential-provider-bin-dir")), provider),
             "containerd's configuration": (given.get("--registry-containerd-config"),
                                            CONFIG[name] and CONFIG[name] + "/config.toml"),
             "registries.conf": (given.get("--registries-conf"),
                                 REGISTRIES + "/registries.conf" if name in WITH_REGISTRIES_CONF else None),
             # What the configuration says would not count beside it.
             "declared mirrors": (given.get("--registry-config-path"), None),
             "process": (given.get("--kubelet-proc"), "/host/proc" if looks_at_process else None),
             "SELinux": (pod(documents)["securityContext"].get("seLinuxOptions"),
                         {"type": "spc_t"} if name in SPC_T else None)}
    said += [f"{fact} is {value}, not {wanted}" for fact, (value, wanted) in facts.items() if value != wanted]
    said += [f"{path} is not mounted" for path in [*mounted, *may_be_absent(name)] if path and path not in mounts]
    said += [f"{path}: a node may be without it" for path in may_be_absent(name)
             if [one["hostPath"].get("type") for one in pod(documents)["volumes"]
                 if one.get("hostPath", {}).get("path") == path] != ["DirectoryOrCreate"]]
    said += [f"{mount} is not in every version: its pods would wait for ever" for mount in mounts
             if name in IN_ONE_MOUNT and "/agent/etc/" in mount]
    runtime = [mount for mount in agent(documents)["volumeMounts"] if mount["name"] == "runtime"][0]
    if runtime["mountPath"] != os.path.dirname(endpoint.removeprefix("unix://")):
        said.append(f"{runtime['mountPath']} is not the folder of the runtime's socket")
    if runtime.get("mountPropagation") != "HostToContainer":
        said.append("what the runtime unmounts would stay mounted here")
    return said


def check_strategy(documents, wanted):
    is_now = daemon_set(documents)["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"]
    return [] if is_now == wanted else [f"maxUnavailable is {is_now}, not {wanted}"]


def check_version(documents):
    """The manifests of a version run the agent of that version."""
    says = subprocess.check_output([os.environ["PREFETCHD"], "--version"], text=True).split()[1]
    tag = agent(documents)["image"].rsplit(":", 1)[1]
    return [] if tag == says else [f"the image has the tag {tag}, the agent is {says}"]


def check_list_text(documents):
    """prefetchctl understands the list that is shipped."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in [item for one in lists_of(documents) for item in one["data"].items()]:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(text)
        result = subprocess.run([os.environ["PREFETCHCTL"], "list", "check", folder], capture_output=True, text=True)
    return [] if result.returncode == 0 else [result.stderr]


def check_rules(documents):
    """promtool reads the alerts."""
    (rules,) = of_kind(documents, "PrometheusRule")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as out:
        json.dump(rules["spec"], out)
        out.flush()
        result = subprocess.run(["promtool", "check", "rules", out.name], capture_output=True, text=True)
    return [] if result.returncode == 0 else [result.stdout + result.stderr]


def of_name(documents, kind, name):
    (one,) = [one for one in of_kind(documents, kind) if one["metadata"]["name"] == name]
    return one


def check_touch_words(documents):
    """The policy lets through the pods that the agent makes, and the namespace is the one that it makes them in."""
    words = {}
    for file in ("lib/kube/touch_pod.h", "lib/kube/touch_pod.cc", "lib/plan/touch.h"):
        with open(os.path.join(ROOT, file), encoding="utf-8") as source:
            words.update(re.findall(r'(k\w+) = "?([^";]+)"?;', source.read()))
    policy = of_name(documents, "ValidatingAdmissionPolicy", "prefetchd-touch")
    text = " ".join(one["expression"] for one in policy["spec"]["validations"])
    says = {"kTouchNamespace": re.findall(r"request\.namespace == '([^']+)'", text),
            "kTouchServiceAccount": re.findall(r"serviceAccountName == '([^']+)'", text),
            "kTouchCommand": re.findall(r"c\.command == \['([^']+)'\]", text),
            "kActiveDeadlineSeconds": re.findall(r"activeDeadlineSeconds <= (\d+)", text),
            "kMostImagesOfATouch": re.findall(r"size\(variables\.pod\.spec\.containers\) <= (\d+)", text)}
    problems = [f"{name} is {words[name]}, the policy says {found}" for name, found in says.items()
                if found != [words[name]]]
    of_name(documents, "Namespace", words["kTouchNamespace"])
    account = of_name(documents, "ServiceAccount", words["kTouchServiceAccount"])
    if account.get("automountServiceAccountToken") is not False or account.get("imagePullSecrets"):
        problems.append("the service account of touch pods brings credentials along")
    return problems


def check_touch_daemon_set():
    """What `generate touch-daemonset` makes passes `restricted`, and is the pod that the agent makes but for its end."""
    documents = touch_daemon_set()
    with open(os.path.join(os.environ["PREFETCH_TESTDATA"], "kube/touch-pod.yaml"), encoding="utf-8") as file:
        pod_of_agent = yaml.safe_load(file)["spec"]
    made = daemon_set(documents)["spec"]["template"]["spec"]
    for one in pod_of_agent["containers"]:
        one["imagePullPolicy"] = "IfNotPresent"
    differ = {key for key in made.keys() | pod_of_agent.keys() if made.get(key) != pod_of_agent.get(key)}
    expected = {"nodeName", "nodeSelector", "affinity", "restartPolicy", "activeDeadlineSeconds"}
    of_agent = pod(overlay("generic"))
    differ |= {f"{key} (of the agent)" for key in ("nodeSelector", "affinity", "tolerations") if made[key] != of_agent[key]}
    return check_shapes(documents) + [f"{key}: differs from the agent's touch pod" for key in sorted(differ - expected)]


def check_gate_words(documents):
    """The policy lets through what the agent writes: the label's prefix, the condition and the taint."""
    words = {}
    for header in ("lib/base/label_syntax.h", "lib/plan/node_gate.h"):
        with open(os.path.join(ROOT, header), encoding="utf-8") as source:
            words.update(re.findall(r'string_view (k\w+) = "([^"]+)"', source.read()))
    policy = of_name(documents, "ValidatingAdmissionPolicy", "prefetchd-node-gate")
    text = " ".join(one["expression"] for one in policy["spec"]["validations"])
    used = {"kLabelPrefix": re.findall(r"startsWith\('([^']+)'\)", text),
            "kStartupTaintKey": re.findall(r"'([^']+)'", next(
                one["expression"] for one in policy["spec"]["variables"] if one["name"] == "startupTaints")),
            "kConditionType": re.findall(r"c\.type != '([^']+)'", text)}
    with open(os.path.join(ROOT, "lib/plan/node_gate.h"), encoding="utf-8") as source:
        instance = re.search(r'instance = "([^"]+)"', source.read())[1]
    # kube-state-metrics' way with the names of labels.
    label = "label_" + re.sub(r"\W", "_", words["kLabelPrefix"] + instance)
    alerts = [rule["expr"] for group in of_kind(documents, "PrometheusRule")[0]["spec"]["groups"] for rule in group["rules"]]
    return [f"{name} is {words[name]}, the policy says {sorted(set(found))}" for name, found in used.items()
            if set(found) != {words[name]}] + ([] if any(label in one for one in alerts) else [f"no alert on {label}"])


def guide_examples():
    """The kustomizations that the pages for people show: (page and headline, text)."""
    found = []
    for page, text in pages_for_people():
        parts = re.split(r"^(##+ .*|```yaml\n# kustomization.yaml\n(?:.*\n)*?```)$", text, flags=re.M)
        headline = ""
        for part in parts:
            if part.startswith("##"):
                headline = part.lstrip("# ")
            elif part.startswith("```yaml"):
                found.append((f"{page}:{headline}", part.removeprefix("```yaml\n").removesuffix("```")))
    return found


def render_example(text, files=None):
    """The example with the folders of this tree, and with the files of base under the names that it gives them."""
    local = re.sub(r"https://github\.com/[\w-]+/[\w-]+//deploy/([\w/-]+)\?ref=[\w.]+", r"deploy/\1", text)
    base = {}
    for name in ("images.yaml", "provider.env", "agent.yaml"):
        with open(os.path.join(DEPLOY, "base", name), encoding="utf-8") as file:
            base[name] = file.read()
    return render(local, {**base, "team-a.yaml": base["images.yaml"], "team-b.yaml": base["images.yaml"],
                          "policy-images.yaml": policy_images([]), **(files or {})})


def check_label_stale():
    """The kustomization of watch.md gives the alert the label of another instance, as `generate --instance` does."""
    (text,) = [text for where, text in guide_examples() if where.startswith("deploy/docs/watch.md") and "replacements" in text]
    by_hand, generated = ([rule["expr"] for group in of_kind(documents, "PrometheusRule")[0]["spec"]["groups"]
                           for rule in group["rules"] if rule.get("alert") == "PrefetchdLabelStale"]
                          for documents in (render_example(text), printed(
                              ["generate", "--platform", "eks", "--list", "images.yaml", "--image", "", "--component", "node-gate",
                               "--component", "monitoring", "--instance", "team-a"])))
    return [] if by_hand == generated else [f"{by_hand} is not {generated}"]


def check_talos():
    """The example for Talos is the overlay generic, but for two paths on the node."""
    text = json.dumps(overlay("generic"))
    for generic, talos in (("/etc/containerd/config.toml", "/etc/cri/containerd.toml"), ("/etc/containerd", "/etc/cri"),
                           ("/var/lib/kubelet/config.yaml", "/etc/kubernetes/kubelet.yaml")):
        text = text.replace(generic, talos)
    return check_same(json.loads(text), build(os.path.join(DEPLOY, "examples/talos")), loose=True)


def check_proxies():
    """The proxies of registries.md are settings of the agent, which `generate` hands on."""
    text = page("deploy/docs/registries.md")
    declared = re.search(r"^\*\*The agent's proxies\*\*.*?^```yaml\n(.*?)^```", text, re.M | re.S)[1]
    made = generate(["--platform", "aks", "--list", "team-a.yaml", "--agent-config", "agent.yaml"],
                    {"agent.yaml": declared, "team-a.yaml": page("deploy/base/images.yaml")})
    configured = [one["data"]["agent.yaml"] for one in of_kind(made, "ConfigMap") if "agent.yaml" in one["data"]]
    return [] if any("\nregistryHttpsProxy: http" in text for text in configured) else [f"agents get {configured}"]


def check_pull_secret():
    """The kustomization of node-pools.md mounts the Secret as `generate --mount-pull-secret` does."""
    (text,) = [text for where, text in guide_examples() if where.startswith("deploy/docs/node-pools.md:Pull secrets")]
    declared = re.search(r"^```yaml\n(?:.+\n){2}(pullSecrets:\n.*?)^```", page("deploy/docs/node-pools.md"), re.M | re.S)[1]
    files = {"agent.yaml": page("deploy/base/agent.yaml") + declared, "team-a.yaml": page("deploy/base/images.yaml")}
    made = generate(["--platform", "eks", "--list", "team-a.yaml", "--agent-config", "agent.yaml", "--mount-pull-secret", "team-a"], files)
    by_hand, generated = ({(one["kind"], one["metadata"]["name"]): one for one in documents}
                          for documents in (render_example(text, files), made))
    return [f"{key}: differs" for key in sorted(by_hand.keys() | generated.keys()) if by_hand.get(key) != generated.get(key)]


def plant(change):
    def planted(documents):
        documents = copy.deepcopy(documents)
        change(documents)
        return documents
    return planted


def mount_of(documents, name):
    return [mount for mount in agent(documents)["volumeMounts"] if mount["name"] == name][0]


def volume_of(documents, name):
    return [volume for volume in pod(documents)["volumes"] if volume["name"] == name][0]


def grant(resource, *verbs, group=""):
    return lambda documents: of_name(documents, "ClusterRole", "prefetchd-node-reader")["rules"].append(
        {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)})


def drop_kind(kind):
    def change(documents):
        documents[:] = [document for document in documents if document["kind"] != kind]
    return change


def first_alert(documents):
    (rules,) = of_kind(documents, "PrometheusRule")
    return next(rule for group in rules["spec"]["groups"] for rule in group["rules"] if "alert" in rule)


# What the checks must find: (name, check, what is done to good documents, a part of what must be said).
PLANTS = [
    ("UnknownField", check_shapes, lambda d: pod(d).update(hostNetworking=True), "hostNetworking: is no field"),
    ("WrongType", check_shapes, lambda d: agent(d)["readinessProbe"].update(periodSeconds="2"), "has type str"),
    ("MissingField", check_shapes, lambda d: daemon_set(d)["spec"].pop("selector"), "selector: is missing"),
    ("UnknownValue", check_shapes, lambda d: pod(d).update(dnsPolicy="Host"), "'Host' is none of"),
    ("UnknownKind", check_shapes, lambda d: d[0].update(kind="Deployment"), "no such kind is shipped"),
    ("Twice", check_shapes, lambda d: d.append(d[0]), "is there twice"),
    ("Privileged", check_containers, lambda d: agent(d)["securityContext"].update(privileged=True), "privileged is True"),
    ("CapabilityAdded", check_containers,
     lambda d: agent(d)["securityContext"]["capabilities"].update(add=["SYS_PTRACE"]), "capabilities is"),
    ("CapabilitiesKept", check_containers, lambda d: agent(d)["securityContext"].pop("capabilities"), "capabilities is None"),
    ("RootFileSystemWritable", check_containers,
     lambda d: agent(d)["securityContext"].update(readOnlyRootFilesystem=False), "readOnlyRootFilesystem is False"),
    ("NoMemoryLimit", check_containers, lambda d: agent(d)["resources"].pop("limits"), "no memory limit"),
    ("NoRequest", check_containers, lambda d: agent(d)["resources"]["requests"].pop("cpu"), "requests no cpu"),
    ("SlowReadiness", check_service, lambda d: agent(d)["readinessProbe"].update(periodSeconds=10), "periodSeconds is 10, not 2"),
    ("NoSeccomp", check_containers, lambda d: pod(d)["securityContext"].pop("seccompProfile"), "seccompProfile"),
    ("HostPid", check_containers, lambda d: pod(d).update(hostPID=True), "hostPID is set"),
    ("SecondContainer", check_containers,
     lambda d: pod(d)["containers"].append({"name": "helper", "image": "x"}), "helper: securityContext"),
    ("WritableHostPath", check_host_paths, lambda d: mount_of(d, "kubelet-records").pop("readOnly"), "can be written to"),
    ("WritableSocketFolder", check_host_paths, lambda d: mount_of(d, "runtime").update(readOnly=False), "can be written to"),
    ("OtherPlace", check_host_paths, lambda d: mount_of(d, "kubelet-config").update(mountPath="/config"), "is mounted at"),
    ("AllOfKubelet", check_host_paths,
     lambda d: volume_of(d, "kubelet-records")["hostPath"].update(path="/var/lib/kubelet"), "more than is needed"),
    ("SocketItself", check_host_paths,
     lambda d: volume_of(d, "runtime")["hostPath"].update(path="/run/containerd/containerd.sock"), "by its folder"),
    ("VolumeForgotten", check_host_paths, lambda d: agent(d)["volumeMounts"].pop(), "is not mounted"),
    ("NodesProxy", check_rights, grant("nodes/proxy", "get"), "may get nodes/proxy"),
    ("Secrets", check_rights, grant("secrets", "get"), "may get secrets"),
    ("PodsExec", check_rights, grant("pods/exec", "create"), "may create pods/exec"),
    ("AnyVerb", check_rights, grant("nodes", "*"), "may * nodes"),
    ("AnyResource", check_rights, grant("*", "get"), "may get *"),
    ("AnyGroup", check_rights, grant("nodes", "get", group="*"), "may get nodes"),
    ("ListOfNodes", check_rights, grant("nodes", "list"), "may list nodes"),
    ("ClusterAdmin", check_rights,
     lambda d: of_kind(d, "ClusterRoleBinding")[0]["roleRef"].update(name="cluster-admin"), "is not ours"),
    ("BoundToOthers", check_rights,
     lambda d: of_kind(d, "ClusterRoleBinding")[0]["subjects"][0].update(name="default"), "binds somebody else"),
    ("UsersReadSecrets", check_rights,
     lambda d: of_name(d, "Role", "prefetchd-fleet")["rules"][0]["resources"].append("secrets"), "lets users list secrets"),
    ("UsersWriteByTheProxy", check_rights,
     lambda d: of_name(d, "Role", "prefetchd-fleet")["rules"][1]["verbs"].append("create"), "create pods/proxy"),
    ("UsersRequestAnyToken", check_rights,
     lambda d: of_name(d, "Role", "prefetchd-fleet")["rules"][2].pop("resourceNames"), "tokens of any account"),
    ("FleetAccountWithARight", check_rights,
     lambda d: of_name(d, "ClusterRoleBinding", "prefetchd-node-reader")["subjects"].append(
         {"kind": "ServiceAccount", "name": "prefetchd-fleet", "namespace": "prefetchd"}), "fleet's account a right"),
    ("TokenOfAnAccountThatIsNotThere", check_names,
     lambda d: of_name(d, "Role", "prefetchd-fleet")["rules"][2].update(resourceNames=["prefetchd-fleet-x"]),
     "is referred to and is not there"),
    ("TokenNotMounted", check_rights, lambda d: pod(d).update(automountServiceAccountToken=False), "a token is mounted"),
    ("NoPolicy", check_write_limits, drop_kind("ValidatingAdmissionPolicy"), "no policy limits"),
    ("NoPolicyForPods", check_write_limits,
     lambda d: d.remove(of_name(d, "ValidatingAdmissionPolicy", "prefetchd-touch")), "writes to pods"),
    ("PodsAnywhere", check_rights, grant("pods", "create"), "elsewhere than in prefetchd-touch"),
    ("ListOfPods", check_rights, lambda d: of_kind(d, "Role")[0]["rules"][0]["verbs"].append("list"), "may list pods"),
    ("TouchNotRestricted", check_names,
     lambda d: of_name(d, "Namespace", "prefetchd-touch")["metadata"]["labels"].update(
         {"pod-security.kubernetes.io/enforce": "baseline"}), "does not enforce the level restricted"),
    ("ConfigMapInTouch", check_names,
     lambda d: of_kind(d, "ConfigMap")[0]["metadata"].update(namespace="prefetchd-touch"), "has no business"),
    ("OtherCommandThanTheTouch", lambda d: check_touch_words(d),
     lambda d: of_name(d, "ValidatingAdmissionPolicy", "prefetchd-touch")["spec"]["validations"][-1].update(
         expression="c.command == ['/bin/sh']"), "kTouchCommand is /prefetchd/none"),
    ("PolicyNotBound", check_write_limits, drop_kind("ValidatingAdmissionPolicyBinding"), "no policy limits"),
    ("PolicyThatWarns", check_write_limits,
     lambda d: of_name(d, "ValidatingAdmissionPolicyBinding", "prefetchd-touch")["spec"].update(validationActions=["Warn"]),
     "no policy limits"),
    ("PolicyThatIgnores", check_write_limits,
     lambda d: of_name(d, "ValidatingAdmissionPolicy", "prefetchd-touch")["spec"].update(failurePolicy="Ignore"),
     "no policy limits"),
    ("PolicyWithoutItsImages", check_names,
     lambda d: of_name(d, "ValidatingAdmissionPolicyBinding", "prefetchd-policy")["spec"]["paramRef"]["selector"].update(
         matchLabels={"a": "b"}), "a policy selects 0 ConfigMaps"),
    ("PolicyOfAnotherNamespace", check_names,
     lambda d: of_name(d, "ValidatingAdmissionPolicyBinding", "prefetchd-policy")["spec"]["paramRef"].update(namespace="x"),
     "a policy selects 0 ConfigMaps in x"),
    ("PolicyForAnother", check_write_limits,
     lambda d: of_name(d, "ServiceAccount", "prefetchd")["metadata"].update(name="fetcher"), "no policy limits"),
    ("ProbeOfNoPort", check_service, lambda d: agent(d)["livenessProbe"]["httpGet"].update(port="health"), "no port health"),
    ("ServiceOfOthers", check_service,
     lambda d: of_kind(d, "Service")[0]["spec"].update(selector={"app": "x"}), "Service: selects other pods"),
    ("ServiceNotLocal", check_service,
     lambda d: of_kind(d, "Service")[0]["spec"].update(internalTrafficPolicy="Cluster"), "internalTrafficPolicy"),
    ("NotTolerated", check_scheduling, lambda d: pod(d)["tolerations"].append({"key": "gpu"}), "tolerate"),
    ("VirtualNodes", check_scheduling,
     lambda d: pod(d)["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
         "nodeSelectorTerms"][0]["matchExpressions"].pop(), "fargate"),
    ("OtherNamespace", check_names, lambda d: of_kind(d, "Service")[0]["metadata"].update(namespace="default"), "default"),
    ("ConfigMapGone", check_names, drop_kind("ConfigMap"), "referred to and is not there"),
    ("PriorityGone", check_names, drop_kind("PriorityClass"), "referred to and is not there"),
    ("ListMayChange", check_list, lambda d: lists_of(d)[0].pop("immutable"), "not immutable"),
    ("PathNotMounted", check_paths, lambda d: agent(d)["args"].append("--docker-config=/root/.docker/config.json"),
     "nothing is mounted there"),
    ("ContainerdsConfigurationNotMounted", check_paths,
     lambda d: mount_of(d, "containerd-config").update(mountPath="/etc/mirrors"),
     "nothing is mounted there"),
    ("ContainerdsConfigurationNotNamed", lambda d: check_platform(d, "generic"),
     lambda d: agent(d)["args"].remove("--registry-containerd-config=/etc/containerd/config.toml"),
     "containerd's configuration is None"),
    ("MirrorsDeclaredBesideIt", lambda d: check_platform(d, "generic"),
     lambda d: agent(d)["args"].append("--registry-config-path=/etc/containerd/certs.d"), "declared mirrors is"),
    ("ContainerdsConfigurationDemanded", lambda d: check_platform(d, "generic"),
     lambda d: volume_of(d, "containerd-config")["hostPath"].update(type="Directory"), "a node may be without it"),
    ("RegistriesConfNotMounted", check_paths,
     lambda d: agent(d)["args"].append("--registries-conf=/etc/containers/registries.conf"),
     "nothing is mounted there"),
    ("ArgTwice", check_paths, lambda d: agent(d)["args"].append("--log-format=plain"), "is there twice"),
    ("KubeletConfigNotFound", check_kubelet_config,
     lambda d: mount_of(d, "kubelet-config").update(mountPath="/opt/kubelet.yaml"), "no configuration of kubelet"),
    ("UnknownMetric", check_metrics,
     lambda d: first_alert(d).update(expr="prefetchd_images > 0"),
     "no metric prefetchd_images"),
    ("UnknownLabel", check_metrics,
     lambda d: first_alert(d).update(
         expr='sum by (image) (prefetchd_ready{state="x"})'), "no label image"),
    ("BadRule", check_rules,
     lambda d: first_alert(d).update(expr="sum(prefetchd_ready"),
     "parse"),
    ("AlertTooLate", lambda d: check_alert(d, FIRES[0]),
     lambda d: first_alert(d).update({"for": "45m"}), "FAILED"),
    ("AlertTooEarly", lambda d: check_alert(d, FIRES[0]),
     lambda d: first_alert(d).update({"for": "5m"}), "FAILED"),
    ("AlertForNothing", lambda d: check_quiet(d, GOOD),
     lambda d: first_alert(d).update(expr="prefetchd_ready == 1"),
     "FAILED"),
    ("LabelThatNobodyWrites", check_gate_words,
     lambda d: of_kind(d, "PrometheusRule")[0]["spec"]["groups"][1]["rules"][1].update(
         expr='kube_node_labels{label_prefetchd_dev_ready="ready"}'), "no alert on label_prefetchd_dev_prefetchd"),
    ("UnknownFlag", check_running, lambda d: agent(d)["args"].append("--prefetch-harder=yes"), "prefetch-harder"),
    ("ProbeOfNothing", check_running, lambda d: agent(d)["livenessProbe"]["httpGet"].update(path="/healthz"),
     "/healthz answers 404"),
    ("BrokenList", check_running, lambda d: lists_of(d)[0]["data"].update({"images.yaml": "images: {}"}), "is not valid"),
    ("BrokenConfiguration", check_running,
     lambda d: [one["data"].update({"agent.yaml": "kind: Agent"}) for one in of_kind(d, "ConfigMap")
                if "agent.yaml" in one["data"]],
     "does not start"),
    ("ValueThatNobodySays", check_values, lambda d: first_alert(d).update(
        expr='prefetchd_readiness_info{phase="Broken"} > 0'), "phase is never 'Broken'"),
    ("OtherWordsThanTheGate", check_gate_words,
     lambda d: of_name(d, "ValidatingAdmissionPolicy", "prefetchd-node-gate")["spec"]["validations"][2].update(
         expression="k.startsWith('example.org/')"), "kLabelPrefix"),
]


# The provider's file, and what its plugin is given as an argument.
OPENSHIFT_CLOUDS = {"openshift-aws": ("ecr-credential-provider.yaml", []),
                    "openshift-azure": ("acr-credential-provider.yaml", ["/etc/kubernetes/cloud.conf"]),
                    "openshift-gcp": ("gcr-credential-provider.yaml", [])}


def check_openshift_cloud(documents, name):
    """As machine-config-operator starts kubelet there (pkg/controller/template/render.go: credentialProviderConfigFlag)."""
    file, more = OPENSHIFT_CLOUDS[name]
    wanted = {"--image-credential-provider-config": "/etc/kubernetes/credential-providers/" + file,
              "--image-credential-provider-bin-dir": "/usr/libexec/kubelet-image-credential-provider-plugins"}
    given, mounts = flags(documents), [mount["mountPath"] for mount in agent(documents)["volumeMounts"]]
    (constraints,) = of_kind(documents, "SecurityContextConstraints")
    return ([f"{flag} is {given.get(flag)}" for flag, value in wanted.items() if given.get(flag) != value] +
            [f"{path} is not mounted" for path in more if path not in mounts] +
            [f"{field} is not allowed" for field in ("allowHostNetwork", "allowHostPorts")
             if pod(documents).get("hostNetwork") and not constraints[field]])


def check_no_api_access(documents):
    """No right in the cluster, no token, and nothing that asks."""
    rights = [one["metadata"]["name"] for one in of_kind(documents, "ClusterRole") + of_kind(documents, "ClusterRoleBinding")
              if one["metadata"]["name"] != "prefetchd-scc"]
    asks = [one["name"] for one in agent(documents)["env"] if one["name"] == "PREFETCHD_KUBE_API"]
    return rights + asks + (["a token is mounted"] if pod(documents)["automountServiceAccountToken"] else [])


# What kustomizations of people do to all names; each has broken a reference before.
RENAMINGS = {"suffix": "nameSuffix: -a", "prefix": "namePrefix: acme-", "namespace": "namespace: other", "both": "namespace: other\nnameSuffix: -a"}


def renamed(line):
    return render(f"{line}\nresources: [deploy/overlays/openshift]\n"
                  "components: [deploy/components/node-gate, deploy/components/monitoring, deploy/components/policy]")


def with_touch(components):
    """An agent with these components, and the namespace in which touch pods are made."""
    return render("resources: [deploy/overlays/generic, deploy/touch]\n"
                  f"components: [{', '.join('deploy/components/' + one for one in components)}]")


def none(problems):
    assert not problems, "\n".join(problems)


def finds(problems, part):
    assert any(part in problem for problem in problems), f"nothing says {part!r}: {problems}"


def add_rendering(cases, name, documents, live_reload=False, namespace_was_changed=False):
    for check in [check_shapes, check_paths, check_kubelet_config, *CHECKS]:
        cases.add(name, check.__name__.removeprefix("check_"), lambda check=check: none(check(documents())))
    cases.add(name, "names", lambda: none(check_names(documents(), namespace_was_changed)))
    cases.add(name, "list", lambda: none(check_list(documents(), live_reload)))
    cases.add(name, "list_text", lambda: none(check_list_text(documents())))
    cases.add(name, "running", lambda: none(check_running(documents())))


def once(function, *arguments):
    """A rendering that is made when the first case needs it."""
    kept = []

    def get():
        if not kept:
            kept.append(function(*arguments))
        return kept[0]
    return get


def touch_daemon_set():
    """What `generate touch-daemonset` prints."""
    return generate(["generate", "touch-daemonset", "--list", "images.txt"], {"images.txt": "quay.io/acme/runner:v3\nbusybox\n"}, ())


def write_all(folder):
    """Every rendering, a file each, for tests/admission."""
    os.makedirs(folder, exist_ok=True)

    def write(_, name, documents, **_more):
        with open(os.path.join(folder, re.sub(r"[^A-Za-z0-9_.+-]", "_", name) + ".yaml"), "w", encoding="utf-8") as out:
            yaml.safe_dump_all(documents(), out)

    add_all(Cases("no case is called so"), write)
    write(None, "touch", lambda: render("resources: [deploy/touch]"))
    write(None, "touch-daemonset", touch_daemon_set)


def add_all(cases, add_rendering):
    cases.add("overlays", "are_all_in_the_table", lambda: none(sorted(set(OVERLAYS) ^ set(PLATFORMS))))
    for name in OVERLAYS:
        alone = once(overlay, name)
        add_rendering(cases, name, alone)
        cases.add(name, "platform", lambda name=name, alone=alone: none(check_platform(alone(), name)))
        cases.add(name, "version", lambda alone=alone: none(check_version(alone())))
        cases.add(name, "may_read_nodes_only", lambda name=name, alone=alone: none(
            [f"{rule}" for role in of_kind(alone(), "ClusterRole") for rule in role["rules"]
             if role["metadata"]["name"] != "prefetchd-scc"
             and rule != {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]))
        cases.add(name, "no_api_access", lambda name=name: none(check_no_api_access(overlay(name, ["no-api-access"]))))
        cases.add(name, "strategy", lambda name=name, alone=alone: none(
            check_strategy(alone(), "100%" if name == "kind" else "10%")))
        add_rendering(cases, f"{name}+all", once(overlay, name, TOGETHER), live_reload=True)
    for name, line in RENAMINGS.items():
        add_rendering(cases, f"openshift:{name}", once(renamed, line), namespace_was_changed="namespace" in line)
    for component in OF_OPENSHIFT:
        on_cloud = once(overlay, "openshift", [component])
        add_rendering(cases, f"openshift+{component}", on_cloud)
        cases.add(f"openshift+{component}", "cloud", lambda component=component, on_cloud=on_cloud: none(
            check_openshift_cloud(on_cloud(), component)))
    for component in COMPONENTS:
        add_rendering(cases, f"generic+{component}", once(overlay, "generic", [component]),
                      live_reload=component == "live-reload")
    full = once(overlay, "generic", TOGETHER)
    touched = once(with_touch, [one for one in TOGETHER if one != "live-reload"])
    add_rendering(cases, "generic+touch+namespace", touched)
    cases.add("ephemeral", "strategy", lambda: none(check_strategy(full(), "100%")))
    cases.add("monitoring", "metrics", lambda: none(check_metrics(full())))
    cases.add("monitoring", "values", lambda: none(check_values(full())))
    cases.add("monitoring", "rules", lambda: none(check_rules(full())))
    for number, row in enumerate(FIRES):
        cases.add("alerts", f"{row[0]}/{number}", lambda row=row: none(check_alert(full(), row)))
    cases.add("alerts", "none_where_all_is_well", lambda: none(check_quiet(full(), GOOD)))
    cases.add("alerts", "none_outside_a_pull_window", lambda: none(check_quiet(full(), OUTSIDE_WINDOW)))
    cases.add("alerts", "same_on_gke", lambda: none(check_same_on_gke(full(), overlay("gke", ["monitoring-gke"]))))
    cases.add("alerts", "all_are_tried", lambda: none(check_all_alerts_are_tried(full())))
    cases.add("node-gate", "words", lambda: none(check_gate_words(full())))
    cases.add("touch", "daemonset", lambda: none(check_touch_daemon_set()))
    cases.add("touch", "words", lambda: none(check_touch_words(touched())))
    cases.add("node-gate", "grants_what_is_called", lambda: none(
        [f"nothing grants {verbs} {resource}" for (group, resource), verbs in RIGHTS.items() if group == "" and not any(
            resource in rule["resources"] and verbs <= set(rule["verbs"])
            for role in of_kind(touched(), "ClusterRole") + of_kind(touched(), "Role") for rule in role["rules"])]))
    everywhere = once(lambda: {name: overlay(name) for name in OVERLAYS})
    cases.add("node", "every_overlay_has_nodes", lambda: none(sorted(set(OVERLAYS) ^ {one for names in NODES
                                                                                  for one in names.split()})))
    add_nodes(cases, lambda name: everywhere()[name], printed, none)
    for check in (check_networks, check_mirrors, check_ca_bundles, check_kubelet_facts):
        cases.add("guide", check.__name__.removeprefix("check_"), lambda check=check: none(check(everywhere())))
    cases.add("guide", "components", lambda: none(check_components()))
    (of_ci,) = [text for where, text in guide_examples() if where.startswith("deploy/docs/node-pools.md:One list")]
    of_web = of_ci.replace("-ci", "-web").replace("nodepool: ci", "nodepool: web")
    cases.add("node-pools", "side_by_side", lambda: none(check_side_by_side(
        {"ci": render_example(of_ci), "web": render_example(of_web)})))
    cases.add("node-pools", "side_by_side_generated", lambda: none(check_side_by_side(
        {given[given.index("--instance") + 1]: printed(given) for given in shown_commands()
         if "cloud.google.com/gke-nodepool" in " ".join(given)})))
    for where, text in guide_examples():
        documents = once(render_example, text)
        add_rendering(cases, where, documents, live_reload="components/live-reload" in text,
                      namespace_was_changed="\nnamespace:" in text)
    with open(os.path.join(os.environ["PREFETCH_TESTDATA"], "deploy-second-instance.yaml"), encoding="utf-8") as file:
        second = file.read()
    cases.add("generate", "second_instance_as_by_hand", lambda: none(check_second_instance(render_example(second))))
    cases.add("guide", "has_examples", lambda: none([] if len(guide_examples()) >= 7 else ["too few"]))
    cases.add("teams", "a_pull_secret_by_name", lambda: none(check_pull_secret()))
    cases.add("install", "talos", lambda: none(check_talos()))
    cases.add("registries", "proxies_without_kustomize", lambda: none(check_proxies()))
    cases.add("watch", "the_alert_of_an_instance_by_name", lambda: none(check_label_stale()))
    add_dockerfile(cases, none, finds)
    add_generated(cases, add_rendering, none)
    add_compat(cases, add_rendering, check_platform, none)
    for name, check, change, part in PLANTS:
        cases.add("planted", name,
                  lambda check=check, change=change, part=part: finds(check(plant(change)(touched())), part))


def main(argv):
    if argv[1:2] == ["--write"]:
        return write_all(argv[2])
    cases = Cases(argv[1] if len(argv) > 1 else "")
    add_all(cases, add_rendering)
    return cases.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv))
