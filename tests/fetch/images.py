"""Images of every form, made from their mode and name."""

import copy
import gzip
import hashlib
import io
import json
import random
import subprocess
import tarfile
import threading

OCI = "application/vnd.oci.image."
MANIFEST, INDEX = OCI + "manifest.v1+json", OCI + "index.v1+json"
LAYER, CONFIG = OCI + "layer.v1.tar", OCI + "config.v1+json"


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Image:
    """The documents and blobs of one repository."""

    made, making = {}, threading.Lock()  # by mode and name

    @classmethod
    def of_repository(cls, repository):
        mode, group, name = repository.split("/")
        with cls.making:
            if (mode, name) not in cls.made:
                cls.made[mode, name] = cls(mode, name)
            image = copy.copy(cls.made[mode, name])
        image.repository, image.group = repository, group
        return image

    def __init__(self, mode, name):
        self.mode, self.repository, self.group = mode, f"{mode}/{name}", ""
        self.documents, self.blobs = {}, {}  # by tag or digest: (type, bytes); by digest: bytes
        build = getattr(self, "build_" + self.mode, None)
        if build:
            build()
        else:
            self.put("v1", *self.image([900_000, 300_000]))

    # Parts.

    def blob(self, data, kind):
        self.blobs[digest(data)] = data
        return {"mediaType": kind, "digest": digest(data), "size": len(data)}

    def layer(self, size, seed=0, pack="gzip"):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            entry = tarfile.TarInfo(f"file-{seed}")
            entry.size = size
            tar.addfile(entry, io.BytesIO(random.Random(f"{self.repository}{seed}{size}").randbytes(size)))
        plain = out.getvalue()
        if pack == "gzip":
            return self.blob(gzip.compress(plain, 1, mtime=0), LAYER + "+gzip"), digest(plain)
        if pack == "zstd":
            packed = subprocess.run(["zstd", "-1", "-c"], input=plain, stdout=subprocess.PIPE, check=True).stdout
            return self.blob(packed, LAYER + "+zstd"), digest(plain)
        return self.blob(plain, LAYER), digest(plain)

    def config(self, diffs, architecture="amd64", name="linux"):
        text = {"architecture": architecture, "os": name, "rootfs": {"type": "layers", "diff_ids": diffs},
                "config": {"Labels": {"of": self.repository}}}
        return self.blob(json.dumps(text).encode(), CONFIG)

    def image(self, sizes, pack="gzip", edit=None, architecture="amd64", seed=0, **more):
        layers, diffs = [], []
        for number, size in enumerate(sizes):
            layer, diff = self.layer(size, f"{seed}-{number}", pack)
            layers.append(layer)
            diffs.append(diff)
        if edit:
            layers[0] = {**layers[0], **edit(layers[0])}
        return self.of(self.config(diffs, architecture), layers, **more)

    @staticmethod
    def of(config, layers, **more):
        text = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers, **more}
        return MANIFEST, json.dumps(text).encode()

    def put(self, tag, kind, data):
        self.documents[tag] = self.documents[digest(data)] = (kind, data)
        return {"mediaType": kind, "digest": digest(data), "size": len(data)}

    def put_index(self, tag, *entries):
        text = {"schemaVersion": 2, "mediaType": INDEX, "manifests": list(entries)}
        return self.put(tag, INDEX, json.dumps(text).encode())

    def entry(self, seed, architecture, variant=None):
        platform = {"architecture": architecture, "os": "linux", **({"variant": variant} if variant else {})}
        made = self.image([200_000], architecture=architecture, seed=seed)
        return {**self.put(seed, *made), "platform": platform}

    # Images of unusual form, by mode.

    def build_zstd(self):
        self.put("v1", *self.image([900_000], pack="zstd"))

    def build_tar(self):
        self.put("v1", *self.image([900_000], pack="tar"))

    def build_layers(self):
        self.put("v1", *self.image([3_000] * 60))

    def build_rate(self):
        self.put("v1", *self.image([8_000_000, 4_000_000]))

    def build_limited(self):
        self.put("v1", *self.image([12_000_000, 4_000_000]))

    def build_large(self):
        self.put("v1", *self.image([40_000_000], pack="tar"))

    build_largeslow = build_largeslownorange = build_largeslowlimited = build_large

    def build_small(self):
        self.put("v1", *self.image([1_000]))

    def build_sizesmall(self):
        self.put("v1", *self.image([900_000], edit=lambda layer: {"size": layer["size"] - 1000}))

    def build_sizelarge(self):
        self.put("v1", *self.image([900_000], edit=lambda layer: {"size": layer["size"] + 1000}))

    def build_sizehuge(self):
        self.put("v1", *self.image([900_000], edit=lambda layer: {"size": 2**62}))

    def build_sizenegative(self):
        self.put("v1", *self.image([900_000], edit=lambda layer: {"size": -5}))

    def build_sizeoverflow(self):
        self.put("v1", *self.image([900_000, 300_000], edit=lambda layer: {"size": 2**63 - 1}))

    def build_sizezero(self):
        self.put("v1", *self.image([900_000], edit=lambda layer: {"size": 0}))

    def build_samelayers(self):
        layer, diff = self.layer(900_000)
        self.put("v1", *self.of(self.config([diff] * 3), [layer] * 3))

    def build_samelayersdiffer(self):
        layer, diff = self.layer(900_000)
        self.put("v1", *self.of(self.config([diff] * 2), [layer, {**layer, "size": layer["size"] - 7}]))

    def build_emptylayer(self):
        empty = self.blob(b"", LAYER)
        self.put("v1", *self.of(self.config([digest(b"")]), [empty]))

    def build_nolayers(self):
        self.put("v1", *self.of(self.config([]), []))

    def build_encrypted(self):
        layer, diff = self.layer(900_000)
        self.put("v1", *self.of(self.config([diff]), [{**layer, "mediaType": LAYER + "+gzip+encrypted"}]))

    def build_artifact(self):
        layer, _ = self.layer(900_000)
        chart = "application/vnd.cncf.helm."
        self.put("v1", *self.of({**self.config([]), "mediaType": chart + "config.v1+json"},
                                [{**layer, "mediaType": chart + "chart.content.v1.tar+gzip"}]))

    def build_index(self):
        proof = self.put("proof", *self.of(self.config([], "unknown", "unknown"), []))
        proof["platform"] = {"architecture": "unknown", "os": "unknown"}
        self.put_index("v1", self.entry("a", "arm64"), self.entry("b", "amd64"), proof)

    def build_indexvariants(self):
        self.put_index("v1", *(self.entry(v or "v1", "amd64", v) for v in ("v2", None, "v3")))

    def build_indextwice(self):
        self.put_index("v1", self.entry("one", "amd64"), self.entry("two", "amd64"))

    def build_indexnoplatform(self):
        entry = self.entry("a", "amd64")
        del entry["platform"]
        self.put_index("v1", entry)

    def build_indexarm(self):
        self.put_index("v1", self.entry("a", "arm64", "v8"), self.entry("b", "arm", "v7"))

    def build_index386(self):
        self.put_index("v1", self.entry("a", "386"))

    def build_indexempty(self):
        self.put_index("v1")

    def build_nested(self):
        inner = self.put_index("inner", self.entry("b", "amd64"))
        self.put_index("v1", {**inner, "platform": {"architecture": "amd64", "os": "linux"}})

    def build_longmanifest(self):
        self.put("v1", *self.image([900_000], annotations={"x": "y" * 5_000_000}))

    def build_deepmanifest(self):
        self.put("v1", MANIFEST, b'{"schemaVersion":2,"x":' + b"[" * 500_000 + b"]" * 500_000 + b"}")

    def build_notjson(self):
        self.put("v1", MANIFEST, b"\0\1garbage")

    def build_manylayers(self):
        layer, diff = self.layer(200_000)
        self.put("v1", *self.of(self.config([diff]),
                                [{**layer, "digest": "sha256:%064x" % n} for n in range(4_000)]))
