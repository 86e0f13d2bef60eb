#!/bin/sh
# entrypoint.sh [OPTIONS…]   checks RUN_MODE, PORT and THREADS, then executes h2server
#                            with --config FILE, the file says it all
# entrypoint.sh health       exits with status 0 if the server of this container answers
set -eu

refuse() {
  echo "h2server container: $*" >&2
  exit 64
}

# require_number NAME VALUE MIN MAX
require_number() {
  case $2 in
    '' | *[!0-9]* | ??????*) refuse "$1='$2': a number from $3 to $4 is wanted" ;;
  esac
  if [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
    refuse "$1='$2': a number from $3 to $4 is wanted"
  fi
}

case ${RUN_MODE:-h2} in
  h2)
    port=${PORT:-8443}
    origin=https://127.0.0.1:$port
    ;;
  h2c)
    port=${PORT:-8080}
    origin=http://127.0.0.1:$port
    ;;
  *) refuse "RUN_MODE='$RUN_MODE': h2 (TLS) or h2c (cleartext) is wanted" ;;
esac
require_number PORT "$port" 1 65535

threads=${THREADS:-auto}
if [ "$threads" != auto ]; then require_number THREADS "$threads" 1 1024; fi

if [ "${1:-}" = health ]; then
  # Any status counts: a site without an index page is healthy.
  exec curl --silent --insecure --max-time 4 --output /dev/null "$origin/"
fi

case "$*" in
  *--config*) exec h2server "$@" ;;
esac
if [ "${RUN_MODE:-h2}" = h2c ]; then
  set -- --h2c "$@"
else
  set -- --self-signed --cert /srv/cert/server.crt --key /srv/cert/server.key "$@"
fi
case "$*" in
  *thread-per-connection* | *process-per-connection*) ;; # they refuse --threads
  *) set -- --threads "$threads" "$@" ;;
esac
exec h2server --port "$port" --root /srv/www --upload-dir /srv/uploads "$@"
