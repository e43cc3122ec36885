#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Containers that are folders - sparse frames, columns of bcolz - on servers:
the same as from disk, by few requests."""
import contextlib
import errno
import hashlib
import os
import re
import time

import harness
import samples
from harness import DATA, Mount, equal, fails_with, read
from objects import Handler, Server, s3

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
            harness.wait_until(lambda: server.at_once == 0)
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


def two_frames(work, chunk_len=1000):
    """Two of one length and index, and what both hold."""
    made = []
    for seed in (1, 2):
        top = os.path.join(work, f"frame{seed}")
        data = samples.noise(20 * chunk_len, seed)
        samples.write_sparse_frame(top, data, chunk_len)
        made.append((top, data))
    return made


def catalog_of(work, server, top, below):
    catalog = os.path.join(work, "catalog")
    with open(catalog, "w", encoding="ascii") as lines:
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), top)
                lines.write(f"{server.url}{below}/{path}\t"
                            f"{os.path.basename(below)}/{path}\n")
    return catalog


@contextlib.contextmanager
def bucket_or_catalog(work, server, top, below, is_catalog, timeout=5):
    """A mount of what lies below, each look-up of which asks anew."""
    if is_catalog:
        catalog = catalog_of(work, server, top, below)
        with Mount(work, "shelf", "--attr_timeout=0",
                   f"--read_timeout={timeout}",
                   f"--catalog={catalog}") as mount:
            yield mount
    else:
        with s3(server), Mount(work, "s3://bucket", "--attr_timeout=0",
                               f"--read_timeout={timeout}") as mount:
            yield mount


def becomes(path, wanted, old):
    seen = []

    def is_new():
        seen.append(answers(path))
        return seen[-1] == wanted

    harness.wait_until(is_new, 10)
    # Nothing but what was and what is was ever told.
    assert set(seen) <= {None, old, wanted}


def parts_that_no_first_page_tells_are_asked_about(work):
    """A chunk of a later page, of a column's data/, of a catalog."""
    (one, data), (two, other) = two_frames(work)
    column = os.path.join(work, "column")
    numbers = samples.write_column(column, list(range(1000)), 100)
    changed = samples.write_column(column + "2", list(range(1000, 2000)), 100)
    cases = [(one, two, "00000011.chunk", data,
              data[:17000] + other[17000:18000] + data[18000:]),
             (column, column + "2", "data/__7.blp", numbers,
              numbers[:5600] + changed[5600:6400] + numbers[6400:])]
    for is_catalog in (False, True):
        for old, new, part, before, after in cases:
            with Server() as server:
                server.page = 4
                put_tree(server, old, "/bucket/f")
                with bucket_or_catalog(work, server, old, "/bucket/f",
                                       is_catalog) as mount:
                    path = mount.path("f", "data.bin")
                    equal(read(path) == before, True, "the first")
                    server.put_file(f"/bucket/f/{part}", f"{new}/{part}")
                    becomes(path, after, before)


def chunks_of_two_times_are_never_read_together(work):
    """Whoever has it open is told, whichever chunks he has seen."""
    (one, data), (two, other) = two_frames(work, 40000)
    for is_catalog in (False, True):
        for page, modified in ((1000, 1_600_000_000), (4, None)):
            if is_catalog and modified:
                continue  # what dates do not tell no server tells
            with Server() as server:
                server.page = page
                put_tree(server, one, "/bucket/f")
                with bucket_or_catalog(work, server, one, "/bucket/f",
                                       is_catalog) as mount:
                    path = mount.path("f", "data.bin")
                    file = os.open(path, os.O_RDONLY)
                    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
                    equal(os.pread(file, 100, 20000), data[20000:20100])
                    put_tree(server, two, "/bucket/f",
                             modified=modified or int(time.time()))
                    for chunk in (18, 3):
                        fails_with(errno.ESTALE, os.pread, file, 100,
                                   chunk * 40000 + 20000)
                    os.close(file)
                    becomes(path, other, data)


def where_it_is_not_told_that_chunks_are_of_one_time_none_is_read(work):
    """The index is the same, and the server has no answer about the rest."""
    (one, data), (two, other) = two_frames(work, 40000)
    for is_catalog in (False, True):
        with Server() as server:
            put_tree(server, one, "/bucket/f")
            with bucket_or_catalog(work, server, one, "/bucket/f",
                                   is_catalog, 0.3) as mount:
                path = mount.path("f", "data.bin")
                file = os.open(path, os.O_RDONLY)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
                equal(os.pread(file, 100, 20000), data[20000:20100])
                put_tree(server, two, "/bucket/f", modified=int(time.time()))
                server.put_file("/bucket/f/chunks.b2frame",
                                one + "/chunks.b2frame")
                server.choose = lambda path: 500 if \
                    "list-type" in path or "00000000" in path else None
                at = 18 * 40000 + 20000
                fails_with(errno.EIO, os.pread, file, 100, at)
                server.choose = None
                fails_with(errno.ESTALE, os.pread, file, 100, at)
                os.close(file)
                becomes(path, other, data)


