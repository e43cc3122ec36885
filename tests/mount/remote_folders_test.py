#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Containers that are folders - sparse frames, columns of bcolz - on servers:
the same as from disk, by few requests."""
import contextlib
import errno
import hashlib
import os

import harness
import samples
from harness import DATA, Mount, equal, fails_with, read
from objects import Server, s3

SPARSE = sorted(name for name in os.listdir(DATA)
                if "-sparse-" in name and os.path.isdir(f"{DATA}/{name}"))


def put_tree(server, top, below="/bucket", **more):
    for folder, _, names in os.walk(top):
        for name in names:
            whole = os.path.join(folder, name)
            key = os.path.relpath(whole, top)
            server.put_file(f"{below}/{key}", whole, **more)


def shelf_of(work):
    """A folder with one of each, as disks and servers hold it."""
    top = os.path.join(work, "shelf")
    for name in SPARSE:
        os.makedirs(f"{top}/sparse/{name}")
        for part in os.listdir(f"{DATA}/{name}"):
            with open(f"{DATA}/{name}/{part}", "rb") as held:
                harness.write(f"{top}/sparse/{name}/{part}", held.read())
    samples.write_column(f"{top}/table/x", list(range(1000)), 100,
                         attrs=b'{"unit": "m"}')
    samples.write_column(f"{top}/table/y", list(range(5)), 100)
    samples.write_sparse_frame(f"{top}/long", samples.noise(40000), 1000)
    os.makedirs(f"{top}/plain/meta")
    harness.write(f"{top}/plain/meta/notes", b"no column")
    return top


def sum_of(path):
    """What a file holds, or the error that says that nobody knows."""
    try:
        return hashlib.sha256(read(path)).hexdigest()
    except OSError as error:
        return error.errno


def all_below(point):
    found = {}
    for folder, folders, names in os.walk(point):
        folders[:] = [name for name in folders if name != ".bloscfs"]
        for name in names:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, point)] = (os.stat(path).st_size,
                                                   sum_of(path))
        for name in folders:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, point) + "/"] = None
    return found


def expect_same(here, there):
    equal(sorted(there), sorted(here), "names")
    for name, (size_and_sum) in here.items():
        # Where info.json tells the source's inode and dates these differ.
        equal(there[name], size_and_sum, name)


def folders_in_a_bucket_are_what_they_are_on_disk(work):
    top = shelf_of(work)
    with Server() as server, s3(server):
        put_tree(server, top)
        with Mount(work, top) as disk, Mount(work, "s3://bucket") as far:
            here, there = all_below(disk.point), all_below(far.point)
            assert "table/x/data.npy" in here and "long/data.bin" in here
            assert "plain/meta/notes" in here
            expect_same(here, there)


def folders_of_a_catalog_are_what_they_are_on_disk(work):
    top = shelf_of(work)
    with Server() as server:
        put_tree(server, top, "")
        catalog = os.path.join(work, "catalog")
        with open(catalog, "w", encoding="ascii") as lines:
            for folder, _, names in os.walk(top):
                for name in names:
                    path = os.path.relpath(os.path.join(folder, name), top)
                    lines.write(f"{server.url}/{path}\t{path}\n")
        with Mount(work, top) as disk, \
                Mount(work, "shelf", f"--catalog={catalog}") as far:
            expect_same(all_below(disk.point), all_below(far.point))


def a_prefix_with_the_name_of_a_container_is_mounted_as_one(work):
    name = "good-sparse-array.b2nd"
    with Server() as server, s3(server):
        put_tree(server, f"{DATA}/{name}", f"/bucket/a/{name}")
        with Mount(work, f"{DATA}/{name}") as disk, \
                Mount(work, f"s3://bucket/a/{name}/") as far:
            assert "data.npy" in os.listdir(far.point)
            expect_same(all_below(disk.point), all_below(far.point))


def few_requests_tell_what_folders_are(work):
    with Server() as server, s3(server):
        for i in range(20):
            put_tree(server, f"{DATA}/good-sparse-array.b2nd",
                     f"/bucket/all/s{i}")
            server.put(f"/bucket/all/p{i}/a.txt", b"text")
        with Mount(work, "s3://bucket", "--attr_timeout=60") as mount:
            server.log.clear()
            equal(len(os.listdir(mount.path("all"))), 40)
            listed = len(server.log)
            harness.below(listed, 3, "requests of a list")
            for name in os.listdir(mount.path("all")):
                assert os.path.isdir(mount.path("all", name))
            # One page each, which whoever lists it has then.
            harness.below(len(server.log), listed + 41, "requests")
            asked = len(server.log)
            for i in range(20):
                equal(os.listdir(mount.path("all", f"p{i}")), ["a.txt"])
            equal(len(server.log), asked, "requests")


def a_frame_of_very_many_chunks_is_found_by_few_requests(work):
    with Server() as server, s3(server):
        put_tree(server, f"{DATA}/good-sparse-array.b2nd", "/bucket/many")
        for i in range(3, 20000):
            server.put(f"/bucket/many/{i:08X}.chunk", b"")
        with Mount(work, "s3://bucket", "--attr_timeout=60") as mount:
            server.log.clear()
            data = read(mount.path("many", "data.npy"))
            harness.below(len(server.log), 20, "requests")
            # Small chunks come with their first byte.
            equal(sorted(entry[0] for entry in server.log
                         if entry[0].endswith(".chunk")),
                  [f"/bucket/many/{i:08X}.chunk" for i in range(3)])
        with Mount(work, f"{DATA}/good-sparse-array.b2nd") as disk:
            equal(data, read(disk.path("data.npy")))


def a_chunk_that_is_gone_or_refused_costs_itself_alone(work):
    data = samples.noise(10000)
    top = os.path.join(work, "frame")
    samples.write_sparse_frame(top, data, 1000)
    with Server() as server, s3(server):
        put_tree(server, top, "/bucket/frame")
        for fault, number in ((404, errno.EIO), (403, errno.EACCES),
                              ("short", errno.EIO)):
            with Mount(work, "s3://bucket", "--read_timeout=2") as mount:
                server.choose = lambda path, _fault=fault: \
                    _fault if path.endswith("/00000004.chunk") else None
                path = mount.path("frame", "data.bin")
                with open(path, "rb", buffering=0) as held:
                    os.posix_fadvise(held.fileno(), 0, 0,
                                     os.POSIX_FADV_RANDOM)
                    fails_with(number, os.pread, held.fileno(), 10, 4100)
                chunks = mount.path("frame", "chunks")
                for i, name in enumerate(sorted(os.listdir(chunks))):
                    if i != 4:
                        equal(read(f"{chunks}/{name}"),
                              data[1000 * i:1000 * i + 1000], name)
                server.choose = None
                if fault != 404:
                    equal(read(path), data)


def what_is_written_anew_is_seen(work):
    """By its date alone, where the index is the same, byte for byte."""
    made = []
    for seed in (1, 2):
        data = samples.noise(5000, seed)
        top = os.path.join(work, f"frame{seed}")
        samples.write_sparse_frame(top, data, 1000)
        made.append((top, data, read(top + "/chunks.b2frame")))
    equal(made[0][2] == made[1][2], True, "the index is the same")
    with Server() as server, s3(server):
        put_tree(server, made[0][0], "/bucket/frame", modified=1_600_000_000)
        with Mount(work, "s3://bucket", "--attr_timeout=0") as mount:
            path = mount.path("frame", "data.bin")
            equal(read(path) == made[0][1], True, "the first")
            put_tree(server, made[1][0], "/bucket/frame",
                     modified=1_600_000_001)
            harness.wait_until(
                lambda: answers(path) == made[1][1], 5)


def a_chunk_that_alone_is_written_anew_is_seen(work):
    """Its index is not touched, and its blocks were read before."""
    data = samples.noise(5000)
    top = os.path.join(work, "frame")
    samples.write_sparse_frame(top, data, 1000)
    other = os.path.join(work, "other")
    samples.write_sparse_frame(other, samples.noise(5000, 2), 1000)
    wanted = data[:2000] + samples.noise(5000, 2)[2000:3000] + data[3000:]
    with Server() as server, s3(server):
        put_tree(server, top, "/bucket/frame")
        with Mount(work, "s3://bucket", "--attr_timeout=0") as mount:
            path = mount.path("frame", "data.bin")
            equal(read(path) == data, True, "the first")
            server.put_file("/bucket/frame/00000002.chunk",
                            other + "/00000002.chunk")
            seen = []

            def is_new():
                seen.append(answers(path))
                return seen[-1] == wanted

            harness.wait_until(is_new, 5)
            # Nothing but what was and what is was ever told.
            assert set(seen) <= {None, data, wanted}


def answers(path):
    with contextlib.suppress(OSError):
        return read(path)


if __name__ == "__main__":
    harness.main([
        folders_in_a_bucket_are_what_they_are_on_disk,
        folders_of_a_catalog_are_what_they_are_on_disk,
        a_prefix_with_the_name_of_a_container_is_mounted_as_one,
        few_requests_tell_what_folders_are,
        a_frame_of_very_many_chunks_is_found_by_few_requests,
        a_chunk_that_is_gone_or_refused_costs_itself_alone,
        what_is_written_anew_is_seen,
        a_chunk_that_alone_is_written_anew_is_seen,
    ])
