#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""packaging/quickstart in a checkout that is built already: what it asks and
what it says. packaging/fresh has it build and install, too."""
import os
import pty
import shutil
import subprocess

import harness
import namespace
from harness import DATA, NOBODY, equal

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def stub(path, text):
    harness.write(path, b"#!/bin/sh\n" + text.encode())
    os.chmod(path, 0o755)


def checkout(work, user):
    """Where nothing is missing or to be built, and sudo only notes what it
    was asked for."""
    for folder in ("packaging", "build/daemon", "bin"):
        os.makedirs(f"{work}/{folder}")
    shutil.copy(ROOT + "/packaging/quickstart", work + "/packaging")
    stub(work + "/packaging/install-deps", "exit 0\n")
    harness.write(work + "/build/build.ninja", b"")
    os.symlink(harness.BLOSCFS, work + "/build/daemon/bloscfs")
    os.mkdir(work + "/mnt")
    for name in ("meson", "ninja"):
        stub(f"{work}/bin/{name}", "exit 0\n")
    stub(work + "/bin/sudo", f'echo "$@" >> {work}/asked\nexit 1\n')
    if user is not None:
        for path in (work, work + "/build", work + "/mnt"):
            os.chown(path, user, user)


def quickstart(work, answer=None, user=None):
    """(status, what it printed), of an attempt to mount the samples."""
    if not os.path.exists(work + "/bin"):
        checkout(work, user)
    more = {"stdin": subprocess.DEVNULL}
    if user is not None:
        more.update(user=user, group=user, extra_groups=[])
    if answer is not None:
        ours, theirs = pty.openpty()
        more["stdin"] = theirs
        os.write(ours, answer)
    done = subprocess.run(
        [work + "/packaging/quickstart", DATA, work + "/mnt"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=60, check=False,
        env={**os.environ, "PATH": f"{work}/bin:{os.environ['PATH']}"},
        **more)
    if answer is not None:
        os.close(theirs)
        os.close(ours)
    return done.returncode, done.stdout


def asked(work):
    """What sudo was asked for."""
    if not os.path.exists(work + "/asked"):
        return b""
    return harness.read(work + "/asked")


def keep_fuse_to_root():
    """As it is where no udev says otherwise; in this namespace alone."""
    namespace.need_own()
    harness.needs_reach()
    os.chmod("/dev/fuse", 0o600)


def the_mode_of_the_device_is_changed_only_after_a_yes(work):
    keep_fuse_to_root()
    for answer, wanted in ((b"n\n", b""), (b"\n", b""),
                           (b"y\n", b"chmod a+rw /dev/fuse\n")):
        status, said = quickstart(work, answer, NOBODY)
        equal(asked(work), wanted, f"asked for, after {answer}")
        assert "[y/N]" in said, said
        # Nobody changed it: the way on is shown.
        equal(status, 1, "status")
        assert "chmod a+rw /dev/fuse" in said.split("[y/N]")[1], said


def nobody_is_asked_without_a_terminal(work):
    keep_fuse_to_root()
    status, said = quickstart(work, None, NOBODY)
    equal((status, asked(work)), (1, b""), said)
    assert "[y/N]" not in said and "chmod a+rw /dev/fuse" in said, said


def it_says_what_it_mounted_where(work):
    if os.geteuid() == 0 and namespace.OWN:
        os.chmod("/dev/fuse", 0o666)
    status, said = quickstart(work)
    equal(status, 0, said)
    try:
        assert harness.mounted(work + "/mnt"), said
        assert f"on {work}/mnt:\n" in said, said
        assert f"--unmount {work}/mnt\n" in said, said
    finally:
        harness.end_background(work + "/mnt")


if __name__ == "__main__":
    namespace.enter()
    harness.main([
        the_mode_of_the_device_is_changed_only_after_a_yes,
        nobody_is_asked_without_a_terminal,
        it_says_what_it_mounted_where,
    ])
