#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The program: options, exit codes, starting, ending."""
import concurrent.futures
import contextlib
import ctypes
import json
import os
import signal
import subprocess
import time

import harness
import samples
from harness import Mount, equal, run

DATA = samples.noise(100000)


def make_source(work):
    return harness.make_source(work, samples.frame(DATA, 20000))


def make_point(work, name="point"):
    point = os.path.join(work, name)
    os.mkdir(point)
    return point


def one_sentence(result, code, *words):
    """It failed with this code and one line that holds the words."""
    equal(result.returncode, code, "exit code, with " + result.stderr)
    equal(result.stdout, "", "stdout")
    equal(result.stderr.count("\n"), 1, f"lines in {result.stderr!r}")
    assert result.stderr.startswith("bloscfs: "), result.stderr
    for word in words:
        assert word in result.stderr, result.stderr


def wrong_options_come_first(work):
    nowhere = work + "/nowhere"
    for bad in (["--bogus"], ["-o", "bogus"], ["-o", "ro,bogus=3"], ["-x"],
                ["-o", "uid=1", "--bogus=1"]):
        one_sentence(run(*bad, nowhere, nowhere), 2, "unknown option",
                     bad[-1].split("=")[0].split(",")[-1].strip("-"))
    for bad in ("cache_size=x", "cache_size=12Q", "cache_size=-1",
                "cache_size", "umask=9", "umask=1777", "attr_timeout=soon",
                "log_level=loud", "uid=no-such-user", "threads=1.5",
                "immutable=yes", "readahead=99999999999999999999",
                "subtype=other", "notify_fd=x", "cache_size="):
        one_sentence(run("-o", bad, nowhere, nowhere), 2,
                     bad.split("=")[0])
        one_sentence(run("--" + bad, nowhere, nowhere), 2,
                     bad.split("=")[0])
    one_sentence(run("-o", "views=data,bogus", nowhere, nowhere), 2, "bogus")
    for bad, meant in (("cachesize=3", "cache_size"), ("view=data", "views"),
                       ("log-level=err", "log_level"),
                       ("alow_other", "allow_other")):
        one_sentence(run("-o", bad, nowhere, nowhere), 2,
                     f"did you mean {meant}?")
    for bad, meant in (("--chek", "--check"), ("--umount", "--unmount"),
                       ("--versoin", "--version")):
        one_sentence(run(bad, nowhere), 2, f"did you mean {meant}?")
    for form in ("--check", "--info", "--cat", "--unmount", "--version"):
        one_sentence(run(form + "=" + nowhere), 2, form + " takes no value")
    for far in ("xyz", "o", "cache"):
        assert "did you mean" not in run("-o", far, nowhere, nowhere).stderr
    one_sentence(run(nowhere), 2, "SOURCE")
    one_sentence(run(), 2, "SOURCE")
    one_sentence(run(nowhere, nowhere, nowhere), 3, "/nowhere")
    one_sentence(run("-o"), 2, "-o")
    one_sentence(run("--info"), 2, "--info")
    one_sentence(run("--unmount"), 2, "MOUNTPOINT")


def sources_that_cannot_be_opened_say_so(work):
    source, point = make_source(work), make_point(work)
    one_sentence(run(work + "/nowhere", point), 3, "/nowhere")
    one_sentence(run(source + "/plain", point), 3, "plain",
                 "not a container")
    os.mkfifo(work + "/fifo")
    one_sentence(run(work + "/fifo", point), 3, "fifo")
    one_sentence(run("/dev/null", point), 3, "/dev/null")
    one_sentence(run("--offset=1", source + "/a.b2frame", point), 3,
                 "not a container")
    one_sentence(run("--offset=1", source, point), 2, "directory")
    one_sentence(run("--offset=1M", source + "/a.b2frame", point), 3,
                 "a.b2frame")
    equal(harness.mounted(point), None, "mount")


def mount_points_that_cannot_be_used_say_so(work):
    source, point = make_source(work), make_point(work)
    one_sentence(run(source, work + "/nowhere"), 1, "/nowhere", "mkdir")
    one_sentence(run(source, source + "/plain"), 1, "not a directory")
    with Mount(work, source, point=point):
        one_sentence(run(source, point), 1, "occupied")
    one_sentence(run("-o", f"log_file={work}/no/log", source, point), 1,
                 "log")


