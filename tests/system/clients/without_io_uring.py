"""without_io_uring.py ERRNO[:ENTRIES] PROGRAM ARGUMENT...: runs the program under a seccomp filter that
makes io_uring_setup fail with ERRNO, as container runtimes do. ENTRIES: only for rings of that size."""

import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 38, 22  # linux/prctl.h
SECCOMP_MODE_FILTER = 2  # linux/seccomp.h
SECCOMP_RET_ERRNO, SECCOMP_RET_ALLOW = 0x00050000, 0x7FFF0000
IO_URING_SETUP = 425  # on every architecture
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # linux/filter.h: BPF_LD | BPF_W | BPF_ABS...


class Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def install(refusal, entries):
    of_that_size = [(LOAD_WORD, 0, 0, 16),  # seccomp_data.args[0], of which the low half
                    (JUMP_IF_EQUAL, 0, 1, int(entries))] if entries else []
    instructions = [
        (LOAD_WORD, 0, 0, 0),  # seccomp_data.nr
        (JUMP_IF_EQUAL, 0, 1 + len(of_that_size), IO_URING_SETUP),
        *of_that_size,
        (RETURN, 0, 0, SECCOMP_RET_ERRNO | refusal),
        (RETURN, 0, 0, SECCOMP_RET_ALLOW),
    ]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    program = Program(len(instructions), code)
    libc = ctypes.CDLL(None, use_errno=True)
    prctl(libc, PR_SET_NO_NEW_PRIVS, 1, 0)
    prctl(libc, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))


def prctl(libc, option, value, pointer):
    if libc.prctl(option, ctypes.c_ulong(value), pointer, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


number, _, size = sys.argv[1].partition(":")
install(int(number), size)
os.execv(sys.argv[2], sys.argv[2:])
