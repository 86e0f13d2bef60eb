#!/usr/bin/env bash
# Builds the container image and tests it: `make docker-test`.
# Uses docker if its daemon responds, else buildah (as root; without daemon and registry: the base
# image comes from debootstrap). Skips the test if neither is available.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=$PWD/build/docker
image=localhost/h2server-test
size_max_mb=40
user=10001:0    # of the container
container=''    # the running container's name
driver=''       # buildah: the storage driver
server_job=''   # buildah: the background job that runs the server
port=''
curl=(curl --silent --show-error --insecure --fail --max-time 10)

say() { echo "docker-test: $*"; }

fail() {
  if [[ -f $work/server.log ]]; then sed 's/^/  server: /' "$work/server.log" >&2; fi
  echo "docker-test: FAILED: $*" >&2
  exit 1
}

# --- docker -----------------------------------------------------------------------------------

docker_build() { docker build --quiet --file deploy/docker/Dockerfile --tag "$image" .; }

# docker_start VARIABLE=VALUE…: starts a container and sets `container`.
docker_start() {
  local options=() setting
  for setting in "$@"; do options+=(--env "$setting"); done
  container=$(docker run --detach --init --network host --read-only --cap-drop ALL \
    --user "$user" "${options[@]}" "$image")
}

docker_size() { docker image inspect --format '{{.Size}}' "$image" | awk '{ print $1 / 1e6, "MB" }'; }

docker_check_untouched() { :; }  # it is read-only

docker_exec() { docker exec "$container" "$@"; }

docker_health() {
  local command
  command=$(docker inspect --format '{{range slice .Config.Healthcheck.Test 1}}{{.}} {{end}}' "$image")
  # shellcheck disable=SC2086  # split into words intentionally
  docker_exec $command
}

docker_user_of_server() {
  docker top "$container" -eo uid,comm | awk '$2 == "h2server" { print $1; exit }'
}

docker_stop() {
  docker logs "$container" >"$work/server.log" 2>&1 || true
  docker stop --time 5 "$container" >/dev/null
  docker rm --force --volumes "$container" >/dev/null
  container=''
}

# Runs the image once with a bad setting. Returns the container's status.
docker_try() { docker run --rm --env "$1" "$image"; }

# --- buildah ----------------------------------------------------------------------------------

# Separate storage: keeps the substitute debian:12-slim out of the machine's images.
# Retries: for the command's namespaces, buildah executes a sealed copy of itself in memory, and the
# kernel refuses the seal (EBUSY) while something still holds a page of the copy. The command has
# not started by then.
buildah_here() {
  local errors status try
  errors=$(mktemp "$work/errors.XXXXXX")
  for try in {1..5}; do
    status=0
    {
      buildah --root "$work/$driver" --runroot "$work/run-$driver" --storage-driver "$driver" \
        "$@" 2>&1 >&3 | tee "$errors" >&2
    } 3>&1 || status=$?
    if [[ $status -eq 0 ]] || ! grep -q 'sealing memfd copy' "$errors"; then break; fi
    sleep "$try"
  done
  rm -f "$errors"
  return "$status"
}

# Sets `driver`: overlay if this file system supports it, else vfs, which copies every layer.
choose_driver() {
  local probe
  driver=overlay
  if probe=$(buildah_here from scratch) && buildah_here mount "$probe" && buildah_here rm "$probe"
  then
    return
  fi
  driver=vfs
} >/dev/null 2>&1

make_base_image() {
  local base=docker.io/library/debian:12-slim made rootfs
  if buildah_here inspect --type image "$base" >/dev/null 2>&1; then return; fi
  rootfs=$(scripts/debian-root bookworm ca-certificates)
  made=$(buildah_here from scratch)
  buildah_here add --quiet "$made" "$rootfs" / >/dev/null
  buildah_here config --cmd bash "$made"
  buildah_here commit --quiet --rm "$made" "$base" >/dev/null
}

