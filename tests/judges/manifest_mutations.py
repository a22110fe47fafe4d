"""Mutations of manifests: those of their YAML and JSON, and of the stream that they stand in."""

import mutations

IMAGES = [
    b"nginx", b"nginx:latest", b"reg.example.test:5000/a/b", b"reg.example.test/a:1", b"a:1@sha256:" + 64 * b"0", b"a@sha256:" + 64 * b"a",
    b"A:1", b"a:", b"a:1.10", b"1.10", b"5", b"0x1f", b"yes", b"' a:1'", b"'a:1 '", b"' '", b"''", b"null", b"a b", b"[a]", b"!!str 5",
    b"\xe9:1", b"\xc3\xa9:1", b'"a\\u003a1"', b"*img", b"&img a:1", b"localhost/a", b"docker.io/nginx", b">-\n          a:1",
]  # fmt: skip
POLICIES = [b"Always", b"IfNotPresent", b"Never", b"always", b"''", b"null", b"5", b"Off", b"!!str Never", b'"Never"']
DOCUMENTS = [
    b"apiVersion: v1\nkind: Pod\nmetadata: {name: more}\nspec: {containers: [{name: m, image: more:1}]}\n",
    b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"j"},"spec":{"containers":[{"name":"c","image":"j:1"}]}}',
    b'{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"i"},"spec":{"containers":[{"name":"c","image":"i:1"}]}}]}\n',
    b"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: l}]}}\n",
    b"apiVersion: v1\nkind: Service\nmetadata: {name: s}\n", b"# nothing\n", b"null\n", b"{}", b"[]", b"5", b'"text"', b"", b" ", b"\n",
    b"kind: Pod\n", b"{apiVersion: v1, kind: Pod, spec: {containers: [{name: f, image: f:1}]}}\n",
    b"%YAML 1.1\n", b"%TAG ! tag:x,1:\n", b"a: |\n  text\n--- inside\n",
]  # fmt: skip
SEPARATORS = [
    b"---\n", b"---\n", b"\n---\n", b"--- # c\n", b"---  \n", b"---\t#c\n", b"--- x\n", b"---x\n", b"----\n", b"---\r\n", b" ---\n", b"...\n",
    b"...\n---\n", b"---\n---\n", b"\n", b"", b" ", b"\t\n", b",", b"#\n", b"---\n\xef\xbb\xbf", b"\xef\xbb\xbf", b"---\n# c\n---\n", b"\xc2\xa0", b"---",
]  # fmt: skip


def _encoded(random, text):
    as_text = text.decode("utf-8", "replace")
    kind = random.randrange(8)
    if kind == 0:
        return b"\xef\xbb\xbf" + text
    if kind <= 4:
        mark, name = (b"\xff\xfe", "utf-16-le") if kind <= 2 else (b"\xfe\xff", "utf-16-be")
        return mark + as_text.encode(name) + random.choice([b"", b"", b"", b"\n", b"\0\xd8", b"\xd8\0\xdc\0"])
    if kind == 5:
        return text.replace(b"\n", b"\r\n")
    place = random.randrange(len(text) + 1)
    byte = random.choice([b"# caf\xe9\n", b"\xe9", b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\0", b"\x7f"])
    return text[:place] + byte + text[place:]


def _field(random, text):
    lines = text.split(b"\n")
    which = random.choice([b"image:", b"image:", b"imagePullPolicy:", b"name:", b"kind:", b"apiVersion:", b"reference:"])
    places = [i for i, line in enumerate(lines) if which in line]
    if not places:
        return text
    at = random.choice(places)
    values = IMAGES if which in (b"image:", b"reference:") else POLICIES if which == b"imagePullPolicy:" else mutations.YAML_VALUES
    begin = lines[at][: lines[at].index(which)]
    changed = begin + which + b" " + random.choice(values)
    if random.random() < 0.5:
        lines[at] = changed
    else:  # the key again
        lines.insert(at + 1, changed.replace(b"- ", b"  "))
    return b"\n".join(lines)


def _manifest_once(random, text, others):
    kind = random.randrange(10)
    if kind <= 3:
        looks_like_json = text.lstrip().startswith(b"{")
        return (mutations.json_once if looks_like_json else mutations.yaml_once)(random, text, others)
    if kind <= 5:
        return _field(random, text)
    if kind == 6:
        return text + random.choice(SEPARATORS) + random.choice(DOCUMENTS + others)
    if kind == 7:
        return random.choice(DOCUMENTS + others) + random.choice(SEPARATORS) + text
    if kind == 8:
        place = random.choice([i for i in range(len(text) + 1) if i == 0 or text[i - 1 : i] in (b"\n", b"}")])
        return text[:place] + random.choice(SEPARATORS) + text[place:]
    return _encoded(random, text)


manifest = mutations.several(_manifest_once)
