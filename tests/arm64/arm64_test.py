#!/usr/bin/python3
"""The image for arm64, cross-built and run by qemu-user beside a real containerd for arm64. A step of tests/run.

arm64_test.py [TEXT]     only the cases whose names hold TEXT

From the environment: ARM64_IMAGE (OUT of deploy/image/build), ARM64_PROGRAMS (containerd's packages, unpacked),
ARM64_LIBRARIES (root of deploy/image/sysroot).
"""

import json
import os
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "deploy")]

from cases import Cases
from node import Node, Registry

OF_AARCH64 = 183  # e_machine: EM_AARCH64 of elf(5)


def machines(root):
    """{path: machine} of the ELF files below a folder."""
    found = {}
    for folder, _, names in os.walk(root):
        for path in (os.path.join(folder, name) for name in names):
            if os.path.islink(path):
                continue
            with open(path, "rb") as file:
                head = file.read(20)
            if head.startswith(b"\x7fELF"):
                found[os.path.relpath(path, root)] = int.from_bytes(head[18:20], "little")
    return found


def check_machines(root):
    found = machines(root)
    assert {"usr/bin/prefetchd", "usr/bin/prefetchctl"} <= found.keys(), sorted(found)
    wrong = {path: machine for path, machine in found.items() if machine != OF_AARCH64}
    assert not wrong and len(found) > 10, wrong or found


def check_platform(archive):
    """A registry or runtime takes the image for one of arm64."""
    with tarfile.open(archive) as tar:
        def read(name):
            return json.load(tar.extractfile(name))

        def blob(one):
            return read("blobs/" + one["digest"].replace(":", "/"))
        (manifest,) = read("index.json")["manifests"]
        config = blob(blob(manifest)["config"])
    assert (config["os"], config["architecture"], config.get("variant")) == ("linux", "arm64", "v8"), config


def check_lists(node):
    with open(os.path.join(node.folder, "list.yaml"), "w", encoding="utf-8") as out:
        out.write("apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: q.io/a:v1\n")
    good = node.run("prefetchctl", "list", "check", "list.yaml")
    assert good.returncode == 0 and "1 entr" in good.stdout, good
    with open(os.path.join(node.folder, "bad.yaml"), "w", encoding="utf-8") as out:
        out.write("apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: q.io/A\n")
    bad = node.run("prefetchctl", "list", "check", "bad.yaml")
    assert bad.returncode == 2 and "bad.yaml:4:" in bad.stderr, bad


def check_generate(node):
    made = node.run("prefetchctl", "generate", "--platform", "eks", "--list", "list.yaml", "--image", "q.io/prefetchd:1")
    assert made.returncode == 0 and "kind: DaemonSet" in made.stdout, made


def check_once(node, registry):
    """An index of two platforms: the node's own is pulled."""
    image = registry.push("both", "amd64", "arm64")
    ran = node.once(image)
    assert ran.returncode == 0 and "1 of 1 required image ready" in ran.stdout, ran
    (line,) = [one for one in node.ctr("images", "ls").stdout.splitlines() if one.startswith(image + " ")]
    assert "linux/arm64" in line, line
    assert node.once(image).returncode == 0


def check_other_platform(node, registry):
    """An image without a manifest for the node fails, with the reason."""
    ran = node.once(registry.push("amd64-only", "amd64"))
    assert ran.returncode == 1 and "no match for platform" in ran.stdout.replace("\n    ", " "), ran


def main():
    image = os.environ["ARM64_IMAGE"]
    cases = Cases(sys.argv[1] if len(sys.argv) > 1 else "")
    cases.add("Image", "EveryProgramAndLibraryIsForArm64", lambda: check_machines(os.path.join(image, "rootfs")))
    cases.add("Image", "NamesItsPlatform", lambda: check_platform(os.path.join(image, "image.tar")))
    # Below /var/tmp, which the image does not have: qemu-user looks for paths in the image first.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        registry, node = Registry(folder), None
        try:
            node = Node(folder, os.path.join(image, "rootfs"), os.environ["ARM64_PROGRAMS"], os.environ["ARM64_LIBRARIES"])
            cases.add("Prefetchctl", "ChecksLists", lambda: check_lists(node))
            cases.add("Prefetchctl", "Generates", lambda: check_generate(node))
            cases.add("Once", "PullsForArm64", lambda: check_once(node, registry))
            cases.add("Once", "SaysThatAnImageIsForOthers", lambda: check_other_platform(node, registry))
            return cases.run()
        finally:
            for part in (node, registry):
                if part:
                    part.process.terminate()
                    part.process.wait()


sys.exit(main())
