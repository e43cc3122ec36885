#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""keep: containers stay what they are, directories lie beside them."""
import ctypes
import errno
import os
import stat

import harness
import samples
from harness import Mount, equal, fails_with, read

DATA = samples.noise(5000)
FRAME = samples.frame(DATA, 1000)
OTHER = samples.frame(samples.noise(7000, 2), 1000)


def place(top, path, data):
    path = os.path.join(top, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    harness.write(path, data)


def kinds(mount, path=""):
    """Names and whether they are directories: the same from readdir, from
    readdirplus and from look-up, each once."""
    folder = mount.path(path)
    names = os.listdir(folder)
    equal(sorted(set(names)), sorted(names), "each name once")
    with os.scandir(folder) as entries:
        found = {entry.name: (entry.is_dir(follow_symlinks=False),
                              entry.inode()) for entry in entries}
    equal(sorted(found), sorted(names))
    for name, (is_dir, number) in found.items():
        st = os.lstat(os.path.join(folder, name))
        equal((stat.S_ISDIR(st.st_mode), st.st_ino),
              (is_dir, number), name)
    numbers = [number for _, number in found.values()]
    equal(len(set(numbers)), len(numbers), "numbers")
    return {name: is_dir for name, (is_dir, _) in found.items()}


def is_frame(mount, path, data=DATA):
    equal(read(mount.path(path, "data.bin")), data, path)
    return "info.json" in os.listdir(mount.path(path))


def a_file_and_its_directory_lie_side_by_side(work):
    source = os.path.join(work, "source")
    place(source, "a.b2nd", FRAME)
    place(source, "sub/c.dat", FRAME)
    place(source, "text.txt", b"text")
    place(source, "none.b2nd", b"no container")
    place(source, "x.d", b"somebody's")
    os.symlink("a.b2nd", source + "/link")
    os.mkfifo(source + "/fifo.b2nd")
    with Mount(work, source, "--keep") as mount:
        # By name first: nothing was listed yet.
        assert is_frame(mount, "a.b2nd.d")
        equal(kinds(mount), {"a.b2nd": False, "a.b2nd.d": True, "sub": True,
                             "text.txt": False, "none.b2nd": False,
                             "x.d": False, "link": False})
        equal(kinds(mount, "sub"), {"c.dat": False, "c.dat.d": True})
        for path in ("a.b2nd", "sub/c.dat", "text.txt", "none.b2nd", "x.d",
                     "link"):
            equal(read(mount.path(path)), read(os.path.join(source, path)))
        assert is_frame(mount, "sub/c.dat.d")
        for name in ("text.txt.d", "none.b2nd.d", "a.b2nd.d.d", "a.b2nd.d%~2",
                     "a.b2nd.d%~1", "a.b2nd.d%~02", "link.d", "..d", "...d",
                     ".d", "sub.d", "d", "x", "fifo.b2nd", "fifo.b2nd.d",
                     "a.b2nd%~2", "%~2", ".d%~2", "nothing.d"):
            assert not os.path.lexists(mount.path(name)), name
        for name in ("a.b2nd", "a.b2nd.d/data.bin"):
            fails_with(errno.EROFS, os.open, mount.path(name), os.O_WRONLY)
    with Mount(work, source) as mount:
        equal(kinds(mount), {"a.b2nd": True, "sub": True, "text.txt": False,
                             "none.b2nd": False, "x.d": False, "link": False})


def a_name_that_the_source_has_is_the_sources(work):
    source = os.path.join(work, "source")
    place(source, "a", FRAME)
    place(source, "a.d", OTHER)
    place(source, "a.d.d%~2", b"")
    place(source, "b", FRAME)
    place(source, "b.d/in", b"in")
    place(source, "b.d%~2", b"2")
    place(source, "b.d%~4", b"4")
    place(source, "c", FRAME)
    os.mkfifo(source + "/c.d")
    with Mount(work, source, "--keep", "--attr_timeout=0") as mount:
        equal(kinds(mount), {
            "a": False, "a.d": False, "a.d%~2": True, "a.d.d": True,
            "a.d.d%~2": False, "b": False, "b.d": True, "b.d%~2": False,
            "b.d%~3": True, "b.d%~4": False, "c": False, "c.d": True})
        assert is_frame(mount, "a.d%~2")
        assert is_frame(mount, "a.d.d", samples.noise(7000, 2))
        assert is_frame(mount, "b.d%~3")
        assert is_frame(mount, "c.d")
        equal(os.listdir(mount.path("b.d")), ["in"])
        assert not os.path.lexists(mount.path("b.d%~5"))
        # Names move on as the source's do.
        os.unlink(source + "/a.d")
        equal(sorted(n for n in kinds(mount) if n[0] == "a"),
              ["a", "a.d", "a.d.d%~2"])
        assert is_frame(mount, "a.d")
        assert not os.path.lexists(mount.path("a.d%~2"))
        place(source, "a.d", b"again")
        equal(read(mount.path("a.d")), b"again")
        assert is_frame(mount, "a.d%~2")


def a_name_without_room_has_no_directory(work):
    source = os.path.join(work, "source")
    for length in (252, 253, 254, 255):
        place(source, "n" * length, FRAME)
    place(source, "m" * 253, FRAME)
    place(source, "m" * 253 + ".d", b"")
    with Mount(work, source, "--keep") as mount:
        equal(sorted(len(name) for name, is_dir in kinds(mount).items()
                     if is_dir), [254, 255])
        assert is_frame(mount, "n" * 253 + ".d")


def a_sparse_frame_stays_the_folder_that_it_is(work):
    source = os.path.join(work, "source")
    os.makedirs(source)
    samples.write_sparse_frame(source + "/s.b2frame", DATA, 1000)
    with Mount(work, source, "--keep") as mount:
        equal(kinds(mount), {"s.b2frame": True, "s.b2frame.d": True})
        assert is_frame(mount, "s.b2frame.d")
        equal(sorted(os.listdir(mount.path("s.b2frame"))),
              sorted(os.listdir(source + "/s.b2frame")))
        for name in os.listdir(source + "/s.b2frame"):
            equal(read(mount.path("s.b2frame", name)),
                  read(f"{source}/s.b2frame/{name}"))
    for single in ("/s.b2frame", "/f"):
        place(source, "f", FRAME)
        with Mount(work, source + single, "--keep") as mount:
            assert is_frame(mount, "")


def what_is_left_has_no_directory(work):
    source = os.path.join(work, "source")
    place(source, "z.zarr/.zgroup", b"{}")
    place(source, "z.zarr/x.b2nd", FRAME)
    place(source, "no.b2nd", FRAME)
    place(source, "yes.b2nd", FRAME)
    with Mount(work, source, "--keep", "--exclude=no*") as mount:
        equal(kinds(mount), {"z.zarr": True, "no.b2nd": False,
                             "yes.b2nd": False, "yes.b2nd.d": True})
        assert not os.path.lexists(mount.path("no.b2nd.d"))
        assert not os.path.lexists(mount.path("z.zarr/x.b2nd.d"))
        equal(kinds(mount, "z.zarr"), {".zgroup": False, "x.b2nd": False})
    with_it = harness.run("--check", "--keep", source)
    equal(with_it.stdout, harness.run("--check", source).stdout)


def both_are_as_the_source_has_them(work):
    source = os.path.join(work, "source")
    place(source, "a", FRAME)
    os.chmod(source + "/a", 0o640)
    os.utime(source + "/a", (1, 1234567890))
    with open(source + "/a", "r+b") as file:
        file.truncate(1 << 20)
        os.utime(source + "/a", (1, 1234567890))
    place(source, "b", FRAME)
    os.chmod(source + "/b", 0o600)
    try:
        os.setxattr(source + "/b", "user.mine", b"yes")
        has_attributes = True
    except OSError:
        has_attributes = False
    with Mount(work, source, "--keep") as mount:
        st = os.stat(mount.path("a"))
        mine = os.stat(source + "/a")
        equal((st.st_mode, st.st_size, st.st_blocks, st.st_mtime, st.st_uid),
              (mine.st_mode, mine.st_size, mine.st_blocks, mine.st_mtime,
               mine.st_uid))
        equal(os.stat(mount.path("b")).st_mode & 0o777, 0o600)
        equal(os.stat(mount.path("b.d")).st_mode & 0o777, 0o700)
        equal(os.stat(mount.path("b.d/data.bin")).st_mode & 0o777, 0o600)
        if has_attributes:
            equal(os.getxattr(mount.path("b"), "user.mine"), b"yes")
        assert "user.bloscfs.format" in os.listxattr(mount.path("b.d"))
        numbers = [os.stat(mount.path(name)).st_ino
                   for name in ("a", "b", "b.d", "b.d/data.bin")]
        with open(mount.path(".bloscfs/config"), encoding="utf-8") as file:
            assert "keep=yes\n" in file.readlines()
    with Mount(work, source, "--keep") as mount:
        equal([os.stat(mount.path(name)).st_ino
               for name in ("a", "b", "b.d", "b.d/data.bin")], numbers)


def a_change_of_the_source_counts_for_both(work):
    source = os.path.join(work, "source")
    place(source, "a", FRAME)
    with Mount(work, source, "--keep", "--attr_timeout=0") as mount:
        assert is_frame(mount, "a.d")
        equal(read(mount.path("a")), FRAME)
        place(source, "a", OTHER)
        assert is_frame(mount, "a.d", samples.noise(7000, 2))
        equal(read(mount.path("a")), OTHER)
        place(source, "a", b"nothing")
        equal(read(mount.path("a")), b"nothing")
        equal(kinds(mount), {"a": False})
        assert not os.path.lexists(mount.path("a.d"))
        os.unlink(source + "/a")
        place(source, "a/x", b"a folder")
        equal(kinds(mount), {"a": True})
        place(source, "b", FRAME)
        assert is_frame(mount, "b.d")
        os.unlink(source + "/b")
        assert not os.path.lexists(mount.path("b.d"))
        equal(kinds(mount), {"a": True})


class Dirent(ctypes.Structure):
    _fields_ = [("ino", ctypes.c_uint64), ("off", ctypes.c_int64),
                ("length", ctypes.c_ushort), ("type", ctypes.c_ubyte),
                ("name", ctypes.c_char * 256)]


LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.opendir.restype = LIBC.readdir.restype = ctypes.c_void_p
LIBC.opendir.argtypes = [ctypes.c_char_p]
LIBC.readdir.argtypes = LIBC.closedir.argtypes = [ctypes.c_void_p]
LIBC.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]


