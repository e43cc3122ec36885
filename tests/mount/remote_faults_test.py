#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Servers that fail, lie, hang or refuse while a mount reads from them: which
error a program sees, which reason is told, and how long anybody waits."""
import contextlib
import errno
import os
import re
import signal
import subprocess
import threading
import time

import harness
import programs
import samples
from harness import DATA, Mount, equal, fails_with, read, wait_until
from objects import Server, s3

SMALL = "good-frame-metalayers.b2frame"
# Each in all answers from some moment on: the error, and words of the reason.
FAULTS = [
    ("whole", errno.EIO, "serves ranges"),
    ("long", errno.EIO, "more than it announced"),
    ("short", errno.EIO, "cut short"),
    # libcurl says that they are "remaining to read", or "missing".
    ("cut", errno.EIO, " bytes "),
    ("stalled", errno.EIO, "fell silent"),
    ("hang", errno.EIO, "no answer in time"),
    ("reset", errno.EIO, "mpty reply"),
    ("garbage", errno.EIO, "does not speak HTTP"),
    ("shifted", errno.EIO, "another range"),
    ("no range told", errno.EIO, "another range"),
    ("huge range", errno.EIO, "another range"),
    ("negative range", errno.EIO, "another range"),
    ("gzip", errno.EIO, "compresses what it sends"),
    ("other total", errno.ESTALE, "another object"),
    ("other tag", errno.ESTALE, "another object"),
    ("no tag", errno.ESTALE, "another object"),
    (400, errno.EIO, "says 400"), (505, errno.EIO, "says 505"),
    (401, errno.EACCES, "says 401"), (403, errno.EACCES, "says 403"),
    (404, errno.ESTALE, "has it no more"),
    (410, errno.ESTALE, "has it no more"),
    (412, errno.ESTALE, "another object"),
    (416, errno.ESTALE, "another object"),
    (429, errno.EIO, "says 429"), (500, errno.EIO, "says 500"),
    (503, errno.EIO, "says 503"),
    ("redirect file:///etc/passwd", errno.EIO, "another protocol"),
    ("redirect ftp://localhost/x", errno.EIO, "another protocol"),
    ("redirect SELF", errno.EIO, "sent on too often"),
    ("redirect http://169.254.169.254/latest/meta-data", errno.EIO,
     "this machine's own"),
    ("redirect http://[fd00:ec2::254]/latest/meta-data", errno.EIO,
     "this machine's own"),
    ("redirect http://[::ffff:169.254.169.254]/latest", errno.EIO,
     "this machine's own"),
    ("redirect http://0xa9fea9fe/latest", errno.EIO, "this machine's own"),
]


def made(work, name="data", mib=2):
    """A frame whose blocks nothing but a request brings, and its truth."""
    plain, frame = f"{work}/{name}.bin", f"{work}/{name}.b2frame"
    harness.write(plain, samples.noise(mib << 20, mib))
    programs.pack(plain, frame)
    return frame, read(plain)


def errors(mount):
    """The reasons that the mount's own list of errors tells."""
    lines = read(mount.path(".bloscfs", "errors")).decode().splitlines()
    return [line.split("\t")[4] for line in lines[1:]]


def asked_meanwhile(server, count=1):
    """Waits until requests came in since the log was cleared."""
    wait_until(lambda: len(server.asked) >= count, told=lambda: server.asked)


def hangs_in(pid, name):
    """Whether a process has a file as its input, and sleeps."""
    with contextlib.suppress(FileNotFoundError):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            state = file.read().rpartition(")")[2].split()[0]
        return state in "DS" and os.readlink(
            f"/proc/{pid}/fd/0").endswith("/" + name)
    return False


def tries(mount):
    """How often the daemon has asked once more."""
    told = read(mount.path(".bloscfs", "stats")).decode()
    return int(re.search(r"^\S*retries\S* (\d+)$", told, re.M).group(1))


def answers(mount, truth, *path):
    with contextlib.suppress(OSError):
        return read(mount.path(*path, "data.bin")) == truth
    return False


