# SPDX-License-Identifier: BSD-3-Clause
"""A mount namespace of the test's own, for mounts in mounts: what it mounts
nobody else sees, and it is gone when the test is."""
import contextlib
import os
import stat
import subprocess
import sys

import harness
import namespace

MARK = "BLOSCFS_TEST_PRIVATE"


def main(tests):
    """harness.main in a namespace of its own, where that may be had."""
    if os.geteuid() == 0 and MARK not in os.environ:
        os.environ[MARK] = "1"
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private",
                              sys.executable, *sys.argv])
    if MARK in os.environ:
        namespace.leave_others()
    harness.main(tests)


def needs_root():
    if MARK not in os.environ:
        raise harness.Skip("mounting in mounts needs root")


def command(*args, seconds=30):
    """Runs a program that must end by itself; its stdout."""
    process = subprocess.Popen(args, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True,
                               errors="replace")
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        # It may be past killing: whoever it waits for is cut off first.
        abort_all()
        process.kill()
        raise AssertionError(f"{args} does not end") from None
    harness.equal(process.returncode, 0, f"exit of {args}, with {said},")
    return said


def bind(what, where):
    command("mount", "--bind", what, where)


@contextlib.contextmanager
def mounted(kind, where):
    command("mount", "-t", kind, "none", where)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", where], check=False, timeout=20)


def abort_all():
    """Cuts off the daemons of all mounts of bloscfs in our namespace below
    the test's folder."""
    control = os.path.join(harness.work_folder(), "fusectl")
    os.makedirs(control, exist_ok=True)
    with mounted("fusectl", control), \
            open("/proc/self/mountinfo", encoding="utf-8") as table:
        for line in table:
            fields = line.split(" ")
            if not fields[4].startswith(harness.work_folder() + "/") or \
                    " fuse.bloscfs " not in line:
                continue
            with contextlib.suppress(OSError):
                harness.write(os.path.join(control,
                                           fields[2].split(":")[1],
                                           "abort"), b"1")


def let_all_open_the_device(work):
    """As distributions do, for this namespace."""
    os.mkdir(work + "/dev")
    command("mount", "-t", "tmpfs", "none", work + "/dev")
    os.mknod(work + "/dev/fuse", stat.S_IFCHR, os.stat("/dev/fuse").st_rdev)
    os.chmod(work + "/dev/fuse", 0o666)
    bind(work + "/dev/fuse", "/dev/fuse")
