#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who serves a mount is confined, and its keeper outlives it."""
import errno
import os
import re
import signal
import subprocess

import harness
import namespace
import samples
from harness import Mount, equal, run, wait_until

DATA = samples.noise(100000)
STRAY = os.environ.get("MOUNT_STRAY", "")
DIED = 4


def make_source(work):
    return harness.make_source(work, samples.frame(DATA, 20000))


# Not for builds with a sanitizer, which makes calls of its own.
CONFINED = set()


def confined(test):
    """A test of what only a sandbox does."""
    CONFINED.add(test)
    return test


def needs_sandbox():
    told = run("--version").stdout
    if "Landlock" not in told or "no Landlock" in told or \
            "not in this build" in told.split("codecs:")[0]:
        raise harness.Skip("kernel or build has less: " + told)


def config(mount):
    text = harness.read(mount.path(".bloscfs/config")).decode()
    return dict(line.split("=", 1) for line in text.splitlines())


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return {key: value.strip() for key, _, value in
                (line.partition(":") for line in file)}


@confined
def it_is_in_force_and_told(work):
    needs_sandbox()
    source = make_source(work)
    for option in ((), ("--sandbox=require",), ("-o", "sandbox=on")):
        with Mount(work, source, *option) as mount:
            told = config(mount)
            equal(told["sandbox"], "require" if "require" in str(option)
                  else "on")
            for word in ("Landlock", "seccomp", "no new privileges",
                         "no dumps", "capability"):
                assert word in told["in_force"], told["in_force"]
            equal(harness.read(mount.path("a.b2frame/data.bin")), DATA)
            inner = status_of(mount.pid)
            equal((inner["Seccomp"], inner["NoNewPrivs"]), ("2", "1"))
            equal(int(inner["CapEff"], 16),
                  4 if os.geteuid() == 0 else 0, "capabilities")
            keeper = status_of(mount.process.pid)
            equal(keeper["Threads"], "1", "the keeper's threads")
            equal(keeper["Seccomp"], "0")


@confined
def an_ordinary_user_has_it_and_unmounts(work):
    """Whose unmounting takes fusermount3, which gains rights."""
    needs_sandbox()
    harness.needs_reach()
    source = make_source(work)
    for call in (None, "socket"):
        flag = f"{work}/user-{call}"
        with Mount(work, source, "--sandbox=require", user=harness.NOBODY,
                   env={"LD_PRELOAD": STRAY, "STRAY": call,
                        "STRAY_AT": flag} if call else None) as mount:
            inner = status_of(mount.pid)
            equal((inner["Seccomp"], inner["NoNewPrivs"]), ("2", "1"))
            equal((inner["CapEff"], inner["CapPrm"]), ("0" * 16, "0" * 16))
            equal(status_of(mount.process.pid)["NoNewPrivs"], "0")
            path = mount.path("a.b2frame/data.bin")
            if not call:
                equal(harness.as_user(harness.NOBODY,
                                      lambda p=path: harness.read(p)), 0)
                continue
            harness.write(flag, b"")
            assert harness.as_user(harness.NOBODY,
                                   lambda p=path: harness.read(p)) in (
                errno.ENOTCONN, errno.ECONNABORTED, errno.ENOENT)
            equal(mount.process.wait(20), DIED, "exit")
            equal(harness.mounted(mount.point), None)
            mount.process.returncode = 0


def without_it_there_is_none(work):
    source = make_source(work)
    with Mount(work, source, "--sandbox=off") as mount:
        told = config(mount)
        equal((told["sandbox"], told["in_force"]), ("off", "none"))
        equal(status_of(mount.pid)["Seccomp"], "0")
        equal(harness.read(mount.path("a.b2frame/data.bin")), DATA)
    equal(run("--sandbox=maybe", source, work).returncode, 2)


@confined
def calls_of_a_decoder_that_was_taken_over_end_it(work):
    needs_sandbox()
    source = make_source(work)
    for call in ("socket", "execve", "ptrace", "unlink"):
        flag = f"{work}/now-{call}"
        with Mount(work, source, env={
                "LD_PRELOAD": STRAY, "STRAY": call,
                "STRAY_AT": flag}) as mount:
            equal(harness.read(mount.path("plain")), b"plain")
            harness.write(flag, b"")
            try:
                harness.read(mount.path("a.b2frame/data.bin"))
            except OSError as error:
                assert error.errno in (errno.ENOTCONN, errno.ECONNABORTED,
                                       errno.ENOENT), error
            else:
                raise AssertionError("it was read")
            equal(mount.process.wait(20), DIED, "exit")
            assert mount.log_lines("its sandbox forbids: " + call), \
                mount.log()
            equal(harness.mounted(mount.point), None)
            assert os.path.exists(flag), "it was removed"
            assert not os.path.exists(flag + ".done"), "it was executed"
            mount.process.returncode = 0


