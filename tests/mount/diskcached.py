# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the disk cache share: mounts with one, its files, and what
holds of both."""
import contextlib
import os

import programs
import samples
from harness import Mount, equal, read, wait_until

MIB = 1 << 20
CELL = 4096
for variable in list(os.environ):
    if variable.startswith("AWS_") or variable.endswith("_proxy"):
        del os.environ[variable]
os.environ["HOME"] = "/nonexistent"


def made(work, name="data", mib=5, seed=0):
    """A frame of some MiB that does not compress, and its truth."""
    plain, frame = f"{work}/{name}.bin", f"{work}/{name}.b2frame"
    with open(plain, "wb") as file:
        for number in range(mib):
            file.write(samples.noise(MIB, 1000 * seed + number))
    programs.pack(plain, frame)
    return frame, read(plain)


def cached(work, url, disk, *options):
    return Mount(work, url, f"--disk_cache={disk}", *options)


def stat(mount, name):
    row = f"bloscfs_disk_cache_{name}_total "
    for line in read(mount.path(".bloscfs", "stats")).decode().splitlines():
        if line.startswith(row):
            return int(line[len(row):])
    raise AssertionError("no " + row)


def own(disk):
    return f"{disk}/bloscfs-cache-1-{os.geteuid()}"


def files(disk, kind=""):
    """Paths of stripes and notes (".object")."""
    return sorted(f"{own(disk)}/{name}" for name in os.listdir(own(disk))
                  if len(name) > 64 and kind in name)


def stripes(disk):
    return [path for path in files(disk) if ".object" not in path]


def taken(disk):
    """Bytes that all files take."""
    total = 0
    for path in files(disk):
        with contextlib.suppress(FileNotFoundError):
            total += os.stat(path).st_blocks * 512
    return total


def whole(mount, truth, what=""):
    equal(read(mount.path("data.bin")) == truth, True,
          f"what is read {what}, after {mount.log()}")


def wait_written(mount, count):
    """Waits until so many bytes lie on the disk: what is queued at the end of
    a mount is given up after some seconds, and the machine may be busy."""
    wait_until(lambda: stat(mount, "written_bytes") >= count,
               told=mount.log)


def fill(work, url, disk, truth, *options):
    """Reads all of it once; the disk cache has it then."""
    with cached(work, url, disk, *options) as mount:
        whole(mount, truth, "first")
        if not options:
            wait_written(mount, len(truth))


def one_question(work, url, disk, truth, server, what=""):
    """A mount reads all, and asks just whether it is still the same."""
    server.log.clear()
    with cached(work, url, disk) as mount:
        read(mount.path("info.json"))
        whole(mount, truth, what)
        equal([row[2] for row in server.log], [304], f"answers {what}")
        equal(stat(mount, "misses"), 0, f"misses {what}")


def healed(work, url, disk, truth, server, what, faults=True):
    """Whatever was done to the files: the truth, then all is there again."""
    with cached(work, url, disk) as mount:
        whole(mount, truth, what)
        if faults:
            assert stat(mount, "faults") > 0, what
            equal(len(mount.log_lines("warn: disk cache")), 1,
                  f"warnings {what}: {mount.log()}")
    one_question(work, url, disk, truth, server, "after " + what)


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0x40]))
