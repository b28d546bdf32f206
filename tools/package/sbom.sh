#!/usr/bin/env bash
# Writes the components of a program as a CycloneDX 1.5 document: the Debian packages of its shared
# libraries (version, licences, SHA-256 of the library), of the headers compiled into it, and of the
# libraries that it loads only if they are installed and needed.
# usage: sbom.sh PROGRAM NAME VERSION [HEADER_PACKAGE...] [optional:PACKAGE...] > headlight.cdx.json
# SOURCE_DATE_EPOCH sets the time in it (default: none). Equal inputs give equal bytes.
set -euo pipefail
[ $# -ge 3 ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
program=$1 name=$2 version=$3
shift 3
[ -x "$program" ] || { echo "sbom.sh: $program is not a program" >&2; exit 2; }
command -v dpkg-query >/dev/null || { echo "sbom.sh: needs dpkg-query" >&2; exit 2; }
distribution=$(. /etc/os-release && echo "$ID")
release=$(. /etc/os-release && echo "${VERSION_ID-}")

quoted() {  # as a JSON string
  local text=${1//\\/\\\\}
  text=${text//\"/\\\"}
  printf '"%s"' "${text//[[:cntrl:]]/ }"
}

# Returns the package of a file. Its list may hold the path from before /lib became a link.
owner() {
  local path
  path=$(realpath "$1")
  { dpkg-query -S "$path" || dpkg-query -S "${path#/usr}"; } 2>/dev/null | sed -n '1s/[:,].*//p'
}

# Licence names of a package, one a line; nothing if its copyright file is plain text.
licences() {
  sed -n 's/^License:[[:space:]]*\([^[:space:]].*\)/\1/p' "/usr/share/doc/$1/copyright" 2>/dev/null |
    LC_ALL=C sort -u
}

component() {  # PACKAGE DESCRIPTION SCOPE [LIBRARY]
  local version architecture licence separator=""
  version=$(dpkg-query -W -f '${Version}\n' "$1" | head -n 1)
  architecture=$(dpkg-query -W -f '${Architecture}\n' "$1" | head -n 1)
  local qualifiers="?arch=$architecture&distro=$distribution-$release"
  printf '    {"type": "library", "bom-ref": %s, "name": %s, "version": %s,\n' \
    "$(quoted "$1")" "$(quoted "$1")" "$(quoted "$version")"
  printf '     "description": %s, "scope": "%s",\n' "$(quoted "$2")" "$3"
  if [ $# -ge 4 ]; then
    printf '     "hashes": [{"alg": "SHA-256", "content": "%s"}],\n' "$(sha256sum <"$4" | cut -c 1-64)"
  fi
  printf '     "licenses": ['
  while IFS= read -r licence; do
    printf '%s{"license": {"name": %s}}' "$separator" "$(quoted "$licence")"
    separator=", "
  done < <(licences "$1")
  printf '],\n     "purl": %s}' "$(quoted "pkg:deb/$distribution/${1//+/%2B}@${version//+/%2B}$qualifiers")"
}

declare -A library_of
while read -r library; do
  package=$(owner "$library")
  [ -n "$package" ] || { echo "sbom.sh: no package owns $library" >&2; exit 1; }
  # A package like libc6 owns several libraries; takes the first of a sorted list.
  [ -n "${library_of[$package]-}" ] || library_of[$package]=$library
done < <(ldd "$program" | sed -n 's|.*[[:space:]]\(/[^ ]*\) (0x.*|\1|p' | LC_ALL=C sort)
[ ${#library_of[@]} -gt 0 ] || { echo "sbom.sh: $program loads no libraries" >&2; exit 1; }
mapfile -t linked < <(printf '%s\n' "${!library_of[@]}" | LC_ALL=C sort)

printf '{\n  "bomFormat": "CycloneDX",\n  "specVersion": "1.5",\n  "version": 1,\n  "metadata": {\n'
if [ -n "${SOURCE_DATE_EPOCH-}" ]; then
  printf '    "timestamp": "%s",\n' "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)"
fi
printf '    "component": {"type": "application", "bom-ref": %s, "name": %s, "version": %s,\n' \
  "$(quoted "$name")" "$(quoted "$name")" "$(quoted "$version")"
printf '                  "licenses": [{"license": {"id": "MIT"}}]}\n  },\n  "components": [\n'
separator=""
for package in "${linked[@]}"; do
  printf '%s' "$separator"
  component "$package" "loaded: $(basename "${library_of[$package]}")" required \
    "${library_of[$package]}"
  separator=$',\n'
done
for package in "$@"; do
  printf '%s' "$separator"
  case $package in
    optional:*) component "${package#optional:}" "loaded when it is needed and installed" optional ;;
    *) component "$package" "compiled in: headers" required ;;
  esac
done
printf '\n  ],\n  "dependencies": [{"ref": %s, "dependsOn": [' "$(quoted "$name")"
separator=""
for package in "${linked[@]}" "$@"; do
  printf '%s%s' "$separator" "$(quoted "${package#optional:}")"
  separator=", "
done
printf ']}]\n}\n'
