"""Mutations of the registries that tests/judges/registry.go describes, as those of mutations.py."""

import copy
import json

from mutations import several

TYPE, DIGEST = "Content-Type: {type}", "Docker-Content-Digest: {digest}"
STATUSES = [
    200, 200, 201, 202, 203, 204, 205, 206, 207, 226, 299, 300, 301, 302, 303, 304, 305, 306, 307, 308, 400, 401, 402, 403, 404, 405, 405, 405,
    406, 408, 410, 418, 429, 451, 500, 501, 502, 503, 504, 599,
]  # fmt: skip
TYPES = [
    "{type}", "{type}; charset=utf-8", "{type};", "{type} ;x", "application/json", "text/plain", "text/plain; charset=utf-8", "text/html", "Text/HTML", "", "a",
    "application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json", "application/vnd.docker.distribution.manifest.v1+prettyjws", "Application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.manifest.v1+json,application/json", "application/octet-stream", "application/vnd.oci.image.config.v1+json", '"{type}"',
]  # fmt: skip
DIGESTS = ["{digest}", '"{digest}"', "{DIGEST}", "{sha512}", "{hex}", "sha256:", "sha256:abc", "md5:{hex}", "sha256:" + "0" * 64, "", " {digest} ", "{digest},{digest}", "sha256: {hex}", "SHA256:{hex}", "sha384:{hex}", "sha256:{hex}0"]
LOCATIONS = ["{hop}", "?{next}", "{origin}{hop}", "//{address}{hop}", "{elsewhere}{hop}", "http://u:p@{address}{hop}", "http://u@{address}{hop}", "{hop}#x", "{path}", "", "/nowhere", "v1?{next}", "../manifests/v1?{next}", "./v1?{next}",
             "ftp://{address}{hop}", "{hop}&a=%zz", "/%zz?{next}", "{hop}&a=\u00e9", "HTTP://{address}{hop}", "http:{hop}", "http://{address}:x{hop}", "{hop} x", "{hop}&a=b;c"]
LENGTHS = ["none", "0", "1", "{size}", "99999", "abc", "+{size}", "-1", "5000000", "", "{size},{size}", "0{size}", "9223372036854775808", "{size} {size}"]
HEADERS = [
    'Warning: 299 - "deprecated"', "ETag: W/\"x\"", "Set-Cookie: x={kilobytes}", "X-Meta: a", " folded", "\tDocker-Content-Digest: {digest}", "garbage", "X Meta: a", ": a", "X-Note: caf\u00e9", "X-Note: a\u0001b",
    "Content-Length: {size}", "Content-Length: 7", "Content-Encoding: gzip", "Content-Encoding: GZIP", "Content-Encoding: identity", "Content-Encoding: br", "Content-Encoding: ", "Retry-After: 120", "Link: </x>; rel=next",
    "OCI-Subject: x", "Content-Range: bytes 0-9/10", "Accept-Ranges: bytes", "Date: x", "Vary: *", "Cache-Control: no-store", "X-Meta:", "Alt-Svc: h2=\":1\"",
]  # fmt: skip
BODIES = ["{manifest}", "{other}", "{index}", "{manifest}\n", " {manifest}", "{manifest}x", "", "{}", "[]", "null", "<html>", '{"fsLayers":[]}', '{"fsLayers":[1]}', '{"mediaType":5}', '{"layers":[],"manifests":[]}', '{"Manifests":[{}]}', "\ufeff{manifest}", '{"schemaVersion":2}', '{"config":{}}', '{"a":1,"a":2}']
TOKENS = ['{"token":"tok"}', '{"token":"tok","access_token":"tok","scope":"x"}', '{"access_token":"tok","scope":["x"]}', '{"token":1,"access_token":"tok"}', '{"access_token":"tok"}', '{"Token":"tok"}', '{"token":"x","token":"tok"}', '{"token":"tok"} trailing', '{"token":"tok","expires_in":"300"}', '{"token":"tok","expires_in":0}', "{}", '{"token":""}', "", "<html>", '{"token":"tok","issued_at":"x"}', '{"token":"x","access_token":"tok"}', "[]", "null", '{"token":"tok\\n"}', '{"token":"tok","expires_in":1e2}']
REALM = 'Bearer realm="{realm}",service="svc",scope="repository:x/app:pull"'
CHALLENGES = [REALM, 'bearer realm="{realm}"', "Bearer realm={realm}", 'Basic realm="x"', 'Basic realm="x", ' + REALM, "Negotiate", 'Digest realm="x"', 'Bearer realm="{realm}?a=b"', 'Bearer service="x"', 'Bearer realm=""', 'Bearer realm="/token"', REALM + ',error="invalid_token"', REALM + ',error="insufficient_scope"', 'Bearer realm="{origin}/nowhere"', 'Bearer realm="{elsewhere}/token/x"', 'Bearer realm="{other realm}"', "", 'Bearer realm="{realm}#x"']
SLOTS = ["head", "head", "tag", "digest", "token"]
REFERENCES = [":v1", "@{digest}", "@{digest}", ":v1@{digest}", "@sha256:" + "0" * 64]
BASIC = 'Basic realm="x"'


