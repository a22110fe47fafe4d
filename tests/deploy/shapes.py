"""The fields of the kinds that we ship, as Kubernetes' API reference has them; only those that we mean to use.

An API server may drop a field that it does not know, or fail only when the manifest is applied. Here any field that is not
in the tables, has another type or is missing is a problem.
"""


class Text:
    """A string, one of `allowed` if there are any."""

    def __init__(self, *allowed):
        self.allowed = allowed


class Map:
    """Free keys; values of one shape."""

    def __init__(self, of):
        self.of = of


class Either:
    def __init__(self, *types):
        self.types = types


STRING = Text()
INT_OR_TEXT = Either(int, str)
TEXTS = [STRING]
LABELS = Map(STRING)
# A name with ! is required.
META = {"name!": STRING, "namespace": STRING, "labels": LABELS, "annotations": LABELS}
SELECTOR = {"matchLabels": LABELS}
PROBE = {"httpGet!": {"path!": STRING, "port!": INT_OR_TEXT}, "periodSeconds": int, "timeoutSeconds": int,
         "failureThreshold": int}
EXPRESSION = {"key!": STRING, "operator!": Text("In", "NotIn", "Exists", "DoesNotExist"), "values": TEXTS}
SE_LINUX = {"type": STRING, "level": STRING, "user": STRING, "role": STRING}
SECCOMP = {"type!": Text("RuntimeDefault", "Localhost", "Unconfined")}

CONTAINER = {
    "name!": STRING, "image!": STRING, "imagePullPolicy": Text("Always", "IfNotPresent", "Never"), "command": TEXTS,
    "args": TEXTS,
    "env": [{"name!": STRING, "value": STRING, "valueFrom": {"fieldRef": {"fieldPath!": STRING}}}],
    "envFrom": [{"configMapRef": {"name!": STRING, "optional": bool}}],
    "ports": [{"name!": STRING, "containerPort!": int, "hostPort": int, "protocol": Text("TCP")}],
    "startupProbe": PROBE, "livenessProbe": PROBE, "readinessProbe": PROBE,
    "resources": {"requests": Map(STRING), "limits": Map(STRING)},
    "securityContext": {"runAsUser": int, "runAsGroup": int, "allowPrivilegeEscalation": bool, "privileged": bool,
                        "readOnlyRootFilesystem": bool, "capabilities": {"add": TEXTS, "drop": TEXTS}},
    "volumeMounts": [{"name!": STRING, "mountPath!": STRING, "readOnly": bool, "subPath": STRING,
                      "mountPropagation": Text("None", "HostToContainer", "Bidirectional")}],
}

