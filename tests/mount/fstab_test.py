#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""mount.bloscfs: what mount(8) calls for its own type and for lines of fstab.

The name is put where mount(8) looks in a mount namespace of this test alone."""
import hashlib
import os
import pwd
import shutil
import subprocess

import harness
import private
import samples
from harness import equal

DATA = samples.noise(50000)
HELPER = "mount.bloscfs"


def make(work):
    """A source with one frame, a mount point, and the program's other name."""
    source, point = work + "/source", work + "/point"
    for folder in (source, point, work + "/bin"):
        os.mkdir(folder)
        os.chmod(folder, 0o755)
    harness.write(source + "/x.b2frame", samples.frame(DATA, 20000))
    os.symlink(harness.BLOSCFS, f"{work}/bin/{HELPER}")
    return source, point


def copy_for_users(work):
    """A build may lie where ordinary users cannot look: the program and its
    library, which it finds beside itself, where they can."""
    library = os.path.dirname(harness.BLOSCFS) + "/../lib/libbloscfs.so.0"
    for what, folder in (library, "/lib"), (harness.BLOSCFS, "/program"):
        os.mkdir(work + folder)
        os.chmod(work + folder, 0o755)
        shutil.copy(what, work + folder)
    os.unlink(f"{work}/bin/{HELPER}")
    os.symlink(work + "/program/bloscfs", f"{work}/bin/{HELPER}")


def helper(work, *args):
    return subprocess.run([f"{work}/bin/{HELPER}", *args], check=False,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=30)


def put_beside_mount(work):
    """The helper in /sbin, for this namespace."""
    private.needs_root()
    sbin = os.path.realpath("/sbin")
    # That of the test before: one over another is one too many.
    subprocess.run(["umount", "-q", "-l", sbin], check=False, timeout=20,
                   stderr=subprocess.DEVNULL)
    done = subprocess.run(["mount", "-t", "overlay", "-o",
                           f"lowerdir={work}/bin:{sbin}", "overlay", sbin],
                          check=False, capture_output=True, text=True)
    if done.returncode:
        raise harness.Skip("no overlay over /sbin: " + done.stderr.strip())


def shows(point):
    equal(harness.read(point + "/x.b2frame/data.bin"), DATA)


def gone(point):
    private.command("umount", point)
    harness.wait_until(lambda: not harness.mounted(point))


def mount_knows_the_type(work):
    source, point = make(work)
    put_beside_mount(work)
    private.command("mount", "-t", "bloscfs", "-o",
                    "views=info,data,nofail,_netdev", source, point)
    try:
        shows(point)
        equal(os.listdir(point + "/x.b2frame").count("chunks"), 0)
        options, kind, _ = harness.mount_line(point)
        equal(kind, "fuse.bloscfs")
        assert "ro" in options and "nosuid" in options, options
    finally:
        gone(point)


def a_line_of_fstab_is_mounted_with_what_others_read_in_it(work):
    source, point = make(work)
    put_beside_mount(work)
    harness.write(work + "/fstab", (
        f"{source} {point} bloscfs ro,allow_other,noauto,nofail,_netdev,"
        "x-systemd.automount,x-systemd.idle-timeout=600,comment=one,"
        "relatime,cache_size=8M 0 0\n").encode())
    private.command("mount", "-T", work + "/fstab", point)
    try:
        shows(point)
        assert b"cache_size=8388608" in harness.read(point +
                                                     "/.bloscfs/config")
    finally:
        gone(point)


def a_mount_that_is_to_change_is_told_how_and_stays_as_it_is(work):
    source, point = make(work)
    put_beside_mount(work)
    harness.write(work + "/fstab",
                  f"{source} {point} bloscfs ro,noauto 0 0\n".encode())
    private.command("mount", "-T", work + "/fstab", point)
    try:
        for options in ("remount,ro", "remount,cache_size=8M"):
            done = subprocess.run(
                ["mount", "-T", work + "/fstab", "-o", options, point],
                check=False, stdin=subprocess.DEVNULL, capture_output=True,
                text=True, timeout=30)
            equal(done.returncode, 1, f"of {options}: {done.stderr}")
            assert "mount it anew" in done.stderr, done.stderr
            shows(point)
    finally:
        gone(point)


