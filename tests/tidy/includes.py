#!/usr/bin/python3
"""Reads every #include and fails on a dependency in the wrong direction.

    app → config → server, content → http → file, net → io → coro → base
                   server → observe → base

A layer may include itself and the layers to its right, but not the one beside it. The rooms of
some layers, which are their folders, have an order, too (ROOMS). Of the project, observe includes only base and the public headers of values. Only app includes config, and only app,
config and server include observe. Each layer has
its own system headers, so that http, for instance, can't do I/O. The public headers, include/h2server,
include only each other and the C++ library, so no header of another library is
reachable from them. Examples include only the public headers, each other, the C++ library and
what they are about (EXAMPLE_HEADERS). Tests may include every layer and the examples. The lab and
the fuzzers may include every layer but app and config, which only app and the tests include. Outside
lab/ only the tests include the lab, and outside tests/ only the fuzzers include the tests.
"""

import pathlib
import re

from lib import sources

LAYERS = ["app", "config", "server", "content", "observe", "http", "file", "net", "io", "coro", "base"]
BESIDE = {("server", "content"), ("content", "observe"), ("file", "net")}
# A room may include itself and what stands below it. "" is what lies in the folder itself.
ROOMS = {
    "app": [["", "uploads"], ["admin"], ["certificates"], ["put"], ["tools"], ["top"], ["doctor"],
            ["options"], ["acme"], ["client"], ["trust"], ["system"]],
    "content": [["webdav"], ["uploads"], ["files"], ["archive"], ["s3"], ["cache"], ["coding"],
                ["store"], ["storage"], ["xml"], ["names"]],
    "content/uploads": [[""], ["stored"], ["resumable"], ["receive"], ["access"], ["area"]],
    "net": [["tls"], [""], ["certs"], ["crypto"]],
    "base": [["memory"], [""], ["text"]],
}
SYSTEM_HEADERS = {
    "app": r"fcntl|poll|pthread|pwd|spawn"
           r"|sys/(eventfd|inotify|ioctl|resource|signalfd|socket|stat|statvfs|syscall|time|timex|types"
           r"|un|vfs|wait)|termios|unistd",
    "config": r"arpa/inet|fcntl|glob|unistd",
    "server": r"crypt|fcntl|netinet/in|poll|pthread|sched|sys/(resource|socket|stat|types|wait)|unistd",
    "content": r"dirent|fcntl|linux/fs|string|sys/(file|inotify|mman|stat|statvfs|syscall|xattr)|unistd",
    "observe": r"fcntl|poll|pthread|sys/(eventfd|mman|socket|stat|un)|unistd",
    "http": r"arpa/inet",
    "file": r"fcntl|pthread|sys/(mman|resource|sendfile|stat|vfs)|unistd",
    "net": r"arpa/inet|fcntl|ifaddrs|linux/sockios|malloc|net/if|netdb|netinet/(in|tcp)|poll|pwd"
           r"|sys/(file|ioctl|socket|stat|uio|un)|unistd",
    "io": r"fcntl|linux/(magic|openat2)|poll|pthread|sched"
          r"|sys/(epoll|eventfd|ioctl|mman|sendfile|socket|syscall|timerfd|uio|vfs)|unistd",
    "coro": r"$^",
    "base": r"arpa/inet|fcntl|malloc|pthread|sys/(mman|uio)|unistd",
}

# The public headers that observe may include: they declare values only.
OBSERVE_HEADERS = r"(access_record|result)\.h"

EXAMPLE_HEADERS = r"glib-unix|poll|sqlite3|unistd"

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">\n]+)[">]', re.MULTILINE)
# Matches <string_view>, but not <unistd.h> or <fmt/format.h>.
_STANDARD = re.compile(r"^[a-z_]+$")
# Connections join the protocol to the network. The rest of http does no I/O.
_CONNECTION = re.compile(
    r"^src/http/(h[12]/connection[^/]*|(.*/)?(connection_[^/]*|[^/]*_connection)\.(h|cc))$"
)
_TLS = re.compile(r"^(src/net/(tls|certs|crypto)|fuzz)/tls_[^/]*$")
_URING = re.compile(r"^src/io/uring_[^/]*$")
_TOML = re.compile(r"^src/config/[^/]*\.cc$")
_CURL = ("src/app/client/curl_fields.h", "src/app/client/http_client.cc", "src/app/put/upload_client.cc",
         "src/content/s3/transfers.cc", "src/content/s3/transfer_state.h",
         "src/content/s3/transfer_state.cc")
