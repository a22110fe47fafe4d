#!/usr/bin/python3
"""embed.py OUTPUT DEPFILE FUNCTION ROOT PATH...: files as a C++ source, so that a program has them with it.

It defines `const std::map<std::string, std::string_view>& FUNCTION()`, with each file below the PATHs, files or folders
in ROOT, by its path from there.
"""

import os
import sys


def literal(text):
    """A line of the file a line of the source."""
    lines = text.decode("utf-8").splitlines(keepends=True)
    escape = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\t"): "\\t", ord("?"): "\\?"}
    return "\n      ".join(f'"{line.translate(escape)}"' for line in lines) or '""'


def main(output, depfile, function, root, *paths):
    files, folders = {}, []

    def add(path):
        with open(path, "rb") as file:
            files[os.path.relpath(path, root)] = file.read()

    for path in (os.path.join(root, path) for path in paths):
        if os.path.isfile(path):
            add(path)
        for folder, _, names in os.walk(path):
            folders.append(folder)  # changes when a file comes or goes
            for name in names:
                add(os.path.join(folder, name))
    namespace, name = function.rsplit("::", 1)
    with open(output, "w", encoding="utf-8") as out:
        out.write("#include <map>\n#include <string>\n#include <string_view>\n\n"
                  # The standard demands no more than 64 KiB; our compilers take longer ones.
                  '#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored "-Woverlength-strings"\n\n'
                  f"namespace {namespace} {{\n\n"
                  f"const std::map<std::string, std::string_view>& {name}() {{\n"
                  "  static const std::map<std::string, std::string_view> kFiles = {\n")
        for path in sorted(files):
            out.write(f'      {{"{path}",\n      {literal(files[path])}}},\n')
        out.write(f"  }};\n  return kFiles;\n}}\n\n}}  // namespace {namespace}\n\n#pragma GCC diagnostic pop\n")
    with open(depfile, "w", encoding="utf-8") as out:
        inputs = folders + [os.path.join(root, path) for path in files]
        out.write(f"{output}: {' '.join(sorted(inputs))}\n")


main(*sys.argv[1:])