def read_on(stream):
    """(name, the offset behind it) of all that follow."""
    while True:
        at = LIBC.readdir(stream)
        if not at:
            return
        entry = ctypes.cast(at, ctypes.POINTER(Dirent)).contents
        yield os.fsdecode(entry.name), entry.off


def a_listing_goes_on_from_any_entry(work):
    """Offsets of the last entries and of those long ago, more than are
    remembered one by one."""
    source = os.path.join(work, "source")
    os.makedirs(source)
    n_files = 3000
    place(source, "f0", FRAME)
    for i in range(1, n_files):
        os.link(source + "/f0", f"{source}/f{i}")
    with Mount(work, source, "--keep") as mount:
        stream = LIBC.opendir(os.fsencode(mount.point))
        found = list(read_on(stream))
        names = [name for name, _ in found]
        wanted = [".", ".."] + [f"f{i}" + end for i in range(n_files)
                                for end in ("", ".d")]
        equal(sorted(names), sorted(wanted))
        for i in [0, 1, 2, 3, 4, 5, 6, 7, 100, 101, 2998, 2999, 4500, 4501,
                  5990, 5991, 5999, 6000, 6001]:
            LIBC.seekdir(stream, found[i][1])
            equal([name for name, _ in read_on(stream)], names[i + 1:], i)
        LIBC.closedir(stream)
        # The same of another opening of the folder.
        stream = LIBC.opendir(os.fsencode(mount.point))
        LIBC.seekdir(stream, found[4000][1])
        equal([name for name, _ in read_on(stream)], names[4001:])
        LIBC.closedir(stream)
        # What is taken away behind a listing leaves all others in it.
        stream = LIBC.opendir(os.fsencode(mount.point))
        entries = read_on(stream)
        seen = [next(entries)[0] for _ in range(1000)]
        gone = {name for name in seen if name[0] == "f" and
                not name.endswith(".d")}
        for name in gone - {"f0"}:
            os.unlink(f"{source}/{name}")
        seen += [name for name, _ in entries]
        equal(sorted(name for name in set(seen)), sorted(seen), "once")
        equal({name for name in wanted
               if name.removesuffix(".d") not in gone} - set(seen), set())
        LIBC.closedir(stream)


