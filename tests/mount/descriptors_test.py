#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Few descriptors serve many files; what is let go is opened again, as what it
was or not at all."""
import contextlib
import errno
import functools
import os
import random
import resource
import shutil

import harness
import samples
from harness import Mount, equal

FEW = (32, 32)
DATA = samples.noise(3000)
N = 1000
RESTING = 512       # descriptors that idle containers keep


def data_of(i):
    return DATA[i:] + DATA[:i]


def make_frames(source, n):
    os.makedirs(source, exist_ok=True)
    for i in range(n):
        harness.write(f"{source}/{i:04}.b2frame",
                      samples.frame(data_of(i), 1000))
        harness.write(f"{source}/{i:04}.txt", data_of(i)[:100])
    return source


def held(mount):
    """The daemon's descriptors of files below the source."""
    folder = f"/proc/{mount.pid}/fd"
    names = []
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            names.append(os.readlink(os.path.join(folder, name)))
    return names


def below(source, mount):
    return [name for name in held(mount) if name.startswith(source + "/")]


def the_soft_limit_is_raised_to_the_hard_one(work):
    source = make_frames(work + "/source", 1)
    with Mount(work, source, files=(64, 512)) as mount:
        soft, hard = resource.prlimit(mount.pid,
                                      resource.RLIMIT_NOFILE)
        equal((soft, hard), (512, 512), "limits")


def a_tree_of_many_frames_is_read_whole_with_few(work):
    source = make_frames(work + "/source", N)
    with Mount(work, source, files=FEW) as mount:
        names = sorted(os.listdir(mount.point))
        equal(len(names), 2 * N, "names")
        for i in range(N):
            folder = mount.path(f"{i:04}.b2frame")
            assert "info.json" in os.listdir(folder)
            equal(harness.read(folder + "/data.bin"), data_of(i))
            equal(harness.read(mount.path(f"{i:04}.txt")),
                  data_of(i)[:100])
        equal(mount.log_lines("err: "), [], "errors")


