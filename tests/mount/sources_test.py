#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Several sources side by side in one mount."""
import errno
import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import zipfile

import harness
import private
import samples
from harness import BLOSCFS, Mount, equal, fails_with, read, run

DATA = samples.noise(50000)
OTHER = samples.noise(30000, 2)


def make_folder(path, data=DATA):
    """A folder with a frame below it, x.b2frame, and a plain file."""
    os.makedirs(path + "/sub")
    harness.write(path + "/sub/x.b2frame", samples.frame(data, 10000))
    harness.write(path + "/plain", b"plain")
    return path


def make_point(work, name="point"):
    os.mkdir(f"{work}/{name}")
    return f"{work}/{name}"


def is_frame(path, data=DATA):
    equal(hashlib.sha256(read(path + "/data.bin")).hexdigest(),
          hashlib.sha256(data).hexdigest(), path)


def look(path):
    """What a program sees of an entry, without its number and place."""
    st = os.lstat(path)
    seen = [st.st_mode, st.st_size, st.st_nlink, st.st_uid, st.st_mtime_ns,
            st.st_blocks, st.st_blksize]
    if stat.S_ISREG(st.st_mode):
        seen.append(digest(path))
    if stat.S_ISLNK(st.st_mode):
        seen.append(os.readlink(path))
    else:
        seen.append({name: os.getxattr(path, name)
                     for name in os.listxattr(path)})
    return seen


def digest(path):
    """Of what it holds, or the errno."""
    try:
        return hashlib.sha256(read(path)).hexdigest()
    except OSError as error:
        return error.errno


def tree(top):
    found = {}
    for folder, folders, files in harness.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, top)] = look(path)
    return found


def make_all_kinds(top):
    make_folder(top + "/folder")
    os.symlink("plain", top + "/folder/link")
    harness.write(top + "/plain.txt", b"text")
    harness.write(top + "/one.b2frame", samples.frame(DATA, 10000))
    samples.write_sparse_frame(top + "/sparse.b2frame", DATA, 10000)
    for name in ("good-store.b2z", "good-store.b2e", "good-blp1.blp",
                 "good-blosclz-shuffle.blosc2"):
        shutil.copy(os.path.join(harness.DATA, name), top)
    shutil.copytree(harness.DATA + "/good-store.b2d", top + "/store.b2d")
    with zipfile.ZipFile(harness.DATA + "/good-table-basic.b2z") as file:
        file.extractall(top + "/table.b2d")
    os.mkdir(top + "/column")
    samples.write_column(top + "/column", list(range(5000)), 1000)
    os.mkdir(top + "/store.zarr")
    harness.write(top + "/store.zarr/.zarray", b"{}")
    harness.write(top + "/store.zarr/0.0", samples.frame(DATA, 10000))


def each_is_what_it_is_in_a_folder(work):
    make_all_kinds(work + "/top")
    sources = [f"{work}/top/{name}" for name in os.listdir(work + "/top")]
    for options in (), ("--keep",), ("--views=all",):
        with Mount(work, work + "/top", *options) as one, \
                Mount(work, sources, *options) as many:
            wanted = tree(one.point)
            assert len(wanted) > 60, len(wanted)
            found = tree(many.point)
            equal(sorted(found), sorted(wanted), "names")
            for name, seen in found.items():
                equal(seen, wanted[name], name)


def each_has_its_own_name(work):
    make_folder(work + "/a")
    make_folder(work + "/b/inner")
    os.symlink("b/inner", work + "/linked")
    shutil.copy(work + "/a/plain", work + "/file")
    with Mount(work, [work + "/a/.", work + "/b/inner/..", work + "/a//",
                      work + "/linked", work + "/file", "/"]) as mount:
        equal(os.listdir(mount.point),
              ["a", "b", "a%~2", "linked", "file", "%2F"])
        is_frame(mount.path("a%~2/sub/x.b2frame"))
        is_frame(mount.path("linked/sub/x.b2frame"))
        is_frame(mount.path("%2F" + work + "/a/sub/x.b2frame"))
        equal(read(mount.path("file")), b"plain")
        fails_with(errno.ENOENT, os.stat, mount.path("c"))
        fails_with(errno.ENOTDIR, os.stat, mount.path("file/c"))
        fails_with(errno.EROFS, os.mkdir, mount.path("c"))
        fails_with(errno.EROFS, os.rmdir, mount.path("a"))


