#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Cases from the field in other clothes: what once went wrong with one kind of
container or one order of events, tried with another."""
import contextlib
import errno
import json
import os
import shutil
import struct
import time

import harness
import samples
from harness import Mount, equal, fails_with, read
from samples import write_column

DATA = samples.noise(5000, 3)
CHUNK = 1000
VIEWS = "info,data,npy,chunks,meta,raw,lazy,blocks,zarr,table,map"
NEVER = -(0x7c << 56)


def a_proxy_that_is_a_folder_gives_no_zeros(work):
    folder = work + "/source/proxy.b2frame"
    os.makedirs(folder)
    chunks = [samples.chunk(b"ab"), samples.chunk(b"cd")]
    for number, made in zip((0, 2), chunks):
        harness.write(f"{folder}/{number:08X}.chunk", made)
    harness.write(folder + "/chunks.b2frame", samples.assemble(
        bytes(8), 2, chunks, [0, NEVER, 2, NEVER], True,
        b"\x81\xa7urlpath\xa1x", b"proxy-source"))
    with Mount(work, work + "/source") as mount:
        info = json.loads(read(mount.path("proxy.b2frame/info.json")))
        equal((info["kind"], info["status"], info["fetched"]),
              ("proxy", "unsupported", 2))
        equal(read(mount.path("proxy.b2frame/chunks/0000000002")), b"cd")
        for name in ("data.bin", "chunks/0000000001", "chunks/0000000003"):
            fails_with(errno.EOPNOTSUPP, read,
                       mount.path("proxy.b2frame", name))


def attributes_that_are_no_json_cost_a_column_nothing(work):
    source = work + "/source"
    texts = {"cut": b'{"unit": "m', "bytes": b"\xff\xfe\x00", "none": b"",
             "deep": b"[" * 100000}
    data = {name: write_column(f"{source}/{name}", range(9), 4, attrs=text)
            for name, text in texts.items()}
    with Mount(work, source) as mount:
        for name, text in texts.items():
            equal(read(mount.path(name, "meta/__attrs__")), text)
            equal(read(mount.path(name, "data.bin")), data[name])
            json.loads(read(mount.path(name, "meta.json")))


def verdict(mount, name):
    """What info.json says; "plain" for what is shown as it is."""
    try:
        return json.loads(read(mount.path(name, "info.json")))["status"]
    except FileNotFoundError:
        return "plain"


def a_column_that_lacks_a_part_has_one_verdict(work):
    source = work + "/source"
    lost = {"storage": ["meta/storage"], "first": ["data/__0.blp"],
            "last": ["data/__2.blp"], "chunks": ["data"],
            "sizes-cut": [], "storage-cut": []}
    for name, paths in lost.items():
        write_column(f"{source}/{name}", range(9), 4)
        for path in paths:
            path = f"{source}/{name}/{path}"
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        if name.endswith("-cut"):
            os.truncate(f"{source}/{name}/meta/{name[:-4]}", 9)
    checked = {}
    for name in lost:
        done = harness.run("--check", f"{source}/{name}")
        found = [line.split("\t") for line in done.stdout.splitlines()]
        checked[name] = next((line[1] for line in found
                              if line[0] == f"{source}/{name}"), "plain")
    with Mount(work, source) as mount:
        told = {name: verdict(mount, name) for name in lost}
        # That a later chunk is lost is found when it is read.
        equal(told.pop("last"), "good")
        fails_with(errno.EIO, read, mount.path("last/data.bin"))
        equal(checked.pop("last"), "damaged")
        equal(told, checked)
        equal(checked, {"storage": "plain", "chunks": "plain",
                        "first": "damaged", "sizes-cut": "damaged",
                        "storage-cut": "damaged"})
        for name in ("first", "sizes-cut", "storage-cut"):
            fails_with(errno.EIO, read, mount.path(name, "data.bin"))


def containers_cut_short_and_dated_in_the_future_are_told(work):
    source = work + "/source"
    os.mkdir(source)
    later = time.time() + 86400
    names = ["good-blp2-crc32.blp", "good-packed-a4-delta.b2packed",
             "good-early-9c.b2frame", "good-zlib-bitshuffle.blosc2"]
    with Mount(work, source) as mount:
        for name in names:
            content = read(os.path.join(harness.DATA, name))
            harness.write(f"{source}/{name}", content[:len(content) * 2 // 3])
            os.utime(f"{source}/{name}", (later, later))
        samples.write_sparse_frame(source + "/s.b2frame", DATA, CHUNK)
        index = source + "/s.b2frame/chunks.b2frame"
        os.truncate(index, os.stat(index).st_size - 20)
        os.utime(index, (later, later))
        told = {name: verdict(mount, name) for name in os.listdir(source)
                if os.path.isdir(mount.path(name))}
        assert "good" not in told.values(), told
        # What has its length in its head is known to be cut.
        assert "s.b2frame" in told and names[2] in told, told


@contextlib.contextmanager
def deep(source, n_levels, name):
    """The current folder is one whose path nobody could write out."""
    os.mkdir(source)
    os.chdir(source)
    try:
        for _ in range(n_levels):
            os.mkdir(name)
            os.chdir(name)
        yield
        for _ in range(n_levels):
            os.chdir("..")
            shutil.rmtree(name, ignore_errors=True)
    finally:
        os.chdir("/")


def folders_that_are_containers_may_lie_deep(work):
    source = work + "/source"
    with deep(source, 30, "e" * 200):
        samples.write_sparse_frame("s.b2frame", DATA, CHUNK)
        column = write_column("c", range(900), 100)
        with Mount(work, source) as mount:
            fd = os.open(mount.point, os.O_RDONLY)
            for _ in range(30):
                below = os.open("e" * 200, os.O_RDONLY, dir_fd=fd)
                os.close(fd)
                fd = below
            here = os.open(".", os.O_RDONLY)
            os.fchdir(fd)
            try:
                for name, data in (("s.b2frame", DATA), ("c", column)):
                    equal(read(name + "/data.bin") == data, True, name)
                    equal(json.loads(read(name + "/info.json"))["status"],
                          "good")
            finally:
                os.fchdir(here)
                os.close(here)
                os.close(fd)


def a_chunk_of_two_gibibytes_in_tiny_blocks_takes_no_memory(work):
    """Its header says so, and the file is a hole."""
    source = work + "/source"
    os.mkdir(source)
    length = (1 << 31) - 64
    with open(source + "/big.blosc2", "wb") as file:
        file.write(struct.pack("<BBBBiii", 5, 1, 0x07, 1, length, 1,
                               32 + length) + bytes(16))
        file.truncate(32 + length)
    with Mount(work, source, "-o", "views=" + VIEWS) as mount:
        before, n_read = mount.memory(), 0
        for folder, below, names in harness.walk(mount.path("big.blosc2")):
            # A folder of two thousand million names is not listed.
            if folder.endswith("/blocks"):
                below.clear()
            for name in sorted(names)[:20]:
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError), open(path, "rb",
                                                        buffering=0) as file:
                    file.read(4096)
                    file.seek(os.stat(path).st_size // 2)
                    n_read += len(file.read(4096))
        assert n_read > 3 * 4096, n_read
        harness.below(mount.memory() - before, 96 << 20)


def attributes_of_folders_are_the_sources(work):
    source = work + "/source"
    os.makedirs(source + "/folder")
    harness.write(source + "/folder/tool", b"#!/bin/sh\n")
    os.chmod(source + "/folder/tool", 0o4755)
    os.chmod(source + "/folder", 0o2750)
    try:
        os.setxattr(source + "/folder", "user.note", b"here")
    except OSError as error:
        raise harness.Skip("no attributes here") from error
    with Mount(work, source) as mount:
        equal(os.stat(mount.path("folder/tool")).st_mode & 0o7777, 0o4755)
        equal(os.stat(mount.path("folder")).st_mode & 0o7777, 0o2750)
        equal(os.getxattr(mount.path("folder"), "user.note"), b"here")


harness.main([
    a_proxy_that_is_a_folder_gives_no_zeros,
    attributes_that_are_no_json_cost_a_column_nothing,
    a_column_that_lacks_a_part_has_one_verdict,
    containers_cut_short_and_dated_in_the_future_are_told,
    folders_that_are_containers_may_lie_deep,
    a_chunk_of_two_gibibytes_in_tiny_blocks_takes_no_memory,
    attributes_of_folders_are_the_sources,
])
