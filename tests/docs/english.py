#!/usr/bin/env python3
"""english.py [--comments] [FILE|FOLDER…]: finds sentences that are hard to read, by a list of patterns.

Prints file, line and rule of each hit, and exits with 1 if there is one. Without arguments it reads all Markdown of the
project, and the comments of lib, cmd and tests.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Rules of other programs, quoted tables of releases, and what the program prints itself (its words have their own suites).
UNREAD = {"CHANGELOG.md"}

# A rule: its name, the pattern, a sentence that it finds, and one that it does not. Patterns see one sentence each.
RULES = [
    ("so long, so many, so often: use a noun",
     r"\b[Ss]o (?:long|many|much|often|few)\b(?! (?:\w+ ){0,3}(?:that|as)\b)",
     "Registries are forgotten so often.", "There are so many files that inotify runs out."),
    ("of which, whom: make two sentences",
     r"\b(?:[Oo]f which|[Ww]hom(?:ever)?)\b",
     "Registries of which no entry is.", "The registry, which is far, has a limit."),
    ("goes by: name the verb",
     r"\b(?:go|goes|went|gone|going) by\b",
     "The order goes by the size.", "The pod goes away by itself."),
    ("for people: name the role",
     r"\b(?:[Ff]or|to|by|tells?) people\b",
     "For people.", "A text for operators."),
    ("begins with Of, To whom, As to: put the actor first",
     r"^(?:Of|As to|As for|From whom|By whom)\b(?! course)",
     "Of several, none may be left.", "Operators of several clusters may begin here."),
    ("begins with What, Who, Whoever: put the actor first",
     r"^(?:What|Who|Whoever|Whatever|Whichever)\b(?!.*\?$)",
     "What passes is tried again.", "What does a node pull?"),
    ("begins with Where nothing or Where none: state the condition",
     r"^Where (?:nothing|none|nobody|no )",
     "Where nothing is said: empty.", "Nodes where nothing runs are empty."),
    ("inverted: the verb comes before its subject",
     r"^(?:Not only|Nor|Neither|Never|Nowhere|Seldom|Rarely|Hardly|Only then|Only there|Only so|So|Thus|Here|There)"
     r" (?:does|do|did|is|are|was|were|has|have|can|may|must|will|comes?|goes|stands?|belongs?)\b"
     r"(?<!^There is)(?<!^There are)(?<!^There was)(?<!^There were)(?<!^There has)(?<!^There have)(?<!^There can)(?<!^There may)"
     r"(?<!^There must)(?<!^There will)",
     "Only then does the agent pull.", "There may be several candidates."),
    ("inverted: a place or an object comes before the verb",
     r"^(?:In|On|At|From|To|Into|With|By|Behind|Below|Above|Beside|Through) [\w' -]{1,40}? (?:is|are|was|were|lies?|stands?|comes?|goes) "
     r"(?:the|a|an|its?|their|every|each|all|what|who)\b",
     "To the node came the images, and in the file is the name.".replace("came the images, and in the file is", "comes"),
     "In the file, the name is the first word."),
    ("none may be left: then …: use if",
     r"\b(?:may|might|can|could) be \w+(?: \w+)?: then\b",
     "None may be left: then the next look decides.", "If none is left, the next poll decides."),
    ("no subject: the sentence begins with its verb",
     r"^(?:Is|Are|Was|Were|Has|Had|Does|Can|May|Must|Will|Would|Should|Cannot|Becomes|Stays|Remains|Belongs)\b(?!.*\?$)",
     "Is forgotten after an hour.", "Is the image there?"),
    ("a fragment of For, To or As: write a full sentence",
     r"^(?:For|To|As|By|With) (?:one|each|every|all|any|several|who|those|them)\b[^,:;]*\.$",
     "For one thread at a time.", "For each image, the agent asks the runtime."),
    ("say IfNotPresent: use set",
     r"\b[Ss]ay (?:`?(?:IfNotPresent|Never|Always)\b)",
     "Say IfNotPresent.", "Set imagePullPolicy: IfNotPresent."),
    ("says so, tells it: name the reporter",
     r"\b(?:[Ss]ays? so|[Tt]ells? it)\b",
     "The log says so.", "The log reports the error."),
    ("to that which, those who: name the thing",
     r"\b(?:that which|[Tt]hose who|[Hh]e who|such as are|all of whom)\b",
     "Those who ask get an answer.", "Callers get an answer."),
]
COMPILED = [(name, re.compile(pattern)) for name, pattern, _, _ in RULES]


def hits(sentence):
    """Names of the rules that find the sentence."""
    return [name for name, pattern in COMPILED if pattern.search(sentence)]


def plain(text):
    """A link is its text, a piece of code one word."""
    text = re.sub(r"`[^`]*`", "X", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return text.replace("**", "").replace("*", "")


def blocks_of_page(text):
    """(line, text) of each paragraph, list item and table cell of a page of Markdown."""
    blocks, current, code = [], None, False
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            code, current = not code, None
        elif code or line.startswith("    ") and current is None or not stripped or stripped == ">" or line.startswith(("#", "<!--")):
            current = None
        elif stripped.startswith("|"):
            blocks += [(number, cell.strip()) for cell in stripped.strip("|").split("|") if " " in cell.strip()]
            current = None
        else:
            item = re.match(r"\s*(?:[-*]|\d+\.)\s+(.*)", line)
            if item or current is None:
                current = [number, item[1] if item else stripped.removeprefix("> ")]
                blocks.append(current)
            else:
                current[1] += "\n" + stripped.removeprefix("> ")
    return [(number, text) for number, text in blocks]


def blocks_of_source(text):
    """(line, text) of each run of // comments, at the ends of lines too."""
    blocks, before = [], None
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.search(r'(?:^|[\s;{}),])//+ ?(.*)$', line)
        if not comment or line.count('"', 0, comment.start()) % 2 or "clang-format" in line or "NOLINT" in line:
            before = None
            continue
        alone = line.lstrip().startswith("//")
        if alone and before == number - 1:
            blocks[-1][1] += "\n" + comment[1]
        else:
            blocks.append([number, comment[1]])
        before = number if alone else None
    return [(number, text) for number, text in blocks]


