#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A source that is written through a shared mapping (mmap).

The kernel dates such a write when a page is first stored into, and again at
the first store after the page was written out. Stores between the two have no
date, and none at all have one where files live in memory (tmpfs). So this holds
for the mount: each byte is one that the source had, the new one as soon as the
date has moved, and that is what setting the date brings about.
"""
import errno
import mmap
import os
import time

import harness
import samples
from harness import Mount, equal

DATA = samples.noise(200000, 1)
CHUNK = 20000
# A byte in the middle of chunk 3: chunks are stored as they are.
WHERE = 3 * CHUNK + 5000
IN_FILE = samples.chunk_offset(3, CHUNK) + 32 + 5000
LONG_AGO = 1_000_000_000


class Writer:
    """Stores into a mapping of the source's file, and looks at its date."""

    def __init__(self, path):
        self.path = path
        self.file = os.open(path, os.O_RDWR)
        os.fsync(self.file)
        self.set_date(LONG_AGO)
        self.map = mmap.mmap(self.file, 0)
        equal(self.map[IN_FILE], DATA[WHERE], "the byte in the file")
        self.dates = not in_memory(path)

    def set_date(self, seconds):
        os.utime(self.path, (seconds, seconds))

    def date(self):
        return os.stat(self.path).st_mtime_ns

    def store(self, value):
        """Stores a byte; whether the file has another date now."""
        before = self.date()
        # Dates come from a clock that may stand still for 10 ms.
        time.sleep(0.03)
        self.map[IN_FILE] = value
        return self.date() != before

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.map.close()
        os.close(self.file)


def in_memory(path):
    """Whether the file lies in a file system that never writes pages out."""
    best, kind = "", ""
    with open("/proc/self/mounts", encoding="utf-8") as table:
        for line in table:
            _, point, name = line.split(" ")[:3]
            if len(point) >= len(best) and (path + "/").startswith(
                    point.rstrip("/") + "/"):
                best, kind = point, name
    return kind in ("tmpfs", "ramfs")


def make_source(work):
    source = work + "/source"
    os.mkdir(source)
    harness.write(source + "/a.b2frame", samples.frame(DATA, CHUNK))
    return source, source + "/a.b2frame"


def seen(mount):
    """The byte through the mount, all others being what they were."""
    got = harness.read(mount.path("a.b2frame/data.bin"))
    equal(len(got), len(DATA), "length")
    equal(got[:WHERE] == DATA[:WHERE], True, "bytes before")
    equal(got[WHERE + 1:] == DATA[WHERE + 1:], True, "bytes behind")
    return got[WHERE]


def values():
    """Three bytes that are not the file's own."""
    return [(DATA[WHERE] + i) % 256 for i in (1, 2, 3)]


def the_first_store_is_dated_and_seen(work):
    source, path = make_source(work)
    first, _, _ = values()
    with Mount(work, source) as mount, Writer(path) as writer:
        equal(seen(mount), DATA[WHERE], "old byte")
        moved = writer.store(first)
        equal(moved, writer.dates, "a date for the first store")
        if moved:
            equal(seen(mount), first, "new byte")


def a_store_without_a_date_is_seen_when_the_date_is_set(work):
    source, path = make_source(work)
    first, second, _ = values()
    with Mount(work, source) as mount, Writer(path) as writer:
        equal(seen(mount), DATA[WHERE], "old byte")
        writer.store(first)
        # Past the moment in which an opening waits for who writes.
        time.sleep(0.2)
        assert seen(mount) in (DATA[WHERE], first)
        moved = writer.store(second)
        print(f"# the second store {'moves' if moved else 'has no'} date")
        got = seen(mount)
        assert got == second or not moved and got in (DATA[WHERE], first), got
        os.utime(path)
        equal(seen(mount), second, "byte after the date was set")


def a_store_after_writing_out_is_dated_and_seen(work):
    source, path = make_source(work)
    first, second, third = values()
    with Mount(work, source) as mount, Writer(path) as writer:
        writer.store(first)
        time.sleep(0.2)
        seen(mount)
        writer.store(second)
        writer.map.flush()
        time.sleep(0.2)
        moved = writer.store(third)
        equal(moved, writer.dates, "a date for a store after msync")
        if moved:
            equal(seen(mount), third, "byte stored after msync")
        os.utime(path)
        equal(seen(mount), third, "byte after the date was set")


def who_has_it_open_gets_bytes_the_source_had_or_estale(work):
    source, path = make_source(work)
    first, second, third = values()
    with Mount(work, source) as mount, Writer(path) as writer:
        file = os.open(mount.path("a.b2frame/data.bin"), os.O_RDONLY)
        had = [DATA[WHERE]]
        for value in (first, second, third):
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            try:
                got = os.pread(file, 1, WHERE)[0]
            except OSError as error:
                equal(error.errno, errno.ESTALE, "errno")
            else:
                assert got in had, (got, had)
            writer.store(value)
            had.append(value)
        os.close(file)


if __name__ == "__main__":
    harness.main([
        the_first_store_is_dated_and_seen,
        a_store_without_a_date_is_seen_when_the_date_is_set,
        a_store_after_writing_out_is_dated_and_seen,
        who_has_it_open_gets_bytes_the_source_had_or_estale,
    ])