def each_fault_has_its_error_and_its_reason(work):
    frame, truth = made(work)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        for fault, number, words in FAULTS:
            text = str(fault).replace("SELF", url)
            with Mount(work, url, "--read_timeout=1",
                       "--log_level=debug") as mount:
                file = os.open(mount.path("data.bin"), os.O_RDONLY)
                server.always = fault if isinstance(fault, int) else text
                try:
                    got = os.pread(file, 4096, 1 << 20)
                except OSError as error:
                    equal(error.errno, number, f"errno of {fault}")
                else:
                    raise AssertionError(f"{len(got)} bytes by {fault}")
                server.always = None
                os.close(file)
                told = errors(mount)
                assert any(words in line for line in told), (fault, told)
                assert words in mount.log(), (fault, mount.log())
                wait_until(lambda m=mount: answers(m, truth),
                           told=lambda: fault)


def a_lie_about_identity_is_not_remembered(work):
    frame, truth = made(work)
    with Server() as server, s3(server):
        server.put_file("/bucket/f.b2frame", frame)
        for fault in ("other tag", "other total", 404, 416):
            # Long enough that a look at the object does not heal it.
            with Mount(work, "s3://bucket", "--attr_timeout=30") as mount:
                read(mount.path("f.b2frame", "info.json"))
                server.always = fault
                fails_with(errno.ESTALE, read,
                           mount.path("f.b2frame", "data.bin"))
                server.always = None
                wait_until(
                    lambda m=mount: answers(m, truth, "f.b2frame"))


def weak_tags_are_compared_all_the_same(work):
    frame, truth = made(work)
    other, new = made(work, "new", 3)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame, tag='W/"one"')
        with Mount(work, url, "--attr_timeout=0") as mount:
            file = os.open(mount.path("data.bin"), os.O_RDONLY)
            equal(os.pread(file, 4096, 0), truth[:4096])
            assert all("If-Match" not in headers
                       for headers in server.asked), server.asked
            # The date is not enough, and the tag is not sent.
            server.put_file("/f.b2frame", other, tag='W/"two"')
            fails_with(errno.ESTALE, os.pread, file, 4096, 1 << 20)
            os.close(file)
            wait_until(lambda: answers(mount, new))


def an_object_that_goes_is_stale_and_then_absent(work):
    frame, _ = made(work)
    with Server() as server, s3(server):
        server.put_file("/bucket/f.b2frame", frame)
        server.put_file("/bucket/g.b2frame", frame)
        with Mount(work, "s3://bucket", "--attr_timeout=0") as mount:
            file = os.open(mount.path("f.b2frame", "data.bin"), os.O_RDONLY)
            del server.objects["/bucket/f.b2frame"]
            fails_with(errno.ESTALE, os.pread, file, 4096, 1 << 20)
            os.close(file)
            fails_with(errno.ENOENT, os.stat, mount.path("f.b2frame"))
            equal(os.listdir(mount.point), ["g.b2frame"])


def a_pause_that_is_asked_for_is_kept(work):
    frame, truth = made(work)
    times = []

    def note(_path):
        times.append(time.monotonic())
        return 503 if len(times) == 1 or server.fault_headers[
            "Retry-After"] != "2" else None

    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        for pause, read_timeout in (("2", 20), ("86400", 3),
                                    ("Fri, 31 Dec 2199 23:59:59 GMT", 3)):
            with Mount(work, url, f"--read_timeout={read_timeout}"
                       ) as mount:
                server.fault_headers = {"Retry-After": pause}
                times.clear()
                server.choose = note
                file = os.open(mount.path("data.bin"), os.O_RDONLY)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
                if pause == "2":
                    equal(os.pread(file, 4096, 1 << 20),
                          truth[1 << 20:][:4096])
                    assert times[1] - times[0] >= 2, times
                else:
                    # Nobody is held up for so long: it fails at once.
                    start = time.monotonic()
                    fails_with(errno.EIO, os.pread, file, 4096, 1 << 20)
                    assert time.monotonic() - start < 15
                    # The kernel asks again for a page that it read ahead.
                    assert len(times) <= 8, times
                os.close(file)
                server.choose = None


def pauses_grow_and_end(work):
    frame, _ = made(work)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        with Mount(work, url, "--read_timeout=4") as mount:
            server.asked.clear()
            server.always = 503
            start = time.monotonic()
            fails_with(errno.EIO, read, mount.path("data.bin"))
            took = time.monotonic() - start
            # 0.1 s, doubled each time, and up to half more: for some reads.
            assert len(server.asked) <= 40, len(server.asked)
            assert took < 30, took
            assert tries(mount) >= 2, tries(mount)


