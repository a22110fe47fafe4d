"""Mutations of real files that keep most of their grammar. Each is a function of (random, text, other texts)."""

import re

JSON_VALUES = [
    b"null", b"true", b"false", b"0", b"-0", b"1e3", b"1E+2", b"110.0", b"1.5", b"-7", b"01", b"1.", b".5", b"+1",
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809", b"1e400", b"1e21", b"123456789012345678901",
    b'""', b'"x"', b'"\\u00e9"', b'"\\ud83d\\ude00"', b'"\\ud83d"', b'"\\/"', b'"\\x"', b'"\\u12"', b'"\t"', b'"\xff"',
    b'"\xc3\xa9"', b"[]", b"{}", b"[1,[2]]", b'{"a":1,"a":2}', b"NaN", b"Infinity", b"nul", b"True", b"'x'", b"",
]  # fmt: skip
JSON_TOKEN = re.compile(rb'"(?:[^"\\\n]|\\.)*"|-?[0-9][0-9.eE+-]*|[a-z]+|[\[\]{}:,]|\s+|.', re.DOTALL)
SPACES = [b" ", b"\n", b"\t", b"\r\n", b"\x0b", b"\xc2\xa0", b"\xef\xbb\xbf", b"// c\n", b"# c\n", b"/* c */"]


def json_once(random, text, others):
    tokens = JSON_TOKEN.findall(text)
    if not tokens:
        return random.choice(JSON_VALUES)
    at = random.randrange(len(tokens))
    values = [i for i, token in enumerate(tokens) if token[:1] not in b"[]{}:," and token.strip()]
    kind = random.randrange(10)
    if kind <= 2 and values:
        tokens[random.choice(values)] = random.choice(JSON_VALUES)
    elif kind == 3:
        del tokens[at]
    elif kind == 4:
        tokens.insert(at, tokens[at])
    elif kind == 5:
        tokens.insert(at, random.choice(SPACES))
    elif kind == 6 and values:  # a key again
        which = random.choice(values)
        tokens.insert(which, tokens[which] + b":" + random.choice(JSON_VALUES) + b",")
    elif kind == 7 and values:  # another case
        which = random.choice(values)
        tokens[which] = random.choice([tokens[which].upper(), tokens[which].swapcase()])
    elif kind == 8:
        tokens.append(random.choice([b"x", b"\n", b"\n{}", b",", b"}", random.choice(others)]))
    else:
        other = JSON_TOKEN.findall(random.choice(others))
        begin = random.randrange(len(other) + 1)
        tokens[at:at] = other[begin : begin + random.randrange(6)]
    return b"".join(tokens)


def several(once):
    """One to four of these mutations, mostly one."""

    def mutate(random, text, others):
        for _ in range(random.choice([1, 1, 1, 2, 2, 3, 4])):
            text = once(random, text, others)
        return text

    return mutate


json = several(json_once)

YAML_VALUES = [
    b"yes", b"no", b"on", b"Off", b"y", b"N", b"true", b"True", b"tRUE", b"null", b"~", b"Null", b"", b"0", b"0110", b"08", b"0o17",
    b"0x1F", b"-0x1f", b"0b101", b"0b-1", b"1_000", b"_1", b"1e3", b"1E+2", b"110.0", b".5", b"5.", b"-.5", b"+7", b"-0", b".inf",
    b"-.INF", b".nan", b"1:30", b"12:30:45", b"2001-01-01", b"2001-01-01T00:00:00Z", b"1e400", b"9223372036854775808",
    b"18446744073709551616", b"1e21", b"0.1", b"1e-7", b"123456789012345678", b"!!str 5", b"!!int '5'", b"!!float 5", b"!!bool yes",
    b"!!binary aGk=", b"!!null ''", b"!x 5", b"! yes", b"!!timestamp 2001-01-01", b"!<tag:yaml.org,2002:int> 0x10",
    b"'it''s'", b'"a\\tb\\x41\\u00e9\\U0001F600\\/\\e\\0\\_\\N"', b'"\\q"', b'"\\ud83d"', b'"two\n  lines"', b"'two\n\n   lines'",
    b'"fold\\\n   ed"', b"two words", b"a: b", b"a :b", b"a#b", b"a #b", b"*a", b"&a 5", b"&b {k: v}", b"[1, yes, a]", b"[a, ]", b"[a: b]",
    b"{a: 1, b: [c]}", b"{a, b}", b"{a: 1, a: 2}", b'{"a":1}', b'{"a":b}', b"{? a : b}", b"[", b"{", b"- a", b"-", b"- - a", b"? a",
    b"|\n    lit\n     eral\n", b">-\n    fol\n    ded\n", b"|+\n    keep\n\n", b"|2\n    two\n", b"|\n  \tx\n", b"@x", b"`x", b"%x", b"!x",
    b"a\tb", b"\ta", b"a\t# c", b"a\t", b"\xe9", b"\xc3\xa9", b"\xef\xbb\xbfx", b"\x7f", b"\x07", b"\xc2\x85", b"a\xe2\x80\xa8b", b"x?y", b"?x",
    b"http://a:80/b", b"a,b", b"[http://a:80/b]", b"{a: http://b:80}", b"[a:b]", b"{a:b}", b"{a:}", b"[-]", b"[- a]", b"[?x]", b"{x?: y}",
    b"<<", b"'<<'", b"\xff", b"a\rb", b"a\r\n", b"...", b"---",
]  # fmt: skip
YAML_LINES = [
    b"---", b"--- ", b"--- a", b"---\t# c", b"...", b"... x", b"# comment", b"#", b"", b"   ", b"\t", b"%YAML 1.1", b"%YAML 1.2", b"%TAG ! tag:x,1:",
    b"x-a: &a {imagePullPolicy: Never}", b"x-b: &b {image: reg.example.test/b:1, name: other}", b"x-l: &l [*a, *b]", b"1: one", b'"1": one',
    b"1.5: x", b"yes: x", b"true: x", b"~: x", b"null: x", b"[a]: x", b"{a: b}: x", b"? a", b": b", b"? [a]\n: b", b"18446744073709551615: x",
    b"1e6: x", b"0x10: x", b"a", b"'a", b'"a', b"]", b"}", b"key:", b"key:value", b"key : value", b"- item", b"-item", b"\xef\xbb\xbf",
    b"{}", b"---\nkind: Second", b"---\n: [", b"\xe9 latin", b"# \xe9 latin", b"@", b"...\n...",
]  # fmt: skip
YAML_KEY = re.compile(rb"^(\s*(?:- )*)([^\s:#][^:\n]*?)(\s*:)(?=\s|$)(.*)$")


