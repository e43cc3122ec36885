#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The log takes what it can, and nobody waits for it."""
import os
import re
import resource
import signal

import harness
import samples
from harness import Mount, equal

N = 1200
DATA = samples.noise(500)


def make_source(work):
    source = work + "/source"
    os.mkdir(source)
    for i in range(N):
        # Names long enough to fill a pipe with the lines about them.
        harness.write(f"{source}/{i:04}{'x' * 120}.b2frame",
                      samples.frame(DATA, 500))
    return source
# When, and by which process.
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \[\d+\] "


def open_all(mount):
    for name in os.listdir(mount.point):
        equal(harness.read(mount.path(name, "data.bin")), DATA)


def a_fifo_that_nobody_reads_holds_up_nothing(work):
    source, fifo = make_source(work), work + "/fifo"
    os.mkfifo(fifo)
    with Mount(work, source, f"--log_file={fifo}",
               "--log_level=info") as mount:
        open_all(mount)
        # Who comes later finds what had room, and how much had not.
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        said = b""
        while len(said) < 30000:
            said += os.read(reader, 4096)
        while True:
            try:
                said += os.read(reader, 65536)
            except BlockingIOError:
                break
        for line in said.decode().splitlines():
            assert re.match(STAMP + "(info|notice|warn): ", line), line
        assert b"mounted on" in said, said[:200]
        harness.write(source + "/new.b2frame", samples.frame(DATA, 500))
        harness.read(mount.path("new.b2frame/data.bin"))
        said = os.read(reader, 65536).decode()
        lost = re.match(STAMP + r"warn: (\d+) lines lost\n", said)
        assert lost and 0 < int(lost.group(1)) < N, said
        assert "new.b2frame" in said, said
        os.close(reader)


def a_full_disk_is_told_of_once(work):
    source = make_source(work)
    with Mount(work, source, "--log_file=/dev/full",
               "--log_level=info") as mount:
        open_all(mount)
        said = mount.log_lines("lines of the log are lost")
        equal(len(said), 1, "lines about it")
        assert "No space left" in said[0], said


def a_log_that_may_not_grow_ends_no_mount(work):
    source, log = make_source(work), work + "/log"
    with Mount(work, source, f"--log_file={log}",
               "--log_level=info") as mount:
        for pid in mount.process.pid, mount.pid:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, 0))
        written = os.path.getsize(log)
        mount.process.send_signal(signal.SIGUSR2)
        open_all(mount)
        equal(os.path.getsize(log), written, "length of the log")


harness.main([
    a_fifo_that_nobody_reads_holds_up_nothing,
    a_full_disk_is_told_of_once,
    a_log_that_may_not_grow_ends_no_mount,
])