def equal_names_are_numbered(work):
    names = []
    for i, name in enumerate(("x.b2frame", "x.b2frame", "x.b2frame%~2",
                              "x.b2frame", "x.b2frame%~2")):
        os.mkdir(f"{work}/{i}")
        harness.write(f"{work}/{i}/{name}",
                      samples.frame(samples.noise(9000, i + 3), 3000))
        names.append(f"{work}/{i}/{name}")
    with Mount(work, names) as mount:
        shown = os.listdir(mount.point)
        equal(shown, ["x.b2frame", "x.b2frame%~2", "x.b2frame%~2%~2",
                      "x.b2frame%~3", "x.b2frame%~2%~3"])
        for i, name in enumerate(shown):
            is_frame(mount.path(name), samples.noise(9000, i + 3))
        equal(len({os.stat(mount.path(name)).st_ino for name in shown}), 5)
    long = work + "/" + "n" * 254
    harness.write(long, b"")
    result = run(long, long, make_point(work))
    equal(result.returncode, 3)
    assert "a short link" in result.stderr, result.stderr


def one_source_is_the_root_as_ever(work):
    make_folder(work + "/a")
    with Mount(work, [work + "/a"]) as mount:
        equal(sorted(os.listdir(mount.point)), ["plain", "sub"])
        _, _, source = harness.mount_line(mount.point)
        equal(source, work + "/a")
        config = read(mount.path(".bloscfs/config")).decode()
        assert config.startswith(f"source={work}/a\nmountpoint="), config


def many_are_listed_in_order_from_any_place(work):
    names = [f"{work}/{i:03}-{'n' * 100}" for i in range(400)]
    for name in names:
        harness.write(name, samples.frame(DATA[:100], 100))
    shown = [os.path.basename(name) for name in names]
    with Mount(work, names) as mount:
        equal(os.listdir(mount.point), shown)
        with os.scandir(mount.point) as entries:
            equal({entry.is_dir() for entry in entries}, {True})
        # What is opened while others are listed changes nothing.
        with os.scandir(mount.point) as entries:
            for entry, name in zip(entries, shown, strict=True):
                equal(entry.name, name)
                os.listdir(entry.path)
        equal(os.path.basename(mount.path(shown[-1])),
              shown[-1])
        is_frame(mount.path(shown[-1]), DATA[:100])
    # Files of one folder share a descriptor.
    with Mount(work, names, "--keep", files=(64, 64)) as mount:
        equal(os.listdir(mount.point),
              [x for name in shown for x in (name, name + ".d")])
        is_frame(mount.path(shown[-1] + ".d"), DATA[:100])
    folders = [make_point(work, f"d{i:03}") for i in range(400)]
    for options, files in ((), (2048, 2048)), (("--keep",), (512, 2048)):
        with Mount(work, folders, *options, files=files) as mount:
            equal(len(os.listdir(mount.point)), 400)
            for name in os.listdir(mount.point):
                equal(os.listdir(mount.path(name)), [])


def sources_may_hold_one_another_and_the_mount(work):
    private.needs_root()
    top = make_folder(work + "/top")
    point = make_point(work, "top/point")
    with Mount(work, [top, top + "/sub", top, point, top + "/sub/x.b2frame"],
               point=point) as mount:
        equal(os.listdir(point),
              ["top", "sub", "top%~2", "point", "x.b2frame"])
        private.command("find", point, "-print")
        equal(os.listdir(mount.path("top/point")), [])
        equal(os.listdir(mount.path("point")), [])
        for path in ("top/sub/x.b2frame", "sub/x.b2frame", "x.b2frame",
                     "top%~2/sub/x.b2frame"):
            is_frame(mount.path(path))
        equal(read(mount.path(".bloscfs/stats")).count(
            b"bloscfs_sources_lost 0"), 1)


def a_source_may_be_a_mount_of_bloscfs(work):
    top = make_folder(work + "/top")
    with Mount(work, top) as first, \
            Mount(work, [first.point, top,
                         first.path("sub/x.b2frame")]) as mount:
        name = os.path.basename(first.point)
        is_frame(mount.path("top/sub/x.b2frame"))
        # There it is a folder of plain files.
        is_frame(mount.path(name, "sub/x.b2frame"))
        is_frame(mount.path("x.b2frame"))


