#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What programs may count on beside the bytes: sizes, places in listings,
file handles, and what it costs to ask."""
import contextlib
import ctypes
import errno
import os
import stat
import struct
import subprocess
import time

import harness
import samples
from harness import (NOBODY, Mount, as_user, equal, fails_with,
                     wait_until)

DATA = samples.noise(200000)
CHUNK = 20000
ZEROS = struct.unpack("<q", struct.pack("<Q", 0x81 << 56))[0]
MANY = 1000000
LIBC = ctypes.CDLL(None, use_errno=True)


class Handle(ctypes.Structure):
    """struct file_handle"""
    _fields_ = [("size", ctypes.c_uint), ("type", ctypes.c_int),
                ("bytes", ctypes.c_ubyte * 128)]


def handle_of(path):
    handle, mount_id = Handle(size=128), ctypes.c_int()
    if LIBC.name_to_handle_at(-100, os.fsencode(path), ctypes.byref(handle),
                              ctypes.byref(mount_id), 0):
        raise OSError(ctypes.get_errno(), "name_to_handle_at")
    return handle


def open_handle(mount_fd, handle):
    fd = LIBC.open_by_handle_at(mount_fd, ctypes.byref(handle), os.O_RDONLY)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "open_by_handle_at")
    return fd


def make_source(work, **frames):
    source = os.path.join(work, "source")
    os.mkdir(source)
    harness.write(source + "/a.b2frame", samples.frame(DATA, CHUNK))
    harness.write(source + "/plain", b"plain")
    for name, content in frames.items():
        harness.write(f"{source}/{name}.b2frame", content)
    # What was just written may be opened twice.
    for name in os.listdir(source):
        os.utime(f"{source}/{name}", (1e9, 1e9))
    return source


def zeros_frame():
    """A million chunks of one byte, none of them stored."""
    return samples.assemble(bytes(MANY), 1, [], [ZEROS] * MANY, False)


def drop_inodes():
    subprocess.run(["sync"], check=True, timeout=60)
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("2")


def file_handles_survive_dropped_caches(work):
    harness.needs_root()
    with Mount(work, make_source(work)) as mount:
        names = ["", "plain", "a.b2frame", "a.b2frame/chunks",
                 "a.b2frame/chunks/0000000003", "a.b2frame/data.bin"]
        known = [(handle_of(mount.path(name)), os.stat(mount.path(name)))
                 for name in names]
        mount_fd = os.open(mount.point, os.O_RDONLY)
        drop_inodes()
        for name, (handle, before) in zip(names, known):
            fd = open_handle(mount_fd, handle)
            now = os.fstat(fd)
            equal((now.st_ino, now.st_mode, now.st_size),
                  (before.st_ino, before.st_mode, before.st_size), name)
            if name.endswith("3"):
                equal(os.pread(fd, CHUNK, 0) == DATA[3 * CHUNK:4 * CHUNK],
                      True, "bytes")
            if name == "a.b2frame/chunks":
                above = os.stat("..", dir_fd=fd)
                equal(above.st_ino, known[2][1].st_ino, "parent")
            os.close(fd)
        os.close(mount_fd)


def a_handle_of_what_is_gone_is_stale(work):
    harness.needs_root()
    source = make_source(work)
    with Mount(work, source, "--attr_timeout=0.1") as mount:
        handles = [handle_of(mount.path(name))
                   for name in ("plain", "a.b2frame/data.bin")]
        mount_fd = os.open(mount.point, os.O_RDONLY)
        os.unlink(source + "/plain")
        os.unlink(source + "/a.b2frame")
        # What the kernel was told is good for a moment yet.
        wait_until(lambda: not os.path.exists(mount.path("plain")) and
                   not os.path.exists(mount.path("a.b2frame")))
        drop_inodes()
        for handle in handles:
            fails_with(errno.ESTALE, open_handle, mount_fd, handle)
        os.close(mount_fd)


def every_way_to_ask_for_attributes_gives_the_same(work):
    with Mount(work, make_source(work), "--attr_timeout=0") as mount:
        seen = 0
        for folder, _, _ in harness.walk(mount.point):
            for entry in os.scandir(folder):
                listed = entry.stat(follow_symlinks=False)
                looked = os.lstat(entry.path)
                fd = os.open(entry.path, os.O_RDONLY)
                opened = os.fstat(fd)
                os.close(fd)
                for one in (looked, opened):
                    equal(one, listed, entry.path)
                if stat.S_ISREG(listed.st_mode):
                    equal(len(harness.read(entry.path)), listed.st_size,
                          entry.path)
                seen += 1
        assert seen > 15


def a_place_in_a_listing_can_be_returned_to(work):
    LIBC.opendir.restype = LIBC.readdir.restype = ctypes.c_void_p
    LIBC.telldir.restype = ctypes.c_long
    LIBC.telldir.argtypes = LIBC.readdir.argtypes = [ctypes.c_void_p]
    LIBC.closedir.argtypes = [ctypes.c_void_p]
    LIBC.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]

    def next_name(listing):
        entry = LIBC.readdir(listing)
        # d_ino, d_off, d_reclen, d_type, d_name
        return entry and ctypes.string_at(entry + 19).decode()

    with Mount(work, make_source(work, many=zeros_frame())) as mount:
        listing = LIBC.opendir(os.fsencode(
            mount.path("many.b2frame/chunks")))
        places = []
        for number in range(20000):
            at = LIBC.telldir(listing)
            name = next_name(listing)
            if number > 1:
                equal(name, f"{number - 2:010d}")
                places.append((at, name))
        for at, name in places[::-997] + places[::1013]:
            LIBC.seekdir(listing, at)
            equal(next_name(listing), name, f"name at {at}")
        LIBC.closedir(listing)


def a_million_entries_take_little_memory_and_time(work):
    source = make_source(work, many=zeros_frame())
    with Mount(work, source) as mount:
        chunks = mount.path("many.b2frame/chunks")
        os.stat(chunks)
        before, start = mount.memory(), time.monotonic()
        found = subprocess.run(["find", chunks], check=True, timeout=60,
                               capture_output=True).stdout
        took = time.monotonic() - start
        equal(found.count(b"\n"), MANY + 1, "entries")
        grown = mount.memory() - before
        harness.below(grown, 20 << 20, "growth")
        assert took < 30, f"{took} s"


def a_name_among_a_million_is_found_at_once(work):
    source = make_source(work, many=zeros_frame())
    with Mount(work, source) as mount:
        chunks = mount.path("many.b2frame/chunks/")
        equal(os.stat(chunks + "0000999999").st_size, 1, "size")
        for name in ("0001000000", "999999", "00000999999", "0000999999 "):
            fails_with(errno.ENOENT, os.stat, chunks + name)
        before = mount.counts()
        for number in range(1000):
            os.stat(f"{chunks}{number * 997:010d}")
        after = mount.counts()
        equal(after["syscw"] - before["syscw"] < 1100, True, "few answers")
        assert after["rchar"] - before["rchar"] < 1 << 20


def stat_of(mount, row):
    """A number that the daemon counts itself."""
    for line in harness.read(mount.path(".bloscfs/stats")).splitlines():
        if line.startswith(row + b" "):
            return int(line.split()[1])
    raise AssertionError(f"stats have no {row}")


def xattr_requests(mount):
    """How often the daemon was asked for attributes."""
    return stat_of(mount, b'bloscfs_requests_total{kind="xattr"}')


def long_listing(mount, name, count):
    """ "ls -l" of a frame's chunks: what the daemon read for it."""
    before = mount.counts()
    shown = subprocess.run(["ls", "-l", mount.path(name, "chunks")],
                           check=True, timeout=60, capture_output=True)
    equal(shown.stdout.count(b"\n"), count + 1, "lines")
    equal(shown.stderr, b"", "errors")
    after = mount.counts()
    # Newer ones ask for the attributes of each entry: that is a request, which
    # is less than a hundred bytes, and nothing else.
    asked = xattr_requests(mount)
    return (after["rchar"] - before["rchar"] - 100 * asked,
            after["syscr"] - before["syscr"] - asked)


