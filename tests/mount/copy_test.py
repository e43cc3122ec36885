#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that copy: cp, rsync, tar, dd, split; and what du says before and
after."""
import os
import subprocess

import harness
import programs
from harness import Mount, equal
from programs import MIB, archive, need, tool

SLACK = MIB


def disk_bytes(path):
    return os.stat(path).st_blocks * 512


def is_sparse(path, held):
    """No more on disk than what was held, and some slack."""
    used = disk_bytes(path)
    assert held <= used + SLACK, f"{used} bytes on disk, of {held}"
    assert used <= held + SLACK, f"{used} bytes on disk, wanted {held}"


def same_tree(mount, copy):
    """Names, kinds, modes and times are those of the mount."""
    seen = 0
    for folder, _, names in harness.walk(mount):
        there = os.path.join(copy, os.path.relpath(folder, mount))
        equal(sorted(os.listdir(there)), sorted(os.listdir(folder)),
              "names in " + there)
        for name in names + ["."]:
            one = os.lstat(os.path.join(folder, name))
            two = os.lstat(os.path.join(there, name))
            equal((two.st_mode, two.st_mtime_ns),
                  (one.st_mode, one.st_mtime_ns), f"{there}/{name}")
            seen += 1
    return seen


def du_counts_what_is_no_hole(work):
    made = archive(work)
    with Mount(work, made.source) as mount:
        data = mount.path("holey.b2frame/data.bin")
        equal(tool("du", "-B1", data).split()[0], str(made.held))
        equal(tool("du", "-b", "--apparent-size", data).split()[0],
              str(40 * MIB))
        whole = os.path.getsize(made.truth("walk"))
        data = mount.path("walk.b2nd/data.bin")
        equal(tool("du", "-B1", data).split()[0], str(whole))


def cp_a_copies_a_mount(work):
    made = archive(work)
    copy = work + "/copy"
    with Mount(work, made.source) as mount:
        equal(tool("cp", "-a", mount.point, copy), "")
        assert same_tree(mount.point, copy) > 100
        made.compare(copy)
        equal(os.readlink(copy + "/link"), "text.b2frame/data.bin")
        is_sparse(copy + "/holey.b2frame/data.bin", made.held)


def cp_keeps_holes_and_can_be_told_not_to(work):
    made = archive(work)
    with Mount(work, made.source) as mount:
        data = mount.path("holey.b2frame/data.bin")
        tool("cp", "--sparse=auto", data, work + "/auto")
        tool("cp", "--sparse=never", data, work + "/never")
    is_sparse(work + "/auto", made.held)
    assert disk_bytes(work + "/never") >= 40 * MIB
    for name in ("auto", "never"):
        equal(programs.sha(f"{work}/{name}"),
              programs.sha(made.truth("holey")), "hash of " + name)


def rsync_transfers_nothing_the_second_time(work):
    need("rsync")
    made = archive(work)
    words = ["rsync", "-a", "--sparse", "--itemize-changes", "--stats"]
    with Mount(work, made.source) as mount:
        for more, some in ((), True), ((), False), (("-c",), False):
            said = tool(*words, *more, mount.point + "/", work + "/copy/")
            counts = [line for line in said.splitlines()
                      if "regular files transferred" in line]
            moved = int(counts[0].split(":")[1].replace(",", ""))
            changes = [line for line in said.splitlines()
                       if line[:1] in ("<", ">", "c", ".", "*", "h")]
            equal((moved > 0, bool(changes)), (some, some), said)
        same_tree(mount.point, work + "/copy")
        made.compare(work + "/copy")


def tar_archives_holes_as_holes(work):
    made = archive(work)
    os.mkdir(work + "/out")
    with Mount(work, made.source) as mount:
        for how in ("seek", "raw"):
            tool("tar", "-C", mount.point, "-S", "--hole-detection=" + how,
                 "-cf", work + "/a.tar", "holey.b2frame/data.bin")
            size = os.path.getsize(work + "/a.tar")
            assert size < made.held + SLACK, f"{size} bytes by {how}"
        # Of all, it finds no difference either.
        tool("tar", "-C", mount.point, "-S", "-cf", work + "/all.tar", ".")
        equal(tool("tar", "-C", mount.point, "-df", work + "/all.tar"), "")
        tool("tar", "-C", work + "/out", "-xf", work + "/all.tar")
        same_tree(mount.point, work + "/out")
    made.compare(work + "/out")
    is_sparse(work + "/out/holey.b2frame/data.bin", made.held)


def tar_through_a_pipe_loses_nothing(work):
    made = archive(work)
    os.mkdir(work + "/out")
    with Mount(work, made.source) as mount:
        tool("sh", "-c", 'tar -C "$1" -cf - . | tar -C "$2" -xf -', "-",
             mount.point, work + "/out")
    made.compare(work + "/out")


def dd_reads_from_any_offset(work):
    made = archive(work)
    truth = harness.read(made.truth("walk"))
    with Mount(work, made.source) as mount:
        data = "if=" + mount.path("walk.b2nd/data.bin")
        for words, at, length in (
                (("bs=1M", "skip=3", "count=2"), 3 * MIB, 2 * MIB),
                (("bs=4097", "skip=700", "count=11"), 700 * 4097, 11 * 4097),
                (("bs=512", "skip=12345677", "count=100001",
                  "iflag=skip_bytes,count_bytes"), 12345677, 100001),
                (("bs=64K", "skip=16777000", "iflag=skip_bytes"),
                 16777000, 216),
                (("bs=1M", "skip=5", "count=4", "iflag=direct"),
                 5 * MIB, 4 * MIB),
                (("bs=1M", "skip=16"), 16 * MIB, 0)):
            got = tool("dd", data, "status=none", *words, text=False)
            equal(got == truth[at:at + length], True, f"dd {words}")


def split_cuts_and_cat_joins(work):
    made = archive(work)
    with Mount(work, made.source) as mount:
        data = mount.path("holey.b2frame/data.bin")
        tool("split", "-b", "7777777", data, work + "/size.")
        tool("split", "-n", "3", data, work + "/parts.")
        tool("split", "-n", "l/5", mount.path("text.b2frame/data.bin"),
             work + "/lines.")
    for prefix, stem, pieces in (("size", "holey", 6), ("parts", "holey", 3),
                                 ("lines", "text", 5)):
        names = sorted(name for name in os.listdir(work)
                       if name.startswith(prefix + "."))
        equal(len(names), pieces, "pieces of " + prefix)
        with subprocess.Popen(["cat", *names], cwd=work,
                              stdout=subprocess.PIPE) as cat:
            tool("cmp", "-", made.truth(stem), stdin=cat.stdout)


if __name__ == "__main__":
    harness.main([
        du_counts_what_is_no_hole,
        cp_a_copies_a_mount,
        cp_keeps_holes_and_can_be_told_not_to,
        rsync_transfers_nothing_the_second_time,
        tar_archives_holes_as_holes,
        tar_through_a_pipe_loses_nothing,
        dd_reads_from_any_offset,
        split_cuts_and_cat_joins,
    ])