def what_cannot_be_opened_is_named_and_nothing_is_mounted(work):
    top, point = make_folder(work + "/top"), make_point(work)
    os.mkfifo(work + "/fifo")
    for words, code, said in (
            ([top, work + "/nowhere"], 3, "'" + work + "/nowhere' does not"),
            ([work + "/nowhere", top], 3, "nowhere"),
            ([top, work + "/fifo"], 3, "fifo"),
            ([top, "https://127.0.0.1:1/x.b2nd"], 2, "several sources"),
            (["s3://bucket/x", top], 2, "several sources"),
            (["--catalog=" + top + "/plain", top, top], 2, "several"),
            (["--offset=1", top, top + "/plain"], 2, "several sources"),
            (["--length=1", top, top + "/plain"], 2, "several sources")):
        result = run(*words, point)
        equal((result.returncode, result.stdout), (code, ""), result.stderr)
        equal(result.stderr.count("\n"), 1)
        assert said in result.stderr, result.stderr
        equal(harness.mounted(point), None, "mount")
    result = run("--mkdir", top, work + "/nowhere", work + "/made")
    equal(result.returncode, 3)
    assert not os.path.exists(work + "/made")


def removed(mount, name):
    """Waits until an entry is seen to be gone."""
    def is_gone():
        try:
            os.stat(mount.path(name))
        except OSError as error:
            return error.errno in (errno.ENOENT, errno.ESTALE)
        return False

    harness.wait_until(is_gone)


def a_removed_one_is_an_error_alone_and_told_once(work):
    a, b = make_folder(work + "/a"), make_folder(work + "/b", OTHER)
    harness.write(work + "/f.b2frame", samples.frame(DATA, 10000))
    with Mount(work, [a, b, work + "/f.b2frame"],
               "--attr_timeout=0") as mount:
        is_frame(mount.path("b/sub/x.b2frame"), OTHER)
        is_frame(mount.path("f.b2frame"))
        os.rename(b, work + "/c")
        os.rename(work + "/f.b2frame", work + "/g")
        removed(mount, "b")
        removed(mount, "f.b2frame")
        for _ in range(3):
            fails_with(errno.ENOENT, os.listdir, mount.path("b"))
            fails_with(errno.ENOENT, read, mount.path("b/sub/x.b2frame/"
                                                      "data.bin"))
            fails_with(errno.ENOENT, os.listdir, mount.path("f.b2frame"))
        # It is listed, so that it is missed.
        equal(os.listdir(mount.point), ["a", "b", "f.b2frame"])
        is_frame(mount.path("a/sub/x.b2frame"))
        assert b"bloscfs_sources_lost 2" in read(mount.path(
            ".bloscfs/stats"))
        equal(len(mount.log_lines("was removed or moved")), 2)
        os.rename(work + "/c", b)
        os.rename(work + "/g", work + "/f.b2frame")
        harness.wait_until(lambda: os.path.isdir(mount.path("b/sub")))
        harness.wait_until(lambda: os.path.isdir(mount.path("f.b2frame")))
        is_frame(mount.path("b/sub/x.b2frame"), OTHER)
        is_frame(mount.path("f.b2frame"))
        equal(len(mount.log_lines("is there again")), 2)
        shutil.rmtree(b)
        removed(mount, "b")
        is_frame(mount.path("a/sub/x.b2frame"))


def a_replaced_folder_is_an_error_and_a_replaced_file_is_shown(work):
    a, b = make_folder(work + "/a"), make_folder(work + "/b")
    frame = work + "/f.b2frame"
    harness.write(frame, samples.frame(DATA, 10000))
    with Mount(work, [a, b, frame], "--attr_timeout=0") as mount:
        is_frame(mount.path("b/sub/x.b2frame"))
        is_frame(mount.path("f.b2frame"))
        os.rename(b, work + "/old")
        make_folder(b, OTHER)
        harness.write(frame + ".new", samples.frame(OTHER, 10000))
        os.rename(frame + ".new", frame)
        harness.wait_until(lambda: len(read(
            mount.path("f.b2frame/data.bin"))) == len(OTHER))
        is_frame(mount.path("f.b2frame"), OTHER)
        fails_with(errno.ESTALE, os.stat, mount.path("b"))
        fails_with(errno.ESTALE, read, mount.path("b/plain"))
        is_frame(mount.path("a/sub/x.b2frame"))
        equal(len(mount.log_lines("was replaced")), 1)
        equal(len(mount.log_lines("removed")), 0)