def a_long_listing_of_damaged_chunks_reads_the_index_alone(work):
    count, length = 100000, 100
    frame = bytearray(samples.frame(samples.noise(count * length), length))
    end = samples.chunk_offset(count, length)
    frame[samples.HEADER_LEN:end] = b"\xaa" * (end - samples.HEADER_LEN)
    with Mount(work, make_source(work, bad=frame)) as mount:
        n_bytes, n_reads = long_listing(mount, "bad.b2frame", count)
        assert n_bytes < 3 * 8 * count, f"{n_bytes} bytes were read"
        assert n_reads < count / 10, f"{n_reads} reads"


def a_long_listing_of_varying_chunks_reads_their_headers(work):
    count = 5000
    pieces = [samples.chunk(samples.noise(900 + i % 7, i))
              for i in range(count)]
    entries, at = [], 0
    for piece in pieces:
        entries.append(at)
        at += len(piece)
    # The headers hold, what is behind them does not matter.
    broken = [piece[:32] + b"\xaa" * (len(piece) - 32) for piece in pieces]
    frame = samples.assemble(b"\0" * (at - 32 * count), 0, broken, entries,
                             False)
    with Mount(work, make_source(work, bad=frame)) as mount:
        n_bytes, n_reads = long_listing(mount, "bad.b2frame", count)
        # Headers that lie this close are walked in windows, once. A request
        # that took too long of the processor, as on a busy machine, is begun
        # anew by a slow thread, which walks them again.
        again = stat_of(mount, b"bloscfs_slow_requests_total")
        assert n_bytes < at * (1 + min(again, 1)) + 200 * count, \
            f"{n_bytes} bytes were read, {again} requests begun anew"
        assert n_reads < 1.5 * count, f"{n_reads} reads"
        folder = mount.path("bad.b2frame/chunks/")
        equal(os.stat(folder + "0000000005").st_size, 905, "size")


