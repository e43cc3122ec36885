#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Nobody reads through a mount what the source denies: modes, lists of rights
(POSIX ACLs), owners and kinds of things, asked by several users."""
import errno
import json
import os
import shutil
import stat
import struct
import time
import zipfile

import harness
import namespace
import samples
from harness import NOBODY, Mount, as_user, equal, fails_with
from stores_test import write_column

DATA = samples.noise(40000)
CHUNK = 10000
USER, NAMED, GROUP, TEAM, NO_GROUP = 54321, 54322, 54323, 54324, 65533
# By the kernel, or by a version of a container that is gone with its rights.
REFUSED = {errno.EACCES, errno.ESTALE}
ACCESS = "system.posix_acl_access"
DEFAULT = "system.posix_acl_default"
# Who asks: a user and all of its groups.
SUBJECTS = [(0, [0]), (NOBODY, [NO_GROUP]), (NOBODY, [NO_GROUP, GROUP]),
            (USER, [NO_GROUP]), (USER, [GROUP]), (NAMED, [NO_GROUP]),
            (NAMED, [GROUP, TEAM]), (NOBODY, [TEAM]),
            (NOBODY, [GROUP, TEAM])]


def acl(text):
    """An attribute from "u::6 u:ID:4 g::0 g:ID:4 m::6 o::0"."""
    tags = {"u": (1, 2), "g": (4, 8), "m": (0x10,), "o": (0x20,)}
    packed = struct.pack("<I", 2)
    for word in text.split():
        kind, who, perm = word.split(":")
        packed += struct.pack("<HHI", tags[kind][who != ""], int(perm),
                              int(who) if who else 0xFFFFFFFF)
    return packed


def needs_lists(work):
    """Root, on a file system that keeps lists of rights."""
    harness.needs_reach()
    harness.write(work + "/probe", b"")
    try:
        os.setxattr(work + "/probe", ACCESS,
                    acl(f"u::6 u:{NAMED}:4 g::4 m::4 o::4"))
    except OSError as error:
        raise harness.Skip("no lists of rights here") from error
    os.unlink(work + "/probe")


# name: mode, owner, group, list
SPECS = {
    "open": (0o644, 0, 0, ""),
    "shared": (0o664, USER, GROUP, ""),
    "own": (0o600, USER, GROUP, ""),
    "group": (0o640, USER, GROUP, ""),
    "nogroup": (0o604, USER, GROUP, ""),
    "notowner": (0o044, USER, GROUP, ""),
    "none": (0o000, USER, GROUP, ""),
    "write": (0o622, USER, GROUP, ""),
    "run": (0o755, 0, GROUP, ""),
    "runonly": (0o711, 0, GROUP, ""),
    "roots": (0o400, 0, 0, ""),
    "lu": (0, USER, GROUP, f"u::6 u:{NAMED}:4 g::0 m::4 o::0"),
    "lu-denied": (0, USER, GROUP, f"u::6 u:{NAMED}:0 g::4 m::4 o::4"),
    "lu-masked": (0, USER, GROUP, f"u::6 u:{NAMED}:4 g::4 m::2 o::0"),
    "lu-nomask": (0, USER, GROUP, f"u::6 u:{NAMED}:4 g::4 m::0 o::4"),
    "lu-runmask": (0, USER, GROUP, f"u::6 u:{NAMED}:7 g::7 m::1 o::4"),
    "lg": (0, USER, GROUP, f"u::6 g::0 g:{TEAM}:4 m::4 o::0"),
    "lg-denied": (0, USER, GROUP, f"u::6 g::0 g:{TEAM}:0 m::4 o::4"),
    "lg-other": (0, 0, GROUP, f"u::6 g::4 g:{TEAM}:0 m::4 o::4"),
    "lug": (0, 0, 0, f"u::6 u:{NOBODY}:0 u:{NAMED}:5 g::0 "
            f"g:{GROUP}:6 g:{TEAM}:2 m::7 o::0"),
    "lmask": (0, USER, GROUP, "u::6 g::6 m::2 o::4"),
}


def set_rights(path, spec):
    mode, uid, gid, words = SPECS[spec]
    os.chown(path, uid, gid)
    os.chmod(path, mode)
    if words:
        os.setxattr(path, ACCESS, acl(words))


def as_folder(words):
    """The same rights for a folder: x where r is."""
    return " ".join(word[:-1] + str(int(word[-1]) & 6 |
                                    (int(word[-1]) & 4) >> 2)
                    for word in words.split())


def set_folder_rights(path, spec):
    mode, uid, gid, words = SPECS[spec]
    os.chown(path, uid, gid)
    os.chmod(path, mode | (mode & 0o444) >> 2)
    if words:
        os.setxattr(path, ACCESS, acl(as_folder(words)))


class Thing:
    """What must be readable in the source, what is in the mount then.
    exact: the mount gives no less either."""

    def __init__(self, needs, gives, exact=True):
        self.needs, self.gives, self.exact = needs, gives, exact


FRAME_FILES = ["", "data.bin", "info.json", "chunks", "chunks/0000000002"]


def in_frame(name, *files):
    return [name + "/" + file for file in files or FRAME_FILES]


def add_files(source, things, spec):
    """One of each kind that is one file, or a folder."""
    for name, content in (("plain", b"plain text"),
                          ("frame", samples.frame(DATA, CHUNK))):
        name = f"{name}-{spec}"
        harness.write(f"{source}/{name}", content)
        set_rights(f"{source}/{name}", spec)
        things.append(Thing([name], in_frame(name) if "frame" in name
                            else [name], "runmask" not in spec))
    name = f"store-{spec}.b2z"
    with zipfile.ZipFile(f"{source}/{name}", "w") as store:
        store.writestr("in.b2nd", samples.frame(DATA, CHUNK))
    set_rights(f"{source}/{name}", spec)
    things.append(Thing([name], in_frame(name, "info.json",
                                         "in.b2nd/data.bin"),
                        "runmask" not in spec))
    name = f"folder-{spec}"
    os.mkdir(f"{source}/{name}")
    harness.write(f"{source}/{name}/plain", b"in a folder")
    harness.write(f"{source}/{name}/frame", samples.frame(DATA, CHUNK))
    set_folder_rights(f"{source}/{name}", spec)
    things.append(Thing([name], [name]))
    things.append(Thing([name + "/plain"], [name + "/plain"]))
    things.append(Thing([name + "/frame"], in_frame(name + "/frame")))


def add_sparse(source, things, name, rights, exact):
    """A sparse frame whose files have rights: part -> spec."""
    folder = f"{source}/{name}"
    samples.write_sparse_frame(folder, DATA, CHUNK)
    files = sorted(os.listdir(folder))
    for file in files:
        set_rights(f"{folder}/{file}",
                   rights.get(file, rights.get("files", "open")))
    # Parts of different owners are nobody's.
    set_folder_rights(folder, rights.get("folder",
                                         rights.get("files", "open")))
    # To list a folder is not needed to read it.
    things.append(Thing([f"{name}/{file}" for file in files],
                        in_frame(name), exact))


def add_column(source, things, name, rights, exact):
    folder = f"{source}/{name}"
    write_column(folder, list(range(5000)), 1000)
    files = ["meta/sizes", "meta/storage"] + [f"data/__{i}.blp"
                                              for i in range(5)]
    for file in files:
        set_rights(f"{folder}/{file}",
                   rights.get(file, rights.get("files", "open")))
    for file in ("", "meta", "data"):
        if file in rights:
            set_folder_rights(f"{folder}/{file}", rights[file])
    things.append(Thing([f"{name}/{file}" for file in files],
                        in_frame(name), exact))


MIXED = [
    ({"00000002.chunk": "own", "files": "shared"}, True),
    ({"00000002.chunk": "roots"}, True),
    ({"00000002.chunk": "group", "files": "shared"}, True),
    ({"00000002.chunk": "nogroup", "files": "shared"}, True),
    ({"00000002.chunk": "lu", "files": "shared"}, True),
    ({"00000002.chunk": "lu-denied", "files": "shared"}, True),
    # Who is named here and in a group there is not told apart.
    ({"00000002.chunk": "lu", "chunks.b2frame": "lg", "files": "shared"},
     False),
    ({"00000001.chunk": "lg-denied", "00000002.chunk": "lu-masked",
      "files": "shared"}, False),
    ({"chunks.b2frame": "roots"}, True),
    ({"chunks.b2frame": "own", "files": "roots"}, False),
    ({"chunks.b2frame": "shared"}, False),  # two owners
    ({"files": "lu-denied"}, False),
    ({"files": "lmask"}, False),
    ({"files": "shared", "folder": "group"}, True),
    ({"files": "shared", "folder": "lu"}, True),
    ({"files": "shared", "folder": "lu-denied"}, True),
    ({"files": "shared", "folder": "own"}, True),
    ({"files": "open", "folder": "own"}, False),
    ({"files": "roots", "folder": "shared"}, False),
    ({"00000000.chunk": "run", "files": "open"}, False),  # two groups
]


def make_things(source):
    os.mkdir(source, 0o755)
    things = []
    for spec in SPECS:
        add_files(source, things, spec)
        add_sparse(source, things, f"sparse-{spec}", {
            "files": spec, "folder": spec}, False)
        add_column(source, things, f"column-{spec}", {
            "files": spec, "": spec, "data": spec, "meta": spec}, False)
    for i, (rights, exact) in enumerate(MIXED):
        add_sparse(source, things, f"mixed-{i}", rights, exact)
    for i, rights in enumerate([
            {"data/__2.blp": "own", "files": "shared", "": "shared",
             "data": "shared", "meta": "shared"},
            {"meta/storage": "roots"}, {"data": "roots"},
            {"meta": "lu-denied", "files": "shared", "data": "shared",
             "": "shared"}, {"data/__0.blp": "lu"}]):
        add_column(source, things, f"mixed-column-{i}", rights, False)
    for folder, _, files in harness.walk(source):
        for file in files:
            os.utime(f"{folder}/{file}", (1e9, 1e9))
    return things


def may_read(path):
    """Whether a file or folder can be opened and read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                os.listdir(fd)
            else:
                os.read(fd, 10)
        finally:
            os.close(fd)
    except PermissionError:
        return False
    return True


