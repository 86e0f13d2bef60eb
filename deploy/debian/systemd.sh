#!/usr/bin/env bash
# Boots a bare Debian 12 with systemd in namespaces, installs the package of `make deb` there and runs
# the commands of docs/manual that are marked for it: a part of `make deb-test`.
# systemd.sh boot runs inside the namespaces.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lib/debian_root.sh

work=$PWD/build/deb-test-systemd
root=$work/root
cgroup=/sys/fs/cgroup/h2server-deb-test-$$  # a control group of this run
if [[ -d /sys/fs/cgroup/unified ]]; then cgroup=/sys/fs/cgroup/unified/h2server-deb-test-$$; fi
# What the package depends on: there is no network inside.
packages=(systemd systemd-sysv dbus logrotate adduser libbrotli1 libcrypt1 libcurl4 libexpat1 libfmt9
  libnghttp2-14 libqrencode4 liburing2 libzstd1)

say() { echo "deb-test: systemd: $*"; }

fail() {
  echo "deb-test: systemd: FAILED: $*" >&2
  inside journalctl --unit h2server --no-pager --lines 30 >&2 || true
  exit 1
}

# Becomes systemd, the first process of the namespaces.
boot() {
  mount --make-rprivate /
  mount --bind "$root" "$root"
  cd "$root"
  ip link set lo up
  mount -t proc proc proc
  mount -t sysfs -o ro sysfs sys
  mount -t cgroup2 cgroup2 sys/fs/cgroup
  mount -t tmpfs tmpfs run
  mount -t tmpfs -o mode=1777 tmpfs tmp
  mount -t tmpfs -o mode=755 tmpfs dev
  local device
  for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
  done
  mkdir dev/pts dev/shm old
  mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
  ln -s pts/ptmx dev/ptmx
  mount -t tmpfs tmpfs dev/shm
  pivot_root . old
  umount --lazy /old
  exec env --ignore-environment container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --log-target=null --show-status=0
}

# inside COMMAND…: runs it beside that systemd.
inside() {
  nsenter --target "$first" --all -- env --ignore-environment --chdir /srv \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}

make_root() {
  local tar
  tar=$(scripts/debian-root bookworm ca-certificates curl git make sudo)  # as test.sh has it
  rm -rf "$work"
  mkdir -p "$root"
  tar --extract --file "$tar" --directory "$root"
  copy_network_settings
  unshare --mount --pid --fork sh -c "mount -t proc proc '$root/proc' &&
    chroot '$root' env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get update -qq &&
      apt-get install --yes -qq --no-install-recommends ${packages[*]}'" \
    >"$work/log" 2>&1 || { tail "$work/log" >&2; exit 1; }
  cp build/package/deb/h2server_*.deb "$root/srv/"
  mkdir "$root/srv/www"
  echo 'a page' >"$root/srv/www/index.html"
}

start() {
  mkdir "$cgroup"
  (
    echo "$BASHPID" >"$cgroup/cgroup.procs"
    exec unshare --mount --pid --fork --cgroup --net --uts --ipc --kill-child "$0" boot
  ) >"$work/boot" 2>&1 &
  outer=$!
  local try state
  for ((try = 0; try < 300; ++try)); do
    first=$(ps -o pid= --ppid "$outer" | tr -d ' ' || true)
    if [[ -n $first && $(cat "/proc/$first/comm") == systemd ]]; then
      state=$(inside systemctl is-system-running 2>/dev/null || true)
      if [[ $state == running || $state == degraded ]]; then return; fi  # some units need hardware
    fi
    if ! kill -0 "$outer" 2>/dev/null; then break; fi
    sleep 0.1
  done
  say "skipped: systemd does not boot here: $(tail -1 "$work/boot")"
  exit 0
}

clean_up() {
  if [[ -n ${outer:-} ]]; then kill -KILL "$outer" 2>/dev/null || true; wait "$outer" 2>/dev/null || true; fi
  while [[ -d $cgroup ]] && ! rmdir "$cgroup" 2>/dev/null; do
    find "$cgroup" -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null || true
    sleep 0.1
  done
  rm -rf "$work"
}

