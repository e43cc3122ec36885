#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The disk cache of servers' bytes: what a second mount still asks for, and
what becomes of a folder that is full, read-only, others', or shared."""
import contextlib
import errno
import os
import random
import resource
import shutil
import subprocess
import threading
import time

import harness
from diskcached import (CELL, MIB, cached, files, fill, healed, made,
                        one_question, own, stat, taken, wait_written, whole)
from harness import equal, needs_root, read, wait_until
from objects import Server


def a_second_mount_asks_one_question(work):
    frame, truth = made(work)
    with Server() as server:
        for name, more in (("tag", {}), ("date", {"tag": ""}),
                           ("weak", {"tag": 'W/"x"'})):
            disk = f"{work}/disk-{name}"
            url = server.put_file(f"/{name}.b2frame", frame, **more)
            with cached(work, url, disk) as mount:
                read(mount.path("info.json"))
                equal(len(server.log), 2, "requests to open")
                assert sum(row[3] for row in server.log) <= 64 << 10
                whole(mount, truth, "first")
            moved = sum(row[3] for row in server.log)
            assert moved < os.path.getsize(frame) + (64 << 10), moved
            one_question(work, url, disk, truth, server, name)
            # Few files: one for each 2 MiB, and the note.
            assert len(files(disk)) <= 5, files(disk)
            assert taken(disk) <= os.path.getsize(frame) + 10 * CELL
            server.log.clear()
        with cached(work, url, disk) as mount:
            config = read(mount.path(".bloscfs", "config")).decode()
            assert f"disk_cache={disk}\n" in config, config
            assert f"disk_cache_size={10 << 30}\n" in config, config