def a_user_mounts_and_unmounts_what_fstab_lets_them(work):
    source, point = make(work)
    copy_for_users(work)
    put_beside_mount(work)
    private.let_all_open_the_device(work)
    harness.write(work + "/fstab", (
        f"{source} {point} bloscfs ro,noauto,user 0 0\n").encode())
    private.bind(work + "/fstab", "/etc/fstab")
    nobody = pwd.getpwnam("nobody")
    os.chown(point, nobody.pw_uid, nobody.pw_gid)

    def as_nobody(*args):
        return private.command("setpriv", f"--reuid={nobody.pw_uid}",
                               f"--regid={nobody.pw_gid}", "--clear-groups",
                               *args)

    as_nobody("mount", point)
    try:
        equal(as_nobody("sha256sum", point + "/x.b2frame/data.bin")[:64],
              hashlib.sha256(DATA).hexdigest())
        options, kind, _ = harness.mount_line(point)
        equal(kind, "fuse.bloscfs")
        assert "nosuid" in options and "nodev" in options, options
        as_nobody("umount", point)
        harness.wait_until(lambda: not harness.mounted(point))
    finally:
        harness.raw_unmount(point)
        private.command("umount", "-l", "/dev/fuse", work + "/dev")


def its_exit_codes_are_those_that_mount_expects(work):
    source, point = make(work)
    for args, code, word in (
            ([source], 1, "MOUNTPOINT"),
            ([source, point, "-o", "ro,bogus"], 1, "bogus"),
            ([source, point, "-o", "remount,ro"], 1, "remount"),
            ([source, point, "-s", "-o", "remount,ro"], 1, "remount"),
            ([source, point, "-Z"], 1, "-Z"),
            ([source + "/nothing", point, "-o", "ro"], 32, "nothing"),
            ([source, point + "/nothing"], 32, "nothing")):
        done = helper(work, *args)
        equal(done.returncode, code, f"of {args}: {done.stderr}")
        assert word in done.stderr, (args, done.stderr)
    assert not harness.mounted(point)


def what_fakes_a_mount_makes_none(work):
    source, point = make(work)
    done = helper(work, source, point, "-vfn", "-o", "rw,user=ada")
    equal((done.returncode, done.stderr), (0, ""))
    assert not harness.mounted(point)
    equal(helper(work, source, point, "-f", "-o", "bogus").returncode, 1)


def who_asks_to_pass_over_the_unknown_is_mounted(work):
    source, point = make(work)
    done = helper(work, source, point, "-sn", "-t", "bloscfs", "-o",
                  "rw,bogus=3,user=ada,x-gvfs-hide")
    try:
        equal((done.returncode, done.stderr), (0, ""))
        shows(point)
    finally:
        harness.raw_unmount(point)


def words_of_mount_are_unknown_to_the_program_itself(work):
    source, point = make(work)
    done = harness.run("-o", "nofail", source, point)
    equal(done.returncode, 2, done.stderr)
    assert "nofail" in done.stderr, done.stderr


if __name__ == "__main__":
    private.main([
        mount_knows_the_type,
        a_line_of_fstab_is_mounted_with_what_others_read_in_it,
        a_mount_that_is_to_change_is_told_how_and_stays_as_it_is,
        a_user_mounts_and_unmounts_what_fstab_lets_them,
        its_exit_codes_are_those_that_mount_expects,
        what_fakes_a_mount_makes_none,
        who_asks_to_pass_over_the_unknown_is_mounted,
        words_of_mount_are_unknown_to_the_program_itself,
    ])
