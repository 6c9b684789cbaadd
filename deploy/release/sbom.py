#!/usr/bin/python3
"""Prints what is in a folder of a release, as SPDX 2.3 in JSON: its files, the
packages of Debian that libraries are of, and what the programs were compiled with.

    sbom.py NAME FOLDER FILE...  < carried

of the files in FOLDER that are programs of ours, and of the libraries that
standard input names, lines of a path in FOLDER, a tab, and where it was on this
machine. The environment says version, revision and SOURCE_DATE_EPOCH
(facts.sh). The same content gives the same document.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.parse
import uuid

from origins import (NVIDIA, compiled_in, echarts_notice, packages_of,
                     versions_of)

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEBIAN_ARCHITECTURE = subprocess.run(
    ["dpkg", "--print-architecture"], check=True, capture_output=True,
    text=True).stdout.strip()
OURS = "SPDXRef-Package-paceline"


def identifier(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name, version, where="NOASSERTION", license="NOASSERTION", **fields):
    return {"SPDXID": identifier("Package", name), "name": name,
            "versionInfo": version, "downloadLocation": where,
            "filesAnalyzed": False, "licenseConcluded": license,
            "licenseDeclared": license, "copyrightText": "NOASSERTION", **fields}


def debian_package(name, version, source, source_version):
    def quoted(text):
        return urllib.parse.quote(text, safe="")
    where = (f"https://snapshot.debian.org/package/{quoted(source)}/"
             f"{quoted(source_version)}/")
    return package(
        name, version, where, supplier="Organization: Debian",
        sourceInfo=f"built from {source} {source_version}",
        externalRefs=[{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator":
                f"pkg:deb/debian/{quoted(name)}@{quoted(version)}"
                f"?arch={DEBIAN_ARCHITECTURE}"}])


def file_entry(folder, path):
    content = (folder / path).read_bytes()
    return {"SPDXID": identifier("File", path), "fileName": f"./{path}",
            "checksums": [
                {"algorithm": name, "checksumValue":
                    hashlib.new(name.lower(), content).hexdigest()}
                for name in ("SHA1", "SHA256")],
            "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"}


def verification_code(files):
    """Of a package with these files, as SPDX 2.3 says in 7.9."""
    sums = sorted(file["checksums"][0]["checksumValue"] for file in files)
    return hashlib.sha1("".join(sums).encode()).hexdigest()


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind,
            "relatedSpdxElement": other}


def describe(folder, programs, carried):
    """Packages, files, and how they hang together."""
    version = os.environ["version"]
    packages = [package("paceline", version, license="Apache-2.0",
                        sourceInfo=f"commit {os.environ['revision']}")]
    files = [file_entry(folder, path) for path in programs]
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", OURS)]
    origins = packages_of(carried.values())
    inside = compiled_in()
    for name, fields in sorted(versions_of(
            {*origins.values(), *inside} - {NVIDIA}).items()):
        packages.append(debian_package(name, *fields))
    if NVIDIA in origins.values():
        packages.append(package(NVIDIA, "NOASSERTION",
                                supplier="Organization: NVIDIA"))
    for path, origin in sorted(carried.items()):
        file = file_entry(folder, path)
        files.append(file)
        relations.append(relation(file["SPDXID"], "GENERATED_FROM",
                                  identifier("Package", origins[origin])))
    relations += [relation(OURS, "CONTAINS", file["SPDXID"]) for file in files]
    packages[0]["filesAnalyzed"] = True
    packages[0]["packageVerificationCode"] = {
        "packageVerificationCodeValue": verification_code(files)}
    for name in sorted(set(origins.values())):
        relations.append(relation(OURS, "DYNAMIC_LINK", identifier("Package", name)))
    if any(echarts_notice(folder / path) for path in programs):
        lock = json.loads((ROOT / "services/cli/plot/package.json").read_text())
        packages.append(package("echarts", lock["dependencies"]["echarts"],
                                "https://www.npmjs.com/package/echarts",
                                "Apache-2.0"))
        inside.append("echarts")
    for name in inside:
        relations.append(relation(OURS, "STATIC_LINK", identifier("Package", name)))
    return {"packages": packages, "files": files, "relationships": relations}


def main():
    name, folder, *programs = sys.argv[1:]
    carried = dict(line.rstrip("\n").split("\t") for line in sys.stdin)
    content = describe(pathlib.Path(folder), programs, carried)
    # Of what is in it, so that no two documents have one name.
    unique = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    created = datetime.datetime.fromtimestamp(
        int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{unique}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: paceline-deploy/release"]},
        **content}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