def what_a_server_hangs_in_holds_up_its_own_files_alone(work):
    frame, truth = made(work)
    catalog = os.path.join(work, "catalog")
    with Server() as hanging, Server() as well:
        one = hanging.put_file("/f.b2frame", frame)
        two = well.put_file("/f.b2frame", frame)
        harness.write(catalog, f"{one}\thanging.b2frame\n"
                               f"{two}\twell.b2frame\n".encode())
        # However long all this takes nothing is asked about anew, and no
        # read is part of another's request.
        with Mount(work, "https://example.org/", "--catalog=" + catalog,
                   "--read_timeout=600", "--cache_size=0",
                   "--attr_timeout=3600", "--fetch_whole=0") as mount:
            for name in ("hanging", "well"):
                read(mount.path(name + ".b2frame", "info.json"))
            hanging.asked.clear()
            hanging.always = "hang"
            # Each a read of its own, so that more of them hang than there
            # are threads that wait for servers.
            readers = [subprocess.Popen(
                ["dd", "if=" + mount.path("hanging.b2frame", "data.bin"),
                 "of=/dev/null", "bs=4096", "count=1", f"skip={16 * i + 8}",
                 "iflag=direct"],
                stderr=subprocess.DEVNULL) for i in range(24)]
            wait_until(lambda: all(hangs_in(one.pid, "data.bin")
                                   for one in readers))
            asked_meanwhile(hanging)
            for _ in range(3):
                equal(read(mount.path("well.b2frame", "data.bin")) == truth,
                      True, "bytes of the other server")
                os.listdir(mount.point)
                os.stat(mount.path("hanging.b2frame", "data.bin"))
            assert all(one.poll() is None for one in readers), "still hang"
            for reader in readers:
                reader.kill()
            for reader in readers:
                reader.wait(20)
            hanging.hung.set()


def interrupted_readers_get_out(work):
    frame, _ = made(work)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        for fault in ("hang", "stalled", 503):
            with Mount(work, url, "--read_timeout=60") as mount:
                server.asked.clear()
                server.always = fault
                reader = subprocess.Popen(
                    ["cat", mount.path("data.bin")],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                asked_meanwhile(server)
                start = time.monotonic()
                reader.send_signal(signal.SIGINT)
                reader.wait(20)
                took = time.monotonic() - start
                assert took < 5, (fault, took)
                server.always = None
    # Where nobody listens, not even a connection stands.
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        mount = Mount(work, url, "--read_timeout=60", "--attr_timeout=0")
    with mount:
        reader = subprocess.Popen(
            ["cat", mount.path("data.bin")], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        # It tries again and again by now.
        wait_until(lambda: tries(mount) >= 1, told=mount.log)
        start = time.monotonic()
        reader.send_signal(signal.SIGINT)
        reader.wait(20)
        assert time.monotonic() - start < 5


def a_mount_ends_while_requests_hang(work):
    frame, _ = made(work)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        for how in ("SIGTERM", "umount -l"):
            for fault in ("hang", "stalled", 503):
                mount = Mount(work, url, "--read_timeout=60",
                              "--connect_timeout=60")
                with mount:
                    server.asked.clear()
                    server.always = fault
                    reader = subprocess.Popen(
                        ["cat", mount.path("data.bin")],
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL)
                    asked_meanwhile(server)
                    start = time.monotonic()
                    if how == "SIGTERM":
                        mount.process.send_signal(signal.SIGTERM)
                    else:
                        programs.tool("umount", "-l", mount.point)
                        reader.kill()
                    mount.process.wait(20)
                    took = time.monotonic() - start
                    reader.kill()
                    reader.wait(20)
                    server.always = None
                    assert took < 2, (how, fault, took)


if __name__ == "__main__":
    harness.main([
        each_fault_has_its_error_and_its_reason,
        a_lie_about_identity_is_not_remembered,
        weak_tags_are_compared_all_the_same,
        an_object_that_goes_is_stale_and_then_absent,
        a_pause_that_is_asked_for_is_kept,
        pauses_grow_and_end,
        what_a_server_hangs_in_holds_up_its_own_files_alone,
        interrupted_readers_get_out,
        a_mount_ends_while_requests_hang,
    ])
