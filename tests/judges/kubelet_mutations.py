"""Mutations of kubelet's configuration and its drop-ins, as those of mutations.py."""

import mutations

SEPARATOR = b"\n=== drop-in\n"
HEAD = b"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
PERCENTS = [b"0", b"50", b"79", b"80", b"85", b"100", b"101", b"-1", b"80.0", b"80.5", b'"80"', b"null", b"true", b"0x50", b"0120", b"[]", b"{}", b"99999999999"]
AGES = [b'"1h"', b"1h", b"2m0s", b"0s", b"0", b'"0"', b"5", b"-1s", b"-1h", b'""', b"null", b"1.5h", b"1d", b"1h30m", b"168h", b"[]", b"999999h", b"9999999h", b"-0s", b'" 1h"']
TEXTS = [b"x", b'""', b"null", b"5", b"yes", b"unix:///run/crio/crio.sock", b"[]", b"{}", b"~", b"1.0", b"'a b'"]
GATES = [
    b"{KubeletEnsureSecretPulledImages: true}", b"{KubeletEnsureSecretPulledImages: false}", b"{KubeletEnsureSecretPulledImages: null}", b"{AllBeta: false}", b"{AllAlpha: true}", b"{AllBeta: yes}",
    b"{}", b"null", b"[]", b"x", b"{Other: true}", b"{Other: 1}", b'{Other: "true"}', b"{AllAlpha: true, KubeletEnsureSecretPulledImages: false}", b"{AllAlpha: null, AllBeta: null}", b"{Other: {a: null}}",
    b"{kubeletensuresecretpulledimages: false}", b"5", b"true",
]  # fmt: skip
FIELDS = {
    b"imagePullCredentialsVerificationPolicy": [b"NeverVerify", b"AlwaysVerify", b"NeverVerifyPreloadedImages", b"NeverVerifyAllowlistedImages", b"neververify", b'""', b"null", b"5", b"no", b"[]", b"''"],
    b"preloadedImagesVerificationAllowlist": [b"[a.io/b]", b"[a.io/b, a.io/c/*]", b"[]", b"null", b"a.io/b", b"[null]", b"[5]", b"[yes]", b"{}", b"[[a]]", b'["x"]'],
    b"featureGates": GATES, b"imageGCHighThresholdPercent": PERCENTS, b"imageGCLowThresholdPercent": PERCENTS, b"imageMinimumGCAge": AGES, b"imageMaximumGCAge": AGES,
    b"maxPods": [b"0", b"5", b"250", b"-1", b"110.0", b"2147483647", b"2147483648", b"null", b'"5"', b"0110", b"1e2", b"[]"], b"containerRuntimeEndpoint": TEXTS, b"imageServiceEndpoint": TEXTS,
    b"kind": [b"KubeletConfiguration", b"kubeletconfiguration", b"CredentialProviderConfig", b'""', b"null", b"5"], b"apiVersion": [b"kubelet.config.k8s.io/v1beta1", b"kubelet.config.k8s.io/v1", b"v1", b'""', b"null", b"a/b/c", b"5"],
    b"imagegchighthresholdpercent": PERCENTS, b"ImageGCLowThresholdPercent": PERCENTS, b"unheardOf": TEXTS, b"address": TEXTS,
}  # fmt: skip


def _field(random):
    field = random.choice(list(FIELDS))
    return field, random.choice(FIELDS[field])


def _drop_in(random):
    lines = [b": ".join(_field(random)) for _ in range(random.randrange(1, 4))]
    return HEAD + b"\n".join(lines) + b"\n"


