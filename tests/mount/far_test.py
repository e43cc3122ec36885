#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs beyond the offsets that 32 bits hold: a file of 9 GiB, nearly all
of it holes."""
import errno
import os

import harness
import programs
import samples
import web
from harness import Mount, equal
from programs import MIB, need, shared, tool

try:
    import numpy
except ImportError:
    numpy = None

GIB = 1024 * MIB
SIZE = 9 * GIB + 808
# Where bytes are; the second lies across 4 GiB, the last up to the end.
PLACES = [(0, 5000), (4 * GIB - 70000, 150000), (6 * GIB + 8, 99999),
          (SIZE - 40000, 40000)]


class Far:
    """The frame and its truth, a sparse file."""

    def __init__(self, work):
        self.plain = work + "/plain"
        self.source = work + "/source"
        with open(self.plain, "wb") as file:
            file.truncate(SIZE)
            for seed, (at, length) in enumerate(PLACES):
                file.seek(at)
                file.write(samples.noise(length, seed))
        os.mkdir(self.source)
        programs.pack(self.plain, self.source + "/far.b2frame")

    def ranges(self):
        """(offset, length) in, around and far from what is there."""
        for at, length in PLACES:
            for start in (at - 3001, at + 7, at + length - 4096):
                start = min(max(start, 0), SIZE - 5000)
                yield start, 5000
        yield 5 * GIB, 5000
        yield 2 * GIB - 2500, 5000

    def truth(self, at, length):
        with open(self.plain, "rb") as file:
            return os.pread(file.fileno(), length, at)


far = shared(Far)


def mounted(work, made):
    others = ["-oallow_other"] if os.geteuid() == 0 else []
    return Mount(work, made.source, *others)


def segments(path):
    """[(start, end)] of the data between holes."""
    found, at = [], 0
    with open(path, "rb") as file:
        while True:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                equal(error.errno, errno.ENXIO)
                return found
            end = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            assert end > at >= (found[-1][1] if found else 0), (at, end)
            found.append((at, end))
            at = end


def dd_and_tail_reach_the_end(work):
    made = far(work)
    with mounted(work, made) as mount:
        path = mount.path("far.b2frame/data.bin")
        equal(os.path.getsize(path), SIZE)
        for at, length in made.ranges():
            got = tool("dd", "if=" + path, "bs=1000", f"skip={at}",
                       f"count={length}", "iflag=skip_bytes,count_bytes",
                       "status=none", text=False)
            equal(got == made.truth(at, length), True, f"bytes at {at}")
        got = tool("tail", "-c", "50000", path, text=False)
        equal(got == made.truth(SIZE - 50000, 50000), True, "the end")
        said = tool("cmp", "-i", str(SIZE - 200 * MIB), path, made.plain)
        equal(said, "")


def holes_lie_where_nothing_was_written(work):
    made = far(work)
    with mounted(work, made) as mount:
        step = MIB // 2
        wanted = []
        for at, length in PLACES:
            start = at // step * step
            end = min(SIZE, -(-(at + length) // step) * step)
            wanted.append((start, end))
        equal(segments(mount.path("far.b2frame/data.bin")), wanted)


def cp_and_tar_copy_what_is_there(work):
    made = far(work)
    with mounted(work, made) as mount:
        path = mount.path("far.b2frame/data.bin")
        tool("cp", path, work + "/copy")
        tool("tar", "-S", "-C", mount.point, "-cf", work + "/a.tar",
             "far.b2frame/data.bin")
    assert os.path.getsize(work + "/a.tar") < 4 * MIB
    tool("tar", "-C", work, "-xf", work + "/a.tar")
    for name in ("copy", "far.b2frame/data.bin"):
        status = os.stat(f"{work}/{name}")
        equal(status.st_size, SIZE, "size of " + name)
        assert status.st_blocks * 512 < 8 * MIB, name
        with open(f"{work}/{name}", "rb") as file:
            for at, length in made.ranges():
                equal(os.pread(file.fileno(), length, at) ==
                      made.truth(at, length), True, f"{name} at {at}")


def compare_mapped(made, path):
    """Returns before the mount ends, and the mapping with it."""
    got = numpy.memmap(path, "<u8", "r")
    equal(got.shape, (SIZE // 8,))
    for at, length in made.ranges():
        first = -(-at // 8)
        wanted = numpy.frombuffer(made.truth(first * 8, length // 8 * 8 - 8),
                                  "<u8")
        assert numpy.array_equal(got[first:first + len(wanted)], wanted), at
    equal(int(got[7 * GIB // 8]), 0)


def numpy_maps_all_of_it(work):
    if numpy is None:
        raise harness.Skip("there is no numpy")
    made = far(work)
    with mounted(work, made) as mount:
        compare_mapped(made, mount.path("far.b2frame/data.bin"))


def nginx_serves_ranges_of_it(work):
    need("nginx")
    made = far(work)
    with mounted(work, made) as mount, \
            web.Server(work, web.site(mount.point)) as server:
        path = "far.b2frame/data.bin"
        equal(server.ask(path, "HEAD")[1]["Content-Length"], str(SIZE))
        for at, length in made.ranges():
            status, fields, body = server.ask(
                path, Range=f"bytes={at}-{at + length - 1}")
            equal((status, fields["Content-Range"]),
                  (206, f"bytes {at}-{at + length - 1}/{SIZE}"))
            equal(body == made.truth(at, length), True, f"bytes at {at}")


if __name__ == "__main__":
    harness.main([
        dd_and_tail_reach_the_end,
        holes_lie_where_nothing_was_written,
        cp_and_tar_copy_what_is_there,
        numpy_maps_all_of_it,
        nginx_serves_ranges_of_it,
    ])