def help_and_version_tell(work):
    result = run("--help")
    equal((result.returncode, result.stderr), (0, ""))
    for word in ("SOURCE", "MOUNTPOINT", "cache_size", "immutable"):
        assert word in result.stdout, word
    equal(run("-h").stdout, result.stdout)
    result = run("--help=all")
    equal((result.returncode, result.stderr), (0, ""))
    for word in ("MOUNTPOINT", "--cache_size=", "--immutable"):
        assert word in result.stdout, word
    equal(run("--help=log").stdout.count("\n"), 4)
    assert run("--help=immutable").stdout.startswith("  --immutable ")
    assert "K, M, G or T" in run("--help=cache_size").stdout
    one_sentence(run("--help=nothing"), 2, "nothing")
    views = run("--help=views").stdout
    for line in ("    imaging    info, data, tiff, nifti, headers\n",
                 "    web        info, data, map, zarr, preview, html\n",
                 "    all        "):
        equal(views.count(line), 1, views)
    told = run("--version").stdout.split("views:\n")[1].split()
    for name in told[::2]:
        equal(name in views.replace(",", " ").split(), name != "members",
              name)
    result = run("--version")
    equal((result.returncode, result.stderr), (0, ""))
    for word in ("bloscfs ", "libfuse 3", "lz4", "zstd", "shuffle",
                 "b2frame", "npy"):
        assert word in result.stdout, word
    equal(run("-V").stdout, result.stdout)


def info_prints_what_info_json_holds(work):
    source = make_source(work)
    frame = source + "/a.b2frame"
    result = run("--info", frame)
    equal((result.returncode, result.stderr), (0, ""))
    info = json.loads(result.stdout)
    equal((info["nbytes"], info["nchunks"]), (100000, 5))
    with Mount(work, source) as mount:
        equal(harness.read(mount.path("a.b2frame/info.json")).decode(),
              result.stdout, "info.json")
    result = run("--info", frame, source + "/plain", frame)
    equal(result.returncode, 3)
    assert "plain" in result.stderr
    equal(result.stdout.count('"nbytes"'), 2)
    equal(run("--info", work + "/nowhere").returncode, 3)
    result = run("--info", source)
    equal((result.returncode, result.stderr), (0, ""), "of a folder")
    equal(json.loads(result.stdout), {"path": frame, **info})
    harness.write(work + "/cut.b2frame", samples.frame(DATA, 20000)[:50000])
    equal(run("--info", work + "/cut.b2frame").returncode, 1)


def it_returns_when_the_mount_answers(work):
    source, point = make_source(work), make_point(work)
    for _ in range(5):
        result = run(source, point)
        try:
            equal((result.returncode, result.stdout, result.stderr),
                  (0, "", ""))
            assert harness.mounted(point)
            equal(harness.read(point + "/a.b2frame/data.bin"), DATA)
            pid = harness.background_pid(point)
            assert pid and harness.alive(pid)
            equal(os.readlink(f"/proc/{pid}/cwd"), "/", "cwd")
            equal(os.getsid(pid), pid, "session")
            for fd in range(3):
                equal(os.readlink(f"/proc/{pid}/fd/{fd}"), "/dev/null")
            start = time.monotonic()
            result = run("--unmount", point)
            equal((result.returncode, result.stderr), (0, ""))
            equal(harness.mounted(point), None, "mount")
            assert not harness.alive(pid), "the daemon is still there"
            assert time.monotonic() - start < 10
        finally:
            harness.end_background(point)


def relative_paths_work(work):
    make_source(work)
    make_point(work)
    result = run("source/../source", "./point", cwd=work)
    equal(result.returncode, 0, result.stderr)
    try:
        equal(harness.read(work + "/point/a.b2frame/data.bin"), DATA)
        equal(run("--unmount", "point/", cwd=work).returncode, 0)
        equal(harness.mounted(work + "/point"), None)
    finally:
        harness.end_background(work + "/point")


