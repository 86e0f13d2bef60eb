# For test.sh: the service of the package, without systemd, which does not run in a bare root. The
# program is started as the unit says: by its command, as its user, without capabilities. Source it.

unit=lib/systemd/system/h2server.service
wanted_by=etc/systemd/system/multi-user.target.wants/h2server.service

# setting NAME: prints a setting of the unit.
setting() { sed -n "s/^$1=//p" "$root/$unit"; }

# Runs a command in the network of the service, where its port is free.
in_network() { nsenter --net="/proc/$network/ns/net" "$@"; }

make_network() {
  unshare --net sleep infinity &
  network=$!
  while [[ $(readlink "/proc/$network/ns/net") == $(readlink /proc/self/ns/net) ]]; do sleep 0.1; done
  in_network ip link set lo up
}

start_service() {
  local command
  mkdir -p "$root/run/h2server"  # RuntimeDirectory=
  in_root chown h2server: /run/h2server
  read -ra command <<<"$(setting ExecStart)"
  in_network chroot "$root" setpriv --reuid "$(setting User)" --regid "$(setting Group)" --init-groups \
    --no-new-privs --inh-caps=-all --ambient-caps=-all --bounding-set=-all \
    env --chdir "$(setting WorkingDirectory)" "$(setting Environment)" "${command[@]}" \
    >"$work/log" 2>&1 &
  service=$!
  wait_for '^ *(Ctrl-C) stops' >/dev/null
}

service_process() { cat "$root/run/h2server/pid"; }

# Checks that the page of the package comes.
look_at_page() {
  in_network chroot "$root" curl --silent --fail --max-time 20 http://127.0.0.1:8080/ |
    cmp -s - "$root/usr/share/h2server/www/index.html" || fail "$1: the page did not come"
}

try_installed() {
  local file user
  for file in usr/share/man/man1/h2server.1.gz usr/share/bash-completion/completions/h2server \
    usr/share/zsh/vendor-completions/_h2server usr/share/fish/vendor_completions.d/h2server.fish; do
    [[ -s $root/$file ]] || fail "there is no $file"
  done
  gzip -dc "$root/usr/share/man/man1/h2server.1.gz" | grep -q '^\.TH H2SERVER 1' || fail 'man page'
  in_root bash -n /usr/share/bash-completion/completions/h2server || fail 'completion of bash'
  [[ -L $root/$wanted_by ]] || fail 'the service is not enabled'
  user=$(setting User)
  in_root setpriv --reuid "$user" --regid "$user" --init-groups \
    h2server check --config /etc/h2server/h2server.toml >"$work/log" 2>&1 ||
    fail 'the configuration as installed is wrong'
  say 'service: installed: ok'
}

try_serving() {
  start_service
  look_at_page 'start'
  [[ $(ps -o user= -p "$(service_process)") != root ]] || fail 'the service runs as root'
  say 'service: serves as the unit says: ok'
}

try_rotation() {
  local log=$root/var/log/h2server/access.log
  while [[ ! -s $log ]]; do sleep 0.1; done
  in_root logrotate --force /etc/logrotate.d/h2server >"$work/logrotate" 2>&1 ||
    fail "logrotate: $(cat "$work/logrotate")"
  [[ -s $log.1 ]] || fail 'the log was not rotated'
  kill -HUP "$(service_process)"  # what the file asks systemd for
  until [[ -s $log ]]; do
    look_at_page 'rotation'
    sleep 0.1
  done
  say 'service: rotation of logs: ok'
}

# Installs a package that is the same, but for its version.
try_upgrade() {
  local before=$1 next=$work/next
  dpkg-deb --raw-extract "$before" "$next"
  sed -i 's/^Version: .*/&.1/' "$next/DEBIAN/control"
  dpkg-deb --build --root-owner-group "$next" "$root/srv/next.deb" >"$work/dpkg" 2>&1 ||
    fail "dpkg-deb: $(cat "$work/dpkg")"
  before=$(service_process)
  echo '# mine' >>"$root/etc/h2server/h2server.toml"
  in_root apt-get install --yes -qq /srv/next.deb >"$work/dpkg" 2>&1 ||
    fail "upgrade: $(cat "$work/dpkg")"
  grep -q '^# mine' "$root/etc/h2server/h2server.toml" || fail 'the configuration was replaced'
  look_at_page 'upgrade'
  in_root h2server upgrade /run/h2server/pid >"$work/dpkg" 2>&1 || fail "$(cat "$work/dpkg")"
  [[ $(service_process) != "$before" ]] || fail 'the earlier program goes on'
  look_at_page 'hot restart'
  say 'service: upgrade and hot restart: ok'
}

try_removal() {
  local name
  kill -TERM "$(service_process)"
  wait "$service" || fail "the service ended with status $?"
  in_root apt-get remove --yes -qq h2server >"$work/dpkg" 2>&1 || fail "remove: $(cat "$work/dpkg")"
  [[ ! -e $root/usr/bin/h2server && ! -e $root/$unit ]] || fail 'the program was not removed'
  [[ -e $root/etc/h2server/h2server.toml && -d $root/var/log/h2server ]] ||
    fail 'its removal took what is kept'
  in_root apt-get purge --yes -qq h2server >"$work/dpkg" 2>&1 || fail "purge: $(cat "$work/dpkg")"
  for name in etc/h2server etc/logrotate.d/h2server var/lib/h2server var/log/h2server "$wanted_by" \
    usr/share/h2server usr/share/doc/h2server; do
    [[ ! -e $root/$name && ! -L $root/$name ]] || fail "/$name is left after purging"
  done
  say 'service: removed and purged: ok'
}

try_service() {
  make_network
  try_installed
  try_serving
  try_rotation
  try_upgrade "$1"
  try_removal
  kill "$network"
}
