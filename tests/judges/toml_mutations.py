"""Mutations of TOML files that keep most of their grammar, as those of mutations.py."""

import re

from mutations import with_fitting

VALUES = [
    b"true", b"false", b"True", b"0", b"1", b"-1", b"0x10", b"1_000", b"1.5", b"inf", b"nan", b'""', b"''", b'"x"',
    b'"-1s"', b'"0s"', b'"200ms"', b'"1h"', b'"soon"', b'"1"', b'"ca.pem"', b'"cert.pem"', b'"key.pem"', b'"both.pem"', b'"absent.pem"',
    b'"/absent.pem"', b"[]", b"{}", b'["pull"]', b'["Pull", "RESOLVE"]', b'["push"]', b'["fly"]', b'["pull", 1]', b'["referrers"]',
    b'["ca.pem"]', b'["ca.pem", "absent.pem"]', b'["both.pem"]', b'[["cert.pem", "key.pem"]]', b'[["cert.pem"]]', b'[["cert.pem", ""]]',
    b"[[]]", b'["a", ["b"]]', b"[1, 2,]", b"[\n  1, # c\n]", b'{a = "b"}', b'{a = "b",}', b"\"\"\"\nx\"\"\"", b"'''x'''", b'"a\\tb"',
    b'"\\u00e9"', b'"\\q"', b'"\xc3\xa9"', b'"\xe9"', b'"a\nb"', b"x", b"", b'"*"', b'"https://up.example.test"', b'"up.example.test"',
    b'"http://up.example.test:5000"', b'"http://up.example.test"', b'"http://up.example.test:80"', b'"https://u:p@up.example.test/x/"',
    b'"https://<up>:5000"', b'"https://up.example.test:99999"', b'"https://up.example.test:port"', b'"https://[::1]:5000"', b'"https://[::1"',
    b'"https://up.example.test/a%20b"', b'"https://up.example.test/a b"', b'"https://up.example.test/%zz"', b'"https://up.example.test//a/../b"',
    b'"https://up.example.test?q=1#f"', b'"https://"', b'"http:up"', b'"httpx://up"', b'"ftp://up"', b'"http"', b'"https://\xc3\xa9.test"',
    b'"https://up.example.test:0"', b'"HTTPS://UP.Example.Test"', b'"https://up_x"', b'"https://a b"', b'"https://a%20b"', b'"https://a\\\\b"',
    b'"127.0.0.1:5602"', b'"https://up.example.test/v2"', b'"https://up.example.test:443/v2/"', b'"https://u p@up"', b'"https://up.example.test/a?b"',
    b"2026-01-01", b"2026-01-01T10:00:00Z", b"10:00:00", b"[2026-01-01]", b'[\n"pull", # c\n"resolve"]', b"1__0", b"1.", b"12345678901234567890",
    b"10:00", b"2026-02-30", b'"\\e"',
]  # fmt: skip
KEYS = [
    b"server", b"Server", b"SERVER", b"capabilities", b"Capabilities", b"CAPABILITIES", b"ca", b"CA", b"client", b"skip_verify", b"Skip_Verify",
    b"SKIP_VERIFY", b"override_path", b"header", b"Header", b"dial_timeout", b"Dial_Timeout", b"host", b"unknown", b'"server"', b"'ca'", b"a.b",
    b"header.X-A", b'host."https://dotted.example.test".ca', b'host."https://dotted.example.test".skip_verify', b'"X Y"',
    b'Host."https://dotted.example.test".Skip_Verify', b'"https://a.example.test".skip_verify', b'"https://a.example.test".ca',
 b"X-A", b"\xc3\xa9", b"",
]  # fmt: skip
LINES = [
    b'[host."https://a.example.test"]', b'[host."http://b.example.test:5000"]', b'[host."http://c.example.test"]', b"[host.'https://d.example.test/x']",
    b'[Host."https://e.example.test"]', b'[HOST."https://e.example.test"]', b'[host."https://a.example.test".header]', b"[host]", b"[header]", b"[Header]",
    b'[ host . "https://f.example.test" ]', b'[host."https://a.example.test".host."https://g.example.test"]', b"[[host]]", b'[host."*"]', b'[host.""]',
    b'[host."https://<h>:1"]', b'[host."https://u:p@h.example.test"]', b'[host."https://h.example.test:99999"]', b'[host."httpx://h"]', b"[host.bare]",
    b"[host.bare.sub]", b'[[host."https://a.example.test"]]', b"[other]", b"[host", b"[]", b"# comment", b"# \xe9", b"# \xc3\xa9 \x01", b"", b"\t", b"x",
    b'host = {"https://i.example.test" = {}}', b'host = {"https://i.example.test" = {ca = "ca.pem"}, "https://j.example.test" = {skip_verify = false}}',
    b'"https://k.example.test" = {}', b"header = {X-A = '1', X-B = ['2', '3']}", b'X-C = "\\r"', b"\xef\xbb\xbf", b"host = 1", b"header = 1",
    b"[server.x]", b"[skip_verify.x]", b"[[capabilities.x]]", b"[ca.x]", b"[client]", b"[header.X-A]", b"[Header]", b'[host."https://a.example.test".skip_verify.x]',
    b'[host."https://a.example.test".ca]', b'[host."https://b.example.test".header]', b'[host."http://c.example.test".x.y]', b"skip_verify = true\r", b"CA = 1", b"CA = []",
    b'host."https://dotted.example.test".skip_verify = true', b'"https://a.example.test".skip_verify = false', b"dial_timeout = '1s'", b"[Host]",
]  # fmt: skip