def a_chunk_that_is_new_and_alone_harms_no_reader(work):
    """It was never read as what it was."""
    (one, data), (two, other) = two_frames(work, 40000)
    for is_catalog in (False, True):
        with Server() as server:
            server.page = 4
            put_tree(server, one, "/bucket/f")
            with bucket_or_catalog(work, server, one, "/bucket/f",
                                   is_catalog) as mount:
                file = os.open(mount.path("f", "data.bin"), os.O_RDONLY)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
                equal(os.pread(file, 100, 20000), data[20000:20100])
                server.put_file("/bucket/f/00000011.chunk",
                                two + "/00000011.chunk",
                                modified=int(time.time()))
                at = 17 * 40000 + 20000
                equal(os.pread(file, 100, at), other[at:at + 100])
                os.close(file)


def asking_about_parts_takes_few_requests(work):
    (one, data), _ = two_frames(work)
    for is_catalog, page, most in ((False, 1000, 0), (False, 7, 4),
                                   (True, 1000, 22)):
        with Server() as server:
            server.page = page
            put_tree(server, one, "/bucket/f")
            with bucket_or_catalog(work, server, one, "/bucket/f",
                                   is_catalog) as mount:
                path = mount.path("f", "data.bin")
                equal(read(path) == data, True)
                server.log.clear()
                equal(os.stat(path).st_size, len(data))
                own = [row[0] for row in server.log
                       if "list-type" not in row[0] or "start-" in row[0]]
                # Twice at most: for the folder, and the file in it.
                harness.below(len(own), 2 * most + 1, server.log)


class Odd(Handler):
    """A store whose listings tell other ETags than objects have, and begin
    with the first name whatever they are told."""
    def listing(self, fault):
        self.path = re.sub("&start-after=[^&]*", "", self.path)
        return super().listing(fault)

    @staticmethod
    def page(fault, names, rows, more):
        rows = {name: row and (row[0], '"other' + row[1][1:], row[2])
                for name, row in rows.items()}
        return Handler.page(fault, names, rows, more)