def _document_once(random, text, others):
    if random.random() < 0.2:
        return mutations.yaml_once(random, text, others)
    if text.lstrip().startswith(b"{"):
        field, value = _field(random)
        if random.random() < 0.5:
            return mutations.json_once(random, text, others)
        at = text.index(b"{") + 1
        plain = value.replace(b":", b" ").isalnum() and value not in (b"null", b"true", b"false") and not value.isdigit()
        return text[:at] + b'"' + field + b'":' + (b'"' + value + b'"' if plain else value) + b"," + text[at:]
    lines = text.split(b"\n")
    found = [(i, match) for i, match in enumerate(map(mutations.YAML_KEY.match, lines)) if match and match[2] in FIELDS]
    if found and random.random() < 0.5:
        at, match = random.choice(found)
        lines[at] = match[1] + match[2] + b": " + random.choice(FIELDS[match[2]])
    else:
        lines.insert(random.choice([0, len(lines)]), b": ".join(_field(random)))
    return b"\n".join(lines)


def _once(random, text, others):
    kind = random.randrange(10)
    parts = (b"\n" + text).split(SEPARATOR)
    if kind == 0:
        parts.insert(random.randrange(1, len(parts) + 1), _drop_in(random))
    elif kind == 1 and len(parts) > 1:
        del parts[random.randrange(len(parts))]
    elif kind == 2:
        one = (b"\n" + random.choice(others)).split(SEPARATOR)
        parts.insert(random.randrange(1, len(parts) + 1), random.choice(one).removeprefix(b"\n"))
    elif kind == 3:
        random.shuffle(parts)
    else:
        at = random.randrange(len(parts))
        parts[at] = _document_once(random, parts[at].removeprefix(b"\n"), others)
    first = parts[0].removeprefix(b"\n")
    whole = SEPARATOR.join([first, *(part.removeprefix(b"\n") for part in parts[1:])])
    return whole if first else whole.removeprefix(b"\n")


# Documents of fitting values, which mutations of real ones seldom are.
FITTING = {
    b"imageGCHighThresholdPercent": [b"85", b"86", b"90", b"100", b"81"], b"imageGCLowThresholdPercent": [b"80", b"79", b"50", b"0", b"0x50"],
    b"imageMinimumGCAge": [b"2m", b"0s", b"1h30m", b"5m0s", b'"30s"', b"-1s"], b"imageMaximumGCAge": [b"0s", b"168h", b"2m1s", b"1000h"],
    b"maxPods": [b"110", b"5", b"250", b"0", b"0110", b"110.0"], b"containerRuntimeEndpoint": [b"unix:///run/crio/crio.sock", b'""'], b"imageServiceEndpoint": [b"unix:///run/i.sock", b'""'],
    b"featureGates": [b"{KubeletEnsureSecretPulledImages: true}", b"{KubeletEnsureSecretPulledImages: false}", b"{AllBeta: false}", b"{AllAlpha: yes}", b"{Other: true}", b"{}", b"{Other: null}"],
    b"imagePullCredentialsVerificationPolicy": [b"NeverVerify", b"AlwaysVerify", b"NeverVerifyPreloadedImages", b"NeverVerifyAllowlistedImages", b'""'],
    b"unheardOf": [b"x", b"[1]", b"{a: {b: 1}}"],
}  # fmt: skip
_POLICY, _ALLOWLIST = b"imagePullCredentialsVerificationPolicy", b"preloadedImagesVerificationAllowlist"


def _fitting_document(random, is_drop_in):
    fields = {name: random.choice(FITTING[name]) for name in random.sample(sorted(FITTING), random.randrange(6))}
    if is_drop_in and fields and random.random() < 0.2:
        fields[random.choice(sorted(fields))] = b"null"
    if fields.get(_POLICY) == b"NeverVerifyAllowlistedImages":
        fields[_ALLOWLIST] = random.choice([b"[a.io/b]", b"[a.io/b, a.io/c/*]", b"[]"])
    return HEAD + b"".join(name + b": " + value + b"\n" for name, value in fields.items())


def _fitting(random):
    parts = [_fitting_document(random, bool(i)) for i in range(random.choice([1, 2, 2, 3]))]
    return SEPARATOR.join(part.removesuffix(b"\n") for part in parts) + b"\n"


config = mutations.with_fitting(_fitting, _once, 0.5)