def what_changes_below_one_is_followed(work):
    a, b = make_folder(work + "/a"), make_folder(work + "/b")
    with Mount(work, [a, b], "--attr_timeout=0") as mount:
        is_frame(mount.path("b/sub/x.b2frame"))
        harness.write(b + "/sub/new", samples.frame(OTHER, 10000))
        os.replace(b + "/sub/new", b + "/sub/x.b2frame")
        is_frame(mount.path("b/sub/x.b2frame"), OTHER)
        is_frame(mount.path("a/sub/x.b2frame"))
        os.mkdir(a + "/more")
        harness.write(a + "/more/y.b2frame", samples.frame(OTHER, 10000))
        os.utime(a + "/more/y.b2frame", (1e9, 1e9))
        is_frame(mount.path("a/more/y.b2frame"), OTHER)
        os.unlink(b + "/plain")
        fails_with(errno.ENOENT, os.stat, mount.path("b/plain"))


def the_sandbox_lets_in_each_and_nothing_else(work):
    a, b = make_folder(work + "/a"), make_folder(work + "/b/b", OTHER)
    harness.write(work + "/b/f.b2frame", samples.frame(DATA, 10000))
    told = run("--version").stdout
    has = "Landlock" in told and "no Landlock" not in told and \
        not harness.SANITIZED
    for mode in ("off", "on", "require") if has else ("off",):
        with Mount(work, [a, b, work + "/b/f.b2frame"],
                   "--sandbox=" + mode) as mount:
            is_frame(mount.path("a/sub/x.b2frame"))
            is_frame(mount.path("b/sub/x.b2frame"), OTHER)
            is_frame(mount.path("f.b2frame"))
            os.rename(a, work + "/old")
            make_folder(a, OTHER)
            removed(mount, "a")
            shutil.rmtree(a)
            os.rename(work + "/old", a)


def whoever_mounts_may_read(work):
    private.needs_root()
    harness.needs_reach()
    a, b = make_folder(work + "/a"), make_folder(work + "/b")
    private.let_all_open_the_device(work)
    os.chmod(b, 0o700)
    point = make_point(work)
    os.chown(point, harness.NOBODY, harness.NOBODY)
    result = run(a, b, point, user=harness.NOBODY)
    equal(result.returncode, 3, result.stderr)
    assert "'" + b + "'" in result.stderr, result.stderr
    os.chmod(b, 0o755)
    with Mount(work, [a, b, a + "/plain"], user=harness.NOBODY) as mount:
        def see():
            equal(os.listdir(mount.point), ["a", "b", "plain"])
            is_frame(mount.path("b/sub/x.b2frame"))
            assert os.access(mount.point, os.R_OK | os.X_OK)
            assert not os.access(mount.point, os.W_OK)
            read(mount.path(".bloscfs/config"))

        equal(harness.as_user(harness.NOBODY, see), 0)


def others_get_in_as_each_ones_modes_permit(work):
    harness.needs_root()
    a, b = make_folder(work + "/a"), make_folder(work + "/b")
    harness.write(work + "/own.b2frame", samples.frame(DATA, 10000))
    os.chmod(b, 0o700)
    os.chmod(work + "/own.b2frame", 0o600)
    with Mount(work, [a, b, work + "/own.b2frame"], "--allow_other",
               "--views=all") as mount:
        st = os.stat(mount.point)
        equal((stat.S_IMODE(st.st_mode), st.st_uid, st.st_gid),
              (0o755, os.geteuid(), os.getegid()))

        def see():
            equal(os.listdir(mount.point), ["a", "b", "own.b2frame"])
            is_frame(mount.path("a/sub/x.b2frame"))

        equal(harness.as_user(harness.NOBODY, see), 0)
        for path in "b", "own.b2frame":
            equal(harness.as_user(harness.NOBODY, lambda path=path:
                                  os.listdir(mount.path(path))),
                  errno.EACCES, path)
    with Mount(work, [a, b], "--uid=12", "--gid=13",
               "--dmask=027") as mount:
        st = os.stat(mount.point)
        equal((stat.S_IMODE(st.st_mode), st.st_uid, st.st_gid),
              (0o750, 12, 13))


