#!/usr/bin/env bash
# Checks the grammars of JSON schemas on the JSON-Schema-Test-Suite, which the source package of
# jsonschema contains, with the validator of that package; see tools/parity/check_json_schema.py.
# Needs Python 3 with venv and PyPI. Ends with 1 if a text of a grammar is wrong, and with 77 if the
# packages cannot be installed.
# usage: json_schema.sh PROGRAM [OPTIONS of check_json_schema.py]
#   PROGRAM: headlight_schema_texts, such as build/release/tests/parity/headlight_schema_texts
set -euo pipefail
program=$(realpath "${1:?usage: json_schema.sh PROGRAM [OPTIONS]}")
cd "$(dirname "$0")/../.."
source tools/common.sh
shift
version=4.26.0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
environment "$scratch/venv" jsonschema,hatch_vcs "jsonschema[format]==$version" hatchling hatch-vcs hatch-fancy-pypi-readme &&
  "$scratch/venv/bin/pip" -q --disable-pip-version-check download --no-deps --no-binary jsonschema --no-build-isolation \
    -d "$scratch" "jsonschema==$version" || exit 77
tar -xzf "$scratch/jsonschema-$version.tar.gz" -C "$scratch"
"$scratch/venv/bin/python" tools/parity/check.py json_schema "$program" "$scratch/jsonschema-$version/json" "$@" |
  python3 tools/parity/table.py
