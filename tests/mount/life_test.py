#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A daemon's life: who is told of its start, what signals ask for, and that
nothing is left of it, however it ends."""
import errno
import os
import re
import signal
import socket
import subprocess
import sys

import harness
import private
import samples
from harness import Mount, equal, run, wait_until

DATA = samples.noise(400000)
TIMES = int(os.environ.get("BLOSCFS_MOUNTS", "25"))
# Of daemons under load: one for each 25 mounts.
KILLS = max(1, TIMES // 25)
harness.SCRIPT_SECONDS += 4 * max(0, TIMES - 25)


def make_source(work):
    return harness.make_source(work, samples.frame(DATA, 20000))


class Manager:
    """A service manager's socket."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0", 1))
        self.socket.settimeout(20)
        self.env = {"NOTIFY_SOCKET": name}

    def word(self):
        return dict(line.split("=", 1) for line in
                    self.socket.recv(4096).decode().splitlines())


def a_service_manager_is_told_of_start_and_end(work):
    source = make_source(work)
    for name in (work + "/notify", "@bloscfs-test-" + str(os.getpid())):
        manager = Manager(name)
        with Mount(work, source, env=manager.env) as mount:
            word = manager.word()
            equal(word, {"READY": "1", "MAINPID": str(mount.process.pid)})
            equal(harness.read(mount.path("plain")), b"plain")
            equal(mount.end(), 0, "exit")
            equal(manager.word(), {"STOPPING": "1"})


def in_the_background_the_daemon_is_named(work):
    source, point = make_source(work), work + "/point"
    os.mkdir(point)
    manager = Manager(work + "/notify")
    ready, told = os.pipe()
    try:
        result = run(f"--notify_fd={told}", source, point,
                     env={**os.environ, **manager.env}, pass_fds=[told])
        os.close(told)
        equal(result.returncode, 0, result.stderr)
        equal(manager.word()["MAINPID"],
              str(harness.background_pid(point)))
        # And the descriptor is closed behind the line end.
        equal(os.read(ready, 10) + os.read(ready, 10), b"\n")
        equal(run("--unmount", point).returncode, 0)
    finally:
        harness.end_background(point)
        os.close(ready)


def a_manager_that_is_gone_keeps_no_mount_from_being_made(work):
    source = make_source(work)
    with Mount(work, source,
               env={"NOTIFY_SOCKET": work + "/nobody"}) as mount:
        equal(harness.read(mount.path("plain")), b"plain")
        equal(len(mount.log_lines("warn: cannot tell the service manager")),
              1, "lines in " + mount.log())


def a_signal_logs_statistics(work):
    source = make_source(work)
    with Mount(work, source) as mount:
        equal(harness.read(mount.path("a.b2frame/data.bin")), DATA)
        mount.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: mount.log_lines("statistics: "),
                   told=mount.log)
        line = mount.log_lines("statistics: ")[0]
        for number in (r"notice: statistics: [1-9]\d* requests, 0 failed",
                       rf"served {len(DATA)} bytes of containers",
                       rf"decoded {len(DATA)} bytes", r"cache \d+ hits",
                       r"containers 1 open"):
            assert re.search(number, line), (number, line)
        equal(harness.read(mount.path("plain")), b"plain")


def a_signal_opens_the_log_anew(work):
    source, log = make_source(work), work + "/log"
    with Mount(work, source, f"--log_file={log}",
               "--log_level=info") as mount:
        os.rename(log, log + ".1")
        mount.process.send_signal(signal.SIGUSR2)
        wait_until(lambda: os.path.exists(log) and
                   b"the log goes on" in harness.read(log))
        harness.read(mount.path("a.b2frame/data.bin"))
        equal(mount.end(), 0, "exit")
        assert b"a.b2frame" in harness.read(log), harness.read(log)
        assert b"unmounted" in harness.read(log), harness.read(log)
        assert b"mounted on" in harness.read(log + ".1")
        assert b"a.b2frame" not in harness.read(log + ".1")


def a_log_that_cannot_be_opened_anew_goes_on_where_it_was(work):
    source = make_source(work)
    os.mkdir(work + "/logs")
    with Mount(work, source, f"--log_file={work}/logs/log") as mount:
        os.rename(work + "/logs", work + "/moved")
        mount.process.send_signal(signal.SIGUSR2)
        wait_until(lambda: b"cannot open the log" in
                   harness.read(work + "/moved/log"))
        equal(harness.read(mount.path("plain")), b"plain")


def auto_unmount_leaves_no_mount_of_a_killed_daemon(work):
    # fusermount3 finds out whether it is still there by counting mounts, and is
    # misled by who mounts elsewhere meanwhile: here nobody does.
    private.needs_root()
    source = make_source(work)
    for _ in range(12):
        with Mount(work, source, "-o", "auto_unmount") as mount:
            equal(harness.read(mount.path("plain")), b"plain")
            mount.end(signal.SIGKILL)
            mount.process.returncode = 0
            wait_until(lambda point=mount.point:
                       harness.mounted(point) is None)