POD = {
    "serviceAccountName!": STRING, "automountServiceAccountToken": bool, "enableServiceLinks": bool,
    "priorityClassName": STRING, "dnsPolicy": Text("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "hostNetwork": bool, "hostPID": bool, "hostIPC": bool, "terminationGracePeriodSeconds": int,
    "nodeSelector": LABELS,
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms!": [{"matchExpressions": [EXPRESSION]}]}}},
    "tolerations": [{"key": STRING, "operator": Text("Exists", "Equal"), "value": STRING, "effect": STRING}],
    "securityContext": {"seccompProfile": SECCOMP, "seLinuxOptions": SE_LINUX, "runAsNonRoot": bool, "runAsUser": int,
                        "runAsGroup": int},
    "imagePullSecrets": [{"name!": STRING}], "initContainers": [CONTAINER], "containers!": [CONTAINER],
    "volumes": [{"name!": STRING,
                 "configMap": {"name!": STRING, "optional": bool},
                 "secret": {"secretName!": STRING},
                 "projected": {"sources!": [{"configMap": {"name!": STRING, "optional": bool}}]},
                 "hostPath": {"path!": STRING,
                              "type!": Text("Directory", "DirectoryOrCreate", "File", "Socket")}}],
}

RULES = [{"apiGroups!": TEXTS, "resources!": TEXTS, "verbs!": TEXTS, "resourceNames": TEXTS}]
SUBJECTS = [{"kind!": Text("ServiceAccount", "Group"), "name!": STRING, "namespace": STRING,
             "apiGroup": Text("rbac.authorization.k8s.io")}]


def binding(role):
    return {"metadata!": META, "subjects!": SUBJECTS,
            "roleRef!": {"apiGroup!": Text("rbac.authorization.k8s.io"), "kind!": Text(*role), "name!": STRING}}


STRATEGY = {"type!": Text("RunAsAny", "MustRunAs", "MustRunAsRange"), "seLinuxOptions": SE_LINUX}
EXPRESSIONS = [{"name!": STRING, "expression!": STRING}]

# An alert, or a recording rule: promtool takes no rule that is neither, or both (check_rules).
ALERTS = [{"alert": STRING, "record": STRING, "expr!": STRING, "for": STRING, "labels": LABELS, "annotations": LABELS}]

NAMESPACED = {
    ("v1", "ServiceAccount"): {"metadata!": META, "automountServiceAccountToken": bool},
    ("v1", "ConfigMap"): {"metadata!": META, "data": Map(STRING), "immutable": bool},
    ("v1", "Service"): {"metadata!": META, "spec!": {
        "type": Text("ClusterIP"), "internalTrafficPolicy": Text("Cluster", "Local"), "publishNotReadyAddresses": bool,
        "selector!": LABELS,
        "ports!": [{"name": STRING, "port!": int, "targetPort": INT_OR_TEXT, "protocol": Text("TCP")}]}},
    ("apps/v1", "DaemonSet"): {"metadata!": META, "spec!": {
        "selector!": SELECTOR, "revisionHistoryLimit": int, "minReadySeconds": int,
        "updateStrategy": {"type!": Text("RollingUpdate", "OnDelete"),
                           "rollingUpdate": {"maxUnavailable": INT_OR_TEXT, "maxSurge": INT_OR_TEXT}},
        "template!": {"metadata!": {"labels!": LABELS, "annotations": LABELS}, "spec!": POD}}},
    ("networking.k8s.io/v1", "NetworkPolicy"): {"metadata!": META, "spec!": {
        "podSelector!": SELECTOR, "policyTypes": [Text("Ingress", "Egress")],
        "ingress": [{"ports": [{"port": INT_OR_TEXT, "protocol": Text("TCP")}]}]}},
    ("rbac.authorization.k8s.io/v1", "Role"): {"metadata!": META, "rules!": RULES},
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): binding(["Role", "ClusterRole"]),
    ("v1", "ResourceQuota"): {"metadata!": META, "spec!": {"hard!": Map(STRING)}},
    ("monitoring.coreos.com/v1", "PodMonitor"): {"metadata!": META, "spec!": {
        "selector!": SELECTOR,
        "podMetricsEndpoints!": [{"port!": STRING, "path": STRING, "interval": STRING,
                                  "relabelings": [{"sourceLabels": TEXTS, "targetLabel": STRING}]}]}},
    ("monitoring.coreos.com/v1", "PrometheusRule"): {"metadata!": META, "spec!": {
        "groups!": [{"name!": STRING, "rules!": ALERTS}]}},
    ("monitoring.googleapis.com/v1", "PodMonitoring"): {"metadata!": META, "spec!": {
        "selector!": SELECTOR, "endpoints!": [{"port!": STRING, "path": STRING, "interval!": STRING}],
        "targetLabels": {"metadata": [Text("container", "node", "pod")]}}},
}

