#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
""".bloscfs/: what a mount tells about itself, and that telling changes
nothing else."""
import concurrent.futures
import errno
import os
import re
import shutil
import stat
import subprocess
import zipfile

import harness
import openmetrics
import samples
from damage_test import damaged_frame
from harness import Mount, NOBODY, as_user, equal, fails_with

DATA = samples.noise(1 << 20)
CHUNK = 1 << 16
FILES = ["config", "errors", "stats", "version"]


def make_source(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    harness.write(source + "/good.b2frame", samples.frame(DATA, CHUNK))
    harness.write(source + "/bad.b2frame", damaged_frame(3))
    harness.write(source + "/plain", b"x" * 5000)
    return source


def stats(mount):
    return openmetrics.parse(
        harness.read(mount.path(".bloscfs/stats")).decode("ascii"))


def value(numbers, name, **labels):
    return numbers[name][tuple(sorted(labels.items()))]


def errors(mount):
    """Lines of fields, without the head."""
    text = harness.read(mount.path(".bloscfs/errors")).decode("utf-8")
    lines = text.splitlines()
    equal(lines[0], "# time\tpath\tchunk\terror\treason\tcount", "head")
    fields = [line.split("\t") for line in lines[1:]]
    for line in fields:
        equal(len(line), 6, f"fields of {line}")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line[0]), line
    return fields


def it_is_found_and_not_listed(work):
    source = make_source(work)
    with Mount(work, source) as mount:
        equal(sorted(os.listdir(mount.point)),
              ["bad.b2frame", "good.b2frame", "plain"])
        listed = subprocess.run(["ls", "-a", mount.point], check=True,
                                capture_output=True, text=True).stdout
        found = subprocess.run(["find", mount.point], check=True,
                               capture_output=True, text=True).stdout
        assert ".bloscfs" not in listed + found, listed + found
        equal(sorted(os.listdir(mount.path(".bloscfs"))), FILES)
        equal(oct(os.stat(mount.path(".bloscfs")).st_mode),
              oct(stat.S_IFDIR | 0o555))
        fails_with(errno.ENOENT, os.stat, mount.path(".bloscfs/nothing"))
        fails_with(errno.ENOTDIR, os.stat, mount.path(".bloscfs/stats/x"))
        fails_with(errno.ENOENT, os.stat, mount.path("good.b2frame/.bloscfs"))
        fails_with(errno.EROFS, os.mkdir, mount.path(".bloscfs/new"))
        fails_with(errno.EROFS, os.open, mount.path(".bloscfs/stats"),
                   os.O_WRONLY)


def numbers_of_files_stay_and_are_distinct(work):
    source = make_source(work)

    def numbers(mount):
        listed = {entry.name: entry.inode()
                  for entry in os.scandir(mount.path(".bloscfs"))}
        for name in FILES:
            equal(os.stat(mount.path(".bloscfs", name)).st_ino,
                  listed[name], f"number of {name}")
        return listed

    with Mount(work, source) as mount:
        first = numbers(mount)
    with Mount(work, source) as mount:
        equal(numbers(mount), first, "numbers")
    equal(len(set(first.values())), len(FILES), "distinct numbers")


def metrics_are_read_strictly(work):
    """What the reader takes means nothing if it takes anything."""
    good = ("# TYPE a_bytes counter\n# UNIT a_bytes bytes\n"
            "# HELP a_bytes What.\n" 'a_bytes_total{k="v\\""} 1' "\n# EOF\n")
    equal(openmetrics.parse(good), {"a_bytes_total": {(("k", 'v"'),): 1}})
    for old, new in (("# EOF\n", ""), ("# EOF\n", "# EOF\nb 1\n"),
                     ("# UNIT a_bytes bytes\n", ""),
                     ("# HELP a_bytes What.\n", ""),
                     ("a_bytes_total", "a_bytes"),
                     ("a_bytes_total", "b_total"),
                     ("counter", "gauge"), ("counter", "number"),
                     ("bytes bytes", "bytes seconds"),
                     ("# UNIT a_bytes bytes\n# HELP a_bytes What.\n",
                      "# HELP a_bytes What.\n# UNIT a_bytes bytes\n"),
                     ('\\"', '"'), ('\\"', "\\x"), ("} 1", "} x"),
                     ("} 1", "} -1"), ("} 1", "}  1"), ("} 1\n", "} 1"),
                     ("# EOF", good.split("\n")[3] + "\n# EOF"),
                     ("# EOF", good.replace("# EOF\n", "") + "# EOF")):
        try:
            openmetrics.parse(good.replace(old, new, 1))
        except ValueError:
            continue
        raise AssertionError(f"{old!r} may be {new!r}")