@confined
def what_it_says_to_its_keeper_is_no_more_than_words(work):
    """Which become single lines of the log, and change nothing."""
    needs_sandbox()
    source = make_source(work)
    flag = work + "/now"
    with Mount(work, source, env={"LD_PRELOAD": STRAY, "STRAY": "babble",
                                  "STRAY_AT": flag}) as mount:
        equal(harness.read(mount.path("plain")), b"plain")
        keeper = f"/proc/{mount.process.pid}/fd"
        before = set(os.listdir(keeper))
        harness.write(flag, b"")
        equal(harness.read(mount.path("a.b2frame/data.bin")), DATA)
        assert wait_until(lambda: mount.log_lines("FORGED")), mount.log()
        equal(set(os.listdir(keeper)) - before, set())
        for line in mount.log().splitlines():
            assert not line.startswith("FORGED"), line
            assert line.isprintable(), line
        equal(harness.read(mount.path("a.b2frame/data.bin")), DATA)
        assert mount.process.poll() is None


def when_who_serves_dies_the_keeper_says_so_and_unmounts(work):
    source = make_source(work)
    for number in (signal.SIGKILL, signal.SIGABRT):
        with Mount(work, source) as mount:
            harness.read(mount.path("a.b2frame/data.bin"))
            file = os.open(mount.path("plain"), os.O_RDONLY)
            os.kill(mount.pid, number)
            equal(mount.process.wait(20), DIED, "exit")
            equal(harness.mounted(mount.point), None)
            assert mount.log_lines(f"killed by signal {int(number)}"), \
                mount.log()
            try:
                os.read(file, 5)
            except OSError as error:
                assert error.errno in (errno.ENOTCONN, errno.EIO), error
            os.close(file)
            mount.process.returncode = 0


def who_never_answers_holds_up_nobody(work):
    """Neither a second before it is mounted, nor after the second signal,
    however much it says meanwhile."""
    source = make_source(work)
    flag, point, log = work + "/now", work + "/point", work + "/log"
    env = dict(os.environ, LD_PRELOAD=STRAY, STRAY="deaf", STRAY_AT=flag)
    os.mkdir(point)
    harness.write(flag, b"")
    for option in ((), ("-f",)):
        result = run(*option, "--log_file=" + log, source, point, env=env,
                     timeout=60)
        equal(result.returncode, 1, result.stderr)
        assert "does not answer" in result.stderr, result.stderr
        equal(harness.mounted(point), None)
    # A signal to end does not wait for so long.
    with subprocess.Popen([harness.BLOSCFS, "-f", source, point], text=True,
                          env=dict(env, STRAY_SLOWLY="1"),
                          stderr=subprocess.PIPE) as keeper:
        assert wait_until(lambda: harness.mounted(point))
        keeper.send_signal(signal.SIGTERM)
        assert "it was ended" in keeper.communicate(timeout=20)[1]
        equal(keeper.returncode, 1)
    equal(harness.mounted(point), None)
    os.unlink(flag)
    with Mount(work, source, "--attr_timeout=0", env={
                   "LD_PRELOAD": STRAY, "STRAY": "deaf",
                   "STRAY_AT": flag}) as mount:
        file = os.open(mount.path("plain"), os.O_RDONLY)
        harness.write(flag, b"")
        # It falls deaf while it hears this.
        mount.process.send_signal(signal.SIGUSR1)
        assert wait_until(lambda: mount.log_lines("says"))
        mount.process.send_signal(signal.SIGTERM)
        assert wait_until(lambda: not harness.mounted(mount.point))
        mount.process.send_signal(signal.SIGTERM)
        equal(mount.process.wait(20), 1, "exit")
        # It tells its file system, which is dead, and is closed all the same.
        assert fails(lambda: os.close(file)), "of the dead mount"
        mount.process.returncode = 0