def parts_that_are_there_are_not_asked_for(work):
    frame, truth = made(work)
    disk = work + "/disk"
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        dice = random.Random(3)
        places = [dice.randrange(len(truth) // CELL) * CELL
                  for _ in range(12)]
        for number in range(2):
            server.log.clear()
            # Far, the second time: what is there is no reason to fetch more.
            server.latency = 0.02 * number
            more = () if number else ("--fetch_whole=0",)
            with cached(work, url, disk, *more) as mount:
                file = os.open(mount.path("data.bin"), os.O_RDONLY)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
                for at in places:
                    equal(os.pread(file, CELL, at), truth[at:at + CELL])
                    time.sleep(0.015 * number)
                os.close(file)
            if number:
                equal([row[2] for row in server.log], [304], "answers")
        # What is in between comes from the server, and just that.
        server.log.clear()
        server.latency = 0
        have = taken(disk)
        with cached(work, url, disk) as mount:
            whole(mount, truth)
        moved = sum(row[3] for row in server.log)
        assert moved < os.path.getsize(frame) - have / 2, (moved, have)
        one_question(work, url, disk, truth, server)


def what_is_opened_by_it_is_read_with_one_wait_too(work):
    frame, truth = made(work)
    disk = work + "/disk"
    size = len(truth) // 16
    with Server() as server:
        server.latency = 0.2
        url = server.put_file("/f.b2frame", frame)
        with cached(work, url, disk) as mount:
            read(mount.path("info.json"))
        with cached(work, url, disk) as mount:
            file = os.open(mount.path("data.bin"), os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
            # The first tells how long blocks are.
            for chunk in (7, 11):
                server.log.clear()
                server.most_at_once = 0
                at = chunk * size + size // 2 // CELL * CELL
                equal(os.pread(file, CELL, at), truth[at:at + CELL])
            os.close(file)
            # Header and block side by side, or in one.
            assert len(server.log) == server.most_at_once <= 2, server.log


def mounts_share_it_at_once(work):
    frame, truth = made(work)
    disk = work + "/disk"
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        with contextlib.ExitStack() as stack:
            mounts = [stack.enter_context(cached(work, url, disk))
                      for _ in range(3)]
            wrong = []

            def one(mount):
                if read(mount.path("data.bin")) != truth:
                    wrong.append(mount.point)

            readers = [threading.Thread(target=one, args=(mount,))
                       for mount in mounts]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
            equal(wrong, [])
            equal(sum(stat(mount, "faults") for mount in mounts), 0,
                  "faults")
        one_question(work, url, disk, truth, server)


def another_content_is_never_served_from_old_bytes(work):
    one, truth = made(work, "one", mib=3)
    two, other = made(work, "two", mib=3, seed=1)
    disk = work + "/disk"
    with Server() as server:
        url = server.put_file("/f.b2frame", one)
        fill(work, url, disk, truth)
        server.put_file("/f.b2frame", two)
        with cached(work, url, disk, "--attr_timeout=0") as mount:
            whole(mount, other, "of the new one")
            # And while it is mounted.
            server.put_file("/f.b2frame", one)
            wait_until(lambda: is_now(mount, truth, other))
            wait_written(mount, len(other))
        one_question(work, url, disk, truth, server, "of the old one again")
        server.put_file("/f.b2frame", one, modified=1_700_000_000)
        with cached(work, url, disk) as mount:
            whole(mount, truth, "of another date")


def is_now(mount, truth, before):
    """Whether it is the truth by now; never anything but it or before."""
    try:
        got = read(mount.path("data.bin"))
    except OSError as error:
        equal(error.errno, errno.ESTALE, "errno")
        return False
    assert got in (truth, before), "a mixture"
    return got == truth


def a_server_without_conditions_is_believed(work):
    frame, truth = made(work, mib=3)
    disk = work + "/disk"
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        fill(work, url, disk, truth)
        server.forgets = True
        server.log.clear()
        with cached(work, url, disk) as mount:
            whole(mount, truth)
        equal([row[2] for row in server.log], [206], "answers")
        # One that is down, or refuses, is not answered for.
        for fault, number in ((403, errno.EACCES), (404, errno.ENOENT),
                              (500, errno.EIO)):
            server.always = fault
            result = harness.run("-f", "--read_timeout=1",
                                 f"--disk_cache={disk}", url, work)
            assert os.strerror(number) in result.stderr or \
                "server says" in result.stderr, result.stderr
            assert result.returncode, fault


def a_full_disk_is_left_out(work):
    needs_root()
    frame, truth = made(work)
    disk = work + "/disk"
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk],
                   check=True)
    try:
        with Server() as server:
            url = server.put_file("/f.b2frame", frame)
            for number in range(2):
                with cached(work, url, disk) as mount:
                    whole(mount, truth, "with a full disk")
                    wait_until(lambda m=mount: stat(m, "faults") > 0,
                               told=lambda: number)
                    equal(len(mount.log_lines("warn: ")), 1, mount.log())
                    equal(len(mount.log_lines("No space left")), 1)
    finally:
        subprocess.run(["umount", disk], check=True)


def a_limit_of_file_sizes_is_left_out(work):
    frame, truth = made(work)
    disk = work + "/disk"
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        with cached(work, url, disk) as mount:
            resource.prlimit(mount.pid, resource.RLIMIT_FSIZE,
                             (300_000, 300_000))
            whole(mount, truth, "within a limit")
            wait_until(lambda: stat(mount, "faults") > 0)
            equal(len(mount.log_lines("File too large")), 1, mount.log())
        healed(work, url, disk, truth, server, "a limit", False)


def a_read_only_folder_is_read(work):
    needs_root()
    one, truth = made(work, "one", mib=3)
    two, other = made(work, "two", mib=3, seed=1)
    disk = work + "/disk"
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "none", disk], check=True)
    try:
        with Server() as server:
            first = server.put_file("/one.b2frame", one)
            second = server.put_file("/two.b2frame", two)
            fill(work, first, disk, truth)
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            one_question(work, first, disk, truth, server)
            with cached(work, second, disk) as mount:
                whole(mount, other)
                wait_until(lambda: stat(mount, "faults") > 0)
                equal(len(mount.log_lines("Read-only file system")), 1)
            subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
            shutil.rmtree(own(disk))
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            with cached(work, second, disk) as mount:
                whole(mount, other)
                equal(len(mount.log_lines("reads go on without it")), 1)
    finally:
        subprocess.run(["umount", disk], check=True)


