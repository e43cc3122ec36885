#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What people meet first: a mount point that is not there, a mount that does
not end, df, a source that went away, and words that help."""
import os
import shutil
import signal
import subprocess

import harness
import samples
from harness import Mount, equal, make_source, run, wait_until

DATA = samples.noise(100000)


def source_of(work):
    return make_source(work, samples.frame(DATA, 20000))


def one_line(result, code, *words):
    equal((result.returncode, result.stderr.count("\n")), (code, 1),
          result.stderr)
    for word in words:
        assert word in result.stderr, (word, result.stderr)


def mkdir_makes_the_mount_point_and_takes_it_away(work):
    source, point = source_of(work), work + "/new"
    one_line(run(source, point), 1, "does not exist", "--mkdir")
    equal(run("--mkdir", source, point).returncode, 0, "background")
    try:
        equal(harness.read(point + "/a.b2frame/data.bin"), DATA, "data")
        equal(run("--unmount", point).returncode, 0, "unmount")
    finally:
        harness.end_background(point)
    equal(os.path.lexists(point), False, "what is left in the background")
    with Mount(work, source, "--mkdir", point=point):
        equal(os.path.ismount(point), True, "foreground")
    equal(os.path.lexists(point), False, "what is left in the foreground")
    # What was there stays.
    os.mkdir(point)
    with Mount(work, source, "--mkdir", point=point):
        pass
    equal(os.path.isdir(point), True, "what was there before")


def mkdir_leaves_nothing_behind_a_mount_that_failed(work):
    source, point = source_of(work), work + "/new"
    for option in ((), ("-f",)):
        result = run("--mkdir", *option, source + "/plain", point)
        one_line(result, 3, "not a container")
        equal(os.path.lexists(point), False, "what is left")
    one_line(run("--mkdir", source, work + "/no/new"), 1, "/no/new",
             "No such file")


def a_mount_point_that_is_not_empty_is_noted(work):
    source, point = source_of(work), work + "/new"
    os.makedirs(point + "/sub")
    for options in ((), ("--keep", source)):
        result = run(*options, source, point)
        try:
            one_line(result, 0, "note", "/new", "hidden")
        finally:
            equal(run("--unmount", point).returncode, 0)
    os.rmdir(point + "/sub")
    # Nor is what is shown itself hidden.
    for words in ((source, point), (source, source), (point, source, source)):
        result = run(*words)
        equal((result.returncode, result.stderr), (0, ""), words)
        equal(run("--unmount", words[-1]).returncode, 0)


def a_signal_that_waits_says_for_whom(work):
    source = source_of(work)
    mount = Mount(work, source)
    try:
        with open(mount.path("a.b2frame/data.bin"), "rb"):
            mount.process.send_signal(signal.SIGINT)
            told = f"waits for python3 ({os.getpid()})"
            wait_until(lambda: mount.log_lines("waits for"), told=mount.log)
            lines = mount.log_lines(told)
            equal(len(lines), 1, mount.log())
            assert "second signal" in lines[0], lines
            equal(mount.process.poll(), None, "it serves")
        equal(mount.process.wait(20), 0, mount.log())
    finally:
        mount.end(signal.SIGKILL)
        harness.raw_unmount(mount.point)


def a_mount_that_nobody_uses_ends_without_a_word(work):
    with Mount(work, source_of(work)) as mount:
        equal(mount.end(signal.SIGINT), 0, "exit status")
        # A slow machine may make it wait, but for nobody.
        equal([line for line in mount.log_lines("waits for")
               if "python" in line], [], "whom it waits for")


def who_may_not_unmount_is_told_whose_it_is(work):
    if os.geteuid() != 0:
        raise harness.Skip("needs root")
    os.chmod(work, 0o755)
    with Mount(work, source_of(work), "--allow_other") as mount:
        one_line(run("--unmount", mount.point, user=harness.NOBODY), 1,
                 "user 0's", "or root may unmount it")
        equal(os.path.ismount(mount.point), True, "the mount")


def a_container_without_the_right_to_mount_is_told_what_it_lacks(work):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise harness.Skip("needs root and setpriv")
    point = work + "/point"
    os.mkdir(point)
    result = subprocess.run(
        ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin",
         harness.BLOSCFS, source_of(work), point], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=30, check=False)
    one_line(result, 1, "SYS_ADMIN", "--cat")
    equal(result.stderr.count("ermitted"), 1, "said once")


def no_threads_are_refused(work):
    for name in ("threads", "jobs"):
        one_line(run(f"--{name}=0", work, work), 2, name, "from 1 on")


def what_is_wrong_is_told_with_what_helps(work):
    for value, words in (("cache_size=lots", "--help=cache_size"),
                         ("formats=lots", "--version")):
        one_line(run("-o", value, work, work), 2, "lots", words)
    far = "ftp://127.0.0.1/a.b2nd"
    one_line(run(far, work), 3, "no address", "s3://")
    one_line(run("--cat", far, "data.bin"), 3, "no address", "s3://")
    for form in "--info", "--check":
        result = run(form, far)
        assert result.returncode and \
            "no address" in result.stdout + result.stderr, result


def who_is_in_the_way_is_not_who_unmounts(work):
    with Mount(work, source_of(work)) as mount:
        with open(mount.path("a.b2frame/data.bin"), "rb") as held:
            result = subprocess.run(
                [harness.BLOSCFS, "--unmount", mount.point],
                stdin=held, capture_output=True, text=True, timeout=60,
                check=False)
            one_line(result, 1, f"in use by python3 ({os.getpid()})")
            assert ", bloscfs (" not in result.stderr, result.stderr


def df_shows_what_is_used_and_what_is_free(work):
    source = source_of(work)
    with Mount(work, source) as mount:
        info = os.statvfs(mount.point)
        own = os.statvfs(source)
        equal((info.f_frsize, info.f_blocks),
              (own.f_frsize, own.f_blocks), "of a folder")
        assert (info.f_bavail > 0) == (own.f_bavail > 0), info
    frame = source + "/a.b2frame"
    with Mount(work, frame) as mount:
        info = os.statvfs(mount.point)
        used = (info.f_blocks - info.f_bfree) * info.f_frsize
        stored = os.stat(frame).st_blocks * 512
        assert stored <= used < stored + info.f_frsize, (used, stored)


def a_source_that_went_away_is_told(work):
    source, aside = source_of(work), work + "/aside"
    with Mount(work, source, "--attr_timeout=0") as mount:
        def told(text):
            def look():
                os.stat(mount.point)
                return mount.log_lines(text)
            return look

        os.rename(source, aside)
        wait_until(told("was removed or moved"), told=mount.log)
        # It is shown all the same.
        equal(harness.read(mount.path("a.b2frame/data.bin")), DATA, "data")
        os.mkdir(source)
        wait_until(told("was replaced"), told=mount.log)
        os.rmdir(source)
        os.rename(aside, source)
        wait_until(told("is there again"), told=mount.log)
        equal(len(mount.log_lines("SOURCE")), 3, mount.log())


if __name__ == "__main__":
    harness.main([
        mkdir_makes_the_mount_point_and_takes_it_away,
        mkdir_leaves_nothing_behind_a_mount_that_failed,
        a_mount_point_that_is_not_empty_is_noted,
        a_signal_that_waits_says_for_whom,
        a_mount_that_nobody_uses_ends_without_a_word,
        who_may_not_unmount_is_told_whose_it_is,
        a_container_without_the_right_to_mount_is_told_what_it_lacks,
        no_threads_are_refused,
        what_is_wrong_is_told_with_what_helps,
        who_is_in_the_way_is_not_who_unmounts,
        df_shows_what_is_used_and_what_is_free,
        a_source_that_went_away_is_told,
    ])
