#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A mirrored tree as programs see it: what is shown, hidden, passed on."""
import concurrent.futures
import errno
import hashlib
import json
import mmap
import os
import shutil
import socket
import stat
import subprocess

import harness
import samples
from harness import Mount, equal, fails_with, wait_until

DATA = samples.noise(1 << 20)
CHUNK = 1 << 16


def make_tree(work):
    """A source with one of everything."""
    source = os.path.join(work, "source")
    os.makedirs(source + "/folder/deep")
    harness.write(source + "/folder/a.b2frame", samples.frame(DATA, CHUNK))
    harness.write(source + "/folder/deep/b.blosc",
                  samples.small_chunk(DATA[:5000]))
    harness.write(source + "/folder/plain.txt", b"plain text\n" * 1000)
    harness.write(source + "/empty", b"")
    harness.write(source + "/folder/a.b2frame.b2lock", bytes(16))
    harness.write(source + "/folder/deep/.b2lock", bytes(16))
    os.symlink("folder/plain.txt", source + "/link")
    os.symlink("/nowhere/at/all", source + "/dangling")
    os.symlink("folder/a.b2frame", source + "/link-to-frame")
    os.mkfifo(source + "/folder/fifo")
    sock = socket.socket(socket.AF_UNIX)
    old = os.getcwd()
    os.chdir(source)
    sock.bind("socket")
    os.chdir(old)
    sock.close()
    return source


def containers_are_directories_and_all_else_is_as_it_was(work):
    source = make_tree(work)
    with Mount(work, source) as mount:
        equal(sorted(os.listdir(mount.point)),
              ["dangling", "empty", "folder", "link", "link-to-frame"])
        equal(sorted(os.listdir(mount.path("folder"))),
              ["a.b2frame", "deep", "plain.txt"])
        assert os.path.isdir(mount.path("folder/a.b2frame"))
        assert os.path.isdir(mount.path("folder/deep/b.blosc"))
        equal(harness.read(mount.path("folder/a.b2frame/data.bin")), DATA)
        equal(harness.read(mount.path("folder/deep/b.blosc/data.bin")),
              DATA[:5000])
        equal(harness.read(mount.path("folder/plain.txt")),
              b"plain text\n" * 1000)
        equal(harness.read(mount.path("empty")), b"")
        equal(os.readlink(mount.path("link")), "folder/plain.txt")
        equal(os.readlink(mount.path("dangling")), "/nowhere/at/all")
        equal(harness.read(mount.path("link")), b"plain text\n" * 1000)
        equal(harness.read(mount.path("link-to-frame/chunks/0000000003")),
              DATA[3 * CHUNK:4 * CHUNK])


def sockets_fifos_and_sidecars_are_not_there(work):
    source = make_tree(work)
    with Mount(work, source) as mount:
        for name in ("socket", "folder/fifo", "folder/a.b2frame.b2lock",
                     "folder/deep/.b2lock", "folder/nothing", "folder/a.b2frame/nothing"):
            fails_with(errno.ENOENT, os.lstat, mount.path(name))
        equal(os.listdir(mount.path("folder/deep")), ["b.blosc"])
        fails_with(errno.ENOTDIR, os.lstat,
                   mount.path("folder/plain.txt/x"))


def types_in_listings_are_those_of_stat(work):
    source = make_tree(work)
    with Mount(work, source) as mount:
        seen = 0
        for folder, _, _ in harness.walk(mount.point):
            for entry in os.scandir(folder):
                info = os.lstat(entry.path)
                equal(entry.is_dir(follow_symlinks=False),
                      stat.S_ISDIR(info.st_mode), entry.path)
                equal(entry.is_symlink(), stat.S_ISLNK(info.st_mode),
                      entry.path)
                equal(entry.inode(), info.st_ino, entry.path)
                seen += 1
        assert seen > 30


