#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Work is bounded, and there is a way out: files that cost thousands of times
what they give hold up their own readers and nobody else."""
import errno
import mmap
import os
import signal
import subprocess
import time

import harness
import samples
from harness import Mount, equal, wait_until

COSTLY = os.environ.get("MOUNT_COSTLY", "mount-costly")
GOOD = os.path.join(harness.DATA, "good-nd-2.15.2.b2nd")
MIB = 1 << 20


def make(*words):
    subprocess.run([COSTLY, *map(str, words)], check=True, timeout=60)


def sources(work):
    """A folder of a good file; its path."""
    source = work + "/source"
    os.mkdir(source)
    with open(GOOD, "rb") as good:
        harness.write(source + "/good.b2nd", good.read())
    return source


def make_thin(source):
    """4 KiB of it cost 4,096 decodes of 64 MiB."""
    make("thin", 64 * MIB, 131072, source + "/thin.b2nd")


def direct_read(path, offset, size=4096, opened=None):
    """Like a cached read of pages that are not there, but one request. Writes
    a byte to the descriptor `opened` once the file is open."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        if opened is not None:
            os.write(opened, b"o")
        with mmap.mmap(-1, size) as buffer:
            return os.preadv(file, [buffer], offset)
    finally:
        os.close(file)


def start_reader(path, offset, opened=None):
    """A child that reads, and ends with the errno that it got."""
    pid = os.fork()
    if pid == 0:
        code = 0
        try:
            direct_read(path, offset, opened=opened)
        except OSError as error:
            code = error.errno
        finally:
            os._exit(code)
    return pid


def stats(mount):
    values = {}
    for line in harness.read(mount.path(".bloscfs/stats")).decode() \
            .splitlines():
        name, _, value = line.rpartition(" ")
        if name and not line.startswith("#"):
            values[name] = float(value)
    return values


def slow_requests(mount):
    return stats(mount)["bloscfs_slow_requests_total"]


def reap(pids, seconds=20):
    """The exit codes, all within some time."""
    codes = []

    def reaped():
        for pid in list(pids):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                pids.remove(pid)
                codes.append(os.waitstatus_to_exitcode(status))
        return not pids

    wait_until(reaped, seconds,
               told=lambda: f"{len(pids)} readers do not end")
    return codes


def killed_readers_free_the_workers(work):
    source = sources(work)
    make_thin(source)
    with Mount(work, source, "-othreads=2,cache_size=16M,max_request=0",
               "--log_level=err") as mount:
        readers = [start_reader(mount.path("thin.b2nd/data.bin"), i * 4096)
                   for i in range(12)]
        # All of them need far longer than this test.
        wait_until(lambda: slow_requests(mount) >= 12)
        os.stat(mount.path("good.b2nd/chunks"))
        harness.read(mount.path("good.b2nd/data.bin"))
        for pid in readers:
            os.kill(pid, signal.SIGKILL)
        equal(set(reap(readers)), {-signal.SIGKILL}, "exit codes")
        decoded = stats(mount)["bloscfs_decoded_bytes_total"]
        # For long enough that a block would have been decoded.
        time.sleep(0.2)
        equal(stats(mount)["bloscfs_decoded_bytes_total"], decoded,
              "bytes decoded for nobody")
        equal(stats(mount)["bloscfs_waiting_requests"], 0, "waiting")


def what_is_read_ahead_for_a_killed_reader_ends(work):
    """The kernel sends such requests in the background."""
    source = sources(work)
    make_thin(source)
    with Mount(work, source, "-othreads=2,cache_size=16M,max_request=0",
               "--log_level=err") as mount:
        pid = os.fork()
        if pid == 0:
            with open(mount.path("thin.b2nd/data.bin"), "rb") as file:
                file.read(64)
            os._exit(0)
        wait_until(lambda: slow_requests(mount) >= 1)
        os.kill(pid, signal.SIGKILL)
        equal(reap([pid]), [-signal.SIGKILL], "exit code")

        def is_quiet():
            before = stats(mount)["bloscfs_decoded_bytes_total"]
            time.sleep(0.3)
            return stats(mount)["bloscfs_decoded_bytes_total"] == before

        wait_until(is_quiet)


def an_interrupted_read_says_so(work):
    source = sources(work)
    make_thin(source)
    with Mount(work, source, "-othreads=2,cache_size=16M,max_request=0",
               "--log_level=err") as mount:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGUSR1, lambda *_: os._exit(44))
            start_reader_here(mount.path("thin.b2nd/data.bin"))
        wait_until(lambda: slow_requests(mount) >= 1)
        os.kill(pid, signal.SIGUSR1)
        equal(reap([pid]), [44], "exit code")
        # Nobody is blamed for it.
        equal(mount.log(), "", "the log")


