"""Mutations of what credential plugins print, and of the file that configures kubelet's."""

import re

import mutations

DURATIONS = [b'"1h"', b'"10m0s"', b'"0s"', b'"-1h"', b'"1.5h"', b'"1h30m"', b'"0"', b'"5"', b"5", b'""', b"null", b'"1d"', b'"+1m"', b'"100us"', b'"1\xc2\xb5s"', b'".5s"', b'"999999h"', b'"9999999h"', b"{}", b'" 1h"', b'"-0s"']
TIMES = [
    b'"2099-01-01T00:00:00Z"', b'"2020-01-01T00:00:00.123456+02:00"', b"null", b'""', b'"tomorrow"', b"1700000000", b'"2099-01-01T00:00:00"',
    b'"2099-01-01"', b'"2099-01-01t00:00:00z"', b'"2099-02-30T00:00:00Z"', b'"2099-01-01T24:00:00Z"', b'"2016-12-31T23:59:60Z"',
    b'"2099-01-01T00:00:00,5Z"', b'"2099-01-01T00:00:00.Z"', b'"2099-01-01T00:00:00+24:00"', b'"2099-01-01T00:00:00-00:00"', b'"2099-01-01 00:00:00Z"',
    b"2099-01-01T00:00:00Z", b'"9999-12-31T23:59:59Z"', b'"0001-01-01T00:00:00Z"', b'"2099-1-1T0:0:0Z"', b'"2099-01-01T00:00:00+23:59"', b'"2099-01-01T00:00:00.123456789123Z"',
    b'"2099-01-01T9:00:00Z"', b'"2099-01-01T10:00:00+02:60"', b'"2099-01-01T10:00:00-25:00"',
]  # fmt: skip
TEXTS = [b'"x"', b'""', b"null", b"5", b"true", b'"a\\nb"', b"[]", b'"\\u00e9"', b"{}"]
VERSIONS = [b'"client.authentication.k8s.io/v1"', b'"client.authentication.k8s.io/v1beta1"', b'"v1"', b'""', b"null", b'"client.authentication.k8s.io/__internal"',
            b'"credentialprovider.kubelet.k8s.io/v1"', b'"credentialprovider.kubelet.k8s.io/v1beta1"', b'"kubelet.config.k8s.io/v1"', b'"kubelet.config.k8s.io/v1beta1"', b'"a/b/c"', b"1"]
KINDS = [b'"ExecCredential"', b'"CredentialProviderResponse"', b'"CredentialProviderConfig"', b'"execcredential"', b'""', b"null", b"[]", b'"List"', b'"Status"']
IMAGES = [b'["*.example.test"]', b"[]", b"null", b'"x"', b'["a:80/b", "c"]', b'["[::1]:5000"]', b'["a b"]', b'["a:x"]', b'["%zz"]', b'[""]', b'["*"]', b'["https://x"]', b'["a", null]', b"[5]", b'["a@b"]', b'["a?b#c"]', b'["*.*.x/y z"]']
AUTHS = [b'{"r": {"username": "u", "password": "p"}}', b"{}", b"null", b'{"r": null}', b'{"r": {"username": 5}}', b'{"r": {}, "r": {"password": "q"}}', b'{"r": {"username": "a", "more": 1}}', b"[]", b'{"": {"Username": "x"}}', b'{"r": []}']
FIELDS = {
    b"expirationTimestamp": TIMES, b"token": TEXTS, b"clientCertificateData": TEXTS, b"clientKeyData": TEXTS, b"interactive": TEXTS, b"spec": TEXTS, b"status": TEXTS,
    b"apiVersion": VERSIONS, b"kind": KINDS, b"Kind": KINDS, b"cacheKeyType": [b'"Image"', b'"Registry"', b'"Global"', b'"image"', b'""', b"null", b"5"], b"cacheDuration": DURATIONS,
    b"auth": AUTHS, b"username": TEXTS, b"password": TEXTS, b"defaultCacheDuration": DURATIONS, b"matchImages": IMAGES, b"name": TEXTS + [b'"a/b"', b'"a b"', b'".."', b'"ecr-credential-provider"'],
    b"args": [b"null", b"[]", b'["a", null]', b"[5]", b"x"], b"env": [b"null", b'[{"name": "A", "value": "b"}]', b"[{}]", b"[null]", b'[{"name": 5}]', b'[{"name": "A", "more": 1}]', b"{}"],
    b"cluster": [b"{}", b'{"server": 5}', b"null", b'{"config": [1]}', b'{"certificate-authority-data": "x"}'], b"providers": [b"[]", b"null", b"[null]", b"{}"],
    b"tokenAttributes": [b"null", b"{}", b'{"serviceAccountTokenAudience": "a", "cacheType": "Token", "requireServiceAccount": false}', b"x"],
    b"cacheType": [b'"Token"', b'"ServiceAccount"', b'"x"', b'""'], b"requireServiceAccount": [b"true", b"false", b"null", b'"true"'], b"serviceAccountTokenAudience": TEXTS,
    b"more": TEXTS,
}  # fmt: skip
MEMBER = re.compile(rb'"(\w+)"(\s*:\s*)("(?:[^"\\\n]|\\.)*"|[\w.-]+)')


def _json_once(random, text, others):
    kind = random.randrange(6)
    if kind <= 1:
        return mutations.json_once(random, text, others)
    if kind <= 3:  # another value of a field that is there
        found = [match for match in MEMBER.finditer(text) if match[1] in FIELDS]
        if not found:
            return text
        match = random.choice(found)
        return text[: match.start(3)] + random.choice(FIELDS[match[1]]) + text[match.end(3) :]
    found = [i for i, byte in enumerate(text) if byte == ord("{")]
    if not found:
        return text
    at = random.choice(found) + 1
    field = random.choice(list(FIELDS))
    comma = b"" if text[at:].lstrip().startswith(b"}") else b","
    return text[:at] + b'"' + field + b'":' + random.choice(FIELDS[field]) + comma + text[at:]


def _yaml_once(random, text, others):
    if random.random() < 0.4:
        return mutations.yaml_once(random, text, others)
    lines = text.split(b"\n")
    found = [(i, match) for i, match in enumerate(map(mutations.YAML_KEY.match, lines)) if match]
    if not found:
        return text
    at, match = random.choice(found)
    if match[2] in FIELDS and random.random() < 0.6:
        lines[at] = match[1] + match[2] + b": " + random.choice(FIELDS[match[2]])
    else:
        field = random.choice(list(FIELDS))
        lines.insert(at + 1, match[1].replace(b"-", b" ") + field + b": " + random.choice(FIELDS[field]))
    return b"\n".join(lines)


def _once(random, text, others):
    return (_json_once if text.lstrip().startswith(b"{") else _yaml_once)(random, text, others)


answer = mutations.several(_once)
