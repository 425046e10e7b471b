#!/usr/bin/env bash
# Judges the gateway with the functional tests of ceph/s3-tests (MIT), which share no code with Towtank: some 900 tests in
# Python, written for Ceph and tried on S3.
#
#   git clone https://github.com/ceph/s3-tests && git -C s3-tests checkout 8f0ae7b404a3a2fcf7038bf1e6bf29544fe9b6a3
#   python3 -m venv s3-tests/venv && s3-tests/venv/bin/pip install -r s3-tests/requirements.txt
#   peers/s3-tests.sh [--planted | --write] DIRECTORY [WORD…]
#
# DIRECTORY is the clone, which is not changed, and WORDs are arguments of pytest (by default, test_s3.py and test_headers.py:
# the others need other services, or S3 Select, without which they compare one refusal with another and pass). A store of
# three devices is made for them. peers/s3-tests.txt says of each test that it passes, or why not (peers/s3_tests.py has its
# form). Exit code 1 if a test does otherwise, is new, or is not there any more. --planted changes two lines of that list for
# this run, and both must be found. --write writes the outcomes into the list, where tests that nobody has judged say so.
# PYTHON is the interpreter (DIRECTORY/venv/bin/python); all tests take some 12 minutes.
set -euo pipefail
planted='' writes=''
case ${1:-} in
--planted) planted=1; shift ;;
--write) writes=1; shift ;;
esac
suite=$(cd "${1:?the directory of a clone of github.com/ceph/s3-tests}" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
towtank=${TOWTANK:-target/release/towtank}
python=${PYTHON:-$suite/venv/bin/python}
[ -x "$towtank" ] || { echo "$towtank is not built: make build" >&2; exit 2; }
[ -f "$suite/s3tests/functional/test_s3.py" ] || { echo "$suite is no clone of github.com/ceph/s3-tests" >&2; exit 2; }
"$python" -c 'import boto3, munch, pytest, requests' || { echo "$python lacks requirements.txt of the suite" >&2; exit 2; }
words=("$@") part=1
if [ ${#words[@]} -eq 0 ]; then
    part='' words=(s3tests/functional/test_s3.py s3tests/functional/test_headers.py)
fi
towtank=$(readlink -f "$towtank")
dir=$(mktemp -d "${TMPDIR:-/tmp}/peer-s3-tests.XXXXXX")
gateway=
finish() {
    [ -z "$gateway" ] || kill "$gateway" 2>/dev/null || true
    "$towtank" store down --dir "$dir/store" >/dev/null 2>&1 || true
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM
"$towtank" store up --dir "$dir/store" --osds 3 --groups 4 --sync never >/dev/null
"$towtank" store gateway --dir "$dir/store" >"$dir/gateway" 2>&1 &
gateway=$!
for _ in $(seq 100); do
    grep -q '^S3 at ' "$dir/gateway" && break
    sleep 0.1
done
address=$(sed -n 's|^S3 at http://\([^,]*\),.*|\1|p' "$dir/gateway")
[ -n "$address" ] || { cat "$dir/gateway" >&2; exit 2; }
# shellcheck source=/dev/null
. "$dir/store/gateway.key"
# The gateway knows one user. The others of the suite have keys that it does not know.
person() { # SECTION KEY SECRET [LINE…]
    printf '[%s]\ndisplay_name = %s\nuser_id = %s\nemail = %s@example.com\n' "$1" "${1// /-}" "${1// /-}" "${1// /-}"
    printf 'access_key = %s\nsecret_key = %s\n' "$2" "$3"
    shift 3
    [ $# -eq 0 ] || printf '%s\n' "$@"
}
{
    printf '[DEFAULT]\nhost = %s\nport = %s\nis_secure = False\nssl_verify = False\n' "${address%:*}" "${address##*:}"
    printf '[fixtures]\nbucket prefix = towtank-{random}-\n'
    person 's3 main' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" 'api_name = us-east-1'
    for name in 's3 alt' iam 'iam root' 'iam alt root'; do person "$name" UNKNOWN unknown; done
    person 's3 tenant' UNKNOWN unknown 'tenant = other'
} >"$dir/conf"
cp "$here/s3-tests.txt" "$dir/list"
code=0
(cd "$suite" && env S3TEST_CONF="$dir/conf" S3_LIST="$dir/list" S3_FOUND="$dir/found" S3_PLANTED=$planted S3_PART=$part \
    PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 \
    "$python" -m pytest -q -p s3_tests -p no:cacheprovider --tb=line --no-summary "${words[@]}") || code=$?
if [ -n "$writes" ] && [ -s "$dir/found" ]; then
    { grep '^#' "$here/s3-tests.txt" || true; cat "$dir/found"; } >"$dir/list"
    cp "$dir/list" "$here/s3-tests.txt"
fi
exit "$code"