def they_are_told(work):
    odd = work + "/a b,c:d\\e"
    a, b = make_folder(odd), make_folder(work + "/b/" +
                                         os.path.basename(odd))
    with Mount(work, [a, b]) as mount:
        lines = read(mount.path(".bloscfs/config")).decode().splitlines()
        spelt = a.replace("\\", "\\x5c")
        equal(lines[:5], [
            "source=" + spelt, "entry=" + os.path.basename(spelt),
            "source=" + b.replace("\\", "\\x5c"),
            "entry=" + os.path.basename(spelt) + "%~2",
            "mountpoint=" + mount.point])
        _, kind, source = harness.mount_line(mount.point)
        equal(kind, "fuse.bloscfs")
        told = source.replace("\\040", " ").replace("\\134", "\\")

        def quoted(path):
            return path.replace("\\", "\\\\").replace(":", "\\:")

        equal(told, quoted(a) + ":" + quoted(b))
        assert b"bloscfs_sources 2\n" in read(mount.path(".bloscfs/stats"))
        for name in os.path.basename(a), os.path.basename(a) + "%~2":
            is_frame(mount.path(name, "sub/x.b2frame"))
        harness.write(a + "/bad.b2frame",
                      samples.frame(DATA, 10000)[:20000])
        os.utime(a + "/bad.b2frame", (1e9, 1e9))
        os.listdir(mount.path(os.path.basename(a), "bad.b2frame"))
        errors = read(mount.path(".bloscfs/errors")).decode()
        assert "a b,c:d\\\\e/bad.b2frame" in errors, errors
    folders = [make_folder(f"{work}/{'l' * 200}{i}") for i in range(12)]
    with Mount(work, folders) as mount:
        _, _, source = harness.mount_line(mount.point)
        assert source.startswith(folders[0] + ":") and len(source) < 1100
        assert source.rpartition(":+")[2].isdigit(), source
        equal(len(os.listdir(mount.point)), 12)
    with Mount(work, [a, b], "--fsname=mine") as mount:
        equal(harness.mount_line(mount.point)[2], "mine")


