#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A source that changes while it is mounted: old bytes, new bytes or an
error, and never a mixture."""
import errno
import json
import os
import signal
import time

import harness
import samples
from harness import Mount, equal

OLD = samples.noise(200000, 1)
NEW = samples.noise(150000, 2)
CHUNK = 20000
TIMEOUT = "--attr_timeout=0.1"


def make_source(work, data=OLD):
    source = os.path.join(work, "source")
    os.mkdir(source)
    harness.write(source + "/a.b2frame", samples.frame(data, CHUNK))
    return source


def replace(path, content):
    """A new file takes the name."""
    harness.write(path + ".tmp", content)
    os.rename(path + ".tmp", path)


def status_of(folder):
    return json.loads(harness.read(folder + "/info.json"))["status"]


def settle():
    """What the kernel was told is good no more (twice TIMEOUT): to look sooner
    would be to ask whether it is, and to have it told anew."""
    time.sleep(0.2)


def reads_are_old_or_stale(fd, old):
    """How many reads of a file opened before were stale."""
    stale = 0
    for at in range(0, len(old), 4096):
        try:
            got = os.pread(fd, 4096, at)
        except OSError as error:
            equal(error.errno, errno.ESTALE, "errno")
            stale += 1
        else:
            assert got == old[at:at + 4096], f"a mixture at {at}"
    return stale


def a_replaced_frame_shows_its_new_bytes(work):
    source = make_source(work)
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("a.b2frame/data.bin")
        equal(harness.read(data) == OLD, True, "old bytes")
        old_ino = os.stat(data).st_ino
        replace(source + "/a.b2frame", samples.frame(NEW, CHUNK))
        # At once: opening asks, whatever is cached.
        equal(harness.read(data) == NEW, True, "new bytes")
        equal(os.stat(data).st_size, len(NEW), "new size")
        assert os.stat(data).st_ino != old_ino
        equal(len(os.listdir(mount.path("a.b2frame/chunks"))), 8, "chunks")


def an_open_reader_keeps_the_replaced_frame(work):
    source = make_source(work)
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("a.b2frame/data.bin")
        with open(data, "rb", buffering=0) as file:
            equal(file.read(1000), OLD[:1000])
            replace(source + "/a.b2frame", samples.frame(NEW, CHUNK))
            settle()
            equal(harness.read(data) == NEW, True, "new bytes")
            equal(os.fstat(file.fileno()).st_size, len(OLD), "old size")
            rest = file.read() + file.read()
            equal(rest == OLD[1000:], True, "rest of the old bytes")
        equal(harness.read(data) == NEW, True, "new bytes")


def an_open_reader_of_a_rewritten_frame_gets_old_bytes_or_estale(work):
    source = make_source(work)
    path = source + "/a.b2frame"
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("a.b2frame/data.bin")
        fd = os.open(data, os.O_RDONLY)
        first = os.pread(fd, 100, 0)
        equal(first, OLD[:100])
        harness.write(path, samples.frame(samples.noise(200000, 3), CHUNK))
        # What no page holds yet is gone, and says so.
        assert reads_are_old_or_stale(fd, OLD) > 0
        os.close(fd)
        equal(harness.read(data) == samples.noise(200000, 3), True,
              "new bytes")


def a_frame_rewritten_again_and_again_never_mixes(work):
    source = make_source(work)
    path = source + "/a.b2frame"
    with Mount(work, source, "--attr_timeout=0") as mount:
        data = mount.path("a.b2frame/data.bin")
        for seed in range(10, 40):
            wanted = samples.noise(60000 + seed, seed)
            replace(path, samples.frame(wanted, CHUNK))
            equal(harness.read(data) == wanted, True, f"bytes of {seed}")


def a_truncated_frame_gives_an_error_or_a_plain_file(work):
    source = make_source(work)
    path = source + "/a.b2frame"
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("a.b2frame/data.bin")
        fd = os.open(data, os.O_RDONLY)
        os.pread(fd, 1, 0)
        os.truncate(path, 50000)
        settle()
        fd2 = os.open(mount.path("a.b2frame"), os.O_RDONLY)
        os.close(fd2)
        try:
            got = os.pread(fd, 4096, 190000)
        except OSError as error:
            assert error.errno in (errno.ESTALE, errno.EIO), error
        else:
            assert got == OLD[190000:194096]
        os.close(fd)
        assert "a.b2frame" in os.listdir(mount.point)


def a_deleted_frame_is_gone_but_for_its_readers(work):
    source = make_source(work)
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("a.b2frame/data.bin")
        with open(data, "rb", buffering=0) as file:
            file.read(10)
            os.unlink(source + "/a.b2frame")
            settle()
            harness.fails_with(errno.ENOENT, os.stat, data)
            harness.fails_with(errno.ENOENT, os.open, data, os.O_RDONLY)
            equal(os.listdir(mount.point), [])
            equal(os.fstat(file.fileno()).st_size, len(OLD))
            equal(file.read() == OLD[10:], True, "old bytes")


def a_new_frame_appears_at_once(work):
    source = make_source(work)
    with Mount(work, source) as mount:
        new = mount.path("new.b2frame/data.bin")
        harness.fails_with(errno.ENOENT, os.stat, new)
        harness.write(source + "/new.b2frame", samples.frame(NEW, CHUNK))
        equal(harness.read(new) == NEW, True, "bytes")


def a_frame_becomes_a_plain_file_and_back(work):
    source = make_source(work)
    path = source + "/a.b2frame"
    with Mount(work, source, TIMEOUT) as mount:
        shown = mount.path("a.b2frame")
        for turn in range(3):
            assert os.path.isdir(shown), turn
            equal(harness.read(shown + "/data.bin") == OLD, True)
            replace(path, b"plain %d" % turn)
            settle()
            equal(harness.read(shown), b"plain %d" % turn)
            # In place this time, and back.
            harness.write(path, samples.frame(OLD, CHUNK))
            settle()


def a_chunk_being_copied_in_is_plain_until_it_is_whole(work):
    source = make_source(work)
    whole = samples.small_chunk(NEW)
    with Mount(work, source, TIMEOUT) as mount:
        with open(source + "/new.blosc", "wb", buffering=0) as file:
            file.write(whole[:100000])
            assert os.path.isfile(mount.path("new.blosc"))
            equal(harness.read(mount.path("new.blosc")) == whole[:100000],
                  True)
            file.write(whole[100000:])
        settle()
        equal(harness.read(mount.path("new.blosc/data.bin")) == NEW, True)


def a_frame_being_copied_in_is_plain_until_it_is_whole(work):
    source = make_source(work)
    whole = samples.frame(NEW, CHUNK)
    with Mount(work, source, TIMEOUT) as mount:
        time.sleep(1.1)
        shown = mount.path("new.b2frame")
        with open(source + "/new.b2frame", "wb", buffering=0) as file:
            for end in (60, 5000, 100000):
                file.write(whole[file.tell():end])
                settle()
                assert os.path.isfile(shown), end
                equal(harness.read(shown) == whole[:end], True, end)
                entries = {e.name: e.is_dir() for e in
                           os.scandir(mount.point)}
                equal(entries["new.b2frame"], False, "listed as")
            file.write(whole[100000:])
        settle()
        equal(harness.read(shown + "/data.bin") == NEW, True, "whole")
        # A frame that was one stays one, though it loses its end.
        os.truncate(source + "/new.b2frame", 100000)
        settle()
        assert os.path.isdir(shown)


def a_frame_that_never_becomes_whole_is_a_damaged_folder(work):
    source = make_source(work)
    half = samples.frame(NEW, CHUNK)[:100000]
    harness.write(source + "/before.b2frame", half)
    with Mount(work, source, TIMEOUT) as mount:
        equal(status_of(mount.path("before.b2frame")), "damaged")
        time.sleep(1.1)
        harness.write(source + "/after.b2frame", half)
        shown = mount.path("after.b2frame")
        assert os.path.isfile(shown)
        harness.wait_until(lambda: os.path.isdir(shown), told=lambda:
                           os.listdir(mount.point))
        equal(status_of(shown), "damaged", "left alone")
        # One that was half long ago is not on its way.
        harness.write(source + "/old.b2frame", half)
        os.utime(source + "/old.b2frame", (1000000000, 1000000000))
        equal(status_of(mount.path("old.b2frame")), "damaged", "old")


def a_plain_file_follows_its_source(work):
    source = make_source(work)
    path = source + "/plain"
    harness.write(path, b"one" * 5000)
    with Mount(work, source, TIMEOUT) as mount:
        shown = mount.path("plain")
        equal(harness.read(shown), b"one" * 5000)
        harness.write(path, b"two" * 5000)
        equal(harness.read(shown), b"two" * 5000)
        with open(path, "ab") as file:
            file.write(b"more")
        settle()
        equal(os.stat(shown).st_size, 15004)
        equal(harness.read(shown), b"two" * 5000 + b"more")
        with open(shown, "rb", buffering=0) as file:
            file.read(1)
            replace(path, b"three" * 5000)
            settle()
            equal(harness.read(shown), b"three" * 5000)
            equal(file.read(), (b"two" * 5000 + b"more")[1:])


def a_replaced_folder_is_followed(work):
    source = make_source(work)
    os.mkdir(source + "/folder")
    harness.write(source + "/folder/x", b"old")
    with Mount(work, source, TIMEOUT) as mount:
        equal(harness.read(mount.path("folder/x")), b"old")
        os.rename(source + "/folder", source + "/moved")
        os.mkdir(source + "/folder")
        harness.write(source + "/folder/x", b"new")
        settle()
        equal(harness.read(mount.path("folder/x")), b"new")
        equal(harness.read(mount.path("moved/x")), b"old")


def the_single_file_of_a_mount_may_change_too(work):
    source = make_source(work) + "/a.b2frame"
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("data.bin")
        equal(harness.read(data) == OLD, True)
        replace(source, samples.frame(NEW, CHUNK))
        equal(harness.read(data) == NEW, True)
        os.unlink(source)
        settle()
        equal(harness.read(data) == NEW, True, "bytes after it was deleted")


def an_unchanged_frame_keeps_the_kernels_pages(work):
    source = make_source(work)
    # What was just written is read once more.
    os.utime(source + "/a.b2frame", (1e9, 1e9))
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("a.b2frame/data.bin")
        equal(harness.read(data) == OLD, True)
        settle()
        with open(data, "rb", buffering=0) as file:
            # Pages in the cache are there without the daemon.
            os.kill(mount.pid, signal.SIGSTOP)
            try:
                got = os.pread(file.fileno(), len(OLD), 0)
            finally:
                os.kill(mount.pid, signal.SIGCONT)
        equal(got == OLD, True, "cached bytes")


MORE = samples.noise(4 << 20, 5)
LARGE = 1 << 16


def make_growing(work, count):
    source = os.path.join(work, "source")
    os.mkdir(source)
    path = source + "/a.b2frame"
    harness.write(path, samples.frame(MORE[:count * LARGE], LARGE))
    time.sleep(0.05)
    return source, path


def a_frame_that_grows_keeps_its_files_and_what_was_read(work):
    source, path = make_growing(work, 50)
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("a.b2frame/data.bin")
        chunk = mount.path("a.b2frame/chunks/0000000007")
        equal(harness.read(data) == MORE[:50 * LARGE], True, "bytes")
        before = os.stat(data), os.stat(chunk)
        known = mount.counts()["rchar"]
        for count in (51, 53, 54):
            samples.grow(path, MORE[:count * LARGE], LARGE)
            settle()
            equal(os.stat(data).st_size, count * LARGE, "size")
            equal(harness.read(data) == MORE[:count * LARGE], True, "bytes")
            equal(len(os.listdir(mount.path("a.b2frame/chunks"))), count)
            time.sleep(0.05)
        equal(harness.read(chunk) == MORE[7 * LARGE:8 * LARGE], True)
        equal((os.stat(data).st_ino, os.stat(chunk).st_ino),
              (before[0].st_ino, before[1].st_ino), "inode numbers")
        # Five chunks at most were new, the last of them perhaps twice.
        grown = mount.counts()["rchar"] - known
        assert grown < 12 * LARGE, f"{grown} bytes were read"
        info = json.loads(harness.read(mount.path("a.b2frame/info.json")))
        equal((info["status"], info["nchunks"]), ("good", 54))


def a_frame_of_many_chunks_that_grows_keeps_what_was_read(work):
    """To compare them all takes more than a look at a name may."""
    source = os.path.join(work, "source")
    os.mkdir(source)
    path, small, count = source + "/a.b2frame", 1 << 9, 8000
    harness.write(path, samples.frame(MORE[:count * small], small))
    time.sleep(0.05)
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("a.b2frame/data.bin")
        with open(data, "rb", buffering=0) as file:
            equal(file.readall() == MORE[:count * small], True, "bytes")
            samples.grow(path, MORE[:(count + 1) * small], small)
            settle()
            harness.wait_until(lambda: os.fstat(
                file.fileno()).st_size == (count + 1) * small)
            equal(file.readall(), MORE[count * small:(count + 1) * small])


def an_open_reader_of_a_growing_frame_reads_on(work):
    source, path = make_growing(work, 20)
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("a.b2frame/data.bin")
        with open(data, "rb", buffering=0) as file:
            done = len(file.read(LARGE))
            for count in range(21, 30):
                samples.grow(path, MORE[:count * LARGE], LARGE)
                settle()
                # Whoever is slow to look has the size of before a little
                # longer.
                harness.wait_until(lambda size=count * LARGE: os.fstat(
                    file.fileno()).st_size == size)
                while piece := file.read(LARGE):
                    wanted = MORE[done:done + len(piece)]
                    equal(piece == wanted, True, f"bytes at {done}")
                    done += len(piece)
                equal(done, count * LARGE, "bytes read")


def a_sparse_frame_that_grows_shows_its_new_size(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    path = source + "/a.b2frame"
    samples.write_sparse_frame(path, MORE[:10 * LARGE], LARGE)
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("a.b2frame/data.bin")
        equal(harness.read(data) == MORE[:10 * LARGE], True, "bytes")
        number = os.stat(data).st_ino
        samples.write_sparse_frame(path, MORE[:12 * LARGE], LARGE)
        settle()
        equal(os.stat(data).st_size, 12 * LARGE, "size")
        equal(harness.read(data) == MORE[:12 * LARGE], True, "bytes")
        equal(os.stat(data).st_ino, number, "inode number")


def a_frame_rewritten_with_more_chunks_has_not_grown(work):
    source, path = make_growing(work, 20)
    old = MORE[:20 * LARGE]
    other = samples.noise(25 * LARGE, 6)
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("a.b2frame/data.bin")
        fd = os.open(data, os.O_RDONLY)
        equal(os.pread(fd, 5000, 0) == old[:5000], True)
        # The same index, and more.
        harness.write(path, samples.frame(other, LARGE))
        equal(harness.read(data) == other, True, "new bytes")
        assert reads_are_old_or_stale(fd, old) > 0
        os.close(fd)
        equal(harness.read(data) == other, True, "new bytes")


def a_chunk_replaced_before_others_are_appended_is_seen(work):
    source, path = make_growing(work, 20)
    old = MORE[:20 * LARGE]
    other = bytearray(MORE[:21 * LARGE])
    other[7 * LARGE:8 * LARGE] = samples.noise(LARGE, 9)
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("a.b2frame/data.bin")
        equal(harness.read(data) == old, True, "bytes")
        fd = os.open(data, os.O_RDONLY)
        with open(path, "r+b", buffering=0) as file:
            at = samples.chunk_offset(7, LARGE)
            os.pwrite(file.fileno(),
                      samples.chunk(bytes(other[7 * LARGE:8 * LARGE])), at)
        samples.grow(path, bytes(other), LARGE)
        equal(harness.read(data) == bytes(other), True, "new bytes")
        reads_are_old_or_stale(fd, old)
        os.close(fd)


def what_grew_and_was_then_rewritten_shows_no_zeros_and_no_end(work):
    source, path = make_growing(work, 20)
    with Mount(work, source, TIMEOUT) as mount:
        data = mount.path("a.b2frame/data.bin")
        fd = os.open(data, os.O_RDONLY)
        equal(os.pread(fd, 100, 0) == MORE[:100], True)
        samples.grow(path, MORE[:25 * LARGE], LARGE)
        settle()
        equal(os.stat(data).st_size, 25 * LARGE, "size")
        harness.write(path, samples.frame(samples.noise(9 * LARGE, 6),
                                          LARGE))
        settle()
        equal(os.fstat(fd).st_size, 25 * LARGE, "size to who has it open")
        assert reads_are_old_or_stale(fd, MORE[:25 * LARGE]) > 0
        os.close(fd)


def immutable_asks_no_more(work):
    source = make_source(work)
    with Mount(work, source, "-o", "immutable") as mount:
        data = mount.path("a.b2frame/data.bin")
        equal(harness.read(data) == OLD, True)
        equal(os.stat(data).st_size, len(OLD))
        before = mount.counts()["syscw"]
        for _ in range(100):
            os.stat(data)
            os.listdir(mount.path("a.b2frame"))
        # Listings alone: two answers, and one for their end.
        assert mount.counts()["syscw"] - before <= 450
        harness.write(source + "/a.b2frame", samples.frame(NEW, CHUNK))
        equal(os.stat(data).st_size, len(OLD), "size as promised")


def a_file_written_all_the_time_is_opened_in_bounded_time(work):
    """Whenever it is opened the source was written to in this moment: an
    opening waits for a few writes, not for an end of them."""
    source = make_source(work)
    path = source + "/a.b2frame"
    with Mount(work, source, "--attr_timeout=0") as mount:
        began = time.monotonic()
        for i in range(100):
            # By a clock that is a little ahead, so that it stays young.
            now = time.time_ns() + 500_000_000 + i
            os.utime(path, ns=(now, now))
            equal(harness.read(mount.path("a.b2frame/data.bin")) == OLD, True,
                  "bytes")
        took = time.monotonic() - began
    print(f"# 100 openings took {took:.1f} s")
    # Some 2 s; each waited for a tenth of a second once.
    assert took < 9, took


if __name__ == "__main__":
    harness.main([
        a_replaced_frame_shows_its_new_bytes,
        an_open_reader_keeps_the_replaced_frame,
        an_open_reader_of_a_rewritten_frame_gets_old_bytes_or_estale,
        a_frame_rewritten_again_and_again_never_mixes,
        a_truncated_frame_gives_an_error_or_a_plain_file,
        a_deleted_frame_is_gone_but_for_its_readers,
        a_new_frame_appears_at_once,
        a_frame_becomes_a_plain_file_and_back,
        a_chunk_being_copied_in_is_plain_until_it_is_whole,
        a_frame_being_copied_in_is_plain_until_it_is_whole,
        a_frame_that_never_becomes_whole_is_a_damaged_folder,
        a_plain_file_follows_its_source,
        a_replaced_folder_is_followed,
        the_single_file_of_a_mount_may_change_too,
        an_unchanged_frame_keeps_the_kernels_pages,
        a_frame_that_grows_keeps_its_files_and_what_was_read,
        a_frame_of_many_chunks_that_grows_keeps_what_was_read,
        an_open_reader_of_a_growing_frame_reads_on,
        a_sparse_frame_that_grows_shows_its_new_size,
        a_frame_rewritten_with_more_chunks_has_not_grown,
        a_chunk_replaced_before_others_are_appended_is_seen,
        what_grew_and_was_then_rewritten_shows_no_zeros_and_no_end,
        immutable_asks_no_more,
        a_file_written_all_the_time_is_opened_in_bounded_time,
    ])