def a_single_file_goes_to_the_background_too(work):
    source, point = make_source(work), make_point(work)
    equal(run(source + "/a.b2frame", point).returncode, 0)
    try:
        equal(harness.read(point + "/data.bin"), DATA)
        for i in range(5):
            equal(harness.read(f"{point}/chunks/{i:010d}"),
                  DATA[i * 20000:(i + 1) * 20000])
        equal(run("--unmount", point).returncode, 0)
    finally:
        harness.end_background(point)


def auto_unmount_is_handed_on(work):
    source = make_source(work)
    with Mount(work, source, "-o", "auto_unmount") as mount:
        equal(harness.read(mount.path("a.b2frame/data.bin")), DATA)
        equal(mount.end(), 0, "exit")
        equal(harness.mounted(mount.point), None)


def a_mount_made_after_the_first_signal_stays(work):
    if os.geteuid() != 0:
        raise harness.Skip("only root mounts another there")
    source = make_source(work)
    with Mount(work, source) as mount:
        fd = os.open(mount.path("plain"), os.O_RDONLY)
        mount.process.send_signal(signal.SIGTERM)
        harness.wait_until(lambda: harness.mounted(mount.point) is None)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", mount.point],
                       check=True, timeout=20)
        other = harness.mounted(mount.point)
        mount.process.send_signal(signal.SIGTERM)
        equal(mount.process.wait(20), 0, "exit")
        equal(harness.mounted(mount.point), other, "the other mount")
        with contextlib.suppress(OSError):
            os.close(fd)


def signals_unmount_and_end(work):
    source = make_source(work)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with Mount(work, source) as mount:
            equal(mount.end(number), 0, f"exit after {number}")
            equal(harness.mounted(mount.point), None, "mount")
            assert mount.log_lines("unmounted"), mount.log()
        point = make_point(work, f"point{number}")
        equal(run(source, point).returncode, 0)
        try:
            pid = harness.background_pid(point)
            os.kill(pid, number)
            harness.wait_until(lambda: not harness.alive(pid))
            equal(harness.mounted(point), None, "mount")
        finally:
            harness.end_background(point)


def a_signal_at_the_moment_of_the_first_answer_ends_it(work):
    source, point = make_source(work), make_point(work)
    for number in range(30):
        with subprocess.Popen([harness.BLOSCFS, "-f", source, point],
                              stdin=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as start:
            try:
                harness.wait_until(lambda: harness.mounted(point), step=0)
                # The moment is not known: before, at, and after it.
                time.sleep(number % 10 * 0.0002)
                start.terminate()
                start.wait(20)
            finally:
                start.kill()
                harness.raw_unmount(point)


def signals_that_do_not_end_a_mount_do_not_end_its_start(work):
    """However long SOURCE takes to open, as on a server that hangs."""
    harness.needs_root()
    silent, point = work + "/silent", make_point(work)
    os.mkdir(silent)
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    equal(libc.mount(b"silent", silent.encode(), b"fuse", 0,
                     b"fd=%d,rootmode=40000,user_id=0,group_id=0" % device), 0)
    try:
        with subprocess.Popen([harness.BLOSCFS, "-f", silent, point],
                              stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as start:
            assert b"waiting for" in start.stderr.readline()
            start.send_signal(signal.SIGUSR1)
            start.send_signal(signal.SIGUSR2)
            # Time to end in, for who would.
            time.sleep(0.3)
            equal(start.poll(), None, "exit")
            start.terminate()
            equal(start.wait(20), -signal.SIGTERM, "exit")
    finally:
        os.close(device)
        harness.raw_unmount(silent)


def a_busy_mount_ends_with_its_last_user(work):
    source = make_source(work)
    with Mount(work, source) as mount:
        with open(mount.path("a.b2frame/data.bin"), "rb",
                  buffering=0) as file:
            result = run("--unmount", mount.point)
            one_sentence(result, 1, "busy")
            mount.process.send_signal(signal.SIGTERM)
            harness.wait_until(lambda: harness.mounted(mount.point) is None)
            equal(mount.process.poll(), None, "the daemon's status")
            equal(file.read(), DATA, "data read after the signal")
        equal(mount.process.wait(20), 0, "exit")


def a_second_signal_does_not_wait(work):
    source = make_source(work)
    with Mount(work, source) as mount:
        fd = os.open(mount.path("a.b2frame/data.bin"), os.O_RDONLY)
        mount.process.send_signal(signal.SIGTERM)
        harness.wait_until(lambda: harness.mounted(mount.point) is None)
        mount.process.send_signal(signal.SIGTERM)
        equal(mount.process.wait(20), 0, "exit")
        # Nobody is there to be told of the close.
        with contextlib.suppress(OSError):
            os.close(fd)


def a_mount_whose_folder_was_renamed_is_taken_away(work):
    source, folder = make_source(work), work + "/folder"
    os.mkdir(folder)
    point = make_point(work, "folder/point")
    with Mount(work, source, point=point) as mount:
        os.rename(folder, work + "/renamed")
        renamed = work + "/renamed/point"
        equal(harness.read(renamed + "/a.b2frame/data.bin"), DATA)
        equal(mount.end(), 0, "exit")
        equal(harness.mounted(renamed), None, "the mount")
        os.rmdir(renamed)


def without_a_table_of_mounts_it_is_taken_away(work):
    harness.needs_root()
    source, point = make_source(work), make_point(work)
    script = (
        "umount -l /proc || exit 77; '%s' -f '%s' '%s' & "
        "for i in $(seq 200); do test -f '%s/plain' && break; sleep 0.1; "
        "done; test -f '%s/plain' || exit 1; kill $!; wait $! || %s; "
        "stat '%s'" % (
            harness.BLOSCFS, source, point, point, point,
            # Without /proc nothing can be searched for leaks, which fails.
            "true" if harness.SANITIZED else "exit 2", point))
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], timeout=60, check=False,
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env={**os.environ, "LD_LIBRARY_PATH": os.path.join(
            os.path.dirname(harness.BLOSCFS), "..", "lib")})
    if done.returncode == 77:
        raise harness.Skip("there is no /proc to be taken away")
    equal(done.returncode, 0, done.stdout + done.stderr)


