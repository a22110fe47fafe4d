#!/usr/bin/env python3
"""Reads manifests by shape with PyYAML, and compares the images with those of `prefetchctl list import`.

Usage: independent_reader.py PREFETCHCTL FOLDER...

It prints each difference and a line for each folder. The exit code is 1 if a folder has fewer than 30 manifests, or if
an image was missed or invented, or if the program refuses a file.

It shares no code, no table of kinds and no YAML parser with the program. It knows the names of fields that have
images, the kinds whose texts are no pods, and the marker of texts.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

VARIABLE = re.compile(r"\$\{\{?(\w+)\}?\}|\$\((?:inputs\.)?params\.([\w.-]+)\)|\{\{inputs\.parameters\.([\w.-]+)\}\}")
# Rules about pods, schemas of them, and configuration of tools that make nodes.
NOT_PODS = ("kyverno.io/", "apiextensions.k8s.io/", "constraints.gatekeeper.sh/", "templates.gatekeeper.sh/",
            "kind.x-k8s.io/")
NO_IMAGE = 2  # exit code
LEAST = 30
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def is_image(text, certain):
    """Whether a text names an image. A field that is `certain` needs no tag and no registry."""
    last = text.rsplit("/", 1)[-1]
    named = re.fullmatch(r"[A-Za-z0-9][\w./:@-]*", text) and not re.search(r"[A-Z]", text.split(":")[0].split("@")[0])
    return bool("://" not in text and named and (certain or ":" in last or "/" in text))


def is_object(value):
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("apiVersion", "kind"))


class Reader:
    def __init__(self):
        self.images, self.values = set(), {}

    def add(self, text, certain=False):
        def value(match):
            name = next(group for group in match.groups() if group)
            return str(self.values.get(name, match.group(0)))

        text = VARIABLE.sub(value, text)
        if is_image(text, certain):
            self.images.add(text)

    def text(self, text):
        """A manifest, or a pod's spec, in a string."""
        try:
            documents = list(yaml.load_all(text, Loader=Loader))
        except yaml.YAMLError:
            return
        for document in documents:
            self.value(document)

    def value(self, value, key=""):
        if isinstance(value, list):
            for item in value:
                self.value(item, key)
        elif isinstance(value, dict):
            self.mapping(value, key)

    def parameters(self, value):
        for key in ("parameters", "params"):
            parameters = value.get(key)
            for parameter in parameters if isinstance(parameters, list) else []:
                if isinstance(parameter, dict) and "name" in parameter:
                    default = parameter.get("value", parameter.get("default"))
                    if isinstance(default, (str, int, float)):
                        self.values[parameter["name"]] = default

    def mapping(self, value, key):
        if str(value.get("apiVersion", "")).startswith(NOT_PODS):
            return
        self.parameters(value)
        is_data = value.get("kind") in ("ConfigMap", "Secret")
        for name, member in value.items():
            # An image in Ceph's rbd is a disk.
            if name in ("status", "metadata", "rbd") or not isinstance(name, str):
                continue
            if isinstance(member, str):
                self.string(value, name, member)
            elif name == "image" and isinstance(member, dict) and "repository" in member:
                self.add(f"{member['repository']}:{member.get('tag', 'latest')}")
            elif name == "image" and isinstance(member, dict) and "reference" in member:
                self.add(member["reference"])
            elif name == "data" and is_data and isinstance(member, dict):
                for field, text in member.items():
                    if "# prefetchctl: manifest" in str(text):
                        self.text(text)
                    elif str(field).lower().endswith("image") and field != "image":
                        self.add(str(text))
            else:
                self.value(member, name)

    def string(self, holder, name, text):
        if name in ("manifest", "podSpecPatch"):
            self.text(text)
        elif name == "baseImage":
            self.add(f"{text}:{holder.get('tag', holder.get('version', 'latest'))}")
        elif name == "image":
            tag = holder.get("tag", "") if ":" not in text.rsplit("/", 1)[-1] else ""
            self.add(f"{text}:{tag}" if tag else text, True)
        elif name == "value" and "op" in holder and str(holder.get("path")).endswith("/image"):
            self.add(text, True)
        elif name.endswith("Image") or name == "imageName":
            self.add(text)
        elif name == "name" and holder.get("kind") == "DockerImage":
            self.add(text)


def images_of(path):
    """The images of a file; None if it has no object."""
    reader, objects = Reader(), 0
    for document in yaml.load_all(path.read_bytes(), Loader=Loader):
        for item in document if isinstance(document, list) else [document]:
            if is_object(item):
                objects += 1
                reader.value(item)
    return reader.images if objects else None


def imported(program, path):
    """The images by `list import`, and the program's words if it refuses the file."""
    with tempfile.TemporaryDirectory() as folder:
        # A file of a folder may be none of Kubernetes'.
        shutil.copy(path, folder)
        ran = subprocess.run([program, "list", "import", "-f", folder, "-o", "json"], capture_output=True, check=False)
        if ran.returncode == NO_IMAGE and b"no image was found" in ran.stderr:
            return set(), ""  # it writes no empty list
        if ran.returncode != 0:
            return set(), ran.stderr.decode().replace(folder + "/", "").strip()
        return {item["image"] for item in json.loads(ran.stdout)["images"]}, ""


def compare(program, folder):
    """Returns whether both agree about a folder with enough manifests."""
    files = images = found_images = missed = invented = refused = 0
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.suffix not in (".yaml", ".yml", ".json") or not path.is_file():
            continue
        try:
            expected = images_of(path)
        except (yaml.YAMLError, ValueError, RecursionError):
            continue
        if expected is None:
            continue
        found, refusal = imported(program, path)
        files, images, found_images = files + 1, images + len(expected), found_images + len(found)
        if refusal:
            refused += 1
            print(f"{path}: refused: {refusal}")
            continue
        for image in sorted(expected - found):
            missed += 1
            print(f"{path}: missed {image}")
        for image in sorted(found - expected):
            invented += 1
            print(f"{path}: invented {image}")
    print(f"{folder}: {files} manifests, {images} images, {found_images} by list import: "
          f"{missed} missed, {invented} invented, {refused} files refused")
    return files >= LEAST and missed == invented == refused == 0


def main():
    agreed = [compare(sys.argv[1], folder) for folder in sys.argv[2:]]
    return 0 if agreed and all(agreed) else 1


if __name__ == "__main__":
    sys.exit(main())
