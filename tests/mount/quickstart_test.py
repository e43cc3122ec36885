#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""packaging/quickstart in a checkout that is built already: what it asks and
what it says. packaging/fresh has it build and install, too."""
import os
import pty
import re
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


def on_a_terminal(work, *command):
    """What a terminal shows."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
        env={**os.environ, "PATH": f"{work}/bin:{os.environ['PATH']}"})
    os.close(theirs)
    shown = harness.shown(ours)
    return process.wait(60), shown.decode()


def a_terminal_sees_how_far_it_is(work):
    checkout(work, None)
    stub(work + "/bin/ninja",
         "echo '[1/9] one'; echo '[7/9] two'; sleep 2.5\n")
    status, shown = on_a_terminal(work, work + "/packaging/quickstart",
                                  "--version")
    equal(status, 0, shown)
    assert re.search(r"ninja: \[7/9\] [12] s", shown), shown
    assert "[1/9]" not in shown, shown
    assert shown.index("\033[K\r\033[K") < shown.index("bloscfs "), shown
    stub(work + "/bin/ninja", "echo '[1/9] one'; echo bad; sleep 1.5; exit 1\n")
    status, shown = on_a_terminal(work, work + "/packaging/quickstart",
                                  "--version")
    equal(status, 1, shown)
    assert "bad" in shown.split("\033[K")[-1], shown
    stub(work + "/bin/ninja", "echo '[1/9] one'; sleep 1.5\n")
    status, said = quickstart(work)
    harness.end_background(work + "/mnt")
    equal((status, "[1/9]" in said, "\033" in said), (0, False, False), said)


def what_is_installed_is_shown_as_it_comes(work):
    harness.needs_root()
    checkout(work, None)
    shutil.copy(ROOT + "/packaging/install-deps", work + "/packaging")
    stub(work + "/bin/dpkg-query", "exit 1\n")
    stub(work + "/bin/apt-cache", "exit 0\n")
    deps = work + "/packaging/install-deps"
    for code in 0, 1:
        stub(work + "/bin/apt-get", 'case "$*" in *" install "*)\n'
             f"echo 'Get:1 gcc'; echo 'Setting up gcc'; exit {code} ;; esac\n")
        stub(work + "/bin/sleep", "exit 0\n")
        status, shown = on_a_terminal(work, deps, "build")
        equal(status, code, shown)
        for line in "Installing: gcc", "  Get:1 gcc", "  Setting up gcc":
            assert line in shown, shown


def what_is_installed_is_made_before(work):
    checkout(work, None)
    for tool in "ninja", "meson", "sudo":
        stub(f"{work}/bin/{tool}", f'echo {tool} "$@" >> {work}/done\n' +
             ('exec "$@"\n' if tool == "sudo" else ""))
    for rules, made in ((b"", ["daemon/bloscfs"]),
                        (b"build html: phony a.html\n",
                         ["daemon/bloscfs", "html"])):
        harness.write(work + "/build/build.ninja", rules)
        harness.write(work + "/done", b"")
        subprocess.run([work + "/packaging/quickstart", "--install"],
                       check=True, timeout=60, stdin=subprocess.DEVNULL,
                       env={**os.environ,
                            "PATH": f"{work}/bin:{os.environ['PATH']}"})
        lines = harness.read(work + "/done").decode().splitlines()
        ninja = [line.split()[-1] for line in lines
                 if line.startswith("ninja")]
        equal(ninja, made, "made")
        assert lines[-1].startswith("meson install "), lines


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
        a_terminal_sees_how_far_it_is,
        what_is_installed_is_made_before,
        what_is_installed_is_shown_as_it_comes,
    ])
