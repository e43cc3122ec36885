#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A writer that appends to a frame and rewrites it, and readers that look at
every byte. BLOSCFS_SOAK_SECONDS makes it last; 5 seconds unless given."""
import collections
import errno
import os
import random
import struct
import threading
import time

import harness
import samples
from harness import Mount, equal

SECONDS = float(os.environ.get("BLOSCFS_SOAK_SECONDS", "5"))
harness.SCRIPT_SECONDS += int(SECONDS)
CHUNK = 1 << 15
READERS = 4
# What a reader may meet where a writer is half-way through.
ALLOWED = {errno.ESTALE, errno.EIO, errno.ENOENT, errno.ENOTDIR}


def fill(generation, count):
    """Chunks of records that each tell their generation and chunk."""
    return b"".join(struct.pack("<QQ", generation, number) * (CHUNK // 16)
                    for number in range(count))


class Soak:
    def __init__(self, source, mount):
        self.path, self.mount = source + "/a.b2frame", mount
        self.generation = 0     # that is whole on disk
        self.end = time.monotonic() + SECONDS
        self.wrong, self.errors = [], collections.Counter()
        self.n_reads = self.n_writes = 0

    def running(self):
        return time.monotonic() < self.end and not self.wrong

    def write(self):
        """Appends some times, then makes a new generation."""
        dice = random.Random(1)
        while self.running():
            new, count = self.generation + 1, dice.randrange(4, 20)
            frame = samples.frame(fill(new, count), CHUNK)
            if dice.random() < 0.5:
                harness.write(self.path, frame)
            else:
                harness.write(self.path + ".tmp", frame)
                os.rename(self.path + ".tmp", self.path)
            self.generation = new
            for more in range(1, dice.randrange(1, 12)):
                time.sleep(dice.choice((0, 0.001, 0.02, 0.05)))
                samples.grow(self.path, fill(new, count + more), CHUNK)
                self.n_writes += 1
            time.sleep(dice.choice((0, 0.01, 0.1)))

    def look(self, content, first, oldest):
        """All of one generation, not older than what was there before."""
        seen = {content[at:at + 8] for at in range(0, len(content), 16)}
        numbers = content[8::CHUNK // 2] and [
            struct.unpack_from("<Q", content, at + 8)[0]
            for at in range(0, len(content) - 15, 16)]
        wanted = [first + at // CHUNK for at in range(0, len(content) - 15,
                                                      16)]
        if len(seen) > 1 or numbers != wanted or \
                seen and struct.unpack("<Q", seen.pop())[0] < oldest:
            self.wrong.append((first, oldest, len(content)))

    def read(self, seed):
        dice = random.Random(seed)
        while self.running():
            oldest, number = self.generation, dice.randrange(4)
            name = f"chunks/{number:010d}" if dice.random() < 0.5 else \
                "data.bin"
            try:
                content = harness.read(self.mount.path("a.b2frame", name))
            except OSError as error:
                if error.errno not in ALLOWED:
                    self.wrong.append(error)
                self.errors[errno.errorcode[error.errno]] += 1
                time.sleep(0.005)
            else:
                self.look(content, number if name[0] == "c" else 0, oldest)
            self.n_reads += 1


def readers_of_a_changing_frame_see_no_wrong_byte(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    harness.write(source + "/a.b2frame", samples.frame(fill(0, 5), CHUNK))
    with Mount(work, source, "--attr_timeout=0") as mount:
        soak = Soak(source, mount)
        threads = [threading.Thread(target=soak.write)] + [
            threading.Thread(target=soak.read, args=(seed,))
            for seed in range(READERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(f"# {soak.n_reads} reads, {soak.generation} generations, "
          f"{soak.n_writes} appended, errors {dict(soak.errors)}")
    equal(soak.wrong, [], "wrong reads")
    assert soak.n_reads > 20, soak.n_reads
    assert sum(soak.errors.values()) < soak.n_reads / 2, soak.errors


if __name__ == "__main__":
    harness.main([
        readers_of_a_changing_frame_see_no_wrong_byte,
    ])
