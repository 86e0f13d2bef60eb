#!/usr/bin/env bash
# Installs the packages of `make deb` in a bare Debian 12 and tries them: `make deb-test`.
#   1. the program alone serves a file
#   2. the service is installed, serves, rotates its logs, is upgraded, removed and purged (service.sh)
#   3. programs that find_package() finds the library for are built and serve requests
#   4. without the development package, the one with the shared library still does
# Needs root and debootstrap. Like scripts/newcomer, it runs in mount and PID namespaces of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lib/debian_root.sh
. deploy/debian/service.sh

work=$PWD/build/deb-test
root=$work/root
packages=$PWD/build/package/deb

say() { echo "deb-test: $*"; }

fail() {
  if [[ -f $work/log ]]; then tail -50 "$work/log" | sed 's/^/  /' >&2; fi
  echo "deb-test: FAILED: $*" >&2
  exit 1
}

make_root() {
  local tar
  tar=$(scripts/debian-root bookworm ca-certificates curl git make sudo)
  rm -rf "$work"
  mkdir -p "$root"
  tar --extract --file "$tar" --directory "$root"
  copy_network_settings
  mkdir "$root/srv/deb" "$root/srv/www"
  cp "$packages"/*.deb "$root/srv/deb/"
  cp -r tests/install/consumer "$root/srv/"
  echo 'a page' >"$root/srv/www/index.html"
}

# --- inside the namespaces --------------------------------------------------------------------

install() {
  in_root apt-get install --yes -qq --no-install-recommends "$@" >"$work/log" 2>&1 ||
    fail "cannot install $*"
}

# wait_for PATTERN: prints the first group of the first line of the log that matches.
wait_for() {
  local try found
  for ((try = 0; try < 600; ++try)); do
    found=$(sed -nE "s|$1|\\1|p" "$work/log" | head -1)
    if [[ -n $found ]]; then echo "$found"; return; fi
    sleep 0.1
  done
  fail "no line like $1"
}

fetch() { in_root curl --silent --show-error --fail --noproxy '*' --max-time 20 "$@"; }

try_program() {
  local job url
  # A function would run in a subshell, which would get the signal.
  chroot "$root" /usr/bin/h2server --h2c --host 127.0.0.1 --port 0 --root /srv/www \
    >"$work/log" 2>&1 &
  job=$!
  url=$(wait_for '^  (http://[^ ]+)$')
  [[ $(fetch --http2-prior-knowledge "$url") == 'a page' ]] || fail 'the page did not come'
  kill -TERM "$job"
  wait "$job" || fail "the program ended with status $?"
  say 'the program: ok'
}

# try_consumer KIND
try_consumer() {
  local job port
  mkfifo "$work/input"
  in_root "/srv/build-$1/consumer" <"$work/input" >"$work/log" 2>&1 &
  job=$!
  exec 3>"$work/input"
  port=$(wait_for '^port ([0-9]+)$')
  [[ $(fetch "http://127.0.0.1:$port/hello/you") == 'hello you' ]] || fail "$1: no answer"
  exec 3>&-
  wait "$job" || fail "$1: the consumer ended with status $?"
  rm "$work/input"
  say "a program with the $1 library: ok"
}

build_consumer() {
  {
    in_root cmake -S /srv/consumer -B "/srv/build-$1" -D WAY=find_package -D "COMPONENTS=COMPONENTS;$1"
    in_root cmake --build "/srv/build-$1"
  } >"$work/log" 2>&1 || fail "$1: the consumer is not built"
}

inside() {
  local kind libraries
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  in_root apt-get update -qq >"$work/log" 2>&1 || fail 'apt-get update'
  install logrotate "$(in_root sh -c 'ls /srv/deb/h2server_*.deb')"
  try_program
  try_service "$(ls "$root"/srv/deb/h2server_*.deb)"
  mapfile -t libraries < <(in_root sh -c 'ls /srv/deb/lib*.deb')
  install "${libraries[@]}" g++ cmake
  for kind in static shared; do
    build_consumer "$kind"
    try_consumer "$kind"
  done
  in_root apt-get remove --yes -qq libh2server-dev >"$work/log" 2>&1 || fail 'apt-get remove'
  try_consumer shared
}

if [[ ${1:-} == inside ]]; then
  inside
  exit
fi
skip_unless_possible
trap 'rm -rf "$work"' EXIT
make_root
setpriv --pdeathsig KILL \
  unshare --mount --pid --fork --kill-child --mount-proc deploy/debian/test.sh inside
say 'all passed'
