#!/bin/sh
# Rebuilds the page and holds the checked-in bundle to it, byte for byte.
# It leaves the checked-in file alone: `npm run build` is what writes that.
set -eu
cd "$(dirname "$0")"
[ -d node_modules ] || npm ci --no-audit --no-fund
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
TOWTANK_BUNDLE_DIR=$fresh npx vite build --logLevel warn
if ! cmp -s "$fresh/report.html" ../crates/report/assets/report.html; then
    echo "crates/report/assets/report.html is not what web/ builds; run \`npm run build\` in web/ and commit it" >&2
    exit 1
fi
