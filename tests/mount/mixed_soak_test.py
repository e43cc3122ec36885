#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""All kinds of load at once on one daemon: readers of every view, sources that
change and go, damaged files, reads and allocations that fail, memory that is
short, signals, other mounts of the same source. Each answer is compared with
the truth; an error is only allowed while something gives a reason for it. The
daemon takes no more memory, descriptors and threads in the end than before.

BLOSCFS_SOAK_SECONDS makes it last; 12 seconds unless given."""
import collections
import concurrent.futures
import contextlib
import errno
import hashlib
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

import harness
import namespace
import samples
from harness import Mount, equal

SECONDS = float(os.environ.get("BLOSCFS_SOAK_SECONDS", "12"))
harness.SCRIPT_SECONDS += int(SECONDS)
MIB = 1 << 20
CHUNK = 1 << 14
MAX_MEMORY = 96 * MIB
STATIC = ["good-nd-structured.b2nd", "good-frame-vlmetalayers.b2frame",
          "good-blp3-array.blp", "good-blp2-sha512.blp",
          "good-packed-a4-delta.b2packed", "good-early-9c-usermeta.b2frame",
          "good-sparse-array.b2nd", "good-store-single.b2z", "good-store.b2z",
          "good-lz4-delta-shuffle.blosc2", "good-dict-zstd.blosc2",
          "good-store.b2e", "bad-frame-stream.b2frame", "bad-blp-digest.blp",
          "bad-frame-truncated.b2frame", "bad-sparse-missing-chunk.b2frame",
          "bad-nd-shape.b2nd", "bad-zip-member.b2z"]
# What is changed under the readers: name and how it is written.
CHANGING = ["frame.b2frame", "sparse", "store.blp"]
# What answers may be while a source is half written or a fault is under way,
# or just was.
ALLOWED = {errno.ESTALE, errno.EIO, errno.ENOENT, errno.ENOTDIR, errno.ENOMEM,
           errno.EISDIR, errno.EINTR, errno.ENODATA}
HELD = {"memory.limit_in_bytes": "memory.usage_in_bytes",
        "memory.high": "memory.current"}
# Of one container that is a folder: itself, its index and some chunks. Besides
# those that idle each reader may have one open that was replaced since, and a
# thread opens few for a moment.
FOLDER_FILES, MANY_FILES = 10, 160
SETTLED = 1.0       # seconds after which nothing of the past is a reason
MODES = READ, ALLOC, SHORT, INTERRUPT = 1, 2, 3, 4
MAPPED = """
import hashlib, mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as seen:
    print(hashlib.sha256(seen).hexdigest())
