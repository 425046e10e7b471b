#!/usr/bin/env bash
# Brings in what is missing on this machine, and is quick and silent where nothing is.
#   scripts/setup.sh rust             the toolchain that rust-toolchain.toml names
#   scripts/setup.sh packages STAGE   the Debian packages of packages.txt for STAGE (build, wheel or test)
#   scripts/setup.sh target TRIPLE    the standard library of the toolchain for another target
#   scripts/setup.sh node             looks whether Node.js is there and new enough for web/
#   scripts/setup.sh nightly DATE     the nightly for `make fuzz`; prints the name to call it by
set -euo pipefail
cd "$(dirname "$0")/.."

# The target beside the machine's own that `make wasm` checks.
WASM=wasm32-unknown-unknown

say() { printf 'setup: %s\n' "$*" >&2; }
stop() { printf 'error: %s\nhint: %s\n' "$1" "$2" >&2; exit 1; }

rust() {
  local want have
  want=$(sed -n 's/^channel = "\(.*\)"$/\1/p' rust-toolchain.toml)
  if command -v rustup >/dev/null && [ -z "${RUSTUP_TOOLCHAIN:-}" ]; then
    if ! rustup run "$want" cargo clippy --version >/dev/null 2>&1 ||
      ! rustup run "$want" cargo fmt --version >/dev/null 2>&1 ||
      ! [ -d "$(rustup run "$want" rustc --print target-libdir --target "$WASM")" ]; then
      say "installing Rust $want"
      rustup toolchain install "$want" --profile minimal --component clippy,rustfmt --target "$WASM" >&2 ||
        stop "Rust $want is not installed and could not be downloaded" \
          "where another installed toolchain is $want, name it: make RUSTUP_TOOLCHAIN=stable ..."
    fi
    return
  fi
  command -v cargo >/dev/null ||
    stop "cargo is not installed" "install Rust $want through https://rustup.rs"
  have=$(rustc --version | cut -d' ' -f2)
  [ "$have" = "$want" ] ||
    stop "rustc is $have, but this project is built with $want" "install rustup, which fetches $want by itself"
}

packages() {
  local stage=$1 package first missing=() sudo=()
  while read -r package first _; do
    case $package in '' | '#'*) continue ;; esac
    if [ "$first" != build ] && [ "$first" != "$stage" ]; then continue; fi
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done <packages.txt
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! command -v apt-get >/dev/null; then
    say "this is not Debian, so these are yours to install where a check asks for them: ${missing[*]}"
    return 0
  fi
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      stop "these Debian packages are missing, and there is no sudo to install them: ${missing[*]}" \
        "as root: apt-get install ${missing[*]}"
    sudo=(sudo)
  fi
  say "installing ${missing[*]}"
  "${sudo[@]}" apt-get -q -o DPkg::Lock::Timeout=300 update >&2
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "${missing[@]}" >&2
}

node() {
  local oldest have
  oldest=$(sed -n 's/.*"node": ">=\([0-9.]*\)".*/\1/p' web/package.json)
  command -v node >/dev/null && command -v npm >/dev/null ||
    stop "node and npm are not installed" "install Node.js $oldest or newer; only the checks of web/ need it"
  have=$(command node --version)
  [ "$(printf '%s\n' "$oldest" "${have#v}" | sort -V | head -n 1)" = "$oldest" ] ||
    stop "Node.js is version ${have#v}, but web/ needs $oldest or newer" "install Node.js $oldest or newer"
}

target() {
  local triple=$1
  [ -d "$(rustc --print target-libdir --target "$triple")" ] && return
  command -v rustup >/dev/null ||
    stop "the toolchain cannot build for $triple" "install rustup, which adds targets"
  say "adding $triple"
  rustup target add "$triple" >&2
}

nightly() {
  local date=$1 have
  command -v rustup >/dev/null ||
    stop "make fuzz needs a nightly compiler, which comes through rustup" "install https://rustup.rs"
  if rustup run "nightly-$date" rustc --version >/dev/null 2>&1; then
    echo "nightly-$date"
    return
  fi
  # The commit date that `rustc --version` ends with: ISO dates sort as text.
  have=$(rustup run nightly rustc --version 2>/dev/null | sed -n 's/.* \(20[0-9-]*\))$/\1/p')
  if [ -n "$have" ] && ! [[ $have < $date ]]; then
    echo nightly
    return
  fi
  say "installing nightly-$date"
  rustup toolchain install "nightly-$date" --profile minimal >&2 ||
    stop "nightly-$date is not installed and could not be downloaded" \
      "only make fuzz needs it; any nightly of $date or later will do, installed as nightly"
  echo "nightly-$date"
}

case ${1:-} in
  rust) rust ;;
  packages) packages "${2:?packages needs a stage: build or test}" ;;
  node) node ;;
  target) target "${2:?target needs a triple}" ;;
  nightly) nightly "${2:?nightly needs a date}" ;;
  *) stop "setup.sh knows rust, packages, node, target and nightly, not '${1:-}'" "read the head of scripts/setup.sh" ;;
esac