def _headers(random, reply):
    headers = reply.setdefault("headers", [TYPE, DIGEST])
    kind = random.randrange(8)
    named = {0: ("Content-Type: ", TYPES), 1: ("Docker-Content-Digest: ", DIGESTS), 2: ("Location: ", LOCATIONS)}
    if kind in named:
        name, values = named[kind]
        headers[:] = [line for line in headers if not line.startswith(name) or random.random() < 0.1]
        headers.append(name + random.choice(values))
    elif kind == 3 and headers:
        del headers[random.randrange(len(headers))]
    elif kind == 4 and headers:
        headers.append(random.choice(headers))
    elif kind == 5 and headers:
        at = random.randrange(len(headers))
        headers[at] = random.choice([headers[at].upper(), headers[at].lower(), headers[at].replace(": ", ":"), headers[at].replace(": ", ":  \t"), headers[at] + " "])
    else:
        headers.insert(random.randrange(len(headers) + 1), random.choice(HEADERS))


def _reply(random, reply, slot):
    kind = random.randrange(9)
    if kind <= 1:
        reply["status"] = random.choice(STATUSES)
        if 300 < reply["status"] < 309 and random.random() < 0.8:
            reply.setdefault("headers", [TYPE, DIGEST]).append("Location: " + random.choice(LOCATIONS))
    elif kind <= 4:
        _headers(random, reply)
    elif kind == 5:
        reply["body"] = random.choice(TOKENS if slot == "token" else BODIES)
    elif kind == 6 and random.random() < 0.3:
        reply["cut"] = random.choice([0, 1, 20, 100])
    elif kind == 6:
        reply["length"] = random.choice(LENGTHS)
    elif kind == 7:
        reply["encode"] = "gzip"
        if random.random() < 0.8:
            reply.setdefault("headers", [TYPE, DIGEST]).append("Content-Encoding: gzip")
    elif random.random() < 0.5:
        reply["chunked"] = True
    else:
        reply["line"] = random.choice(["HTTP/1.1 200", "HTTP/1.0 200 OK", "HTTP/1.1 200 OK and more", "HTTP/1.1 abc", "SSH-2.0", "HTTP/1.1", "HTTP/1.1 2000 OK"])


VALUES = ['"x"', "2", '"2"', "2.0", "2e0", "-1", "9223372036854775808", "true", "null", "[]", "[1]", '["x"]', "[{}]", "[null]", "{}", '{"a":"b"}', '{"a":1}', '"eA=="', '"eA"', '{"os":1}', '{"os.features":["x"]}', '{"os.features":[1]}']
MEMBERS = ["schemaVersion", "mediaType", "artifactType", "config", "layers", "manifests", "subject", "annotations", "Annotations", "a"]
PARTS = ["mediaType", "digest", "size", "Size", "urls", "annotations", "data", "platform", "artifactType", "a"]


def _manifest(random, kind):
    """A document with one member, of its own or of a descriptor, of any type."""
    member = f'"{random.choice(MEMBERS)}":{random.choice(VALUES)}'
    if random.random() < 0.5:
        descriptor = '{"' + random.choice(PARTS) + '":' + random.choice(VALUES) + "}"
        name = "manifests" if kind == "index" else random.choice(["config", "layers", "subject"])
        member = f'"{name}":{descriptor if name in ("config", "subject") else "[" + descriptor + "]"}'
    return "{" + member + "}"


def _login(random, scenario):
    """Credentials, a refresh token or none, and mostly something that asks for them."""
    user, password = random.choice([("me", "secret"), ("me", "secret"), ("me", "secret"), ("", "secret"), ("me", ""), ("", "")])
    scenario.update(user=user, password=password)
    asks = random.choice([scenario, scenario.get("mirror", scenario)])
    if random.random() < 0.8:
        asks["challenge"] = [random.choice([REALM, REALM, BASIC, BASIC + ", " + REALM, 'Bearer realm="{other realm}"'])]
    asks["needs"] = random.random() < 0.7
    if random.random() < 0.7:
        asks["post"] = [{"status": random.choice([200, 200, 200, 400, 401, 403, 404, 405, 500])}]
        if random.random() < 0.3:
            _reply(random, asks["post"][0], "token")
    scenario["wary"] = random.random() < 0.3


def _once(random, text, others):
    scenario = json.loads(text)
    if random.random() < 0.25:
        _whole(random, scenario)
    elif "mirror" in scenario and random.random() < 0.5:
        scenario["mirror"] = _part(random, scenario["mirror"], others)
    else:
        scenario = _part(random, scenario, others)
    return json.dumps(scenario).encode()


def _whole(random, scenario):
    kind = random.randrange(4)
    if kind == 0:
        _login(random, scenario)
    elif kind == 1:
        scenario["reference"] = random.choice(REFERENCES)
    elif kind == 2:
        scenario["mirror"] = {}
    else:
        scenario["pullOnly"] = random.random() < 0.7


def _part(random, scenario, others):
    kind = random.randrange(11)
    if kind == 0:
        scenario["challenge"] = [random.choice(CHALLENGES) for _ in range(random.choice([1, 1, 1, 2, 3]))]
    elif kind == 1:
        other = json.loads(random.choice(others))
        scenario.update(copy.deepcopy({key: other[key] for key in other if key != "mirror" and random.random() < 0.7}))
    elif kind == 2:
        scenario["kind"] = random.choice(["index", "manifest"])
    elif kind == 3:
        scenario["manifest"] = _manifest(random, scenario.get("kind"))
    else:
        slot = random.choice(SLOTS)
        replies = scenario.setdefault(slot, [{}])
        if random.random() < 0.15:
            hop = {"status": random.choice([301, 302, 303, 307, 308]), "headers": ["Location: " + random.choice(LOCATIONS)]}
            replies[:0] = [hop] * random.choice([1, 1, 2, 9, 10])
        elif slot == "token" and "body" not in replies[-1]:
            replies[-1]["body"] = random.choice(TOKENS)
        else:
            _reply(random, random.choice(replies), slot)
    return scenario


pull = several(_once)
