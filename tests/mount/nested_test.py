#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mounts of bloscfs below a source: empty folders that nobody asks, so that
no daemon waits for another or for itself."""
import os
import signal
import subprocess

import harness
import private
import samples
from harness import Mount, equal, run

DATA = samples.noise(100000)


def make_source(work, *folders):
    source = os.path.join(work, "source")
    os.mkdir(source)
    for folder in ("a", *folders):
        os.makedirs(os.path.join(source, folder))
    harness.write(source + "/a/x.b2frame", samples.frame(DATA, 20000))
    harness.write(source + "/plain", b"plain")
    return source


def listed(folder):
    """Everything below a folder, by find, which must end."""
    found = private.command("find", folder, "-print").splitlines()
    return {os.path.relpath(name, folder) for name in found}


def empty(folder):
    equal(os.listdir(folder), [], "what is in " + folder)
    assert os.path.isdir(folder), folder
    harness.fails_with(2, os.stat, folder + "/a")


def two_mounts_in_one_source_do_not_wait_for_each_other(work):
    private.needs_root()
    source = make_source(work, "one", "two")
    with Mount(work, source, point=source + "/one") as one, \
            Mount(work, source, "--views=info,zarr",
                  point=source + "/two") as two:
        for mount in (one, two):
            names = listed(mount.point)
            assert {"a/x.b2frame/info.json", "one", "two"} <= names, names
            assert not any(name.startswith(("one/", "two/"))
                           for name in names), names
            private.command("ls", "-lR", mount.point)
            private.command("du", "-s", mount.point)
            empty(mount.path("one"))
            empty(mount.path("two"))
        equal(harness.read(one.path("a/x.b2frame/data.bin")), DATA, "data")


def a_daemon_that_answers_nobody_holds_up_no_other(work):
    private.needs_root()
    source = make_source(work, "one", "two")
    with Mount(work, source, point=source + "/one") as one, \
            Mount(work, source, point=source + "/two") as two:
        os.kill(two.pid, signal.SIGSTOP)
        try:
            listed(one.point)
            empty(one.path("two"))
            result = run("--check", source, timeout=60)
            equal(result.returncode, 0, "--check, with " + result.stderr)
            equal(result.stdout.count("x.b2frame"), 1, result.stdout)
        finally:
            os.kill(two.pid, signal.SIGCONT)


def a_mount_bound_once_more_is_not_entered(work):
    private.needs_root()
    source = make_source(work, "m", "bound", "part", "a/deep")
    harness.write(source + "/file", b"")
    with Mount(work, source, point=source + "/m") as mount:
        # While it runs, and as a whole, in part, and a single file.
        private.command("ls", "-l", mount.point)
        private.bind(mount.point, source + "/bound")
        private.bind(mount.path("a"), source + "/part")
        private.bind(mount.path("a/x.b2frame"), source + "/a/deep")
        private.bind(mount.path("plain"), source + "/file")
        try:
            names = listed(mount.point)
            assert {"a/x.b2frame/data.bin", "bound", "part", "file",
                    "a/deep", "m"} <= names, names
            for name in ("bound", "part", "a/deep", "m", "file"):
                empty(mount.path(name))
            result = run("--check", source, timeout=60)
            equal(result.returncode, 0, "--check, with " + result.stderr)
            equal(result.stdout.count("x.b2frame"), 1, result.stdout)
        finally:
            for name in ("bound", "part", "a/deep", "file"):
                harness.raw_unmount(os.path.join(source, name))


def a_mount_that_comes_and_goes_is_followed(work):
    private.needs_root()
    source = make_source(work, "later/own")
    harness.write(source + "/later/own/file", b"own")
    with Mount(work, source, "-o", "attr_timeout=0") as mount:
        point = mount.path("later/own")
        equal(os.listdir(point), ["file"], "before")
        with Mount(work, source, point=source + "/later/own"):
            empty(point)
            equal(os.listdir(mount.path("later")), ["own"], "the folder")
        equal(os.listdir(point), ["file"], "afterwards")
        equal(harness.read(point + "/file"), b"own", "the file")


def other_file_systems_are_entered_and_ours_in_them_are_not(work):
    private.needs_root()
    source = make_source(work, "disk", "link")
    with private.mounted("tmpfs", source + "/disk"):
        os.makedirs(source + "/disk/in/m")
        harness.write(source + "/disk/in/y.b2frame",
                      samples.frame(DATA, 20000))
        harness.write(source + "/disk/in/file", b"text")
        harness.write(source + "/over", b"")
        private.bind(source + "/disk/in/file", source + "/over")
        try:
            with Mount(work, source, point=source + "/disk/in/m") as mount, \
                    Mount(work, source) as other:
                for point in (mount.point, other.point):
                    names = listed(point)
                    assert "disk/in/y.b2frame/data.bin" in names, names
                    empty(point + "/disk/in/m")
                    equal(harness.read(point +
                                       "/disk/in/y.b2frame/data.bin"),
                          DATA, "data")
                    equal(harness.read(point + "/over"), b"text", "over")
                    equal(harness.read(point + "/disk/in/file"), b"text",
                          "file")
        finally:
            harness.raw_unmount(source + "/over")


def a_mount_point_within_the_source_is_an_empty_folder(work):
    source = make_source(work, "m")
    harness.write(source + "/m/covered", b"")
    with Mount(work, source, point=source + "/m") as mount:
        assert "m" in os.listdir(mount.point)
        empty(mount.path("m"))
        equal(os.access(mount.path("m"), os.R_OK | os.X_OK), True, "access")
        subprocess.run(["du", "-s", mount.point], check=True, timeout=30,
                       stdout=subprocess.DEVNULL)


# Of each folder one part, over which a mount of ours is bound.
PARTS = {
    "sparse": ("00000001.chunk", "chunks.b2frame"),
    "column": ("data", "data/__0.blp", "meta", "meta/sizes", "meta/storage",
               "__attrs__"),
    "folder": (".zarray", "attributes.json"),
}


def make_parts(source):
    """The parts by their containers' paths below the source."""
    made = {}
    for kind, parts in PARTS.items():
        for i, part in enumerate(parts):
            name = f"{kind}{i}" + (".b2frame" if kind == "sparse" else "")
            path = os.path.join(source, name)
            if kind == "sparse":
                samples.write_sparse_frame(path, DATA, 20000)
            elif kind == "column":
                samples.write_column(path, range(5000), 1000, attrs=b"{}")
            else:
                os.mkdir(path)
                harness.write(path + "/" + part, b"{}")
            made[name] = part
    return made


