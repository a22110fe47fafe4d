#!/usr/bin/python3
"""Compares how this product reads other programs' files with how these programs read them.

compare.py [FAMILY…]

For each family below, both readers get every file of its corpus and 10,000 mutations of these files, and every file of
its folder in tests/judges/corpus/cases, as it is. They must read the same, or both refuse. differences.txt has what is
meant to differ: there, this product refuses what the authority reads.
From the environment: JUDGE (tests/judges/*.go), JUDGE_KUBECTL (tests/judges/kubectl), OURS (tests/judges/*.cc), PREFETCH_JUDGE_SEEDS (1; each makes 10,000
mutations more), PREFETCH_JUDGE_LOGS (folder for the texts that are read otherwise).
"""

import collections
import concurrent.futures
import contextlib
import glob
import io
import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import challenge_mutations
import crio_mutations
import kube_mutations
import kubelet_mutations
import manifest_mutations
import mutations
import name_mutations
import plugin_mutations
import pull_mutations
import registries_mutations
import toml_mutations

GENERATED = 10_000
SHOWN = int(os.environ.get("PREFETCH_JUDGE_SHOWN", "5"))

# name; the commands' arguments; files of the corpus, by patterns below the source tree; how one is mutated; the
# variable that names the judge.
Family = collections.namedtuple("Family", "name judge ours corpus mutate program", defaults=["JUDGE"])
# For families that read files, a folder of its own for each; in memory, since each text becomes a file.
SCRATCH = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


def hosts(name, release, ours, registry):
    folder = os.path.join(SCRATCH.name, name, registry)
    os.makedirs(folder)
    corpus = ["tests/judges/corpus/hosts/*"]
    return Family(name, ["hosts", release, registry, folder], ["hosts", ours, registry, folder], corpus, toml_mutations.toml)


def containerd():
    folder = os.path.join(SCRATCH.name, "containerd")
    os.makedirs(folder)
    corpus = ["tests/judges/corpus/containerd/*"]
    return Family("containerd-2.1", ["containerd", folder], ["containerd", folder], corpus, toml_mutations.containerd)


def of_json(name, mutate=mutations.json):
    return Family(name, [name], [name], [f"tests/judges/corpus/{name}/*"], mutate)