def folders_that_others_can_change_are_refused(work):
    frame, truth = made(work, mib=1)
    disk = work + "/disk"
    os.mkdir(disk)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        link = work + "/link"
        os.symlink(disk, link)
        for path in (link, link + "/", frame, work + "/no/where"):
            refused(url, path, work)
        equal(os.listdir(disk), [], "what lies where the link leads")
        # Where not even root may make one.
        result = harness.run("-f", "--disk_cache=/sys/none", url, work)
        equal((result.returncode, result.stderr.count("\n")), (3, 1),
              result.stderr)
        assert "'/sys/none' is not there" in result.stderr, result.stderr
        for mode in (0o777, 0o770, 0o702):
            os.chmod(disk, mode)
            refused(url, disk, work)
        os.chmod(disk, 0o755)
        os.symlink(work, own(disk))
        refused(url, disk, work)
        os.unlink(own(disk))
        os.mkdir(own(disk), 0o755)
        refused(url, disk, work)
        os.rmdir(own(disk))
        if os.geteuid() == 0:
            os.chown(disk, harness.NOBODY, harness.NOBODY)
            refused(url, disk, work)
            os.chown(disk, 0, 0)
            os.mkdir(own(disk), 0o700)
            os.chown(own(disk), harness.NOBODY, harness.NOBODY)
            refused(url, disk, work)
            os.rmdir(own(disk))
        # What all may write to and none may take away is no danger.
        os.chmod(disk, 0o1777)
        fill(work, url, disk, truth)
        equal(os.stat(own(disk)).st_mode & 0o7777, 0o700, "mode")
        for path in files(disk):
            equal(os.stat(path).st_mode & 0o7777, 0o600, "mode")
        result = harness.run("-f", "--disk_cache_size=1M", url, work)
        assert "4M" in result.stderr and result.returncode, result


def refused(url, disk, work):
    result = harness.run("-f", f"--disk_cache={disk}", url, work)
    assert result.returncode and "disk_cache '" in result.stderr, \
        (disk, result)


def the_longest_unused_leaves_first(work):
    disk = work + "/disk"
    with Server() as server:
        urls, truths, owned = [], [], []
        for number in range(3):
            frame, truth = made(work, f"f{number}", mib=3, seed=number)
            urls.append(server.put_file(f"/{number}.b2frame", frame))
            truths.append(truth)
        for number in range(2):
            before = files(disk) if number else []
            fill(work, urls[number], disk, truths[number],
                 "--disk_cache_size=8M")
            owned.append([path for path in files(disk)
                          if path not in before])
            for path in owned[number]:
                os.utime(path, (0, time.time() - 7200 + 3600 * number))
        # The older one is used, so that it is not the older one any more.
        one_question(work, urls[0], disk, truths[0], server)
        with cached(work, urls[2], disk, "--disk_cache_size=8M") as mount:
            whole(mount, truths[2])
            wait_until(lambda: stat(mount, "evictions") > 0)
        left = files(disk)
        equal([path for path in owned[0] if path not in left], [],
              "what was used and left")
        assert [path for path in owned[1] if path not in left]
        assert taken(disk) <= 8 * MIB, taken(disk)


