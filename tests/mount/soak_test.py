#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A writer that appends to a frame and rewrites it, and readers that look at
every byte. BLOSCFS_SOAK_SECONDS makes it last; 5 seconds unless given."""
import collections
import concurrent.futures
import contextlib
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
FEWEST = 4      # chunks of a frame
# Of the reads: four may fail for each write, and some twenty succeed.
MOST_ERRORS = 0.3
# What a reader may meet where a writer is half-way through, and why.
ALLOWED = {
    errno.ESTALE: "the frame was rewritten while it was read",
    errno.EIO: "the frame was looked at half written, and is damaged then",
    errno.ENOENT: "half written it has no such chunk, or no data",
    errno.ENOTDIR: "half written it is a plain file",
}


def fill(generation, count):
    """Chunks of records that each tell their generation and chunk."""
    return b"".join(struct.pack("<QQ", generation, number) * (CHUNK // 16)
                    for number in range(count))


class Soak:
    def __init__(self, source, mount):
        self.path, self.mount = source + "/a.b2frame", mount
        self.generation = 0     # that is whole on disk ...
        self.started = 0        # ... and that is being written
        self.end = time.monotonic() + SECONDS
        self.wrong, self.errors = [], collections.Counter()
        self.n_reads = self.n_right = self.n_grown = 0
        self.n_begun = self.n_done = 0      # writes of any kind
        self.news = threading.Condition()

    def running(self):
        return time.monotonic() < self.end and not self.wrong

    @contextlib.contextmanager
    def writing(self):
        """While something is half written."""
        self.n_begun += 1
        try:
            yield
        finally:
            with self.news:
                self.n_done += 1
                self.news.notify_all()

    def let_read(self, dice):
        """Mostly waits until what is whole was read some times."""
        wanted = self.n_right + dice.choice((0, 1, 20, 30, 40))
        with self.news:
            while self.n_right < wanted and self.running():
                self.news.wait(0.2)

    def write(self):
        """Appends some times, then makes a new generation."""
        dice = random.Random(1)
        while self.running():
            new, count = self.generation + 1, dice.randrange(FEWEST, 20)
            frame = samples.frame(fill(new, count), CHUNK)
            self.started = new
            with self.writing():
                if dice.random() < 0.5:
                    harness.write(self.path, frame)
                else:
                    harness.write(self.path + ".tmp", frame)
                    os.rename(self.path + ".tmp", self.path)
            self.generation = new
            for more in range(1, dice.randrange(1, 12)):
                self.let_read(dice)
                with self.writing():
                    samples.grow(self.path, fill(new, count + more), CHUNK)
                self.n_grown += 1
            self.let_read(dice)

    def look(self, content, number, oldest):
        """Every byte: chunks of one generation, not older than what was there
        before. number: of the only chunk, or None for all of a frame."""
        generation = struct.unpack_from("<Q", content)[0] if content else -1
        if number is None:
            count, start = len(content) // CHUNK, 0
            right = count >= FEWEST
        else:
            count, start = number + 1, number * CHUNK
            right = True
        right = right and oldest <= generation <= self.started
        if not right or content != fill(generation, count)[start:]:
            self.wrong.append((number, oldest, generation, len(content)))
        with self.news:
            self.n_right += right
            self.news.notify_all()

    def forgive(self, error, n_done):
        """An error is one of those named, and something was being written
        since n_done writes were done. Waits until it is whole."""
        name = errno.errorcode[error.errno]
        if error.errno not in ALLOWED or self.n_begun == n_done:
            self.wrong.append((name, self.n_begun, n_done))
        self.errors[name] += 1
        with self.news:
            self.news.wait_for(lambda: self.n_begun == self.n_done or
                               not self.running(), 1)

    def read(self, seed):
        dice = random.Random(seed)
        while self.running():
            n_done, oldest = self.n_done, self.generation
            number = dice.randrange(FEWEST)
            number = number if dice.random() < 0.5 else None
            name = "data.bin" if number is None else f"chunks/{number:010d}"
            try:
                content = harness.read(self.mount.path("a.b2frame", name))
            except OSError as error:
                self.forgive(error, n_done)
            else:
                self.look(content, number, oldest)
            self.n_reads += 1

    def run(self):
        """One writer and readers, to the end; whatever one of them raises is
        raised here."""
        with concurrent.futures.ThreadPoolExecutor(READERS + 1) as pool:
            running = [pool.submit(self.write)] + [
                pool.submit(self.read, seed) for seed in range(READERS)]
            done = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_EXCEPTION).done
            self.end = 0
            for one in done:
                one.result()


def readers_of_a_changing_frame_see_no_wrong_byte(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    harness.write(source + "/a.b2frame", samples.frame(fill(0, 5), CHUNK))
    with Mount(work, source, "--attr_timeout=0") as mount:
        soak = Soak(source, mount)
        soak.run()
    n_errors = sum(soak.errors.values())
    print(f"# {soak.n_reads} reads, {soak.generation} generations, "
          f"{soak.n_grown} appended, errors {dict(soak.errors)}")
    equal(soak.wrong, [], "wrong reads")
    # It was read and written in earnest, and most of the time it works.
    assert soak.n_right > 20, soak.n_right
    assert soak.generation > 0 and soak.n_grown > 0, soak.generation
    assert n_errors < soak.n_reads * MOST_ERRORS, (n_errors, soak.n_reads)


if __name__ == "__main__":
    harness.main([
        readers_of_a_changing_frame_see_no_wrong_byte,
    ])