def many_files_held_open_are_served_with_few(work):
    source = make_frames(work + "/source", N // 2)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < N + 100:
        raise harness.Skip("this process may not open so many")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with Mount(work, source, "-o", "cache_size=64K", files=FEW) as \
                mount, contextlib.ExitStack() as stack:
            opened = []
            for i in range(N // 2):
                for name, wanted in (
                        (f"{i:04}.b2frame/data.bin", data_of(i)),
                        (f"{i:04}.txt", data_of(i)[:100])):
                    file = open(mount.path(name), "rb", buffering=0)
                    opened.append((stack.enter_context(file), wanted))
            equal(len(opened), N, "files")
            random.Random(7).shuffle(opened)
            for file, wanted in opened:
                os.posix_fadvise(file.fileno(), 0, 0,
                                 os.POSIX_FADV_DONTNEED)
                equal(os.pread(file.fileno(), len(wanted) + 1, 0), wanted)
            assert len(held(mount)) <= FEW[0]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def containers_that_are_folders_are_served_with_few(work):
    source = work + "/source"
    os.mkdir(source)
    for i in range(60):
        samples.write_sparse_frame(f"{source}/{i}.b2frame", data_of(i), 300)
    with Mount(work, source, "-o", "cache_size=64K", files=FEW) as mount, \
            contextlib.ExitStack() as stack:
        opened = [stack.enter_context(open(
            mount.path(f"{i}.b2frame/data.bin"), "rb", buffering=0))
            for i in range(60)]
        for i in (*range(60), *range(60)):
            os.posix_fadvise(opened[i].fileno(), 0, 0,
                             os.POSIX_FADV_DONTNEED)
            equal(os.pread(opened[i].fileno(), 4000, 0), data_of(i))


def deep_folders_are_listed_with_few(work):
    source, depth, wide = work + "/source", 150, 40
    folder = source
    for i in range(depth):
        os.makedirs(folder)
        for k in range(wide):
            harness.write(f"{folder}/{k}", b"")
        folder += "/d"
    with Mount(work, source, files=FEW) as mount, \
            contextlib.ExitStack() as stack:
        # As fts(3) does: each folder stays open while those in it are read.
        listings, fds = [], []
        fd = os.open(mount.point, os.O_RDONLY | os.O_DIRECTORY)
        for i in range(depth):
            stack.callback(os.close, fd)
            fds.append(fd)
            listings.append((os.scandir(fd), set()))
            listing, names = listings[-1]
            names.add(next(listing).name)
            if i + 1 < depth:
                fd = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        for i, (listing, names) in enumerate(listings):
            names.update(entry.name for entry in listing)
            listing.close()
            wanted = {str(k) for k in range(wide)}
            equal(names, wanted | {"d"} if i + 1 < depth else wanted)
        assert len(held(mount)) <= FEW[0]


def what_changed_while_it_was_let_go_is_not_read_on(work):
    source = make_frames(work + "/source", 100)
    with Mount(work, source, files=FEW) as mount:
        with open(mount.path("0000.txt"), "rb", buffering=0) as file, \
                open(mount.path("0001.txt"), "rb", buffering=0) as gone, \
                contextlib.ExitStack() as stack:
            for i in range(2, 100):
                stack.enter_context(open(mount.path(f"{i:04}.txt"), "rb"))
            names = held(mount)
            for name in ("0000.txt", "0001.txt"):
                assert source + "/" + name not in names, names
            harness.write(source + "/new", b"x" * 100)
            os.rename(source + "/new", source + "/0000.txt")
            os.unlink(source + "/0001.txt")
            harness.fails_with(errno.ESTALE, file.read)
            harness.fails_with(errno.ESTALE, gone.read)


def what_was_removed_while_it_is_read_stays(work):
    source = make_frames(work + "/source", 100)
    with Mount(work, source, "-o", "cache_size=64K", files=FEW) as mount:
        with open(mount.path("0000.txt"), "rb", buffering=0) as file, \
                open(mount.path("0000.b2frame/data.bin"), "rb",
                     buffering=0) as data, contextlib.ExitStack() as stack:
            equal(file.read(1), data_of(0)[:1])
            os.unlink(source + "/0000.txt")
            os.unlink(source + "/0000.b2frame")
            for i in range(1, 100):
                for name in (".txt", ".b2frame/data.bin"):
                    other = open(mount.path(f"{i:04}{name}"), "rb")
                    equal(stack.enter_context(other).read(1),
                          data_of(i)[:1])
            for each in (file, data):
                os.posix_fadvise(each.fileno(), 0, 0,
                                 os.POSIX_FADV_DONTNEED)
            equal(file.read(), data_of(0)[1:100])
            equal(data.read(), data_of(0))


def of_what_was_removed_nothing_is_held_and_of_what_idles_little(work):
    source, many = make_frames(work + "/source", 4), 60
    samples.write_sparse_frame(source + "/s.b2frame", data_of(9), 300)
    for i in range(many):
        samples.write_sparse_frame(f"{source}/many.{i}", data_of(i), 300)
    os.mkdir(source + "/moved")
    shutil.copy(source + "/0000.b2frame", source + "/moved/m.b2frame")
    with Mount(work, source, "-o", "attr_timeout=0.1") as mount:
        with open(mount.path("0003.b2frame/data.bin"), "rb",
                  buffering=0) as file:
            most = 0
            for i in range(many):
                equal(harness.read(mount.path(f"many.{i}/data.bin")),
                      data_of(i))
                most = max(most, len(below(source, mount)))
            assert most > RESTING, most
            for name in ("0000", "0001", "0002", "0003", "s", "moved/m"):
                harness.read(mount.path(name + ".b2frame/data.bin"))
            for name in ("0000", "0001", "0003"):
                os.unlink(f"{source}/{name}.b2frame")
            shutil.rmtree(source + "/s.b2frame")
            os.rename(source + "/moved", source + "/there")
            # These are looked up afterwards, others are not.
            for name in ("0000.b2frame", "moved"):
                harness.wait_until(
                    lambda path=mount.path(name): not os.path.exists(path))

            def deleted():
                return {name for name in held(mount)
                        if name.startswith(source + "/") and
                        name.endswith(" (deleted)")}

            def left():
                return {name for name in held(mount)
                        if name.startswith(source + "/there/")}

            kept = source + "/0003.b2frame (deleted)"
            harness.wait_until(lambda: deleted() == {kept} and not left() and
                               len(below(source, mount)) <= RESTING, 60,
                               told=lambda: (deleted(), left(),
                                             len(below(source, mount))))
            equal(file.read(), data_of(3))
        harness.wait_until(lambda: not deleted(), 60, told=deleted)
        # What is still there, and was used last, is not touched.
        assert source + "/0002.b2frame" in held(mount), held(mount)


def of_what_no_name_leads_to_nothing_is_held(work):
    source, away = work + "/source", work + "/away"
    os.mkdir(source)
    samples.write_sparse_frame(source + "/s.b2frame", data_of(0), 300)
    with Mount(work, source, "-o", "attr_timeout=0") as mount:
        equal(harness.read(mount.path("s.b2frame/data.bin")), data_of(0))
        former = os.open(mount.path("s.b2frame"), os.O_PATH)
        try:
            os.rename(source + "/s.b2frame", away)
            equal(os.path.exists(mount.path("s.b2frame")), False)
            os.rename(away, source + "/s.b2frame")
            # Who stands in it still may read.
            with open(f"/proc/self/fd/{former}/data.bin", "rb") as file:
                equal(file.read(), data_of(0))
            harness.wait_until(lambda: not below(source, mount),
                               told=lambda: below(source, mount))
            equal(harness.read(mount.path("s.b2frame/data.bin")), data_of(0))
            assert below(source, mount)
        finally:
            os.close(former)


def too_few_to_start_are_told_and_leave_no_mount(work):
    source, point = make_frames(work + "/few", 1), work + "/point"
    os.mkdir(point)
    worked = 0
    for n in range(7, 24):
        done = harness.run(
            source, point, f"--log_file={work}/few.log",
            preexec_fn=functools.partial(
                resource.setrlimit, resource.RLIMIT_NOFILE, (n, n)))
        there = bool(harness.mounted(point))
        harness.end_background(point)
        # The loader of libraries is the first that needs some.
        equal(there, done.returncode == 0,
              f"a mount, with {n} descriptors: {done}")
        assert there or done.stderr, done
        worked += there
    assert worked


harness.main([
    the_soft_limit_is_raised_to_the_hard_one,
    a_tree_of_many_frames_is_read_whole_with_few,
    many_files_held_open_are_served_with_few,
    containers_that_are_folders_are_served_with_few,
    deep_folders_are_listed_with_few,
    what_changed_while_it_was_let_go_is_not_read_on,
    what_was_removed_while_it_is_read_stays,
    of_what_was_removed_nothing_is_held_and_of_what_idles_little,
    of_what_no_name_leads_to_nothing_is_held,
    too_few_to_start_are_told_and_leave_no_mount,
])
