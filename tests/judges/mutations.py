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


def _json_once(random, text, others):
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


json = several(_json_once)
