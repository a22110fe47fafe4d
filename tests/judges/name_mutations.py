"""Mutations of names of images, as those of mutations.py."""

from mutations import several

PARTS = [
    b"library/", b"docker.io/", b"index.docker.io/", b"localhost/", b"localhost:5000/", b"a.b/", b"A/", b"a_b/", b"a_b.c/", b"a-/", b"-a/", b"[::1]/",
    b"[::1]:5000/", b"[fe80::1%25eth0]/", b":v1", b":V_1.0-x", b":", b":-x", b":" + b"t" * 128, b":" + b"t" * 129, b"@sha256:" + b"a" * 64,
    b"@sha256:" + b"a" * 63, b"@sha256:" + b"A" * 64, b"@sha512:" + b"b" * 128, b"@md5:" + b"c" * 32, b"@sha256+x:" + b"a" * 64, b"@", b"__", b"___",
    b"..", b"--", b"_", b".", b"-", b"/", b"//", b":80/", b":port/", b":99999/", b" ", b"\n", b"\xc3\xa9", b"\x00", b"https://", b"x" * 250, b"0", b"a" * 64,
    b"%20", b"?", b"~", b"+",
]  # fmt: skip


def _once(random, text, others):
    at = random.randrange(len(text) + 1)
    kind = random.randrange(7)
    if kind <= 2:
        return text[:at] + random.choice(PARTS) + text[at:]
    if kind == 3:
        return text[:at] + text[at + random.randrange(1, 4) :]
    if kind == 4:
        return random.choice(PARTS) + text
    if kind == 5:
        return text + random.choice(PARTS)
    return text[:at] + random.choice([text[at:].swapcase(), random.choice(others)])


reference = several(_once)
