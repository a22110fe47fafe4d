"""What no manifest of ours may ask for, and what each must say. Every function takes the documents of one rendering and
returns problems, a sentence each."""

import re

from render import agent, daemon_set, of_kind, pod
from shapes import CLUSTER_WIDE, NAMESPACED, name_of

RUN_FOLDER = re.compile(r"/run/prefetchd(-[a-z0-9-]+)?")
# Mounted elsewhere than on the host: the one would hide the container's own, the other one's place differs by distribution.
ELSEWHERE = {"/proc": "/host/proc",
             "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem": "/etc/ssl/certs/ca-certificates.crt",
             "/etc/pki/tls/certs/ca-bundle.crt": "/etc/ssl/certs/ca-certificates.crt"}
# Far more than what is needed; below some of them are secrets of all pods.
TOO_WIDE = {"/", "/etc", "/etc/kubernetes", "/home", "/home/kubernetes", "/run", "/usr", "/var", "/var/lib",
            "/var/lib/kubelet", "/var/run"}
# All that the code calls, in all components.
RIGHTS = {("", "nodes"): {"get", "patch"}, ("", "nodes/status"): {"patch"}, ("", "events"): {"create", "patch"},
          ("", "pods"): {"create", "get", "delete"}, ("", "nodes/configz"): {"get"}, ("", "nodes/metrics"): {"get"},
          ("authentication.k8s.io", "tokenreviews"): {"create"},
          ("security.openshift.io", "securitycontextconstraints"): {"use"}}
# Users of prefetchctl --fleet, and all that it calls for them.
PEOPLE = "prefetchd-fleet-viewers"
RIGHTS_OF_PEOPLE = {("", "nodes"): {"list"}, ("", "pods"): {"list"}, ("", "pods/proxy"): {"get"},
                    ("", "serviceaccounts/token"): {"create"}}
# Where touch pods are made: the only namespace in which the agent may make any.
TOUCH = "prefetchd-touch"
IN_TOUCH = {"ServiceAccount", "ResourceQuota", "NetworkPolicy", "Role", "RoleBinding"}
HIGHEST_PRIORITY_OF_USERS = 1_000_000_000


def of_agent(documents, kind):
    """Objects of the agent's own namespace."""
    return [one for one in of_kind(documents, kind)
            if TOUCH not in (one["metadata"].get("namespace"), one["metadata"]["name"])]