def space_is_the_sum_of_their_file_systems(work):
    private.needs_root()
    a, b = make_folder(work + "/a"), make_folder(work + "/b")
    small = make_point(work, "small")
    private.command("mount", "-t", "tmpfs", "-o", "size=8M", "none", small)
    harness.write(small + "/f", bytes(1 << 20))
    own = os.statvfs(work)
    whole = own.f_blocks * own.f_frsize
    try:
        for sources, more in (([a, b], 0), ([a, small], 8 << 20),
                              ([small, b, small + "/f"], 8 << 20)):
            with Mount(work, sources) as mount:
                st = os.statvfs(mount.point)
                equal(st.f_blocks * st.f_frsize // 65536,
                      (whole + more) // 65536, str(sources))
        with Mount(work, [small + "/f", small + "/f"]) as mount:
            st = os.statvfs(mount.point)
            equal((st.f_blocks - st.f_bfree) * st.f_frsize, 2 << 20)
    finally:
        private.command("umount", "-l", small)


def it_goes_to_the_background_and_ends_as_ever(work):
    a, point = make_folder(work + "/a"), make_point(work)
    make_folder(work + "/b", OTHER)
    result = run("a", "./b/sub/..", "b/sub/x.b2frame", "point", cwd=work)
    equal((result.returncode, result.stderr), (0, ""))
    is_frame(point + "/a/sub/x.b2frame")
    is_frame(point + "/b/sub/x.b2frame", OTHER)
    is_frame(point + "/x.b2frame", OTHER)
    assert f"source={a}\n".encode() in read(point + "/.bloscfs/config")
    result = run("--unmount", point)
    equal((result.returncode, result.stderr), (0, ""))
    equal(harness.mounted(point), None)
    result = run("--idle_timeout=1", "--mkdir", "a", "b", "made", cwd=work)
    equal((result.returncode, result.stderr), (0, ""))
    harness.wait_until(lambda: not os.path.exists(work + "/made"))
    with Mount(work, [a, work + "/b"], "--restart") as mount:
        is_frame(mount.path("a/sub/x.b2frame"))
        os.kill(mount.pid, signal.SIGKILL)

        def serves():
            try:
                return os.listdir(mount.path("b"))
            except OSError:
                return False

        harness.wait_until(serves)
        is_frame(mount.path("b/sub/x.b2frame"), OTHER)


def globs_and_formats_see_names_without_numbers(work):
    names = []
    for i in range(2):
        for name in "x.b2frame", "y.chunk":
            os.makedirs(f"{work}/{i}", exist_ok=True)
            names.append(f"{work}/{i}/{name}")
        harness.write(names[-2], samples.frame(DATA, 10000))
        harness.write(names[-1], samples.chunk(DATA))
    with Mount(work, names) as mount:
        for name in os.listdir(mount.point):
            is_frame(mount.path(name))
    for option in "--exclude=x.b2frame", "--exclude=*.b2frame":
        with Mount(work, names, option) as mount:
            equal([os.path.isdir(mount.path(name))
                   for name in os.listdir(mount.point)],
                  [False, True, False, True], option)
    make_folder(work + "/a")
    with Mount(work, [work + "/a", names[0]],
               "--exclude=a/*") as mount:
        assert os.path.isfile(mount.path("a/sub/x.b2frame"))
        is_frame(mount.path("x.b2frame"))


def stores_of_others_are_left_in_each(work):
    store = work + "/store.zarr"
    os.makedirs(store + "/inner")
    harness.write(store + "/.zgroup", b"{}")
    frame = samples.frame(DATA, 10000)
    harness.write(store + "/0.0", frame)
    harness.write(store + "/inner/x.b2frame", frame)
    a = make_folder(work + "/a")
    with Mount(work, [store, a, store + "/inner"]) as mount:
        equal(read(mount.path("store.zarr/0.0")), frame)
        equal(read(mount.path("inner/x.b2frame")), frame)
        is_frame(mount.path("a/sub/x.b2frame"))
        equal(len(mount.log_lines("lies in a store")), 2)
    with Mount(work, [store + "/inner/x.b2frame", a]) as mount:
        is_frame(mount.path("x.b2frame"))
    with Mount(work, [store + "/inner", a], "--formats=all") as mount:
        is_frame(mount.path("inner/x.b2frame"))


def the_mounts_own_folder_comes_first(work):
    own = make_folder(work + "/.bloscfs")
    harness.write(work + "/x.b2lock", b"")
    with Mount(work, [own, work + "/x.b2lock", own + "/sub"]) as mount:
        equal(os.listdir(mount.point), ["sub"])
        equal(sorted(os.listdir(mount.path(".bloscfs"))),
              ["config", "errors", "stats", "version"])


def mount_takes_one_alone(work):
    a, point = make_folder(work + "/a"), make_point(work)
    os.symlink(os.path.abspath(BLOSCFS), work + "/mount.bloscfs")
    result = subprocess.run([work + "/mount.bloscfs", a, a, point],
                            check=False, capture_output=True, text=True)
    equal(result.returncode, 1)
    assert "one argument more" in result.stderr, result.stderr
    equal(harness.mounted(point), None)


def check_and_info_take_several_as_ever(work):
    a, b = make_folder(work + "/a"), make_folder(work + "/b")
    result = run("--check", a, b)
    equal(result.returncode, 0, result.stderr)
    equal(result.stdout.count("\tgood\t"), 2)
    result = run("--check", "--json", f"--report={work}/page.html", a, b)
    equal(result.returncode, 0, result.stderr)
    equal(len([json.loads(line) for line in
               result.stdout.splitlines()]) >= 2, True)
    assert os.path.getsize(work + "/page.html") > 1000
    result = run("--info", a, b)
    equal(result.stdout.count('"nbytes"'), 2)


private.main([
    each_is_what_it_is_in_a_folder,
    each_has_its_own_name,
    equal_names_are_numbered,
    one_source_is_the_root_as_ever,
    many_are_listed_in_order_from_any_place,
    sources_may_hold_one_another_and_the_mount,
    a_source_may_be_a_mount_of_bloscfs,
    what_cannot_be_opened_is_named_and_nothing_is_mounted,
    a_removed_one_is_an_error_alone_and_told_once,
    a_replaced_folder_is_an_error_and_a_replaced_file_is_shown,
    what_changes_below_one_is_followed,
    the_sandbox_lets_in_each_and_nothing_else,
    whoever_mounts_may_read,
    others_get_in_as_each_ones_modes_permit,
    they_are_told,
    space_is_the_sum_of_their_file_systems,
    it_goes_to_the_background_and_ends_as_ever,
    globs_and_formats_see_names_without_numbers,
    stores_of_others_are_left_in_each,
    the_mounts_own_folder_comes_first,
    mount_takes_one_alone,
    check_and_info_take_several_as_ever,
])