def ask(subject, source, point, things):
    """For each thing: all that is needed can be read in the source; what can
    be read in the mount."""
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(receive)
            uid, groups = subject
            os.setgroups(groups)
            os.setresgid(groups[0], groups[0], groups[0])
            os.setresuid(uid, uid, uid)
            found = [[all(may_read(f"{source}/{name}")
                          for name in thing.needs),
                      [may_read(f"{point}/{name}") for name in thing.gives]]
                     for thing in things]
            with os.fdopen(send, "w") as file:
                json.dump(found, file)
            code = 0
        except OSError as error:
            with os.fdopen(send, "w") as file:
                json.dump(f"{subject}: {error}", file)
        finally:
            os._exit(code)
    os.close(send)
    with os.fdopen(receive) as file:
        found = json.load(file)
    equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, str(found))
    return found


def compare(source, point, things, exact):
    """Faults as texts; how often the mount gave something to others."""
    faults, n_given = [], 0
    for subject in SUBJECTS:
        for thing, (needed, given) in zip(things, ask(subject, source, point,
                                                      things)):
            who = f"{subject} at {thing.gives[0]}"
            if not needed and any(given):
                faults.append(f"{who}: more than the source: {given}")
            if exact and thing.exact and needed and not all(given):
                faults.append(f"{who}: less than the source: {given}")
            n_given += subject[0] != 0 and all(given)
    return faults, n_given


