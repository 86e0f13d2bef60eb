"""gzip, br and zstd with the levels and windows of the server (content/coding/codecs.cc), and the limit of
compression: what a codec takes in one process that does nothing else.

    python -m harness.codec gzip|br|zstd FILE SECONDS

encodes FILE again and again, and prints a line of JSON: {"times": …, "cpu_us": …, "bytes": …}.
"""

import ctypes
import ctypes.util
import functools
import json
import pathlib
import sys
import time
import zlib

CODINGS = ("gzip", "br", "zstd")
_LEVEL = 5
_WINDOW_BITS = 18
_GZIP_BITS_MAX, _GZIP_FORMAT = 15, 16
_ZSTD_LEVEL, _ZSTD_WINDOW_LOG = 100, 101  # ZSTD_c_compressionLevel, ZSTD_c_windowLog of zstd.h


def _window_for(size, least):
    """Returns the bits of a window that is no larger than the body needs."""
    return min(max((size - 1).bit_length(), least), _WINDOW_BITS)


def _gzip(content):
    bits = min(_window_for(len(content), 10), _GZIP_BITS_MAX)
    encoder = zlib.compressobj(_LEVEL, zlib.DEFLATED, bits + _GZIP_FORMAT, bits - 7)
    return encoder.compress(content) + encoder.flush()


@functools.cache
def _library(name):
    found = ctypes.util.find_library(name)
    if not found:
        raise OSError(f"lib{name} is not installed")
    return ctypes.CDLL(found)


def _br(content):
    size = ctypes.c_size_t(len(content) + 1024)
    room = ctypes.create_string_buffer(size.value)
    done = _library("brotlienc").BrotliEncoderCompress(
        _LEVEL, _window_for(len(content), 10), 0, ctypes.c_size_t(len(content)), content,
        ctypes.byref(size), room)
    if done != 1:
        raise ValueError("brotli can't encode it")
    return room.raw[:size.value]


def _zstd(content):
    zstd = _library("zstd")
    zstd.ZSTD_createCCtx.restype = ctypes.c_void_p
    zstd.ZSTD_compress2.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(len(content) + 1024)
    context = ctypes.c_void_p(zstd.ZSTD_createCCtx())
    zstd.ZSTD_CCtx_setParameter(context, _ZSTD_LEVEL, _LEVEL)
    zstd.ZSTD_CCtx_setParameter(context, _ZSTD_WINDOW_LOG, _window_for(len(content), 10))
    size = zstd.ZSTD_compress2(context, room, ctypes.c_size_t(len(room)), content,
                               ctypes.c_size_t(len(content)))
    zstd.ZSTD_freeCCtx(context)
    if size > len(room):
        raise ValueError("zstd can't encode it")
    return room.raw[:size]


_ENCODE = {"gzip": _gzip, "br": _br, "zstd": _zstd}


def encode(coding, content):
    """Returns the content in the coding. Raises OSError without its library."""
    return _ENCODE[coding](content)


def decode(coding, content, size_max):
    """Returns the content without the coding, at most `size_max` bytes. Raises ValueError."""
    if coding == "gzip":
        return zlib.decompress(content, _GZIP_BITS_MAX + _GZIP_FORMAT)
    size = ctypes.c_size_t(size_max)
    room = ctypes.create_string_buffer(size_max)
    if coding == "br":
        done = _library("brotlidec").BrotliDecoderDecompress(
            ctypes.c_size_t(len(content)), content, ctypes.byref(size), room)
        if done != 1:
            raise ValueError("it is not br")
        return room.raw[:size.value]
    zstd = _library("zstd")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    found = zstd.ZSTD_decompress(room, size, content, ctypes.c_size_t(len(content)))
    if found > size_max:
        raise ValueError("it is not zstd")
    return room.raw[:found]


def main(coding, path, seconds):
    content = pathlib.Path(path).read_bytes()
    size = len(encode(coding, content))
    times, before, end = 0, time.process_time_ns(), time.monotonic() + float(seconds)
    while times == 0 or time.monotonic() < end:
        encode(coding, content)
        times += 1
    print(json.dumps({"times": times, "bytes": size,
                      "cpu_us": (time.process_time_ns() - before) / 1000 / times}))


if __name__ == "__main__":
    main(*sys.argv[1:])
