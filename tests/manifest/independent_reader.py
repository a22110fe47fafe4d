#!/usr/bin/env python3
"""Reads manifests by shape with PyYAML, and compares the images with those of `prefetchctl list import`.

Usage: independent_reader.py PREFETCHCTL FOLDER...   (exit code 1: images were missed or invented)

It shares no code, no table of kinds and no YAML parser with the program. It knows the names of fields that have
images, the kinds whose texts are no pods, and the marker of texts.
"""
import json
import pathlib
import re
import subprocess
import sys

import yaml

VARIABLE = re.compile(r"\$\{\{?(\w+)\}?\}|\$\((?:inputs\.)?params\.([\w.-]+)\)|\{\{inputs\.parameters\.([\w.-]+)\}\}")
# Rules about pods, and schemas of them.
NOT_PODS = ("kyverno.io/", "apiextensions.k8s.io/", "constraints.gatekeeper.sh/", "templates.gatekeeper.sh/")


def is_image(text):
    last = text.rsplit("/", 1)[-1]
    return "://" not in text and re.fullmatch(r"[\w./:@-]+", text) and (":" in last or "/" in text)


class Reader:
    def __init__(self):
        self.images, self.values = set(), {}

    def add(self, text):
        def value(match):
            name = next(group for group in match.groups() if group)
            return str(self.values.get(name, match.group(0)))

        text = VARIABLE.sub(value, text)
        if is_image(text):
            self.images.add(text)

    def text(self, text):
        """A manifest, or a pod's spec, in a string."""
        for document in yaml.safe_load_all(text):
            self.value(document)

    def value(self, value, key=""):
        if isinstance(value, list):
            for item in value:
                self.value(item, key)
        elif isinstance(value, dict):
            self.mapping(value, key)

    def mapping(self, value, key):
        if str(value.get("apiVersion", "")).startswith(NOT_PODS):
            return
        for parameter in (value.get("parameters") or []) + (value.get("params") or []):
            if isinstance(parameter, dict) and "name" in parameter:
                default = parameter.get("value", parameter.get("default"))
                if isinstance(default, (str, int, float)):
                    self.values[parameter["name"]] = default
        is_data = value.get("kind") in ("ConfigMap", "Secret")
        for name, member in value.items():
            if name in ("status", "metadata"):
                continue
            if isinstance(member, str):
                self.string(value, name, member)
            elif name == "image" and isinstance(member, dict) and "repository" in member:
                self.add(f"{member['repository']}:{member.get('tag', 'latest')}")
            elif name == "image" and isinstance(member, dict) and "reference" in member:
                self.add(member["reference"])
            elif name == "data" and is_data:
                for field, text in member.items():
                    if "# prefetchctl: manifest" in str(text):
                        self.text(text)
                    elif field.lower().endswith("image") and field != "image":
                        self.add(str(text))
            else:
                self.value(member, name)

    def string(self, holder, name, text):
        if name in ("manifest", "podSpecPatch"):
            self.text(text)
        elif name == "baseImage":
            self.add(f"{text}:{holder.get('tag', holder.get('version', 'latest'))}")
        elif name == "image" or name.endswith("Image") or name == "imageName":
            self.add(text)
        elif name == "name" and holder.get("kind") == "DockerImage":
            self.add(text)


def images_of(path):
    reader = Reader()
    for document in yaml.safe_load_all(path.read_text()):
        reader.value(document)
    return reader.images


def imported(program, path):
    ran = subprocess.run([program, "list", "import", "-f", str(path), "-o", "json"], capture_output=True, check=False)
    if ran.returncode != 0:
        return {f"exit code {ran.returncode}: {ran.stderr.decode()}"}
    return {item["image"] for item in json.loads(ran.stdout)["images"]}


def main():
    program, folders = sys.argv[1], sys.argv[2:]
    files = images = missed = invented = 0
    for path in sorted(file for folder in folders for file in pathlib.Path(folder).rglob("*")):
        if path.suffix not in (".yaml", ".yml", ".json"):
            continue
        try:
            expected = images_of(path)
        except (yaml.YAMLError, RecursionError):
            continue
        found = imported(program, path)
        files, images = files + 1, images + len(expected)
        for image in sorted(expected - found):
            missed += 1
            print(f"{path}: missed {image}")
        for image in sorted(found - expected):
            invented += 1
            print(f"{path}: invented {image}")
    print(f"{files} manifests, {images} images: {missed} missed, {invented} invented")
    return 1 if missed or invented or files < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
