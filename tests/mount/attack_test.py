#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Damaged files and bombs, read by many at once with every view; then the
worst of them beside a good file.

BLOSCFS_ATTACK=MUTANTS,BOMBS,WORST,READERS,SECONDS makes it as large as asked
for; 150,15,10,4,20 unless given. Seconds end the first part.
"""
import contextlib
import errno
import hashlib
import mmap
import os
import random
import shutil
import signal
import struct
import time

import bombs
import harness
import namespace
import samples
from harness import Mount, equal

MUTANTS, BOMBS, WORST, READERS, SECONDS = map(int, os.environ.get(
    "BLOSCFS_ATTACK", "150,15,10,4,20").split(","))
LARGE = "BLOSCFS_ATTACK" in os.environ
MAX_MEMORY = 128
OPTIONS = ("--cache_size=16M", f"--max_memory={MAX_MEMORY}M", "--views="
           "info,data,npy,chunks,meta,raw,lazy,blocks,zarr,table,map",
           "--formats=all", "--log_level=err")
# What a name costs that the kernel remembers, with its node; a quarter of the
# limit is theirs. What the daemon has beside all limits.
NAME_BYTES = 300
OWN_BYTES = 32 << 20
# A call that is given up must end; a request may decode for some time.
CALL_SECONDS = 60
ALLOWED = {errno.EIO, errno.EOPNOTSUPP, errno.ENOMEM, errno.ENODATA,
           errno.ENAMETOOLONG, errno.ENOENT, errno.ESTALE, errno.EMFILE,
           errno.ELOOP, errno.EOVERFLOW, errno.EFBIG, errno.EINVAL}
harness.SCRIPT_SECONDS += 60 + 3 * SECONDS


def mutant(dice, content):
    """A few bytes changed, cut, doubled, or numbers made extreme."""
    content, how = bytearray(content), dice.randrange(8)
    if not content:
        return bytes(content)
    if how == 0:
        return bytes(content[:dice.randrange(len(content))])
    if how == 1:
        at, length = dice.randrange(len(content)), dice.randrange(1, 64)
        return bytes(content[:at] + content[at:at + length] * 2 +
                     content[at + length:])
    for _ in range(dice.choice((1, 1, 2, 8))):
        # Headers are where numbers are.
        at = dice.randrange(len(content) if dice.random() < 0.4 else
                            min(len(content), 160))
        if how < 5:
            content[at] = dice.randrange(256)
        elif how == 5:
            content[at] ^= 1 << dice.randrange(8)
        else:
            code, top = dice.choice((("<i", 31), (">i", 31), ("<q", 63),
                                     (">q", 63)))
            value = dice.choice((-1, 0, 1, (1 << top) - 1, -(1 << top),
                                 1 << (top // 2), 0x7ffff000))
            size = struct.calcsize(code)
            content[at:at + size] = struct.pack(code, value)[:max(
                0, len(content) - at)]
    return bytes(content)


def mutate_tree(dice, source, target):
    """A copy of a sample, file or folder, in which one file is mutated."""
    if os.path.isfile(source):
        harness.write(target, mutant(dice, harness.read(source)))
        return
    shutil.copytree(source, target)
    files = [os.path.join(folder, name)
             for folder, _, names in harness.walk(target) for name in names]
    victim = dice.choice(sorted(files))
    harness.write(victim, mutant(dice, harness.read(victim)))


def make_source(folder):
    """Mutants and bombs, and a good file whose content is known."""
    os.mkdir(folder)
    dice = random.Random(int(os.environ.get("BFS_TEST_SEED", "1")))
    names = sorted(name for name in os.listdir(harness.DATA)
                   if name.startswith(("good-", "unsupported-", "bad-")))
    made = []
    for number in range(MUTANTS):
        name = names[number % len(names)]
        made.append(f"{number:05d}-{name}")
        mutate_tree(dice, os.path.join(harness.DATA, name),
                    os.path.join(folder, made[-1]))
    made += bombs.make(folder, BOMBS)
    content = samples.noise(8 << 20)
    harness.write(folder + "/good.b2frame", samples.frame(content, 1 << 18,
                                                          1 << 16))
    return made, content


class Board:
    """What the readers tell of themselves, shared: for each when its call
    began and which victim it has; for each victim the slowest call."""

    def __init__(self, n_readers, n_victims):
        self.n, self.m = n_readers, n_victims
        self.room = mmap.mmap(-1, 8 * (3 * n_readers + n_victims))

    def get(self, at):
        return struct.unpack_from("<d", self.room, 8 * at)[0]

    def put(self, at, value):
        struct.pack_into("<d", self.room, 8 * at, value)

    def busy_for(self, reader):
        began = self.get(reader)
        return time.monotonic() - began if began else 0

    def calls(self):
        return int(sum(self.get(self.n + i) for i in range(self.n)))

    def victim(self, reader):
        return int(self.get(2 * self.n + reader))

    @contextlib.contextmanager
    def call(self, reader, victim):
        """Around a call; what a damaged file may answer is no fault."""
        began = time.monotonic()
        self.put(reader, began)
        try:
            yield
        except OSError as error:
            if error.errno not in ALLOWED:
                raise
        finally:
            self.put(reader, 0)
            self.put(self.n + reader, self.get(self.n + reader) + 1)
            at = 3 * self.n + victim
            self.put(at, max(self.get(at), time.monotonic() - began))

    def worst(self, count):
        return sorted(range(self.m), key=lambda i: -self.get(3 * self.n + i)
                      )[:count]


class Reader:
    """One process's way through the victims."""

    def __init__(self, board, number, root):
        self.board, self.number, self.root = board, number, root
        self.dice = random.Random(number)
        self.victim = 0

    def call(self):
        return self.board.call(self.number, self.victim)

    def visit(self, victim, name):
        self.victim = victim
        self.board.put(2 * self.board.n + self.number, victim)
        self.look(os.path.join(self.root, name), 0)

    def look(self, path, depth):
        kind = None
        with self.call():
            kind = os.lstat(path).st_mode
        if kind is None:
            return
        with self.call():
            for name in os.listxattr(path):
                os.getxattr(path, name)
        if kind & 0o170000 == 0o040000:
            if depth < 6:
                self.folder(path, depth)
        elif kind & 0o170000 == 0o100000:
            self.file(path)

    def folder(self, path, depth):
        names = []
        with self.call():
            with os.scandir(path) as entries:
                for entry in entries:
                    names.append(entry.name)
                    if len(names) >= 2000:
                        break
        if len(names) > 12:
            names = names[:4] + names[-4:] + self.dice.sample(names, 4)
        for name in names:
            self.look(os.path.join(path, name), depth + 1)

    def file(self, path):
        file = None
        with self.call():
            file = os.open(path, os.O_RDONLY)
        if file is None:
            return
        try:
            size = os.fstat(file).st_size
            places = [0, max(0, size - 4096)] + [
                self.dice.randrange(max(1, size)) for _ in range(2)]
            for at in places:
                with self.call():
                    os.pread(file, self.dice.choice((1, 4096, 131072)), at)
        finally:
            os.close(file)


