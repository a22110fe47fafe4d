"""The list of parts of a release, as SPDX 2.3 in JSON: the programs, and the Debian packages in the image of each platform."""

import os
import re
import urllib.parse

# Names of Debian's copyright files that mean what a name of SPDX means; all others get a name of this document.
SPDX = {"Apache-2": "Apache-2.0", "Apache-2.0": "Apache-2.0", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause",
        "Expat": "MIT", "GPL-2": "GPL-2.0-only", "GPL-2+": "GPL-2.0-or-later", "GPL-3": "GPL-3.0-only",
        "GPL-3+": "GPL-3.0-or-later", "LGPL-2+": "LGPL-2.0-or-later", "LGPL-2.1": "LGPL-2.1-only",
        "LGPL-2.1+": "LGPL-2.1-or-later", "LGPL-3": "LGPL-3.0-only", "LGPL-3+": "LGPL-3.0-or-later", "ISC": "ISC", "Zlib": "Zlib",
        "BSL-1.0": "BSL-1.0", "MPL-2.0": "MPL-2.0"}
BY_NAME = {name.lower(): one for name, one in SPDX.items()}
FORMAT = re.compile(r"\AFormat:\s*\S*(copyright-format|dep5)", re.IGNORECASE)


def _read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _id(*words):
    return "SPDXRef-" + "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", one.replace("+", "plus")) for one in words)


def packages_of(root):
    """What deploy/image/collect notes: one mapping for each Debian package in an image."""
    folder = os.path.join(root, "var/lib/dpkg/status.d")
    return [dict(line.split(": ", 1) for line in _read(os.path.join(folder, name)).splitlines())
            for name in sorted(os.listdir(folder))]


def licences_of(text):
    """Short names in a machine-readable copyright file, sorted; none in another."""
    if not FORMAT.match(text):
        return []
    names = re.findall(r"^License:[ \t]*(\S.*?)\s*$", text, re.MULTILINE)
    return sorted({one.strip() for name in names for one in re.split(r",\s*(?:and|or)?\s*|\s+(?:and|or)\s+", name) if one.strip()})


def _expression(names, extracted):
    told = []
    for name in names:
        one = BY_NAME.get(name.lower())
        if one is None:
            one = "LicenseRef-Debian-" + re.sub(r"[^A-Za-z0-9.]+", "-", name.replace("+", "plus")).strip("-")
            extracted.setdefault(one, name)
        told.append(one)
    return " AND ".join(sorted(set(told))) or "NOASSERTION"


def _debian(root, platform, fields, extracted):
    name, version = fields["Package"], fields["Version"]
    names = licences_of(_read(os.path.join(root, "usr/share/doc", name, "copyright")))
    quoted = urllib.parse.quote(version, safe="")
    return {"SPDXID": _id("deb", platform, name), "name": name, "versionInfo": version, "filesAnalyzed": False,
            "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "homepage": fields.get("Homepage", "NOASSERTION"),
            "sourceInfo": f"built from Debian's source package {fields.get('Source', name)}",
            "licenseConcluded": "NOASSERTION", "licenseDeclared": _expression(names, extracted), "copyrightText": "NOASSERTION",
            "licenseComments": "Each licence that Debian's copyright file names for a part of the source package, alternatives too.",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{name.replace('+', '%2B')}@{quoted}?arch={fields['Architecture']}"}]}


def document(version, image, digest, roots, created):
    """`roots`: {architecture: root of its image}; `digest`: of the index."""
    own = {"versionInfo": version, "filesAnalyzed": False, "supplier": "NOASSERTION", "licenseConcluded": "Apache-2.0",
           "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION"}
    packages = [{"SPDXID": _id("image"), "name": image, "downloadLocation": "NOASSERTION", "primaryPackagePurpose": "CONTAINER",
                 "checksums": [{"algorithm": "SHA256", "checksumValue": digest.removeprefix("sha256:")}], **own}]
    told, extracted = [("SPDXRef-DOCUMENT", "DESCRIBES", _id("image"))], {}
    for platform, root in sorted(roots.items()):
        programs = _id("programs", platform)
        packages.append({"SPDXID": programs, "name": f"prefetchd ({platform})", "downloadLocation": "NOASSERTION",
                         "primaryPackagePurpose": "APPLICATION", **own})
        told.append((_id("image"), "CONTAINS", programs))
        for fields in packages_of(root):
            packages.append(_debian(root, platform, fields, extracted))
            # The programs took archives and headers out of those; the others are beside them.
            linked = fields["Package"].endswith("-dev")
            told.append((programs if linked else _id("image"), "STATIC_LINK" if linked else "CONTAINS", packages[-1]["SPDXID"]))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"prefetchd {version}",
            "documentNamespace": f"https://{image.rpartition(':')[0]}/{version}/{digest.removeprefix('sha256:')}",
            "creationInfo": {"created": created, "creators": [f"Tool: prefetchd-deploy-release-{version}"]},
            "packages": packages,
            "hasExtractedLicensingInfos": [
                {"licenseId": one, "name": name,
                 "extractedText": f"Debian calls it {name}; /usr/share/doc/PACKAGE/copyright in the image has its text."}
                for one, name in sorted(extracted.items())],
            "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in told]}
