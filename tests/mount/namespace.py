# SPDX-License-Identifier: BSD-3-Clause
"""A namespace of mounts for a test script of its own, if it runs as root."""
import contextlib
import ctypes
import os
import stat
import subprocess

import harness

OWN = False


def mount(*words):
    subprocess.run(["mount", *words], check=True, timeout=20)


def leave_others():
    """Copies of others' mounts would keep their daemons from ending."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        points = [line.split()[4] for line in mounts
                  if line.split(" - ")[1].startswith("fuse.bloscfs ")]
    for point in points:
        subprocess.run(["umount", "--lazy", point], check=False, timeout=20,
                       stderr=subprocess.DEVNULL)


def enter():
    """Mounts of ours that nobody else sees. Distributions let everybody
    open /dev/fuse; where this machine does not, the namespace does."""
    global OWN
    if not os.path.exists("/dev/fuse") or os.geteuid() != 0 or \
            ctypes.CDLL(None, use_errno=True).unshare(0x00020000):
        return
    try:
        mount("--make-rprivate", "/")
    except subprocess.CalledProcessError:
        # In a chroot / is no mount point; without peers nothing of ours
        # gets out all the same.
        if any(" shared:" in line for line in open("/proc/self/mountinfo")):
            return
    OWN = True
    leave_others()
    device = os.stat("/dev/fuse")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/mnt")
    os.mknod("/mnt/fuse", stat.S_IFCHR | 0o666, device.st_rdev)
    os.chmod("/mnt/fuse", 0o666)
    mount("--bind", "/mnt/fuse", "/dev/fuse")


def need_own():
    if not OWN:
        raise harness.Skip("this check needs a namespace of its own")


@contextlib.contextmanager
def covered(path, *by):
    """Within, something else lies at path."""
    need_own()
    mount(*by, path)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True, timeout=20)
