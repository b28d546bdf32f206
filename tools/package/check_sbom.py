#!/usr/bin/env python3
"""Checks the bill of materials of tools/package/sbom.sh: valid JSON, the fields required by CycloneDX 1.5, and a
component for every library that the program loads.

usage: check_sbom.py headlight.cdx.json PROGRAM
"""

import json
import re
import subprocess
import sys


def problems(bom, program):
    if (bom.get("bomFormat"), bom.get("specVersion")) != ("CycloneDX", "1.5"):
        yield "not CycloneDX 1.5"
    components = bom.get("components", [])
    for part in [bom["metadata"]["component"], *components]:
        missing = {"type", "bom-ref", "name", "version"} - {key for key in part if part[key]}
        if missing:
            yield f"{part.get('name')}: no {', '.join(sorted(missing))}"
    for part in components:
        if not re.fullmatch(r"pkg:deb/[^/]+/[^@]+@[^?]+\?arch=[a-z0-9]+&distro=[a-z]+-.*", part["purl"]):
            yield f"{part['name']}: odd purl {part['purl']}"
        if part.get("scope") not in ("required", "optional"):
            yield f"{part['name']}: odd scope {part.get('scope')}"
        if any(not re.fullmatch("[0-9a-f]{64}", entry["content"]) for entry in part.get("hashes", [])):
            yield f"{part['name']}: not a SHA-256"
    references = [part["bom-ref"] for part in components]
    if len(set(references)) < len(references):
        yield "two components with one bom-ref"
    if bom["dependencies"][0]["dependsOn"] != references:
        yield "dependencies are not the components"
    required = [part["bom-ref"] for part in components if part.get("scope") == "required"]
    listed = " ".join(required)
    dynamic = subprocess.run(["readelf", "-dW", program], check=True, capture_output=True, text=True)
    for name in re.findall(r"NEEDED.*\[lib([a-z]+)", dynamic.stdout):
        # A package is named after its library, as libstdc++6; libm is part of libc6.
        if name != "m" and f"lib{name}" not in listed:
            yield f"lib{name} is loaded and not listed"
    with open(program, "rb") as file:
        content = file.read()
    for library, package in ((b"librsvg-2.so.2", "librsvg2-2"),
                             (b"libedit.so.2", "libedit2"),
                             (b"libopenblas.so.0", "libopenblas0-openmp")):
        if (library in content) != any(part["name"] == package for part in components):
            yield f"{package} is listed and not opened, or the other way round"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = list(problems(json.load(file), sys.argv[2]))
    for problem in found:
        print(f"{sys.argv[1]}: {problem}", file=sys.stderr)
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
