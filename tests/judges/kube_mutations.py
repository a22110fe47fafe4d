"""Mutations of kubeconfigs: other values for their fields, further fields, environments, and those of any YAML."""

import mutations

SERVERS = [
    b"https://api.example.test", b"https://api.example.test:6443/", b"http://api.example.test:8080", b"http://127.0.0.1:8001",
    b"HTTPS://api.example.test:6443", b"Http://API.Example.Test", b"api.example.test", b"api.example.test:6443", b"10.0.0.1:6443",
    b"10.0.0.1:6443/", b'"https://[fe80::1%25eth0]:6443"', b'"https://[FE80::1%25Eth0]"',
    b'"https://[fe80::1%eth0]"', b"api.example.test/k8s", b"localhost:6443", b"https://localhost", b"https://127.0.0.2:6443", b'"[::1]:6443"',
    b'"https://[::1]"', b'"https://[2001:db8::1]:443/x"', b"https://api.example.test/k8s/clusters/c-1//", b"https://h//a/../b/./c",
    b"https://h?x=1", b"https://h/?x", b"'https://h/a?x=%zz#f'", b"'https://h/#%zz'", b"'https://h#f'", b"https://h:443", b"https://h:",
    b"https://h:99999", b"https://h:0", b"https://h:6443x", b"https://h:-1", b"https://", b"https:///x", b"https:/h", b"https:h", b"https:443",
    b"//h:6443", b"/h", b"ftp://h", b"tcp://10.0.0.1:2375", b"unix:///run/x", b"://h", b":6443", b"https://u:p@h", b"u@h:1", b"https://a b",
    b"'https://h/a b'", b"https://h/%41%2F", b"https://h_x.example.test", b'"https://h\\tx"', b'"https://h\\n"', b'" https://h"', b'"https://h "',
    b"https://b\xc3\xbccher.example", b"https://h\\x", b"https://h%41", b"https://h/\xc3\xa9", b"https://h/a;b=c,d/@x:y", b"'*'", b"https://*.x",
]  # fmt: skip
PROXIES = [
    b"http://proxy.example.test:3128", b"https://proxy.example.test", b"socks5://proxy.example.test:1080", b"SOCKS5://127.0.0.1", b"HTTP://P",
    b"socks5h://p", b"socks4://p", b"http://u:p@p:1", b"http://u%40x:p%3aw@p", b"http://u:%zz@p", b"http://a b", b"http://p:99999", b"http://p:x",
    b"http://", b"http:", b"p:3128", b"//p", b'""', b'"http://[::1]:3128"', b"http://p/path?x", b"ftp://p", b"http://p:", b"http://p/",
]  # fmt: skip
DATA = [b"Q0EK", b"S0VZCg==", b'"Q0\\nEK"', b'"Q0 EK"', b"Q0E", b"Q0E=", b"Q0F=", b"Q0EK=", b"Q0E_", b'""', b"=", b"====", b"LS0tLS1CRUdJTg==", b"[81]", b">-\n    Q0\n    EK"]
FILES = [b"ca.crt", b"tls.crt", b"tls.key", b"token", b"./token", b"../nothing", b"missing", b"empty", b"x/../ca.crt", b"folder", b"folder/", b'""', b"/dev/null", b"/missing//x"]
TEXTS = [b"x", b"two words", b'""', b"null", b"me@example.test", b"k", b"u", b"c", b"kind-kind", b"5", b"yes", b'"5"', b"[a]", b"{a: b}", b'"a\\nb"', b'" a "', b"\xc3\xa9", b'"\\u0001"', b'"a\\0b"', b"'t\xc2\x80'"]
BOOLEANS = [b"true", b"false", b"yes", b"off", b'"true"', b"1", b"null", b"True", b"~"]
EXEC = b"{apiVersion: client.authentication.k8s.io/v1%s, command: %s, interactiveMode: %s, provideClusterInfo: %s, env: %s, args: %s}"
LISTS = [b"[a, b]", b"[]", b"null", b"a", b"[a, 1]", b"[null, a]", b"{a: b}", b'["", " x "]', b"[[a]]"]
VARIABLES = [b"[{name: A, value: b}]", b"[{name: A}, {name: A, value: c}]", b"[{value: x}]", b"[null]", b"[{name: A=B, value: c}]", b"null", b"[{name: a, value: 5}]", b"{A: b}", b"[]", b"[{name: KUBERNETES_EXEC_INFO, value: x}]"]
VERSIONS = [b"client.authentication.k8s.io/v1", b"client.authentication.k8s.io/v1beta1", b"client.authentication.k8s.io/v1alpha1", b"v1", b"example.test/v1", b'""', b"null"]
MODES = [b"Never", b"IfAvailable", b"Always", b"never", b'""', b"null"]
EXTRA = [b"{a: [b, c]}", b"{}", b"{Example.test/x y: [b], A: [c]}", b"{a: b}", b"{a: null}", b"[a]", b"{a: [null, 1]}", b'{"": [x]}', b"{a%b: [x], A%B: [y]}", b"{\xc3\xa9: [\xc3\xa9]}"]


