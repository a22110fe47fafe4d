#!/usr/bin/env python3
"""The pods of a large cluster: every command that reads them holds one pod at a time, not the list.

Usage: sizes_test.py PREFETCHCTL
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
PODS = 3000
BYTES = 56_000_000
MOST_RESIDENT = 96 << 20


def pod():
    """A pod as the API server has it; NUMBER stands for its number."""
    containers = [{
        "name": f"app-{part}",
        "image": f"registry.example.test/shop/app-{part}:v1.NUMBER",
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": f"SETTING_{i}", "value": f"the value of setting {i}"} for i in range(20)],
        "resources": {"limits": {"cpu": "500m", "memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "volumeMounts": [{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "token"}],
    } for part in range(3)]
    statuses = [{"name": container["name"], "image": "x:1", "imageID": "sha256:" + "c" * 64, "ready": True}
                for container in containers]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "app-NUMBER", "namespace": "shop"},
            "spec": {"containers": containers, "nodeName": "node-NUMBER"},
            "status": {"phase": "Running", "containerStatuses": statuses}}


def write_pods(path):
    """As `kubectl get pods -A -o json` prints them."""
    text = json.dumps(pod(), indent=4)
    # A long annotation brings each pod to its size.
    note = "n" * (BYTES // PODS - len(text) - 4 * text.count("\n"))
    text = text.replace('"metadata": {', f'"metadata": {{\n            "annotations": {{"note": "{note}"}},', 1)
    with open(path, "w", encoding="utf-8") as out:
        out.write('{\n    "apiVersion": "v1",\n    "items": [')
        for i in range(PODS):
            # One at a time: a child's largest memory is at least that of its parent.
            out.write(("," if i else "") + ("\n" + text.replace("NUMBER", str(i))).replace("\n", "\n        "))
        out.write('\n    ],\n    "kind": "List"\n}\n')


class Sizes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.pods = pathlib.Path(cls.folder.name) / "pods.json"
        write_pods(cls.pods)
        cls.list = pathlib.Path(cls.folder.name) / "images.txt"
        cls.list.write_text("registry.example.test/shop/app-0:v1.0\n")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_command(self, *words, standard_input=False):
        with open(self.pods if standard_input else os.devnull, "rb") as given, tempfile.TemporaryFile() as out:
            process = subprocess.Popen([PROGRAM, *words], stdin=given, stdout=out, stderr=out)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            text = out.read().decode()
        print(f"{words[0]} {words[1]}: {usage.ru_maxrss >> 10} MiB, {usage.ru_utime + usage.ru_stime:.2f} s of CPU")
        self.assertLess(usage.ru_maxrss << 10, MOST_RESIDENT, words)
        return process.returncode, text

    def test_the_input_is_as_large_as_it_should_be(self):
        self.assertGreater(self.pods.stat().st_size, BYTES)

    def test_lint(self):
        code, text = self.run_command("lint", "-f", "-", "--list", str(self.list), standard_input=True)
        self.assertEqual(code, 1)
        self.assertIn("in 1 file, 3000 pods", text)

    def test_list_import(self):
        code, text = self.run_command("list", "import", "-f", str(self.pods))
        self.assertEqual(code, 0)
        self.assertEqual(text.count("- image: "), 3 * PODS)

    def test_audit(self):
        code, text = self.run_command("audit", "-f", str(self.pods), "--list", str(self.list))
        self.assertEqual(code, 1)
        self.assertIn(f"{3 * PODS - 1} images on no list", text)

    def test_check(self):
        """It reads before it asks an agent, and there is none here."""
        code, text = self.run_command("check", "-f", "-", "--agent", "unix://" + str(self.list), "--timeout", "1s",
                                      standard_input=True)
        self.assertEqual(code, 4, text)
        self.assertIn("cannot ask the agent", text)


if __name__ == "__main__":
    unittest.main()
