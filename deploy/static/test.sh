#!/usr/bin/env bash
# Builds the static program and runs it in a folder with nothing else than a page: `make static-test`.
# Needs root, or user namespaces.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=${PROGRAM:-build/static/h2server}
work=$PWD/build/static-test
root=$work/root
job=''

say() { echo "static-test: $*"; }

fail() {
  if [[ -f $work/log ]]; then sed 's/^/  server: /' "$work/log" >&2; fi
  echo "static-test: FAILED: $*" >&2
  exit 1
}

clean_up() {
  if [[ -n $job ]]; then kill "$job" 2>/dev/null || true; fi
  rm -rf "$work"
}

# in_root ARGUMENTS…: runs the program with the empty folder as its root.
in_root() {
  if [[ $(id -u) -eq 0 ]]; then exec chroot "$root" /h2server "$@"; fi
  exec unshare --map-root-user chroot "$root" /h2server "$@"
}

# start OPTIONS…: sets `job` and `url`.
start() {
  local try
  in_root --host 127.0.0.1 --port 0 --root /www --upload-dir /uploads "$@" >"$work/log" 2>&1 &
  job=$!
  for ((try = 0; try < 300; ++try)); do
    url=$(sed -nE 's:^  (https?\://[^ ]+/)$:\1:p' "$work/log" | head -1)
    if [[ -n $url ]]; then return; fi
    kill -0 "$job" 2>/dev/null || fail 'it does not start'
    sleep 0.1
  done
  fail 'it does not say where it listens'
}

stop() {
  kill -TERM "$job"
  wait "$job" || fail "SIGTERM ended it with status $?"
  job=''
}

# try_serving VERSION CURL_OPTION OPTIONS…
try_serving() {
  local curl=(curl --silent --insecure --max-time 20 "$2") version=$1 got
  shift 2
  start "$@"
  got=$("${curl[@]}" --compressed --output "$work/page" --write-out '%{http_version}' "$url")
  [[ $got == "$version" ]] || fail "HTTP/$version was wanted, HTTP/$got came"
  cmp -s "$work/page" www/index.html || fail 'the page did not come'
  "${curl[@]}" --form "file=@www/style.css" --output "$work/answer" "${url}files" ||
    fail "the upload was refused: $(cat "$work/answer")"
  cmp -s "$root/uploads/style.css" www/style.css || fail 'the upload is not there'
  rm "$root/uploads/style.css"
  stop
  say "HTTP/$version: ok"
}

# What it lacks is reported by what needs it.
try_absent() {
  local said
  said=$(in_root put /www/index.html http://127.0.0.1:1/ 2>&1) && fail 'put works'
  [[ $said == *'without libcurl'* ]] || fail "put says: $said"
  say 'what it lacks: ok'
}

if [[ $(id -u) -ne 0 ]] && ! unshare --map-root-user true 2>/dev/null; then
  echo 'skipped: needs root or user namespaces'
  exit 0
fi
trap clean_up EXIT
rm -rf "$work"
mkdir -p "$root/uploads"
cp "$program" "$root/h2server"
strip "$root/h2server"
cp -r www "$root/www"
if file "$root/h2server" | grep -q 'dynamically linked'; then fail 'it is linked dynamically'; fi
say "$(stat --format %s "$root/h2server" | awk '{ printf "%.1f MB", $1 / 1e6 }')"
try_serving 1.1 --http1.1 --h2c
try_serving 2 --http2-prior-knowledge --h2c
try_serving 2 --http2 --self-signed --cert /server.crt --key /server.key
try_absent
say 'all passed'
