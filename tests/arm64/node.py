"""A node of arm64 on another machine: the image's programs and a real containerd, both run by qemu-user, and a registry."""

import gzip
import hashlib
import io
import json
import os
import socket
import subprocess
import tarfile
import time
import urllib.request

IMAGE_TYPE = "application/vnd.oci.image."
PATIENCE = 60  # seconds; emulation is slow


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def until(what, ready):
    """Looks until `ready` gives something."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = ready()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {PATIENCE} s")


def answers(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Registry:
    """docker-registry on loopback; without passwords, unless `more` of its configuration asks for them."""

    def __init__(self, folder, **more):
        self.port = free_port()
        self.host = f"127.0.0.1:{self.port}"
        config = os.path.join(folder, "registry.yml")
        with open(config, "w", encoding="utf-8") as out:
            json.dump({"version": "0.1", "storage": {"filesystem": {"rootdirectory": os.path.join(folder, "registry")}},
                       "http": {"addr": self.host}, **more}, out)
        with open(os.path.join(folder, "registry.log"), "wb") as log:
            self.process = subprocess.Popen(["docker-registry", "serve", config], stdout=log, stderr=log)
        until("the registry", lambda: answers(self.port))

    def _send(self, method, url, data, media_type):
        request = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": media_type})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.headers

    def _put_blob(self, data):
        place = self._send("POST", f"http://{self.host}/v2/app/blobs/uploads/", b"", "application/octet-stream")["Location"]
        self._send("PUT", f"{place}&digest={digest_of(data)}", data, "application/octet-stream")
        return {"digest": digest_of(data), "size": len(data)}

    def _put_manifest(self, tag, manifest):
        data = json.dumps(manifest).encode()
        self._send("PUT", f"http://{self.host}/v2/app/manifests/{tag or digest_of(data)}", data, manifest["mediaType"])
        return {"mediaType": manifest["mediaType"], "digest": digest_of(data), "size": len(data)}

    def _manifest(self, architecture):
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as tar:
            tar.addfile(tarfile.TarInfo(f"made-for-{architecture}"))
        config = {"os": "linux", "architecture": architecture,
                  "rootfs": {"type": "layers", "diff_ids": [digest_of(layer.getvalue())]}}
        packed = gzip.compress(layer.getvalue(), mtime=0)
        return {"schemaVersion": 2, "mediaType": IMAGE_TYPE + "manifest.v1+json",
                "config": {"mediaType": IMAGE_TYPE + "config.v1+json", **self._put_blob(json.dumps(config).encode())},
                "layers": [{"mediaType": IMAGE_TYPE + "layer.v1.tar+gzip", **self._put_blob(packed)}]}

    def push(self, tag, *architectures):
        """An index of manifests for these; the image's name."""
        manifests = [{**self._put_manifest(None, self._manifest(one)), "platform": {"os": "linux", "architecture": one}}
                     for one in architectures]
        self._put_manifest(tag, {"schemaVersion": 2, "mediaType": IMAGE_TYPE + "index.v1+json", "manifests": manifests})
        return f"{self.host}/app:{tag}"


class Node:
    """`image`: the image's root; `programs`: containerd's packages; `libraries`: a root with libc for arm64."""

    def __init__(self, folder, image, programs, libraries):
        self.folder, self.image = folder, image
        self.socket = os.path.join(folder, "run/containerd.sock")
        os.makedirs(os.path.join(folder, "run"))
        config = os.path.join(folder, "containerd.toml")
        with open(config, "w", encoding="utf-8") as out:
            out.write(f'''version = 2
root = "{folder}/containerd"
state = "{folder}/run/state"
[grpc]
  address = "{self.socket}"
[ttrpc]
  address = "{self.socket}.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = "{folder}/cni"
''')
        with open(os.path.join(folder, "containerd.log"), "wb") as log:
            self.process = subprocess.Popen(
                ["qemu-aarch64", "-L", libraries, "-E", f"LD_LIBRARY_PATH={programs}/usr/lib/aarch64-linux-gnu",
                 os.path.join(programs, "usr/bin/containerd"), "--config", config], stdout=log, stderr=log)
        until("containerd", lambda: os.path.exists(self.socket) and self.ctr("version").returncode == 0)

    def ctr(self, *words):
        return subprocess.run(["ctr", "--address", self.socket, "--namespace", "k8s.io", *words], capture_output=True,
                              text=True, timeout=PATIENCE)

    def run(self, program, *words):
        """A program of the image, with the image's own loader and libraries."""
        return subprocess.run(["qemu-aarch64", "-L", self.image, os.path.join(self.image, "usr/bin", program), *words],
                              capture_output=True, text=True, timeout=2 * PATIENCE, cwd=self.folder)

    def once(self, *images):
        with open(os.path.join(self.folder, "images.txt"), "w", encoding="utf-8") as out:
            out.write("".join(f"{one}\n" for one in images))
        return self.run("prefetchd", "--list=images.txt", f"--runtime-endpoint=unix://{self.socket}", "--kubelet=none", "--once",
                        "--timeout=100s", "--listen=127.0.0.1:0", f"--local={self.folder}/run/agent.sock")
