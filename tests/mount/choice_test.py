#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What becomes a directory, and what is left as it is: stores of other
systems, formats=, include=, exclude=."""
import os

import harness
import samples
from harness import Mount, equal, read

CHUNK = samples.small_chunk(b"c" * 99)
FRAME = samples.frame(samples.noise(5000), 1000)
N5_ARRAY = b'{"dataType": "uint8", "x": {"n": [1]}, "blockSize": [9], ' \
    b'"dimensions": [99], "compression": {"type": "blosc"}}'


def place(top, path, data):
    path = os.path.join(top, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    harness.write(path, data)


def is_container(mount, path):
    """The same from look-up, readdir and readdirplus, and in bytes."""
    full = mount.path(path)
    found = os.path.isdir(full)
    with os.scandir(os.path.dirname(full)) as entries:
        equal({e.name: e.is_dir() for e in entries}[os.path.basename(full)],
              found, "readdir of " + path)
    return found and os.path.exists(full + "/info.json")


def left(mount, source, path):
    """Whether it is there as it is in the source, byte by byte."""
    if is_container(mount, path):
        return False
    equal(read(mount.path(path)), read(os.path.join(source, path)), path)
    return True


STORES = {
    "v2.zarr": {".zarray": b"{}", "0.0": CHUNK, "0/1": CHUNK},
    "group.zarr": {".zgroup": b"{}", "t/.zarray": b"{}", "t/0": CHUNK,
                   "t/a.blosc": CHUNK, "sub/x.b2nd": FRAME},
    "v3.zarr": {"zarr.json": b"{}", "c/0/0": CHUNK, "c/1/f.b2frame": FRAME},
    "a.n5": {"attributes.json": b'{"n5": "2.5.0"}', "d/0/0": CHUNK,
             "d/e.blosc": CHUNK},
    "set.n5": {"attributes.json": N5_ARRAY, "0/0": FRAME},
}


def make_stores(top):
    for store, files in STORES.items():
        for path, data in files.items():
            place(top, f"{store}/{path}", data)
    # A file of that name that is nobody's store.
    place(top, "web/attributes.json", b'{"dimensions": 3, "a": {"n5": 1}}')
    place(top, "web/x.b2nd", FRAME)
    place(top, "text/attributes.json", b'["n5", "dimensions"]')
    place(top, "text/x.b2nd", FRAME)
    place(top, "dir/zarr.json/x.b2nd", FRAME)
    place(top, "x.b2nd", FRAME)
    place(top, "data.h5", b"\x89HDF\r\n\x1a\n" + CHUNK * 9)


def stores_of_others_are_left_as_they_are(work):
    source = os.path.join(work, "source")
    make_stores(source)
    with Mount(work, source) as mount:
        for store, files in STORES.items():
            for path in files:
                assert left(mount, source, f"{store}/{path}"), (store, path)
        for path in ("web/x.b2nd", "text/x.b2nd", "x.b2nd",
                     "dir/zarr.json/x.b2nd"):
            assert is_container(mount, path), path
        assert left(mount, source, "data.h5")
    checked = harness.run("--check", source)
    equal(sorted(line.split("\t")[0][len(source) + 1:]
                 for line in checked.stdout.splitlines()[1:]),
          ["dir/zarr.json/x.b2nd", "text/x.b2nd", "web/x.b2nd", "x.b2nd"])
    equal(checked.returncode, 0, checked.stdout)


def the_first_look_into_a_deep_folder_is_as_the_last(work):
    """Whatever is asked for first, without a look at what lies above."""
    source = os.path.join(work, "source")
    deep = "a/z.zarr/" + "/".join(str(i) for i in range(40))
    place(source, "a/z.zarr/.zgroup", b"{}")
    place(source, deep + "/x.b2nd", FRAME)
    for _ in range(2):
        with Mount(work, source) as mount:
            assert left(mount, source, deep + "/x.b2nd")


def a_store_that_appears_counts_from_the_next_look_up(work):
    source = os.path.join(work, "source")
    place(source, "s/t/x.b2nd", FRAME)
    place(source, "s/y.b2nd", FRAME)
    with Mount(work, source, "--attr_timeout=0") as mount:
        assert is_container(mount, "s/t/x.b2nd")
        assert is_container(mount, "s/y.b2nd")
        place(source, "s/.zgroup", b"{}")
        assert left(mount, source, "s/y.b2nd")
        assert left(mount, source, "s/t/x.b2nd")
        place(source, "s/t/new.b2nd", FRAME)
        assert left(mount, source, "s/t/new.b2nd")
        os.unlink(source + "/s/.zgroup")
        assert is_container(mount, "s/y.b2nd")
        assert is_container(mount, "s/t/x.b2nd")
        assert is_container(mount, "s/t/new.b2nd")


def a_source_within_a_store_is_left_unless_formats_are_named(work):
    source = os.path.join(work, "source")
    make_stores(source)
    for inner, path in (("v2.zarr", "0.0"), ("v3.zarr/c", "0/0"),
                        ("group.zarr/t", "0"), ("set.n5", "0/0"),
                        ("a.n5/d", "e.blosc")):
        top = os.path.join(source, inner)
        with Mount(work, top) as mount:
            assert left(mount, top, path), inner
            assert mount.log_lines("formats=")
        with Mount(work, top, "--formats=-b2z") as mount:
            assert left(mount, top, path), inner
        with Mount(work, top, "--formats=b2frame:chunk") as mount:
            assert is_container(mount, path), inner
    # One that is named is no part of a store for us.
    with Mount(work, source + "/v2.zarr/0.0") as mount:
        assert os.path.exists(mount.path("info.json"))


def chunks_are_taken_by_their_names(work):
    source = os.path.join(work, "source")
    taken = ["a.blosc", "b.blosc2", "c.cdata", "d.chunk", "e.bl", "f.bl2"]
    for name in taken + ["plain", "g.dat", "h.b2nd", "0.0"]:
        place(source, name, CHUNK)
    place(source, "frame.dat", FRAME)

    def containers(*options):
        with Mount(work, source, *options) as mount:
            return sorted(name for name in os.listdir(mount.point)
                          if is_container(mount, name))
    every = sorted(os.listdir(source))
    equal(containers(), taken + ["frame.dat"])
    equal(containers("--formats=all"), every)
    equal(containers("--formats=chunk"),
          [name for name in every if name != "frame.dat"])
    equal(containers("--formats=-chunk"), ["frame.dat"])
    equal(containers("--formats=all:-chunk:-b2frame"), [])
    equal(containers("-o", "formats=b2frame:bloscpack,noxattr"),
          ["frame.dat"])
    with Mount(work, source + "/plain") as mount:
        equal(read(mount.path("data.bin")), b"c" * 99)
    with Mount(work, source, "--formats=sparse-b2frame",
               "--exclude=*.x") as mount:
        config = read(mount.path(".bloscfs/config")).decode().splitlines()
        assert "formats=sparse-b2frame" in config, config
        assert "exclude=*.x" in config, config
    # The names in info.json are taken, too.
    samples.write_sparse_frame(source + "/s.b2frame", samples.noise(999), 500)
    with_sparse = ["frame.dat", "s.b2frame"]
    equal(containers("--formats=b2nd"), with_sparse)
    equal(containers("--formats=b2e"), ["frame.dat"])
    equal(containers("--formats=all:-chunk:-b2nd"), [])
    equal(containers("--formats=-b2e:-chunk"), ["s.b2frame"])
    for wrong in ("--formats=", "--formats=nonsense", "--formats=b2n", "--formats=b2frame:",
                  "--exclude="):
        equal(harness.run(wrong, source, work).returncode, 2, wrong)


def globs_choose_and_the_last_that_fits_counts(work):
    source = os.path.join(work, "source")
    for path in ("raw/a.b2nd", "raw/keep/b.b2nd", "raw/keep/c.b2nd",
                 "raw.b2nd", "x/raw/d.b2nd"):
        place(source, path, FRAME)
    samples.write_sparse_frame(source + "/sparse.b2frame",
                               samples.noise(5000), 1000)
    samples.write_sparse_frame(source + "/other.b2frame",
                               samples.noise(5000), 1000)
    options = ("--exclude=raw", "--include=raw/keep", "--exclude=*/c.b2nd",
               "--exclude=sparse*")
    with Mount(work, source, *options) as mount:
        told = {path: is_container(mount, path) for path in
                ("raw/a.b2nd", "raw/keep/b.b2nd", "raw/keep/c.b2nd",
                 "raw.b2nd", "x/raw/d.b2nd", "sparse.b2frame",
                 "other.b2frame")}
        equal(sorted(path for path, is_one in told.items() if not is_one),
              ["raw/a.b2nd", "raw/keep/c.b2nd", "sparse.b2frame"])
        # An excluded folder is the folder it is, down to its chunks.
        for name in os.listdir(source + "/sparse.b2frame"):
            assert left(mount, source, "sparse.b2frame/" + name)
    checked = harness.run("--check", *options, source)
    equal([line.split("\t")[0][len(source) + 1:]
           for line in checked.stdout.splitlines()[1:]],
          ["other.b2frame", "raw/keep/b.b2nd", "raw.b2nd", "x/raw/d.b2nd"])
    with Mount(work, source, "--formats=-sparse-b2frame") as mount:
        for name in os.listdir(source + "/other.b2frame"):
            assert left(mount, source, "other.b2frame/" + name)


def check_names_what_only_bears_a_containers_name(work):
    source = os.path.join(work, "source")
    for name in ("a.b2nd", "b.b2frame", "c.blp", "d.blosc", "e.b2z"):
        place(source, name, b"no container at all")
    place(source, "empty.b2nd", b"")
    place(source, "good.b2nd", FRAME)
    place(source, "z.zarr/.zgroup", b"")
    place(source, "z.zarr/x.blosc", b"somebody's")
    place(source, "notes.txt", b"text")
    checked = harness.run("--check", source)
    equal([tuple(line.split("\t")[:2])
           for line in checked.stdout.splitlines()[1:]],
          [(f"{source}/{name}", verdict) for name, verdict in
           (("a.b2nd", "unrecognised"), ("b.b2frame", "unrecognised"),
            ("c.blp", "unrecognised"), ("d.blosc", "unrecognised"),
            ("e.b2z", "unrecognised"), ("empty.b2nd", "unrecognised"),
            ("good.b2nd", "good"))])
    equal(checked.returncode, 1)
    assert "6 unrecognised" in checked.stderr, checked.stderr
    equal(harness.run("--check", source + "/a.b2nd").returncode, 1)
    equal(harness.run("--check", "--formats=b2frame:-b2frame",
                      source).returncode, 3)


if __name__ == "__main__":
    harness.main([
        stores_of_others_are_left_as_they_are,
        the_first_look_into_a_deep_folder_is_as_the_last,
        a_store_that_appears_counts_from_the_next_look_up,
        a_source_within_a_store_is_left_unless_formats_are_named,
        chunks_are_taken_by_their_names,
        globs_choose_and_the_last_that_fits_counts,
        check_names_what_only_bears_a_containers_name,
    ])