def with_restart_another_one_serves(work):
    """In the foreground and in the background; also to be dumped never."""
    source = make_source(work)
    log = work + "/log"
    with Mount(work, source, "--restart", f"--log_file={log}") as mount:
        file = os.open(mount.path("plain"), os.O_RDONLY)
        for number in (signal.SIGKILL, signal.SIGABRT):
            before = harness.server_of(mount.process.pid)
            os.kill(before, number)
            assert wait_until(lambda b=before: harness.server_of(
                mount.process.pid) not in (b, mount.process.pid))
            assert wait_until(lambda: reads(mount.path("plain")) == b"plain")
            assert fails(lambda: os.pread(file, 5, 0)), "of the dead mount"
        # It tells its file system, which is dead, and is closed all the same.
        assert fails(lambda: os.close(file)), "of the dead mount"
        equal(harness.read(mount.path("a.b2frame/data.bin")), DATA)
        os.rename(log, log + ".old")
        mount.process.send_signal(signal.SIGUSR2)
        assert wait_until(lambda: os.path.exists(log))
    assert b"killed by signal 9" in harness.read(log + ".old")


def reads(path):
    try:
        return harness.read(path)
    except OSError:
        return None


def fails(call):
    try:
        call()
    except OSError as error:
        return error.errno in (errno.ENOTCONN, errno.EIO,
                               errno.ECONNABORTED)
    return False


def what_dies_again_and_again_is_left(work):
    source = make_source(work)
    with Mount(work, source, "--restart") as mount:
        for count in range(1, 7):
            # One that dies before it has answered is not started again.
            wait_until(lambda n=count: len(mount.log_lines(
                "notice: mounted on")) >= n, told=mount.log)
            server = harness.server_of(mount.process.pid)
            assert server != mount.process.pid, mount.log()
            os.kill(server, signal.SIGKILL)
            if not wait_until(lambda s=server: mount.process.poll() is not None
                              or (harness.server_of(mount.process.pid)
                                  not in (s, mount.process.pid) and
                                  reads(mount.path("plain")) == b"plain")):
                raise AssertionError(mount.log())
        equal(mount.process.wait(20), DIED, "exit")
        assert mount.log_lines("not started again"), mount.log()
        equal(harness.mounted(mount.point), None)
        mount.process.returncode = 0


def when_the_keeper_dies_who_serves_ends(work):
    source = make_source(work)
    with Mount(work, source, "--attr_timeout=0") as mount:
        server = mount.pid
        assert server != mount.process.pid, "nobody keeps it"
        mount.kill()
        wait_until(lambda: not harness.alive(server))
        equal(run("--unmount", mount.point).returncode, 0)


@confined
def what_the_kernel_lacks_is_told_or_refused(work):
    needs_sandbox()
    if os.geteuid() != 0:
        raise harness.Skip("fusermount3 gains nothing under the filter")
    # landlock_create_ruleset, seccomp
    numbers = {"Landlock": 444,
               "seccomp": {"x86_64": 317}.get(os.uname().machine, 277)}
    source, point = make_source(work), work + "/point"
    os.mkdir(point)
    for missing, there in (("Landlock", "seccomp"), ("seccomp", "Landlock")):
        lacking = harness.lacking(numbers[missing])
        log = f"{work}/log-{missing}"
        result = run("--sandbox=require", source, point, preexec_fn=lacking)
        equal(result.returncode, 1, result.stderr)
        equal(result.stderr.count("\n"), 1, result.stderr)
        assert "the sandbox cannot be had: " + missing in result.stderr
        equal(harness.mounted(point), None)
        result = run(f"--log_file={log}", source, point, preexec_fn=lacking)
        try:
            equal(result.returncode, 0, result.stderr)
            equal(harness.read(log).count(b"the sandbox is without"), 1)
            assert ("the sandbox is without " + missing).encode() in \
                harness.read(log)
            told = harness.read(point + "/.bloscfs/config").decode()
            assert missing not in told.split("in_force=")[1], told
            assert there in told.split("in_force=")[1], told
            equal(run("--unmount", point).returncode, 0)
        finally:
            harness.end_background(point)