def unmounting_from_outside_ends_it(work):
    source = make_source(work)
    with Mount(work, source) as mount:
        command = ["umount"] if os.geteuid() == 0 else ["fusermount3", "-u"]
        subprocess.run([*command, mount.point], check=True, timeout=20)
        equal(mount.process.wait(20), 0, "exit")


def a_killed_daemons_mount_can_be_taken_away(work):
    source = make_source(work)
    with Mount(work, source, "--attr_timeout=0") as mount:
        mount.kill()
        equal(run("--unmount", mount.point).returncode, 0)
        equal(harness.mounted(mount.point), None)


def a_mount_replaces_a_dead_one_of_the_same_user(work):
    """Also where the kernel still remembers what the dead one had told."""
    source = make_source(work)
    for timeout in (0, 3600):
        replace_dead(work, source, timeout)


def replace_dead(work, source, timeout):
    with Mount(work, source, f"--attr_timeout={timeout}") as mount:
        os.stat(mount.point)
        mount.kill()
        result = run(source, mount.point)
        equal(result.returncode, 0, "exit, with " + result.stderr)
        assert "was taken away" in result.stderr, result.stderr
        equal(harness.read(mount.path("plain")), b"plain")
        equal(run("--unmount", mount.point).returncode, 0)
        equal(harness.mounted(mount.point), None)