def a_mount_gives_what_the_source_gives(work):
    needs_lists(work)
    source = work + "/source"
    things = make_things(source)
    assert len(things) * len(SUBJECTS) > 40
    with Mount(work, source, "-o", "allow_other") as mount:
        faults, n_given = compare(source, mount.point, things, True)
        equal(faults, [])
        assert n_given > 200, n_given
        # Again, from what the kernel and the daemon have kept.
        equal(compare(source, mount.point, things, True)[0], [])


def where_lists_cannot_be_judged_modes_say_less(work):
    needs_lists(work)
    source = work + "/source"
    things = make_things(source)
    with Mount(work, source, "-o", "allow_other,noxattr") as mount:
        faults, n_given = compare(source, mount.point, things, False)
        equal(faults, [])
        assert n_given > 100, n_given


def options_only_narrow(work):
    needs_lists(work)
    source = work + "/source"
    things = make_things(source)
    for options in ("umask=070", "gid=0", "fmask=007,dmask=022", "uid=0"):
        with Mount(work, source, "-o", "allow_other," + options) as mount:
            equal(compare(source, mount.point, things, False)[0], [],
                  options)


def modes_and_lists_are_the_sources_own(work):
    needs_lists(work)
    source = work + "/source"
    os.mkdir(source)
    for spec in SPECS:
        harness.write(f"{source}/{spec}", b"x")
        os.mkdir(f"{source}/d-{spec}")
        set_rights(f"{source}/{spec}", spec)
        set_folder_rights(f"{source}/d-{spec}", spec)
    os.chmod(source + "/run", 0o6755)
    os.chmod(source + "/d-run", 0o3775)
    os.setxattr(source + "/d-lu", DEFAULT,
                acl(f"u::7 u:{NAMED}:5 g::5 m::5 o::0"))

    def look(path):
        st = os.stat(path)
        found = [oct(st.st_mode), st.st_uid, st.st_gid]
        for name in (ACCESS, DEFAULT):
            try:
                found.append(os.getxattr(path, name))
            except OSError as error:
                # A file has no default, and may say so in its own way.
                assert error.errno in (errno.ENODATA, errno.EOPNOTSUPP,
                                       errno.EACCES), error
                found.append(None)
        return found

    for options in ([], ["-o", "allow_other"]):
        with Mount(work, source, *options) as mount:
            for name in sorted(os.listdir(source)):
                equal(look(mount.path(name)), look(f"{source}/{name}"), name)
            names = os.listxattr(mount.path("d-lu"))
            equal(sorted(names), [ACCESS, DEFAULT], "names")


