"""The list of parts of a release, as SPDX 2.3 in JSON: the programs, and the Debian packages in the image of each platform."""

import os
import re
import urllib.parse


def _id(*words):
    return "SPDXRef-" + "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", one.replace("+", "plus")) for one in words)


def packages_of(root):
    """Returns what deploy/image/collect notes: one mapping for each Debian package in an image."""
    found = []
    folder = os.path.join(root, "var/lib/dpkg/status.d")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found.append(dict(line.split(": ", 1) for line in file.read().splitlines()))
    return found


def _package(name, **more):
    """Returns a package without the licences of all its files: nothing concludes these."""
    return {"name": name, "filesAnalyzed": False, "downloadLocation": "NOASSERTION", "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", **more}


def _distribution(root):
    """Returns Debian's release in an image, as package URLs name it."""
    with open(os.path.join(root, "etc/os-release"), encoding="utf-8") as file:
        told = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    return f"{told['ID']}-{told['VERSION_ID']}".replace('"', "")


def _debian(platform, distribution, fields):
    name, version = fields["Package"], fields["Version"]
    purl = (f"pkg:deb/debian/{name.replace('+', '%2B')}@{urllib.parse.quote(version, safe='')}"
            f"?arch={fields['Architecture']}&distro={distribution}")
    return _package(
        name, SPDXID=_id("deb", platform, name), versionInfo=version, supplier="Organization: Debian",
        homepage=fields.get("Homepage", "NOASSERTION"), sourceInfo=f"built from Debian's source package {fields.get('Source', name)}",
        licenseComments=f"/usr/share/doc/{name}/copyright in the image has the licences.",
        externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}])


def document(version, image, digest, roots, created):
    """`roots`: {architecture: root of its image}; `digest`: of the index."""
    digest = digest.removeprefix("sha256:")
    packages = [_package(image, SPDXID=_id("image"), versionInfo=version, primaryPackagePurpose="CONTAINER",
                         checksums=[{"algorithm": "SHA256", "checksumValue": digest}])]
    told = [("SPDXRef-DOCUMENT", "DESCRIBES", _id("image"))]
    for platform, root in sorted(roots.items()):
        programs = _id("programs", platform)
        packages.append(_package(f"prefetchd ({platform})", SPDXID=programs, versionInfo=version,
                                 primaryPackagePurpose="APPLICATION", licenseDeclared="Apache-2.0"))
        told.append((_id("image"), "CONTAINS", programs))
        distribution = _distribution(root)
        for fields in packages_of(root):
            packages.append(_debian(platform, distribution, fields))
            # The programs took archives and headers out of those; the others are beside them.
            linked = fields["Package"].endswith("-dev")
            told.append((programs if linked else _id("image"), "STATIC_LINK" if linked else "CONTAINS", packages[-1]["SPDXID"]))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"prefetchd {version}",
            "documentNamespace": f"https://{image.rpartition(':')[0]}/{version}/{digest}",
            "creationInfo": {"created": created, "creators": [f"Tool: prefetchd-deploy-release-{version}"]},
            "packages": packages,
            "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in told]}
