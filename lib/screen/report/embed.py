#!/usr/bin/python3
"""embed.py OUTPUT STYLE SCRIPT: the page's style and script as one C++ source, so that prefetchctl brings them along."""

import sys


def literal(path):
    """A line of the file a line of the source."""
    escape = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\t"): "\\t", ord("?"): "\\?"}
    with open(path, encoding="utf-8") as file:
        return "\n    ".join(f'"{line.translate(escape)}"' for line in file)


def main(output, style, script):
    with open(output, "w", encoding="utf-8") as out:
        out.write('#include "screen/report/page.h"\n\nnamespace prefetch::screen::report {\n\n'
                  f"const std::string_view kPageStyle =\n    {literal(style)};\n\n"
                  f"const std::string_view kPageScript =\n    {literal(script)};\n\n"
                  "}  // namespace prefetch::screen::report\n")


main(*sys.argv[1:])
