#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""drop_behind: the kernel has the pages of the source back behind who reads,
and the bytes are the same."""
import ctypes
import os
import threading

import harness
import namespace
import openmetrics
import samples
from harness import Mount, equal, read

PAGE = os.sysconf("SC_PAGE_SIZE")
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                      ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
PROT_READ, MAP_SHARED = 1, 1
DATA = samples.noise(9 << 20, 5)
CHUNK = 1 << 18


def pages_in_memory(path):
    """How many of a file's pages the kernel holds, by mincore(2)."""
    size = os.path.getsize(path)
    file = os.open(path, os.O_RDONLY)
    room = LIBC.mmap(None, size, PROT_READ, MAP_SHARED, file, 0)
    os.close(file)
    assert room != ctypes.c_void_p(-1).value, ctypes.get_errno()
    there = ctypes.create_string_buffer((size + PAGE - 1) // PAGE)
    equal(LIBC.mincore(room, size, there), 0, "mincore")
    LIBC.munmap(room, size)
    return sum(byte & 1 for byte in there.raw)


def files_of(path):
    if os.path.isfile(path):
        return [path]
    return [os.path.join(path, name) for name in os.listdir(path)]


def pages_of(path):
    return sum(pages_in_memory(name) for name in files_of(path))


def give_back(path):
    """No page of it in memory; False where the file system keeps all, as one
    in memory does."""
    for name in files_of(path):
        file = os.open(name, os.O_RDWR)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)
    return harness.comes_true(lambda: pages_of(path) == 0, 2)


def make_source(work):
    """A frame, an array in blocks, a sparse frame; the pages of each."""
    source = work + "/source"
    os.mkdir(source)
    harness.write(source + "/a.b2frame", samples.frame(DATA, CHUNK))
    harness.write(source + "/b.b2frame", samples.frame(DATA, CHUNK, 1 << 14))
    samples.write_sparse_frame(source + "/s.b2frame", DATA, CHUNK)
    whole = {name: pages_needed(f"{source}/{name}")
             for name in os.listdir(source)}
    return source, whole


def pages_needed(path):
    return sum((os.path.getsize(name) + PAGE - 1) // PAGE
               for name in files_of(path))


def read_in_order(path):
    equal(read(path) == DATA, True, "bytes in order")


def read_here_and_there(path):
    file = os.open(path, os.O_RDONLY)
    # Nothing is read ahead, neither by the kernel nor by the daemon.
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    for i in range(150):
        at = i * 7919 % 2000 * 4500
        equal(os.pread(file, 4000, at) == DATA[at:at + 4000], True, "bytes")
    os.close(file)


def read_by_many(path):
    """Each its part, all at once."""
    got, part = [None] * 6, len(DATA) // 6

    def run(number):
        with open(path, "rb", buffering=0) as file:
            file.seek(number * part)
            got[number] = b""
            while len(got[number]) < part:
                got[number] += file.read(part - len(got[number]))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    equal(b"".join(got) == DATA[:6 * part], True, "bytes of all")


def sources_read(mount):
    text = read(mount.path(".bloscfs/stats")).decode()
    return openmetrics.parse(text)["bloscfs_source_bytes_total"][()]


def left_after(work, number, how, name, *options):
    """Pages of the source in memory after a reader has left, and whether the
    file system gives any back."""
    folder = f"{work}/{number}-{how.__name__}-{name}-{len(options)}"
    os.mkdir(folder)
    source, whole = make_source(folder)
    gives = give_back(f"{source}/{name}")
    with Mount(folder, source, *options) as mount:
        data = mount.path(name + "/data.bin")
        how(data)

        def is_left():
            # What was being decoded ahead when the last one had closed it.
            os.close(os.open(data, os.O_RDONLY))
            return pages_of(f"{source}/{name}") * 20 < whole[name]

        # Whoever asked for it fails where they stay.
        harness.comes_true(is_left, 20 if options and gives else 0)
        left = pages_of(f"{source}/{name}")
    print(f"# {how.__name__} {name} {options}: {left} of {whole[name]} pages")
    return left, whole[name], gives


def each_way(work, name):
    kept_all = False
    for number, how in enumerate((read_in_order, read_here_and_there,
                                  read_by_many)):
        kept, whole, gives = left_after(work, number, how, name)
        left, _, _ = left_after(work, number, how, name, "--drop_behind")
        if not gives:
            kept_all = True
            continue
        assert kept * 4 > whole, (kept, whole)
        # The first ones and the last ones are read when it is opened.
        assert left * 20 < whole, (left, whole)
    if kept_all:
        raise harness.Skip("this file system gives no pages back")


def a_frame_leaves_no_pages_behind_its_readers(work):
    each_way(work, "a.b2frame")


def a_frame_of_small_blocks_leaves_no_pages(work):
    each_way(work, "b.b2frame")


def a_sparse_frame_leaves_no_pages(work):
    each_way(work, "s.b2frame")


def pages_go_while_the_file_is_read(work):
    source, whole = make_source(work)
    path = source + "/a.b2frame"
    gives = give_back(path)
    most = 0
    with Mount(work, source, "--drop_behind") as mount, \
            open(mount.path("a.b2frame/data.bin"), "rb", buffering=0) as file:
        for at in range(0, len(DATA), 1 << 18):
            equal(file.read(1 << 18) == DATA[at:at + (1 << 18)], True, "bytes")
            most = max(most, pages_in_memory(path))
    print(f"# at most {most} of {whole['a.b2frame']} pages at once")
    if not gives:
        raise harness.Skip("this file system gives no pages back")
    # A MiB that is not due yet, and what is being decoded ahead.
    assert most * PAGE < 5 << 20, most


def bytes_that_come_again_are_right(work):
    """In a cache of nothing each pass reads the source anew."""
    source, _ = make_source(work)
    with Mount(work, source, "--drop_behind", "--cache_size=0") as mount:
        for _ in range(2):
            for name in ("a.b2frame", "b.b2frame", "s.b2frame"):
                path = mount.path(name + "/data.bin")
                read_in_order(path)
                read_here_and_there(path)
                file = os.open(path, os.O_RDONLY)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(file)
        # Once, and most of it once more: a few pages of the mount may stay.
        assert sources_read(mount) > 4 * len(DATA), sources_read(mount)


if __name__ == "__main__":
    namespace.enter()
    harness.main([
        a_frame_leaves_no_pages_behind_its_readers,
        a_frame_of_small_blocks_leaves_no_pages,
        a_sparse_frame_leaves_no_pages,
        pages_go_while_the_file_is_read,
        bytes_that_come_again_are_right,
    ])