CONTAINERD_VALUES = [
    b"true", b"false", b"0", b"1", b"2", b"3", b"10", b"-1", b"1.5", b'""', b"''", b'"x"', b'"overlayfs"', b'"10s"', b'"soon"', b"[]", b"{}",
    b'["a"]', b'["a", 1]', b"[1]", b'{auth = "eDp5"}', b'{endpoint = ["https://m.example.test"]}', b'{username = "u", password = 1}', b"{auth = {}}",
    b'"/etc/containerd/certs.d"', b'"/etc/containerd/certs.d:/etc/docker/certs.d"', b'"certs.d"', b'"/a b"', b"'/etc/\\x'", b"2026-01-01", b"x", b"",
    b'["conf.d/*.toml"]', b'["conf.d/a.toml"]', b'["conf.d/absent.toml"]', b'["./conf.d/../config.toml"]', b'["absent/*.toml"]', b'["conf.d/[ab].toml", "conf.d/?0*.toml"]',
    b'["conf.d/*", "conf.d/a.toml"]', b'["conf.d/?.toml"]', b'["conf.d/*.[t]oml"]', b'["conf.d/[!b]*.toml"]', b'["conf.d/[*.toml"]', b'["conf.d/\\\\*.toml"]', b'"1h30m"', b'"-5"', b'"0"',
    b'{"http://[::1" = {}}', b'{"https://r.example.test:port" = {username = "u"}}', b'{"a b" = {}}', b'{"%zz" = {}}', b'{"r.example.test" = {}}',
    b'{"docker.io" = {endpoint = []}}', b'{"r.example.test" = {auth = {username = "u"}}}', b'{runc = {runtime_type = "t"}}', b'{runc = {snapshot = "s"}}',
]  # fmt: skip
CONTAINERD_KEYS = [
    b"version", b"Version", b"imports", b"Imports", b"root", b"state", b"plugins", b"oom_score", b"disabled_plugins", b"required_plugins", b"unknown",
    b"config_path", b"Config_Path", b"mirrors", b"configs", b"auths", b"headers", b"registry", b"Registry", b"max_concurrent_downloads", b"image_pull_with_sync_fs",
    b"use_local_image_pull", b"Use_Local_Image_Pull", b"disable_snapshot_annotations", b"discard_unpacked_layers", b"snapshotter", b"containerd", b"runtimes",
    b"pinned_images", b"sandbox_image", b"image_decryption", b"image_pull_progress_timeout", b"stats_collect_period", b"concurrent_layer_fetch_buffer",
    b'"docker.io"', b'"*"', b'"r.example.test:5000"', b'"https://r.example.test/v2"', b'"http://[::1"', b'":a"', b'"io.containerd.timeout.shim.load"', b"username", b"auth", b"tls", b"endpoint", b"X-Team", b"User-Agent",
    b"registry.config_path", b'mirrors."docker.io".endpoint', b'configs."r.example.test".auth.username', b'plugins."io.containerd.cri.v1.images".use_local_image_pull',
    b"runtime_platforms", b"key_model", b"sandbox", b"runc", b"options",
]  # fmt: skip
_PLUGINS = [b"plugins." + name for name in (b'"io.containerd.grpc.v1.cri"', b"'io.containerd.cri.v1.images'", b"cri")]
CONTAINERD_LINES = [
    b"[" + plugin + table + b"]"
    for plugin in _PLUGINS
    for table in (
        b"", b".registry", b".registry.mirrors", b'.registry.mirrors."docker.io"', b'.registry.configs."r.example.test"', b".containerd", b".containerd.runtimes",
        b'.registry.configs."r.example.test".auth', b'.registry.auths."https://r.example.test"', b".registry.headers", b".containerd.runtimes.runc",
    )
] + [
    b"version = 1", b"version = 2", b"version = 3", b"Version = 2", b"[plugins]", b"[Plugins]", b"[grpc]", b"[debug]", b"[proxy_plugins]", b"[proxy_plugins.x]", b"[other]",
    b"[timeouts]", b'[timeouts]\n"io.containerd.timeout.bolt.open" = "0s"', b'timeouts = {a = ""}', b"[stream_processors.x]", b"# file conf.d/a.toml", b"# file conf.d/10-b.toml", b"# file conf.d/c.toml", b'imports = ["conf.d/*.toml"]', b"", b"x",
    b"# \xe9", b"[[plugins]]", b"[", b"\xef\xbb\xbf", b"use_local_image_pull = true", b"discard_unpacked_layers = true", b'[plugins."io.containerd.cri.v1.images".pinned_images]',
    b"max_concurrent_downloads = 5", b"[plugins.other]", b"version = 0",
]  # fmt: skip
KEY_VALUE = re.compile(rb"^(\s*)([^=\[#]+?)(\s*=\s*)(.*)$")