def yaml_once(random, text, others):
    lines = text.split(b"\n")
    at = random.randrange(len(lines))
    line = lines[at]
    indent = line[: len(line) - len(line.lstrip(b" "))]
    keys = [i for i, one in enumerate(lines) if YAML_KEY.match(one)]
    key = random.choice(keys) if keys else at
    match = YAML_KEY.match(lines[key])
    kind = random.randrange(20)
    if kind <= 4 and match:  # another value
        lines[key] = match[1] + match[2] + match[3] + b" " + random.choice(YAML_VALUES)
    elif kind == 5 and match:  # the same key again, with another value
        begin = match[1].replace(b"-", b" ")
        lines.insert(random.choice([key, key + 1, len(lines)]), begin + match[2] + b": " + random.choice(YAML_VALUES))
    elif kind == 6:
        lines.insert(at, line)
    elif kind == 7:
        del lines[at]
    elif kind == 8:
        lines.insert(at, indent + random.choice(YAML_LINES))
    elif kind == 9:
        lines.insert(at, random.choice(YAML_LINES))
    elif kind == 10:  # another depth
        lines[at] = random.choice([b" ", b"  ", b"\t", b"- "]) + line if random.random() < 0.6 else line[1:]
    elif kind == 11 and match:  # a merge
        begin = match[1].replace(b"-", b" ")
        merge = random.choice([b"*a", b"*b", b"*l", b"[*a, *b]", b"{image: m.example.test/m:1}", b"{name: yes}", b"[{a: 1}]", b"5", b"~", b"[a]"])
        lines.insert(random.choice([key, key + 1]), begin + b"<<: " + merge)
        if merge.find(b"*") >= 0 and random.random() < 0.9:
            lines[0:0] = [YAML_LINES[12], YAML_LINES[13], YAML_LINES[14]]
    elif kind == 12 and match:  # another spelling of the key
        spelling = random.choice([b'"%s"', b"'%s'", b"&k %s", b"!!str %s", b"? %s\n", b"%s "]) % match[2]
        lines[key] = match[1] + spelling + match[3] + match[4]
    elif kind == 13 and match:
        lines[key] = match[1] + random.choice([match[2].upper(), match[2].swapcase(), match[2][:-1], b""]) + match[3] + match[4]
    elif kind == 14:
        lines[at] = line + random.choice([b" ", b"\t", b" # c", b"#c", b" \\", b"\r", b" |", b" >", b",", b":", b"'", b'"', b"\xc2\xa0"])
    elif kind == 15:  # a part of another file
        other = random.choice(others).split(b"\n")
        begin = random.randrange(len(other))
        lines[at:at] = other[begin : begin + random.randrange(5)]
    elif kind == 16:
        place = random.randrange(len(text) + 1)
        some = random.choice([b":", b" ", b"\n", b"-", b"#", b"'", b'"', b"{", b"}", b"[", b"]", b",", b"&", b"*", b"!", b"|", b"?", b"\t", b"%"])
        return text[:place] + some + text[place:]
    elif kind == 17:
        whole = random.randrange(8)
        if whole == 0:
            return b"\xef\xbb\xbf" + text
        if whole == 1:
            return text.replace(b"\n", b"\r\n")
        if whole == 2:
            return text.decode("latin-1").encode(random.choice(["utf-16-le", "utf-16-be", "utf-16"]))
        if whole == 3:
            return b"\xff\xfe" + text.decode("latin-1").encode("utf-16-le") + random.choice([b"", b"\0", b"\0\xd8"])
        if whole == 4:
            return text.rstrip(b"\n")
        if whole == 5:
            return b"\n" + text
        return text + random.choice([b"---\n", b"---\n" + text, b"...\n", b"---\n\xef\xbb\xbf" + text, b"\n\n", b"\0", b"\t"])
    elif kind == 18 and match:  # flow style in several lines
        lines[key] = match[1] + match[2] + match[3] + random.choice([b" {a: 1,\n  b: 2}", b" [a,\n b]", b" [a,\n\n   b c\n   d]", b" {a\n: b}"])
    else:
        place = random.randrange(len(text) + 1)
        return text[:place] + text[place + random.randrange(1, 4) :]
    return b"\n".join(lines)


yaml = several(yaml_once)


def with_fitting(make, once, share):
    """This share of the texts is of a corpus and mutated. The others are made of fitting parts; a third of these has one mutation."""
    mutate = several(once)

    def either(random, text, others):
        if random.random() < share:
            return mutate(random, text, others)
        text = make(random)
        return text if random.random() < 0.67 else once(random, text, others)

    return either