def listing_the_attributes_of_damaged_chunks_reads_nothing(work):
    """As "ls -l" does for every entry, in coreutils of 9.4 and later."""
    count, length = 5000, 100
    frame = bytearray(samples.frame(samples.noise(count * length), length))
    end = samples.chunk_offset(count, length)
    frame[samples.HEADER_LEN:end] = b"\xaa" * (end - samples.HEADER_LEN)
    with Mount(work, make_source(work, bad=frame)) as mount:
        chunks = mount.path("bad.b2frame", "chunks") + "/"
        names = os.listdir(chunks)
        equal(len(names), count, "chunks")

        def ask_each(call, *args):
            """How often the daemon read when each chunk was asked."""
            before = mount.counts()["syscr"]
            for name in names:
                with contextlib.suppress(OSError):
                    call(chunks + name, *args)
            return mount.counts()["syscr"] - before

        # A label is refused by its name alone: that is what requests cost.
        ask_each(os.stat)
        requests = ask_each(os.getxattr, "security.selinux")
        assert requests >= count, requests
        reads = ask_each(os.listxattr)
        assert reads < requests + count / 10, f"{reads} reads, {requests}"
        equal(os.listxattr(chunks + names[0]), ["user.bloscfs.chunk"])
        fails_with(errno.ENODATA, os.getxattr, chunks + names[0],
                   "user.bloscfs.chunk")


def labels_and_lists_of_rights_are_not_looked_for(work):
    with Mount(work, make_source(work)) as mount:
        path = mount.path("a.b2frame/chunks/0000000003")
        for name in ("security.selinux", "trusted.x", "security.capability"):
            fails_with(errno.ENODATA, os.getxattr, path, name)
        for name in ("user.other", "user.bloscfs.none"):
            fails_with(errno.ENODATA, os.getxattr, path, name)
        # Nobody judges by lists here, and the entry has none.
        for name in ("system.posix_acl_access", "system.posix_acl_default"):
            fails_with(errno.EOPNOTSUPP, os.getxattr, path, name)
        before = mount.counts()
        for _ in range(100):
            with contextlib.suppress(OSError):
                os.getxattr(path, "security.selinux")
        after = mount.counts()
        # A request each, and no look at the source or at the chunk.
        assert after["syscr"] - before["syscr"] < 210


def lists_of_rights_are_asked_for_once(work):
    """By a program that lists files, where nobody judges by them."""
    count = 500
    frame = samples.frame(samples.noise(10 * count), 10)
    with Mount(work, make_source(work, c=frame)) as mount:
        before = xattr_requests(mount)
        long_listing(mount, "c.b2frame", count)
        asked = xattr_requests(mount) - before
        # That of coreutils 9.4 itself asks twice about each.
        version = subprocess.run(["ls", "--version"], check=True, text=True,
                                 capture_output=True).stdout.split("\n")[0]
        times = 2.2 if version.endswith(" 9.4") else 1.2
        assert asked < times * count, f"{asked} requests"


def without_xattrs_the_kernel_asks_once(work):
    with Mount(work, make_source(work), "-o", "noxattr") as mount:
        path = mount.path("a.b2frame")
        fails_with(errno.EOPNOTSUPP, os.getxattr, path, "user.bloscfs.codec")
        with contextlib.suppress(OSError):
            os.listxattr(path)
        before = mount.counts()["syscw"]
        for _ in range(50):
            fails_with(errno.EOPNOTSUPP, os.getxattr, path,
                       "user.bloscfs.codec")
            fails_with(errno.EOPNOTSUPP, os.listxattr, path)
        equal(mount.counts()["syscw"] - before, 0, "answers")


def attributes_are_short(work):
    with Mount(work, make_source(work)) as mount:
        for folder, folders, files in harness.walk(mount.path("a.b2frame")):
            for name in [""] + folders + files:
                path = os.path.join(folder, name)
                values = [os.getxattr(path, xattr)
                          for xattr in os.listxattr(path)]
                assert len(values) <= 6, values
                assert all(len(value) < 500 for value in values), values


