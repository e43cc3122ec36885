#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Containers on a server: what a mount of an address, a bucket or a catalog
shows, what it asks for, and what it does with servers that fail or lie."""
import contextlib
import errno
import os
import random
import re
import signal
import subprocess
import threading
import time

import harness
import programs
import samples
from harness import DATA, Mount, equal, fails_with, read, wait_until
from objects import Server, s3

LARGE = 16 << 20  # is not read whole
SMALL = "good-frame-metalayers.b2frame"


def made(work, name="data", mib=4):
    """A frame of some MiB in small chunks, and its truth."""
    plain, frame = f"{work}/{name}.bin", f"{work}/{name}.b2frame"
    with open(plain, "wb") as file:
        for seed in range(mib):
            file.write(samples.noise(1 << 20, seed))
    programs.pack(plain, frame)
    return frame, read(plain)


def tree(top):
    """Every path below: what it is, and its bytes or its errno."""
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders:
            found[os.path.relpath(os.path.join(folder, name), top)] = "/"
        for name in files:
            path = os.path.join(folder, name)
            size = os.stat(path).st_size
            try:
                found[os.path.relpath(path, top)] = \
                    read(path) if size < LARGE else size
            except OSError as error:
                found[os.path.relpath(path, top)] = error.errno
    return found


def differing(one, other):
    return sorted(key for key in one.keys() | other.keys()
                  if one.get(key) != other.get(key))


def ranges(server):
    return [row[1] for row in server.log]


def an_address_is_a_container(work):
    with Server() as server:
        url = server.put_file("/some/where/" + SMALL, f"{DATA}/{SMALL}")
        with Mount(work, url) as mount, \
                Mount(work, f"{DATA}/{SMALL}") as local:
            equal(differing(tree(mount.point), tree(local.point)), [])
            equal(os.stat(mount.path("data.bin")).st_mtime, 1_600_000_000,
                  "time of data.bin")
            fails_with(errno.EROFS, open, mount.path("data.bin"), "r+")


def opening_takes_head_and_tail(work):
    frame, truth = made(work)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        with Mount(work, url) as mount:
            read(mount.path("info.json"))
            asked = ranges(server)
            equal(len(asked), 2, f"requests {asked}")
            assert sum(row[3] for row in server.log) <= 64 << 10, server.log
            server.log.clear()
            # Only what a read needs is asked for, and only once.
            file = os.open(mount.path("data.bin"), os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
            dice = random.Random(5)
            for _ in range(10):
                at = dice.randrange(len(truth) // 4096) * 4096
                equal(os.pread(file, 4096, at), truth[at:at + 4096])
            os.close(file)
            assert len(server.log) <= 20, server.log
            equal(len(set(ranges(server))), len(server.log),
                  "distinct ranges")


def the_first_read_takes_the_connections_of_the_start(work):
    frame, truth = made(work)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        with Mount(work, url) as mount:
            before = server.connections
            file = pages_of(mount)
            equal(os.pread(file, 4096, 1 << 20), truth[1 << 20:][:4096])
            os.close(file)
            equal(server.connections, before, "connections")


def who_reads_forwards_is_read_ahead_for(work):
    frame, truth = made(work, mib=24)
    with Server() as server:
        server.latency = 0.02
        url = server.put_file("/f.b2frame", frame)
        with Mount(work, url) as mount:
            server.log.clear()
            equal(read(mount.path("data.bin")) == truth, True, "the bytes")
            size = os.path.getsize(frame)
            moved = sum(row[3] for row in server.log)
            # About a MiB each, nothing twice.
            assert len(server.log) < 20 + size / (512 << 10), server.log
            assert moved < size * 1.1, (moved, size)


def pages_of(mount, name="data.bin"):
    """An opening for which the kernel does not read ahead."""
    file = os.open(mount.path(name), os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    return file


def a_read_waits_once_where_waiting_is_dear(work):
    frame, truth = made(work, mib=8)
    size = len(truth) // 16
    with Server() as server:
        server.latency = 0.2
        url = server.put_file("/f.b2frame", frame)
        # After more reads all of it would be fetched.
        for i in (1, 11, 13):
            with Mount(work, url) as mount:
                file = pages_of(mount)
                # The first of the chunks that are read here tells how long
                # blocks are; the other has not been looked at before.
                for chunk in (7, i):
                    server.log.clear()
                    server.most_at_once = 0
                    at = chunk * size + 50 * 4096
                    equal(os.pread(file, 4096, at), truth[at:at + 4096])
                # Header and block side by side, or in one.
                assert len(server.log) == server.most_at_once <= 2, \
                    (i, server.log)
                os.close(file)


def who_begins_at_the_beginning_soon_has_it_all_under_way(work):
    frame, truth = made(work, mib=12)
    with Server() as server:
        server.latency = 0.2
        url = server.put_file("/f.b2frame", frame)
        waits = []
        for _ in range(4):
            with Mount(work, url) as mount:
                server.beside.clear()
                equal(read(mount.path("data.bin")) == truth, True, "the bytes")
                waits.append(server.beside.count(0))
            if waits[-1] <= 3:
                break
        # With the first answer all that is left is asked for, unless threads
        # came in another order.
        assert waits[-1] <= 3, waits


def what_was_refused_ahead_is_asked_for_in_large_parts(work):
    frame, truth = made(work, mib=12)
    with Server() as server:
        server.latency = 0.05
        url = server.put_file("/f.b2frame", frame)
        with Mount(work, url) as mount:
            server.log.clear()
            server.faults = [None, None] + [503] * 10
            equal(read(mount.path("data.bin")) == truth, True, "the bytes")
            good = [row for row in server.log if row[2] == 206]
            equal(len(server.log) - len(good), 10, "refusals")
            # By blocks they would be 190.
            assert len(good) <= 30, good


def a_server_that_fails_for_a_moment_is_asked_again(work):
    frame, truth = made(work, mib=1)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        for fault in (503, 429, 500, 502, "cut", "reset", "short"):
            server.faults = [fault, fault]
            with Mount(work, url, "--read_timeout=10") as mount:
                server.faults = [None, fault, fault]
                equal(read(mount.path("data.bin")) == truth, True,
                      f"the bytes after {fault}")


def a_server_that_lies_gives_an_error_and_no_bytes(work):
    frame, truth = made(work, mib=2)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        for fault in ("whole", "long", "shifted", "other total", "gzip",
                      "no range told", "huge range", "garbage", 400, 505,
                      "redirect file:///etc/passwd", "redirect " + url,
                      "redirect http://169.254.169.254/latest/meta-data"):
            with Mount(work, url, "--read_timeout=1", "--attr_timeout=0"
                       ) as mount:
                server.always = fault
                try:
                    got = read(mount.path("data.bin"))
                except OSError as error:
                    assert error.errno in (errno.EIO, errno.ESTALE), error
                else:
                    raise AssertionError(f"{len(got)} bytes by {fault}")
                server.always = None
                # Nothing of it is remembered.
                wait_until(lambda m=mount: answers(m, truth),
                           told=lambda: fault)


def answers(mount, truth):
    with contextlib.suppress(OSError):
        return read(mount.path("data.bin")) == truth
    return False


def refusals_at_the_mount_name_their_reason(work):
    with Server() as server, s3(server):
        url = server.put_file("/f.b2frame", f"{DATA}/{SMALL}")
        server.put("/text.b2frame", b"no container at all" * 50)
        server.put("/untold", b"bytes", tag="", modified=0)
        for source, fault, words in (
                (url, 404, "the server says 404; check the address"),
                (url, 401, "says 401; name and password"),
                (url, 403, "says 403"), (url, 503, "says 503; check the"),
                (url, "hang", "no answer in time"),
                (url, "stalled", "fell silent"),
                (url, "whole", "serves ranges"),
                (url, "gzip", "compresses what it sends"),
                (server.url + "/text.b2frame", None, "not a container"),
                (server.url + "/untold", None, "neither an ETag nor a date"),
                (url.replace("//", "//user:swordfish@"), None, "~/.netrc"),
                (server.url, None, "names no file on a server"),
                (url + "?key=swordfish#part", None, "%23"),
                (url + "?key=swordfish", 403, "f.b2frame': the server"),
                ("s3://bucket/key.b2nd", 403, "check the keys"),
                ("s3://bucket/prefix/", 403, "check the keys"),
                ("s3://bucket/prefix", None, "that of a prefix ends in /"),
                ("s3://bucket", 404, "no such bucket"),
                ("s3://bucket", "garbage", "does not speak HTTP"),
                ("http://127.0.0.1:1/f.b2nd", None, "onnect"),
                ("http://a.name.that.is.invalid/f", None, "resolve"),
                ("s3://", None, "no bucket")):
            server.always = fault
            point = os.path.join(work, "point")
            os.makedirs(point, exist_ok=True)
            result = harness.run("-f", "--read_timeout=1", source, point)
            assert result.returncode, source
            assert words in result.stderr, (source, fault, result.stderr)
            assert "permission to read" not in result.stderr, result.stderr
            assert "swordfish" not in result.stderr, result.stderr


def why_a_server_cannot_be_reached_is_told_while_it_is_tried(work):
    point = os.path.join(work, "point")
    os.mkdir(point)
    for words in (["--info", "SOURCE"], ["--check", "SOURCE"],
                  ["--cat", "SOURCE", "data.bin"], ["-f", "SOURCE", point]):
        words = [word.replace("SOURCE", "http://127.0.0.1:1/f?key=swordfish")
                 for word in words]
        result = harness.run("--read_timeout=3", *words)
        lines = [line for line in result.stderr.splitlines()
                 if "waiting for" not in line]
        assert re.fullmatch("bloscfs: cannot reach 'http://127.0.0.1:1/f' so "
                            "far: .*onnect.*; it is tried again for up to "
                            "[12] s", lines[0]), result.stderr
        equal(len([line for line in lines if "so far" in line]), 1)
        assert result.returncode, result.stderr
        assert "swordfish" not in result.stderr, result.stderr


def a_changed_object_is_stale_and_then_the_new_one(work):
    frame, truth = made(work, mib=2)
    other, new = made(work, "new", mib=3)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        with Mount(work, url, "--attr_timeout=0", "--cache_size=1M"
                   ) as mount:
            file = os.open(mount.path("data.bin"), os.O_RDONLY)
            equal(os.pread(file, 4096, 0), truth[:4096])
            server.put_file("/f.b2frame", other)
            for at in range(0, len(truth), 65536):
                try:
                    equal(os.pread(file, 4096, at) == truth[at:at + 4096],
                          True, f"bytes at {at} of what was opened")
                except OSError as error:
                    equal(error.errno, errno.ESTALE, "errno")
            os.close(file)
            equal(read(mount.path("data.bin")) == new, True, "new bytes")


def a_hanging_server_lets_its_readers_go(work):
    frame, _ = made(work, mib=1)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        with Mount(work, url, "--read_timeout=60") as mount:
            server.always, known = "hang", len(server.asked)
            reader = subprocess.Popen(["cat", mount.path("data.bin")],
                                      stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            wait_until(lambda: len(server.asked) > known, told=lambda:
                       server.asked)
            start = time.monotonic()
            reader.send_signal(signal.SIGINT)
            reader.wait(20)
            took = time.monotonic() - start
            assert took < 10, took
            # Names that are known are told meanwhile, and it can be ended.
            os.stat(mount.point)
            server.hung.set()


def many_readers_have_many_requests_under_way(work):
    frame, truth = made(work, mib=8)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        with Mount(work, url, "--cache_size=1M") as mount:
            server.latency = 0.2
            wrong = []

            def one(seed):
                dice = random.Random(seed)
                file = os.open(mount.path("data.bin"), os.O_RDONLY)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
                for _ in range(4):
                    at = dice.randrange(len(truth) // 4096) * 4096
                    if os.pread(file, 4096, at) != truth[at:at + 4096]:
                        wrong.append(at)
                os.close(file)

            readers = [threading.Thread(target=one, args=(seed,))
                       for seed in range(16)]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
            equal(wrong, [])
            assert server.most_at_once >= 8, server.most_at_once


def a_bucket_is_a_folder(work):
    names = sorted(name for name in os.listdir(DATA)
                   if name.startswith(("good-frame", "good-nd", "good-blp3",
                                       "bad-frame", "README")))
    source = os.path.join(work, "source")
    os.makedirs(source + "/deep/er")
    with Server() as server, s3(server):
        for name in names:
            for folder in ("", "deep/", "deep/er/"):
                harness.shutil.copy(f"{DATA}/{name}", f"{source}/{folder}")
                server.put_file(f"/bucket/shelf/{folder}{name}",
                                f"{DATA}/{name}")
        server.put("/bucket/elsewhere.b2nd", b"not below the prefix")
        server.page = 7
        with Mount(work, "s3://bucket/shelf/") as mount, \
                Mount(work, source) as local:
            equal(sorted(os.listdir(mount.point)), sorted(names + ["deep"]))
            wrong = differing(tree(mount.point), tree(local.point))
            equal(wrong, [])
            fails_with(errno.ENOENT, os.stat, mount.path("absent.b2nd"))
            fails_with(errno.ENOENT, os.stat, mount.path("absent/x"))
        asked = [headers for headers in server.asked
                 if "AWS4-HMAC-SHA256" not in
                 headers.get("Authorization", "")]
        equal(asked, [], "requests that are not signed")


def lists_and_reads(server):
    """How many requests of either kind came since the log was cleared. Who
    asked may hear of an answer before it stands there."""
    wait_until(lambda: server.at_once == 0)
    lists = [row for row in server.log if "list-type" in row[0]]
    return len(lists), len(server.log) - len(lists)


def a_look_up_in_a_bucket_takes_one_request(work):
    """In a folder of more names than a page has, which nobody has listed."""
    with Server() as server, s3(server):
        for number in range(3000):
            server.put(f"/bucket/many/file-{number:05}", b"x")
        server.put("/bucket/many/file/inside", b"x")
        for number in range(1500):
            server.put(f"/bucket/many/long/{number:04}", b"x")
        for name in ("a.b2frame", "a.b2frame-old", "x.b2frame", "y.b2frame"):
            server.put_file("/bucket/many/" + name, f"{DATA}/{SMALL}")
        put = ("file-02077", (1, 0)), ("file-02078", (1, 0)), \
            ("nothing", (1, 0)), ("file-9", (1, 0)), \
            ("x.b2frame", (2, 2)), ("y.b2frame", (1, 2)), \
            ("file", (3, 0)), ("long", (4, 0))
        # The name alone; of a container its head and tail, and of the first
        # in a folder whether that is a store. A folder's own page tells
        # what it is: of more names than it has two are asked for.
        with Mount(work, "s3://bucket/many/", "--attr_timeout=60") as mount:
            for name, most in put:
                server.log.clear()
                equal(os.path.exists(mount.path(name)),
                      name not in ("nothing", "file-9"), name)
                equal(lists_and_reads(server), most, name)
        # Each stat is a look-up and asks for attributes then.
        with Mount(work, "s3://bucket/many/", "--attr_timeout=0") as mount:
            for name, most in put:
                server.log.clear()
                os.path.exists(mount.path(name))
                lists, reads = lists_and_reads(server)
                # The first time the four marks of stores.
                assert lists <= 2 * most[0] + 4 * (name[0] == "x"), server.log
                assert reads <= most[1] + 1, server.log
            # A folder behind more names that begin like its own than one page
            # holds takes one more.
            server.page = 5
            equal(os.listdir(mount.path("file")), ["inside"])
            server.page = 1000
            # A listing comes by pages, as far as it is read.
            server.log.clear()
            equal(len(os.listdir(mount.point)), 3006, "entries")
            equal(len(server.log), 4, "pages")


def names_of_a_bucket_stay_inside(work):
    with Server() as server, s3(server):
        for key in ("/bucket/%2E%2E", "/bucket/x%01y", "/bucket/a%25b",
                    "/bucket/" + "n" * 300, "/bucket/both",
                    "/bucket/both/in", "/bucket/a%2F%2Fb",
                    "/bucket/f%C3%BCr", "/bucket/plus%2B%26%3D"):
            server.put(key, key.encode())
        with Mount(work, "s3://bucket") as mount:
            equal(sorted(os.listdir(mount.point)),
                  sorted(["%2E%2E", "x%01y", "a%25b", "both", "both%~2",
                          "a", "für", "plus+&="]))
            equal(read(mount.path("%2E%2E")), b"/bucket/%2E%2E")
            equal(read(mount.path("x%01y")), b"/bucket/x%01y")
            equal(read(mount.path("a%25b")), b"/bucket/a%25b")
            equal(read(mount.path("both")), b"/bucket/both")
            equal(read(mount.path("both%~2", "in")), b"/bucket/both/in")
            equal(read(mount.path("plus+&=")), b"/bucket/plus%2B%26%3D")


def listings_that_attack_are_errors(work):
    with Server() as server, s3(server):
        server.put_file("/bucket/a.b2frame", f"{DATA}/{SMALL}")
        with Mount(work, "s3://bucket", "--attr_timeout=0",
                   "--read_timeout=1") as mount:
            for fault in ("entities", "deep", "no size", "cut xml", 500, 403,
                          "garbage"):
                server.always = fault
                fails_with(errno.EACCES if fault == 403 else errno.EIO,
                           os.listdir, mount.point)
                server.always = None
                equal(os.listdir(mount.point), ["a.b2frame"])


def what_has_the_name_of_a_container_and_is_none_is_a_file(work):
    with Server() as server, s3(server):
        server.put("/bucket/a.b2nd", b"something else" * 9)
        with Mount(work, "s3://bucket") as mount:
            with contextlib.suppress(OSError):
                os.listdir(mount.path("a.b2nd"))
            wait_until(lambda: os.path.isfile(mount.path("a.b2nd")))
            equal(read(mount.path("a.b2nd")), b"something else" * 9)


def a_catalog_tells_what_is_where(work):
    catalog = os.path.join(work, "catalog")
    with Server() as server:
        one = server.put_file("/one.b2frame", f"{DATA}/{SMALL}")
        two = server.put_file("/x/two.blp", f"{DATA}/good-blp3-array.blp")
        harness.write(catalog, (
            f"# what we have\n\n{one}\tshelf/deep/first.b2frame\n"
            f"{two}\tsecond.blp\n").encode())
        with Mount(work, server.url + "/", "--catalog=" + catalog) as mount:
            equal(sorted(os.listdir(mount.point)), ["second.blp", "shelf"])
            equal(os.listdir(mount.path("shelf")), ["deep"])
            with Mount(work, f"{DATA}/{SMALL}") as local:
                equal(differing(tree(mount.path("shelf", "deep",
                                                "first.b2frame")),
                                tree(local.point)), [])
            assert "data.npy" in os.listdir(mount.path("second.blp"))
        for text, words in (("x\ty", "begins with no address"),
                            (f"{one}\t../x", "no path below"),
                            (f"{one}\ta\n{two}\ta", "there twice"),
                            (f"{one}\ta\n{two}\ta/b", "a file in another"),
                            (one, "a tab and a path")):
            harness.write(catalog, text.encode())
            result = harness.run("-f", "--catalog=" + catalog,
                                 server.url + "/", mount.point)
            assert result.returncode and words in result.stderr, result


def no_secret_is_told(work):
    with Server() as server, s3(server):
        server.put_file("/bucket/a.b2frame", f"{DATA}/{SMALL}")
        server.put_file("/b.b2frame", f"{DATA}/{SMALL}")
        for source in ("s3://bucket/a.b2frame",
                       server.url + "/b.b2frame?sig=swordfish-secret"):
            with Mount(work, source, "--log_level=debug",
                       "--read_timeout=1", "--attr_timeout=0") as mount:
                server.always = 500
                with contextlib.suppress(OSError):
                    read(mount.path("data.bin"))
                server.always = None
                told = mount.log() + repr(harness.mount_line(mount.point))
                told += repr(read(f"/proc/{mount.process.pid}/cmdline"))
                for name in os.listdir(mount.path(".bloscfs")):
                    told += read(mount.path(".bloscfs", name)).decode()
                for name in os.listxattr(mount.point):
                    told += repr(os.getxattr(mount.point, name))
                assert "swordfish" not in told, told


def the_daemon_in_the_background_reads_too(work):
    point = os.path.join(work, "point")
    os.mkdir(point)
    with Server() as server:
        url = server.put_file("/f.b2frame", f"{DATA}/{SMALL}")
        result = harness.run(url, point)
        equal(result.returncode, 0, result.stderr)
        try:
            with Mount(work, f"{DATA}/{SMALL}") as local:
                equal(differing(tree(point), tree(local.point)), [])
        finally:
            harness.end_background(point)


if __name__ == "__main__":
    harness.main([
        an_address_is_a_container,
        opening_takes_head_and_tail,
        the_first_read_takes_the_connections_of_the_start,
        who_reads_forwards_is_read_ahead_for,
        a_read_waits_once_where_waiting_is_dear,
        who_begins_at_the_beginning_soon_has_it_all_under_way,
        what_was_refused_ahead_is_asked_for_in_large_parts,
        a_server_that_fails_for_a_moment_is_asked_again,
        a_server_that_lies_gives_an_error_and_no_bytes,
        refusals_at_the_mount_name_their_reason,
        why_a_server_cannot_be_reached_is_told_while_it_is_tried,
        a_changed_object_is_stale_and_then_the_new_one,
        a_hanging_server_lets_its_readers_go,
        many_readers_have_many_requests_under_way,
        a_bucket_is_a_folder,
        a_look_up_in_a_bucket_takes_one_request,
        names_of_a_bucket_stay_inside,
        listings_that_attack_are_errors,
        what_has_the_name_of_a_container_and_is_none_is_a_file,
        a_catalog_tells_what_is_where,
        no_secret_is_told,
        the_daemon_in_the_background_reads_too,
    ])
