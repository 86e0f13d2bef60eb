# For scripts that run something in a bare Debian made by scripts/debian-root: source it.

# Ends the script with status 0 if this machine can't make and enter such a system.
skip_unless_possible() {
  local reason=''
  if [[ $(id -u) -ne 0 ]]; then reason='needs root'
  elif ! command -v debootstrap >/dev/null; then reason='needs debootstrap'
  elif ! unshare --mount --pid --fork true 2>/dev/null; then reason='no namespaces here (unshare)'
  fi
  if [[ -n $reason ]]; then echo "skipped: $reason"; exit 0; fi
}

# Copies this machine's network settings to $root: name resolution, certificates, proxies, options of
# apt and pip.
copy_network_settings() {
  local scheme proxy
  cp --dereference /etc/resolv.conf /etc/hosts "$root/etc/"
  if [[ -f /etc/ssl/certs/ca-certificates.crt ]]; then
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  fi
  if [[ -f /etc/pip.conf ]]; then cp /etc/pip.conf "$root/etc/"; fi
  {
    apt-config dump Acquire | grep -vE '^Acquire(::IndexTargets|::Languages|::Changelogs|[ ])' || true
    for scheme in http https; do
      proxy=${scheme}_proxy
      if [[ -n ${!proxy:-} ]]; then echo "Acquire::$scheme::Proxy \"${!proxy}\";"; fi
    done
  } >"$root/etc/apt/apt.conf.d/90network"
}

# in_root COMMAND…: runs it in $root as root.
in_root() { chroot "$root" env PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
