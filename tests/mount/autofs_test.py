#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mounts that autofs makes on access and takes away again."""
import contextlib
import os
import shutil
import signal
import subprocess

import harness
import private
import samples
from harness import equal, wait_until

DATA = samples.noise(100000)
TIMES = 10


@contextlib.contextmanager
def automounter(work, source):
    """automount(8) over a folder, whose entry `data` is our mount."""
    private.needs_root()
    program = shutil.which("automount", path=os.defpath + ":/usr/sbin:/sbin")
    if not program:
        raise harness.Skip("autofs is not installed")
    folder = work + "/auto"
    harness.write(work + "/master", f"{folder} file:{work}/map --timeout=1\n".encode())
    # mount.fuse3(8) knows our program by the part before the number sign.
    harness.write(work + "/map", f"data -fstype=fuse,log_file={work}/log "
                  f":{harness.BLOSCFS}\\#{source}\n".encode())
    with open(work + "/said", "wb") as said:
        daemon = subprocess.Popen(
            [program, "--foreground", "--dont-check-daemon", "--verbose",
             "--timeout=1", "--pid-file=" + work + "/pid", work + "/master"],
            stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            start_new_session=True)  # its own group it leaves alone
    try:
        wait_until(lambda: harness.mounted(folder),
                   told=lambda: harness.read(work + "/said"))
        yield folder, daemon
    finally:
        private.abort_all()
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait()
        harness.raw_unmount(folder + "/data")
        harness.raw_unmount(folder)


def it_is_mounted_on_access_expires_and_is_mounted_again(work):
    source = work + "/source"
    os.mkdir(source)
    harness.write(source + "/x.b2frame", samples.frame(DATA, 20000))
    with automounter(work, source) as (folder, daemon):
        point = folder + "/data"
        for i in range(TIMES):
            private.command("cmp", point + "/x.b2frame/data.bin",
                            point + "/x.b2frame/data.bin")
            names = private.command("ls", point + "/x.b2frame").split()
            assert "info.json" in names, names
            pid = harness.background_pid(point)
            assert pid, f"no daemon the {i + 1}. time"
            # Once more in an hour, or now.
            wait_until(
                lambda: daemon.send_signal(signal.SIGUSR1) or
                not harness.mounted(point), 20, 0.3,
                told=lambda: f"not expired the {i + 1}. time")
            wait_until(lambda: not harness.alive(pid),
                       told=lambda: f"the daemon stays the {i + 1}. time")
        log = harness.read(work + "/log").decode()
        equal(log.count("mounted on"), TIMES, "times mounted in " + log)
        equal(log.count("err: "), 0, "errors in " + log)


private.main([
    it_is_mounted_on_access_expires_and_is_mounted_again,
])