def a_mount_point_whose_daemon_answers_nobody_is_occupied(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    with Mount(work, source, "-o", "attr_timeout=0") as mount:
        os.kill(mount.pid, signal.SIGSTOP)
        try:
            result = run("-f", source, mount.point, timeout=60)
            equal(result.returncode, 1, "exit, with " + result.stderr)
            assert "occupied by a mount of type fuse.bloscfs" in \
                result.stderr, result.stderr
        finally:
            os.kill(mount.pid, signal.SIGCONT)
        equal(os.listdir(mount.point), [], "the mount")


def a_source_that_does_not_answer_is_named(work):
    """Who starts a mount is told what it waits for, and once it answers the
    start goes on."""
    source, point = work + "/source", work + "/point"
    os.makedirs(source + "/below/it")
    os.mkdir(point)
    with Mount(work, source, "-o", "attr_timeout=0") as mount:
        os.kill(mount.pid, signal.SIGSTOP)
        waiting = mount.path("below/it")
        with subprocess.Popen([harness.BLOSCFS, "-f", waiting, point],
                              stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as start:
            try:
                line = start.stderr.readline()
            finally:
                os.kill(mount.pid, signal.SIGCONT)
            try:
                assert line.startswith(f"bloscfs: waiting for '{waiting}', "
                                       "which has not answered"), line
                # It mounts, or refuses to for another reason.
                harness.wait_until(
                    lambda: harness.mounted(point) or start.poll() is not None)
            finally:
                start.terminate()
                start.wait(20)
                harness.raw_unmount(point)


def a_mount_point_in_a_mount_that_answers_nobody_is_refused(work):
    source = os.path.join(work, "source")
    os.makedirs(source + "/below/point")
    link = os.path.join(work, "link")
    with Mount(work, source, "-o", "attr_timeout=0") as mount:
        os.symlink(mount.path("below"), link)
        os.kill(mount.pid, signal.SIGSTOP)
        try:
            points = (mount.path("below/point"), link + "/point", link)
            calls = [(*words, point) for point in points
                     for words in (("-f", source), ("--unmount",))]
            with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
                for call, result in zip(calls, pool.map(
                        lambda call: run(*call, timeout=60), calls)):
                    assert result.returncode, call
                    assert "does not answer" in result.stderr, \
                        (call, result.stderr)
        finally:
            os.kill(mount.pid, signal.SIGCONT)
        equal(os.listdir(mount.point), ["below"], "the mount")


def a_mount_in_a_folder_that_answers_nobody_ends(work):
    """It cannot be unmounted, and nobody is left who serves it."""
    below = os.path.join(work, "below")
    os.makedirs(below + "/point")
    with Mount(work, below, "-o", "attr_timeout=0") as lower:
        mount = Mount(work, make_source(work), point=lower.path("point"))
        os.kill(lower.pid, signal.SIGSTOP)
        try:
            start = time.monotonic()
            mount.end()
            assert time.monotonic() - start < 15
            equal(len(mount.log_lines("does not answer")), 1, mount.log())
            equal(mount.log_lines("unmounted from"), [])
        finally:
            os.kill(lower.pid, signal.SIGCONT)
            harness.raw_unmount(mount.point)


def a_dead_mount_of_another_user_is_left_and_named(work):
    harness.needs_reach()
    source = make_source(work)
    with Mount(work, source, "--attr_timeout=0", "--allow_other") as mount:
        mount.kill()
        one_sentence(run(source, mount.point, user=harness.NOBODY), 1,
                     "user 0's", "--unmount", "daemon is gone")
        assert harness.mounted(mount.point)
        equal(run("--unmount", mount.point).returncode, 0)


def unmount_refuses_what_is_not_ours(work):
    one_sentence(run("--unmount", work), 1, work, "not a mount")
    one_sentence(run("--unmount", "/proc"), 1, "/proc")
    one_sentence(run("--unmount", work + "/nowhere"), 1, work + "/nowhere",
                 "does not exist")


def an_idle_mount_goes(work):
    source = make_source(work)
    with Mount(work, source, "-o", "idle_timeout=1") as mount:
        with open(mount.path("plain"), "rb"):
            # That something does not happen takes its time.
            time.sleep(2.5)
            assert harness.mounted(mount.point), "unmounted while in use"
        equal(mount.process.wait(20), 0, "exit")
        equal(harness.mounted(mount.point), None)


def logs_go_where_they_are_told(work):
    source, point = make_source(work), make_point(work)
    log = work + "/log file, with comma"
    escaped = log.replace(",", "\\,")
    equal(run("-o", f"log_file={escaped},log_level=info", source,
              point).returncode, 0)
    try:
        harness.read(point + "/a.b2frame/data.bin")
        equal(run("--unmount", point).returncode, 0)
    finally:
        harness.end_background(point)
    lines = [line.split(" ", 2)[2]
             for line in harness.read(log).decode().splitlines()]
    assert any(line.startswith("notice: mounted") for line in lines), lines
    assert any(line.startswith("info: 'a.b2frame'") for line in lines), lines
    assert any(line.startswith("notice: unmounted") for line in lines), lines


def views_choose_what_appears(work):
    source = make_source(work)
    with Mount(work, source, "-o", "views=data,info,ro,attr_timeout=1") \
            as mount:
        equal(sorted(os.listdir(mount.path("a.b2frame"))),
              ["data.bin", "info.json"])
    with Mount(work, source, "--views=chunks") as mount:
        equal(os.listdir(mount.path("a.b2frame")), ["chunks"])


def the_read_ahead_is_raised_where_permitted(work):
    if os.geteuid() != 0:
        raise harness.Skip("only root may")
    source = make_source(work)
    with Mount(work, source) as mount:
        device = harness.mounted(mount.point)
        path = f"/sys/class/bdi/{device}/read_ahead_kb"
        equal(harness.read(path), b"128\n", "the kernel's read-ahead")
    with Mount(work, source, "--readahead=2M") as mount:
        device = harness.mounted(mount.point)
        path = f"/sys/class/bdi/{device}/read_ahead_kb"
        equal(harness.read(path), b"2048\n", "read-ahead")


def without_the_newer_open_call_it_works_too(work):
    """openat2 is unknown, as on older kernels."""
    if os.geteuid() != 0:
        raise harness.Skip("fusermount3 gains nothing under the filter")
    source = make_source(work)
    os.makedirs(source + "/x/y")
    harness.write(source + "/x/y/b.blosc", samples.small_chunk(DATA[:99]))
    point = make_point(work)
    result = run(source, point, preexec_fn=harness.lacking(437))
    try:
        equal(result.returncode, 0, result.stderr)
        equal(harness.read(point + "/x/y/b.blosc/data.bin"), DATA[:99])
        equal(harness.read(point + "/a.b2frame/data.bin"), DATA)
        equal(harness.read(point + "/plain"), b"plain")
        equal(sorted(os.listdir(point)), ["a.b2frame", "plain", "x"])
        equal(run("--unmount", point).returncode, 0)
    finally:
        harness.end_background(point)


def memory_too_small_to_answer_is_refused_at_the_start(work):
    source, point = make_source(work), make_point(work)
    one_sentence(run("-f", "--max_memory=1K", source, point), 1, "no memory")
    for size in ("60K", "500K"):
        one_sentence(run("-f", "--max_memory=" + size, source, point), 2,
                     "max_memory", "at least")
    with Mount(work, source, "--max_memory=2M", "--threads=2") as mount:
        equal(harness.read(mount.path("a.b2frame/data.bin")), DATA)


if __name__ == "__main__":
    harness.main([
        memory_too_small_to_answer_is_refused_at_the_start,
        wrong_options_come_first,
        sources_that_cannot_be_opened_say_so,
        mount_points_that_cannot_be_used_say_so,
        help_and_version_tell,
        info_prints_what_info_json_holds,
        it_returns_when_the_mount_answers,
        relative_paths_work,
        a_single_file_goes_to_the_background_too,
        auto_unmount_is_handed_on,
        a_mount_made_after_the_first_signal_stays,
        signals_unmount_and_end,
        a_signal_at_the_moment_of_the_first_answer_ends_it,
        signals_that_do_not_end_a_mount_do_not_end_its_start,
        a_busy_mount_ends_with_its_last_user,
        a_second_signal_does_not_wait,
        a_mount_whose_folder_was_renamed_is_taken_away,
        without_a_table_of_mounts_it_is_taken_away,
        unmounting_from_outside_ends_it,
        a_killed_daemons_mount_can_be_taken_away,
        a_mount_replaces_a_dead_one_of_the_same_user,
        a_mount_point_whose_daemon_answers_nobody_is_occupied,
        a_source_that_does_not_answer_is_named,
        a_mount_point_in_a_mount_that_answers_nobody_is_refused,
        a_mount_in_a_folder_that_answers_nobody_ends,
        a_dead_mount_of_another_user_is_left_and_named,
        unmount_refuses_what_is_not_ours,
        an_idle_mount_goes,
        logs_go_where_they_are_told,
        views_choose_what_appears,
        the_read_ahead_is_raised_where_permitted,
        without_the_newer_open_call_it_works_too,
    ])
