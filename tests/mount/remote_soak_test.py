#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A bucket whose server fails, hangs and lies in every twentieth request and
whose objects are replaced meanwhile, and readers that look at every byte: by
one mount without and by one with a disk cache that is too small, both with keys
that expire.
BLOSCFS_SOAK_SECONDS makes it last; 5 seconds unless given."""
import collections
import concurrent.futures
import errno
import os
import random
import threading
import time

import diskcached
import harness
import programs
import samples
from harness import Mount, equal, read
from objects import Server
from remote_keys_test import Keys, signed_with

SECONDS = float(os.environ.get("BLOSCFS_SOAK_SECONDS", "5"))
harness.SCRIPT_SECONDS += int(SECONDS)

SHARE = 0.05    # of requests that meet a fault
MIB = 1 << 20
SIZE = 6 * MIB  # of an object
OBJECTS = 4
READERS = 4
FAULTS = ["reset", "cut", "short", "long", "shifted", "other total",
          "no range told", "huge range", "other tag", "whole", "gzip",
          "garbage", "slow", "late", "stalled", "hang", "entities",
          "cut xml", "expired", 500, 503, 503, 429, 403, 404, 400]
# What a fault makes of a read. Retries hide most of those that may pass.
ALLOWED = {errno.EIO, errno.ESTALE, errno.EACCES, errno.ENOENT,
           errno.ENOTDIR}


def made(work, number, generation):
    plain = f"{work}/plain"
    truth = samples.noise(SIZE, 100 * number + generation)
    harness.write(plain, truth)
    programs.pack(plain, f"{work}/frame", chunk_kib=256)
    return truth, read(f"{work}/frame")


class Soak:
    def __init__(self, work, server):
        self.server = server
        self.made = {f"{number}.b2frame": [made(work, number, generation)
                                           for generation in range(2)]
                     for number in range(OBJECTS)}
        self.dice = random.Random(9)        # of the server, under its lock
        self.lock = threading.Lock()
        self.met, self.errors = collections.Counter(), collections.Counter()
        self.n_reads = self.n_short = self.n_bytes = 0
        self.n_requests = self.n_swaps = 0
        self.keys = set()                   # that requests were signed with
        self.wrong = []
        self.end = 0
        for name in self.made:
            self.put(name, 0)

    def put(self, name, generation):
        self.server.put("/bucket/" + name, self.made[name][generation][1],
                        modified=1_600_000_000 + generation)

    def choose(self, _path):
        self.n_requests += 1
        if self.dice.random() >= SHARE:
            return None
        fault = self.dice.choice(FAULTS)
        self.met[fault] += 1
        return fault

    def running(self):
        return time.monotonic() < self.end

    def swap(self):
        """Replaces an object now and then."""
        dice = random.Random(2)
        while self.running():
            time.sleep(min(2.5, SECONDS / 4))
            self.put(dice.choice(list(self.made)), self.n_swaps % 2)
            self.n_swaps += 1
            self.server.log.clear()
            self.keys.update(signed_with(self.server))
            self.server.asked.clear()

    def look(self, name, got, at, length, seen):
        """All of what was opened is of one generation. seen: of which it was
        until now. What an error cuts short is right as far as it goes."""
        right = {generation for generation in seen if got ==
                 self.made[name][generation][0][at:at + len(got)]}
        with self.lock:
            self.n_reads += 1
            self.n_bytes += len(got)
            self.n_short += len(got) < length
            if not right or not got:
                self.wrong.append((name, at, length, len(got), seen))
        return right or seen

    def read_some(self, mount, name, dice):
        seen = {0, 1}
        file = os.open(mount.path(name, "data.bin"), os.O_RDONLY)
        try:
            if dice.random() < 0.8:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
            for _ in range(16):
                length = dice.choice((1, 512, 4096, 4096, 65536, MIB))
                at = dice.randrange(SIZE - length + 1)
                got = os.pread(file, length, at)
                seen = self.look(name, got, at, length, seen)
                # The next one comes from the daemon again.
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)

    def read(self, mount, seed):
        dice = random.Random(seed)
        while self.running():
            try:
                if dice.random() < 0.1:
                    names = set(os.listdir(mount.point)) - {".bloscfs"}
                    if names != set(self.made):
                        self.wrong.append(names)
                self.read_some(mount, dice.choice(list(self.made)), dice)
            except OSError as error:
                with self.lock:
                    self.errors[errno.errorcode[error.errno]] += 1
                    if error.errno not in ALLOWED:
                        self.wrong.append(error)
                time.sleep(0.05)

    def run(self, mounts):
        self.end = time.monotonic() + SECONDS
        self.server.choose = self.choose
        with concurrent.futures.ThreadPoolExecutor(READERS + 1) as pool:
            running = [pool.submit(self.swap)] + [
                pool.submit(self.read, mounts[seed % 2], seed)
                for seed in range(READERS)]
            done = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_EXCEPTION).done
            self.end = 0
            for one in done:
                one.result()
        self.server.choose = None

    def holds(self, mount, name):
        """Whether the object that is there now is what is read, whole."""
        now = self.server.objects["/bucket/" + name][0]
        truth = next(truth for truth, frame in self.made[name]
                     if frame == now)
        try:
            return read(mount.path(name, "data.bin")) == truth
        except OSError:
            return False


def disk_counts(mount):
    names = ("hits", "read_bytes", "evictions", "dropped", "faults")
    return {name: diskcached.stat(mount, name) for name in names}


def report(soak, mounts):
    print(f"# {soak.n_reads} reads ({soak.n_short} cut short) of "
          f"{soak.n_bytes} bytes, {soak.n_requests} requests, "
          f"{sum(soak.met.values())} faults {dict(soak.met)}, "
          f"{soak.n_swaps} replaced, errors {dict(soak.errors)}, wrong "
          f"{len(soak.wrong)}, memory "
          f"{[mount.memory() >> 20 for mount in mounts]} MiB, disk cache "
          f"{disk_counts(mounts[1])}, {len(soak.keys)} keys")


def no_byte_is_wrong_whatever_the_server_does(work):
    options = ["--attr_timeout=0.5", "--read_timeout=1", "--cache_size=1M"]
    disk = f"{work}/disk"
    os.mkdir(disk)
    with Server() as server, Keys(work, server) as keys:
        keys.how("20")
        soak = Soak(work, server)
        server.pause = 0.3
        with Mount(work, "s3://bucket", *options) as one, \
                Mount(work, "s3://bucket", *options, f"--disk_cache={disk}",
                      "--disk_cache_size=16M") as other:
            mounts = one, other
            soak.run(mounts)
            report(soak, mounts)
            equal(soak.wrong[:20], [], "wrong reads")
            # It was read in earnest, and most of the time it works.
            assert soak.n_reads > 20 and soak.n_swaps, soak.n_reads
            assert sum(soak.met.values()) > 2, soak.met
            assert sum(soak.errors.values()) < soak.n_reads / 3, soak.errors
            assert disk_counts(other)["hits"], disk_counts(other)
            assert soak.keys and None not in soak.keys, soak.keys
            # Nothing of it is remembered once the server is well.
            for name in soak.made:
                for mount in mounts:
                    harness.wait_until(
                        lambda n=name, m=mount: soak.holds(m, n))
                    harness.below(mount.memory(), 400 * MIB)


if __name__ == "__main__":
    harness.main([
        no_byte_is_wrong_whatever_the_server_does,
    ])
