"""File contents to send and to compare."""

import hashlib
import os
import random


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def sha256_of_file(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def noise(size, seed=0):
    """Returns pseudo-random bytes that depend only on `size` and `seed`."""
    return random.Random(seed).randbytes(size)


def write_noise(path, size):
    """Writes a file of `size` random bytes. Returns its SHA-256."""
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for done in range(0, size, 1 << 20):
            block = os.urandom(min(1 << 20, size - done))
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def form(*parts, boundary=b"limit"):
    """Returns a multipart/form-data body of (file name, content) pairs; None: a plain field."""
    body = b""
    for number, (name, content) in enumerate(parts):
        disposition = b'form-data; name="part%d"' % number
        if name is not None:
            claimed = name if isinstance(name, bytes) else name.encode()
            disposition += b'; filename="' + claimed + b'"'
        body += b"--" + boundary + b"\r\nContent-Disposition: " + disposition
        body += b"\r\n\r\n" + content + b"\r\n"
    return body + b"--" + boundary + b"--\r\n"


def form_type(boundary=b"limit"):
    return ("content-type", f"multipart/form-data; boundary={boundary.decode()}")