def without_it_no_name_costs_more(work):
    """By what the daemon reads: with it, what NAME.d would be of is looked
    into."""
    source = os.path.join(work, "source")
    place(source, "a", b"no container" * 100)

    def reads(mount, name):
        before = mount.counts()["syscr"]
        for _ in range(50):
            assert not os.path.lexists(mount.path(name))
        return mount.counts()["syscr"] - before

    with Mount(work, source, "--attr_timeout=0") as mount:
        reads(mount, "b")
        equal(reads(mount, "a.d"), reads(mount, "a.x"))
    with Mount(work, source, "--attr_timeout=0", "--keep") as mount:
        reads(mount, "b")
        assert reads(mount, "a.d") > reads(mount, "a.x")
        equal(reads(mount, "b.d"), reads(mount, "b.x"))


if __name__ == "__main__":
    harness.main([
        a_file_and_its_directory_lie_side_by_side,
        a_name_that_the_source_has_is_the_sources,
        a_name_without_room_has_no_directory,
        a_sparse_frame_stays_the_folder_that_it_is,
        what_is_left_has_no_directory,
        both_are_as_the_source_has_them,
        a_change_of_the_source_counts_for_both,
        a_listing_goes_on_from_any_entry,
        without_it_no_name_costs_more,
    ])