# What each option is given below; None: nothing. Two mounts, as some say no to
# others.
OPTIONS = [
    {"cache_size": "8M", "max_memory": "64M", "max_request": "8M",
     "threads": "4", "views": "all", "formats": "b2frame",
     "include": "*", "exclude": "*.none", "keep": None, "attr_timeout": "2",
     "noxattr": None, "readahead": "1M", "drop_behind": None,
     "allow_other": None, "uid": "1", "gid": "1", "fmask": "0133",
     "dmask": "0022", "restart": None, "connect_timeout": "5",
     "read_timeout": "5", "log_level": "info", "fsname": "x",
     "idle_timeout": "1000", "mkdir": None, "auto_unmount": None, "max_read": "64K",
     "max_readahead": "64K", "max_background": "20",
     "congestion_threshold": "15", "fetch_whole": "8M"},
    {"views": "all", "immutable": None, "allow_root": None, "umask": "022",
     "default_permissions": None, "syslog": None, "offset": "0",
     "length": "0", "no_sign": None},
]
ELSEWHERE = {
    "sandbox": "is required by both", "notify_fd": "each mount here has it",
    "log_file": "with_restart_another_one_serves",
    "catalog": "remote_folders_test.py", "ca_file": "remote_tls_test.py",
    "disk_cache": "diskcache_test.py", "disk_cache_size": "the same",
    "jobs": "is for --check", "json": "the same", "report": "the same",
    "force": "is for --cat",
}


def told_options():
    """Names of all options, as --help has them by groups."""
    words, inside = [], False
    for line in run("--help").stdout.splitlines():
        group = re.match(r" {2}[a-z]+ +([a-z_, ]+)$", line)
        inside = bool(group) or inside and line.startswith(" " * 12)
        if inside:
            words += (group.group(1) if group else line).split(",")
    return {word.strip() for word in words} - {""}


def read_all(top):
    """The beginnings of all files by their paths below it."""
    found = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = f"{folder}/{name}"
            with open(path, "rb", buffering=0) as file:
                found[os.path.relpath(path, top)] = file.read(4096)
    return found


@confined
def each_option_and_each_view_works_within_it(work):
    needs_sandbox()
    source = make_source(work)
    given = set().union(*OPTIONS, ELSEWHERE)
    equal(told_options() - given, set(), "options that are not tried")
    for options in OPTIONS:
        words = [f"--{name}" + (f"={value}" if value else "")
                 for name, value in options.items()]
        with Mount(work, source, "--sandbox=require", *words) as mount:
            server = mount.pid
            found = read_all(mount.point)
            equal([value for path, value in found.items()
                   if path.endswith("/data.bin")], [DATA[:4096]])
            assert len(found) > 20, found.keys()
            equal(mount.pid, server, "who serves")
            if "max_read" in options:
                with open("/proc/self/mountinfo", encoding="utf-8") as table:
                    assert [line for line in table if mount.point in line
                            and "max_read=65536" in line]


def a_source_that_is_no_container_is_refused_from_within(work):
    """Who serves looks into SOURCE; its words and exit code come out."""
    source = make_source(work)
    point = work + "/point"
    os.mkdir(point)
    for option in ((), ("-f",)):
        result = run(*option, source + "/plain", point)
        equal(result.returncode, 3, result.stderr)
        equal(result.stderr.count("\n"), 1, result.stderr)
        assert "is not a container" in result.stderr, result.stderr
        equal(harness.mounted(point), None)


@confined
def a_file_that_comes_after_the_mount_is_read(work):
    """The fence is around the folder, whatever comes into it."""
    needs_sandbox()
    source = make_source(work)
    os.mkdir(source + "/sub")
    with Mount(work, source, "--attr_timeout=0") as mount:
        harness.write(source + "/sub/b.b2frame", samples.frame(DATA, 20000))
        equal(harness.read(mount.path("sub/b.b2frame/data.bin")), DATA)
    with Mount(work, source + "/a.b2frame", "--attr_timeout=0") as mount:
        other = samples.noise(5000)
        harness.write(source + "/new", samples.frame(other, 1000))
        os.rename(source + "/new", source + "/a.b2frame")
        equal(harness.read(mount.path("data.bin")), other)


if __name__ == "__main__":
    namespace.enter()
    harness.main([test for test in (
        it_is_in_force_and_told,
        an_ordinary_user_has_it_and_unmounts,
        without_it_there_is_none,
        calls_of_a_decoder_that_was_taken_over_end_it,
        what_it_says_to_its_keeper_is_no_more_than_words,
        when_who_serves_dies_the_keeper_says_so_and_unmounts,
        who_never_answers_holds_up_nobody,
        with_restart_another_one_serves,
        what_dies_again_and_again_is_left,
        when_the_keeper_dies_who_serves_ends,
        what_the_kernel_lacks_is_told_or_refused,
        each_option_and_each_view_works_within_it,
        a_source_that_is_no_container_is_refused_from_within,
        a_file_that_comes_after_the_mount_is_read,
    ) if not (harness.SANITIZED and test in CONFINED)])
