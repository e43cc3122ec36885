#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a mount costs besides time, and whether it is fair.

daemon.py [--short] FRAME

BLOSCFS and BENCH_READ name the programs. One line of TSV each:

    memory    MiB resident at most, above a cache of 16 MiB, after 16
              processes read at random and in order from 16 copies of FRAME
    fair      of 16 processes that read at random, each from its copy, the
              slowest one's share of the mean
    faults    minor page faults of the daemon for 1,000 blocks that it has to
              decode, in a steady state
    warm      READ requests while a file is read that was read before
    reads     calls and bytes that a random read asks of the source, when the
              block is missing and its chunk's header known
"""
import os
import random
import shutil
import sys
import tempfile
import time

import mount

N = 16
PAGE = mount.PAGE


class Shelf(mount.Ours):
    """A mount of a folder with N copies of a frame."""

    def __init__(self, work, frame, options=()):
        shelf = os.path.join(work, "shelf")
        os.mkdir(shelf)
        for i in range(N):
            shutil.copyfile(frame, os.path.join(shelf, f"{i}.b2nd"))
        super().__init__(work, shelf, options)

    def copy(self, i):
        return os.path.join(self.point, f"{i}.b2nd", "data.bin")


def in_children(work):
    """Runs work(i) in N processes at once; their results."""
    pipes = []
    for i in range(N):
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


def read_for(path, seconds, seed):
    """Random reads of 4 KiB; how many."""
    draw = random.Random(seed)
    pages = os.stat(path).st_size // PAGE
    fd = os.open(path, os.O_RDONLY)
    buf = bytearray(PAGE)
    n, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        os.preadv(fd, [buf], draw.randrange(pages) * PAGE)
        n += 1
    os.close(fd)
    return n


def print_fair(shelf, seconds):
    for i in range(N):
        mount.drop_pages(shelf.copy(i))
    counts = in_children(lambda i: read_for(shelf.copy(i), seconds, i))
    print(f"fair\t{min(counts) / (sum(counts) / N):.2f}", flush=True)


def print_memory(shelf, seconds):
    in_children(lambda i: read_for(shelf.copy(i), seconds, 50 + i))
    in_children(lambda i: mount.read_all(shelf.copy(i), 1024))
    print(f"memory\t{shelf.memory('VmHWM') / 1024 - 16:.1f}", flush=True)


def minor_faults(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return int(stat.read().rpartition(")")[2].split()[7])


def print_faults(shelf, blocks):
    """Whole blocks of 4 MiB apart and more, so that each read misses."""
    def read(first, n):
        done = shelf.counter("bloscfs_cache_misses_total")
        i = first
        while shelf.counter("bloscfs_cache_misses_total") < done + n:
            path = shelf.copy(i % N)
            mount.drop_pages(path)
            read_for(path, 0.01, i)
            i += 1
        return shelf.counter("bloscfs_cache_misses_total") - done

    read(0, blocks)
    before = minor_faults(shelf.pid)
    missed = read(1000, blocks)
    faults = minor_faults(shelf.pid) - before
    print(f"faults\t{faults / missed * 1000:.0f}", flush=True)


def print_warm(shelf):
    path = shelf.copy(0)
    mount.warmed(path)
    before = shelf.counter('bloscfs_requests_total{kind="read"}')
    mount.read_all(path)
    read_for(path, 0.2, 1)
    after = shelf.counter('bloscfs_requests_total{kind="read"}')
    # The counters themselves are read through the mount.
    with open(os.path.join(shelf.point, ".bloscfs", "stats"), "rb") as stats:
        stats.read()
    own = shelf.counter('bloscfs_requests_total{kind="read"}') - after
    print(f"warm\t{max(0, after - before - own / 2):.0f}", flush=True)


def print_reads(shelf, seconds):
    names = ("bloscfs_source_reads_total", "bloscfs_source_bytes_total",
             "bloscfs_cache_misses_total")
    path = shelf.copy(N - 1)
    # Others' blocks take the place of this copy's.
    mount.read_all(shelf.copy(0), 1024)
    mount.drop_pages(path)
    read_for(path, seconds / 10, 1)
    mount.drop_pages(path)
    before = [shelf.counter(name) for name in names]
    read_for(path, seconds, 2)
    reads, length, misses = [shelf.counter(name) - old
                             for name, old in zip(names, before)]
    misses = max(misses, 1)
    print(f"reads\t{reads / misses:.3f}\t{length / misses:.0f}", flush=True)


def main():
    short = "--short" in sys.argv
    frames = [arg for arg in sys.argv[1:] if arg != "--short"]
    if len(frames) != 1:
        sys.exit(__doc__)
    seconds = 0.1 if short else 2
    with tempfile.TemporaryDirectory(prefix="bench.") as work:
        shelf = Shelf(work, frames[0])
        try:
            shelf.start()
            print_fair(shelf, seconds)
            print_memory(shelf, seconds)
            print_faults(shelf, 50 if short else 1000)
            print_warm(shelf)
            print_reads(shelf, seconds)
        finally:
            shelf.stop()


if __name__ == "__main__":
    main()
