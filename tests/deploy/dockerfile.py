"""The Dockerfile, held to the syntax that BuildKit, buildah and Docker's legacy builder share."""

import os
import re

from render import ROOT


def instructions(text):
    """(instruction, arguments) in order, continued lines joined, comments left out."""
    kept = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\s*\n", " ", kept)
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def sources_of(arguments):
    """What COPY or ADD takes of the context: (flags, paths)."""
    words = arguments.split()
    flags = [word for word in words if word.startswith("--")]
    return flags, [word for word in words if not word.startswith("--")][:-1]


def check_dockerfile(text):
    """The legacy builder knows no flag of BuildKit, and builds every stage from the files of this repository."""
    problems, stages, arguments = [], [], {}
    if re.match(r"#\s*(syntax|escape|check)\s*=", text):
        problems.append("its first line is a directive of BuildKit")
    if "<<" in text:
        return [*problems, "it has a here-document"]
    for instruction, rest in instructions(text):
        if instruction == "ARG" and not stages:
            name, _, value = rest.partition("=")
            arguments[name] = value
            problems += [] if value else [f"ARG {name} has no default"]
        elif instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            if base.startswith("--"):
                problems.append(f"FROM {base}: a flag of BuildKit")
            variable = re.fullmatch(r"\$\{(\w+)\}", base)
            value = arguments.get(variable[1]) if variable else base
            # buildah passes over stages that only a variable names.
            if base not in ("scratch", *stages) and not (variable and value and ":" in value):
                problems.append(f"FROM {base} is no stage before it, nor an image that an argument names")
            stages.append(name or str(len(stages)))
        elif instruction in ("COPY", "ADD"):
            flags, paths = sources_of(rest)
            stage = [flag.removeprefix("--from=") for flag in flags if flag.startswith("--from=")]
            problems += [f"{instruction} {flag}: a flag of BuildKit" for flag in flags
                         if not flag.startswith(("--from=", "--chown="))]
            problems += [f"--from={one} is no stage before it" for one in stage if one not in stages[:-1]]
            if not stage:
                problems += [f"{instruction} {path}: is not in the repository" for path in paths
                             if not os.path.exists(os.path.join(ROOT, path))]
        elif instruction == "RUN" and rest.startswith("--"):
            problems.append(f"RUN {rest.split()[0]}: a flag of BuildKit")
        elif instruction == "RUN" and not ("--setup build " in rest and "-Dtests=false" in rest):
            problems.append("RUN installs more than the build packages")
    return problems


def dockerfile():
    with open(os.path.join(ROOT, "Dockerfile"), encoding="utf-8") as file:
        return file.read()


# (name, what replaces what in the Dockerfile, a part of what must be said)
PLANTS = [
    ("AStageOfFilesThatAreNotThere", ("FROM scratch", "FROM scratch AS tested\nCOPY made-before /rootfs\n\nFROM scratch"),
     "COPY made-before: is not in the repository"),
    ("AStageThatAnArgumentNames",
     ("bookworm-slim\n\nFROM ${BASE} AS compile", "bookworm-slim\nARG AGAIN=compile\n\nFROM ${BASE} AS compile\nFROM ${AGAIN} AS programs"),
     "FROM ${AGAIN} is no stage before it"),
    ("Cache", ("RUN tests", "RUN --mount=type=cache,target=/x tests"), "RUN --mount=type=cache,target=/x: a flag of BuildKit"),
    ("PackagesOfTheTests", ("--setup build", "--setup"), "installs more than the build packages"),
    ("Link", ("COPY --from", "COPY --link --from"), "COPY --link: a flag of BuildKit"),
    ("Platform", ("FROM ${BASE}", "FROM --platform=$BUILDPLATFORM"), "FROM --platform=$BUILDPLATFORM: a flag of BuildKit"),
    ("Frontend", ("# The image", "# syntax=docker/dockerfile:1\n# The image"), "a directive of BuildKit"),
    ("HereDocument", ("COPY . /src", "COPY <<E /x\nE\nCOPY . /src"), "here-document"),
    ("BaseThatCannotBePinned", ("FROM ${BASE} AS", "FROM docker.io/library/debian:bookworm AS"), "nor an image that an argument names"),
    ("NoSuchStage", ("--from=compile", "--from=compiled"), "--from=compiled is no stage before it"),
]


def add_dockerfile(cases, none, finds):
    cases.add("dockerfile", "any_builder", lambda: none(check_dockerfile(dockerfile())))
    for name, (old, new), part in PLANTS:
        def planted(old=old, new=new, part=part):
            assert old in dockerfile(), f"the Dockerfile has no {old!r}"
            finds(check_dockerfile(dockerfile().replace(old, new, 1)), part)
        cases.add("dockerfile.planted", name, planted)