def kubeconfig():
    folder = os.path.join(SCRATCH.name, "kubeconfig")
    os.makedirs(os.path.join(folder, "folder"))
    for name in ("ca.crt", "tls.crt", "tls.key", "token", "empty"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(f" {name}\n" if name != "empty" else "\n")
    corpus = ["tests/judges/corpus/kubeconfig/*"]
    return Family("kubeconfig", ["kubeconfig", folder], ["kubeconfig", folder], corpus, kube_mutations.kubeconfig)


def plugins(name, *arguments):
    family = "-".join([name, *arguments[:1]])
    folder = os.path.join(SCRATCH.name, family)
    os.makedirs(folder)
    corpus = {"provider-config": "provider"}.get(name, name)
    command = [name, *arguments, folder]
    return Family(family, command, command, [f"tests/judges/corpus/{corpus}/*"], plugin_mutations.answer)


def crio(name, mutate):
    folder = os.path.join(SCRATCH.name, name)
    os.makedirs(folder)
    return Family(name, [name, folder], [name, folder], [f"tests/judges/corpus/{name}/*"], mutate)


def kubelet_config(release):
    corpus = ["tests/judges/corpus/kubelet/*", "tests/judges/corpus/kubelet-config/*", "tests/testdata/kubelet/node/config.yaml"]
    command = ["kubelet-config", release]
    return Family(f"kubelet-config-{release}", command, command, corpus, kubelet_mutations.config)


PULL = ["pull"]
YAML_FILES = [f"tests/judges/corpus/{folder}/*" for folder in ("kubelet", "provider", "manifests")]
MANIFESTS = ["tests/judges/corpus/manifests/*"]
FAMILIES = [
    of_json("docker", crio_mutations.auth),
    of_json("token"),
    Family("reference", ["reference"], ["reference"], ["tests/judges/corpus/reference/*"], name_mutations.reference),
    Family("challenge", ["challenge"], ["challenge"], ["tests/judges/corpus/challenge/*"], challenge_mutations.challenge),
    hosts("hosts-2.1", "2", "2.1.9", "quay.io"),
    hosts("hosts-2.1-localhost", "2", "2.1.9", "localhost:5000"),
    hosts("hosts-1.7", "1", "1.7.24", "quay.io"),
    hosts("hosts-1.7-localhost", "1", "1.7.24", "localhost:5000"),
    containerd(),
    kubeconfig(),
    plugins("exec-answer", "v1"),
    plugins("provider-answer", "1.31", "v1"),
    plugins("provider-answer", "1.34", "v1"),
    plugins("provider-config", "1.31"),
    plugins("provider-config", "1.34"),
    # Both sides have one list of arguments, to which main() adds the address of the registry.
    Family("pull", PULL, PULL, ["tests/judges/corpus/pull/*"], pull_mutations.pull),
    crio("crio-auth", crio_mutations.auth),
    crio("crio-dockercfg", crio_mutations.auth),
    crio("registries-conf", registries_mutations.conf),
    kubelet_config("1.34"),
    kubelet_config("1.36"),
    of_json("json"),
    Family("yaml-last", ["yaml", "last"], ["yaml", "last"], YAML_FILES, mutations.yaml),
    Family("yaml-once", ["yaml", "once"], ["yaml", "once"], YAML_FILES, mutations.yaml),
    Family("manifests", ["manifests"], ["manifests"], MANIFESTS, manifest_mutations.manifest, "JUDGE_KUBECTL"),
]

# A deliberate difference: a family, patterns of our refusal and of the authority's answer, and the reason.
Difference = collections.namedtuple("Difference", "family ours authority reason")


def read_differences():
    rows = []
    with open(os.path.join(HERE, "differences.txt"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                family, ours, authority, reason = (part.strip() for part in line.split(" | "))
                rows.append(Difference(re.compile(family), re.compile(ours), re.compile(authority), reason))
    return rows


def normal(value):
    """Numbers beyond 64 bits are floats for Go. How many U+FFFD stand for bytes that are no UTF-8 is not compared."""
    if isinstance(value, str):
        return re.sub("\ufffd+", "\ufffd", value)
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [normal(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return float(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    return value


def answers(command, frames):
    """One answer for each text: (error, value)."""
    done = subprocess.run(command, input=frames, stdout=subprocess.PIPE, check=True)
    read = (json.loads(line) for line in done.stdout.decode("utf-8", "surrogateescape").split("\n") if line)
    return [(answer.get("error", ""), normal(answer.get("value"))) for answer in read]


def files_of(patterns):
    """The texts of these files below the source tree, and their names."""
    paths = sorted(path for pattern in patterns for path in glob.glob(os.path.join(HERE, "../..", pattern)))
    texts = []
    for path in paths:
        with open(path, "rb") as file:
            texts.append(file.read())
    return texts, [os.path.basename(path) for path in paths]


class Comparison:
    def __init__(self, differences):
        self.differences = differences
        self.used = set()
        self.passed = self.failed = self.accepted = 0
        self.logs = os.environ.get("PREFETCH_JUDGE_LOGS", tempfile.gettempdir())

    def deliberate(self, family, authority, ours):
        for row in self.differences:
            if (
                ours[0]
                and row.family.fullmatch(family)
                and row.ours.search(ours[0])
                and row.authority.search(authority[0] or json.dumps(authority[1]))
            ):
                self.used.add(row)
                return True
        return False

    def read_otherwise(self, family, texts):
        """The indices of texts that both read otherwise, with the answers, and how many of others are meant to be."""
        frames = b"".join(b"%d\n" % len(text) + text for text in texts)
        with concurrent.futures.ThreadPoolExecutor() as both:
            authority = both.submit(answers, [os.environ[family.program], *family.judge], frames)
            # Most families write each text into one file, so that they take turns.
            if family.name != "pull":
                authority.result()
            ours = answers([os.environ["OURS"], *family.ours], frames)
            authority = authority.result()
        assert len(authority) == len(ours) == len(texts), f"{len(authority)} {len(ours)} {len(texts)}"
        found, meant = [], 0
        self.accepted += sum(not one[0] for one in authority)
        for index, (one, other) in enumerate(zip(authority, ours)):
            if bool(one[0]) == bool(other[0]) and (one[0] or one[1] == other[1]):
                continue
            if self.deliberate(family.name, one, other):
                meant += 1
            else:
                found.append((index, one, other))
        return found, meant

    def report(self, name, text, authority, ours):
        self.failed += 1
        path = os.path.join(self.logs, re.sub(r"[^A-Za-z0-9.-]", "_", name) + ".txt")
        with open(path, "wb") as file:
            file.write(text)
        print(f"FAILED {name}: {path}")
        print(f"  authority {json.dumps(authority)[:600]}  ours {json.dumps(ours)[:600]}")

    def run(self, family):
        seeds, names = files_of(family.corpus)
        assert seeds, f"{family.name} has no corpus"
        cases, more_names = files_of([pattern.replace("judges/corpus/", "judges/corpus/cases/") for pattern in family.corpus if "judges/corpus/" in pattern])
        texts, names = seeds + cases, names + more_names
        self.accepted = 0
        found, meant = self.read_otherwise(family, texts)
        self.passed += len(texts) - len(found)
        for index, authority, ours in found:
            self.report(f"{family.name} {names[index]}", texts[index], authority, ours)
        generated, disagreements = 0, len(found)
        for seed in range(1, int(os.environ.get("PREFETCH_JUDGE_SEEDS", "1")) + 1):
            chance = random.Random(f"{family.name} {seed}")
            texts = [family.mutate(chance, chance.choice(seeds), seeds) for _ in range(GENERATED)]
            found, more = self.read_otherwise(family, texts)
            generated += len(texts)
            meant += more
            disagreements += len(found)
            self.passed += not found
            for index, authority, ours in found[:SHOWN]:
                self.report(f"{family.name} seed {seed} text {index}", texts[index], authority, ours)
        print(
            f"{family.name}: {len(seeds) + len(cases)} files, {generated} generated, {self.accepted} accepted by the authority, "
            f"{disagreements} disagreements, {meant} deliberate differences",
            flush=True,
        )


def compare(index):
    """One family, in a process of its own: what is to be printed, the numbers, and the differences that were needed."""
    comparison = Comparison(read_differences())
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        comparison.run(FAMILIES[index])
    used = [number for number, row in enumerate(comparison.differences) if row in comparison.used]
    return printed.getvalue(), comparison.passed, comparison.failed, used


def main():
    chosen = [index for index, family in enumerate(FAMILIES) if not sys.argv[1:] or family.name in sys.argv[1:]]
    if any(FAMILIES[index].judge is PULL for index in chosen):
        # One registry for both sides. It ends with its standard input, and so with this program.
        server = subprocess.Popen([os.environ["JUDGE"], "registry"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        PULL.append(server.stdout.readline().strip())
        PULL.append(os.path.join(SCRATCH.name, "pull"))
    passed, failed, used = 0, 0, set()
    processors = len(os.sched_getaffinity(0))
    with concurrent.futures.ProcessPoolExecutor(processors, multiprocessing.get_context("fork")) as pool:
        for printed, good, bad, needed in pool.map(compare, chosen):
            print(printed, end="", flush=True)
            passed, failed, used = passed + good, failed + bad, used | set(needed)
    for number, row in enumerate(read_differences()):
        if len(chosen) == len(FAMILIES) and number not in used:
            failed += 1
            print(f"FAILED differences.txt: no text needs this row any more: {row.family.pattern} {row.ours.pattern}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
