# SPDX-License-Identifier: BSD-3-Clause
"""What the tests with programs of others share: their input, and how they
are run.

Every input is made by somebody else first (this script, NumPy, SQLite, fio)
and then packed into a frame: that plain file is the truth.
"""
import hashlib
import os
import shutil
import subprocess

import harness
import samples

PACK = os.environ.get("MOUNT_PACK", "mount-pack")
MAPPED = os.environ.get("MOUNT_MAPPED", "mount-mapped")
BENCH_MAKE = os.environ.get("BENCH_MAKE", "bench-make")
KIB = 1024
MIB = KIB * KIB
WORDS = ("wind", "salinity", "temperature", "pressure", "humidity", "depth")

# Some of them lie where only root looks.
os.environ["PATH"] += ":/usr/sbin:/sbin"


def need(*names):
    """Programs that packaging/install-deps check brings."""
    for name in names:
        if not shutil.which(name):
            raise harness.Skip(f"there is no {name}")


def tool(*args, status=0, stdin=None, timeout=100, **more):
    """Runs a program to its end; what it printed, as text unless told
    otherwise. Fails on another exit status; None is any but 0."""
    more.setdefault("text", True)
    more.setdefault("stderr", subprocess.PIPE)
    more["env"] = {**os.environ, "LC_ALL": "C", "TZ": "UTC",
                   **more.get("env", {})}
    done = subprocess.run(list(args), stdin=stdin or subprocess.DEVNULL,
                          stdout=subprocess.PIPE, timeout=timeout,
                          check=False, **more)
    if done.returncode != status and (status is not None or
                                      done.returncode == 0):
        raise AssertionError(f"{args} ended with {done.returncode}, printed "
                             f"{done.stdout[-2000:]!r}, {done.stderr!r}")
    return done.stdout


def pack(plain, frame, *array, codec="zstd", chunk_kib=512):
    """A frame of this content; array: dtype and columns."""
    tool(PACK, codec, str(chunk_kib), plain, frame, *map(str, array))


def sha(path):
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while part := file.read(MIB):
            digest.update(part)
    return digest.hexdigest()


def write_holey(path, mib=40):
    """A plain file that is mostly zeros, in runs of whole MiB: of five, the
    second, third and fifth. Returns the bytes that are not."""
    held = 0
    with open(path, "wb") as file:
        file.truncate(mib * MIB)
        for i in range(mib):
            if i % 5 in (0, 3):
                file.seek(i * MIB)
                file.write(samples.noise(MIB, i))
                held += MIB
    return held


def write_text(path, lines=200000):
    """Lines of text, one reading each."""
    with open(path, "w", encoding="ascii") as file:
        for i in range(lines):
            file.write(f"{i:07d} {WORDS[i * i % 6]} {i * 7919 % 10007}\n")


def make_walk(plain, frame, codec="lz4", mib=16, chunk_kib=1024):
    """An int32 array of rows of 1024, by bench-make."""
    tool(BENCH_MAKE, codec, str(mib), str(chunk_kib), frame, plain)


class Archive:
    """A source folder with frames, and their truth beside it.

    frames: holey.b2frame, text.b2frame, walk.b2nd; besides a plain file and
    a symbolic link."""

    def __init__(self, work, mib=40):
        self.source = os.path.join(work, "source")
        self.plain = os.path.join(work, "plain")
        os.mkdir(self.source)
        os.mkdir(self.plain)
        self.held = write_holey(self.truth("holey"), mib)
        write_text(self.truth("text"))
        pack(self.truth("holey"), self.frame("holey.b2frame"))
        pack(self.truth("text"), self.frame("text.b2frame"), codec="lz4",
             chunk_kib=256)
        make_walk(self.truth("walk"), self.frame("walk.b2nd"))
        harness.write(self.frame("notes.txt"), b"plain file\n" * 100)
        os.symlink("text.b2frame/data.bin", self.frame("link"))
        for name in [*os.listdir(self.source), "."]:
            os.utime(self.frame(name), (1.2e9, 1.2e9),
                     follow_symlinks=False)

    def frame(self, name):
        return os.path.join(self.source, name)

    def truth(self, stem):
        return os.path.join(self.plain, stem)

    def pairs(self):
        """(path below the mount, path of the truth)"""
        return [("holey.b2frame/data.bin", self.truth("holey")),
                ("text.b2frame/data.bin", self.truth("text")),
                ("walk.b2nd/data.bin", self.truth("walk")),
                ("notes.txt", self.frame("notes.txt")),
                ("link", self.truth("text"))]

    def compare(self, root):
        """All that there is a truth for is the same below root."""
        for name, truth in self.pairs():
            harness.equal(sha(os.path.join(root, name)), sha(truth),
                          "hash of " + name)


def shared(make):
    """Calls once, and gives the same result again; for what is costly to
    make and read by all tests of a script. It lies in the first caller's
    folder, which stays until the script ends."""
    made = []

    def get(work):
        if not made:
            made.append(make(work))
        return made[0]

    return get


archive = shared(Archive)