_JSON = ("src/app/client/json_members.h", "src/app/top/top_status.cc", "src/app/acme/acme_messages.cc")
_HIDDEN = re.compile(r"nghttp2/|brotli/|liburing|(zlib|zstd)\.h$")


def includes_of(text):
    """Returns [(line, bracket, target)] for each #include outside comments."""
    plain = sources.without_comments(text)
    return [
        (sources.line_of(plain, match.start(1)), match[1], match[2])
        for match in _INCLUDE.finditer(plain)
    ]


def resolve(root, file, bracket, target):
    """Returns the project file that `target` names, relative to `root`, or None."""
    places = [root / "include", root / "src"]
    if file.parts[0] in ("fuzz", "tests"):
        places.append(root / "tests")
    if file.parts[0] in ("lab", "tests"):
        places.append(root / "lab")
    if file.parts[0] == "tests":
        places.append(root / "examples")
    if bracket == '"':
        places.insert(0, (root / file).parent)
    for place in places:
        path = (place / target).resolve()
        if not path.is_file():
            path = path.with_name(path.name + ".in")  # CMake makes the header of it
        if path.is_file() and path.is_relative_to(root):
            return path.relative_to(root)
    return None


def area_of(file):
    """Returns the name of a layer, or include, examples, tests, lab …"""
    return file.parts[1] if file.parts[0] == "src" else file.parts[0]


def room_of(file, folder):
    """Returns the folder of src/`folder` in which a file of it lies, or "" for its own."""
    inside = file.relative_to(pathlib.PurePath("src") / folder).parts
    return inside[0] if len(inside) > 1 else ""


def folders_with_rooms(*files):
    """Returns the folders in ROOMS in which all of these files of src lie."""
    return [folder for folder in ROOMS
            if all(file.is_relative_to(pathlib.PurePath("src") / folder) for file in files)]


def refuse_room(source, target):
    """Returns why `source` may not include `target` of the same layer, or None if it may."""
    for folder in folders_with_rooms(source, target):
        ranks = {room: rank for rank, rooms in enumerate(ROOMS[folder]) for room in rooms}
        here, there = room_of(source, folder), room_of(target, folder)
        if ranks.get(there, -1) < ranks.get(here, -1):
            return f"the arrow {folder}/{here} → {folder}/{there} points the wrong way"
    return None


def refuse_arrow(source, target):
    """Returns why `source` may not include the project's file `target`, or None if it may."""
    here, there = area_of(source), area_of(target)
    if here == "observe" and there not in (here, "base") and not (
            there == "include" and re.fullmatch(OBSERVE_HEADERS, target.name)):
        return "observe may include base and public headers of values only"
    if there == "include":
        return None
    if here == "examples" and there == here:
        return None
    if here in ("include", "examples"):
        return f"{here}/ may include public headers and the C++ library only"
    if there == here:
        return refuse_room(source, target) if source.parts[0] == "src" else None
    if (here, there) in (("app", "config"), ("tests", "app"), ("tests", "config"), ("tests", "lab"),
                         ("tests", "examples"), ("fuzz", "tests")):
        return None
    if there == "config":
        return "only app and the tests include config/"
    if there == "app" or there not in LAYERS:
        return f"nothing includes {there}/"
    if here in ("fuzz", "lab", "tests"):
        return None
    if here not in LAYERS:
        return f"src/{here} is no layer"
    if LAYERS.index(there) < LAYERS.index(here):
        return f"the arrow {here} → {there} points the wrong way"
    if (here, there) in BESIDE:
        return f"{here} and {there} stand beside each other"
    if here == "http" and target.as_posix() == "src/base/clock.h":
        return "http reads no clock"
    if here == "http" and there in ("net", "io") and not _CONNECTION.match(source.as_posix()):
        return f"of http only connections may include {there}/"
    return None


