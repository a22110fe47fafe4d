#!/usr/bin/python3
"""deploy/release/run, from a clone of this tree, into a registry that asks for a password; and what it has left there,
taken from there as users would.

release_test.py [TEXT]     only the cases whose names hold TEXT

Needs root, and from the environment: PREFETCH_SOURCE, PREFETCH_BUILD; PREFETCH_ARM64 (any value), to
build for arm64, too.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile

import yaml

sys.dont_write_bytecode = True  # the source tree stays as it is
SOURCE = os.environ["PREFETCH_SOURCE"]
sys.path[:0] = [os.path.join(SOURCE, "tests/deploy"), os.path.join(SOURCE, "tests/arm64")]

from cases import Cases
from node import Registry

VERSION, ARCHITECTURE = "0.1.0", subprocess.check_output(["dpkg", "--print-architecture"], text=True).strip()
USER, PASSWORD = "ann", "s3cr3t-release"
MACHINES = {"amd64": "X86-64", "arm64": "AArch64"}  # as readelf prints them
HELM = "application/vnd.cncf.helm."


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, **more)


def must(*words, **more):
    result = run(*words, **more)
    assert result.returncode == 0, result
    return result.stdout


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def write(text, *path, mode=0o644):
    with open(os.path.join(*path), "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(os.path.join(*path), mode)


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class World:
    """A clone, a registry, and one release into it."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.clone = os.path.join(scratch, "clone")
        os.makedirs(os.path.join(self.clone, "tests"))
        for name in ("deploy", "tests/packages", ".gitignore", "Dockerfile", "LICENSE", "meson.build"):
            copy = shutil.copytree if os.path.isdir(os.path.join(SOURCE, name)) else shutil.copy
            copy(os.path.join(SOURCE, name), os.path.join(self.clone, name))
        self.git("init", "--quiet")
        self.commit()
        write(must("htpasswd", "-nbB", USER, PASSWORD), scratch, "htpasswd")
        self.registry = Registry(scratch, auth={"htpasswd": {"realm": "test", "path": os.path.join(scratch, "htpasswd")}})
        must("skopeo", "login", "--tls-verify=false", "--username", USER, "--password-stdin", self.registry.host, input=PASSWORD,
             env=self.environment())
        # A program that only notes how it was called: Debian 12 has no cosign.
        os.mkdir(os.path.join(scratch, "bin"))
        write(f'#!/bin/sh\necho "$*" >>{scratch}/cosign.calls\n', scratch, "bin/cosign", mode=0o755)
        # The real program, and one that never ends by itself; both say when they build.
        os.mkfifo(os.path.join(scratch, "building"))
        for folder, goes_on in (("real", f'exec {shutil.which("buildah")} "$@"'), ("blocked", "tail -f /dev/null")):
            os.mkdir(os.path.join(scratch, folder))
            write(f'#!/bin/sh\ncase "$*" in *" build "*) echo yes >{scratch}/building; {goes_on} ;; esac\n', scratch, folder, "buildah",
                  mode=0o755)
        self.released = None

    def git(self, *words):
        return must("git", "-C", self.clone, "-c", "user.name=test", "-c", "user.email=test@example.test", *words)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "state")

    def environment(self, **more):
        kept = {key: value for key, value in os.environ.items() if key != "DOCKER_CONFIG"}
        return {**kept, "REGISTRY_AUTH_FILE": os.path.join(self.scratch, "auth.json"), **more}

    def with_programs(self, folder):
        return self.environment(PATH=os.path.join(self.scratch, folder) + ":" + os.environ["PATH"])

    def words(self, out, *more, path="acme", programs=None):
        return [os.path.join(self.clone, "deploy/release/run"), "--registry", f"{self.registry.host}/{path}", "--arch", ARCHITECTURE,
                "--programs", f"{ARCHITECTURE}={programs or os.environ['PREFETCH_BUILD']}", "--plain-http",
                "--out", os.path.join(self.scratch, out), *more]

    def run(self, *arguments, environment=None, **more):
        result = run(*self.words(*arguments, **more), env=environment or self.environment())
        assert PASSWORD not in result.stdout + result.stderr
        return result

    def release(self):
        """The folder of the release, which is made once."""
        if self.released is None:
            self.released = self.run("first")
        assert self.released.returncode == 0, self.released
        return os.path.join(self.scratch, "first")

    def image(self):
        return f"{self.registry.host}/acme/prefetchd:{VERSION}"

    def chart(self):
        return f"{self.registry.host}/acme/charts/prefetchd:{VERSION}"

    def skopeo(self, *words):
        return must("skopeo", *words, env=self.environment())

    def raw(self, reference):
        return self.skopeo("inspect", "--raw", "--tls-verify=false", f"docker://{reference}")


