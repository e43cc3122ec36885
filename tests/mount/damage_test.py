#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Damaged containers: an error for what the damage touches, one line in the
log, and everything else goes on."""
import errno
import json
import os
import shutil
import struct
import subprocess
import time

import harness
import samples
from harness import Mount, equal, fails_with

DATA = samples.noise(1 << 20)
CHUNK = 1 << 16


def damaged_frame(number):
    """A frame whose chunk of this number has no valid header."""
    frame = bytearray(samples.frame(DATA, CHUNK))
    at = samples.chunk_offset(number, CHUNK)
    frame[at + 4:at + 16] = b"\xff" * 12
    return bytes(frame)


def make_source(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    harness.write(source + "/bad.b2frame", damaged_frame(3))
    harness.write(source + "/good.b2frame", samples.frame(DATA, CHUNK))
    return source


def damage_costs_its_own_pages(work):
    with Mount(work, make_source(work)) as mount:
        fd = os.open(mount.path("bad.b2frame/data.bin"), os.O_RDONLY)
        bad = range(3 * CHUNK, 4 * CHUNK)
        for at in range(0, len(DATA), 4096):
            if at in bad:
                fails_with(errno.EIO, os.pread, fd, 4096, at)
            else:
                equal(os.pread(fd, 4096, at) == DATA[at:at + 4096], True,
                      f"bytes at {at}")
        os.close(fd)
        fails_with(errno.EIO, harness.read,
                   mount.path("bad.b2frame/chunks/0000000003"))
        for i in (0, 2, 4, 15):
            equal(harness.read(mount.path(f"bad.b2frame/chunks/{i:010d}")) ==
                  DATA[i * CHUNK:(i + 1) * CHUNK], True, f"chunk {i}")
        equal(harness.read(mount.path("good.b2frame/data.bin")) == DATA,
              True, "the good frame's bytes")
        equal(len(os.listdir(mount.path("bad.b2frame/chunks"))), 16)
        os.statvfs(mount.point)


def a_fault_is_told_once_and_counted(work):
    with Mount(work, make_source(work)) as mount:
        for _ in range(3):
            fails_with(errno.EIO, harness.read,
                       mount.path("bad.b2frame/chunks/0000000003"))
            fails_with(errno.EIO, harness.read,
                       mount.path("bad.b2frame/data.bin"))
        lines = mount.log_lines("err: ")
        equal(len(lines), 1, f"lines in {mount.log()}")
        assert lines[0].startswith("err: 'bad.b2frame': read of "), lines
        assert " failed, EIO: chunk 3: " in lines[0], lines
        assert ", offset " in lines[0], lines
        equal(mount.end(), 0, "exit")
        assert mount.log_lines("more times"), mount.log()


def names_in_the_log_are_quoted(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    harness.write(source + "/bad\nname'.b2frame", damaged_frame(7))
    with Mount(work, source) as mount:
        fails_with(errno.EIO, harness.read,
                   mount.path("bad\nname'.b2frame/data.bin"))
        equal(len(mount.log_lines("err: 'bad\\x0aname\\'.b2frame': read")),
              1, mount.log())


def a_cut_frame_is_a_directory_that_says_damaged(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    whole = samples.frame(DATA, CHUNK)
    for length in (100, 1000, CHUNK, len(whole) // 2, len(whole) - 1):
        harness.write(f"{source}/cut{length}.b2frame", whole[:length])
    with Mount(work, source) as mount:
        names = os.listdir(mount.point)
        equal(len(names), 5)
        for name in names:
            assert os.path.isdir(mount.path(name)), name
            info = json.loads(harness.read(mount.path(name, "info.json")))
            equal(info["status"], "damaged", f"status of {name}")
            assert info["error"], name
            # What can still be decoded is served, and right.
            try:
                data = harness.read(mount.path(name, "data.bin"))
            except OSError as error:
                equal(error.errno, errno.EIO, f"errno of {name}")
            else:
                equal(data == DATA, True, f"bytes of {name}")
        equal(len(mount.log_lines("damaged")), 5, mount.log())


def a_cut_frame_dated_in_the_future_is_a_directory(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    with Mount(work, source) as mount:
        path = source + "/cut.b2frame"
        harness.write(path, samples.frame(DATA, CHUNK)[:len(DATA) // 2])
        later = time.time() + 86400
        os.utime(path, (later, later))
        assert os.path.isdir(mount.path("cut.b2frame")), "a plain file"


def a_damaged_single_file_mounts(work):
    path = os.path.join(work, "bad.b2frame")
    harness.write(path, damaged_frame(15))
    with Mount(work, path) as mount:
        equal(harness.read(mount.path("chunks/0000000014")) ==
              DATA[14 * CHUNK:15 * CHUNK], True, "bytes")
        fails_with(errno.EIO, harness.read,
                   mount.path("chunks/0000000015"))
        equal(len(mount.log_lines("err: 'bad.b2frame': read of "
                                  "chunks/0000000015 failed")), 1,
              mount.log())


def doubtful_containers(folder):
    """Containers whose length or order cannot be known, and what their
    headers claim."""
    whole = samples.frame(DATA, CHUNK)
    empty = bytearray(whole)
    empty[0x1e:0x26] = bytes(8)
    harness.write(folder + "/empty.b2frame", bytes(empty))
    cut = whole[:len(whole) // 2]
    harness.write(folder + "/cut.b2frame", cut)
    os.utime(folder + "/cut.b2frame", (1, 1))
    pack = (b"blpk\x03\0\0\x01" + struct.pack("<iiqq", -1, -1, -1, 0) +
            samples.small_chunk(DATA[:1000]) +
            samples.small_chunk(DATA[1000:2000]))
    broken = bytearray(pack)
    broken[32 + 1016] = 99
    harness.write(folder + "/walk.blp", bytes(broken))
    return {"empty.b2frame": 1, "cut.b2frame": len(DATA), "walk.blp": None}


def no_program_takes_the_unknown_for_empty(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    claims = doubtful_containers(source)
    with Mount(work, source) as mount:
        for name, claim in claims.items():
            path = mount.path(name, "data.bin")
            size = os.stat(path).st_size
            assert size > 0 and claim in (size, None), (name, size)
            assert os.stat(path).st_blocks > 0, name
            fails_with(errno.EIO, os.open, path, os.O_RDONLY)
            info = json.loads(harness.read(mount.path(name, "info.json")))
            equal(info["status"], "damaged", f"status of {name}")
        equal(subprocess.run(["find", mount.point, "-name", "data.bin",
                              "-size", "0"], capture_output=True,
                             check=True, timeout=30).stdout, b"", "find")
        for command in (["tar", "-cf", work + "/all.tar", "-C", mount.point,
                         "."],
                        ["tar", "-cSf", work + "/sparse.tar", "-C",
                         mount.point, "."],
                        ["cp", "-r", mount.point, work + "/copy"],
                        ["cat", mount.path("walk.blp/data.bin")],
                        ["rsync", "-r", mount.point + "/", work + "/rsync"]):
            if not shutil.which(command[0]):
                continue
            done = subprocess.run(command, capture_output=True, check=False,
                                  timeout=60)
            assert done.returncode != 0, command
            assert b"data.bin" in done.stderr, (command, done.stderr)
        for copy in ("copy", "rsync"):
            for name in claims:
                assert not os.path.exists(
                    os.path.join(work, copy, name, "data.bin")), name
        # The chunks that hold are there.
        equal(harness.read(mount.path("walk.blp/chunks/0000000000")),
              DATA[:1000], "the chunk before the damage")


def a_damaged_array_has_no_bytes_in_another_order(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    layer = samples.array_layer((64, 64), (32, 32), (32, 32), b"|u1")
    good = samples.assemble(DATA[:4096], 1024,
                            samples.cut(DATA[:4096], 1024, 1024),
                            [1056 * i for i in range(4)], False, layer)
    at = good.index(layer)
    harness.write(source + "/good.b2nd", good)
    for name, where, value in (("ndim", at + 2, 3), ("marker", at + 4, 0),
                               ("chunks", at + 26, 33),
                               ("name", good.index(b"b2nd") + 3, 0x65)):
        bad = bytearray(good)
        bad[where] = value
        harness.write(f"{source}/{name}.b2nd", bytes(bad))
    with Mount(work, source) as mount:
        equal(len(harness.read(mount.path("good.b2nd/data.bin"))), 4096)
        for name in ("ndim", "marker", "chunks", "name"):
            folder = mount.path(name + ".b2nd")
            fails_with(errno.EIO, os.open, folder + "/data.bin", os.O_RDONLY)
            assert not os.path.exists(folder + "/data.npy"), name
            equal(harness.read(folder + "/chunks/0000000003"),
                  DATA[3072:4096], f"chunk of {name}")


if __name__ == "__main__":
    harness.main([
        damage_costs_its_own_pages,
        a_fault_is_told_once_and_counted,
        names_in_the_log_are_quoted,
        a_cut_frame_is_a_directory_that_says_damaged,
        a_cut_frame_dated_in_the_future_is_a_directory,
        a_damaged_single_file_mounts,
        no_program_takes_the_unknown_for_empty,
        a_damaged_array_has_no_bytes_in_another_order,
    ])
