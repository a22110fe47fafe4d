"""OCI image layouts (image-spec, image-layout.md): the index of the images, and the chart as Helm's artifact."""

import hashlib
import json
import os
import re
import shutil
import tarfile

TYPE = "application/vnd.oci.image."
REF = "org.opencontainers.image.ref.name"


class Layout:
    """A folder of blobs with one name in its index."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(os.path.join(folder, "blobs/sha256"))
        with open(os.path.join(folder, "oci-layout"), "w", encoding="utf-8") as out:
            out.write('{"imageLayoutVersion":"1.0.0"}')

    def _path(self, digest):
        return os.path.join(self.folder, "blobs", *digest.split(":"))

    def put(self, data, media_type):
        """The descriptor of a new blob."""
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        with open(self._path(digest), "wb") as out:
            out.write(data)
        return {"mediaType": media_type, "digest": digest, "size": len(data)}

    def put_json(self, value, media_type):
        return self.put(json.dumps(value, separators=(",", ":"), sort_keys=True).encode(), media_type)

    def json_of(self, descriptor):
        with open(self._path(descriptor["digest"]), encoding="utf-8") as file:
            return json.load(file)

    def take(self, archive):
        """Copies the blobs of an OCI archive that has one image; returns its descriptor, with its platform."""
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isfile() and member.name.startswith("blobs/"):
                    with open(os.path.join(self.folder, member.name), "wb") as out:
                        out.write(tar.extractfile(member).read())
            (descriptor,) = json.load(tar.extractfile("index.json"))["manifests"]
        descriptor.pop("annotations", None)
        config = self.json_of(self.json_of(descriptor)["config"])
        descriptor["platform"] = {key: config[key] for key in ("os", "architecture", "variant") if key in config}
        return descriptor

    def name(self, name, descriptor):
        index = {"schemaVersion": 2, "manifests": [{**descriptor, "annotations": {REF: name}}]}
        with open(os.path.join(self.folder, "index.json"), "w", encoding="utf-8") as out:
            json.dump(index, out, separators=(",", ":"))


def index_of(folder, name, archives, annotations):
    """Makes a layout of one index of these archives; returns the index's digest."""
    layout = Layout(folder)
    index = {"schemaVersion": 2, "mediaType": TYPE + "index.v1+json", "manifests": [layout.take(one) for one in archives],
             "annotations": annotations}
    descriptor = layout.put_json(index, index["mediaType"])
    layout.name(name, descriptor)
    return descriptor["digest"]


def _change(path, pattern, line, wanted):
    """Replaces lines of a file, and returns its new text."""
    with open(path, "r+", encoding="utf-8") as file:
        text, count = re.subn(pattern, line, file.read(), flags=re.MULTILINE)
        if count != wanted:
            raise ValueError(f"{path} has {count} lines {pattern}, not {wanted}")
        file.seek(0)
        file.write(text)
        file.truncate()
    return text


def stage_chart(chart, folder, version, image):
    """Copies a chart as `helm package` takes it, for this version and image; returns its Chart.yaml."""
    import yaml  # deploy/release/run looks first whether it is there
    shutil.copytree(chart, folder, ignore=shutil.ignore_patterns(".*"))  # .helmignore
    _change(os.path.join(folder, "values.yaml"), r'^image: ""$', f"image: {image}", 1)
    return yaml.safe_load(_change(os.path.join(folder, "Chart.yaml"), r"^(version|appVersion): .*$", rf'\1: "{version}"', 2))


def chart_of(folder, name, package, metadata, annotations):
    """Makes a layout of a packaged chart, as `helm push` sends it; returns the manifest's digest."""
    layout = Layout(folder)
    with open(package, "rb") as file:
        content = layout.put(file.read(), "application/vnd.cncf.helm.chart.content.v1.tar+gzip")
    manifest = {"schemaVersion": 2, "mediaType": TYPE + "manifest.v1+json",
                "config": layout.put_json(metadata, "application/vnd.cncf.helm.config.v1+json"),
                "layers": [content], "annotations": annotations}
    descriptor = layout.put_json(manifest, manifest["mediaType"])
    layout.name(name, descriptor)
    return descriptor["digest"]
