#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Servers that are far, slow, overloaded or silent, and name servers that are:
what each costs those who read from it, and others."""
import contextlib
import os
import random
import signal
import socket
import subprocess
import time

import harness
import private
import programs
import samples
from harness import Mount, equal, read, wait_until
from objects import Server


def made(work, name="data", mib=2):
    """A frame whose blocks nothing but a request brings, and its truth."""
    plain, frame = f"{work}/{name}.bin", f"{work}/{name}.b2frame"
    harness.write(plain, samples.noise(mib << 20, mib))
    programs.pack(plain, frame)
    return frame, read(plain)


def pages_of(mount, *path):
    """An opening for which the kernel does not read ahead."""
    file = os.open(mount.path(*path, "data.bin"), os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    return file


def counted(mount, name):
    for line in read(mount.path(".bloscfs", "stats")).decode().splitlines():
        if line.startswith(name + " "):
            return int(line.split()[-1])
    raise AssertionError("no such number: " + name)


@contextlib.contextmanager
def readers_of(paths, each):
    """Processes with one page to read each, from many places."""
    processes = [subprocess.Popen(
        ["dd", "if=" + path, "of=/dev/null", "bs=4096", "count=1",
         f"skip={16 * i + 8}"], stderr=subprocess.DEVNULL)
        for path in paths for i in range(each)]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait(30)


def all_of_a_small_object_is_fetched_after_some_waits(work):
    frame, truth = made(work, mib=12)
    size = os.path.getsize(frame)
    dice = random.Random(3)

    def draw(file):
        at = dice.randrange(len(truth) // 4096) * 4096
        equal(os.pread(file, 4096, at), truth[at:at + 4096])

    with Server() as server:
        server.latency = 0.05
        url = server.put_file("/f.b2frame", frame)
        with Mount(work, url) as mount:
            file = pages_of(mount)
            for _ in range(12):
                draw(file)
            wait_until(lambda: sum(row[3] for row in server.log) >=
                       size - (1 << 20), told=lambda: server.log)
            wait_until(lambda: server.at_once == 0)
            n_asked = len(server.asked)
            for _ in range(60):
                draw(file)
            assert len(server.asked) - n_asked <= 2, server.log[n_asked:]
            moved = sum(row[3] for row in server.log)
            assert moved < size * 1.2, (moved, size)
            os.close(file)


def no_object_is_fetched_whole_that_is_larger_than_is_said(work):
    frame, truth = made(work, mib=12)
    dice = random.Random(6)
    with Server() as server:
        server.latency = 0.03
        url = server.put_file("/f.b2frame", frame)
        for option in ("--fetch_whole=0", "--fetch_whole=11M"):
            with Mount(work, url, option) as mount:
                read(mount.path("info.json"))
                before = counted(mount, "bloscfs_server_bytes_total")
                file = pages_of(mount)
                for _ in range(12):
                    at = dice.randrange(len(truth) // 4096) * 4096
                    equal(os.pread(file, 4096, at), truth[at:at + 4096])
                os.close(file)
                moved = counted(mount, "bloscfs_server_bytes_total") - before
            assert moved < len(truth) // 2, (option, moved)


def nothing_more_is_fetched_from_a_server_that_is_near(work):
    frame, truth = made(work, mib=12)
    dice = random.Random(4)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        for _ in range(4):
            with Mount(work, url) as mount:
                file = pages_of(mount)
                server.log.clear()
                for _ in range(12):
                    at = dice.randrange(len(truth) // 4096) * 4096
                    equal(os.pread(file, 4096, at), truth[at:at + 4096])
                os.close(file)
                moved = sum(row[3] for row in server.log)
            # On a machine with much else to do it may have looked far.
            if moved < len(truth) // 2:
                break
        assert moved < len(truth) // 2, moved


def a_server_that_waits_for_acknowledgements_gets_them_at_once(work):
    frame, truth = made(work, mib=12)
    dice = random.Random(8)
    took = {}
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        for _ in range(3):
            for server.nagle in (False, True):
                with Mount(work, url, "--fetch_whole=0") as mount:
                    read(mount.path("info.json"))
                    file = pages_of(mount)
                    begin = time.monotonic()
                    for _ in range(40):
                        at = dice.randrange(len(truth) // 4096) * 4096
                        equal(os.pread(file, 4096, at), truth[at:at + 4096])
                    took[server.nagle] = time.monotonic() - begin
                    os.close(file)
            # Unheard, each answer takes 40 ms more.
            if took[True] < took[False] + 0.4:
                break
        assert took[True] < took[False] + 0.4, took


def what_came_is_served_while_the_rest_is_on_its_way(work):
    frame, truth = made(work, mib=8)
    with Server() as server:
        server.latency = 0.1
        url = server.put_file("/f.b2frame", frame)
        with Mount(work, url, "--read_timeout=60") as mount:
            read(mount.path("info.json"))
            file = pages_of(mount)
            # Half of each answer, then nothing.
            server.always = "stalled"
            equal(os.pread(file, 65536, 0), truth[:65536])
            assert not server.hung.is_set()
            server.hung.set()
            server.always = None
            os.close(file)


def a_server_that_has_too_much_to_do_is_left_alone_by_all(work):
    frame, truth = made(work)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        with Mount(work, url, "--read_timeout=60") as mount:
            read(mount.path("info.json"))
            server.asked.clear()
            server.fault_headers = {"Retry-After": "2"}
            server.always = 503
            with readers_of([mount.path("data.bin")], 24) as readers:
                wait_until(lambda: server.asked)
                time.sleep(5)
                # One or two each time, and those that were under way at
                # first: of the 24 each would have asked three times.
                assert len(server.asked) < 48, len(server.asked)
                server.always, server.fault_headers = None, {}
                for reader in readers:
                    equal(reader.wait(60), 0, "exit of dd")
            equal(read(mount.path("data.bin")) == truth, True, "the bytes")


def containers_of_a_server_that_hangs_leave_threads_to_others(work):
    frame, truth = made(work)
    catalog = os.path.join(work, "catalog")
    with Server() as hanging, Server() as well:
        lines = [f"{hanging.put_file(f'/{i}.b2frame', frame)}\t{i}.b2frame\n"
                 for i in range(6)]
        lines.append(f"{well.put_file('/f.b2frame', frame)}\twell.b2frame\n")
        harness.write(catalog, "".join(lines).encode())
        with Mount(work, "https://example.org/", "--catalog=" + catalog,
                   "--read_timeout=600", "--cache_size=0") as mount:
            for name in [*range(6), "well"]:
                read(mount.path(f"{name}.b2frame", "info.json"))
            hanging.asked.clear()
            hanging.always = "hang"
            paths = [mount.path(f"{i}.b2frame", "data.bin")
                     for i in range(6)]
            with readers_of(paths, 12) as readers:
                # Until no more of them get through.
                n = -1
                while n != (n := len(hanging.asked)):
                    time.sleep(1)
                equal(read(mount.path("well.b2frame", "data.bin")) == truth,
                      True, "bytes of the other server")
                assert all(one.poll() is None for one in readers), "hang"
                start = time.monotonic()
                mount.process.send_signal(signal.SIGTERM)
                mount.process.wait(30)
                took = time.monotonic() - start
                assert took < 2, took
            hanging.hung.set()


def a_look_up_that_waits_holds_up_no_other_of_its_folder(work):
    told = harness.run("--version").stdout
    if int(told.split("libfuse 3.")[1].split(".")[0]) < 14:
        raise harness.Skip("this libfuse does not let the kernel know")
    frame, truth = made(work)
    catalog = os.path.join(work, "catalog")
    with Server() as hanging, Server() as well:
        harness.write(catalog, (
            hanging.put_file("/f.b2frame", frame) + "\tslow.b2frame\n" +
            well.put_file("/f.b2frame", frame) + "\twell.b2frame\n").encode())
        hanging.always = "hang"
        with Mount(work, "https://example.org/", "--catalog=" + catalog,
                   "--read_timeout=60", "--cache_size=0") as mount, \
                subprocess.Popen(["stat", mount.path("slow.b2frame")],
                                 stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL) as asker:
            wait_until(lambda: hanging.asked)
            start = time.monotonic()
            equal(read(mount.path("well.b2frame", "data.bin")) == truth,
                  True, "bytes of the other")
            took = time.monotonic() - start
            equal(asker.poll(), None, "who waits")
            hanging.always = None
            hanging.hung.set()
            assert took < 15, took


def who_is_killed_in_a_read_leaves_no_request_behind(work):
    frame, truth = made(work)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        with Mount(work, url, "--read_timeout=60") as mount:
            read(mount.path("info.json"))
            equal(counted(mount, "bloscfs_server_cancelled_total"), 0)
            server.always = "hang"
            server.asked.clear()
            with readers_of([mount.path("data.bin")], 1):
                wait_until(lambda: server.asked)
            wait_until(
                lambda: counted(mount, "bloscfs_server_cancelled_total") >= 1)
            server.always = None
            equal(read(mount.path("data.bin")) == truth, True, "the bytes")
            server.hung.set()


@contextlib.contextmanager
def silent_name_server(work):
    """What asks for a name waits: in this namespace alone."""
    private.needs_root()
    # An address of this machine that no other test takes.
    address = "127.%d.%d.53" % divmod(os.getpid() % 65536, 256)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind((address, 53))
        harness.write(f"{work}/resolv.conf",
                      f"nameserver {address}\noptions timeout:30\n".encode())
        harness.write(f"{work}/nsswitch.conf", b"hosts: files dns\n")
        for name in ("resolv.conf", "nsswitch.conf"):
            if not os.path.exists("/etc/" + name):
                raise harness.Skip("there is no /etc/" + name)
            private.bind(f"{work}/{name}", os.path.realpath("/etc/" + name))
        try:
            yield silent
        finally:
            for name in ("resolv.conf", "nsswitch.conf"):
                subprocess.run(["umount", "-l", os.path.realpath(
                    "/etc/" + name)], check=False)


def a_name_server_that_hangs_holds_up_nobody_else(work):
    frame, truth = made(work)
    catalog = os.path.join(work, "catalog")
    with Server() as well, silent_name_server(work) as silent:
        harness.write(catalog, (
            "http://a.name.that.nobody.knows/f.b2frame\tfar/f.b2frame\n" +
            well.put_file("/f.b2frame", frame) + "\twell.b2frame\n").encode())
        with Mount(work, "https://example.org/", "--catalog=" + catalog,
                   "--read_timeout=60", "--connect_timeout=60",
                   "--cache_size=0", "--attr_timeout=0") as mount:
            for kill in (True, False):
                asker = subprocess.Popen(
                    ["stat", mount.path("far", "f.b2frame")],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                silent.settimeout(20)
                silent.recv(1000)
                if kill:
                    asker.kill()
                    asker.wait(20)
                start = time.monotonic()
                equal(read(mount.path("well.b2frame", "data.bin")) == truth,
                      True, "bytes of the other server")
                # The look-up alone takes 30 s.
                assert time.monotonic() - start < 15
            start = time.monotonic()
            mount.process.send_signal(signal.SIGTERM)
            mount.process.wait(25)
            took = time.monotonic() - start
            assert took < 2, took
            asker.wait(20)


if __name__ == "__main__":
    private.main([
        all_of_a_small_object_is_fetched_after_some_waits,
        no_object_is_fetched_whole_that_is_larger_than_is_said,
        nothing_more_is_fetched_from_a_server_that_is_near,
        a_server_that_waits_for_acknowledgements_gets_them_at_once,
        what_came_is_served_while_the_rest_is_on_its_way,
        a_server_that_has_too_much_to_do_is_left_alone_by_all,
        containers_of_a_server_that_hangs_leave_threads_to_others,
        a_look_up_that_waits_holds_up_no_other_of_its_folder,
        who_is_killed_in_a_read_leaves_no_request_behind,
        a_name_server_that_hangs_holds_up_nobody_else,
    ])