CLUSTER_WIDE = {
    ("v1", "Namespace"): {"metadata!": META},
    ("monitoring.googleapis.com/v1", "ClusterRules"): {"metadata!": META, "spec!": {
        "groups!": [{"name!": STRING, "interval!": STRING, "rules!": ALERTS}]}},
    ("scheduling.k8s.io/v1", "PriorityClass"): {
        "metadata!": META, "value!": int, "description": STRING, "globalDefault": bool,
        "preemptionPolicy": Text("Never", "PreemptLowerPriority")},
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): {"metadata!": META, "rules!": RULES},
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): binding(["ClusterRole"]),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): {"metadata!": META, "spec!": {
        "failurePolicy!": Text("Fail", "Ignore"), "paramKind": {"apiVersion!": STRING, "kind!": STRING},
        "matchConstraints!": {"resourceRules!": [{
            "apiGroups!": TEXTS, "apiVersions!": TEXTS, "resources!": TEXTS,
            "operations!": [Text("CREATE", "UPDATE", "DELETE", "CONNECT")]}]},
        "matchConditions": EXPRESSIONS, "variables": EXPRESSIONS,
        "validations!": [{"expression!": STRING, "message!": STRING, "messageExpression": STRING}]}},
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"): {"metadata!": META, "spec!": {
        "policyName!": STRING, "validationActions!": [Text("Warn", "Audit", "Deny")],
        "paramRef": {"selector!": Either(dict), "namespace": STRING, "parameterNotFoundAction!": Text("Allow", "Deny")},
        "matchResources": {"namespaceSelector!": {"matchLabels!": LABELS, "matchExpressions": [EXPRESSION]}}}},
    ("security.openshift.io/v1", "SecurityContextConstraints"): {
        "metadata!": META, "priority": Either(int, type(None)), "allowHostDirVolumePlugin!": bool,
        "allowHostIPC!": bool, "allowHostNetwork!": bool, "allowHostPID!": bool, "allowHostPorts!": bool,
        "allowPrivilegeEscalation!": bool, "allowPrivilegedContainer!": bool, "allowedCapabilities!": TEXTS,
        "defaultAddCapabilities!": TEXTS, "requiredDropCapabilities!": TEXTS, "readOnlyRootFilesystem!": bool,
        "runAsUser!": STRATEGY, "seLinuxContext!": STRATEGY, "fsGroup!": STRATEGY, "supplementalGroups!": STRATEGY,
        "seccompProfiles!": TEXTS, "volumes!": TEXTS, "users!": TEXTS, "groups!": TEXTS},
}


def name_of(document):
    return f"{document.get('kind')}/{(document.get('metadata') or {}).get('name')}"


def compare(value, shape, path):
    """Problems of one value, a sentence each."""
    if isinstance(shape, Text):
        if not isinstance(value, str):
            return [f"{path}: is no string: {value!r}"]
        return [] if not shape.allowed or value in shape.allowed else [f"{path}: {value!r} is none of {shape.allowed}"]
    if isinstance(shape, Either):
        return [] if type(value) in shape.types else [f"{path}: has type {type(value).__name__}"]
    if isinstance(shape, type):
        return [] if type(value) is shape else [f"{path}: has type {type(value).__name__}, not {shape.__name__}"]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{path}: is no list"]
        return [p for i, item in enumerate(value) for p in compare(item, shape[0], f"{path}[{i}]")]
    if not isinstance(value, dict):
        return [f"{path}: is no object"]
    if isinstance(shape, Map):
        return [p for key, item in value.items() for p in compare(item, shape.of, f"{path}[{key}]")]
    fields = {key.rstrip("!"): of for key, of in shape.items()}
    problems = [f"{path}.{key[:-1]}: is missing" for key in shape if key.endswith("!") and key[:-1] not in value]
    for key, item in value.items():
        problems += compare(item, fields[key], f"{path}.{key}") if key in fields else [f"{path}.{key}: is no field"]
    return problems


def check_shapes(documents):
    problems, seen = [], set()
    for document in documents:
        kind = (document.get("apiVersion"), document.get("kind"))
        name = name_of(document)
        shape = NAMESPACED.get(kind) or CLUSTER_WIDE.get(kind)
        if shape is None:
            problems.append(f"{name}: no such kind is shipped")
            continue
        body = {key: value for key, value in document.items() if key not in ("apiVersion", "kind")}
        problems += compare(body, shape, name)
        if name in seen:
            problems.append(f"{name}: is there twice")
        seen.add(name)
    return problems
