"""Mutations of WWW-Authenticate headers, a line each, as those of mutations.py."""

import re

from mutations import several

SCHEMES = [b"Bearer", b"Basic", b"bearer", b"BASIC", b"Digest", b"Negotiate", b"Negotiate YIIab==", b"NTLM", b"Bearer:", b"Bea rer", b""]
NAMES = [b"realm", b"service", b"scope", b"error", b"Realm", b"SCOPE", b"error_description", b"charset", b"realm ", b" service", b"r\xc3\xa9", b'"realm"', b"", b"nonce"]
VALUES = [
    b'"https://auth.example.test/token"', b'"https://auth.example.test"', b'"https://auth.example.test/token?account=x&service=y"', b'"https://auth.example.test/t?a=b;c=d&e"',
    b'"https://auth.example.test:443/token"', b'"https://auth.example.test:5001/token"', b'"https://[::1]:5001/token"', b'"https://u:p@auth.example.test/token"',
    b'"http://auth.example.test/token"', b'"http://registry.example.test/token"', b'"HTTPS://Auth.Example.Test/Token"', b'"/token"', b'"//auth.example.test/token"', b'"auth.example.test/token"',
    b'"https:///token"', b'"https://auth.example.test:port/"', b'"https://auth.example.test:99999/"', b'"https://auth.example.test:/x"', b'"https://auth.example.test/a b"', b'"https://auth example.test/"',
    b'"https://auth.example.test/%zz"', b'"https://auth.example.test/%20x"', b'"https://auth.example.test/\xc3\xa9"', b'"https://auth.example.test/t?q=%zz"', b'"https://auth.example.test/t#f"',
    b'"https://auth.example.test/t?scope=z&x=a+b"', b'"ftp://auth.example.test/"', b'"https://a_b.example.test/token"', b'"https://auth.example.test?x"', b'"https://auth.example.test\\\\t"', b'"https://<h>/"',
    b"https://auth.example.test/token", b"registry", b'"registry.example.test"', b'"repository:x:pull"', b'"repository:x:pull repository:y:pull"', b'"repository:y:pull  repository:x:pull repository:y:pull"',
    b"repository:x:pull", b'"aws"', b'""', b"", b'"a\\"b"', b'"a\\\\b"', b'"a', b'"a\\', b'"a, b=c"', b"'x'", b'"invalid_token"', b'"insufficient_scope"', b'"\xc3\xa9"', b'"\xff"', b'"a"b', b'"a" b',
]  # fmt: skip
PARAMETER = re.compile(rb'([\w-]+)(\s*=\s*)("(?:[^"\\]|\\.)*"|[^\s,"]*)')


def _once(random, text, others):
    lines = text.split(b"\n")
    at = random.randrange(len(lines))
    line = lines[at]
    found = list(PARAMETER.finditer(line))
    kind = random.randrange(12)
    if kind <= 2 and found:
        match = random.choice(found)
        line = line[: match.start(3)] + random.choice(VALUES) + line[match.end(3) :]
    elif kind == 3 and found:
        match = random.choice(found)
        line = line[: match.start(1)] + random.choice(NAMES) + line[match.end(1) :]
    elif kind == 4 and found:
        match = random.choice(found)
        line = line[: match.start(2)] + random.choice([b" = ", b"= ", b" =", b":", b"", b"=="]) + line[match.end(2) :]
    elif kind <= 6:
        more = random.choice(NAMES) + b"=" + random.choice(VALUES)
        match = random.choice(found) if found else None
        line = line[: match.start()] + more + b"," + line[match.start() :] if match and random.random() < 0.5 else line + b"," + more
    elif kind == 7:
        line = re.sub(rb"^\S*", lambda _: random.choice(SCHEMES), line, count=1)
    elif kind == 8:
        place = random.randrange(len(line) + 1)
        line = line[:place] + random.choice([b" ", b"\t", b",", b'"', b"\\", b"=", b";", b"(", b"\x80", b", ", b" ,"]) + line[place + random.randrange(2) :]
    elif kind == 9:
        return b"\n".join([*lines[:at], random.choice(random.choice(others).split(b"\n")), *lines[at:]])
    elif kind == 10:
        line = line + random.choice([b", ", b",", b" "]) + random.choice(random.choice(others).split(b"\n"))
    else:
        place = random.randrange(len(line) + 1)
        line = line[:place] + line[place + random.randrange(1, 4) :]
    lines[at] = line
    return b"\n".join(lines)


challenge = several(_once)
