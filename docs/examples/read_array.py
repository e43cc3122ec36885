#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""read_array.py - reads an array of a Blosc container into NumPy, by ctypes
and without a mount.

    read_array.py FILE     prints shape, dtype and SHA-256 of the items

The library is found as programs find it; BLOSCFS_LIBRARY may name its file.
"""
import ctypes as c
import ctypes.util
import hashlib
import io
import os
import sys

import numpy as np


class Diag(c.Structure):
    """struct bloscfs_diag"""
    _fields_ = [("err", c.c_int), ("off", c.c_uint64), ("chunk", c.c_int64),
                ("text", c.c_char * 200), ("reserved", c.c_uint64 * 2)]


class Node(c.Structure):
    """struct bloscfs_node"""
    _fields_ = [("view", c.c_uint16), ("kind", c.c_uint16),
                ("child", c.c_uint32), ("index", c.c_uint64),
                ("reserved", c.c_uint64)]


LIB = c.CDLL(os.environ.get("BLOSCFS_LIBRARY") or
             ctypes.util.find_library("bloscfs") or "libbloscfs.so.0")
LIB.bloscfs_new.argtypes = [c.c_void_p, c.POINTER(c.c_void_p),
                            c.POINTER(Diag)]
LIB.bloscfs_free.argtypes = [c.c_void_p]
LIB.bloscfs_free.restype = None
LIB.bloscfs_open.argtypes = [c.c_void_p, c.c_int, c.c_char_p, c.c_uint64,
                             c.c_uint64, c.POINTER(c.c_void_p),
                             c.POINTER(Diag)]
LIB.bloscfs_close.argtypes = [c.c_void_p]
LIB.bloscfs_close.restype = None
LIB.bloscfs_lookup.argtypes = [c.c_void_p, c.POINTER(Node), c.c_char_p,
                               c.POINTER(Node)]
LIB.bloscfs_lookup.restype = c.c_bool
LIB.bloscfs_read.argtypes = [c.c_void_p, c.POINTER(Node), c.c_uint64,
                             c.c_void_p, c.c_size_t, c.POINTER(c.c_size_t),
                             c.POINTER(Diag)]
LIB.bloscfs_err_errno.argtypes = [c.c_int]


def check(err, diag, path):
    """What the library says, as an exception."""
    if err:
        raise OSError(LIB.bloscfs_err_errno(err),
                      diag.text.decode(errors="replace"), path)


class Entry(io.RawIOBase):
    """An entry of an opened container as a file of Python. Reading does not
    hold the interpreter's lock: ctypes lets go of it."""

    def __init__(self, file, node, path):
        super().__init__()
        self.file, self.node, self.path, self.at = file, node, path, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        view = memoryview(buffer).cast("B")
        if not len(view):
            return 0
        into = (c.c_char * len(view)).from_buffer(view)
        got, diag = c.c_size_t(), Diag()
        check(LIB.bloscfs_read(self.file, self.node, self.at, into,
                               len(view), got, diag), diag, self.path)
        self.at += got.value
        return got.value


def read_npy(entry):
    """The array of a .npy, read straight into its own memory."""
    version = np.lib.format.read_magic(entry)
    head = np.lib.format.read_array_header_1_0 if version == (1, 0) else \
        np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = head(entry)
    array = np.empty(shape, dtype, order="F" if is_fortran else "C")
    memory = array.reshape(-1, order="A").view(np.uint8)
    done = 0
    while done < array.nbytes:
        got = entry.readinto(memory[done:])
        if not got:
            raise OSError("data.npy ends too early")
        done += got
    return array


def read_array(path):
    """The array in a file that is a container."""
    fs, file, node, diag = c.c_void_p(), c.c_void_p(), Node(), Diag()
    check(LIB.bloscfs_new(None, fs, diag), diag, path)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        err = LIB.bloscfs_open(fs, fd, os.fsencode(path), 0, 0, file, diag)
        if err:
            os.close(fd)    # else it belongs to the library
        check(err, diag, path)
        try:
            if not LIB.bloscfs_lookup(file, None, b"data.npy", node):
                raise ValueError(f"{path} is no array")
            return read_npy(Entry(file, node, path))
        finally:
            LIB.bloscfs_close(file)
    finally:
        LIB.bloscfs_free(fs)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: read_array.py FILE")
    try:
        array = read_array(sys.argv[1])
    except (OSError, ValueError) as why:
        sys.exit(f"read_array.py: {why}")
    digest = hashlib.sha256(array.tobytes(order="A"))   # as they lie
    print(array.shape, array.dtype, digest.hexdigest())


if __name__ == "__main__":
    main()
