#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads that fail and memory that is short, through the kernel: an error for
who asked, nothing else for anybody, and the truth when it is over."""
import errno
import mmap
import os
import shutil
import struct
import time

import harness
import samples
from harness import Mount, equal

DATA = os.environ["TEST_DATA_DIR"]
NAMES = ["good-nd-structured.b2nd", "good-frame-vlmetalayers.b2frame",
         "good-blp3-array.blp", "good-blp2-sha512.blp",
         "good-packed-a4-delta.b2packed", "good-early-9c-usermeta.b2frame",
         "good-sparse-array.b2nd", "good-store-single.b2z",
         "good-lz4-delta-shuffle.blosc2", "good-dict-zstd.blosc2",
         "good-store.b2e", "column", "proxy.b2nd"]
READ, ALLOC = 1, 2
# Early calls fail one by one, of the later ones some, for so long; all of them
# however long it takes with BLOSCFS_FAULTS=all.
ALL = os.environ.get("BLOSCFS_FAULTS") == "all"
SECONDS = 3600 if ALL else 25


class Faults:
    """What the preloaded library is told."""

    def __init__(self, work, source):
        self.name = os.path.join(work, "faults")
        harness.write(self.name, bytes(32))
        self.file = open(self.name, "r+b")
        self.map = mmap.mmap(self.file.fileno(), 32)
        os.environ["FAULT_FILE"] = self.name
        os.environ["FAULT_BELOW"] = source
        os.environ["LD_PRELOAD"] = os.environ["MOUNT_FAULT"]

    def loaded(self):
        del os.environ["LD_PRELOAD"]

    def arm(self, mode, at):
        self.map[8:32] = struct.pack("=QQQ", at, 0, 0)
        self.map[0:8] = struct.pack("=Q", mode)

    def calm(self):
        """How often it came to a fault."""
        self.map[0:8] = struct.pack("=Q", 0)
        return struct.unpack("=Q", self.map[24:32])[0]


def look(path, found, allowed):
    """All that there is below a path: names, sizes, bytes. An error that is
    allowed stands for what was not told; that nothing is there to be read (of
    a proxy) is told like bytes."""
    try:
        is_dir = os.path.isdir(path) if not allowed else \
            os.stat(path).st_mode & 0o40000
        if is_dir:
            names = sorted(os.listdir(path))
            found[path] = names
            for name in names:
                look(path + "/" + name, found, allowed)
            return
        size = os.stat(path).st_size
        with open(path, "rb", buffering=0) as file:
            found[path] = (size, file.read(1 << 20))
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            found[path] = (error.errno, b"")
            return
        if error.errno not in allowed:
            raise AssertionError(f"{path}: {error}") from error
        found[path] = error.errno


def compare(found, truth, errors_too):
    for path, value in found.items():
        if errors_too and isinstance(value, int):
            continue
        assert path in truth, f"{path} was not there before"
        assert value == truth[path], f"{path} differs"
    if not errors_too:
        equal(len(found), len(truth), "entries")


def make_samples(source):
    """Those that are made here: a column of bcolz, and a proxy that fetched
    half of its chunks."""
    samples.write_column(source + "/column", list(range(250)), 100,
                         attrs=b'{"unit": "m"}')
    harness.write(source + "/proxy.b2nd", samples.half_proxy())


def make_source(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    make_samples(source)
    for name in NAMES:
        if os.path.exists(os.path.join(source, name)):
            continue
        old, new = os.path.join(DATA, name), os.path.join(source, name)
        if os.path.isdir(old):
            shutil.copytree(old, new)
        else:
            shutil.copy(old, new)
    return source


def renew(path, n):
    """Nobody has seen this version."""
    if os.path.isdir(path):
        path += "/meta/sizes" if os.path.isdir(path + "/meta") else \
            "/chunks.b2frame"
    stamp = 1500000000 + 2 * n
    os.utime(path, (stamp, stamp))


def rounds(work, mode, allowed):
    source = make_source(work)
    faults = Faults(work, source)
    with Mount(work, source, "-o", "attr_timeout=0") as mount:
        faults.loaded()
        end = time.monotonic() + SECONDS
        n_rounds = n_hits = 0
        for turn, name in enumerate(NAMES):
            path = mount.path(name)
            truth = {}
            renew(os.path.join(source, name), 0)
            look(path, truth, set())
            at, hit, before = 0, 1, n_hits
            # Each container has its part of the time, and one round however
            # late it is.
            part = time.monotonic() + (end - time.monotonic()) / (
                len(NAMES) - turn)
            while hit and (at == 0 or time.monotonic() < part):
                at += 1 if ALL else 1 + at // 8
                renew(os.path.join(source, name), at)
                found = {}
                faults.arm(mode, at)
                look(path, found, allowed)
                hit = faults.calm()
                compare(found, truth, True)
                found = {}
                look(path, found, set())
                compare(found, truth, False)
                n_rounds += 1
                n_hits += hit
            assert n_hits > before, f"no fault was met in {name}"
        print(f"# {n_rounds} rounds, {n_hits} faults", flush=True)
        assert n_hits > len(NAMES), n_hits
        equal(mount.process.poll(), None, "state of the daemon")
        equal(mount.end(), 0, "exit")


def a_failed_read_is_told_and_forgotten(work):
    rounds(work, READ, {errno.EIO})


def a_lack_of_memory_is_told_and_forgotten(work):
    rounds(work, ALLOC, {errno.ENOMEM, errno.EIO})


def a_close_is_heard_where_there_is_no_memory(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    n, n_hits = 8, 0
    for i in range(n):
        harness.write(f"{source}/{i}.b2frame", samples.frame(b"x" * 999, 100))
    faults = Faults(work, source)
    with Mount(work, source, "-o", "attr_timeout=0") as mount:
        faults.loaded()

        def in_use():
            text = harness.read(mount.path(".bloscfs/stats")).decode()
            counts = dict(line.split() for line in text.splitlines()
                          if line.startswith("bloscfs_frames_"))
            return int(counts["bloscfs_frames_open"]) - \
                int(counts["bloscfs_frames_idle"])

        # The first close asks for a flush, which there is not.
        harness.read(mount.path("0.b2frame/data.bin"))
        for i in range(n):
            with open(mount.path(f"{i}.b2frame/data.bin"), "rb") as file:
                equal(file.read(), b"x" * 999)
                # Nothing else is asked of the daemon.
                faults.arm(ALLOC, 1)
            harness.comes_true(
                lambda: struct.unpack("=Q", faults.map[24:32])[0], 2)
            n_hits += faults.calm()
        assert n_hits, "no allocation failed"
        harness.wait_until(lambda: not in_use(), 20, told=in_use)


if ALL:
    harness.SCRIPT_SECONDS = 3 * SECONDS
# A sanitizer has an allocator of its own, which none of these can fail.
harness.main([a_failed_read_is_told_and_forgotten] +
             [a_lack_of_memory_is_told_and_forgotten,
              a_close_is_heard_where_there_is_no_memory] *
             (not harness.SANITIZED))