def see_parts(point, made, work):
    """Everything is looked at and read; only what is bound is missing."""
    names = listed(point)
    assert {"sparse0.b2frame/info.json", "column1/info.json"} <= names, names
    private.command("ls", "-lR", point)
    for name in made:
        for entry in ("info.json", "data.bin", "meta.json"):
            private.command("sh", "-c", 'cat "$0" >"$1" || true',
                            os.path.join(point, name, entry), work + "/copy")
    for name, length in (("a/x.b2frame", 0), ("sparse0.b2frame", 50000)):
        private.command("sh", "-c", 'tail -c "+$2" "$0" >"$1"',
                        os.path.join(point, name, "data.bin"),
                        work + "/copy", str(length + 1))
        equal(harness.read(work + "/copy") == DATA[length:], True,
              "bytes of " + name)


def misses_a_chunk(point):
    harness.fails_with(5, harness.read,
                       point + "/sparse0.b2frame/chunks/0000000001")
    harness.fails_with(5, harness.read,
                       point + "/column1/chunks/0000000000")


def a_part_bound_from_a_mount_is_missing(work):
    private.needs_root()
    source = make_source(work, "m")
    made = make_parts(source)
    bound = []
    with Mount(work, source) as before, \
            Mount(work, source, point=source + "/m") as asleep:
        # Files that it has open by then it may go on with.
        listed(before.point)
        for name, part in made.items():
            path = os.path.join(source, name, part)
            private.bind(asleep.path("a" if os.path.isdir(path) else "plain"),
                         path)
            bound.append(path)
        os.kill(asleep.pid, signal.SIGSTOP)
        try:
            with Mount(work, source) as after:
                see_parts(before.point, made, work)
                see_parts(after.point, made, work)
                misses_a_chunk(after.point)
            result = run("--check", source, timeout=60)
            assert "sparse0.b2frame" in result.stdout, result.stdout
        finally:
            os.kill(asleep.pid, signal.SIGCONT)
            for path in bound:
                harness.raw_unmount(path)


def a_part_bound_from_the_mount_itself_is_missing(work):
    private.needs_root()
    source = make_source(work)
    made = make_parts(source)
    bound = []
    with Mount(work, source) as mount:
        for name, part in made.items():
            path = os.path.join(source, name, part)
            private.bind(mount.path("a" if os.path.isdir(path) else "plain"),
                         path)
            bound.append(path)
        try:
            see_parts(mount.point, made, work)
            misses_a_chunk(mount.point)
        finally:
            for path in bound:
                harness.raw_unmount(path)


def a_part_on_another_file_system_is_a_part(work):
    private.needs_root()
    source = make_source(work, "disk")
    data = samples.write_column(source + "/column", range(5000), 1000)
    part = source + "/column/data/__0.blp"
    with private.mounted("tmpfs", source + "/disk"):
        harness.write(source + "/disk/part", harness.read(part))
        private.bind(source + "/disk/part", part)
        try:
            with Mount(work, source) as mount:
                equal(harness.read(mount.path("column/data.bin")) == data,
                      True, "bytes")
        finally:
            harness.raw_unmount(part)


def unmounting_says_who_keeps_the_mount(work):
    private.needs_root()
    source = make_source(work)
    with Mount(work, source) as mount:
        with subprocess.Popen(["sleep", "1000"], cwd=mount.path("a")) as user:
            result = run("--unmount", mount.point)
            equal(result.returncode, 1, "exit of a busy one")
            assert f"sleep ({user.pid})" in result.stderr, result.stderr
            assert harness.mounted(mount.point)
            user.kill()
        # A copy of our namespace, which lives on by itself.
        with subprocess.Popen(["unshare", "-m", "sh", "-c",
                               "echo; exec sleep 1000"],
                              stdout=subprocess.PIPE) as other:
            other.stdout.readline()
            result = run("--unmount", mount.point, timeout=60)
            equal(result.returncode, 1, "exit of one held elsewhere")
            assert f"({other.pid})" in result.stderr and \
                "namespace" in result.stderr, result.stderr
            equal(harness.mounted(mount.point), None)
            other.kill()
        equal(mount.process.wait(20), 0, "the daemon's exit")


private.main([
    two_mounts_in_one_source_do_not_wait_for_each_other,
    a_daemon_that_answers_nobody_holds_up_no_other,
    a_mount_bound_once_more_is_not_entered,
    a_mount_that_comes_and_goes_is_followed,
    other_file_systems_are_entered_and_ours_in_them_are_not,
    a_mount_point_within_the_source_is_an_empty_folder,
    a_part_bound_from_a_mount_is_missing,
    a_part_bound_from_the_mount_itself_is_missing,
    a_part_on_another_file_system_is_a_part,
    unmounting_says_who_keeps_the_mount,
])
