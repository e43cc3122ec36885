#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast programs read through a mount, next to other mounts.

mount.py --frame FRAME [--other NAME=FILE ...] [--dir NAME=DIR ...]
         [-r ROUNDS] [-o OPTION ...] [--short] [TEST ...]

BLOSCFS and BENCH_READ name the programs. The first mounts FRAME once, with a
cache of 16 MiB if no -o cache_size= says otherwise: FRAME must be a good deal
more than that. NAME=FILE is the same content in another filesystem. Before a
cold test the kernel's pages of the file are dropped, on all sides alike;
compressed files stay in the page cache. For ls, ls_long, stat and open_read
the entries of FRAME's chunks/ are taken, and those of NAME=DIR, and names are
dropped too, which only root may do. RUN, as in RUN="chrt -r 1", goes before
the commands of the daemon and of the reader.

Each round runs each test on each side in turn. One line of TSV a test:
medians, smallest and largest, and the median of the rounds' ratios of ours
to each other. Random reads stop at an eighth of the pages, as later ones
would find theirs in the page cache.
"""
import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BLOSCFS = os.environ.get("BLOSCFS", "bloscfs")
BENCH_READ = os.environ.get("BENCH_READ", "bench-read")
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

    @property
    def pid(self):
        """The process that serves."""
        return server_of(self.process.pid) or self.process.pid

    def memory(self, key):
        """KiB, of the daemon."""
        path = f"/proc/{self.pid}/status"
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


def server_of(pid):
    """Among a process and those that it has started; None if none serves."""
    with open(f"/proc/{pid}/comm", encoding="ascii") as name:
        if name.read() == "bloscfs-serve\n":
            return pid
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    return next(filter(None, map(server_of, children)), None)


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


def measured(test, path, *options):
    """What bench-read says."""
    out = subprocess.run([*RUN, BENCH_READ, *map(str, options), test, path],
                         check=True, stdout=subprocess.PIPE).stdout
    return float(out)


def read_all(path, kib=128, *options):
    return measured("seq", path, "-b", kib, *options)


def read_randomly(path, jobs, seed, *options):
    return measured("rand", path, "-j", jobs, "-r", seed, "-s", SECONDS,
                    *options)


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


def warmed(path):
    read_all(path, 1024)
    return path


# name: (unit, cold, what it is done to, how)
TESTS = {
    "seq_cold": ("GB/s", True, "file", lambda p, s: read_all(p)),
    "seq_direct": ("GB/s", True, "file",
                   lambda p, s: read_all(p, 1024, "-d")),
    "seq_warm": ("GB/s", False, "file", lambda p, s: read_all(warmed(p))),
    "two_cold": ("GB/s", True, "file",
                 lambda p, s: read_all(p, 128, "-j", 2)),
    "rand1": ("/s", True, "file", lambda p, s: read_randomly(p, 1, s)),
    "rand4": ("/s", True, "file", lambda p, s: read_randomly(p, 4, s)),
    "rand16": ("/s", True, "file", lambda p, s: read_randomly(p, 16, s)),
    "rand_warm": ("/s", False, "file",
                  lambda p, s: read_randomly(warmed(p), 1, s, "-w")),
    "mmap_cold": ("GB/s", True, "file", lambda p, s: measured("mmap", p)),
    "mmap_rand": ("/s", True, "file",
                  lambda p, s: measured("touch", p, "-r", s, "-s", SECONDS)),
    "slice_rows": ("/s", True, "npy", lambda p, s: slice_array(p, 0)),
    "slice_columns": ("/s", True, "npy", lambda p, s: slice_array(p, 1)),
    "ls": ("/s", True, "folder", lambda p, s: measured("ls", p)),
    "ls_long": ("/s", True, "folder", lambda p, s: measured("lsl", p)),
    "stat": ("/s", True, "folder", lambda p, s: measured("stat", p)),
    "open_read": ("/s", True, "folder", lambda p, s: measured("open", p)),
    "open_read2": ("/s", True, "folder",
                   lambda p, s: measured("open", p, "-j", 2)),
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