def _mutations(values, keys, headers):
    def once(random, text, others):
        lines = text.split(b"\n")
        at = random.randrange(len(lines))
        pairs = [i for i, line in enumerate(lines) if KEY_VALUE.match(line)]
        kind = random.randrange(12)
        if kind <= 3 and pairs:
            which = random.choice(pairs)
            lines[which] = KEY_VALUE.sub(lambda m: m[1] + m[2] + m[3] + random.choice(values), lines[which])
        elif kind == 4 and pairs:
            which = random.choice(pairs)
            lines[which] = KEY_VALUE.sub(lambda m: m[1] + random.choice(keys) + m[3] + m[4], lines[which])
        elif kind <= 6:
            lines.insert(at, random.choice(keys) + b" = " + random.choice(values))
        elif kind <= 8:
            lines.insert(at, random.choice(headers))
        elif kind == 9:
            del lines[at]
        elif kind == 10:
            other = random.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            more = random.choice(others).split(b"\n")
            begin = random.randrange(len(more))
            lines[at:at] = more[begin : begin + random.randrange(5)]
        return b"\n".join(lines)

    return once


# Files of fitting keys and values, which mutations of real ones seldom are.
_SERVERS = [b"https://%s.example.test" % name for name in (b"a", b"b", b"c", b"B", b"u:p@c")] + [
    b"https://a.example.test:5000",
    b"http://plain.example.test", b"http://plain.example.test:8080/x", b"a.example.test/v2", b"https://a.example.test/x/v2/", b"http://127.0.0.1:5602", b"localhost:5602",
    b"https://quay.io", b"https://10.0.0.1/", b"http://localhost",
]  # fmt: skip
_HOST_FIELDS = {
    b"capabilities": [b'["pull"]', b'["resolve"]', b'["pull", "resolve"]', b'["push"]', b"[]", b'["Pull"]', b'["pull", "push", "resolve"]'],
    b"ca": [b'"ca.pem"', b'["ca.pem"]', b'["ca.pem", "cert.pem"]', b'"both.pem"', b"[]", b'"absent.pem"'],
    b"client": [b'"both.pem"', b'["both.pem"]', b'[["cert.pem", "key.pem"]]', b"[]", b'[["cert.pem", "key.pem"], "both.pem"]', b'[["both.pem", ""]]'],
    b"skip_verify": [b"true", b"false"],
    b"override_path": [b"true", b"false"],
    b"dial_timeout": [b'"1s"', b'"1m30s"', b'""', b'"0s"', b'"-1s"'],
    b"unknown": [b"1", b'"x"', b"[1, 2]", b"{a = 1}", b"1.5"],
}  # fmt: skip
_HEADERS = [b'X-A = "1"', b'X-B = ["2", "3"]', b'x-a = "4"', b'Authorization = "Basic eDp5"', b'"X C" = "5"', b"X-D = []", b'X-E = ""']


def _some(random, most, choices):
    return random.sample(choices, random.randrange(min(most, len(choices)) + 1))


def _fields(random, fields):
    chosen = _some(random, 3, sorted(fields))
    letters = [bytes.upper, bytes.title] if random.random() < 0.1 else [bytes]
    return [random.choice(letters)(key) + b" = " + random.choice(fields[key]) for key in chosen]


def _hosts_file(random):
    lines = [b'server = "' + random.choice(_SERVERS) + b'"'] if random.random() < 0.6 else []
    lines += _fields(random, _HOST_FIELDS) if random.random() < 0.4 else []
    if random.random() < 0.1:
        lines += [b"[header]", *_some(random, 2, _HEADERS)]
    form = random.randrange(10)
    for server in random.sample(_SERVERS, random.choice([0, 1, 1, 2, 2, 3, 4])) + ([b"https://[fd00::1]:5000"] if random.random() < 0.03 else []):
        fields, headers = _fields(random, _HOST_FIELDS), _some(random, 2, _HEADERS) if random.random() < 0.4 else []
        if form == 0:  # inline
            fields += [b"header = {" + b", ".join(headers) + b"}"] if headers else []
            lines.append(b'host."' + server + b'" = {' + b", ".join(fields) + b"}")
        elif form == 1:  # dotted
            lines += [b'host."' + server + b'".' + field for field in [*fields, *(b"header." + one for one in headers)]]
        else:
            lines += [b'[host."' + server + b'"]', *fields]
            lines += [b'[host."' + server + b'".header]', *headers] if headers else []
    return b"\n".join(lines) + b"\n"


