#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast programs read through a mount, next to other mounts.

mount.py --frame FRAME [--other NAME=FILE ...] [--dir NAME=DIR ...]
         [-r ROUNDS] [-o OPTION ...] [--short] [TEST ...]

BLOSCFS names the program, which mounts FRAME once, with a cache of 16 MiB if no
-o cache_size= says otherwise: FRAME must be a good deal more than that.
NAME=FILE is the same content in another filesystem. Before a cold test the
kernel's pages of the file are dropped, on all sides alike; compressed files
stay in the page cache. For ls, ls_long, stat and open_read the entries of
FRAME's chunks/ are taken, and those of NAME=DIR, and names are dropped too,
which only root may do. RUN, as in RUN="chrt -r 1", goes before the daemon's
command; this program takes its priority from whoever starts it.

Each round runs each test on each side in turn. One line of TSV a test:
medians, smallest and largest, and the median of the rounds' ratios of ours
to each other. Random reads stop at an eighth of the pages, as later ones
would find theirs in the page cache.
"""
import argparse
import mmap
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BLOSCFS = os.environ.get("BLOSCFS", "bloscfs")
RUN = os.environ.get("RUN", "").split()
PAGE = 4096
SECONDS = 0.5


class Ours:
    """A mount of FRAME that can be made anew."""

    def __init__(self, work, frame, options):
        self.frame, self.options = frame, list(options)
        if not any(o.startswith("cache_size=") for o in options):
            self.options.append("cache_size=16M")
        self.point = os.path.join(work, "bloscfs")
        self.process = None
        self.peak = 0
        os.mkdir(self.point)

    def start(self):
        ready, told = os.pipe()
        self.process = subprocess.Popen(
            [*RUN, BLOSCFS, "-f", f"--notify_fd={told}", "-olog_level=warn",
             *(f"-o{option}" for option in self.options),
             self.frame, self.point],
            stdin=subprocess.DEVNULL, pass_fds=[told])
        os.close(told)
        if os.read(ready, 1) != b"\n":
            sys.exit("mount.py: no mount")
        os.close(ready)

    def stop(self):
        if self.process:
            self.peak = max(self.peak, self.memory("VmHWM"))
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)
            self.process = None

    def memory(self, key):
        """KiB, of the daemon."""
        path = f"/proc/{self.process.pid}/status"
        with open(path, encoding="ascii") as status:
            for line in status:
                if line.startswith(key + ":"):
                    return int(line.split()[1])
        return 0

    def counter(self, name):
        """A number of .bloscfs/stats."""
        with open(os.path.join(self.point, ".bloscfs", "stats"),
                  encoding="ascii") as stats:
            for line in stats:
                if line.startswith(name + " "):
                    return float(line.split()[-1])
        sys.exit(f"mount.py: there is no {name}")

    def cold(self, kind):
        if kind == "folder":
            drop_names()
        else:
            drop_pages(self.file("data.npy" if kind == "npy" else
                                 "data.bin"))

    def file(self, name="data.bin"):
        if not self.process:
            self.start()
        return os.path.join(self.point, name)

    def folder(self):
        return self.file("chunks")


def drop_pages(path):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def drop_names():
    """The names and attributes that the kernel holds; for root alone."""
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as drop:
        drop.write("2")


class Other:
    """A file and a folder of a mount that somebody else made."""

    def __init__(self):
        self.path = self.entries = None

    def cold(self, kind):
        if kind == "folder" and self.entries:
            drop_names()
        elif kind == "file" and self.path:
            drop_pages(self.path)

    def file(self, name="data.bin"):
        return self.path if name == "data.bin" else None

    def folder(self):
        return self.entries


def read_all(path, size, flags=0, first=0, step=1):
    """GB/s of reading every step-th piece, in order."""
    fd = os.open(path, os.O_RDONLY | flags)
    length = os.fstat(fd).st_size
    buf = mmap.mmap(-1, size)
    done = 0
    begin = time.perf_counter()
    for off in range(first * size, length, step * size):
        done += os.preadv(fd, [buf], off)
    took = time.perf_counter() - begin
    os.close(fd)
    return done / took / 1e9


def in_children(jobs, work):
    """Runs work(i) in that many processes at once; their results."""
    pipes = []
    for i in range(jobs):
        ours, theirs = os.pipe()
        if os.fork() == 0:
            os.write(theirs, str(work(i)).encode())
            os._exit(0)
        os.close(theirs)
        pipes.append(ours)
    results = []
    for pipe in pipes:
        results.append(float(os.read(pipe, 64)))
        os.close(pipe)
        os.wait()
    return results


def read_halves(path):
    """GB/s of two readers, each with its half of the file."""
    length = os.stat(path).st_size
    half = length // 2 // PAGE * PAGE

    def work(i):
        fd = os.open(path, os.O_RDONLY)
        buf = mmap.mmap(-1, 1 << 17)
        for off in range(i * half, (i + 1) * half, 1 << 17):
            os.preadv(fd, [buf], off)
        return 0

    begin = time.perf_counter()
    in_children(2, work)
    return 2 * half / (time.perf_counter() - begin) / 1e9


def read_randomly(path, jobs, seed, cap=True):
    """Reads of 4 KiB a second."""
    pages = os.stat(path).st_size // PAGE
    most = max(1, pages // 8 // jobs) if cap else 1 << 40

    def work(i):
        draw = random.Random(seed * 100 + i)
        fd = os.open(path, os.O_RDONLY)
        buf = bytearray(PAGE)
        n = 0
        begin = time.perf_counter()
        end = begin + SECONDS
        while n < most and time.perf_counter() < end:
            os.preadv(fd, [buf], draw.randrange(pages) * PAGE)
            n += 1
        return n / (time.perf_counter() - begin)

    return sum(in_children(jobs, work))


def read_mapped(path):
    """GB/s of copying the mapped file, in order."""
    with open(path, "rb") as file:
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
            begin = time.perf_counter()
            for off in range(0, len(pages), 1 << 20):
                _ = pages[off:off + (1 << 20)]
            return len(pages) / (time.perf_counter() - begin) / 1e9


def touch_mapped(path, seed):
    """Random pages touched a second."""
    draw = random.Random(seed)
    with open(path, "rb") as file:
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
            pages.madvise(mmap.MADV_RANDOM)
            count = len(pages) // PAGE
            n, begin = 0, time.perf_counter()
            end = begin + SECONDS
            while n < count // 8 and time.perf_counter() < end:
                _ = pages[draw.randrange(count) * PAGE]
                n += 1
            return n / (time.perf_counter() - begin)


def slice_array(path, axis):
    """Slices of 64 across an axis that numpy reads a second."""
    try:
        import numpy  # not everywhere, and for this test alone
    except ImportError:
        return None
    array = numpy.load(path, mmap_mode="r")
    draw = random.Random(axis)
    n, begin = 0, time.perf_counter()
    while time.perf_counter() < begin + SECONDS:
        at = draw.randrange(array.shape[axis] - 64)
        where = [slice(None)] * array.ndim
        where[axis] = slice(at, at + 64)
        numpy.array(array[tuple(where)])
        n += 1
    return n / (time.perf_counter() - begin)


def list_names(path):
    begin = time.perf_counter()
    n = len(os.listdir(path))
    return n / (time.perf_counter() - begin)


def list_long(path):
    begin = time.perf_counter()
    with os.scandir(path) as entries:
        n = sum(1 for entry in entries
                if entry.stat(follow_symlinks=False).st_size >= 0)
    return n / (time.perf_counter() - begin)


def stat_entries(path):
    names = os.listdir(path)
    fd = os.open(path, os.O_RDONLY)
    begin = time.perf_counter()
    for name in names:
        os.stat(name, dir_fd=fd)
    took = time.perf_counter() - begin
    os.close(fd)
    return len(names) / took


def open_and_read(path, jobs):
    """Files opened, read to 4 KiB and closed a second."""
    names = os.listdir(path)

    def work(i):
        buf = bytearray(PAGE)
        fd = os.open(path, os.O_RDONLY)
        mine = names[i::jobs]
        begin = time.perf_counter()
        for name in mine:
            file = os.open(name, os.O_RDONLY, dir_fd=fd)
            os.readv(file, [buf])
            os.close(file)
        return len(mine) / (time.perf_counter() - begin)

    return sum(in_children(jobs, work))


def warmed(path):
    read_all(path, 1 << 20)
    return path


# name: (unit, cold, what it is done to, how)
TESTS = {
    "seq_cold": ("GB/s", True, "file", lambda p, s: read_all(p, 1 << 17)),
    "seq_direct": ("GB/s", True, "file",
                   lambda p, s: read_all(p, 1 << 20, os.O_DIRECT)),
    "seq_warm": ("GB/s", False, "file",
                 lambda p, s: read_all(warmed(p), 1 << 17)),
    "two_cold": ("GB/s", True, "file", lambda p, s: read_halves(p)),
    "rand1": ("/s", True, "file", lambda p, s: read_randomly(p, 1, s)),
    "rand4": ("/s", True, "file", lambda p, s: read_randomly(p, 4, s)),
    "rand16": ("/s", True, "file", lambda p, s: read_randomly(p, 16, s)),
    "rand_warm": ("/s", False, "file",
                  lambda p, s: read_randomly(warmed(p), 1, s, False)),
    "mmap_cold": ("GB/s", True, "file", lambda p, s: read_mapped(p)),
    "mmap_rand": ("/s", True, "file", touch_mapped),
    "slice_rows": ("/s", True, "npy", lambda p, s: slice_array(p, 0)),
    "slice_columns": ("/s", True, "npy", lambda p, s: slice_array(p, 1)),
    "ls": ("/s", True, "folder", lambda p, s: list_names(p)),
    "ls_long": ("/s", True, "folder", lambda p, s: list_long(p)),
    "stat": ("/s", False, "folder", lambda p, s: stat_entries(p)),
    "open_read": ("/s", True, "folder", lambda p, s: open_and_read(p, 1)),
    "open_read2": ("/s", True, "folder", lambda p, s: open_and_read(p, 2)),
}


def measure(side, name, seed):
    """The value, or None where the side has nothing to read."""
    _, cold, kind, call = TESTS[name]
    if cold:
        side.cold(kind)
    if kind == "folder":
        path = side.folder()
    else:
        path = side.file("data.npy" if kind == "npy" else "data.bin")
    return call(path, seed) if path else None


def report(name, rounds):
    """rounds: for each round, the value of each side."""
    columns = list(zip(*rounds))
    fields = [name, TESTS[name][0]]
    for column in columns:
        if None in column:
            fields += ["-"] * 3
        else:
            fields += [f"{statistics.median(column):.5g}",
                       f"{min(column):.5g}", f"{max(column):.5g}"]
    for column in columns[1:]:
        if None in column or None in columns[0]:
            fields.append("-")
        else:
            ratio = statistics.median(
                ours / other for ours, other in zip(columns[0], column))
            fields.append(f"{ratio:.2f}")
    print("\t".join(fields), flush=True)


def named(text):
    name, _, path = text.partition("=")
    if not path:
        raise argparse.ArgumentTypeError("write NAME=PATH")
    return name, path


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--frame", required=True)
    parser.add_argument("--other", type=named, action="append", default=[])
    parser.add_argument("--dir", type=named, action="append", default=[])
    parser.add_argument("-r", dest="rounds", type=int, default=5)
    parser.add_argument("-o", dest="options", action="append", default=[])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("tests", nargs="*", metavar="TEST")
    args = parser.parse_args()
    for name in args.tests:
        if name not in TESTS:
            parser.error(f"no such test: {name}; there are "
                         + ", ".join(TESTS))
    return args


def main():
    global SECONDS
    args = parse()
    if args.short:
        args.rounds, SECONDS = 1, 0.05
    others = {}
    for name, path in args.other:
        others.setdefault(name, Other()).path = path
    for name, path in args.dir:
        others.setdefault(name, Other()).entries = path
    with tempfile.TemporaryDirectory(prefix="bench.") as work:
        ours = Ours(work, args.frame, args.options)
        sides = [ours, *others.values()]
        names = ["bloscfs", *others]
        print("\t".join(["test", "unit"] +
                        [f for n in names for f in (n, "min", "max")] +
                        [f"bloscfs/{n}" for n in others]))
        try:
            for test in args.tests or TESTS:
                report(test, [[measure(side, test, seed) for side in sides]
                              for seed in range(1, args.rounds + 1)])
        finally:
            ours.stop()
        print(f"peak_memory\tMiB\t{ours.peak / 1024:.1f}")


if __name__ == "__main__":
    main()
