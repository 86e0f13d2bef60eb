#!/bin/sh
# collect.sh DIRECTORY: makes the root of the image in it, from what the Dockerfile has built and
# installed.
set -eu
root=$1

# Follows links: the image has one name for each library.
copy() {
  mkdir -p "$root$(dirname "$1")"
  cp --dereference "$1" "$root$1"
}

# The programs, and the libraries that they are linked with.
install -D /out/bin/h2server "$root/usr/local/bin/h2server"
install -D deploy/docker/entrypoint.sh "$root/usr/local/bin/entrypoint.sh"
install -D "$(readlink -f /bin/sh)" "$root/bin/sh"
copy /usr/bin/curl  # for the health check
ldd /out/bin/h2server /bin/sh /usr/bin/curl | grep -o '/lib[^ ]*' | sort -u >libraries
# Opened at run time: OpenSSL's old ciphers of keys with a passphrase.
find /usr/lib -path '*/ossl-modules/legacy.so' >>libraries
while read -r library; do copy "$library"; done <libraries

# Their licenses. A library may be known by either of two names, since /lib is a link to /usr/lib.
{
  printf '%s\n' /usr/bin/curl /bin/dash
  cat libraries
  sed -n 's:^/lib/:/usr/lib/:p' libraries
  sed -n 's:^/lib/:/usr/lib/:p' libraries | xargs readlink --canonicalize
} | xargs dpkg-query --search 2>/dev/null | cut -d: -f1 | sort -u | while read -r package; do
  if [ -f "/usr/share/doc/$package/copyright" ]; then copy "/usr/share/doc/$package/copyright"; fi
done

copy /etc/ssl/certs/ca-certificates.crt
mkdir -p "$root/etc" "$root/srv/uploads" "$root/srv/cert"
mkdir -m 1777 "$root/tmp"
echo 'h2server:x:10001:0::/srv:/sbin/nologin' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
cp -r www "$root/srv/www"
# Platforms choose a user id that nobody knows, in the group 0.
chown -R 10001:0 "$root/srv/uploads" "$root/srv/cert"
chmod 0770 "$root/srv/uploads" "$root/srv/cert"