_REGISTRIES = [b"docker.io", b"quay.io", b"r.example.test:5000", b"*", b"https://a.example.test/v2", b"b.example.test", b"[fd00::1]:5000", b"localhost", b"c d"]
_PATHS = [b'"/etc/containerd/certs.d"', b'"/etc/containerd/certs.d:/etc/docker/certs.d"', b'"/var/c"', b'""', b'"certs.d"', b"'/a b'"]
_COMMON = {
    b"max_concurrent_downloads": [b"3", b"10", b"0"], b"image_pull_with_sync_fs": [b"true", b"false"], b"image_pull_progress_timeout": [b'"5m"', b'""'], b"stats_collect_period": [b"10"],
    b"unknown": [b"1", b"2026-01-01"],
}  # fmt: skip
_SNAPSHOTS = {b"disable_snapshot_annotations": [b"true", b"false"], b"discard_unpacked_layers": [b"true", b"false"], b"snapshotter": [b'"overlayfs"']}
_NEW = {**_COMMON, **_SNAPSHOTS, b"use_local_image_pull": [b"true", b"false"], b"concurrent_layer_fetch_buffer": [b"0"], b"pinned_images": [b'{sandbox = "p:1"}']}
_ENTRIES = {
    b"mirrors": [b"", b'endpoint = ["https://m.example.test"]', b"endpoint = []"],
    b"configs": [b"", b'auth.username = "u"', b"auth = {}", b'auth = {identitytoken = ""}', b"tls.insecure_skip_verify = true", b"tls = {}"],
    b"auths": [b"", b'auth = "eDp5"', b'username = "u"\npassword = "p"'],
}
_TIMEOUTS = [b'a = "5s"', b'b = "0"', b'"io.containerd.timeout.shim.load" = "1m"']


def _registry(random, plugin):
    lines = [b"[plugins." + plugin + b".registry]"]
    if random.random() < 0.6:
        lines.append(b"config_path = " + random.choice(_PATHS))
    for table in _some(random, 2, sorted(_ENTRIES)):
        for name in _some(random, 2, _REGISTRIES):
            lines += [b"[plugins." + plugin + b".registry." + table + b'."' + name + b'"]', random.choice(_ENTRIES[table])]
    if random.random() < 0.2:
        lines += [b"[plugins." + plugin + b".registry.headers]", random.choice([b'X-Team = ["a"]', b'User-Agent = ["x"]', b'X-Meta-Source-Client = ["azure/aks"]'])]
    return lines


def _containerd_file(random, first):
    version = random.choice([b"3", b"3", b"3", b"2", b"2", b"1", b""])
    lines = [b"version = " + version] if version else []
    lines += [b'imports = ["conf.d/*.toml"]'] if first and random.random() < 0.7 else []
    if random.random() < 0.2:
        lines += [b"[timeouts]", *_some(random, 2, _TIMEOUTS)]
    new = random.random() < (0.9 if version == b"3" else 0.1)
    plugin = b"'io.containerd.cri.v1.images'" if new else b"cri" if version in (b"1", b"") else b"'io.containerd.grpc.v1.cri'"
    lines += [b"[plugins." + plugin + b"]", *_fields(random, _NEW if new else _COMMON)]
    if not new and random.random() < 0.5:
        lines += [b"[plugins." + plugin + b".containerd]", *_fields(random, _SNAPSHOTS)]
        lines += [b"[plugins." + plugin + b".containerd.runtimes.runc]"] if random.random() < 0.7 else []
    if random.random() < 0.6:
        lines += _registry(random, plugin)
    return b"\n".join(lines) + b"\n"


def _containerd_files(random):
    text = _containerd_file(random, True)
    for name in _some(random, 2, [b"a", b"10-b"]):
        text += b"# file conf.d/" + name + b".toml\n" + _containerd_file(random, False)
    return text


_toml_once = _mutations(VALUES, KEYS, LINES)
_containerd_once = _mutations(CONTAINERD_VALUES, CONTAINERD_KEYS, CONTAINERD_LINES)
toml = with_fitting(_hosts_file, _toml_once, 0.33)
containerd = with_fitting(_containerd_files, _containerd_once, 0.33)