def many_mounts_keep_to_the_size(work):
    disk, limit = work + "/disk", 8 * MIB
    # What each may write before it says so.
    beyond = 3 * (MIB // 2 + 2 * MIB)
    with Server() as server, contextlib.ExitStack() as stack:
        mounts = []
        for number in range(3):
            frame, truth = made(work, f"f{number}", mib=8, seed=number)
            url = server.put_file(f"/{number}.b2frame", frame)
            mounts.append((stack.enter_context(cached(
                work, url, disk, "--disk_cache_size=8M")), truth))
        most, over = [0], threading.Event()

        def watch():
            while not over.is_set():
                most[0] = max(most[0], taken(disk))
                time.sleep(0.002)

        watcher = threading.Thread(target=watch)
        watcher.start()
        readers = [threading.Thread(target=whole, args=row)
                   for row in mounts]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        for mount, truth in mounts:
            whole(mount, truth)
        over.set()
        watcher.join()
        assert limit / 2 < most[0] <= limit + beyond, most
        assert sum(stat(mount, "evictions") for mount, _ in mounts) > 0
        equal(sum(stat(mount, "faults") for mount, _ in mounts), 0,
              "faults")


def no_secret_is_written(work):
    frame, truth = made(work, mib=1)
    disk = work + "/disk"
    with Server() as server:
        url = server.put_file("/bucket/f.b2frame", frame)
        signed = f"{url}?X-Amz-Date=now&part=1&X-Amz-Signature=swordfish"
        fill(work, signed + "-1", disk, truth)
        # Signed anew it is the same object; another query is another one.
        one_question(work, signed + "-2", disk, truth, server)
        server.log.clear()
        fill(work, url + "?part=2", disk, truth)
        assert len(server.log) > 2, server.log
        os.environ.update({"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
                           "AWS_SECRET_ACCESS_KEY": "swordfish-secret",
                           "AWS_ENDPOINT_URL": server.url})
        try:
            fill(work, "s3://bucket/f.b2frame", disk, truth)
        finally:
            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                         "AWS_ENDPOINT_URL"):
                del os.environ[name]
        for folder, _, names in os.walk(disk):
            for name in names:
                path = os.path.join(folder, name)
                content = path.encode() + read(path)
                for word in (b"swordfish", b"AKID", b"http", b"bucket"):
                    assert word not in content, (path, word)


def one_mount_serves_all_users_from_its_disk_cache(work):
    needs_root()
    frame, truth = made(work, mib=1)
    disk = work + "/disk"
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)

        def read_by_others(mount):
            def compare():
                if read(mount.path("data.bin")) != truth:
                    raise OSError(errno.EIO, "other bytes")

            for user in harness.NOBODY, 12345:
                equal(harness.as_user(user, compare), 0, f"errno of {user}")

        with cached(work, url, disk, "-oallow_other") as mount:
            read_by_others(mount)
        server.log.clear()
        with cached(work, url, disk, "-oallow_other") as mount:
            read_by_others(mount)
            equal([row[2] for row in server.log], [304], "answers")
        equal(os.listdir(disk), [os.path.basename(own(disk))], "folders")
        # Whom the mount serves does not see what it keeps.
        equal(harness.as_user(harness.NOBODY, lambda: os.listdir(own(disk))),
              errno.EACCES, "errno")


def a_bucket_in_the_background_is_kept_too(work):
    frame, truth = made(work, mib=2)
    disk, point = work + "/disk", work + "/point"
    os.mkdir(point)
    with Server() as server:
        url = server.put_file("/f.b2frame", frame)
        for number in range(2):
            server.log.clear()
            result = harness.run(f"--disk_cache={disk}", url, point)
            equal(result.returncode, 0, result.stderr)
            try:
                equal(read(point + "/data.bin") == truth, True, "the bytes")
            finally:
                harness.end_background(point)
            if number:
                equal([row[2] for row in server.log], [304], "answers")


if __name__ == "__main__":
    harness.main([
        a_second_mount_asks_one_question,
        parts_that_are_there_are_not_asked_for,
        what_is_opened_by_it_is_read_with_one_wait_too,
        mounts_share_it_at_once,
        another_content_is_never_served_from_old_bytes,
        a_server_without_conditions_is_believed,
        a_full_disk_is_left_out,
        a_limit_of_file_sizes_is_left_out,
        a_read_only_folder_is_read,
        folders_that_others_can_change_are_refused,
        the_longest_unused_leaves_first,
        many_mounts_keep_to_the_size,
        no_secret_is_written,
        one_mount_serves_all_users_from_its_disk_cache,
        a_bucket_in_the_background_is_kept_too,
    ])
