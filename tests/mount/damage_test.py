#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Damaged containers: an error for what the damage touches, one line in the
log, and everything else goes on."""
import errno
import json
import os

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


if __name__ == "__main__":
    harness.main([
        damage_costs_its_own_pages,
        a_fault_is_told_once_and_counted,
        names_in_the_log_are_quoted,
        a_cut_frame_is_a_directory_that_says_damaged,
        a_damaged_single_file_mounts,
    ])