def attributes_come_from_the_source(work):
    source = make_tree(work)
    frame = source + "/folder/a.b2frame"
    os.chmod(frame, 0o640)
    os.utime(frame, ns=(0, 1234567890123456789))
    with Mount(work, source) as mount:
        top = os.stat(mount.path("folder/a.b2frame"))
        data = os.stat(mount.path("folder/a.b2frame/data.bin"))
        equal(oct(top.st_mode), oct(stat.S_IFDIR | 0o750), "mode")
        equal(oct(data.st_mode), oct(stat.S_IFREG | 0o640), "mode")
        equal(data.st_mtime_ns, 1234567890123456789, "mtime")
        equal(data.st_size, len(DATA), "size")
        assert data.st_blksize & (data.st_blksize - 1) == 0
        assert 4096 <= data.st_blksize <= 1 << 20
        source_stat = os.stat(frame)
        equal((data.st_uid, data.st_gid),
              (source_stat.st_uid, source_stat.st_gid), "owner")
    with Mount(work, source, "-o", "uid=12,gid=34,fmask=040,dmask=0010") \
            as mount:
        top = os.stat(mount.path("folder/a.b2frame"))
        data = os.stat(mount.path("folder/a.b2frame/data.bin"))
        equal((data.st_uid, data.st_gid), (12, 34), "owner")
        equal(oct(data.st_mode), oct(stat.S_IFREG | 0o600), "mode")
        equal(oct(top.st_mode), oct(stat.S_IFDIR | 0o740), "mode")


def inode_numbers_stay_across_mounts(work):
    source = make_tree(work)

    def numbers(mount):
        found = {}
        for folder, folders, files in harness.walk(mount.point):
            for name in folders + files:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, mount.point)] = \
                    os.lstat(path).st_ino
        return found

    with Mount(work, source) as mount:
        first = numbers(mount)
    with Mount(work, source) as mount:
        second = numbers(mount)
    equal(first, second, "inode numbers")
    equal(len(set(first.values())), len(first), "distinct numbers")


def a_second_name_of_a_frame_is_a_second_directory(work):
    source = make_tree(work)
    os.link(source + "/folder/a.b2frame", source + "/again.b2frame")
    with Mount(work, source) as mount:
        equal(harness.read(mount.path("again.b2frame/data.bin")), DATA)
        equal(harness.read(mount.path("folder/a.b2frame/data.bin")), DATA)
        parent = os.stat(mount.path("again.b2frame/.."))
        equal(parent.st_ino, os.stat(mount.point).st_ino, "parent")


def everything_that_writes_is_refused(work):
    source = make_tree(work)
    before = sorted(os.listdir(source + "/folder"))
    with Mount(work, source) as mount:
        plain = mount.path("folder/plain.txt")
        data = mount.path("folder/a.b2frame/data.bin")
        for path in (plain, data):
            for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_TRUNC):
                fails_with(errno.EROFS, os.open, path, flags)
            fails_with(errno.EROFS, os.unlink, path)
            fails_with(errno.EROFS, os.rename, path, path + ".new")
            fails_with(errno.EROFS, os.chmod, path, 0o777)
            fails_with(errno.EROFS, os.utime, path)
            fails_with(errno.EROFS, os.truncate, path, 0)
            fails_with(errno.EROFS, os.link, path, path + ".new")
        for folder in (mount.path("folder"), mount.path("folder/a.b2frame")):
            new = os.path.join(folder, "new")
            fails_with(errno.EROFS, os.mkdir, new)
            fails_with(errno.EROFS, os.symlink, "x", new)
            fails_with(errno.EROFS, os.mkfifo, new)
            fails_with(errno.EROFS, os.open, new, os.O_CREAT | os.O_WRONLY)
            fails_with(errno.EROFS, os.rmdir, folder)
        assert not os.access(plain, os.W_OK)
        options, kind, named = harness.mount_line(mount.point)
        for option in ("ro", "nosuid", "nodev"):
            assert option in options, options
        equal(kind, "fuse.bloscfs", "type")
        equal(named, source, "source")
    equal(sorted(os.listdir(source + "/folder")), before, "the source")


def the_usual_programs_agree(work):
    source = make_tree(work)
    harness.write(work + "/wanted", DATA)
    with Mount(work, source) as mount:
        data = mount.path("folder/a.b2frame/data.bin")

        def tool(*words):
            return subprocess.run(words, check=True, capture_output=True,
                                  text=True, timeout=30).stdout

        tool("cmp", data, work + "/wanted")
        equal(tool("sha256sum", data).split()[0],
              hashlib.sha256(DATA).hexdigest(), "sha256sum")
        tool("cp", data, work + "/copy")
        equal(harness.read(work + "/copy"), DATA, "copy")
        tool("cp", "-r", mount.path("folder/a.b2frame"), work + "/frame")
        equal(harness.read(work + "/frame/chunks/0000000015"),
              DATA[15 * CHUNK:], "copied chunk")
        found = tool("find", mount.point, "-type", "f").splitlines()
        equal(len([f for f in found if "/chunks/" in f and "a.b2" in f]),
              16, "chunk files found")
        equal(tool("find", mount.point, "-name", "fifo"), "")
        tool("tar", "-C", mount.point, "-cf", work + "/t.tar", "folder")
        tool("tar", "-C", mount.point, "-df", work + "/t.tar")
        tool("stat", "-f", mount.point)
        tool("du", "-s", mount.point)


