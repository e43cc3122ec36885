#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Root and others: who may mount, who may look."""
import errno
import os
import subprocess
import stat

import harness
import namespace
import samples
from harness import (NOBODY, Mount, as_user, equal, needs_reach, needs_root,
                     run)
from namespace import covered

DATA = samples.noise(50000)
OTHER = 54321


def make_source(work, owner=None):
    source = os.path.join(work, "source")
    os.mkdir(source, 0o755)
    for name, mode in (("open.b2frame", 0o644), ("shut.b2frame", 0o600)):
        path = os.path.join(source, name)
        harness.write(path, samples.frame(DATA, 10000))
        os.chmod(path, mode)
        if owner is not None:
            os.chown(path, owner, owner)
    harness.write(source + "/plain", b"plain")
    os.chmod(source + "/plain", 0o600)
    if owner is not None:
        os.chown(source + "/plain", owner, owner)
    os.chmod(source, 0o755)
    return source


def an_ordinary_user_mounts_and_reads(work):
    needs_reach()
    source = make_source(work)
    with Mount(work, source, user=NOBODY) as mount:
        def look():
            if harness.read(mount.path("open.b2frame/data.bin")) != DATA:
                raise OSError(errno.EBADMSG, "other bytes")

        equal(as_user(NOBODY, look), 0, "errno")
        equal(as_user(OTHER, look), errno.EACCES, "another's errno")
        harness.fails_with(errno.EACCES, os.stat, mount.point)
        # What the daemon's user may not read shows, but does not open.
        shut = mount.path("shut.b2frame")
        equal(as_user(NOBODY, lambda: os.stat(shut)), 0, "errno of stat")
        equal(as_user(NOBODY, lambda: os.open(shut, os.O_RDONLY)),
              errno.EACCES, "errno of open")
        equal(mount.end(), 0, "exit")
        equal(harness.mounted(mount.point), None)


def a_container_that_cannot_be_read_is_among_the_errors(work):
    needs_reach()
    source = make_source(work)
    with Mount(work, source, user=NOBODY) as mount:
        def said(*command):
            return subprocess.run(command, user=NOBODY, group=NOBODY,
                                  extra_groups=[], check=True, text=True,
                                  stdout=subprocess.PIPE, timeout=30).stdout
        equal(said("ls", "-F", mount.point).split(),
              ["open.b2frame/", "plain", "shut.b2frame"])
        lines = said("cat", mount.path(".bloscfs/errors")).splitlines()[1:]
    # A file that nobody may read is nothing; one that has a container's
    # name is told.
    equal([line.split("\t")[1] for line in lines], ["shut.b2frame"])
    assert "Permission denied" in lines[0], lines


def access_says_who_may_read_the_source(work):
    needs_reach()
    source = make_source(work)
    os.chmod(source + "/plain", 0o600)
    with Mount(work, source, user=NOBODY) as mount:
        def ask():
            for name, wanted in (("plain", False), ("shut.b2frame", False),
                                 ("open.b2frame", True), ("", True)):
                if os.access(mount.path(name), os.R_OK) != wanted:
                    raise OSError(errno.EEXIST, name)
            os.stat(mount.path("plain"))

        equal(as_user(NOBODY, ask), 0, "errno")


def an_ordinary_user_goes_to_the_background_and_unmounts(work):
    needs_reach()
    source = make_source(work)
    point = os.path.join(work, "point")
    os.mkdir(point)
    os.chown(point, NOBODY, NOBODY)
    result = run(source, point, user=NOBODY)
    try:
        equal((result.returncode, result.stderr), (0, ""))
        pid = harness.background_pid(point)
        assert harness.alive(pid)
        result = run("--unmount", point, user=NOBODY)
        equal((result.returncode, result.stderr), (0, ""))
        assert not harness.alive(pid), "the daemon is still there"
        equal(harness.mounted(point), None)
    finally:
        harness.end_background(point)


def an_ordinary_user_is_told_what_is_missing(work):
    needs_reach()
    source = make_source(work)
    point = os.path.join(work, "point")
    os.mkdir(point)
    result = run(source, point, user=NOBODY)
    equal((result.returncode, result.stderr.count("\n")), (1, 1))
    assert "not yours" in result.stderr, result.stderr
    os.chown(point, NOBODY, NOBODY)
    result = run(source + "/shut.b2frame", point, user=NOBODY)
    equal((result.returncode, result.stderr.count("\n")), (3, 1))
    assert "ermission" in result.stderr, result.stderr
    harness.write(work + "/fuse.conf", b"# user_allow_other\n")
    with covered("/etc/fuse.conf", "--bind", work + "/fuse.conf"):
        result = run("-o", "allow_other", source, point, user=NOBODY)
        equal((result.returncode, result.stderr.count("\n")), (1, 1))
        assert "user_allow_other" in result.stderr, result.stderr
    equal(harness.mounted(point), None)


