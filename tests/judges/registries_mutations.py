"""Mutations of CRI-O's registries.conf and its drop-ins, as those of mutations.py."""

from mutations import several
from toml_mutations import KEY_VALUE

SEPARATOR = b"\n=== drop-in\n"
PLACES = [
    b'"quay.io"', b'"quay.io/"', b'"quay.io/team"', b'"quay.io/team/app"', b'"quay.io/te"', b'"docker.io"', b'"docker.io/library"', b'"registry.example.test:5000"', b'"registry.example.test"', b'"*.example.test"', b'"*.test"',
    b'"*.example.test/x"', b'"*.example.test:5000"', b'"sub.example.test"', b'"mirror.example.test:5000/hub"', b'"mirror.example.test/a/"', b'"https://quay.io"', b'"http://x"', b'"localhost:5000"', b'""', b'"/"', b'"*"', b'"*."',
    b'"QUAY.IO"', b'"quay.io:443"', b'"a b"', b'"Mirror/Upper"', b'"mirror"', b'"quay.io//team"', b'"x/y/z//"', b"5", b"true", b"[]", b'["quay.io"]', b"'quay.io'", b'"""quay.io"""', b'"\\u0071uay.io"',
]  # fmt: skip
FLAGS = [b"true", b"false", b'"true"', b"1", b"[]", b'""']
LISTS = [b"[]", b'["docker.io"]', b'["docker.io", "quay.io/"]', b'["quay.io/team"]', b'["https://x"]', b'[""]', b'["a_b"]', b'["localhost:5000"]', b"[1]", b'"docker.io"', b'["containers-auth.json"]', b'["pass", "containers-auth.json"]',
         b'["[::1]:5000"]', b'["-x"]', b'["x..y"]', b'["QUAY.io"]', b'["quay.io:port"]', b"{}", b'[["docker.io"]]']  # fmt: skip
USES = [b'"all"', b'"digest-only"', b'"tag-only"', b'""', b'"never"', b'"ALL"', b"true"]
MODES = [b'"enforcing"', b'"permissive"', b'"disabled"', b'"Enforcing"', b'""', b'"x"', b"1"]
ALIASES = [b'"quay.io/prometheus/busybox"', b'"docker.io/busybox"', b'"docker.io/library/busybox"', b'"quay.io/a:v1"', b'"quay.io/a@sha256:' + b"a" * 64 + b'"', b'"busybox"', b'"localhost/x"', b'""', b"5", b'"quay.io"', b'"QUAY.io/a"', b'"quay.io/A"']
FIELDS = {
    b"location": PLACES, b"prefix": PLACES, b"insecure": FLAGS, b"blocked": FLAGS, b"mirror-by-digest-only": FLAGS, b"pull-from-mirror": USES, b"unqualified-search-registries": LISTS, b"credential-helpers": LISTS,
    b"short-name-mode": MODES, b"registries": LISTS, b'"busybox"': ALIASES, b"app": ALIASES, b'"team/app"': ALIASES, b'"quay.io/x"': ALIASES, b'"fedora:v1"': ALIASES, b'"UPPER"': ALIASES, b"Location": PLACES, b"INSECURE": FLAGS,
    b"unknown": PLACES, b"additional-layer-store-auth-helper": MODES, b"mirror": [b'[{location = "m.example.test"}]', b'[{location = "m.example.test", insecure = true}, {location = "n.example.test"}]', b"[]", b"{}", b'"x"', b"[1]"],
}  # fmt: skip
LINES = [
    b"[[registry]]", b"[[registry.mirror]]", b"[aliases]", b"[registries.search]", b"[registries.insecure]", b"[registries.block]", b"[registries]", b"[registry]", b"[registry.mirror]", b"[other]", b"[[Registry]]", b"[Aliases]", b"# comment",
    b"", b"[[registry]]\nlocation = \"blocked.example.test\"\nblocked = true", b"[[registry]]\nprefix = \"*.example.test\"", b"[[registry]]\nprefix = \"quay.io/team\"\nlocation = \"mirror.example.test:5000/team\"",
    b"[[registry.mirror]]\nlocation = \"mirror.example.test\"", b"[[registry]]\nprefix = \"quay.io\"\nlocation = \"blocked.example.test/quay\"",
]  # fmt: skip


def _field(random):
    key = random.choice(list(FIELDS))
    return key + b" = " + random.choice(FIELDS[key])


def _document_once(random, text, others):
    lines = text.split(b"\n")
    at = random.randrange(len(lines) + 1)
    found = [(i, match) for i, match in enumerate(map(KEY_VALUE.match, lines)) if match and match[2] in FIELDS]
    kind = random.randrange(10)
    if kind <= 4 and found:
        which, match = random.choice(found)
        lines[which] = match[1] + match[2] + match[3] + random.choice(FIELDS[match[2]])
    elif kind <= 6:
        lines.insert(at, _field(random))
    elif kind == 7:
        lines.insert(at, random.choice(LINES))
    elif kind == 8:
        del lines[min(at, len(lines) - 1)]
    else:
        more = random.choice(random.choice(others).split(SEPARATOR)).split(b"\n")
        begin = random.randrange(len(more))
        lines[at:at] = more[begin : begin + random.randrange(5)]
    return b"\n".join(lines)


def _once(random, text, others):
    parts = (b"\n" + text).split(SEPARATOR)
    parts = [part.removeprefix(b"\n") for part in parts]
    kind = random.randrange(12)
    if kind == 0:
        parts.insert(random.randrange(1, len(parts) + 1), b"\n".join([random.choice(LINES), _field(random)]))
    elif kind == 1 and len(parts) > 1:
        del parts[random.randrange(len(parts))]
    elif kind == 2:
        random.shuffle(parts)
    else:
        at = random.randrange(len(parts))
        parts[at] = _document_once(random, parts[at], others)
    return SEPARATOR.join(parts)


conf = several(_once)