def counters_move_as_they_should(work):
    with Mount(work, make_source(work), "--cache_size=64M") as mount:
        before = stats(mount)
        equal(harness.read(mount.path("good.b2frame/data.bin")) == DATA,
              True, "bytes")
        harness.read(mount.path("plain"))
        after = stats(mount)

        def moved(name, **labels):
            return value(after, name, **labels) - value(before, name,
                                                        **labels)

        equal(moved("bloscfs_served_bytes_total", **{"from": "container"}),
              len(DATA))
        # What the kernel reads itself is not counted (through_test.py).
        past = b"passthrough=yes" in harness.read(
            mount.path(".bloscfs/config"))
        equal(moved("bloscfs_served_bytes_total", **{"from": "plain"}),
              0 if past else 5000)
        # 16 blocks of data and one of the index.
        equal(moved("bloscfs_cache_misses_total"), 17)
        equal(moved("bloscfs_decoded_bytes_total"), len(DATA))
        assert moved("bloscfs_source_bytes_total") >= len(DATA)
        assert moved("bloscfs_source_reads_total") >= 16
        assert moved("bloscfs_requests_total", kind="read") >= 2
        assert moved("bloscfs_requests_total", kind="lookup") >= 3
        equal(moved("bloscfs_requests_total", kind="open"), 3, "opens")
        equal(moved("bloscfs_errors_total", kind="corrupt"), 0)
        equal(value(before, "bloscfs_frames_open"), 0)
        equal(value(after, "bloscfs_frames_open"), 1)
        equal(value(after, "bloscfs_cache_limit_bytes"), 64 << 20)
        assert value(after, "bloscfs_cache_held_bytes") >= len(DATA)
        assert value(after, "bloscfs_memory_bytes") >= len(DATA)

        # The kernel's pages go; the blocks are still here.
        fd = os.open(mount.path("good.b2frame/data.bin"), os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.pread(fd, len(DATA), 0)
        os.close(fd)
        before, after = after, stats(mount)
        equal(moved("bloscfs_cache_misses_total"), 0)
        assert moved("bloscfs_cache_hits_total") >= 16
        equal(moved("bloscfs_decoded_bytes_total"), 0)


def blocks_that_leave_are_counted(work):
    with Mount(work, make_source(work), "--cache_size=256K") as mount:
        harness.read(mount.path("good.b2frame/data.bin"))
        # They leave once the last answer is out.
        harness.wait_until(
            lambda: value(stats(mount), "bloscfs_cache_evictions_total") > 0)


def each_fault_is_listed_once_with_a_count(work):
    with Mount(work, make_source(work)) as mount:
        equal(errors(mount), [])
        for _ in range(3):
            fails_with(errno.EIO, harness.read,
                       mount.path("bad.b2frame/chunks/0000000003"))
        harness.read(mount.path("good.b2frame/data.bin"))
        lines = errors(mount)
        equal(len(lines), 1, f"lines in {lines}")
        path, chunk, error, reason, count = lines[0][1:]
        equal((path, chunk, error), ("bad.b2frame", "3", "corrupt"))
        assert int(count) >= 3, lines
        assert ", offset " in reason, lines
        numbers = stats(mount)
        equal(value(numbers, "bloscfs_errors_total", kind="corrupt"),
              int(count))
        equal(value(numbers, "bloscfs_faults"), 1)


def what_the_log_leaves_out_is_listed(work):
    with Mount(work, make_source(work), "--log_level=err") as mount:
        cut = os.path.join(work, "source/cut.b2frame")
        harness.write(cut, samples.frame(DATA, CHUNK)[:5000])
        # One that is new would count as being copied in.
        os.utime(cut, (1000000000, 1000000000))
        os.listdir(mount.path("cut.b2frame"))
        equal(mount.log(), "")
        equal([line[1] for line in errors(mount)], ["cut.b2frame"])


def a_snapshot_stays_as_it_is(work):
    with Mount(work, make_source(work)) as mount:
        path = mount.path(".bloscfs/stats")
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            first = os.pread(file.fileno(), 100, 0)
            harness.read(mount.path("good.b2frame/data.bin"))
            with open(path, "rb", buffering=0) as other:
                later = other.read()
                equal(os.fstat(other.fileno()).st_size, len(later), "size")
            whole = os.pread(file.fileno(), 1 << 20, 0)
            equal(os.fstat(file.fileno()).st_size, size, "size")
            equal(os.lseek(file.fileno(), 0, os.SEEK_DATA), 0)
            equal(os.lseek(file.fileno(), 0, os.SEEK_HOLE), size)
        equal(len(whole), size, "bytes")
        equal(whole[:100], first, "bytes")
        assert whole != later, "the new snapshot is the old one"
        openmetrics.parse(whole.decode())


def many_read_at_once(work):
    with Mount(work, make_source(work)) as mount:
        def look(number):
            if number % 4 == 0:
                harness.read(mount.path("good.b2frame/data.bin"))
            elif number % 4 == 1:
                fails_with(errno.EIO, harness.read,
                           mount.path("bad.b2frame/data.bin"))
            errors(mount)
            numbers = stats(mount)
            return value(numbers, "bloscfs_requests_total", kind="open")

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            opens = list(pool.map(look, range(200)))
        assert value(stats(mount), "bloscfs_requests_total",
                     kind="open") > max(opens)
        # Nobody holds a snapshot any more.
        harness.wait_until(lambda: value(stats(mount), "bloscfs_nodes") < 20)


def it_wins_over_a_folder_of_that_name(work):
    source = make_source(work)
    os.mkdir(source + "/.bloscfs")
    harness.write(source + "/.bloscfs/stats", b"not these")
    with Mount(work, source) as mount:
        assert ".bloscfs" not in os.listdir(mount.point)
        stats(mount)
        equal(sorted(os.listdir(mount.path(".bloscfs"))), FILES)
    os.mkdir(source + "/folder")
    os.rename(source + "/.bloscfs", source + "/folder/.bloscfs")
    with Mount(work, source) as mount:
        # Elsewhere it is a name like any other.
        equal(harness.read(mount.path("folder/.bloscfs/stats")),
              b"not these")


def one_container_has_it_too(work):
    source = make_source(work)
    with Mount(work, source + "/bad.b2frame") as mount:
        assert ".bloscfs" not in os.listdir(mount.point)
        fails_with(errno.EIO, harness.read,
                   mount.path("chunks/0000000003"))
        equal([line[1:4] for line in errors(mount)],
              [["bad.b2frame", "3", "corrupt"]])
        equal(value(stats(mount), "bloscfs_frames_open"), 1)


def it_wins_over_a_member_of_that_name(work):
    path = os.path.join(work, "store.b2z")
    shutil.copyfile(harness.DATA + "/good-store.b2z", path)
    with zipfile.ZipFile(path, "a") as store:
        store.writestr(".bloscfs/stats", b"not these")
        store.writestr("folder/.bloscfs", b"a member")
    with Mount(work, path) as mount:
        names = os.listdir(mount.point)
        assert ".bloscfs" not in names and "folder" in names, names
        stats(mount)
        equal(harness.read(mount.path("folder/.bloscfs")), b"a member")


def private_paths_stay_private(work):
    if os.geteuid() != 0:
        raise harness.Skip("needs root")
    source = make_source(work)
    with Mount(work, source, "-o", "allow_other") as mount:
        for name, mode in (("stats", 0o444), ("version", 0o444),
                           ("errors", 0o400), ("config", 0o400)):
            path = mount.path(".bloscfs", name)
            equal(oct(os.stat(path).st_mode), oct(stat.S_IFREG | mode), name)
            equal(as_user(NOBODY, lambda p=path: harness.read(p)),
                  0 if mode & 4 else errno.EACCES, f"{name} as nobody")
    with Mount(work, source, "-o", "uid=12,gid=34,fmask=044") as mount:
        info = os.stat(mount.path(".bloscfs/stats"))
        equal((info.st_uid, info.st_gid, oct(info.st_mode & 0o777)),
              (12, 34, oct(0o400)))


def config_tells_the_options_in_effect(work):
    source = make_source(work)
    with Mount(work, source, "--cache_size=64M", "--immutable",
               "-o", "views=info,data,fmask=077") as mount:
        lines = harness.read(mount.path(".bloscfs/config")).decode()
        config = dict(line.split("=", 1) for line in lines.splitlines())
        for name, wanted in (
                ("source", source), ("mountpoint", mount.point),
                ("cache_size", str(64 << 20)), ("immutable", "yes"),
                ("noxattr", "no"), ("views", "info,data"),
                ("fmask", "0077"), ("dmask", "0000"),
                ("attr_timeout", "86400"), ("log_level", "notice")):
            equal(config.get(name), wanted, name)
        assert int(config["threads"]) >= 1
        version = harness.read(mount.path(".bloscfs/version")).decode()
        equal(version, harness.run("--version").stdout, "version")
    with Mount(work, source) as mount:
        lines = harness.read(mount.path(".bloscfs/config")).decode()
        assert "\nviews=info,data,npy,chunks,meta\n" in lines, lines


if __name__ == "__main__":
    harness.main([
        it_is_found_and_not_listed,
        numbers_of_files_stay_and_are_distinct,
        metrics_are_read_strictly,
        counters_move_as_they_should,
        blocks_that_leave_are_counted,
        each_fault_is_listed_once_with_a_count,
        what_the_log_leaves_out_is_listed,
        a_snapshot_stays_as_it_is,
        many_read_at_once,
        it_wins_over_a_folder_of_that_name,
        one_container_has_it_too,
        it_wins_over_a_member_of_that_name,
        private_paths_stay_private,
        config_tells_the_options_in_effect,
    ])