"""


def fill(number, generation, count):
    """Chunks of records that tell the file, its generation and the chunk."""
    return b"".join(struct.pack("<IIQ", number, generation, chunk) *
                    (CHUNK // 16) for chunk in range(count))


def differs(got, wanted):
    """Where, and what is there."""
    if not isinstance(got, bytes) or not isinstance(wanted, bytes):
        return f"{got!r}, wanted {wanted!r}"[:300]
    at = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b),
              min(len(got), len(wanted)))
    return f"{len(got)} bytes of {len(wanted)}, from {at} on " \
           f"{got[at:at + 16]!r}, wanted {wanted[at:at + 16]!r}"


class Trouble:
    """What may be the reason of an error: begun, done, and since when there
    was none."""

    def __init__(self):
        self.lock = threading.Lock()
        self.n_begun = self.n_now = 0
        self.last = 0.0

    @contextlib.contextmanager
    def under_way(self):
        with self.lock:
            self.n_begun += 1
            self.n_now += 1
        try:
            yield
        finally:
            with self.lock:
                self.n_now -= 1
                self.last = time.monotonic()

    def mark(self):
        """None while there is a reason, or a number to ask with later."""
        with self.lock:
            calm = self.n_now == 0 and \
                time.monotonic() > self.last + SETTLED
            return self.n_begun if calm else None

    def none_since(self, mark):
        with self.lock:
            return mark is not None and self.n_begun == mark


class Source:
    """One container that changes, and what may be seen of it."""

    def __init__(self, folder, number):
        self.name, self.number = CHANGING[number], number
        self.path = folder + "/" + self.name
        self.trouble = Trouble()
        self.lock = threading.Lock()
        self.whole = self.begun = 0     # generations
        self.counts = {}                # generation: most chunks it had

    def bytes_of(self, generation, count):
        data = fill(self.number, generation, count)
        if self.name.endswith(".blp"):
            pieces = [samples.small_chunk(data[i:i + CHUNK])
                      for i in range(0, len(data), CHUNK)]
            head = b"blpk" + struct.pack("<BBBBiiqq", 3, 0, 0, 1, CHUNK,
                                         CHUNK, len(pieces), 0)
            return head + b"".join(pieces)
        return samples.frame(data, CHUNK)

    def replace(self, dice):
        """A new generation, by a rename or in place."""
        new, count = self.begun + 1, dice.randrange(4, 24)
        with self.lock:
            self.begun, self.counts[new] = new, count
        with self.trouble.under_way():
            if self.name == "sparse":
                shutil.rmtree(self.path + ".tmp", ignore_errors=True)
                samples.write_sparse_frame(
                    self.path + ".tmp", fill(self.number, new, count), CHUNK)
                shutil.rmtree(self.path + ".old", ignore_errors=True)
                with contextlib.suppress(FileNotFoundError):
                    os.rename(self.path, self.path + ".old")
                os.rename(self.path + ".tmp", self.path)
                shutil.rmtree(self.path + ".old", ignore_errors=True)
            elif dice.random() < 0.5:
                harness.write(self.path, self.bytes_of(new, count))
            else:
                harness.write(self.path + ".tmp", self.bytes_of(new, count))
                os.rename(self.path + ".tmp", self.path)
            with self.lock:
                self.whole = new

    def change(self, dice):
        what = dice.random()
        if what < 0.35 and self.name.endswith(".b2frame"):
            with self.lock:
                self.counts[self.begun] += 1
                count = self.counts[self.begun]
            with self.trouble.under_way():
                samples.grow(self.path, fill(self.number, self.begun, count),
                             CHUNK)
        elif what < 0.45 and self.name != "sparse":
            with self.trouble.under_way():
                os.truncate(self.path, dice.randrange(
                    os.path.getsize(self.path)))
                time.sleep(dice.random() / 4)
                self.replace(dice)
        elif what < 0.55:
            with self.trouble.under_way():
                if os.path.isdir(self.path):
                    shutil.rmtree(self.path)
                else:
                    os.unlink(self.path)
                time.sleep(dice.random() / 4)
                self.replace(dice)
        else:
            self.replace(dice)

    def judge(self, content, first, oldest):
        """Why bytes from chunk `first` on are wrong, or None."""
        if not content:
            return "nothing"
        number, generation, _ = struct.unpack_from("<IIQ", content)
        with self.lock:
            newest, most = self.begun, self.counts.get(generation, 0)
        count = len(content) // CHUNK
        if number != self.number or not oldest <= generation <= newest:
            return f"generation {generation} of {oldest} to {newest}"
        if first + count > most:
            return f"{first} + {count} chunks of {most}"
        if content != fill(number, generation,
                           first + count)[first * CHUNK:]:
            return "bytes"
        return None


class Soak:
    def __init__(self, work):
        self.work, self.folder = work, work + "/source"
        os.mkdir(self.folder)
        for name in STATIC:
            old, new = os.path.join(harness.DATA, name), \
                os.path.join(self.folder, name)
            (shutil.copytree if os.path.isdir(old) else shutil.copy)(old, new)
        samples.write_column(self.folder + "/column", list(range(250)), 100)
        harness.write(self.folder + "/large.b2frame",
                      samples.frame(samples.noise(4 * MIB), 1 << 16))
        self.sources = [Source(self.folder, i) for i in range(len(CHANGING))]
        for source in self.sources:
            source.replace(random.Random(0))
        self.faults = Trouble()
        self.wrong = collections.deque(maxlen=20)
        self.n_wrong = 0
        self.counts, self.errors = collections.Counter(), collections.Counter()
        self.memory = []            # (seconds, bytes, descriptors, threads)
        self.n_files = 0            # descriptors with each container open
        self.control = self.mount = self.truth = None
        self.start = self.end = 0.0

    def running(self):
        return time.monotonic() < self.end and not self.n_wrong

    def say_wrong(self, *what):
        self.n_wrong += 1
        self.wrong.append(what)

    # ---- faults --------------------------------------------------------

    def preload(self):
        name = self.work + "/faults"
        harness.write(name, bytes(32))
        self.control_file = open(name, "r+b")
        self.control = mmap.mmap(self.control_file.fileno(), 32)
        return {"FAULT_FILE": name, "FAULT_BELOW": self.folder,
                "LD_PRELOAD": os.environ["MOUNT_FAULT"]}

    def control_hits(self):
        return struct.unpack("=Q", self.control[24:32])[0]

    def renew(self, dice):
        """Some sources look like others, so that they are opened anew."""
        with self.faults.under_way():
            for name in dice.sample(STATIC, 6):
                path = os.path.join(self.folder, name)
                if os.path.exists(path + "/chunks.b2frame"):
                    path += "/chunks.b2frame"
                stamp = 1500000000 + dice.randrange(10 ** 8)
                os.utime(path, (stamp, stamp))

    def make_faults(self):
        """Now and then one; what is no failure gives no reason for any."""
        dice = random.Random(7)
        modes = [READ, SHORT, INTERRUPT] + [ALLOC] * (not harness.SANITIZED)
        while self.running():
            mode = dice.choice(modes)
            if dice.random() < 0.7:
                self.renew(dice)
            reason = self.faults.under_way() if mode in (READ, ALLOC) else \
                contextlib.nullcontext()
            with reason:
                self.control[8:32] = struct.pack(
                    "=QQQ", 1 + int(dice.expovariate(0.2)), 0, 0)
                self.control[0:8] = struct.pack("=Q", mode)
                # Not each one meets a call in its time.
                harness.comes_true(self.control_hits, dice.random(), 0.01)
                self.control[0:8] = bytes(8)
            self.counts[f"fault {mode}"] += self.control_hits()
            time.sleep(dice.choice((0.05, 0.3, 2 * SETTLED)))

    # ---- readers -------------------------------------------------------

    def attempt(self, call, reasons, what):
        """What the call gives; None where it failed and that is allowed."""
        marks = [reason.mark() for reason in reasons]
        try:
            return call()
        except OSError as error:
            name = errno.errorcode[error.errno]
            self.errors[name] += 1
            if error.errno not in ALLOWED or all(
                    reason.none_since(mark)
                    for reason, mark in zip(reasons, marks)):
                self.say_wrong(what, name, marks)
            return None

    def look_static(self, dice):
        """One entry of what stays: stat, bytes (or their error), names,
        attributes."""
        path = dice.choice(self.paths)
        kind, value = self.truth[path]
        reasons = [self.faults]
        if kind == "names":
            got = self.attempt(lambda: sorted(os.listdir(path)), reasons,
                               path)
        elif kind == "error":
            # A fault may come first; bytes never.
            try:
                harness.read(path)
                got = "bytes"
            except OSError as error:
                got = value if error.errno in {value} | ALLOWED else \
                    error.errno
        elif dice.random() < 0.3:
            got = self.attempt(lambda: os.stat(path).st_size, reasons, path)
            value = len(value)
        elif dice.random() < 0.3:
            def all_attributes():
                for name in os.listxattr(path):
                    os.getxattr(path, name)
                return value
            got = self.attempt(all_attributes, reasons, path)
        elif dice.random() < 0.5:
            got = self.attempt(lambda: harness.read(path), reasons, path)
        else:
            at = dice.randrange(len(value) + 1)
            length = dice.choice((1, 100, 4096, 1 << 17))

            got, value = self.attempt(
                lambda: harness.read_range(path, at, length), reasons,
                path), value[at:at + length]
        if got is not None and got != value:
            self.say_wrong(path, kind, "differs", differs(got, value))
        self.counts["static"] += 1

    def look_changing(self, dice):
        source = dice.choice(self.sources)
        oldest, first = source.whole, 0
        base = self.mount.path(source.name)
        what = dice.random()
        if what < 0.4:
            path = base + "/data.bin"
        elif what < 0.8:
            first = dice.randrange(4)
            path = f"{base}/chunks/{first:010d}"
        else:
            path = dice.choice((base, base + "/chunks", base + "/info.json"))
            self.attempt(lambda: os.stat(path), [source.trouble, self.faults],
                         path)
            self.attempt(lambda: os.listdir(base),
                         [source.trouble, self.faults], base)
            self.counts["stat"] += 1
            return
        got = self.attempt(lambda: harness.read(path),
                           [source.trouble, self.faults], path)
        why = source.judge(got, first, oldest) if got is not None else None
        if why:
            self.say_wrong(path, why, len(got))
        self.counts["changing"] += 1

    def read_on(self, seed):
        dice = random.Random(seed)
        while self.running():
            if dice.random() < 0.5:
                self.look_static(dice)
            else:
                self.look_changing(dice)

    def write_on(self, number):
        dice = random.Random(100 + number)
        while self.running():
            self.sources[number].change(dice)
            self.counts["change"] += 1
            time.sleep(dice.choice((0.01, 0.1, 0.5, 2.5 * SETTLED)))

    def map_on(self):
        """By a program of its own, which a failed read ends."""
        dice = random.Random(200)
        files = [path for path, (kind, value) in self.truth.items()
                 if kind == "bytes" and value]
        while self.running():
            path = dice.choice(files)
            mark = self.faults.mark()
            done = subprocess.run([sys.executable, "-S", "-c", MAPPED, path],
                                  capture_output=True, text=True, check=False,
                                  timeout=300)
            want = hashlib.sha256(self.truth[path][1]).hexdigest()
            if done.returncode and not self.faults.none_since(mark):
                self.errors["mapped"] += 1
            elif done.returncode or done.stdout.strip() != want:
                self.say_wrong("mapped", path, done.returncode,
                               done.stderr[-300:])
            self.counts["mapped"] += 1

    def mount_on(self):
        """Other daemons that show the same source, and end."""
        dice = random.Random(300)
        files = [path for path, (kind, value) in self.truth.items()
                 if kind == "bytes"]
        while self.running():
            path = dice.choice(files)
            with Mount(self.work, self.folder) as other:
                shown = other.path(os.path.relpath(path, self.mount.point))
                got = self.attempt(lambda: harness.read(shown),
                                   [self.faults], shown)
                if got is not None and got != self.truth[path][1]:
                    self.say_wrong("another mount", path)
            os.rmdir(other.point)
            os.unlink(other.log_path)
            self.counts["mounts"] += 1
            time.sleep(dice.random() / 2)

    # ---- what is done to the daemon -------------------------------------

    @contextlib.contextmanager
    def group(self):
        """The file with the limit of a control group of the daemon's own, in
        which it waits for room and is not killed; None where there can be
        none."""
        for top, limit, wait in (
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                 "memory.oom_control"),
                ("/sys/fs/cgroup", "memory.high", None)):
            folder = f"{top}/bloscfs-soak-{os.getpid()}"
            pid = str(self.mount.pid).encode()
            try:
                os.mkdir(folder)
            except OSError:
                continue
            try:
                if wait:
                    harness.write(f"{folder}/{wait}", b"1")
                with open(f"{folder}/{limit}", "r+", encoding="ascii"):
                    pass
                harness.write(folder + "/cgroup.procs", pid)
            except OSError:
                os.rmdir(folder)
                continue
            try:
                yield f"{folder}/{limit}"
            finally:
                harness.write(f"{folder}/{limit}", b"%d" % (1 << 40))
                # Its process may have ended meanwhile.
                with contextlib.suppress(ProcessLookupError):
                    harness.write(top + "/cgroup.procs", pid)
                os.rmdir(folder)
            return
        yield None

    def press(self):
        """Room that becomes little beyond what the daemon holds, and
        signals."""
        dice = random.Random(400)
        with self.group() as limit:
            while self.running():
                self.mount.process.send_signal(
                    dice.choice((signal.SIGUSR1, signal.SIGUSR2)))
                self.counts["signal"] += 1
                # A sanitizer ends who gets no memory.
                if limit and not harness.SANITIZED and dice.random() < 0.3:
                    self.squeeze(limit, dice)
                time.sleep(dice.random())

    def squeeze(self, limit, dice):
        """For a moment there is next to no room: who asks the kernel for
        memory waits, or gets none, which is a reason for errors."""
        name = os.path.join(os.path.dirname(limit),
                            HELD[os.path.basename(limit)])
        with self.faults.under_way():
            # What it holds and cannot give back is refused.
            with contextlib.suppress(OSError):
                harness.write(limit, b"%d" % (int(harness.read(name)) +
                                              dice.choice((0, 1, 16)) * 65536))
                self.counts["pressed"] += 1
            time.sleep(dice.random())
            harness.write(limit, b"%d" % (1 << 40))

    def files(self):
        return len(os.listdir(f"/proc/{self.mount.pid}/fd"))

    def measure(self):
        pid = self.mount.pid
        while self.running():
            self.memory.append((
                time.monotonic() - self.start, self.mount.memory(),
                self.files(), len(os.listdir(f"/proc/{pid}/task"))))
            time.sleep(0.25)

    # ---- the whole -----------------------------------------------------

    def find_truth(self):
        """What is there before anything happens."""
        self.truth = {}
        for folder, folders, files in harness.walk(self.mount.point):
            if folder == self.mount.point:
                folders[:] = [name for name in folders
                              if name not in CHANGING + [".bloscfs"]]
                files = []
            else:
                self.truth[folder] = ("names", sorted(folders + files))
            for name in files:
                path = os.path.join(folder, name)
                try:
                    self.truth[path] = ("bytes", harness.read(path))
                except OSError as error:
                    self.truth[path] = ("error", error.errno)
        self.paths = sorted(self.truth)
        for name in CHANGING:
            harness.read(self.mount.path(name, "data.bin"))
        self.n_files = self.files()

    def run(self):
        loads = [self.make_faults, self.map_on, self.mount_on, self.press,
                 self.measure] + \
            [lambda n=n: self.read_on(n) for n in range(6)] + \
            [lambda n=n: self.write_on(n) for n in range(len(CHANGING))]
        self.start = time.monotonic()
        self.end = self.start + SECONDS
        with concurrent.futures.ThreadPoolExecutor(len(loads)) as pool:
            done = concurrent.futures.wait(
                [pool.submit(load) for load in loads],
                return_when=concurrent.futures.FIRST_EXCEPTION).done
            self.end = 0
            for one in done:
                one.result()
        self.control[0:8] = bytes(8)

    def look_again(self):
        """When all is over each entry is as it was."""
        time.sleep(SETTLED)
        for path, (kind, value) in self.truth.items():
            if kind == "names":
                equal(sorted(os.listdir(path)), value, path)
            elif kind == "error":
                harness.fails_with(value, harness.read, path)
            else:
                equal(harness.read(path) == value, True, f"{path} is as it "
                      "was")
        for source in self.sources:
            path = self.mount.path(source.name, "data.bin")
            equal(source.judge(harness.read(path), 0, source.whole), None,
                  path)
        # The folder that changes had less chunks, maybe.
        most = self.n_files + FOLDER_FILES
        harness.wait_until(lambda: self.files() <= most,
                           told=lambda: (self.files(), most))


def grows(values):
    """Whether the last quarter lies above the second one by more than a
    quarter and what a few readers more or less take."""
    quarter = len(values) // 4
    before = max(values[quarter:2 * quarter])
    return max(values[-quarter:]) > before + before // 4 + 16


def all_at_once_gives_the_truth_or_an_error_with_a_reason(work):
    soak = Soak(work)
    env = soak.preload()
    with Mount(work, soak.folder, "-o", "attr_timeout=0",
               f"--max_memory={MAX_MEMORY}", "--cache_size=16M",
               f"--log_file={work}/log", env=env) as mount:
        soak.mount = mount
        soak.find_truth()
        soak.run()
        print(f"# {dict(soak.counts)}, errors {dict(soak.errors)}, of "
              f"{len(soak.truth)} entries", flush=True)
        if soak.wrong:
            # Whoever died says why.
            print(harness.read(f"{work}/log").decode(errors="replace")[-4000:]
                  .replace("\n", "\n# "), mount.log(), flush=True)
        equal(list(soak.wrong), [], "wrong answers")
        equal(mount.process.poll(), None, "state of the daemon")
        soak.look_again()
        _, memory, files, threads = zip(*soak.memory)
        print(f"# at most {max(memory) >> 20} MiB, {max(files)} descriptors, "
              f"{max(threads)} threads; at the end {memory[-1] >> 20} MiB, "
              f"{files[-1]}, {threads[-1]}; descriptors at the beginning "
              f"{soak.n_files}, when all is over {soak.files()}", flush=True)
        harness.below(max(memory), MAX_MEMORY + 64 * MIB)
        harness.below(max(files), soak.n_files + MANY_FILES)
        if SECONDS > 60:
            for name, values in (("threads", threads),
                                 ("MiB", [n >> 20 for n in memory])):
                equal(grows(values), False, f"whether {name} grow")
    for key in ("static", "changing", "stat", "mapped", "mounts", "change",
                "signal"):
        assert soak.counts[key], f"no {key} among {soak.counts}"
    # A sanitizer's own calls come before those that are put in between.
    assert harness.SANITIZED or \
        sum(soak.counts[f"fault {mode}"] for mode in MODES), soak.counts


if __name__ == "__main__":
    # Who copies our mounts meanwhile would keep the daemons from ending.
    namespace.enter()
    harness.main([all_at_once_gives_the_truth_or_an_error_with_a_reason])