buildah_build() {
  choose_driver
  make_base_image
  # --layers caches each step. Only Docker's format has HEALTHCHECK.
  buildah_here bud --isolation chroot --pull-never --layers --format docker \
    --file deploy/docker/Dockerfile --tag "$image" . >"$work/build.log" 2>&1 ||
    { tail -30 "$work/build.log"; fail 'the image does not build'; }
}

# Prints the list under the key $1 of the image's configuration, one entry per line.
buildah_config() {
  buildah_here inspect --type image \
    --format "{{range .Docker.Config.$1}}{{println .}}{{end}}" "$image" | sed '/^$/d'
}

# buildah_exec COMMAND…: runs it in the container, with the image's user and environment.
buildah_exec() { buildah_here run --isolation chroot --user "$user" "$container" -- "$@"; }

buildah_size() { buildah_here images --format '{{.Size}}' "$image"; }

# Its root can't be read-only: checks that nothing but the volumes was written to.
buildah_check_untouched() {
  local root written
  root=$(buildah_here mount "$container")
  written=$(find "$root/" -newer "$work/started" -type f ! -path "$root/srv/uploads/*" \
    ! -path "$root/srv/cert/*" ! -path "$root/etc/host*" ! -path "$root/etc/resolv.conf" \
    ! -path "$root/run/*")
  [[ -z $written ]] || fail "files outside of the volumes were written: $written"
}

buildah_create() {
  container=$(buildah_here from --pull-never "$image")
  local setting
  for setting in "$@"; do buildah_here config --env "$setting" "$container"; done
}

buildah_start() {
  local entrypoint
  buildah_create "$@"
  mapfile -t entrypoint < <(buildah_config Entrypoint)
  buildah_exec "${entrypoint[@]}" >"$work/server.log" 2>&1 &
  server_job=$!
}

buildah_health() {
  local command
  mapfile -t command < <(buildah_config Healthcheck.Test | sed 1d)
  buildah_exec "${command[@]}"
}

# Prints the pids of all descendants of pid $1, each parent before its children.
descendants() {
  local child
  for child in $(ps -o pid= --ppid "$1"); do
    echo "$child"
    descendants "$child"
  done
}

buildah_server_pid() {
  local pid
  for pid in $(descendants "$server_job"); do
    if [[ $(cat "/proc/$pid/comm" 2>/dev/null) == h2server ]]; then echo "$pid"; return; fi
  done
}

buildah_user_of_server() { ps -o uid= -p "$(buildah_server_pid)"; }

buildah_stop() {
  local pid status=0
  if [[ -n $server_job ]]; then
    pid=$(buildah_server_pid)
    if [[ -n $pid ]]; then kill -TERM "$pid"; fi
    wait "$server_job" || status=$?
    server_job=''
  fi
  buildah_here rm "$container" >/dev/null
  container=''
  return "$status"
}

buildah_try() {
  local entrypoint status=0
  buildah_create "$1"
  mapfile -t entrypoint < <(buildah_config Entrypoint)
  buildah_exec "${entrypoint[@]}" || status=$?
  buildah_here rm "$container" >/dev/null
  container=''
  return "$status"
}

# --- tests ------------------------------------------------------------------------------------

wait_until_it_answers() {
  local try
  for ((try = 0; try < 100; ++try)); do
    if "${curl[@]}" --output /dev/null "$1/" 2>/dev/null; then return; fi
    sleep 0.1
  done
  fail "no answer from $1/"
}

