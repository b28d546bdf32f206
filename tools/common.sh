# Functions that the scripts of tools share. They source it in the folder of the project.

random_seed() { od -An -N3 -tu4 /dev/urandom | tr -d ' '; }

# FOLDER MODULES PACKAGE...: makes a virtual environment that can import these modules, listed with commas, unless the
# folder is one already. Returns 1 if the packages cannot be installed.
environment() {
  [ -x "$1/bin/python" ] || python3 -m venv "$1"
  "$1/bin/python" -c "import $2" 2>/dev/null ||
    "$1/bin/python" -m pip install -q --no-compile --disable-pip-version-check "${@:3}" || {
    echo "$0: the packages of $1 cannot be installed with pip" >&2
    return 1
  }
}

# TARGET...: builds targets of the preset release.
build_release() {
  cmake --preset release -DCMAKE_CXX_COMPILER_LAUNCHER=ccache >/dev/null
  cmake --build --preset release --target "$@" >&2
}

# Prints the processor time in seconds of all commands that this shell has waited for.
cpu_seconds() {
  local fields
  read -ra fields <"/proc/$$/stat"
  echo $(((fields[15] + fields[16]) / $(getconf CLK_TCK)))
}

# FILE NAME COMMAND...: runs a part, and adds its times, verdict and name to the file. Exit code 77 means skipped.
step() {
  local status=0 start=$SECONDS cpu verdict=passed
  cpu=$(cpu_seconds)
  "${@:3}" || status=$?
  case $status in
    0) ;;
    77) verdict=skipped ;;
    *) verdict=FAILED ;;
  esac
  printf '%5d s | %5d s | %-7s | %s\n' "$((SECONDS - start))" "$(($(cpu_seconds) - cpu))" "$verdict" "$2" >>"$1"
  return "$status"
}

# FILE: prints the table of the parts. Returns 1 if one failed.
show_steps() {
  printf ' time   |   CPU   | verdict | part\n'
  cat "$1"
  ! grep -q '^[^|]*|[^|]*| FAILED' "$1"
}