def what_fusermount_watches_closes_behind_the_device(work):
    """Of a process that dies the kernel closes the highest number first."""
    def sockets_below(mount):
        folder = f"/proc/{mount.pid}/fd"
        held = {int(number): os.readlink(f"{folder}/{number}")
                for number in os.listdir(folder)}
        device = min(n for n, what in held.items() if what == "/dev/fuse")
        return sum(n < device and what.startswith("socket:")
                   for n, what in held.items())

    private.needs_root()
    source = make_source(work)
    with Mount(work, source) as mount:
        without = sockets_below(mount)
    with Mount(work, source, "-o", "auto_unmount") as mount:
        equal(sockets_below(mount), without + 1)


READER = """
import sys
while True:
    try:
        with open(sys.argv[1], "rb", buffering=0) as file:
            print("reads", flush=True)
            while file.read(65536):
                pass
    except OSError as error:
        sys.exit(error.errno)
"""


def kill_under_readers(work, source):
    """Readers get an error, and another mount works in the same place."""
    with Mount(work, source, "--attr_timeout=0",
               "--cache_size=1M") as mount:
        readers = [subprocess.Popen(
            [sys.executable, "-c", READER,
             mount.path(f"{i}.b2frame/data.bin")],
            stdout=subprocess.PIPE) for i in range(16)]
        try:
            for reader in readers:
                equal(reader.stdout.readline(), b"reads\n")
            mount.end(signal.SIGKILL)
            for reader in readers:
                reader.stdout.read()
                assert reader.wait(20) in (
                    errno.ENOTCONN, errno.ECONNABORTED, errno.EIO,
                    errno.ENODEV), reader.returncode
        finally:
            for reader in readers:
                reader.kill()
                reader.wait()
                reader.stdout.close()
        result = run(source, mount.point)
        equal(result.returncode, 0, result.stderr)
        equal(harness.read(mount.path("3.b2frame/data.bin")), DATA)
        equal(run("--unmount", mount.point).returncode, 0)
        equal(harness.mounted(mount.point), None)
        mount.process.returncode = 0


def readers_of_a_killed_daemon_get_an_error_and_a_new_mount_works(work):
    source = make_source(work)
    for i in range(16):
        harness.write(f"{source}/{i}.b2frame", samples.frame(DATA, 20000))
    for _ in range(KILLS):
        kill_under_readers(work, source)


def of_this_folder(work):
    """Processes whose command line names our work folder, but ourselves."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if int(pid) != os.getpid() and \
                        os.fsencode(work) in file.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def nothing_is_left_of_many_mounts(work):
    source, point = make_source(work), work + "/point"
    os.mkdir(point)
    try:
        for i in range(TIMES):
            options = ("--auto_unmount",) if i % 5 == 4 else ()
            result = run(*options, source, point)
            equal(result.returncode, 0, result.stderr)
            equal(harness.read(point + "/a.b2frame/data.bin"), DATA)
            equal(run("--unmount", point).returncode, 0)
            equal(harness.mounted(point), None, f"mount {i}")
            wait_until(lambda: not of_this_folder(work),
                       told=lambda: (i, of_this_folder(work)))
    finally:
        harness.end_background(point)


def a_mount_that_lives_on_loses_nothing(work):
    """Descriptors and threads are as many after much use as before."""
    source = make_source(work)

    def held(mount):
        folder = f"/proc/{mount.pid}"
        return (len(os.listdir(folder + "/fd")),
                len(os.listdir(folder + "/task")))

    def use(mount):
        for name in ("a.b2frame/data.bin", "a.b2frame/info.json", "plain",
                     ".bloscfs/stats"):
            harness.read(mount.path(name))
        os.listdir(mount.path("a.b2frame/chunks"))

    with Mount(work, source, "--attr_timeout=0") as mount:
        for _ in range(20):
            use(mount)
        before, memory = held(mount), mount.memory()
        for _ in range(500):
            use(mount)
        wait_until(lambda: held(mount) <= before,
                   told=lambda: (before, held(mount)))
        harness.below(mount.memory(), memory + (8 << 20))


if __name__ == "__main__":
    private.main([
        a_service_manager_is_told_of_start_and_end,
        in_the_background_the_daemon_is_named,
        a_manager_that_is_gone_keeps_no_mount_from_being_made,
        a_signal_logs_statistics,
        a_signal_opens_the_log_anew,
        a_log_that_cannot_be_opened_anew_goes_on_where_it_was,
        auto_unmount_leaves_no_mount_of_a_killed_daemon,
        what_fusermount_watches_closes_behind_the_device,
        readers_of_a_killed_daemon_get_an_error_and_a_new_mount_works,
        nothing_is_left_of_many_mounts,
        a_mount_that_lives_on_loses_nothing,
    ])
