"""What prefetchctl migrate image-prefetcher makes for those who come from stackrox/image-prefetcher: their names, their
ConfigMap, their Secret, and a label that means what it says."""

from generated import check_image_is_required, check_told, documents_of, run
from render import agent, daemon_set, of_kind, pod

NAME, NAMESPACE = "my-images", "prefetch-images"
GIVEN = [NAME, "--namespace", NAMESPACE]
# As `kubectl create configmap my-images --from-file=images.txt` made it, in a namespace that allows host paths.
THEIRS = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": NAMESPACE},
           "data": {"images.txt": "# ours\ndebian:latest\n\nquay.io/strimzi/kafka:latest-kafka-3.7.0\n"}},
          {"apiVersion": "v1", "kind": "Namespace",
           "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}]

# Every combination of their flags that changes what we print; the platform whose facts it has to have.
FLAVORS = {"vanilla": ([], "generic"), "ocp": (["--k8s-flavor", "ocp"], "openshift"),
           "gke": (["--k8s-flavor", "vanilla", "--use-kubelet-image-credential-integration", "GKE"], "gke"),
           "eks": (["--platform", "eks"], "eks"),
           "secret": (["--secret", "pull"], "generic"),
           "nodes": (["--node-selector", "pool=ci", "--include-control-plane"], "generic"),
           "narrow": (["--secret", "pull", "--secret-repository", "quay.io/acme"], "generic"),
           "label": (["--k8s-flavor", "ocp", "--secret", "pull", "--result-label", "--component", "monitoring"], "openshift")}


MIGRATE = ("migrate", "image-prefetcher")


def generate_compat(more):
    result = run(GIVEN + more, command=MIGRATE)
    assert result.returncode == 0, result.stderr
    return documents_of(result.stdout) + THEIRS


def check_their_names(documents):
    """`kubectl apply` over their DaemonSet, `rollout status daemonset my-images`, `logs -c prefetch` go on."""
    facts = {"name": (daemon_set(documents)["metadata"]["name"], NAME),
             "selector, which cannot be changed in place":
                 (daemon_set(documents)["spec"]["selector"], {"matchLabels": {"app": NAME}}),
             "label of the pods": (daemon_set(documents)["spec"]["template"]["metadata"]["labels"]["app"], NAME),
             "container": (agent(documents)["name"], "prefetch"),
             "list": ([one["configMap"] for one in pod(documents)["volumes"] if one["name"] == "list"], [{"name": NAME}]),
             "namespaces but theirs": (len(of_kind(documents, "Namespace")), 1),
             "lists but theirs": ([one["metadata"]["name"] for one in of_kind(documents, "ConfigMap")
                                   if "list" in one["metadata"]["name"]], [])}
    return [f"{fact}: {is_now}, not {wanted}" for fact, (is_now, wanted) in facts.items() if is_now != wanted]


def check_secret(documents, repositories):
    (config,) = [one["data"]["agent.yaml"] for one in of_kind(documents, "ConfigMap") if "agent.yaml" in one["data"]]
    volumes = [one["secret"] for one in pod(documents)["volumes"] if "secret" in one]
    if repositories is None:
        return ["a secret is used"] if volumes or "pullSecrets" in config else []
    wanted = f"allowRepositories: [{', '.join(repositories)}]"
    return ([] if volumes == [{"secretName": "pull"}] else [f"volumes: {volumes}"]) + (
        [] if wanted in config and "sources: [images.txt]" in config else [f"{wanted} is not in {config}"])


def check_label(documents, labelled):
    given = agent(documents)["args"]
    key = f"image-prefetcher.stackrox.io/{NAME}"
    if not labelled:
        return [arg for arg in given if arg.startswith(("--node-", "--startup-"))]
    policies = of_kind(documents, "ValidatingAdmissionPolicy")
    (policy,) = [one for one in policies if "nodes" in one["spec"]["matchConstraints"]["resourceRules"][0]["resources"]]
    (labels,) = [one["expression"] for one in policy["spec"]["validations"] if "oldLabels" in one["expression"]]
    problems = [] if labels.count(f"k == '{key}'") == 2 and "startsWith" not in labels else [f"the policy says {labels}"]
    asked = {"name": "PREFETCHD_NODE_RESULT_LABEL", "value": key} in agent(documents)["env"]
    problems += [] if asked else ["the label is not asked for"]
    return problems + [f"{arg} is given" for arg in given if arg in ("--node-label", "--node-condition", "--startup-taint")]


TOLD = [
    ("NoName", ["--namespace", "x"], 2, "NAME is required"),
    ("NoNamespace", [NAME], 2, "--namespace is required: where the ConfigMap"),
    ("Name", ["My_Images", "--namespace", "x"], 2, "NAME must be at most 50"),
    ("NameOfOurs", ["ci-prefetchd", "--namespace", "x"], 2, "NAME must not contain the word prefetchd"),
    ("Flavor", GIVEN + ["--k8s-flavor", "k3s"], 2, "--k8s-flavor"),
    ("List", GIVEN + ["--list", "images.yaml"], 2, "there is no option --list"),
    ("Gate", GIVEN + ["--component", "node-gate"], 2, "migrate takes neither node-gate"),
    ("Touch", GIVEN + ["--component", "touch"], 2, "migrate takes neither touch nor fleet"),
    ("Fleet", GIVEN + ["--component", "fleet"], 2, "migrate takes neither touch nor fleet"),
    ("Policy", GIVEN + ["--component", "policy"], 2, "migrate does not take policy"),
    ("RepositoryWithoutSecret", GIVEN + ["--secret-repository", "quay.io"], 2, "--secret-repository needs --secret"),
    ("Secret", GIVEN + ["--secret", "Pull_Secret"], 2, "--secret must be the name of a Secret"),
    ("RepositoryWithScheme", GIVEN + ["--secret", "x", "--secret-repository", "https://quay.io"], 2, "no agent would start"),
    ("RepositoryWithQuote", GIVEN + ["--secret", "x", "--secret-repository", 'a"b'], 2, "no agent would start"),
    ("ExposureIsSaid", GIVEN + ["--secret", "x"], 0, "every pod of the node can use its images"),
    ("NamespaceIsTheirs", GIVEN, 0, "pod-security.kubernetes.io/enforce=privileged"),
    ("NodeSelector", GIVEN + ["--node-selector", "pool"], 2, "--node-selector pool: must be KEY=VALUE"),
    ("PortOfTheNode", GIVEN + ["--platform", "eks"], 0, "give --port"),
]
def add_compat(cases, add_rendering, check_platform, none):
    for name, (more, platform) in FLAVORS.items():
        add_rendering(cases, f"compat:{name}", lambda more=more: generate_compat(more), live_reload=True)
        cases.add(f"compat:{name}", "their_names", lambda more=more: none(check_their_names(generate_compat(more))))
        cases.add(f"compat:{name}", "platform", lambda more=more, platform=platform: none(
            check_platform(generate_compat(more), platform)))
        cases.add(f"compat:{name}", "label", lambda more=more: none(
            check_label(generate_compat(more), "--result-label" in more)))
        every = ['"' + ".".join("*" * parts) + '"' for parts in range(2, 8)]
        repositories = None if "--secret" not in more else ['"quay.io/acme"'] if name == "narrow" else every
        cases.add(f"compat:{name}", "secret", lambda more=more, repositories=repositories: none(
            check_secret(generate_compat(more), repositories)))
    cases.add("compat", "NoImage", lambda: none(check_image_is_required([*MIGRATE, *GIVEN])))
    for name, given, code, words in TOLD:
        cases.add("compat_says", name, lambda given=given, code=code, words=words: none(
            check_told(given, None, code, words, MIGRATE)))
