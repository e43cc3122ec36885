#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What README.md tells its readers to do (see pages.py)."""
import configparser
import contextlib
import importlib.util
import os
import shlex
import socket
import subprocess

import harness
import namespace
from harness import NOBODY, equal
from pages import REAL, ROOT, Page, checkout
from programs import need, tool

README = Page("README.md")
run_all = README.run_all


def it_starts_in_a_fresh_checkout(work):
    README.place = REAL or checkout(work)
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
    equal(harness.mounted(README.place + "/mnt"), None)


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
    (what, name, text), = README.blocks()["Service"][1:]
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
    equal(list(README.blocks()), [
        "Start here", "From your program", "NumPy", "Zarr and xarray",
        "Shell", "Fortran, R, Julia", "Administrators", "Web", "Service"])
    README.every_fence_is_marked()


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
