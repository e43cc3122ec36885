#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What README.md tells its readers to do, done.

A comment before a block says what it is: `run: shell` a session of commands
with what they print, `run: root` the same with # as the prompt, `run: python`
a session of Python, `file: PATH` the content of a file. Blocks run in a folder
with the samples and a mount, as README.md has them; of a date, an owner or a
size of a folder only the form is compared.
"""
import configparser
import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import harness
import namespace
import programs
import web
from harness import NOBODY, equal
from programs import need, tool

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MARK = re.compile(r"<!-- (run|file): (\S+) -->")
BLOOM = re.compile(r"[A-Z][a-z]{2} [ \d]\d (\d\d:\d\d| \d{4})|"
                   r"(?<=r-[-x] 1 )\S+ +\S+ |^total \d+$", re.M)
PROMPTS = {"shell": "$ ", "root": "# "}


def readme():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        return file.read().splitlines()


def block_at(lines, at):
    """The block that starts in line `at`, fenced or indented."""
    while not lines[at]:
        at += 1
    block = []
    if lines[at].startswith("```"):
        for line in lines[at + 1:]:
            if line.startswith("```"):
                break
            block.append(line)
    else:
        for line in lines[at:]:
            if line and not line.startswith("    "):
                break
            block.append(line[4:])
    return "\n".join(block).rstrip("\n") + "\n"


def blocks():
    """Of each heading: [(what, argument, text)]"""
    found, heading, inside = {}, "", False
    lines = readme()
    for at, line in enumerate(lines):
        inside ^= line.startswith("```")
        if not inside and re.match("#+ ", line):
            heading = line.lstrip("# ")
        elif match := MARK.fullmatch(line):
            found.setdefault(heading, []).append(
                (match[1], match[2], block_at(lines, at + 1)))
    return found


def is_whole(command):
    """Whether the shell would not wait for more lines."""
    return not subprocess.run(["bash", "-n", "-c", command],
                              stderr=subprocess.PIPE, check=False).stderr


def session(text, prompt):
    """[(command, what it prints)] of a session."""
    steps = []
    for line in text.splitlines():
        if line.startswith(prompt):
            steps.append([line[len(prompt):], ""])
        elif not is_whole(steps[-1][0]):
            steps[-1][0] += "\n" + line
        else:
            steps[-1][1] += line + "\n"
    return steps


def run_session(text, prompt, place):
    """Runs the commands in one shell, and compares what they print."""
    steps = session(text, prompt)
    assert steps, "no command in " + text
    script = "".join(command + "\necho @@$?\n" for command, _ in steps)
    said = tool("bash", "-c", script, cwd=place, timeout=60,
                stderr=subprocess.STDOUT)
    for command, wanted in steps:
        got, status, said = re.split(r"@@(\d+)\n", said, maxsplit=1)
        # What ends without a line end is shown with one.
        got += "\n" if got and not got.endswith("\n") else ""
        equal((BLOOM.sub("*", got), status), (BLOOM.sub("*", wanted), "0"),
              command)


def run_python(text, place):
    harness.write(place + "/session.txt", text.encode())
    tool("python3", "-m", "doctest", place + "/session.txt", cwd=place)


def run_all(heading, place):
    """Every block below a heading, in order."""
    for what, name, text in blocks()[heading]:
        if what == "file":
            harness.write(os.path.join(place, name), text.encode())
        elif name == "python":
            run_python(text, place)
        else:
            run_session(text, PROMPTS[name], place)


def copy_samples(to):
    """With the modes that a checkout usually has."""
    shutil.copytree(harness.DATA, to, symlinks=True)
    for folder, _, names in os.walk(to):
        os.chmod(folder, 0o755)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o644)


def prepare(work):
    """A folder like a checkout, with commands as an installed one has."""
    os.mkdir(work + "/bin")
    os.symlink(harness.BLOSCFS, work + "/bin/bloscfs")
    os.symlink(sys.executable, work + "/bin/python3")
    os.environ["PATH"] = work + "/bin:" + os.environ["PATH"]
    place = work + "/checkout"
    os.makedirs(place + "/tests")
    os.mkdir(place + "/mnt")
    copy_samples(place + "/tests/data")
    return place


@contextlib.contextmanager
def checkout(work):
    """The same, with the samples mounted."""
    place = prepare(work)
    tool("bloscfs", "tests/data", "mnt", cwd=place)
    try:
        yield place
    finally:
        tool("bloscfs", "--unmount", "mnt", cwd=place)


def the_first_session_prints_what_is_shown(work):
    run_all("bloscfs", prepare(work))


def numpy_does_what_is_shown(work):
    with checkout(work) as place:
        run_all("NumPy", place)


def zarr_does_what_is_shown(work):
    need("gdalinfo")
    for name in ("xarray", "zarr"):
        if not importlib.util.find_spec(name):
            raise harness.Skip("there is no " + name)
    run_all("Zarr and xarray", prepare(work))


def the_shell_does_what_is_shown(work):
    need("rsync", "getfattr")
    with checkout(work) as place:
        run_all("Shell", place)


def fortran_does_what_is_shown(work):
    need("gfortran")
    with checkout(work) as place:
        run_all("Fortran, R, Julia", place)


@contextlib.contextmanager
def system(work):
    """A machine with /srv/data, /srv/plain and bloscfs installed."""
    namespace.need_own()
    with contextlib.ExitStack() as stack:
        for path in ("/srv", "/usr/local/bin"):
            stack.enter_context(namespace.covered(
                path, "-t", "tmpfs", "-o", "mode=755", "tmpfs"))
        copy_samples("/srv/data")
        os.mkdir("/srv/plain")
        os.symlink(harness.BLOSCFS, "/usr/local/bin/bloscfs")
        harness.write(work + "/fstab", b"")
        stack.enter_context(namespace.covered(
            "/etc/fstab", "--bind", work + "/fstab"))
        try:
            yield
        finally:
            harness.end_background("/srv/plain")


def the_line_in_fstab_mounts_for_all_users(work):
    steps = blocks()["Administrators"][:2]
    equal([step[:2] for step in steps],
          [("file", "/etc/fstab"), ("run", "root")])
    with system(work):
        harness.write("/etc/fstab", steps[0][2].encode())
        run_session(steps[1][2], PROMPTS["root"], work)
        equal(harness.mounted("/srv/plain"), None)


def the_commands_of_the_unit_start_and_stop(work):
    (what, name, text), = blocks()["Administrators"][2:]
    equal((what, name), ("file", "/etc/systemd/system/bloscfs.service"))
    unit = configparser.ConfigParser()
    unit.optionxform = str
    unit.read_string(text)
    start, stop, after = (shlex.split(unit["Service"][key]) for key in (
        "ExecStart", "ExecStop", "ExecStopPost"))
    equal((unit["Service"]["Type"], after[0][:2]), ("forking", "-/"))
    after[0] = after[0][1:]
    path = "/srv/plain/good-nd-shrunk.b2nd/data.bin"
    with system(work):
        for killed in (True, False):
            tool(*start)
            equal(harness.as_user(NOBODY, lambda: harness.read(path)), 0,
                  "errno")
            pid = harness.background_pid("/srv/plain")
            if killed:
                os.kill(pid, signal.SIGKILL)
                tool(*after)
            else:
                tool(*stop)
                tool(*after, status=32)
            equal(harness.mounted("/srv/plain"), None)
            assert harness.wait_until(lambda: not harness.alive(pid))


def the_web_server_serves_what_is_shown(work):
    need("nginx", "curl")
    what = blocks()["Web"]
    equal([step[:2] for step in what], [
        ("file", "/etc/nginx/conf.d/plain.conf"), ("run", "shell")])
    with system(work):
        tool("bloscfs", "-o", "allow_other", "/srv/data", "/srv/plain")
        with web.Server(work, what[0][2]) as server:
            run_session(server.at_its_port(what[1][2]), PROMPTS["shell"],
                        work)


def every_block_has_its_test(work):
    del work
    equal(sorted(blocks()), sorted([
        "bloscfs", "NumPy", "Zarr and xarray", "Shell", "Fortran, R, Julia",
        "Administrators", "Web"]))
    inside, before = False, ""
    for line in readme():
        if line.startswith("```"):
            inside = not inside
            assert not inside or MARK.fullmatch(before), before
        before = line


if __name__ == "__main__":
    namespace.enter()
    harness.main([
        the_first_session_prints_what_is_shown,
        numpy_does_what_is_shown,
        zarr_does_what_is_shown,
        the_shell_does_what_is_shown,
        fortran_does_what_is_shown,
        the_line_in_fstab_mounts_for_all_users,
        the_commands_of_the_unit_start_and_stop,
        the_web_server_serves_what_is_shown,
        every_block_has_its_test,
    ])
