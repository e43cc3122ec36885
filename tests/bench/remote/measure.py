#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What reading an array on a server costs.

measure.py [--short] [counts] [line] [stacked]      (run calls it)

BLOSCFS and BENCH_MAKE name the programs; all three parts run if none is named.
As root. An array of 84 MiB in chunks of 4 MiB and blocks of 256 KiB (zstd, 19.9
MB) lies behind nginx, and in a bucket too where the environment has
AWS_ENDPOINT_URL, keys and S3_BUCKET.

counts   requests and bytes, as the server's log has them, that a mount costs:
         to open and read info.json, to read 20 pages at random, to read all
         in order, and all of this once more after another mount with the same
         disk cache
line     through a line of 30 ms and 1 Gbit/s: reading in order, next to curl
         with as many connections; pages at random, with 16 readers and one
stacked  the same through bloscfs over rclone mount, with and without its cache

One line of TSV a figure: what, how, value, unit, goal. --short is for a test
of this program: a small array, a short line.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import sides
from link import Link
from sides import Mount, Stacked

MAKE = os.environ.get("BENCH_MAKE", "bench-make")
N_RANDOM = 20
READERS = 16
ROUNDS = 3
RCLONE = {"rclone": (), "rclone full": ("--vfs-cache-mode", "full")}


def tell(what, how, value, unit, goal=""):
    text = value if isinstance(value, str) else \
        f"{value:.0f}" if value >= 100 or value == int(value) else \
        f"{value:.3g}"
    print("\t".join((what, how, text, unit, goal)), flush=True)


def tell_counts(what, how, counted, goal=("", "")):
    tell(what, how, counted[0], "requests", goal[0])
    tell(what, how, counted[1] / 1e3, "kB", goal[1])


class Array:
    """The file and what is known of it."""

    def __init__(self, work, mib, chunk_kib):
        self.folder = tempfile.mkdtemp(dir=work)
        os.chmod(self.folder, 0o755)
        os.chmod(work, 0o755)
        self.name = "array.b2nd"
        self.file = os.path.join(self.folder, self.name)
        subprocess.run([MAKE, "zstd", str(mib), str(chunk_kib), self.file],
                       check=True)
        self.size = mib << 20
        self.stored = os.path.getsize(self.file)


def has_disk_cache():
    out = subprocess.run([sides.BLOSCFS, "--help"], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False).stdout
    return b"disk_cache" in out


def count_pass(work, served, source, options, pages):
    """One mount: opened, read at random, and through."""
    with Mount(work, source, *options) as mount:
        sides.read_text(mount)
        opened = served.counted()
        sides.read_at(mount.path("data.bin"), pages)
        drawn = served.counted()
    with Mount(work, source, *options) as mount:
        served.counted()
        sides.read_through(mount.path("data.bin"))
        through = served.counted()
    return {"open": opened, "random": drawn, "in order": through}


