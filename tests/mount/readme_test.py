#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What README.md tells its readers to do, done from top to bottom.

A comment before a block says what it is: `run: shell` a session of commands
with what they print, `run: root` the same with # as the prompt, `run: web` one
that asks a web server, `run: install` commands that change the machine, `run:
python` a session of Python, `file: PATH` the content of a file. All run one
after the other in one checkout, and what a block mounts is there for the next;
of a date, an owner or a size of a folder only the form is compared.

Here, as one of the tests, the checkout is a folder with the samples, bloscfs
counts as installed, and what lies outside is covered. With README_CHECKOUT, the
folder of a clone on a machine that is thrown away afterwards, everything is
done as a newcomer would, installation and all.
"""
import configparser
import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import socket
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
PROMPTS = {"shell": "$ ", "root": "# ", "web": "$ "}
REAL = os.environ.get("README_CHECKOUT")
PLACE = None


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


def install(text, place):
    """What changes the machine is done only where that is thrown away."""
    if REAL:
        prompt = re.match("[$#] ", text)[0]
        for command, _ in session(text, prompt):
            tool("bash", "-c", command, cwd=place, timeout=1500)


def put_file(name, text, place):
    if REAL and os.path.isabs(name):
        os.makedirs(os.path.dirname(name), exist_ok=True)
    if REAL or not os.path.isabs(name) or name == "/etc/fstab":
        harness.write(os.path.join(place, name), text.encode())


def run_web(text, place):
    """With a server that has the file just shown."""
    site, = (block[2] for block in blocks()["Web"] if block[0] == "file")
    with web.Server(place, site) as server:
        run_session(server.at_its_port(text), PROMPTS["web"], place)


def run_all(heading):
    """Every block below a heading, in order."""
    for what, name, text in blocks()[heading]:
        if what == "file":
            put_file(name, text, PLACE)
        elif name == "install":
            install(text, PLACE)
        elif name == "python":
            run_python(text, PLACE)
        elif name == "web":
            run_web(text, PLACE)
        else:
            run_session(text, PROMPTS[name], PLACE)


def copy_samples(to):
    """With the modes that a checkout usually has."""
    shutil.copytree(harness.DATA, to, symlinks=True)
    for folder, _, names in harness.walk(to):
        os.chmod(folder, 0o755)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o644)


def prepare(work):
    """A folder like a checkout, with commands as an installed one has."""
    os.mkdir(work + "/bin")
    os.symlink(sys.executable, work + "/bin/python3")
    os.environ["PATH"] = work + "/bin:" + os.environ["PATH"]
    place = work + "/checkout"
    os.makedirs(place + "/tests")
    copy_samples(place + "/tests/data")
    os.symlink(harness.BLOSCFS, work + "/bin/bloscfs")
    return place


def it_starts_in_a_fresh_checkout(work):
    global PLACE
    PLACE = REAL or prepare(work)
    run_all("Start here")


def it_says_what_its_examples_need(work):
    del work
    run_all("From your program")


def numpy_does_what_is_shown(work):
    del work
    run_all("NumPy")


def zarr_does_what_is_shown(work):
    del work
    need("gdalinfo")
    for name in ("xarray", "zarr"):
        if not REAL and not importlib.util.find_spec(name):
            raise harness.Skip("there is no " + name)
    run_all("Zarr and xarray")


def the_shell_does_what_is_shown(work):
    del work
    need("rsync", "getfattr")
    run_all("Shell")


def fortran_does_what_is_shown(work):
    del work
    need("gfortran")
    run_all("Fortran, R, Julia")
    equal(harness.mounted(PLACE + "/mnt"), None)


def cover(work, stack):
    """A machine with /srv and bloscfs installed, and a line of fstab to
    write."""
    if REAL:
        return
    namespace.need_own()
    for path in ("/srv", "/usr/local/bin"):
        stack.enter_context(namespace.covered(
            path, "-t", "tmpfs", "-o", "mode=755", "tmpfs"))
    os.symlink(harness.BLOSCFS, "/usr/local/bin/bloscfs")
    harness.write(work + "/fstab", b"")
    stack.enter_context(namespace.covered("/etc/fstab", "--bind",
                                          work + "/fstab"))
    stack.callback(harness.end_background, "/srv/plain")


def the_line_in_fstab_mounts_for_all_users(work):
    cover(work, COVERS)
    os.umask(0o022)
    run_all("Administrators")
    equal(harness.mount_line("/srv/plain")[1], "fuse.bloscfs")


def the_web_server_serves_what_is_shown(work):
    del work
    need("nginx", "curl")
    run_all("Web")


def unit_commands():
    """ExecStart, ExecStop and ExecStopPost with what README's file says."""
    run_all("Service")
    (what, name, text), = blocks()["Service"][1:]
    equal((what, name), ("file", "/etc/bloscfs/data.conf"))
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read_string("[it]\n" + text)
    with open(ROOT + "/packaging/bloscfs@.service.in",
              encoding="utf-8") as file:
        unit = file.read().replace("@bindir@", "/usr/local/bin")
    for key, value in parser["it"].items():
        unit = unit.replace("${" + key + "}", value)
    parser.read_string(unit)
    equal((parser["Service"]["EnvironmentFile"], parser["Service"]["Type"]),
          ("/etc/bloscfs/%i.conf", "notify"))
    start, stop, after = (shlex.split(parser["Service"][key]) for key in (
        "ExecStart", "ExecStop", "ExecStopPost"))
    equal(after[0][:2], "-/")
    after[0] = after[0][1:]
    return start, stop, after


def start_service(work, command):
    """As a service manager of Type=notify does; the process."""
    name = work + "/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        manager.settimeout(30)
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL,
            env={**os.environ, "NOTIFY_SOCKET": name})
        assert b"READY=1" in manager.recv(4096).split(b"\n")
    os.unlink(name)
    return process


def the_commands_of_the_unit_start_and_stop(work):
    start, stop, after = unit_commands()
    path = "/srv/plain/good-nd-pond.b2nd/data.bin"
    for killed in (True, False):
        daemon = start_service(work, start)
        equal(harness.as_user(NOBODY, lambda: harness.read(path)), 0,
              "errno")
        if killed:
            daemon.kill()
            tool(*after)
        else:
            tool(*stop)
            tool(*after, status=32)
        equal(harness.mounted("/srv/plain"), None)
        daemon.wait(20)


def every_block_has_its_test(work):
    del work
    equal(list(blocks()), [
        "Start here", "From your program", "NumPy", "Zarr and xarray",
        "Shell", "Fortran, R, Julia", "Administrators", "Web", "Service"])
    inside, before = False, ""
    for line in readme():
        if line.startswith("```"):
            inside = not inside
            assert not inside or MARK.fullmatch(before), before
        before = line


if __name__ == "__main__":
    if REAL:
        harness.SCRIPT_SECONDS = 3000
    else:
        namespace.enter()
    with contextlib.ExitStack() as COVERS:
        harness.main([
            it_starts_in_a_fresh_checkout,
            it_says_what_its_examples_need,
            numpy_does_what_is_shown,
            zarr_does_what_is_shown,
            the_shell_does_what_is_shown,
            fortran_does_what_is_shown,
            the_line_in_fstab_mounts_for_all_users,
            the_web_server_serves_what_is_shown,
            the_commands_of_the_unit_start_and_stop,
            every_block_has_its_test,
        ])
