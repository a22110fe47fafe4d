"""Mutations of docker's configuration and of CRI-O's auth.json, as those of mutations.py."""

import mutations

KEYS = [
    b"quay.io", b"quay.io/team", b"quay.io/team/app", b"quay.io/", b"https://quay.io", b"https://quay.io/v1/", b"http://quay.io/v2", b"https://quay.io/team", b"quay.io:443", b"QUAY.IO", b"docker.io", b"index.docker.io",
    b"https://index.docker.io/v1/", b"registry-1.docker.io", b"docker.io/library", b"docker.io/library/busybox", b"busybox", b"registry.example.test:5000", b"registry.example.test:5000/a", b"registry.example.test:5000/a/b/c",
    b"registry.example.test", b"http://registry.example.test:5000/a", b"localhost", b"*.io", b"", b"/", b"http://", b"https://http://quay.io", b"http://https://quay.io/x", b"quay.io/team/app:v1", b"quay.io/team/app@sha256:x",
]  # fmt: skip
AUTHS = [
    b'"dXNlcjpwYXNz"', b'"dXNlcjo="', b'"OnBhc3M="', b'"Og=="', b'"dXNlcg=="', b'"dXNlcjpwYXNzOm1vcmU="', b'"dXNlcjpwYXNzAAA="', b'"dXNlcjoAcGFzcwA="', b'"dXNlcjpwYXNz\\n"', b'"dXNlcjpw\\nYXNz"', b'" dXNlcjpwYXNz"', b'"dXNlcjo"',
    b'"dXNlcjo=="', b'"%%%"', b'""', b"null", b"5", b"[]", b'"dXNlcjpwYXN_"', b'"dXNlcjpwYf9z"', b'"dXNlcjp=wYXNz"', b"true",
]  # fmt: skip
ENTRIES = [b"{}", b"null", b"[]", b'"x"', b'{"username": "u", "password": "p"}', b'{"identitytoken": "t"}', b'{"auth": "Og==", "identitytoken": "t"}', b'{"auth": "", "email": 5}', b'{"AUTH": "dXNlcjpwYXNz"}',
           b'{"auth": "dXNlcjpwYXNz", "auth": null}', b'{"auth": "dXNlcjpwYXNz", "Auth": "b3RoZXI6cA=="}', b'{"auth": "dXNlcjpwYXNz", "identitytoken": 5}', b'{"auth": "dXNlcjpwYXNz", "identityToken": "t"}']
HELPERS = [b'"ecr-login"', b'"gcloud"', b'""', b"null", b"5", b'"a b"', b'"x/y"', b'"Osxkeychain"']


def _member(random):
    key = b'"' + random.choice(KEYS) + b'":'
    if random.random() < 0.5:
        return key + b'{"auth":' + random.choice(AUTHS) + b"}"
    return key + random.choice(ENTRIES)


def _once(random, text, others):
    kind = random.randrange(8)
    if kind <= 1:
        return mutations.json_once(random, text, others)
    if kind <= 4:  # an entry more, within "auths" if it is there
        at = text.find(b'"auths"')
        at = text.find(b"{", max(at, 0)) + 1
        if at == 0:
            return text
        comma = b"" if text[at:].lstrip().startswith(b"}") else b","
        return text[:at] + _member(random) + comma + text[at:]
    if kind == 5:
        at = text.find(b"{") + 1
        if at == 0:
            return text
        comma = b"" if text[at:].lstrip().startswith(b"}") else b","
        helper = b'"' + random.choice(KEYS) + b'":' + random.choice(HELPERS)
        more = random.choice([b'"credHelpers":{' + helper + b"}", b'"credHelpers":null', b'"CredHelpers":[]', b'"Auths":{' + _member(random) + b"}", b'"auths":null', b'"credsStore":5'])
        if comma and random.random() < 0.5:
            at = text.rindex(b"}") if b"}" in text[at:] else len(text)
            return text[:at] + b"," + more + text[at:]
        return text[:at] + more + comma + text[at:]
    found = [key for key in KEYS if key and b'"' + key + b'"' in text]
    if kind == 6 and found:
        return text.replace(b'"' + random.choice(found) + b'"', b'"' + random.choice(KEYS) + b'"', 1)
    at = text.find(b'"auth"')
    at = text.find(b'"', at + 6) if at >= 0 else -1
    end = text.find(b'"', at + 1) + 1
    return text[:at] + random.choice(AUTHS) + text[end:] if at >= 0 and end > 0 else text


auth = mutations.several(_once)
