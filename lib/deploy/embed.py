#!/usr/bin/python3
"""embed.py DEPLOY OUTPUT DEPFILE: manifests and schemas below DEPLOY as one C++ source, so that prefetchctl has them."""

import os
import sys

FOLDERS = ("base", "components", "overlays", "parts", "schemas", "touch", "touch-daemonset")


def literal(text):
    """A line of the file a line of the source."""
    lines = text.decode("utf-8").splitlines(keepends=True)
    escape = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\t"): "\\t", ord("?"): "\\?"}
    return "\n      ".join(f'"{line.translate(escape)}"' for line in lines) or '""'


def main(deploy, output, depfile):
    files, folders = {}, []
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(deploy, folder)):
            folders.append(path)  # changes when a file comes or goes
            for name in names:
                with open(os.path.join(path, name), "rb") as file:
                    files[os.path.relpath(os.path.join(path, name), deploy)] = file.read()
    with open(output, "w", encoding="utf-8") as out:
        out.write('#include "deploy/kustomization.h"\n\nnamespace prefetch::deploy {\n\n'
                  "const Files& EmbeddedFiles() {\n"
                  # The standard demands no more than 64 KiB; our compilers take longer ones.
                  '#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored "-Woverlength-strings"\n'
                  "  static const Files kFiles = {\n")
        for name in sorted(files):
            out.write(f'      {{"{name}",\n      {literal(files[name])}}},\n')
        out.write("  };\n#pragma GCC diagnostic pop\n  return kFiles;\n}\n\n}  // namespace prefetch::deploy\n")
    with open(depfile, "w", encoding="utf-8") as out:
        inputs = folders + [os.path.join(deploy, name) for name in files]
        out.write(f"{output}: {' '.join(sorted(inputs))}\n")


main(*sys.argv[1:])