def folders_of_containers_may_be_entered_by_readers(work):
    needs_lists(work)
    source = work + "/source"
    os.mkdir(source)
    harness.write(source + "/a.b2frame", samples.frame(DATA, CHUNK))
    os.chmod(source + "/a.b2frame", 0o464)
    os.setxattr(source + "/a.b2frame", ACCESS,
                acl(f"u::4 u:{NAMED}:5 g::6 g:{TEAM}:2 m::7 o::4"))
    with Mount(work, source, "-o", "allow_other") as mount:
        top, data = mount.path("a.b2frame"), mount.path("a.b2frame/data.bin")
        equal(oct(os.stat(top).st_mode), oct(stat.S_IFDIR | 0o775))
        equal(os.getxattr(top, ACCESS),
              acl(f"u::7 u:{NAMED}:5 g::7 g:{TEAM}:2 m::7 o::5"))
        equal(oct(os.stat(data).st_mode), oct(stat.S_IFREG | 0o464))
        equal(os.getxattr(data, ACCESS),
              acl(f"u::4 u:{NAMED}:4 g::6 g:{TEAM}:2 m::6 o::4"))
        assert ACCESS in os.listxattr(data), os.listxattr(data)


def rights_that_change_are_followed(work):
    needs_lists(work)
    source = work + "/source"
    os.mkdir(source, 0o755)
    harness.write(source + "/plain", b"plain")
    harness.write(source + "/a.b2frame", samples.frame(DATA, CHUNK))
    samples.write_sparse_frame(source + "/s.b2frame", DATA, CHUNK)
    changed = [source + "/plain", source + "/a.b2frame",
               source + "/s.b2frame/00000001.chunk"]
    with Mount(work, source, "-o", "allow_other,attr_timeout=0.05") as mount:
        shown = [mount.path(name) for name in
                 ("plain", "a.b2frame/data.bin", "s.b2frame/data.bin")]

        def may(uid):
            return [as_user(uid, lambda p=path: harness.read(p)) == 0
                    for path in shown]

        equal(may(NAMED), [True] * 3)
        for words, wanted in (
                (f"u::6 u:{NAMED}:0 g::4 m::4 o::4", False),
                ("u::6 g::4 o::4", True), ("u::6 g::0 o::0", False),
                (f"u::6 u:{NAMED}:4 g::0 m::4 o::0", True)):
            for path in changed:
                os.setxattr(path, ACCESS, acl(words))
            harness.wait_until(lambda w=wanted: may(NAMED) == [w] * 3,
                               told=lambda: (words, may(NAMED)))


def a_chunk_that_became_private_is_not_read(work):
    """Though the kernel still thinks that all may read."""
    harness.needs_reach()
    source = work + "/source"
    os.mkdir(source, 0o755)
    for name in ("a.b2frame", "b.b2frame"):
        samples.write_sparse_frame(f"{source}/{name}", DATA, CHUNK)
    with Mount(work, source, "-o", "allow_other,attr_timeout=60") as mount:
        shown = mount.path("a.b2frame/chunks/0000000002")
        equal(as_user(NOBODY, lambda: os.stat(shown)), 0, "errno")
        os.chmod(source + "/a.b2frame/00000002.chunk", 0o600)
        assert as_user(NOBODY, lambda: harness.read(shown)) in REFUSED
        # The others are read on, or looked up anew.
        path = mount.path("b.b2frame/data.bin")
        equal(as_user(NOBODY, lambda: harness.read(path)), 0, "errno")