def start_reader(board, number, root, names, order, end, again=True):
    """A process that reads the victims in this order until end, again and
    again if told so."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.alarm(0)
        reader = Reader(board, number, root)
        while True:
            for victim in order:
                if time.monotonic() >= end:
                    break
                reader.visit(victim, names[victim])
            if not again or time.monotonic() >= end:
                break
        code = 0
    except BaseException as error:      # told by the status and the log
        os.write(2, f"# reader {number}: {error!r}\n".encode())
    finally:
        os._exit(code)


def gone(pid):
    """Whether a child has ended; reaps it."""
    return os.waitpid(pid, os.WNOHANG)[0] == pid


def check_calls(board, readers, killed, names):
    """Ends who is in one call for too long, which must be possible."""
    for number, pid in list(readers.items()):
        if board.busy_for(number) > CALL_SECONDS * (5 if harness.SANITIZED
                                                    else 1):
            os.kill(pid, signal.SIGKILL)
            harness.wait_until(
                lambda one=pid: gone(one), 20, told=lambda one=number:
                f"reader of {names[board.victim(one)]} is not killable")
            killed.append(names[board.victim(number)])
            del readers[number]


def good_is_good(mount, content):
    """The slowest read of the good file, whose bytes are right."""
    slowest, digest = 0.0, hashlib.sha256()
    with open(mount.path("good.b2frame/data.bin"), "rb", buffering=0) as file:
        while True:
            began = time.monotonic()
            part = file.read(1 << 17)
            slowest = max(slowest, time.monotonic() - began)
            if not part:
                break
            digest.update(part)
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    equal(digest.hexdigest(), hashlib.sha256(content).hexdigest(),
          "hash of the good file")
    return slowest


def peak(mount):
    """The most memory that the daemon ever had, in bytes."""
    with open(f"/proc/{mount.pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    raise AssertionError("the kernel tells no peak of memory")


def names_known(mount):
    """Names that the kernel remembers, whose nodes the daemon keeps."""
    for line in harness.read(mount.path(".bloscfs/stats")).decode() \
            .splitlines():
        if line.startswith("bloscfs_nodes "):
            return int(float(line.split()[1]))
    raise AssertionError("stats do not count nodes")


def shuffled(count, seed):
    order = list(range(count))
    random.Random(seed).shuffle(order)
    return order


def all_read_by_many(mount, made, content):
    """Every victim by every reader, as far as the time goes; the board."""
    board, killed = Board(READERS, len(made)), []
    end = time.monotonic() + SECONDS
    readers = {number: start_reader(board, number, mount.point, made,
                                    shuffled(len(made), number), end, LARGE)
               for number in range(READERS)}
    while readers:
        time.sleep(0.2)
        for number, pid in list(readers.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                equal(status, 0, f"status of reader {number}")
                del readers[number]
        check_calls(board, readers, killed, made)
        equal(mount.process.poll(), None, "status of the daemon, which said "
              + mount.log()[-3000:] + ",")
        if time.monotonic() > end + CALL_SECONDS * 6:
            raise AssertionError("readers do not end")
    print(f"# {board.calls()} calls, given up in {killed}")
    assert board.calls() > 10 * READERS, board.calls()
    good_is_good(mount, content)
    return board


def memory_is_within(mount):
    most, names = peak(mount), names_known(mount)
    print(f"# most memory {most >> 20} MiB of {MAX_MEMORY}, {names} names")
    if not harness.SANITIZED:
        limit = (MAX_MEMORY << 20) + OWN_BYTES + max(
            0, NAME_BYTES * names - (MAX_MEMORY << 20) // 4)
        assert most < limit, (most, limit)


def worst_beside_good(mount, board, made, content):
    """The slowest read of the good file while the worst are read."""
    worst, slowest, times = board.worst(WORST), 0.0, []
    end = time.monotonic() + (60 if LARGE else 8)
    readers = [start_reader(board, number, mount.point, made,
                            worst[number % WORST:] + worst[:number % WORST],
                            end)
               for number in range(READERS)]
    while time.monotonic() < end:
        os.stat(mount.path("good.b2frame"))
        times.append(good_is_good(mount, content))
        # Leaves the two processors to the others for a moment.
        time.sleep(0.05)
    slowest = max(times)
    print(f"# beside the worst: slowest read {slowest:.3f} s of "
          f"{len(times)} passes; {[made[i] for i in worst[:10]]}")
    end_in_the_midst(mount, readers)
    assert slowest < (1 if LARGE and not harness.SANITIZED else 10), slowest


def end_in_the_midst(mount, readers):
    """Readers are given up in all that they do: the daemon ends all the
    same."""
    memory_is_within(mount)
    # Whoever ended by itself before its time met what may not be.
    for pid in list(readers):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            readers.remove(pid)
            equal(status, 0, "status of a reader of the worst")
    began = time.monotonic()
    mount.process.send_signal(signal.SIGTERM)
    for pid in readers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    mount.process.wait(20)
    took = time.monotonic() - began
    print(f"# ended {took:.2f} s after SIGTERM")
    for pid in readers:
        harness.wait_until(lambda one=pid: gone(one), 20)
    # Two seconds is the aim where the machine is ours.
    assert took < (2 if LARGE and not harness.SANITIZED else 10), took


def damage_and_bombs_harm_nobody_else(work):
    made, content = make_source(work + "/source")
    with Mount(work, work + "/source", *OPTIONS) as mount:
        board = all_read_by_many(mount, made, content)
        worst_beside_good(mount, board, made, content)


if __name__ == "__main__":
    namespace.enter()
    harness.main([
        damage_and_bombs_harm_nobody_else,
    ])
