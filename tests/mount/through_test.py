#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plain files that the kernel reads itself, past the daemon, where kernel,
libfuse and rights permit; and the same where they do not."""
import contextlib
import mmap
import os
import re
import signal
import threading

import harness
import samples
from harness import Mount, equal, run

DATA = samples.noise(300000)
OTHER = samples.noise(200000)[::-1]


def config(mount):
    text = harness.read(mount.path(".bloscfs/config")).decode()
    return dict(line.split("=", 1) for line in text.splitlines())


def can():
    """What --version, the kernel and who we are let expect."""
    libfuse = re.search(r"^libfuse (\d+)\.(\d+)", run("--version").stdout, re.M)
    kernel = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (os.geteuid() == 0 and
            tuple(map(int, libfuse.groups())) >= (3, 17) and
            tuple(map(int, kernel.groups())) >= (6, 9))


def served(mount):
    """Bytes of plain files that the daemon itself gave out."""
    text = harness.read(mount.path(".bloscfs/stats")).decode()
    return int(re.search(r'from="plain"} (\d+)', text).group(1))


def make_source(work):
    source = harness.make_source(work, samples.frame(DATA, 20000))
    for name in "plain", "second":
        harness.write(f"{source}/{name}", DATA)
    return source


def map_of(path):
    with open(path, "rb") as file, \
            mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
        return len(pages)


def it_is_had_without_a_sandbox_alone(work):
    source = make_source(work)
    for option, expected in ("off", can()), ("on", False):
        if harness.SANITIZED and option == "on":
            continue
        with Mount(work, source, "--sandbox=" + option) as mount:
            equal(config(mount)["passthrough"], "yes" if expected else "no")
            equal(harness.read(mount.path("plain")), DATA)
            # Through pages as well: of a map the size alone, as a fault that
            # waits for a daemon would stop this process.
            equal(map_of(mount.path("plain")), len(DATA))
            equal(harness.read(mount.path("a.b2frame/data.bin")), DATA)
            equal(served(mount) == 0, expected, "the kernel reads it itself")


def handles_keep_the_file_that_they_were_opened_on(work):
    source = make_source(work)
    with Mount(work, source, "--sandbox=off", "--attr_timeout=0") as mount:
        first = os.open(mount.path("plain"), os.O_RDONLY)
        again = os.open(mount.path("plain"), os.O_RDONLY)
        equal(os.pread(first, 1000, 0), DATA[:1000])
        harness.write(source + "/new", OTHER)
        os.rename(source + "/new", source + "/plain")
        equal(harness.read(mount.path("plain")), OTHER)
        equal(map_of(mount.path("plain")), len(OTHER))
        equal(os.pread(first, 1000, 250000), DATA[250000:251000])
        os.close(first)
        equal(os.pread(again, 1000, 290000), DATA[290000:291000])
        equal(harness.read(mount.path("plain")), OTHER)
        os.close(again)
        equal(harness.read(mount.path("plain")), OTHER)
        os.unlink(source + "/second")
        equal(os.path.exists(mount.path("second")), False)


def what_is_appended_is_read(work):
    source = make_source(work)
    with Mount(work, source, "--sandbox=off", "--attr_timeout=0") as mount:
        with open(mount.path("plain"), "rb", buffering=0) as file:
            equal(file.read(len(DATA)), DATA)
            with open(source + "/plain", "ab") as to:
                to.write(OTHER)
            equal(harness.read(mount.path("plain")), DATA + OTHER)
        os.truncate(source + "/plain", 10)
        equal(harness.read(mount.path("plain")), DATA[:10])


def many_open_and_close_at_once(work):
    source = make_source(work)
    wrong = []

    def reader(seed):
        for i in range(60):
            name = ("plain", "second")[(seed + i) % 2]
            off = (seed * 7919 + i * 4099) % 250000
            file = os.open(mount.path(name), os.O_RDONLY)
            if os.pread(file, 5000, off) != DATA[off:off + 5000]:
                wrong.append((seed, i))
            os.close(file)

    with Mount(work, source, "--sandbox=off") as mount:
        threads = [threading.Thread(target=reader, args=(seed,))
                   for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(wrong, [])


def a_mount_ends_while_files_are_open(work):
    source = make_source(work)
    with Mount(work, source, "--sandbox=off") as mount:
        files = [os.open(mount.path(name), os.O_RDONLY)
                 for name in ("plain", "second", "plain")]
        equal([os.pread(file, 1000, 0) for file in files], [DATA[:1000]] * 3)
        mount.process.send_signal(signal.SIGTERM)
        harness.wait_until(lambda: harness.mounted(mount.point) is None)
        mount.process.send_signal(signal.SIGTERM)
        status = mount.process.wait(20)
        equal(mount.log_lines("killed"), [])
        equal(status, 0, "exit")
        for file in files:
            # Nobody is there to be told of the close.
            with contextlib.suppress(OSError):
                os.close(file)


if __name__ == "__main__":
    harness.main([
        it_is_had_without_a_sandbox_alone,
        handles_keep_the_file_that_they_were_opened_on,
        what_is_appended_is_read,
        many_open_and_close_at_once,
        a_mount_ends_while_files_are_open,
    ])