def reads_at_any_place_are_right(work):
    source = make_tree(work)
    with Mount(work, source) as mount:
        with open(mount.path("folder/a.b2frame/data.bin"), "rb",
                  buffering=0) as file:
            for start in (0, 1, 4095, CHUNK - 1, CHUNK, 3 * CHUNK - 7,
                          len(DATA) - 1, len(DATA), len(DATA) + 5):
                for length in (1, 100, 4096, CHUNK + 2, len(DATA)):
                    got = os.pread(file.fileno(), length, start)
                    assert got == DATA[start:start + length], (start, length)
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
                assert view[:] == DATA
            out = os.open(work + "/sent", os.O_CREAT | os.O_WRONLY)
            done = 0
            while sent := os.sendfile(out, file.fileno(), done, 1 << 20):
                done += sent
            os.close(out)
            assert harness.read(work + "/sent") == DATA


def many_readers_at_once_get_the_same(work):
    source = make_tree(work)
    with Mount(work, source, "-o", "cache_size=1M") as mount:
        def reader(_number):
            path = mount.path("folder/a.b2frame/data.bin")
            right = 0
            for turn in range(5):
                if turn % 2:
                    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
                    got = b"".join(
                        os.pread(fd, 1 << 17, i)
                        for i in range(0, len(DATA), 1 << 17))
                    os.close(fd)
                else:
                    got = harness.read(path)
                right += got == DATA
                for folder, _, _ in harness.walk(mount.point):
                    os.listdir(folder)
            return right

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            equal(list(pool.map(reader, range(8))), [5] * 8, "right reads")


def a_long_directory_lists_and_resumes(work):
    source = work + "/source"
    os.mkdir(source)
    count = 30000
    harness.write(source + "/many.b2frame", samples.frame(bytes(count), 1))
    with Mount(work, source) as mount:
        names = os.listdir(mount.path("many.b2frame/chunks"))
        equal(len(names), count, "entries")
        equal(sorted(names), [f"{i:010d}" for i in range(count)], "names")
        equal(os.stat(mount.path("many.b2frame/chunks/0000029999")).st_size,
              1, "size")
        fails_with(errno.ENOENT, os.stat,
                   mount.path("many.b2frame/chunks/0000030000"))


def a_large_source_directory_lists_whole(work):
    source = work + "/source"
    os.mkdir(source)
    for i in range(3000):
        harness.write(f"{source}/{i:05d}{'x' * (i % 50)}", b"")
    with Mount(work, source) as mount:
        equal(sorted(os.listdir(mount.point)), sorted(os.listdir(source)))
        equal(sorted(os.listdir(mount.point)), sorted(os.listdir(source)))


def odd_names_pass_through(work):
    source = work + "/source"
    os.mkdir(source)
    names = [b"new\nline", b"bad\xff\xfeutf", b"it's", b"back\\slash",
             b"x" * 255, b" blank "]
    for name in names:
        harness.write(os.fsencode(source) + b"/" + name,
                      samples.small_chunk(b"abc" * 20))
    with Mount(work, source, "--formats=all") as mount:
        point = os.fsencode(mount.point)
        equal(sorted(os.listdir(point)), sorted(names))
        for name in names:
            equal(harness.read(point + b"/" + name + b"/data.bin"),
                  b"abc" * 20)


def a_mount_within_its_source_is_an_empty_folder_there(work):
    source = make_tree(work)
    inner = source + "/folder/mnt"
    os.mkdir(inner)
    harness.write(source + "/mnt", b"another of that name")
    with Mount(work, source, point=inner) as mount:
        equal(sorted(os.listdir(mount.path("folder"))),
              ["a.b2frame", "deep", "mnt", "plain.txt"])
        equal(os.listdir(mount.path("folder/mnt")), [])
        equal(harness.read(mount.path("mnt")), b"another of that name")
        equal(harness.read(mount.path("folder/a.b2frame/data.bin")), DATA)


