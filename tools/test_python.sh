#!/usr/bin/env bash
# Builds the Python package into a virtual environment under build/python, runs its tests, and checks
# the types of the stubs, the package and the tests.
# usage: test_python.sh [PYTEST_OPTION ...]
# PYTHON chooses the interpreter (default: python3).
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
environment=build/python/venv$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [ ! -x "$environment"/bin/mypy ]; then
  "$python" -m venv $environment
  $environment/bin/pip install -q 'scikit-build-core>=0.10' 'nanobind>=3.1' ninja cmake numpy pytest mypy
fi
export PATH=$PWD/$environment/bin:$PATH
if [ -z "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ] && command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache
fi
pip install -q --disable-pip-version-check --no-build-isolation --no-deps \
  --config-settings=cmake.define.HEADLIGHT_WERROR=ON .
timeout 90 pytest -q "$@"
mypy --strict tests/python
mypy --strict -p headlight