def start_reader_here(path):
    try:
        direct_read(path, 0)
    finally:
        os._exit(1)


def the_second_signal_ends_a_busy_daemon(work):
    source = sources(work)
    make_thin(source)
    with Mount(work, source, "-othreads=2,cache_size=16M,max_request=0",
               "--log_level=err") as mount:
        told, opened = os.pipe()
        readers = [start_reader(mount.path("thin.b2nd/data.bin"), i * 4096,
                                opened) for i in range(12)]
        os.close(opened)
        with open(told, "rb", closefd=True) as pipe:
            equal(len(pipe.read(12)), 12, "readers that opened it")
        wait_until(lambda: slow_requests(mount) >= 12)
        mount.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not harness.mounted(mount.point))
        assert mount.process.poll() is None
        start = time.monotonic()
        mount.process.send_signal(signal.SIGTERM)
        equal(mount.process.wait(20), 0, "exit status")
        took = time.monotonic() - start
        codes = set(reap(readers))
        assert codes <= {errno.EINTR, errno.ENOTCONN, errno.ECONNABORTED}, \
            codes
        # Two seconds on a quiet machine.
        assert took < 8, took


def a_request_decodes_what_it_may_and_says_what_was_too_much(work):
    source = sources(work)
    make_thin(source)
    with Mount(work, source, "-othreads=2,cache_size=16M,max_request=200M",
               "--log_level=err") as mount:
        harness.fails_with(errno.EIO, direct_read,
                           mount.path("thin.b2nd/data.bin"), 0)
        assert stats(mount)["bloscfs_decoded_bytes_total"] < 200 * MIB
        line = mount.log_lines("max_request")[0]
        for word in ("thin.b2nd", "209715200 bytes", "decoding a block takes",
                     str(64 * MIB)):
            assert word in line, (word, line)
        assert "max_request" in harness.read(
            mount.path(".bloscfs/errors")).decode()
        # One byte of it is within the limit.
        with open(mount.path("thin.b2nd/chunks/0000000000"), "rb") as file:
            equal(file.read(1), b"\x07", "the first byte")


def many_tiny_blocks_do_not_keep_a_permit(work):
    """Each costs far more than its byte; so does each tiny chunk."""
    source = sources(work)
    harness.write(source + "/tiny.blosc2",
                  samples.chunk(samples.noise(1 << 16), block=1))
    with Mount(work, source, "-othreads=2,cache_size=64M",
               "--log_level=err") as mount:
        equal(direct_read(mount.path("tiny.blosc2/data.bin"), 0, 1 << 16),
              1 << 16, "bytes read")
        assert slow_requests(mount) >= 1


def names_are_found_beside_readers_of_large_blocks(work):
    source = sources(work)
    make("blocks", 24, 32, source + "/large.b2frame")
    with Mount(work, source, "-othreads=2,cache_size=64M",
               "--log_level=err") as mount:
        path = mount.path("large.b2frame/data.bin")
        stop = time.monotonic() + 5
        readers = []
        for number in range(32):
            pid = os.fork()
            if pid == 0:
                keep_reading(path, number, stop)
            readers.append(pid)
        wait_until(lambda: slow_requests(mount) >= 32)
        times = []
        while time.monotonic() < stop:
            start = time.monotonic()
            for place in ("missing", "good.b2nd/missing"):
                harness.fails_with(errno.ENOENT, os.stat,
                                   mount.path(place + str(len(times))))
            times.append((time.monotonic() - start) / 2)
            time.sleep(0.01)
        equal(set(reap(readers, 60)), {0}, "exit codes")
        # The aim is 50 ms on a quiet machine; this is no benchmark, but
        # behind the readers each would take seconds.
        times.sort()
        assert len(times) > 5, times
        assert times[len(times) // 2] < 1, times[len(times) // 2]


def keep_reading(path, number, stop):
    code = 0
    try:
        while time.monotonic() < stop:
            direct_read(path, (number * 32 + 1) * MIB % (24 * 32 * MIB))
            number += 7
    except OSError as error:
        code = error.errno
    finally:
        os._exit(code)


if __name__ == "__main__":
    harness.main([
        killed_readers_free_the_workers,
        what_is_read_ahead_for_a_killed_reader_ends,
        an_interrupted_read_says_so,
        the_second_signal_ends_a_busy_daemon,
        a_request_decodes_what_it_may_and_says_what_was_too_much,
        many_tiny_blocks_do_not_keep_a_permit,
        names_are_found_beside_readers_of_large_blocks,
    ])