def sentences(block):
    """(line, sentence) of a block; the line is where it begins."""
    number, text = block
    text = re.sub(r"`[^`]*`", lambda code: "X" + "\n" * code[0].count("\n"), text)
    for part in re.split(r"(?<=[.!?])(?=[\s\"')]+(?:[A-Z]|$))| · ", text):
        lines = len(part) - len(part.lstrip())
        yield number + part[:lines].count("\n"), plain(" ".join(part.split()).lstrip("\"')("))
        number += part.count("\n")


def read(path, blocks):
    """(line, rule, sentence) of each hit of a file."""
    return [(line, rule, sentence) for block in blocks(path.read_text(encoding="utf-8"))
            for line, sentence in sentences(block) for rule in hits(sentence)]


def pages():
    found = [path for folder in ("deploy", "lib", "tests") for path in (ROOT / folder).rglob("*.md")]
    return sorted(path for path in [*ROOT.glob("*.md"), *found] if path.name not in UNREAD)


def sources(folder):
    return sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in (".cc", ".h"))


def judge_rules():
    """Each rule finds its first sentence, and not its second."""
    return [f"english.py: rule {name!r} {what}" for name, _, bad, good in RULES
            for what, is_so in ((f"does not find {bad!r}", name not in hits(bad)), (f"finds {good!r}", name in hits(good))) if is_so]


def lines(path, found):
    return [f"{path.relative_to(ROOT)}:{line}: {rule}: {sentence[:100]}" for line, rule, sentence in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comments", action="store_true", help="read sources: the named ones, or lib, cmd and tests")
    parser.add_argument("paths", nargs="*", type=pathlib.Path, metavar="FILE|FOLDER")
    options = parser.parse_args()
    problems = judge_rules()
    if options.paths:
        suffixes, blocks = ((".cc", ".h"), blocks_of_source) if options.comments else ((".md",), blocks_of_page)
        for path in options.paths:
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                problems += lines(file.resolve(), read(file, blocks)) if file.suffix in suffixes else []
    else:
        for page in [] if options.comments else pages():
            problems += lines(page, read(page, blocks_of_page))
        for source in [*sources("lib"), *sources("cmd"), *sources("tests")]:
            problems += lines(source, read(source, blocks_of_source))
    print("\n".join([*problems, f"{len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