def a_mount_upon_its_source_works(work):
    source = make_tree(work)
    with Mount(work, source, point=source) as mount:
        assert "folder" in os.listdir(mount.point)
        equal(harness.read(mount.path("folder/a.b2frame/data.bin")), DATA)
    assert os.path.isfile(source + "/folder/a.b2frame")


def a_window_of_a_file_mounts(work):
    frame = samples.frame(DATA[:50000], 10000)
    path = work + "/bigger"
    harness.write(path, b"before" * 10 + frame + b"after" * 1000)
    with Mount(work, path, "--offset=60", f"--length={len(frame)}") as mount:
        equal(harness.read(mount.path("data.bin")), DATA[:50000])
    with Mount(work, path, "-ooffset=60") as mount:
        equal(harness.read(mount.path("data.bin")), DATA[:50000])


def runs(path):
    """Data and holes of a file, as lseek tells them."""
    found = []
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        at = 0
        while at < size:
            try:
                data = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                equal(error.errno, errno.ENXIO, "errno")
                data = size
            if data > at:
                found.append(("hole", at, data))
            if data < size:
                at = os.lseek(file.fileno(), data, os.SEEK_HOLE)
                found.append(("data", data, at))
            else:
                at = size
    return found


def runs_of_zero_chunks_are_holes(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    name = "good-frame-specials.b2frame"
    shutil.copy(os.path.join(harness.DATA, name), source)
    with Mount(work, source) as mount:
        path = mount.path(name, "data.bin")
        found = runs(path)
        data = harness.read(path)
        equal(found[0][1], 0)
        equal(found[-1][2], len(data))
        equal([b[1] for b in found[1:]], [a[2] for a in found[:-1]])
        holes = [run for run in found if run[0] == "hole"]
        assert holes and len(holes) < len(found), found
        for _kind, begin, end in holes:
            equal(data[begin:end].count(0), end - begin, "zeros")
        equal(os.stat(path).st_blocks,
              (sum(b - a for k, a, b in found if k == "data") + 511) // 512)
        copy = work + "/copy"
        subprocess.run(["cp", "--sparse=auto", path, copy], check=True,
                       timeout=20)
        equal(harness.read(copy) == data, True, "bytes of the copy")
        plain = source + "/sparse"
        with open(plain, "wb") as file:
            file.truncate(1 << 20)
            file.seek(512 << 10)
            file.write(b"x" * 4096)
        equal(runs(mount.path("sparse")), runs(plain), "runs")


def facts_are_extended_attributes(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    for name in ("good-frame-specials.b2frame", "good-nd-shrunk.b2nd"):
        shutil.copy(os.path.join(harness.DATA, name), source)
    harness.write(source + "/plain", b"plain")
    with Mount(work, source) as mount:
        def facts(path):
            return {name: os.getxattr(mount.path(path), name).decode()
                    for name in os.listxattr(mount.path(path))}

        array = facts("good-nd-shrunk.b2nd")
        info = json.loads(harness.read(
            mount.path("good-nd-shrunk.b2nd/info.json")))
        equal(array["user.bloscfs.format"], "b2nd")
        equal(array["user.bloscfs.shape"],
              ",".join(str(n) for n in info["shape"]))
        equal(array["user.bloscfs.dtype"], info["dtype"])
        equal(array["user.bloscfs.codec"], info["codec"])
        frame = facts("good-frame-specials.b2frame")
        equal("user.bloscfs.dtype" in frame, False, "dtype of no array")
        folder = mount.path("good-frame-specials.b2frame/chunks")
        kinds = set()
        for name in os.listdir(folder):
            chunk = json.loads(os.getxattr(folder + "/" + name,
                                           "user.bloscfs.chunk"))
            equal(chunk["nbytes"], os.stat(folder + "/" + name).st_size)
            kinds.add(chunk["special"])
        assert None in kinds and "zeros" in kinds, kinds
        equal(facts("plain"), {})
        equal(facts("good-frame-specials.b2frame/data.bin"), {})
        fails_with(errno.ENODATA, os.getxattr, mount.path("plain"), "user.a")
        fails_with(errno.ENODATA, os.getxattr, folder, "user.bloscfs.codec")
    with Mount(work, source, "-o", "noxattr") as mount:
        fails_with(errno.EOPNOTSUPP, os.getxattr,
                   mount.path("good-nd-shrunk.b2nd"), "user.bloscfs.format")


def has(path, content):
    """Whether a file is there that holds this now."""
    try:
        return harness.read(path) == content
    except OSError as error:
        assert error.errno in (errno.ENOENT, errno.ESTALE), error
        return False


def a_directory_may_be_a_container(work):
    source = make_tree(work)
    sparse = source + "/folder/sparse.b2frame"
    samples.write_sparse_frame(sparse, DATA, CHUNK)
    os.mkdir(source + "/not")
    harness.write(source + "/not/chunks.b2frame", b"something else")
    with Mount(work, source, "--attr_timeout=0.2") as mount:
        shown = mount.path("folder/sparse.b2frame")
        assert "data.bin" in os.listdir(shown), os.listdir(shown)
        fails_with(errno.ENOENT, os.stat, shown + "/00000000.chunk")
        equal(harness.read(shown + "/data.bin") == DATA, True, "bytes")
        equal(len(os.listdir(shown + "/chunks")), 16, "chunks")
        equal(os.listdir(mount.path("not")), ["chunks.b2frame"])
        equal(harness.read(mount.path("not/chunks.b2frame")),
              b"something else")
        other = samples.noise(300000, 7)
        shutil.rmtree(sparse)
        samples.write_sparse_frame(sparse, other, CHUNK)
        # What was found of the old folder is not asked for again at once.
        wait_until(lambda: has(shown + "/data.bin", other),
                   told=lambda: "new bytes")
        # Readable is what all files within are.
        os.chmod(sparse + "/chunks.b2frame", 0o600)
        # Each is believed for a while by itself.
        for path, mode in ((shown, stat.S_IFDIR | 0o700),
                           (shown + "/data.bin", stat.S_IFREG | 0o600)):
            wait_until(lambda p=path, m=mode: os.stat(p).st_mode == m,
                       told=lambda p=path: (p, oct(os.stat(p).st_mode)))
    with Mount(work, sparse) as mount:
        equal(harness.read(mount.path("data.bin")) == other, True, "bytes")
    info = harness.run("--info", sparse)
    equal((info.returncode, info.stderr), (0, ""))
    assert '"nchunks": 5' in info.stdout, info.stdout


def symlinks_never_lead_out_of_the_source(work):
    source = make_tree(work)
    outside = work + "/outside"
    os.mkdir(outside)
    harness.write(outside + "/secret.blosc", samples.small_chunk(b"s" * 99))
    os.symlink(outside, source + "/folder/out")
    with Mount(work, source) as mount:
        equal(os.readlink(mount.path("folder/out")), outside)
        assert os.path.islink(mount.path("folder/out"))
        # A directory that becomes a link to elsewhere is not followed.
        listed = os.stat(mount.path("folder/deep"))
        assert stat.S_ISDIR(listed.st_mode)
        os.rename(source + "/folder/deep", source + "/folder/deep2")
        os.symlink(outside, source + "/folder/deep")
        fd = os.open(mount.path("folder"), os.O_RDONLY)
        try:
            os.close(os.open("deep/secret.blosc/data.bin", os.O_RDONLY |
                             os.O_NOFOLLOW, dir_fd=fd))
        except OSError as error:
            equal(error.errno, errno.ENOTDIR, "errno")
        else:
            # Through the link as the kernel sees it: the plain file.
            raise AssertionError("the daemon left its source")
        finally:
            os.close(fd)


if __name__ == "__main__":
    harness.main([
        containers_are_directories_and_all_else_is_as_it_was,
        sockets_fifos_and_sidecars_are_not_there,
        types_in_listings_are_those_of_stat,
        attributes_come_from_the_source,
        inode_numbers_stay_across_mounts,
        a_second_name_of_a_frame_is_a_second_directory,
        everything_that_writes_is_refused,
        the_usual_programs_agree,
        reads_at_any_place_are_right,
        many_readers_at_once_get_the_same,
        a_long_directory_lists_and_resumes,
        a_large_source_directory_lists_whole,
        odd_names_pass_through,
        a_mount_within_its_source_is_an_empty_folder_there,
        a_mount_upon_its_source_works,
        a_window_of_a_file_mounts,
        runs_of_zero_chunks_are_holes,
        facts_are_extended_attributes,
        a_directory_may_be_a_container,
        symlinks_never_lead_out_of_the_source,
    ])
