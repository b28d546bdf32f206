#!/usr/bin/env bash
# Builds the Python package, runs its tests, and checks the types of the stubs, the package and the
# tests.
# usage: test_python.sh [--built] [PYTEST_OPTION ...]
#   --built   add the extension to build/release, where the libraries are built already, and test it
#             there; otherwise build and install a wheel, as pip does
# PYTHON chooses the interpreter (default: python3). Ends with 3 if PyPI is not reachable.
set -euo pipefail
cd "$(dirname "$0")/.."
built=
if [ "${1:-}" = --built ]; then
  built=yes
  shift
fi
python=${PYTHON:-python3}
environment=build/python/venv$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [ ! -x "$environment"/bin/mypy ]; then
  "$python" -m venv "$environment"
  "$environment"/bin/pip install -q 'scikit-build-core>=0.10' 'nanobind>=3.1' ninja cmake numpy \
    pytest mypy || exit 3
fi
if [ -n "$built" ]; then
  # Later builds do not depend on the virtual environment.
  trap 'cmake --preset release -DHEADLIGHT_PYTHON=OFF >/dev/null' EXIT
  cmake --preset release -DHEADLIGHT_PYTHON=ON -DPython_EXECUTABLE="$PWD/$environment/bin/python" \
    -Dnanobind_DIR="$("$environment"/bin/python -m nanobind --cmake_dir)" >/dev/null
  cmake --build --preset release --target headlight_python headlight_python_stubs
  export PYTHONPATH=$PWD/build/release/python_package MYPYPATH=$PWD/build/release/python_package
  export HEADLIGHT_PROGRAM=$PWD/build/release/headlight
  cp -r build/release/python_stubs/. "$PYTHONPATH"/headlight/
fi
if [ -z "$built" ]; then
  export PATH=$PWD/$environment/bin:$PATH
  if [ -z "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ] && command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  pip install -q --disable-pip-version-check --no-build-isolation --no-deps \
    --config-settings=cmake.define.HEADLIGHT_WERROR=ON .
fi
timeout 300 "$environment"/bin/pytest -q "$@"
"$environment"/bin/mypy --strict tests/python
"$environment"/bin/mypy --strict -p headlight
