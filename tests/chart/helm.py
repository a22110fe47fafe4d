"""Helm's part: values judged by the chart's schema, then the chart rendered."""

import json
import os
import subprocess

import jsonschema
import yaml


class Refused(Exception):
    """The values, or what the chart says about them."""


class Renderer:
    """One process of tests/chart/*.go for all renderings."""

    def __init__(self, chart):
        self.chart = chart
        self.start()
        with open(os.path.join(chart, "values.schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        jsonschema.Draft7Validator.check_schema(schema)
        self.schema = jsonschema.Draft7Validator(schema)

    def start(self):
        """Also in a process that has been forked, for answers of its own."""
        self.process = subprocess.Popen([os.environ["CHART_RENDERER"], self.chart], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def files(self, values, release="prefetchd", namespace="prefetchd"):
        """{path of a template: text}."""
        request = {"values": values, "release": release, "namespace": namespace, "upgrade": False}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        wrong = [f"{'/'.join(map(str, one.path))}: {one.message}" for one in self.schema.iter_errors(answer.get("values", {}))]
        if wrong:
            raise Refused("; ".join(wrong))
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["files"]

    def render(self, values, release="prefetchd", namespace="prefetchd"):
        """(objects, hooks, notes)."""
        files = self.files(values, release, namespace)
        notes = files.pop("templates/NOTES.txt")
        documents = [one for _, text in sorted(files.items())
                     for one in yaml.load_all(text, Loader=yaml.CSafeLoader) if one]
        hooks = [one for one in documents if "helm.sh/hook" in one["metadata"].get("annotations", {})]
        return [one for one in documents if one not in hooks], hooks, notes