def check_containers(documents):
    spec, problems = pod(documents), []
    for container in spec.get("initContainers", []) + spec["containers"]:
        name, security = container["name"], container.get("securityContext", {})
        demands = {"privileged": False, "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                   "capabilities": {"drop": ["ALL"]}}
        problems += [f"{name}: securityContext.{field} is {security.get(field)}, not {value}"
                     for field, value in demands.items() if security.get(field) != value]
        resources = container.get("resources", {})
        problems += [f"{name}: has no memory limit"] if "memory" not in resources.get("limits", {}) else []
        problems += [f"{name}: requests no {what}" for what in ("cpu", "memory")
                     if what not in resources.get("requests", {})]
    if spec.get("securityContext", {}).get("seccompProfile") != {"type": "RuntimeDefault"}:
        problems.append("seccompProfile is not RuntimeDefault")
    return problems + [f"{field} is set" for field in ("hostPID", "hostIPC") if spec.get(field)]


def check_host_paths(documents):
    problems = []
    mounts = {mount["name"]: mount for mount in agent(documents)["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod(documents)["volumes"]}
    problems += [f"{name}: is mounted and is no volume" for name in mounts.keys() - volumes.keys()]
    problems += [f"{name}: is a volume and is not mounted" for name in volumes.keys() - mounts.keys()]
    for name in mounts.keys() & volumes.keys():
        mount, host = mounts[name], volumes[name].get("hostPath")
        if host is None:
            continue
        path = host["path"]
        if not mount.get("readOnly") and not RUN_FOLDER.fullmatch(path):
            problems.append(f"{path}: can be written to")
        if mount["mountPath"] != ELSEWHERE.get(path, path):
            problems.append(f"{path}: is mounted at {mount['mountPath']}")
        if path in TOO_WIDE:
            problems.append(f"{path}: is more than is needed")
        if path.endswith(".sock"):
            problems.append(f"{path}: a socket is mounted by its folder, since a runtime that starts anew makes a new one")
        if mount.get("mountPropagation") == "Bidirectional":
            problems.append(f"{path}: mounts of the container would reach the host")
    return problems


def is_of_people(subject):
    return (subject["kind"], subject["name"], subject.get("namespace")) == ("Group", PEOPLE, None)


def roles_of_people(documents):
    """Names of the roles that are bound to users alone."""
    bindings = of_kind(documents, "RoleBinding") + of_kind(documents, "ClusterRoleBinding")
    bound = {f"{one['roleRef']['kind']}/{one['roleRef']['name']}" for one in bindings
             if any(map(is_of_people, one["subjects"]))}
    return bound - {f"{one['roleRef']['kind']}/{one['roleRef']['name']}" for one in bindings
                    if not all(map(is_of_people, one["subjects"]))}


def check_rights_of_people(role):
    """Only of the agents' own namespace, but for the names of nodes; tokens of one account that can do nothing else."""
    problems, kind = [], role["kind"]
    for rule in role["rules"]:
        for resource in rule["resources"]:
            extra = set(rule["verbs"]) - RIGHTS_OF_PEOPLE.get((rule["apiGroups"][0], resource), set())
            problems += [f"{name_of(role)}: lets users {verb} {resource}" for verb in sorted(extra)]
            if (resource == "nodes") != (kind == "ClusterRole"):
                problems.append(f"{name_of(role)}: {resource} is not for a {kind}")
            names = rule.get("resourceNames", [])
            if resource == "serviceaccounts/token" and (len(names) != 1 or "prefetchd-fleet" not in names[0]):
                problems.append(f"{name_of(role)}: lets users request tokens of any account")
    return problems


def check_rights(documents):
    problems, people = [], roles_of_people(documents)
    roles = of_kind(documents, "Role") + of_kind(documents, "ClusterRole")
    for role in roles:
        if name_of(role) in people:
            problems += check_rights_of_people(role)
            continue
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    extra = set(rule["verbs"]) - RIGHTS.get((group, resource), set())
                    if resource == "pods" and (role["kind"], role["metadata"].get("namespace")) != ("Role", TOUCH):
                        problems.append(f"{name_of(role)}: may do things with pods elsewhere than in {TOUCH}")
                    problems += [f"{name_of(role)}: may {verb} {resource}, which no code of ours does"
                                 for verb in sorted(extra)]
    bindings = of_kind(documents, "RoleBinding") + of_kind(documents, "ClusterRoleBinding")
    bound = {f"{one['roleRef']['kind']}/{one['roleRef']['name']}" for one in bindings}
    there = {name_of(role) for role in roles}
    problems += [f"{role}: is bound, and is not ours" for role in sorted(bound - there)]
    problems += [f"{role}: is bound to nobody" for role in sorted(there - bound)]
    us = {(one["metadata"]["name"], one["metadata"]["namespace"]) for one in of_kind(documents, "ServiceAccount")}
    for one in bindings:
        problems += [f"{name_of(one)}: binds somebody else" for who in one["subjects"]
                     if (who["name"], who.get("namespace")) not in us and not is_of_people(who)]
    # Whoever holds such a token may do nothing but read the agents' status.
    problems += [f"{name_of(one)}: gives the fleet's account a right" for one in bindings for who in one["subjects"]
                 if who["kind"] == "ServiceAccount" and "prefetchd-fleet" in who["name"]]
    has_rights = bool(of_kind(documents, "ClusterRoleBinding"))
    if pod(documents)["automountServiceAccountToken"] != has_rights:
        problems.append("a token is mounted exactly where there are rights to use it for")
    return problems


def check_write_limits(documents):
    """Whoever may patch nodes or make pods is limited by an admission policy, whatever the namespace and the instance are.
    A TokenReview is a question and changes nothing."""
    (account,) = [one for one in of_agent(documents, "ServiceAccount")
                  if "prefetchd-fleet" not in one["metadata"]["name"]]
    user = f"system:serviceaccount:{account['metadata']['namespace']}:{account['metadata']['name']}"
    people = roles_of_people(documents)
    roles = [one for one in of_kind(documents, "ClusterRole") + of_kind(documents, "Role") if name_of(one) not in people]
    written = {resource.split("/")[0] for role in roles for rule in role["rules"] for resource in rule["resources"]
               if {"patch", "create", "delete"} & set(rule["verbs"])} - {"tokenreviews"}
    bound = {one["spec"]["policyName"] for one in of_kind(documents, "ValidatingAdmissionPolicyBinding")
             if one["spec"]["validationActions"] == ["Deny"] and "matchResources" not in one["spec"]}
    limited = set()
    for policy in of_kind(documents, "ValidatingAdmissionPolicy"):
        (condition,) = policy["spec"]["matchConditions"]
        pattern = re.fullmatch(r"request\.userInfo\.username\.matches\('(.*)'\)", condition["expression"])
        named = condition["expression"] == f"request.userInfo.username == '{user}'"
        # One with parameters is about those alone.
        if policy["spec"]["failurePolicy"] == "Fail" and (named or (pattern and re.search(pattern[1], user))) and policy["metadata"]["name"] in bound and (
                "paramKind" not in policy["spec"]):
            limited |= {resource for rule in policy["spec"]["matchConstraints"]["resourceRules"]
                        for resource in rule["resources"]}
    return [f"no policy limits what {user} writes to {resource}" for resource in sorted(written - limited)]


def check_names(documents, namespace_was_changed=False):
    """All is in one namespace, and what is referred to is there."""
    problems = []
    (space,) = of_agent(documents, "Namespace")
    touch = [one for one in of_kind(documents, "Namespace") if one["metadata"]["name"] == TOUCH]
    problems += [f"{TOUCH}: does not enforce the level restricted" for one in touch
                 if one["metadata"]["labels"].get("pod-security.kubernetes.io/enforce") != "restricted"]
    if space["metadata"].get("labels", {}).get("pod-security.kubernetes.io/enforce") != "privileged":
        problems.append("the namespace does not allow host paths")
    for document in documents:
        kind = (document["apiVersion"], document["kind"])
        is_in = document["metadata"].get("namespace")
        if is_in == TOUCH:
            problems += [] if touch and kind[1] in IN_TOUCH else [f"{name_of(document)}: has no business in {TOUCH}"]
        elif kind in NAMESPACED and is_in != space["metadata"]["name"]:
            problems.append(f"{name_of(document)}: is in the namespace {is_in}")
        # kustomize 5.6 does not know all kinds that have none and gives them one; the API server drops it.
        if kind in CLUSTER_WIDE and is_in is not None and not namespace_was_changed:
            problems.append(f"{name_of(document)}: has a namespace")
    there = {name_of(document) for document in documents}
    wanted = [f"PriorityClass/{pod(documents)['priorityClassName']}",
              f"ServiceAccount/{pod(documents)['serviceAccountName']}"]
    for volume in pod(documents)["volumes"]:
        for source in [volume, *volume.get("projected", {}).get("sources", [])]:
            if "configMap" in source and not source["configMap"].get("optional"):
                wanted.append(f"ConfigMap/{source['configMap']['name']}")
    for role in of_kind(documents, "ClusterRole"):
        wanted += [f"SecurityContextConstraints/{name}" for rule in role["rules"] for name in rule.get("resourceNames", [])]
    for ref in [one["spec"]["paramRef"] for one in of_kind(documents, "ValidatingAdmissionPolicyBinding")
                if "namespace" in one["spec"].get("paramRef", {})]:
        selected = [one for one in of_kind(documents, "ConfigMap") if one["metadata"]["namespace"] == ref["namespace"]
                    and ref["selector"]["matchLabels"].items() <= one["metadata"].get("labels", {}).items()]
        problems += [] if len(selected) == 1 else [f"a policy selects {len(selected)} ConfigMaps in {ref['namespace']}"]
    for role in of_agent(documents, "Role"):
        wanted += [f"ServiceAccount/{name}" for rule in role["rules"] if "serviceaccounts/token" in rule["resources"]
                   for name in rule.get("resourceNames", [])]
    return problems + [f"{name}: is referred to and is not there" for name in wanted if name not in there]


def check_service(documents):
    """Service, probes, network policy and scraping all mean the agent's one port."""
    problems, labels = [], daemon_set(documents)["spec"]["template"]["metadata"]["labels"]
    ports = {port["name"]: port["containerPort"] for port in agent(documents)["ports"]}
    (service,) = of_kind(documents, "Service")
    (policy,) = of_agent(documents, "NetworkPolicy")
    selectors = {"Service": service["spec"]["selector"], "NetworkPolicy": policy["spec"]["podSelector"]["matchLabels"],
                 "DaemonSet": daemon_set(documents)["spec"]["selector"]["matchLabels"]}
    used = {"Service": [port["targetPort"] for port in service["spec"]["ports"]],
            "NetworkPolicy": [port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]]}
    for monitor in of_kind(documents, "PodMonitor"):
        selectors["PodMonitor"] = monitor["spec"]["selector"]["matchLabels"]
        used["PodMonitor"] = [end["port"] for end in monitor["spec"]["podMetricsEndpoints"]]
    for monitor in of_kind(documents, "PodMonitoring"):
        selectors["PodMonitoring"] = monitor["spec"]["selector"]["matchLabels"]
        used["PodMonitoring"] = [end["port"] for end in monitor["spec"]["endpoints"]]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        used[probe] = [agent(documents)[probe]["httpGet"]["port"]] if probe in agent(documents) else ["none"]
    problems += [f"{who}: selects other pods" for who, chosen in selectors.items()
                 if not chosen or not chosen.items() <= labels.items()]
    problems += [f"{who}: there is no port {port}" for who, named in used.items() for port in named if port not in ports]
    # A node that is not ready any more is told within seconds, and once is enough; a slow one is not killed for it.
    readiness = agent(documents).get("readinessProbe", {})
    problems += [f"readinessProbe: {field} is {readiness.get(field)}, not {value}" for field, value in
                 {"periodSeconds": 2, "failureThreshold": 1}.items() if readiness.get(field) != value]
    problems += [f"Service: {field} is not {value}" for field, value in
                 {"internalTrafficPolicy": "Local", "publishNotReadyAddresses": True}.items()
                 if service["spec"].get(field) != value]
    return problems


def check_scheduling(documents):
    """On Linux nodes that have a runtime of their own, whatever their taints are, above workloads and below the system."""
    spec, problems = pod(documents), []
    if spec.get("nodeSelector", {}).get("kubernetes.io/os") != "linux":
        problems.append("is not bound to Linux nodes")
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    for term in terms:  # each by itself lets a node in
        kept_off = {(one["key"], value) for one in term["matchExpressions"]
                    if one["operator"] == "NotIn" for value in one["values"]}
        problems += [f"may come to nodes with {key}={value}" for key, value in
                     [("type", "virtual-kubelet"), ("eks.amazonaws.com/compute-type", "fargate")]
                     if (key, value) not in kept_off]
    if spec.get("tolerations") != [{"operator": "Exists"}]:
        problems.append("does not tolerate every taint")
    problems += [f"{name_of(one)}: is above what users may ask for" for one in of_kind(documents, "PriorityClass")
                 if one["value"] > HIGHEST_PRIORITY_OF_USERS]
    if "maxUnavailable" not in daemon_set(documents)["spec"]["updateStrategy"].get("rollingUpdate", {}):
        problems.append("how many nodes a bad list may reach is not said")
    return problems


def lists_of(documents):
    """The ConfigMaps that are mounted as the list, one of which is ours."""
    (name,) = [one["name"] for one in agent(documents)["volumeMounts"] if one["mountPath"] == "/etc/prefetchd/lists"]
    (volume,) = [one for one in pod(documents)["volumes"] if one["name"] == name]
    names = [one["configMap"]["name"] for one in [volume, *volume.get("projected", {}).get("sources", [])]
             if "configMap" in one]
    return [one for one in of_kind(documents, "ConfigMap") if one["metadata"]["name"] in names]


def check_list(documents, live_reload=False):
    problems = [] if lists_of(documents) else ["there is no list"]
    for config in lists_of(documents):
        name = config["metadata"]["name"]
        hashed = re.fullmatch(r"(.+-)?prefetchd-list(-.+)?-[a-z0-9]{10}", name) is not None
        if live_reload:
            problems += [f"{name}: is reloaded, so its name must stay"] if hashed else []
            problems += [f"{name}: is reloaded, so it must not be immutable"] if config.get("immutable") else []
        else:
            problems += [] if hashed else [f"{name}: has no hash, so a change would not roll the DaemonSet"]
            problems += [] if config.get("immutable") else [f"{name}: is not immutable"]
    return problems


CHECKS = [check_containers, check_host_paths, check_rights, check_write_limits, check_service, check_scheduling]
