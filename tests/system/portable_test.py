#!/usr/bin/python3
"""prefetchctl away from the machine that it was built on: the folder of deploy/image/portable, in an otherwise empty root, so
that nothing of this machine helps. The image has tests/system/image_test.cc.

Needs root, and from the environment: PREFETCH_SOURCE, PREFETCH_BUILD.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is
SOURCE = os.environ["PREFETCH_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "tests/deploy"))

from cases import Cases

LIST = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: quay.io/acme/app:v1\n"


def made(script, *arguments):
    result = subprocess.run([os.path.join(SOURCE, "deploy/image", script), *arguments, os.environ["PREFETCH_BUILD"]],
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def in_root(root, *words, **environment):
    return subprocess.run(["/usr/sbin/chroot", root, *words], env=environment, capture_output=True, text=True)


def check_lists(root, *command, **environment):
    """A good list, a bad one; and a program that only prints its version would not tell them apart."""
    with open(os.path.join(root, "good.yaml"), "w", encoding="utf-8") as out:
        out.write(LIST)
    with open(os.path.join(root, "bad.yaml"), "w", encoding="utf-8") as out:
        out.write(LIST.replace("quay.io/acme/app:v1", "quay.io/ACME:"))
    good = in_root(root, *command, "list", "check", "/good.yaml", **environment)
    assert good.returncode == 0 and "1 entr" in good.stdout, good
    bad = in_root(root, *command, "list", "check", "/bad.yaml", **environment)
    assert bad.returncode == 2 and "bad.yaml:4:" in bad.stderr, bad


class Portable:
    """The folder, moved into an empty root after it was made."""

    def __init__(self, scratch):
        self.root = os.path.join(scratch, "empty")
        os.makedirs(self.root)
        made("portable", os.path.join(scratch, "made"))
        shutil.move(os.path.join(scratch, "made"), os.path.join(self.root, "tool"))

    def check_empty_root(self):
        assert os.listdir(self.root) == ["tool"], os.listdir(self.root)
        check_lists(self.root, "/tool/prefetchctl")

    def check_own_libraries(self):
        """Also where the machine has the same ones."""
        folder = os.path.join(self.root, "tool")
        result = subprocess.run([os.path.join(folder, "prefetchctl")], env={"LD_TRACE_LOADED_OBJECTS": "1"},
                                capture_output=True, text=True)
        paths = re.findall(r"(?:=> |^\s+)(/\S+) \(", result.stdout, re.M)
        foreign = [path for path in paths if not path.startswith(folder)]
        assert len(paths) > 5 and not foreign, result

    def check_agent(self):
        """By its own name beside prefetchctl, and by a link to it."""
        os.symlink("prefetchd", os.path.join(self.root, "tool/agent"))
        for name in ("prefetchd", "agent"):
            result = in_root(self.root, f"/tool/{name}", "--version")
            assert result.returncode == 0 and result.stdout.startswith("prefetchd "), result

    def check_links(self):
        """By a link of another name, as kubectl calls its plugins."""
        os.symlink("../tool/prefetchctl", os.path.join(self.root, "tool/kubectl-prefetch"))
        result = in_root(self.root, "/tool/kubectl-prefetch", "--help")
        assert result.returncode == 0 and "kubectl prefetch" in result.stdout, result

    def check_path(self):
        result = subprocess.run(["prefetchctl", "--version"], capture_output=True, text=True,
                                env={"PATH": os.path.join(self.root, "tool")})
        assert result.returncode == 0 and result.stdout.startswith("prefetchctl "), result

    def check_half_a_folder(self):
        alone = os.path.join(self.root, "alone")
        shutil.copy(os.path.join(self.root, "tool/prefetchctl"), alone)
        result = in_root(self.root, "/alone", "--version")
        os.remove(alone)
        assert result.returncode == 2 and "copy the whole folder" in result.stderr, result


def main():
    cases = Cases(sys.argv[1] if len(sys.argv) > 1 else "")
    with tempfile.TemporaryDirectory() as scratch:
        portable = Portable(scratch)
        for name in ("empty_root", "own_libraries", "agent", "links", "path", "half_a_folder"):
            cases.add("Portable", name, getattr(portable, f"check_{name}"))
        return cases.run()


sys.exit(main())