def refuse_system_header(source, bracket, target):
    """Returns why `source` may not include `target`, a file outside the project, or None."""
    if bracket == '"':
        return "no such file in the project"
    if area_of(source) == "examples" and re.fullmatch(rf"({EXAMPLE_HEADERS})\.h", target):
        return None
    if area_of(source) in ("include", "examples") and not _STANDARD.match(target):
        return f"{area_of(source)}/ may include public headers and the C++ library only"
    if area_of(source) == "tests":
        return None
    own = SYSTEM_HEADERS.get(area_of(source)) if source.parts[0] == "src" else None
    third_party = re.match(
        r"(fmt|openssl|nghttp2|CLI|brotli|toml\+\+|curl|nlohmann)/|liburing|(zlib|zstd|qrencode|expat)\.h$", target)
    if own and not (third_party or _STANDARD.match(target) or re.fullmatch(rf"({own})\.h", target)):
        return f"src/{area_of(source)} has no use for this system header"
    outside_lab = area_of(source) != "lab"
    if target.startswith("openssl/") and outside_lab and not _TLS.match(source.as_posix()):
        return "OpenSSL stays in src/net/(tls|certs|crypto)/tls_* and fuzz/tls_*"
    if _HIDDEN.match(target) and source.suffix != ".cc":
        return "nghttp2, liburing and the codecs stay behind headers of ours, so in no header"
    if re.match(r"brotli/|zstd\.h$", target) and source.as_posix() != "src/content/coding/codecs.cc":
        return "brotli and zstd stay in src/content/coding/codecs.cc"
    if target == "zlib.h" and area_of(source) != "content" and source.parts[:2] != ("lab", "spdy"):
        return "zlib stays in src/content and lab/spdy"
    if target == "expat.h" and source.as_posix() != "src/content/xml/xml.cc":
        return "expat stays in src/content/xml/xml.cc"
    if target.startswith("toml++/") and not _TOML.match(source.as_posix()):
        return "toml++ stays in src/config/*.cc"
    if target.startswith("curl/") and source.as_posix() not in _CURL:
        return "libcurl stays in " + ", ".join(_CURL)
    if target.startswith("nlohmann/") and source.as_posix() not in _JSON:
        return "nlohmann/json stays in " + ", ".join(_JSON)
    if target == "qrencode.h" and source.as_posix() != "src/app/system/qr_code.cc":
        return "libqrencode stays in src/app/system/qr_code.cc"
    if target == "liburing.h" and area_of(source) in LAYERS and not _URING.match(source.as_posix()):
        return "liburing stays in src/io/uring_*"
    return None


def check(root):
    files = sources.cpp_files(root, "src", "include", "examples", "lab", "fuzz", "tests")
    problems = [] if files else ["no C++ file found: nothing was checked"]
    nghttp2_users = set()
    for file in files:
        for folder in folders_with_rooms(file):
            room = room_of(file, folder)
            if room not in {room for group in ROOMS[folder] for room in group}:
                problems.append(f"{file}: src/{folder}/{room} is not among the rooms in ROOMS")
        for line, bracket, target in includes_of((root / file).read_text()):
            found = resolve(root, file, bracket, target)
            if found:
                reason = refuse_arrow(file, found)
            else:
                reason = refuse_system_header(file, bracket, target)
            if reason:
                problems.append(f"{file}:{line}: #include {target}: {reason}")
            if target.startswith("nghttp2/") and file.parts[0] == "src":
                nghttp2_users.add(file.as_posix())
    if len(nghttp2_users) > 1:
        problems.append(f"nghttp2 belongs in one .cc, not in {', '.join(sorted(nghttp2_users))}")
    return problems


if __name__ == "__main__":
    sources.run(check)