def the_filesystem_is_as_large_as_its_source_and_read_only(work):
    with Mount(work, make_source(work)) as mount:
        info = os.statvfs(mount.path("a.b2frame/data.bin"))
        own = os.statvfs(work)
        equal((info.f_blocks, info.f_files), (own.f_blocks, own.f_files),
              "the size of what the source lies on")
        equal(info.f_namemax, 255, "longest name")
        for flag in (os.ST_RDONLY, os.ST_NOSUID, os.ST_NODEV):
            assert info.f_flag & flag, info
        fails_with(errno.ENAMETOOLONG, os.stat, mount.path("x" * 256))


def access_says_what_open_would(work):
    with Mount(work, make_source(work)) as mount:
        data, folder = mount.path("a.b2frame/data.bin"), \
            mount.path("a.b2frame")
        for path in (data, folder, mount.path("plain"), mount.point):
            assert os.access(path, os.R_OK), path
            assert not os.access(path, os.W_OK), path
        assert os.access(folder, os.X_OK)
        assert not os.access(data, os.X_OK)


def attributes_cannot_be_set(work):
    with Mount(work, make_source(work)) as mount:
        for name in ("a.b2frame", "a.b2frame/data.bin", "plain"):
            path = mount.path(name)
            fails_with(errno.EROFS, os.setxattr, path, "user.x", b"y")
            fails_with(errno.EROFS, os.removexattr, path, "user.x")
            fails_with(errno.EROFS, os.chown, path, 1, 1)
            fails_with(errno.EROFS, os.mknod, path + ".new")
        fails_with(errno.EROFS, os.open, mount.point,
                   os.O_TMPFILE | os.O_RDWR)


def the_mask_of_a_mount_holds_for_files_and_folders(work):
    source = make_source(work)
    os.chmod(source + "/a.b2frame", 0o644)
    os.chmod(source + "/plain", 0o644)
    for options, file_mode, folder_mode in (
            ("umask=077", 0o600, 0o700), ("fmask=7", 0o640, 0o755),
            ("dmask=2", 0o644, 0o755), ("umask=7,dmask=077", 0o640, 0o700)):
        with Mount(work, source, "-o", options) as mount:
            for name, mode in (("a.b2frame", folder_mode),
                               ("a.b2frame/chunks", folder_mode),
                               ("a.b2frame/data.bin", file_mode),
                               ("plain", file_mode)):
                got = stat.S_IMODE(os.stat(mount.path(name)).st_mode)
                equal(oct(got), oct(mode), f"mode of {name}, {options}")


def links_of_a_tree_lead_where_they_did(work):
    source = make_source(work)
    os.mkdir(source + "/sub")
    os.symlink("../a.b2frame", source + "/sub/up")
    os.symlink("sub/up/data.bin", source + "/through")
    os.symlink("loop", source + "/loop")
    with Mount(work, source) as mount:
        equal(harness.read(mount.path("sub/up/data.bin")) == DATA, True)
        fails_with(errno.ENOTDIR, os.stat, source + "/through")
        equal(harness.read(mount.path("through")) == DATA, True)
        fails_with(errno.ELOOP, os.stat, mount.path("loop"))
        equal(os.lstat(mount.path("sub/up")).st_size, len("../a.b2frame"))


def handles_need_no_right_of_their_own(work):
    """A file handle that an ordinary user shows is refused by the kernel."""
    harness.needs_root()
    with Mount(work, make_source(work), "-oallow_other") as mount:
        handle = handle_of(mount.path("plain"))
        mount_fd = os.open(mount.point, os.O_RDONLY)
        equal(as_user(NOBODY, lambda: open_handle(mount_fd, handle)),
              errno.EPERM, "errno")
        os.close(mount_fd)


if __name__ == "__main__":
    harness.main([
        file_handles_survive_dropped_caches,
        a_handle_of_what_is_gone_is_stale,
        every_way_to_ask_for_attributes_gives_the_same,
        a_place_in_a_listing_can_be_returned_to,
        a_million_entries_take_little_memory_and_time,
        a_name_among_a_million_is_found_at_once,
        a_long_listing_of_damaged_chunks_reads_the_index_alone,
        a_long_listing_of_varying_chunks_reads_their_headers,
        listing_the_attributes_of_damaged_chunks_reads_nothing,
        labels_and_lists_of_rights_are_not_looked_for,
        lists_of_rights_are_asked_for_once,
        without_xattrs_the_kernel_asks_once,
        attributes_are_short,
        the_filesystem_is_as_large_as_its_source_and_read_only,
        access_says_what_open_would,
        attributes_cannot_be_set,
        the_mask_of_a_mount_holds_for_files_and_folders,
        links_of_a_tree_lead_where_they_did,
        handles_need_no_right_of_their_own,
    ])
