"""Archives whose bytes depend on their content only: tarballs of folders, and the packaged chart."""

import gzip
import io
import os
import re
import tarfile

import yaml


def files_below(folder):
    """Relative paths of files and links, sorted."""
    found = []
    for place, folders, names in os.walk(folder):
        links = [one for one in folders if os.path.islink(os.path.join(place, one))]
        empty = [one for one in folders if one not in links and not os.listdir(os.path.join(place, one))]
        found += [os.path.relpath(os.path.join(place, one), folder) for one in names + links + empty]
    return sorted(found)


def _member(tar, path, name, epoch):
    member = tar.gettarinfo(path, name)
    member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
    return member


def pack(path, folder, top, epoch, packed=True):
    """Writes a tarball of a folder, with `top` in front of each name."""
    with open(path, "wb") as raw:
        with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=epoch) if packed else raw as out:
            with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
                for name in files_below(folder):
                    member = _member(tar, os.path.join(folder, name), os.path.join(top, name), epoch)
                    if member.isreg():
                        with open(os.path.join(folder, name), "rb") as file:
                            tar.addfile(member, file)
                    else:
                        tar.addfile(member)


def _once(pattern, line, text, path):
    changed, count = re.subn(pattern, lambda _: line, text, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{path} has {count} lines for {line.split(':')[0]}, not 1")
    return changed


def pack_chart(path, chart, version, image, epoch):
    """Packages a chart as `helm package` does, for this version and image; returns its Chart.yaml."""
    metadata = None
    with open(path, "wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=epoch) as out:
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name in files_below(chart):
                if any(part.startswith(".") for part in name.split("/")):  # .helmignore
                    continue
                with open(os.path.join(chart, name), encoding="utf-8") as file:
                    text = file.read()
                if name == "Chart.yaml":
                    text = _once(r"^version: .*$", f"version: {version}", text, name)
                    text = _once(r"^appVersion: .*$", f'appVersion: "{version}"', text, name)
                    metadata = yaml.safe_load(text)
                elif name == "values.yaml":
                    text = _once(r'^image: ""$', f"image: {image}", text, name)
                data = text.encode()
                member = _member(tar, os.path.join(chart, name), f"prefetchd/{name}", epoch)
                member.mode, member.size, member.type = 0o644, len(data), tarfile.REGTYPE
                tar.addfile(member, io.BytesIO(data))
    return metadata
