#!/usr/bin/env bash
# Tests the wheel in a directory: without Rust on the path, in an environment with the wheel alone, then in one with all
# extras.
#   scripts/test-python.sh dist    the wheel for users: it must not be large, either
set -euo pipefail
cd "$(dirname "$0")/.."

WHEEL_MAX_BYTES=15000000

# What tests must not find: cargo and the binary that it builds.
without_rust() { env -u CARGO_TARGET_DIR -u RUSTUP_TOOLCHAIN PATH="$1:/usr/bin:/bin" "${@:2}"; }

directory=${1:?name the directory of the wheel}
wheel=$(ls "$directory"/towtank-*.whl)
size=$(stat -c %s "$wheel")
printf '%s: %s bytes\n' "$wheel" "$size"
if [ "$directory" = dist ] && [ "$size" -gt "$WHEEL_MAX_BYTES" ]; then
  echo "error: the wheel is above $WHEEL_MAX_BYTES bytes" >&2
  exit 1
fi

fresh=$(scripts/python.sh fresh "$wheel")
without_rust "$fresh" towtank --version
without_rust "$fresh" python - <<'PYTHON'
import towtank as tt

report = tt.run("queue-mm1", replicates=2, span="100s", quiet=True)
assert report.answer.startswith("A job waits"), report.answer
assert tt.placement.Ring(4).lookup([1, 2, 3]).shape == (3, 1)
try:
    report.summary
except ImportError as error:
    assert "pip install 'towtank[pandas]'" in str(error), error
else:
    raise AssertionError("pandas is there, so this is not a fresh environment")
PYTHON

tools=$(scripts/python.sh test)
"$tools/python" -m pip -q --disable-pip-version-check install --no-deps --force-reinstall "$wheel"
"$tools/python" -m ruff check python
"$tools/python" -m ruff format --check -q python
(cd python && "$tools/python" -m mypy --config-file ../pyproject.toml --strict towtank examples benches)
# The stubs against the installed extension, from a folder where the sources do not hide it.
(cd .tools && "$tools/python" -m mypy.stubtest towtank._towtank)
# Outside the checkout's package directory, so that the installed package is the one that is tested.
without_rust "$tools" python -m pytest -q python/tests -p no:cacheprovider