def _exec(random):
    pick = random.choice
    return EXEC % (pick([b"", b"beta1"]), pick([b"login", b"bin/x", b"/usr/bin/x", b"./x/../y", b"/a//b", b'""']), pick(MODES), pick(BOOLEANS), pick(VARIABLES), pick(LISTS))


# Values by field; those of a cluster, a user and a context, each behind a line that begins it.
FIELDS = {
    b"cluster:": {b"server": SERVERS, b"proxy-url": PROXIES, b"certificate-authority-data": DATA, b"certificate-authority": FILES,
                  b"tls-server-name": TEXTS, b"insecure-skip-tls-verify": BOOLEANS, b"disable-compression": BOOLEANS,
                  b"extensions": [b"[]", b"null", b"[{name: a, extension: 1}, {name: a, extension: 2}]", b"[{name: a}, {name: a}]", b"[null, null]",
                                  b"[{name: client.authentication.k8s.io/exec, extension: {x: 1.5, y: [null]}}]", b"{a: b}", b"[{name: 5}]",
                                  b"[{name: client.authentication.k8s.io/exec}]", b"[{name: client.authentication.k8s.io/exec, extension: text}]"]},
    b"user:": {b"token": TEXTS, b"tokenFile": FILES, b"client-certificate": FILES, b"client-certificate-data": DATA, b"client-key": FILES,
               b"client-key-data": DATA, b"username": TEXTS, b"password": TEXTS, b"as": TEXTS, b"as-uid": TEXTS, b"as-groups": LISTS,
               b"as-user-extra": EXTRA, b"auth-provider": [b"{name: oidc}", b"{}", b"null", b"{name: gcp, config: {a: b}}", b"{config: {a: 1}}", b"x"],
               b"exec": [b"{}", b"null", b"x", _exec, _exec, _exec, _exec], b"extensions": [b"[]", b"x"]},
    b"context:": {b"cluster": TEXTS, b"user": TEXTS, b"namespace": TEXTS},
    b"exec:": {b"command": TEXTS + FILES, b"args": LISTS, b"env": VARIABLES, b"apiVersion": VERSIONS, b"installHint": TEXTS,
               b"provideClusterInfo": BOOLEANS, b"interactiveMode": MODES},
    b"": {b"apiVersion": [b"v1", b"v2", b'""', b"/v1", b"a/v1", b"null", b"1", b"/"], b"kind": [b"Config", b"config", b"Pod", b'""', b"null", b"[]"],
          b"KIND": [b"Config", b"Pod", b"5"], b"current-context": TEXTS, b"preferences": [b"{}", b"null", b"{colors: 5}", b"[]"],
          b"clusters": [b"[]", b"null", b"{}", b"[null]"], b"users": [b"[]", b"null", b"[{}]"], b"contexts": [b"[]", b"[{}, {}]"], b"extensions": [b"[5]", b"[{extension: x}]"]},
}  # fmt: skip
VALUES = {field: values for fields in FIELDS.values() for field, values in fields.items()}
ENVIRONMENTS = [b"http://proxy.example.test:3128", b"https://p", b"p:3128", b"socks5://p", b"HTTP://u:p@P.example.test", b""]
NO_PROXY = [b"localhost", b"*", b".example.test", b"10.0.0.0/8", b"api.example.test:6443", b"*.example.test", b"h", b"2001:db8::/32", b"[2001:db8::1]:6443", b" api.example.test , x", b""]


def _value(random, values):
    value = random.choice(values)
    return value(random) if callable(value) else value


def _kube_once(random, text, others):
    environment = b""
    while text.startswith(b"#env "):
        line, end, text = text.partition(b"\n")
        environment += line + end
    return environment + _file_once(random, text, others)


def _file_once(random, text, others):
    kind = random.randrange(10)
    if kind <= 2:
        return mutations.yaml_once(random, text, others)
    if kind == 3:
        name = random.choice([b"HTTPS_PROXY", b"https_proxy", b"HTTP_PROXY", b"NO_PROXY", b"no_proxy"])
        value = random.choice(NO_PROXY if name.lower() == b"no_proxy" else ENVIRONMENTS)
        return b"#env " + name + b"=" + value + b"\n" + text
    lines = text.split(b"\n")
    if kind <= 6:  # another value of a field that is there
        found = [i for i, line in enumerate(lines) if line.strip().partition(b":")[0] in VALUES and not line.endswith(b":")]
        if not found:
            return text
        at = random.choice(found)
        begin, _, _ = lines[at].partition(b":")
        lines[at] = begin + b": " + _value(random, VALUES[begin.strip()])
    else:  # a further field
        found = [i for i, line in enumerate(lines) if line.strip() in FIELDS]
        if not found:
            return text
        at = random.choice(found)
        field = random.choice(list(FIELDS[lines[at].strip()]))
        behind = lines[at + 1] if at + 1 < len(lines) else b""
        indent = behind[: len(behind) - len(behind.lstrip(b" "))] if lines[at].strip() else b""
        same = [i for i in range(at + 1, len(lines)) if lines[i].startswith(indent + field + b":")]
        if same and random.random() < 0.7:
            del lines[same[0]]
        lines.insert(at + 1, indent + field + b": " + _value(random, FIELDS[lines[at].strip()][field]))
    return b"\n".join(lines)


kubeconfig = mutations.several(_kube_once)
