"""Manifests as kustomize makes them."""

import functools
import os
import shutil
import subprocess
import tempfile

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(ROOT, "deploy")
OVERLAYS = sorted(os.listdir(os.path.join(DEPLOY, "overlays")))
# Of no-api-access and these, a kustomization takes one.
NEED_API = {"fleet", "kubelet-api", "node-gate", "preflight", "touch"}
ALL_COMPONENTS = sorted(one for one in os.listdir(os.path.join(DEPLOY, "components"))
                        if os.path.exists(os.path.join(DEPLOY, "components", one, "kustomization.yaml")))
# For that overlay only; a kustomization takes one.
OF_OPENSHIFT = [one for one in ALL_COMPONENTS if one.startswith("openshift-")]
COMPONENTS = [one for one in ALL_COMPONENTS if one not in OF_OPENSHIFT]
# Of each of these, a kustomization takes one.
ALTERNATIVES = [{"monitoring", "monitoring-gke"}]
# All that go together.
TOGETHER = [one for one in COMPONENTS if one not in ("no-api-access", "monitoring-gke")]


def go_together(components):
    return (("no-api-access" not in components or not NEED_API & set(components))
            and all(len(some & set(components)) <= 1 for some in ALTERNATIVES))


def kustomize():
    fetched = os.path.join(ROOT, "build-tools/kustomize/usr/bin/kustomize")  # by tests/run
    found = fetched if os.path.exists(fetched) else shutil.which("kustomize")
    if not found:
        raise RuntimeError("there is no kustomize: run tests/run --setup")
    return found


def documents_of(text):
    """Read by libyaml: the reader in Python takes ten times as long, and there are thousands of renderings."""
    return [document for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document]


def built(folder):
    # Threads beside it are busy with garbage, which costs a sixth more.
    result = subprocess.run([kustomize(), "build", folder], capture_output=True, text=True, env={**os.environ, "GOMAXPROCS": "1"})
    if result.returncode != 0:
        raise RuntimeError(f"kustomize build: {result.stderr}")
    if result.stderr:
        raise RuntimeError(f"kustomize warns: {result.stderr}")
    return result.stdout


def build(folder):
    return documents_of(built(folder))


@functools.cache
def rendered(files):
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(DEPLOY, os.path.join(folder, "deploy"))
        for name, text in files:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(text)
        return built(folder)


def render(kustomization, files=None):
    """Renders a user's own kustomization; it names our folders as deploy/…; `files` lie beside it. The same is rendered
    once."""
    return documents_of(rendered(tuple({**(files or {}), "kustomization.yaml": kustomization}.items())))


def overlay(name, components=(), parts=()):
    lines = [f"resources: [deploy/overlays/{name}]"]
    added = ["deploy/components/" + one for one in components] + ["deploy/parts/" + one for one in parts]
    lines += [f"components: [{', '.join(added)}]"] if added else []
    return render("\n".join(lines))


def of_kind(documents, kind):
    return [document for document in documents if document["kind"] == kind]


def daemon_set(documents):
    (one,) = of_kind(documents, "DaemonSet")
    return one


def pod(documents):
    return daemon_set(documents)["spec"]["template"]["spec"]


def agent(documents):
    (container,) = pod(documents)["containers"]
    return container


def flags(documents):
    """The agent's args as {flag: value}; a switch has none. A flag that is there twice is told by check_paths."""
    return {flag: value for flag, _, value in (arg.partition("=") for arg in agent(documents)["args"])}