def layers_of(folder, root):
    """Unpacks the layers of the one image in an OCI layout, which have nothing to remove."""
    def blob(descriptor):
        return os.path.join(folder, "blobs", descriptor["digest"].replace(":", "/"))
    (manifest,) = json.loads(read(folder, "index.json"))["manifests"]
    os.mkdir(root)
    for layer in json.loads(read(blob(manifest)))["layers"]:
        must("tar", "-xzf", blob(layer), "-C", root)


def check_runs(root, name, path):
    assert must("/usr/sbin/chroot", root, path, "--version") == f"{name} {VERSION}\n"


def check_image(world):
    """By the index, for this machine's platform."""
    world.release()
    folder, root = os.path.join(world.scratch, "pulled"), os.path.join(world.scratch, "root")
    world.skopeo("--insecure-policy", "copy", "--src-tls-verify=false", f"docker://{world.image()}", f"oci:{folder}:pulled")
    layers_of(folder, root)
    for name in ("prefetchd", "prefetchctl"):
        check_runs(root, name, f"/usr/bin/{name}")
    assert "ID=debian\n" in read(root, "etc/os-release")
    assert "Version: " in read(root, "var/lib/dpkg/status.d/libssl3")


def check_index(world):
    world.release()
    text = world.raw(world.image())
    index = json.loads(text)
    assert index["mediaType"] == "application/vnd.oci.image.index.v1+json", index
    assert [(one["platform"]["os"], one["platform"]["architecture"]) for one in index["manifests"]] == [("linux", ARCHITECTURE)], index
    assert index["annotations"]["org.opencontainers.image.version"] == VERSION, index
    assert index["annotations"]["org.opencontainers.image.revision"] == world.git("rev-parse", "HEAD").strip(), index
    digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    assert f"image   {world.image()}@{digest}\n" in world.released.stdout, world.released


def check_archive(world):
    """For clusters without the registry: the same bytes."""
    archive = f"oci-archive:{world.release()}/prefetchd-{VERSION}-image.tar"
    assert world.skopeo("inspect", "--raw", archive) == world.raw(world.image())


def check_tarball(world):
    """On a machine that has nothing else."""
    root = os.path.join(world.scratch, "unpacked")
    os.mkdir(root)
    name = f"prefetchd-{VERSION}-linux-{ARCHITECTURE}"
    must("tar", "-xzf", os.path.join(world.release(), name + ".tar.gz"), "-C", root)
    assert os.listdir(root) == [name], os.listdir(root)
    for program in ("prefetchd", "prefetchctl"):
        check_runs(root, program, f"/{name}/{program}")