def an_odd_listing_costs_a_request_a_part(work):
    n_chunks = 60
    top = os.path.join(work, "frame")
    data = samples.noise(n_chunks * 10000)
    samples.write_sparse_frame(top, data, 10000)

    def alone():
        return [row for row in server.log if row[1] == "bytes=0-0"]

    with Server() as server, s3(server):
        server.RequestHandlerClass = Odd
        server.page = 20
        put_tree(server, top, "/bucket/f")
        with Mount(work, "s3://bucket", "--attr_timeout=1") as mount:
            path = mount.path("f", "data.bin")
            file = os.open(path, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
            for i in range(n_chunks):
                at = i * 7 % n_chunks * 10000 + 5000
                equal(os.pread(file, 10, at), data[at:at + 10])
            os.close(file)
            harness.below(len(alone()), 3 * n_chunks, len(server.log))

            def has_looked():
                server.log.clear()
                equal(os.stat(path).st_size, len(data))
                return len(alone()) >= n_chunks // 2

            harness.wait_until(has_looked, 10)
            # Once for each of the two that are looked up.
            harness.below(len(server.log), 2 * (n_chunks + 8),
                          len(server.log))


def a_look_up_waits_for_a_few_parts_alone(work):
    """Where the server is silent about them."""
    top = os.path.join(work, "frame")
    data = samples.noise(80 * 1000)
    samples.write_sparse_frame(top, data, 1000)
    with Server() as server:
        put_tree(server, top, "/bucket/f")
        with bucket_or_catalog(work, server, top, "/bucket/f", True,
                               0.5) as mount:
            path = mount.path("f", "data.bin")
            equal(read(path) == data, True)
            asked = []

            def silent(path):
                if path.endswith(".chunk"):
                    asked.append(path)
                    return "hang"
                return None

            def has_looked():
                equal(os.stat(path).st_size, len(data))
                return asked

            server.choose = silent
            harness.wait_until(has_looked, 10)
            # 16 at once, for the folder and for the file in it.
            harness.below(len(asked), 33, asked)


def an_object_is_opened_by_one_of_those_who_want_it(work):
    """And with a disk cache and a listing that tells what is there by none."""
    top = os.path.join(work, "frame")
    data = samples.noise(1000000)
    samples.write_sparse_frame(top, data, 50000)
    with Server() as server, s3(server):
        put_tree(server, top, "/bucket/f")
        for latency, asked in ((0.02, 20), (0, 0)):
            server.latency = latency
            server.log.clear()
            with Mount(work, "s3://bucket", f"--disk_cache={work}/disk",
                       "--attr_timeout=60") as mount:
                equal(read(mount.path("f", "data.bin")) == data, True)
                harness.wait_until(lambda: server.at_once == 0)
                heads = [row for row in server.log if
                         row[0].endswith(".chunk") and
                         row[1].startswith("bytes=0-")]
                equal(len(heads), asked, [row[:3] for row in server.log])
        # Nothing but listings: what SOURCE holds, and what the frame does.
        equal(len(server.log), 2, server.log)
        # A listing of before is not believed.
        other = samples.noise(50000, 7)
        samples.write_sparse_frame(top + "2", other, 50000)
        server.put_file("/bucket/f/00000004.chunk",
                        top + "2/00000000.chunk")
        with Mount(work, "s3://bucket", f"--disk_cache={work}/disk"
                   ) as mount:
            equal(read(mount.path("f", "data.bin")) ==
                  data[:200000] + other + data[250000:], True, "the new one")


def nobody_opens_what_somebody_just_has(work):
    """Chunks are many and small, and who reads ahead of a reader comes to one
    in the moment in which that has opened it."""
    top = os.path.join(work, "frame")
    data = samples.noise(1000000)
    samples.write_sparse_frame(top, data, 5000)
    with Server() as server, s3(server):
        put_tree(server, top, "/bucket/f")
        for number in range(20):
            server.latency = 0.0005 * (number % 6)
            server.log.clear()
            with Mount(work, "s3://bucket", "--attr_timeout=60") as mount:
                equal(read(mount.path("f", "data.bin")) == data, True)
                harness.wait_until(lambda: server.at_once == 0)
            heads = [row[0] for row in server.log if
                     row[0].endswith(".chunk") and
                     row[1].startswith("bytes=0-")]
            equal([path for path in sorted(set(heads))
                   if heads.count(path) > 1], [], "opened twice")
            equal(len(heads), 200, "opened")


def a_listing_of_before_does_not_tell_what_is_there_now(work):
    """It is believed for a minute, and the disk cache has what it tells."""
    old, new = os.path.join(work, "old"), os.path.join(work, "new")
    # Noise, and the same items as another dtype.
    numbers = [int.from_bytes(samples.noise(7, i), "little")
               for i in range(200)]
    samples.write_column(old, numbers, 100)
    samples.write_column(new, numbers[::-1], 100)
    with open(f"{new}/meta/storage", encoding="ascii") as file:
        storage = file.read().replace("int64", "float64")
    harness.write(f"{new}/meta/storage", storage.encode())
    whole = []
    for top in (old, new):
        with Mount(work, top) as mount:
            whole.append(read(mount.path("data.npy")))
    equal(b"<i8" in whole[0] and b"<f8" in whole[1], True)
    with Server() as server, s3(server):
        put_tree(server, old, "/bucket/f")
        options = ("--attr_timeout=60", f"--disk_cache={work}/disk")
        with Mount(work, "s3://bucket", *options) as mount:
            equal(read(mount.path("f", "data.npy")) == whole[0], True)
        with Mount(work, "s3://bucket", *options) as mount:
            os.stat(mount.path("f"))
            put_tree(server, new, "/bucket/f", modified=int(time.time()))
            # By the server's clock, which has whole seconds.
            time.sleep(2.1)
            becomes(mount.path("f", "data.npy"), whole[1], whole[0])


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
        parts_that_no_first_page_tells_are_asked_about,
        chunks_of_two_times_are_never_read_together,
        where_it_is_not_told_that_chunks_are_of_one_time_none_is_read,
        a_chunk_that_is_new_and_alone_harms_no_reader,
        asking_about_parts_takes_few_requests,
        an_odd_listing_costs_a_request_a_part,
        a_look_up_waits_for_a_few_parts_alone,
        an_object_is_opened_by_one_of_those_who_want_it,
        nobody_opens_what_somebody_just_has,
        a_listing_of_before_does_not_tell_what_is_there_now,
    ])
