#!/usr/bin/env bash
# Tests the Python extension with ThreadSanitizer (of GCC): several Python threads call it at once.
# usage: test_python_tsan.sh [PYTEST_OPTION ...]     (default: tests/python/test_threads.py)
# Python itself is not instrumented, but the sanitizer sees its locks. Needs the environment of
# test_python.sh. The first build takes about half an hour on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
environment=$PWD/build/python/venv$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if [ ! -x "$environment"/bin/pytest ]; then
  echo "error: run tools/test_python.sh first, which creates $environment" >&2
  exit 2
fi
build=$PWD/build/tsan_python
cmake --preset tsan -B "$build" -DCMAKE_CXX_COMPILER=g++ -DHEADLIGHT_PYTHON=ON \
  -DPython_EXECUTABLE="$environment/bin/python" \
  -Dnanobind_DIR="$("$environment"/bin/python -m nanobind --cmake_dir)" >/dev/null
cmake --build "$build" --target headlight_python headlight_cli
export PYTHONPATH=$build/python_package HEADLIGHT_PROGRAM=$build/headlight
export TSAN_OPTIONS="exitcode=66 ${TSAN_OPTIONS:-}"
if [ $# = 0 ]; then
  set -- tests/python/test_threads.py
fi
# The sanitizer needs fixed addresses (setarch -R) on newer kernels.
LD_PRELOAD=$(g++ -print-file-name=libtsan.so) setarch -R "$environment"/bin/pytest -q "$@"