def check_sums(world):
    folder = world.release()
    must("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=folder)
    told = {line.split("  ")[1] for line in read(folder, "SHA256SUMS").splitlines()}
    assert told | {"SHA256SUMS"} == set(os.listdir(folder)), os.listdir(folder)
    assert told == {f"prefetchd-{VERSION}{end}" for end in ("-image.tar", f"-linux-{ARCHITECTURE}.tar.gz", ".spdx.json", ".tgz")}, told


def check_parts(world):
    """SPDX 2.3, with the versions that dpkg has on the machine that builds."""
    document = json.loads(read(world.release(), f"prefetchd-{VERSION}.spdx.json"))
    assert (document["spdxVersion"], document["dataLicense"], document["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT")
    assert re.fullmatch(r"https://\S+/[0-9a-f]{64}", document["documentNamespace"]), document["documentNamespace"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"]), document["creationInfo"]
    ids = [one["SPDXID"] for one in document["packages"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in ids), ids
    for one in document["packages"]:
        assert {"name", "versionInfo", "downloadLocation", "licenseDeclared"} <= one.keys(), one
    ends = {one[end] for one in document["relationships"] for end in ("spdxElementId", "relatedSpdxElement")}
    assert ends == {*ids, "SPDXRef-DOCUMENT"}, ends ^ {*ids, "SPDXRef-DOCUMENT"}
    # Nothing reads the licences of every file in a package, so the list declares only those of this project.
    declared = {one["name"]: one["licenseDeclared"] for one in document["packages"] if one["licenseDeclared"] != "NOASSERTION"}
    assert declared == {f"prefetchd ({ARCHITECTURE})": "Apache-2.0"}, declared
    there = {one["name"]: one for one in document["packages"]}
    assert there[world.image()]["checksums"][0]["checksumValue"] == hashlib.sha256(world.raw(world.image()).encode()).hexdigest()
    for name in ("libssl3", "libc6", "libgrpc++-dev", "ca-certificates"):
        version = must("dpkg-query", "-W", "-f", "${Version}", name)
        assert there[name]["versionInfo"] == version, there[name]
        (reference,) = there[name]["externalRefs"]
        assert reference["referenceLocator"].startswith(f"pkg:deb/debian/{name.replace('+', '%2B')}@"), reference
        assert re.search(r"\?arch=(all|amd64|arm64)&distro=debian-12$", reference["referenceLocator"]), reference


def without_version(path, text):
    """The lines of a release."""
    own = {"Chart.yaml": r"^(version|appVersion): .*$", "values.yaml": r"^image: .*$"}.get(path)
    return re.sub(own, "", text, flags=re.MULTILINE) if own else text


def files_of(package):
    with tarfile.open(package) as tar:
        return {one.name.removeprefix("prefetchd/"): tar.extractfile(one).read().decode() for one in tar if one.isfile()}


def check_chart(world):
    """As helm pull takes it."""
    package = os.path.join(world.release(), f"prefetchd-{VERSION}.tgz")
    folder = os.path.join(world.scratch, "chart")
    world.skopeo("--insecure-policy", "copy", "--src-tls-verify=false", f"docker://{world.chart()}", f"dir:{folder}")
    manifest = json.loads(read(folder, "manifest.json"))
    (layer,) = manifest["layers"]
    assert (manifest["config"]["mediaType"], layer["mediaType"]) == (HELM + "config.v1+json", HELM + "chart.content.v1.tar+gzip")
    content, config = (os.path.join(folder, one["digest"].partition(":")[2]) for one in (layer, manifest["config"]))
    assert sha256(content) == sha256(package)
    files = files_of(content)
    metadata = yaml.safe_load(files["Chart.yaml"])
    assert (metadata["name"], metadata["version"], metadata["appVersion"]) == ("prefetchd", VERSION, VERSION), metadata
    assert json.loads(read(config)) == metadata
    assert yaml.safe_load(files["values.yaml"])["image"] == world.image()
    chart = os.path.join(world.clone, "deploy/chart")
    tracked = must("git", "ls-files", "deploy/chart", cwd=world.clone).split()
    source = {one.removeprefix("deploy/chart/") for one in tracked} - {".helmignore"}
    assert files.keys() == source, files.keys() ^ source
    for path, text in files.items():
        assert without_version(path, text) == without_version(path, read(chart, path)), path


def check_again(world):
    """Over the release that is there: the same bytes, and with cosign on the PATH signatures of all of them."""
    first = world.release()
    sums, before = read(first, "SHA256SUMS"), set(os.listdir(world.scratch))
    write("", first, "prefetchd-of-before")
    for tag in (world.chart(), world.image()):  # both tags are the image of one platform, and get their own content again
        world.skopeo("--insecure-policy", "copy", "--src-tls-verify=false", "--dest-tls-verify=false", f"docker://{world.image()}",
                     f"docker://{tag}")
    must("chmod", "-R", "go=", os.path.join(world.clone, "deploy/chart"))
    result = world.run("first", "--force", "--sign-key", "release.key", environment=world.with_programs("bin"))
    assert result.returncode == 0 and read(first, "SHA256SUMS") == sums, result
    assert set(os.listdir(world.scratch)) == before | {"cosign.calls"} and "prefetchd-of-before" not in os.listdir(first), os.listdir(world.scratch)
    digests = re.findall(r"@(sha256:\w+)", result.stdout)
    assert digests == re.findall(r"@(sha256:\w+)", world.released.stdout), result
    blob, image, chart = read(world.scratch, "cosign.calls").splitlines()
    assert blob.startswith("sign-blob --yes --key release.key --bundle ") and blob.endswith("/SHA256SUMS"), blob
    assert image.startswith("sign --yes --key release.key ") and image.endswith(f"/acme/prefetchd@{digests[0]}"), image
    (chart_digest,) = re.findall(r"/acme/charts/prefetchd@(sha256:[0-9a-f]{64})$", chart)
    for reference, digest in ((world.image(), digests[0]), (world.chart(), chart_digest)):
        assert "sha256:" + hashlib.sha256(world.raw(reference).encode()).hexdigest() == digest, reference


def check_built(world, *architectures):
    """Programs that the release builds itself, of a small source for every architecture that it has by default."""
    write("project('prefetchd', 'cpp',\n  version: '0.1.0',\n)\nsubdir('cmd/prefetchd')\nsubdir('cmd/prefetchctl')\n",
          world.clone, "meson.build")
    write("option('tests', type: 'boolean', value: true)\n", world.clone, "meson_options.txt")
    for name in ("prefetchd", "prefetchctl"):
        folder = os.path.join(world.clone, "cmd", name)
        os.makedirs(folder)
        write(f"executable('{name}', 'main.cc')\n", folder, "meson.build")
        write(f'#include <cstdio>\nint main() {{ std::puts("{name} {VERSION}"); }}\n', folder, "main.cc")
    world.commit()
    try:
        result = run(os.path.join(world.clone, "deploy/release/run"), "--registry", "registry.example/acme", "--no-push",
                     *[word for one in architectures for word in ("--arch", one)], env=world.environment())
        assert result.returncode == 0, result
    finally:
        world.git("reset", "--quiet", "--hard", "HEAD~1")
    place = os.path.join(world.clone, "build-release")
    assert os.listdir(place) == [VERSION] and world.git("status", "--porcelain") == "", os.listdir(place)
    start = os.path.join(place, VERSION, f"prefetchd-{VERSION}")
    index = json.loads(must("skopeo", "inspect", "--raw", f"oci-archive:{start}-image.tar"))
    architectures = architectures or tuple(MACHINES)
    assert [one["platform"]["architecture"] for one in index["manifests"]] == list(architectures), index
    names = {one["name"] for one in json.loads(read(f"{start}.spdx.json"))["packages"]}
    for one in architectures:
        assert f"prefetchd ({one})" in names, names
        must("tar", "-xzf", f"{start}-linux-{one}.tar.gz", "-C", place)
        for path in ("prefetchctl", "root/usr/bin/prefetchctl"):
            assert MACHINES[one] in must("readelf", "--file-header", os.path.join(place, f"prefetchd-{VERSION}-linux-{one}", path)), path


def check_setup():
    """The command of the pages; the step arm64 of tests/run has installed all that a release needs."""
    assert must(os.path.join(SOURCE, "tests/run"), "--setup", "release") == ""


def check_refused(world, told, *more, code=2, **options):
    """With a sentence, and without anything left."""
    before = set(os.listdir(world.scratch))
    result = world.run("refused", *more, **options)
    assert result.returncode == code, result
    assert re.fullmatch(r"deploy/release/run: [^\n]+\n", result.stderr) and told in result.stderr, result
    assert set(os.listdir(world.scratch)) == before, os.listdir(world.scratch)
    return result


def check_same_version(world):
    world.release()
    check_refused(world, "acme/prefetchd:0.1.0 exists: take a new version, or replace it with --force")


def check_same_folder(world):
    world.release()
    result = world.run("first", path="other")
    assert result.returncode == 2 and "first exists: remove it" in result.stderr, result


def check_other_folder(world):
    """--force keeps files that no release has made: in a folder of other things, and beside those of a release."""
    mixed = shutil.copytree(world.release(), os.path.join(world.scratch, "mixed"))
    write("", mixed, "notes")
    for folder in (world.clone, mixed):
        kept = set(os.listdir(folder))
        result = run(*world.words("."), "--force", "--out", ".", cwd=folder, env=world.environment())
        assert result.returncode == 2 and f"{folder} is no release, or has other files: " in result.stderr, result
        assert set(os.listdir(folder)) == kept, os.listdir(folder)


def check_dirty(world):
    path = os.path.join(world.clone, "left-over")
    write("", path)
    try:
        check_refused(world, "changes that are not committed (left-over)")
    finally:
        os.remove(path)


def check_older_programs(world):
    """Programs that were built before the version was raised."""
    meson = os.path.join(world.clone, "meson.build")
    before = read(meson)
    write(before.replace("version: '0.1.0',", "version: '0.2.0-rc.1',"), meson)
    world.commit()
    try:
        check_refused(world, "says prefetchd 0.1.0, not prefetchd 0.2.0-rc.1", code=1)
    finally:
        write(before, meson)
        world.git("reset", "--quiet", "--hard", "HEAD~1")


def check_password_missing(world):
    result = check_refused(world, "the registry does not say whether it exists", path="new",
                           environment=world.environment(REGISTRY_AUTH_FILE=os.path.join(world.scratch, "no-such-file")))
    assert result.stderr.endswith("; if this is its first release, give --force\n"), result


def check_password_in_option(world):
    result = run(os.path.join(world.clone, "deploy/release/run"), "--registry", f"{USER}:{PASSWORD}@{world.registry.host}/acme")
    assert result.returncode == 2 and "skopeo login" in result.stderr and PASSWORD not in result.stderr, result


def check_interrupted(world, number, programs):
    """While the image is built: nothing is left, here, in the registry, or running."""
    before = set(os.listdir(world.scratch))
    process = subprocess.Popen(world.words("stopped", path="stopped"), env=world.with_programs(programs),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert read(world.scratch, "building") == "yes\n"
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + number and "nothing is left" in told, (process.returncode, told)
    assert set(os.listdir(world.scratch)) == before, os.listdir(world.scratch)
    assert run("pgrep", "-f", f"/[.]stopped[.]{process.pid}[.]partial/").returncode == 1
    found = run("skopeo", "inspect", "--tls-verify=false", f"docker://{world.registry.host}/stopped/prefetchd:{VERSION}",
                env=world.environment())
    assert "unknown" in found.stderr, found


def shown():
    """Commands of deploy/release/run in pages, the workflow, and its own help."""
    texts = [must(os.path.join(SOURCE, "deploy/release/run"), "--help")]
    texts += [read(SOURCE, path) for path in (".github/workflows/release.yml", "README.md", "CONTRIBUTING.md", "deploy/docs/install.md")]
    lines = "\n".join(texts).replace("\\\n", " ").splitlines()
    return [line.partition("deploy/release/run")[2].partition(")")[0] for line in lines if "deploy/release/run --" in line]


def check_shown():
    options = must(os.path.join(SOURCE, "deploy/release/run"), "--help").partition("\noptions:\n")[2]
    commands = shown()
    assert len(commands) >= 6, commands
    for command in commands:
        unknown = [one for one in re.findall(r"--[a-z-]+", command) if f" {one}" not in options]
        assert not unknown, command


def check_workflow():
    workflow = yaml.safe_load(read(SOURCE, ".github/workflows/release.yml"))
    triggers = workflow[True]  # YAML 1.1 reads `on` as a boolean
    assert triggers == {"push": {"tags": ["v*"]}}, triggers
    rights = workflow["jobs"]["release"]["permissions"]
    assert rights == {"contents": "read", "packages": "write", "id-token": "write"}, rights
    for name, job in workflow["jobs"].items():
        for step in job["steps"]:
            assert "uses" not in step or re.search(r"@v\d+", step["uses"]), (name, step)
            for word in re.findall(r"\$\{\{(.*?)\}\}", step.get("run", "")):
                raise AssertionError(f"{name}: {word} in a script: pass it by an environment variable")
            result = run("bash", "-n", input=step.get("run", ""))
            assert result.returncode == 0, (step, result)


def main():
    cases = Cases(sys.argv[1] if len(sys.argv) > 1 else "")
    with tempfile.TemporaryDirectory() as scratch:
        world = World(scratch)
        try:
            for name, number, programs in (("ctrl_c", signal.SIGINT, "real"), ("terminated", signal.SIGTERM, "blocked")):
                cases.add("release.interrupted", name,
                          lambda number=number, programs=programs: check_interrupted(world, number, programs))
            for check in (check_index, check_image, check_archive, check_tarball, check_sums, check_parts, check_chart, check_again):
                cases.add("release", check.__name__.removeprefix("check_"), lambda check=check: check(world))
            for check in (check_same_version, check_same_folder, check_other_folder, check_dirty, check_older_programs, check_password_missing,
                          check_password_in_option):
                cases.add("release.refused", check.__name__.removeprefix("check_"), lambda check=check: check(world))
            cases.add("release.refused", "other_version",
                      lambda: check_refused(world, "meson.build says 0.1.0", "--version", "9.9.9"))
            cases.add("release.refused", "registry", lambda: check_refused(world, "must be HOST/PATH", path="Acme"))
            cases.add("release.refused", "no_programs",
                      lambda: check_refused(world, "cmd/prefetchd/prefetchd is not there", programs="/nowhere"))
            cases.add("release", "built", lambda: check_built(world, ARCHITECTURE))
            if "PREFETCH_ARM64" in os.environ:
                cases.add("release.all", "built", lambda: check_built(world))
                cases.add("release.all", "setup", check_setup)
            for check in (check_shown, check_workflow):
                cases.add("release.pages", check.__name__.removeprefix("check_"), check)
            return cases.run()
        finally:
            world.registry.process.terminate()
            world.registry.process.wait()


sys.exit(main())