def counts(work, array, served, source, how, args):
    pages = sides.drawn(array.size, N_RANDOM, 5)
    chunks = len({off // (args.chunk << 10) for off in pages})
    goals = {"open": ("2", "65.5"),
             "random": (f"20 + {chunks} plans", ""),
             "in order": ("", f"{array.stored / 1e3:.0f}")}
    found = count_pass(work, served, source, (), pages)
    for what, counted in found.items():
        tell_counts(what, how, counted, goals[what])
    if not has_disk_cache():
        tell("again", how, "-", "no disk cache in this build")
        return
    cache = os.path.join(tempfile.mkdtemp(dir=work), "cache")
    os.mkdir(cache, 0o700)
    options = (f"--disk_cache={cache}", "--disk_cache_size=1G")
    count_pass(work, served, source, options, pages)
    found = count_pass(work, served, source, options, pages)
    for what, counted in found.items():
        tell_counts(what + " again", how, counted,
                    ("1" if what == "open" else "0", ""))


def run_counts(work, array, args):
    with sides.files_of(work, array.folder) as served:
        counts(work, array, served,
               f"http://127.0.0.1:{served.port}/{array.name}", "nginx", args)
    endpoint, bucket = (os.environ.get(name) for name in
                        ("AWS_ENDPOINT_URL", "S3_BUCKET"))
    if not endpoint or not bucket:
        tell("open", "S3", "-", "no AWS_ENDPOINT_URL and S3_BUCKET")
        return
    sides.put(endpoint, bucket, array.name, array.file)
    with sides.before(work, endpoint) as served:
        os.environ["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{served.port}"
        try:
            counts(work, array, served, f"s3://{bucket}/{array.name}", "S3",
                   args)
        finally:
            os.environ["AWS_ENDPOINT_URL"] = endpoint


def timed_pass(make, array, n, readers):
    """Seconds of a fresh mount each: from its beginning to info.json, of
    pages at random by one reader and by several, of all in order."""
    took = {}
    with make() as mount:
        took["info.json"] = sides.read_text(mount)
        took["random, 1 reader"] = sides.read_at(
            mount.path("data.bin"), sides.offsets(array.size, n, 7))
    with make() as mount:
        took[f"random, {readers} readers"] = sides.read_at(
            mount.path("data.bin"),
            sides.offsets(array.size, n * readers, 8), readers)
    with make() as mount:
        took["in order"] = sides.read_through(mount.path("data.bin"))
    return took


def from_mount_on(make, array, n):
    """Seconds from before the mount to n pages at random, for those who fetch
    much meanwhile."""
    took = {}
    with sides.timed(took, "all"), make() as mount:
        sides.read_text(mount)
        sides.read_at(mount.path("data.bin"),
                      sides.offsets(array.size, n, 9))
    return took["all"]


def rounds_of(call, n):
    """Medians over rounds, by name."""
    found = [call() for _ in range(n)]
    return {name: statistics.median(one[name] for one in found)
            for name in found[0]}


class Line:
    """The array behind nginx and a line."""

    def __init__(self, work, array, args):
        self.work, self.array, self.args = work, array, args
        self.served = sides.files_of(work, array.folder)
        self.link = Link(self.served.port, args.delay / 1e3,
                         args.mbit * 125e3)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.__exit__()
        self.served.__exit__()

    def mount(self):
        return Mount(self.work, f"http://127.0.0.1:{self.link.port}/"
                     + self.array.name)

    def stacked(self, options):
        return Stacked(self.work, self.link.port, self.array.name, *options)

    def in_order(self):
        """bloscfs and curl in turn: (seconds of each, connections)."""
        self.link.take("at_once")
        with self.mount() as mount:
            ours = sides.read_through(mount.path("data.bin"))
        connections = max(1, self.link.take("at_once"))
        theirs = sides.fetch(self.link.port, self.array.name,
                             self.array.stored, connections, self.work)
        return {"ours": ours, "curl": theirs, "connections": connections}


def tell_line(line, args):
    how = f"{args.delay:g} ms, {args.mbit:g} Mbit/s"
    found = rounds_of(line.in_order, args.rounds)
    mb = line.array.stored / 1e6
    tell("in order", how, mb / found["ours"], "MB/s stored")
    tell("in order, curl", how, mb / found["curl"],
         f"MB/s, {found['connections']:.0f} connections")
    tell("in order, ours / curl", how, found["curl"] / found["ours"], "",
         ">= 0.9")
    found = rounds_of(lambda: timed_pass(line.mount, line.array, args.pages,
                                         args.readers), args.rounds)
    many = f"random, {args.readers} readers"
    for name in ("info.json", "random, 1 reader", many):
        n = args.pages * (args.readers if name == many else 1)
        if name == "info.json":
            tell(name, how, found[name] * 1e3, "ms")
        else:
            tell(name, how, n / found[name], "pages/s")
    tell("16 readers / 1" if args.readers == 16 else "readers / 1", how,
         args.readers * found["random, 1 reader"] / found[many], "", ">= 14")
    return found


def run_line(work, args):
    big = Array(work, args.mib * args.bigger, args.chunk)
    with Line(work, big, args) as line:
        found = rounds_of(line.in_order, args.rounds)
        tell(f"in order, {big.stored / 1e6:.0f} MB, ours / curl",
             f"{args.delay:g} ms, {args.mbit:g} Mbit/s",
             found["curl"] / found["ours"],
             f"{found['connections']:.0f} connections", ">= 0.9")
    os.unlink(big.file)


def run_stacked(line, args, ours):
    if not shutil.which("rclone"):
        tell("stacked", "rclone", "-", "there is no rclone")
        return
    begin = rounds_of(lambda: {"": from_mount_on(
        line.mount, line.array, args.pages)}, args.rounds)[""]
    for name, options in RCLONE.items():
        make = lambda options=options: line.stacked(options)  # noqa: E731
        theirs = timed_pass(make, line.array, args.pages, args.readers)
        for what, took in theirs.items():
            goal = ">= 10" if what.startswith("random") else ">= 1"
            tell(what + ": seconds", name, took, "s")
            tell(what + ": faster by", name, took / ours[what], "times", goal)
        took = from_mount_on(make, line.array, args.pages)
        tell(f"mount and {args.pages} pages: faster by", name, took / begin,
             "times", ">= 1")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--delay", type=float, default=30, help="ms")
    parser.add_argument("--mbit", type=float, default=1000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("parts", nargs="*", metavar="PART")
    args = parser.parse_args()
    for part in args.parts:
        if part not in ("counts", "line", "stacked"):
            parser.error("no such part: " + part)
    args.parts = args.parts or ["counts", "line", "stacked"]
    args.mib, args.chunk, args.bigger = 84, 4096, 6
    args.pages, args.readers = N_RANDOM, READERS
    if args.short:
        args.mib, args.chunk, args.bigger, args.rounds = 16, 1024, 2, 1
        args.pages, args.readers, args.delay = 5, 4, 5
    return args


def main():
    args = parse()
    for name in list(os.environ):
        if name.endswith("_proxy"):
            del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="bench.") as work:
        array = Array(work, args.mib, args.chunk)
        if "counts" in args.parts:
            run_counts(work, array, args)
        if "line" in args.parts or "stacked" in args.parts:
            with Line(work, array, args) as line:
                ours = tell_line(line, args)
                if "stacked" in args.parts:
                    run_stacked(line, args, ours)
        if "line" in args.parts:
            run_line(work, args)


if __name__ == "__main__":
    main()
