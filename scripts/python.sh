#!/usr/bin/env bash
# Virtual environments for the Python package, with the versions and hashes of python/requirements.lock.
#   scripts/python.sh wheel DIR FLAG…  builds the wheel into DIR, with flags of `maturin build`
#   scripts/python.sh test             .tools/python-test, with all that the tests need; prints its bin directory
#   scripts/python.sh s3               .tools/python-s3, with the boto3 of python/s3.lock; prints its bin directory
#   scripts/python.sh fresh WHEEL      a new .tools/python-fresh with the wheel alone; prints its bin directory
set -euo pipefail
cd "$(dirname "$0")/.."

stop() { printf 'error: %s\nhint: %s\n' "$1" "$2" >&2; exit 1; }

# The interpreter that the locked versions were chosen for, or a newer one.
interpreter() {
  local name
  for name in python3.11 python3; do
    if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
  stop "no Python 3.11 or newer is installed" "on Debian: apt-get install python3 python3-venv"
}

# Makes a virtual environment, unless it was made from the same lock file.
environment() {
  local dir=.tools/python-$1 stamp lock=python/requirements.lock
  [ "$1" = s3 ] && lock=python/s3.lock
  shift
  stamp=$(sha256sum "$lock" | cut -d' ' -f1)
  # Tests that run side by side ask for the same one: the second waits until it is whole.
  mkdir -p .tools
  exec 9>.tools/lock
  flock 9
  if [ "$(cat "$dir/stamp" 2>/dev/null)" != "$stamp" ]; then
    printf 'setup: making %s\n' "$dir" >&2
    rm -rf "$dir"
    "$(interpreter)" -m venv "$dir"
    "$dir/bin/pip" -q --disable-pip-version-check install --require-hashes "$@" >&2
    echo "$stamp" >"$dir/stamp"
  fi
  echo "$PWD/$dir/bin"
}

# The lines of the lock file for one package.
locked() { sed -n "/^$1==/,/^[a-z#]/{/^$1==/p;/^    /p;}" python/requirements.lock | sed '/^    #/d'; }

case ${1:-} in
  wheel)
    scripts/setup.sh packages wheel
    mkdir -p .tools
    locked maturin >.tools/maturin.lock
    bin=$(environment build -r .tools/maturin.lock)
    CARGO_TARGET_DIR="$(realpath -m "${CARGO_TARGET_DIR:-target}")" "$bin/maturin" build --locked --out "${@:2}"
    ;;
  s3) environment s3 -r python/s3.lock ;;
  test) environment test -r python/requirements.lock ;;
  fresh)
    rm -rf .tools/python-fresh
    locked numpy >.tools/numpy.lock
    environment fresh -r .tools/numpy.lock >/dev/null
    .tools/python-fresh/bin/pip -q --disable-pip-version-check install --no-deps "${2:?fresh needs a wheel}" >&2
    echo "$PWD/.tools/python-fresh/bin"
    ;;
  *) stop "python.sh knows wheel, test, s3 and fresh, not '${1:-}'" "read the head of scripts/python.sh" ;;
esac