def where_it_is_permitted_a_user_lets_others_in(work):
    needs_reach()
    source = make_source(work, NOBODY)
    harness.write(work + "/fuse.conf", b"# so\nuser_allow_other\n")
    with covered("/etc/fuse.conf", "--bind", work + "/fuse.conf"), \
            Mount(work, source, "-oallow_other", user=NOBODY) as there:
        for name, wanted in (("open", 0), ("shut", errno.EACCES)):
            path = there.path(name + ".b2frame/data.bin")
            equal(as_user(OTHER, lambda: harness.read(path)), wanted,
                  f"errno at {path}")
            equal(as_user(NOBODY, lambda: harness.read(path)), 0, "errno")


def without_fusermount_an_ordinary_user_is_told(work):
    needs_reach()
    source = make_source(work)
    point = os.path.join(work, "point")
    os.mkdir(point)
    os.chown(point, NOBODY, NOBODY)
    with covered("/usr/bin/fusermount3", "--bind", "/dev/null"):
        result = run(source, point, user=NOBODY)
    equal((result.returncode, result.stderr.count("\n")), (1, 1))
    assert "fusermount3 was not found" in result.stderr, result.stderr


def what_unmounts_for_a_user_is_told_where_it_is_missing(work):
    needs_reach()
    source = make_source(work)
    with Mount(work, source, user=NOBODY) as mount:
        with covered("/usr/bin/fusermount3", "--bind", "/dev/null"):
            result = run("--unmount", mount.point, user=NOBODY)
        equal((result.returncode, result.stderr), (1, "bloscfs: cannot "
              f"unmount '{mount.point}': fusermount3 was not found; "
              "install the package fuse3\n"))
        assert harness.mounted(mount.point)
        fake = work + "/fake"
        harness.write(fake, b"#!/bin/sh\necho \"$0: failed to open /etc/mtab: "
                      b"No such file or directory\" >&2; exit 1\n")
        os.chmod(fake, 0o755)
        with covered("/usr/bin/fusermount3", "--bind", fake):
            result = run("--unmount", mount.point, user=NOBODY)
        assert "open there" not in result.stderr, result.stderr
        assert result.stderr.endswith("; root makes it by 'ln -s "
                                      "/proc/self/mounts /etc/mtab'\n")
        # As mounting does, it looks beyond PATH.
        result = run("--unmount", mount.point, user=NOBODY,
                     env={"PATH": work})
        equal((result.returncode, result.stderr), (0, ""))
        equal(mount.process.wait(20), 0, "exit")


def without_the_device_everybody_is_told(work):
    source = make_source(work)
    point = os.path.join(work, "point")
    os.mkdir(point)
    with covered("/dev", "-t", "tmpfs", "-o", "mode=755", "tmpfs"):
        os.mknod("/dev/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        result = run(source, point)
    equal((result.returncode, result.stderr.count("\n")), (1, 1))
    assert "modprobe fuse" in result.stderr, result.stderr


def others_get_in_only_as_modes_permit(work):
    needs_root()
    source = make_source(work, OTHER)
    with Mount(work, source, "-o", "allow_other") as mount:
        options = harness.mount_line(mount.point)[0]
        assert "default_permissions" in options, options
        opened = mount.path("open.b2frame/data.bin")
        shut = mount.path("shut.b2frame/data.bin")
        plain = mount.path("plain")
        for user, path, wanted in (
                (NOBODY, opened, 0), (NOBODY, shut, errno.EACCES),
                (NOBODY, plain, errno.EACCES), (OTHER, opened, 0),
                (OTHER, shut, 0), (OTHER, plain, 0)):
            equal(as_user(user, lambda: harness.read(path)), wanted,
                  f"errno for user {user} at {path}")
        equal(as_user(NOBODY, lambda: os.listdir(
            mount.path("shut.b2frame"))), errno.EACCES, "errno of listing")


def without_allow_other_nobody_else_gets_in(work):
    needs_root()
    source = make_source(work)
    with Mount(work, source) as mount:
        equal(as_user(NOBODY, lambda: os.listdir(mount.point)),
              errno.EACCES, "errno")
        equal(harness.read(mount.path("shut.b2frame/data.bin")), DATA)


def a_given_owner_may_read(work):
    needs_root()
    source = make_source(work)
    with Mount(work, source, "-o",
               f"allow_other,uid={NOBODY},gid={NOBODY}") as mount:
        shut = mount.path("shut.b2frame/data.bin")
        equal(as_user(NOBODY, lambda: harness.read(shut)), 0, "errno")
        equal(as_user(OTHER, lambda: harness.read(shut)), errno.EACCES,
              "errno")


if __name__ == "__main__":
    namespace.enter()
    harness.main([
        an_ordinary_user_mounts_and_reads,
        a_container_that_cannot_be_read_is_among_the_errors,
        access_says_who_may_read_the_source,
        an_ordinary_user_goes_to_the_background_and_unmounts,
        an_ordinary_user_is_told_what_is_missing,
        where_it_is_permitted_a_user_lets_others_in,
        without_fusermount_an_ordinary_user_is_told,
        what_unmounts_for_a_user_is_told_where_it_is_missing,
        without_the_device_everybody_is_told,
        others_get_in_only_as_modes_permit,
        without_allow_other_nobody_else_gets_in,
        a_given_owner_may_read,
    ])
