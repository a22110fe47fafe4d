#!/usr/bin/python3
"""validate.py: the first line of standard input is a JSON Schema, each further line a document.

Prints a line for each document: "ok", or the first mistake. The validator is Debian's python3-jsonschema.
"""

import json
import sys

from jsonschema import Draft202012Validator


def main():
    lines = sys.stdin.buffer.read().decode("utf-8").split("\n")
    schema = json.loads(lines[0])
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for line in lines[1:]:
        if not line:
            continue
        error = next(iter(sorted(validator.iter_errors(json.loads(line)), key=lambda e: list(map(str, e.path)))), None)
        place = "" if error is None else "/".join(map(str, error.path))
        print("ok" if error is None else f"{place}: {error.message}".replace("\n", " ")[:300])


main()