def cpu_seconds(pid):
    """What a process has computed so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def thousands_of_long_lists_do_not_hold_up_a_look(work):
    """Each with hundreds of names; and what is private stays so."""
    needs_lists(work)
    source = work + "/source"
    os.mkdir(source, 0o755)
    folder = source + "/a.b2frame"
    samples.write_sparse_frame(folder, DATA, CHUNK)
    # The most that a file system of small blocks keeps.
    names = range(100000, 100500)
    lists = [acl("u::6 " + " ".join(f"u:{name}:{4 + (name + odd) % 2 * 2}"
                                    for name in names) +
                 " g::4 m::6 o::4") for odd in (0, 1)]
    os.chmod(folder + "/00000002.chunk", 0o600)
    for number in range(16000):
        part = f"{folder}/{number + 100:08X}.chunk"
        harness.write(part, b"")
        try:
            os.setxattr(part, ACCESS, lists[number % 2])
        except OSError as error:
            raise harness.Skip("no lists so long here") from error
    with Mount(work, source, "-o", "allow_other") as mount:
        before = cpu_seconds(mount.pid)
        os.stat(mount.path("a.b2frame"))
        spent = cpu_seconds(mount.pid) - before
        print(f"# a look took {spent:.2f} s of computing")
        assert spent < 1.5, spent
        shown = mount.path("a.b2frame/chunks/0000000002")
        assert as_user(NOBODY, lambda: harness.read(shown)) in REFUSED


def a_plain_file_keeps_its_attributes(work):
    harness.needs_root()
    source = work + "/source"
    os.makedirs(source + "/folder")
    script = source + "/run"
    harness.write(script, b"#!/bin/sh\nexit 7\n")
    os.chmod(script, 0o755)
    long = bytes(range(256)) * 3
    for path in (script, source + "/folder"):
        os.setxattr(path, "user.note", b"hello")
        os.setxattr(path, "user.bloscfs.own", long)
        os.setxattr(path, "trusted.secret", b"mine")
    with Mount(work, source, "-o", "allow_other") as mount:
        equal(os.spawnl(os.P_WAIT, mount.path("run"), "run"), 7, "exit")
        for name in ("run", "folder"):
            path = mount.path(name)
            equal(sorted(os.listxattr(path)),
                  ["user.bloscfs.own", "user.note"])
            equal(os.getxattr(path, "user.note"), b"hello")
            equal(os.getxattr(path, "user.bloscfs.own"), long)
            for absent in ("user.none", "trusted.secret", "trusted.none",
                           "security.capability", "security.selinux"):
                fails_with(errno.ENODATA, os.getxattr, path, absent)
            fails_with(errno.EROFS, os.setxattr, path, "user.new", b"")


def a_folder_that_is_no_container_has_its_own_time(work):
    source = work + "/source"
    outside = work + "/outside"
    os.makedirs(source + "/d")
    os.mkdir(outside)
    harness.write(outside + "/sizes", b"{}")
    harness.write(outside + "/storage", b"{}")
    os.makedirs(source + "/e/meta")
    harness.write(source + "/e/meta/sizes", b"not a column")
    os.symlink(outside, source + "/d/meta")
    os.mkdir(source + "/d/data")
    for name in ("/sizes", "/storage"):
        os.utime(outside + name, (1e9, 1e9))
    os.utime(source + "/e/meta/sizes", (1e9, 1e9))
    for name, when in (("d", 1.1e9), ("e", 1.2e9)):
        os.utime(f"{source}/{name}", (when, when))
    with Mount(work, source) as mount:
        for name, when in (("d", 1.1e9), ("e", 1.2e9)):
            st = os.stat(mount.path(name))
            equal(st.st_mtime, when, f"time of {name}")
        equal(sorted(os.listdir(mount.path("d"))), ["data", "meta"])
        equal(os.readlink(mount.path("d/meta")), outside)


def a_part_that_is_a_symlink_is_not_followed(work):
    source = work + "/source"
    samples.write_sparse_frame(source + "/a.b2frame", DATA, CHUNK)
    write_column(source + "/col", list(range(3000)), 1000)
    os.rename(source + "/a.b2frame/00000001.chunk", work + "/chunk")
    os.symlink(work + "/chunk", source + "/a.b2frame/00000001.chunk")
    os.rename(source + "/col/data", work + "/data")
    os.symlink(work + "/data", source + "/col/data")
    with Mount(work, source) as mount:
        equal(harness.read(mount.path("a.b2frame/chunks/0000000000")),
              DATA[:CHUNK])
        fails_with(errno.EIO, harness.read,
                   mount.path("a.b2frame/chunks/0000000001"))
        # Without data it is no column.
        equal(sorted(os.listdir(mount.path("col"))), ["data", "meta"])


def deep_folder(source, n_levels, name):
    """Folders in folders, further down than a path is long."""
    fd = os.open(source, os.O_RDONLY)
    for _ in range(n_levels):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    return fd


def remove_deep(source, name):
    """shutil.rmtree does not get so far down."""
    while os.path.isdir(f"{source}/{name}"):
        fd = os.open(f"{source}/{name}", os.O_RDONLY)
        for entry in os.listdir(fd):
            if entry == name:
                os.rename(entry, source + "/next", src_dir_fd=fd)
            else:
                os.unlink(entry, dir_fd=fd)
        os.close(fd)
        os.rmdir(f"{source}/{name}")
        if os.path.isdir(source + "/next"):
            os.rename(source + "/next", f"{source}/{name}")


def check_deep(work, n_levels, name):
    source = work + "/source"
    os.mkdir(source)
    fd = deep_folder(source, n_levels, name)
    content = samples.frame(DATA, CHUNK)
    for file, data in (("leaf", b"leaf"), ("a.b2frame", content)):
        made = os.open(file, os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=fd)
        os.write(made, data)
        os.setxattr(made, "user.note", file.encode())
        os.close(made)
        os.utime(file, (1e9, 1e9), dir_fd=fd)
    os.symlink("leaf", "link", dir_fd=fd)
    os.close(fd)
    try:
        with Mount(work, source) as mount:
            fd = os.open(mount.point, os.O_RDONLY)
            for _ in range(n_levels):
                below = os.open(name, os.O_RDONLY, dir_fd=fd)
                os.close(fd)
                fd = below
            equal(sorted(os.listdir(fd)), ["a.b2frame", "leaf", "link"])
            equal(os.stat("leaf", dir_fd=fd).st_size, 4)
            equal(os.readlink("link", dir_fd=fd), "leaf")
            os.fchdir(fd)
            equal(harness.read("link"), b"leaf")
            equal(os.getxattr("leaf", "user.note"), b"leaf")
            equal(harness.read("a.b2frame/data.bin") == DATA, True, "bytes")
            assert os.access("leaf", os.R_OK)
            os.chdir("/")
            os.close(fd)
    finally:
        os.chdir("/")
        remove_deep(source, name)


def paths_may_be_longer_than_a_path(work):
    check_deep(work, 30, "e" * 200)


def trees_may_be_deep(work):
    check_deep(work, 2500, "dd")


def a_copy_can_be_removed(work):
    harness.needs_reach()
    source = work + "/source"
    os.mkdir(source)
    harness.write(source + "/a.b2frame", samples.frame(DATA, CHUNK))
    os.chmod(source + "/a.b2frame", 0o444)
    os.chown(source + "/a.b2frame", NOBODY, NOBODY)
    copies = work + "/copies"
    os.mkdir(copies)
    os.chown(copies, NOBODY, NOBODY)
    with Mount(work, source, "-o", "allow_other") as mount:
        def copy():
            status = os.spawnlp(os.P_WAIT, "cp", "cp", "-a",
                                mount.path("a.b2frame"), copies)
            status |= os.spawnlp(os.P_WAIT, "rm", "rm", "-r",
                                 copies + "/a.b2frame")
            if status:
                raise OSError(errno.EPERM, "cp or rm")

        equal(as_user(NOBODY, copy), 0, "errno")


if __name__ == "__main__":
    namespace.enter()
    harness.main([
        a_mount_gives_what_the_source_gives,
        where_lists_cannot_be_judged_modes_say_less,
        options_only_narrow,
        modes_and_lists_are_the_sources_own,
        folders_of_containers_may_be_entered_by_readers,
        rights_that_change_are_followed,
        a_chunk_that_became_private_is_not_read,
        thousands_of_long_lists_do_not_hold_up_a_look,
        a_plain_file_keeps_its_attributes,
        a_folder_that_is_no_container_has_its_own_time,
        a_part_that_is_a_symlink_is_not_followed,
        paths_may_be_longer_than_a_path,
        trees_may_be_deep,
        a_copy_can_be_removed,
    ])