# block PAGE MARK NUMBER: prints a block of the manual.
block() {
  awk -v mark="<!-- $2 -->" -v wanted="$3" '
    $0 == mark { found = ++count == wanted; next }
    found && /^```/ { if (open) exit; open = 1; next }
    found && open' "docs/manual/$1.md"
}

# run PAGE MARK NUMBER: runs one; its output is in $work/out.
run() {
  block "$@" >"$root/srv/commands"
  [[ -s $root/srv/commands ]] || fail "no block $3 marked $2 in $1.md"
  inside bash -e /srv/commands >"$work/out" 2>&1 || fail "$(cat "$root/srv/commands" "$work/out")"
}

# property NAME: prints a property of the service.
property() { inside systemctl show --value --property "$1" h2server; }

wait_for() {
  local try
  for ((try = 0; try < 200; ++try)); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  fail "waited in vain: $*"
}

has_main_process_other_than() { [[ $(property MainPID) != "$1" && $(property MainPID) != 0 ]]; }

fetch() { inside curl --silent --insecure --fail --max-time 20 "$@"; }

try_service() {
  local process
  run install systemd 1
  grep -q 'h2server serves' "$work/out" || fail 'the page of the package did not come'
  [[ $(property Type) == notify && $(property StatusText) == 'serves 1 site on 1 listener' ]] ||
    fail "status: $(property StatusText)"
  run install systemd 2
  process=$(property MainPID)
  inside sh -c 'dpkg --install ./h2server_*.deb' >/dev/null 2>&1 || fail 'the package is not upgraded'
  wait_for has_main_process_other_than "$process"
  fetch http://127.0.0.1:8080/ >/dev/null || fail 'no page after an upgrade'
  [[ $(property NRestarts) == 0 ]] || fail 'the service was restarted'
  say 'installed, reloaded, upgraded: ok'
}

try_sockets() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=example.com \
    -addext subjectAltName=DNS:example.com -keyout "$root/etc/h2server/example.com.key" \
    -out "$root/etc/h2server/example.com.crt" 2>/dev/null
  inside chgrp h2server /etc/h2server/example.com.key
  chmod 640 "$root/etc/h2server/example.com.key"
  block install 'systemd file' 1 >"$root/etc/h2server/h2server.toml"
  run install systemd 3
  [[ $(fetch https://127.0.0.1/) == 'a page' ]] || fail 'the page did not come from port 443'
  inside systemctl stop h2server.service 2>/dev/null
  [[ $(fetch https://127.0.0.1/) == 'a page' ]] || fail 'a client does not start the service'
  inside systemctl kill --kill-whom=main --signal=KILL h2server
  [[ $(fetch https://127.0.0.1/) == 'a page' ]] || fail 'the service is not restarted'
  say 'ports 80 and 443, started by a client, restarted: ok'
}

try_watchdog() {
  local process
  mkdir -p "/proc/$first/root/run/systemd/system/h2server.service.d"
  printf '[Service]\nWatchdogSec=2\n' >"/proc/$first/root/run/systemd/system/h2server.service.d/test.conf"
  inside systemctl daemon-reload
  inside systemctl restart h2server
  process=$(property MainPID)
  inside systemctl kill --kill-whom=main --signal=STOP h2server
  wait_for has_main_process_other_than "$process"
  fetch https://127.0.0.1/ >/dev/null || fail 'no page after the watchdog'
  run troubleshooting systemd 1
  say 'watchdog: ok'
}

try_removal() {
  run install 'systemd last' 1
  if inside systemctl cat h2server >/dev/null 2>&1 || [[ -e $root/var/lib/h2server ]]; then
    fail 'something is left after purging'
  fi
  say 'purged: ok'
}

if [[ ${1:-} == boot ]]; then boot; fi
skip_unless_possible
trap clean_up EXIT
make_root
start
try_service
try_sockets
try_watchdog
try_removal