# try_mode RUN_MODE ORIGIN VERSION CURL_OPTION
try_mode() {
  local mode=$1 origin=$2 version=$3 option=$4 uid answer
  touch "$work/started"
  "${tool}_start" "RUN_MODE=$mode" "PORT=$port" THREADS=2
  wait_until_it_answers "$origin"

  answer=$("${curl[@]}" "$option" --output "$work/page" --write-out '%{http_version}' "$origin/")
  [[ $answer == "$version" ]] || fail "$mode: HTTP/$version was wanted, HTTP/$answer came"
  cmp -s "$work/page" www/index.html || fail "$mode: the page that came is not www/index.html"

  head -c 300000 /dev/urandom >"$work/upload.bin"
  "${curl[@]}" "$option" --form "file=@$work/upload.bin" --output /dev/null "$origin/files" ||
    fail "$mode: the upload was refused"
  "${curl[@]}" "$option" --output "$work/download.bin" "$origin/files/upload.bin" ||
    fail "$mode: the upload cannot be fetched"
  cmp -s "$work/upload.bin" "$work/download.bin" || fail "$mode: the upload came back changed"
  "${tool}_exec" curl --silent file:///srv/uploads/upload.bin | cmp -s - "$work/upload.bin" ||
    fail "$mode: the upload is not in the volume /srv/uploads"

  "${tool}_health" || fail "$mode: the health check fails while the server answers"
  uid=$("${tool}_user_of_server")
  [[ -n $uid ]] || fail "$mode: no process h2server found"
  [[ $uid -eq ${user%:*} ]] || fail "$mode: the server runs as $uid, not as ${user%:*}"
  if [[ $mode == h2 ]]; then
    "${tool}_exec" sh -c 'test -s /srv/cert/server.crt' || fail "$mode: no certificate in /srv/cert"
  fi

  "${tool}_check_untouched"
  "${tool}_stop" || fail "$mode: SIGTERM ended the server with status $?"
  say "$mode: page, upload, health check, uid $(tr -d ' ' <<<"$uid"), stop: ok"
}

# try_refused SETTING: checks that a container with that setting names the error and fails.
try_refused() {
  local output status=0
  output=$("${tool}_try" "$1" 2>&1) || status=$?
  if [[ $status -eq 0 ]] || ! grep -q "${1%%=*}='" <<<"$output"; then
    fail "$1 was accepted (status $status): $output"
  fi
  say "$1: refused: ok"
}

try_size() {
  local size
  size=$("${tool}_size")
  awk -v max="$size_max_mb" '{ exit !($1 < max && ($2 == "MB" || $2 == "kB")) }' <<<"$size" ||
    fail "the image has $size; at most $size_max_mb MB are wanted"
  say "size: $size: ok"
}

# Checks that the health check fails if nothing listens.
try_unhealthy() {
  if curl --silent --max-time 2 "http://127.0.0.1:$port/" >/dev/null; then
    fail "something answers on port $port"
  fi
  if (RUN_MODE=h2c PORT=$port sh deploy/docker/entrypoint.sh health); then
    fail 'the health check passes where no server is'
  fi
  say 'health check without a server: fails: ok'
}

clean_up() {
  if [[ -n $container ]]; then "${tool}_stop" || true; fi
  rm -f "$work/page" "$work/upload.bin" "$work/download.bin"
}

free_port() {
  local candidate
  for candidate in {18443..18499}; do
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$candidate") 2>/dev/null; then echo "$candidate"; return; fi
  done
}

if command -v docker >/dev/null && docker info >/dev/null 2>&1; then
  tool=docker
elif command -v buildah >/dev/null && command -v debootstrap >/dev/null && [[ $(id -u) -eq 0 ]]; then
  tool=buildah
else
  echo 'skipped: neither docker nor buildah here'
  exit 0
fi

mkdir -p "$work"
trap clean_up EXIT
port=$(free_port)
say "building the image with $tool"
"${tool}_build"
try_size
try_unhealthy
try_refused RUN_MODE=spdy
try_refused PORT=http
try_refused PORT=65536
try_refused THREADS=0
try_mode h2 "https://127.0.0.1:$port" 2 --http2
try_mode h2c "http://127.0.0.1:$port" 2 --http2-prior-knowledge
user=54321:0  # one that the image does not know
try_mode h2 "https://127.0.0.1:$port" 2 --http2
try_mode h2c "http://127.0.0.1:$port" 1.1 --http1.1
say 'all passed'
