#!/usr/bin/env bash
# Tests the Python extension with ThreadSanitizer: several Python threads call it at once.
# usage: test_python_tsan.sh [PYTEST_OPTION ...]     (default: tests/python/test_threads.py)
# Python itself is not instrumented; its locks are visible to the sanitizer. Needs the environment of
# test_python.sh. A full build takes half an hour on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
environment=$PWD/build/python/venv$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [ ! -x "$environment"/bin/pytest ]; then
  echo "error: run tools/test_python.sh first, which creates $environment" >&2
  exit 2
fi
trap 'cmake --preset tsan -DHEADLIGHT_PYTHON=OFF >/dev/null' EXIT
cmake --preset tsan -DHEADLIGHT_PYTHON=ON -DPython_EXECUTABLE="$environment/bin/python" \
  -Dnanobind_DIR="$("$environment"/bin/python -m nanobind --cmake_dir)" >/dev/null
cmake --build --preset tsan --target headlight_python headlight_cli
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' build/tsan/CMakeCache.txt)
export PYTHONPATH=$PWD/build/tsan/python_package HEADLIGHT_PROGRAM=$PWD/build/tsan/headlight
export TSAN_OPTIONS="halt_on_error=1 exitcode=66 ${TSAN_OPTIONS:-}"
LD_PRELOAD=$("$compiler" -print-file-name=libtsan.so) \
  setarch -R "$environment"/bin/pytest -q -p no:cacheprovider "${@:-tests/python/test_threads.py}"
