#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trees on a server hold what the same files hold on a disk: names, options
that choose, and what asking for it costs."""
import os
import shutil

import harness
import samples
from harness import DATA, Mount, equal, read, wait_until
from objects import Server
from remote_test import SMALL, differing, s3, tree

FRAMES = ("good-frame-metalayers.b2frame", "good-frame-empty.b2frame",
          "good-blp3-array.blp")


def put_tree(server, top, prefix="/bucket/"):
    """A folder of the disk as the objects of a bucket."""
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            server.put_file(prefix + os.path.relpath(path, top), path)


def source(work, files, copies=FRAMES):
    """files: names and bytes; copies: of tests/data."""
    top = os.path.join(work, "source")
    os.makedirs(top)
    for name, content in files.items():
        path = os.path.join(top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        harness.write(path, content)
    for name in copies:
        shutil.copy(f"{DATA}/{name}", top)
    return top


def same_as_on_disk(work, top, *options):
    with Server() as server, s3(server):
        put_tree(server, top)
        with Mount(work, "s3://bucket", *options) as mount, \
                Mount(work, top, *options) as local:
            equal(differing(tree(mount.point), tree(local.point)), [])


def with_keep_directories_lie_beside(work):
    top = source(work, {SMALL + ".d": b"has the first name",
                        "deep/README": b"text", "x.d": b"no container's"})
    shutil.copy(f"{DATA}/{SMALL}", top + "/deep")
    same_as_on_disk(work, top, "--keep")
    with Server() as server, s3(server):
        put_tree(server, top)
        with Mount(work, "s3://bucket", "--keep") as mount:
            equal(sorted(os.listdir(mount.path("deep"))),
                  sorted([SMALL, SMALL + ".d", "README"]))
            equal(read(mount.path(SMALL)), read(f"{DATA}/{SMALL}"))
            assert os.path.isdir(mount.path(SMALL + ".d%~2"))


def a_listing_with_keep_asks_for_its_pages_alone(work):
    content = read(f"{DATA}/{SMALL}")
    with Server() as server, s3(server):
        for number in range(1000):
            server.put(f"/bucket/f{number:04}.b2frame", content)
        server.page = 100
        with Mount(work, "s3://bucket", "--keep", "--attr_timeout=60"
                   ) as mount:
            server.log.clear()
            names = os.listdir(mount.point)
            equal(len(names), 2000, "names")
            equal(len(set(names)), 2000, "names that differ")
            # A page, and at its end one that may lie behind it; whether the
            # folder is a store.
            assert len(server.log) <= 25, len(server.log)


def a_long_listing_goes_on_while_names_are_looked_up(work):
    """Whoever looks up a container wants to know what the folder is."""
    content = read(f"{DATA}/{SMALL}")
    with Server() as server, s3(server):
        for number in range(1000):
            server.put(f"/bucket/f{number:04}.b2frame", content)
        server.page = 50
        server.latency = 0.15
        with Mount(work, "s3://bucket", "--attr_timeout=0") as mount:
            server.log.clear()
            with os.scandir(mount.point) as entries:
                count = 0
                for entry in entries:
                    count += 1
                    if count % 250 == 0:
                        assert os.path.isdir(entry.path), entry
            equal(count, 1000, "names")
            pages = [row[0] for row in server.log
                     if row[0].endswith("prefix=")]
            equal(len(set(pages)), 20, "pages")
            # The first one is that of whoever asks what the folder is, too.
            assert len(pages) <= 22, len(pages)


def a_look_up_in_a_long_folder_asks_for_its_name_alone(work):
    content = read(f"{DATA}/{SMALL}")
    with Server() as server, s3(server):
        server.page = 50
        for number in range(200):
            server.put(f"/bucket/long/f{number:04}.b2frame", content)
        server.put("/bucket/long/f0160.b2frame.d", b"has the first name")
        server.put("/bucket/long/other", b"text")
        # By each name: requests for listings, and those that look into it.
        # Beside a container lie the names that its directory may have with
        # keep, of which each is asked about: no page holds them together.
        plain = [("f0150.b2frame", 1, 2), ("other", 1, 0), ("none", 1, 0),
                 ("none.b2frame", 1, 0)]
        kept = [("f0151.b2frame.d", 2, 2), ("f0160.b2frame.d%~2", 3, 2)]
        for options, wanted in (((), plain), (("--keep",), kept)):
            with Mount(work, "s3://bucket", "--attr_timeout=60",
                       *options) as mount:
                os.stat(mount.path("long"))
                # Whether the folder is a store is asked for once.
                os.path.exists(mount.path("long", "first"))
                for name, listings, looks in wanted:
                    harness.wait_until(lambda: server.at_once == 0)
                    server.log.clear()
                    equal(os.path.exists(mount.path("long", name)),
                          not name.startswith("none"), name)
                    harness.wait_until(lambda: server.at_once == 0)
                    rows = [row[0] for row in server.log]
                    n = len([row for row in rows if "list-type" in row and
                             "zarr" not in row and "prefix=long%2Fmeta" not
                             in row])
                    equal((n, len([row for row in rows if "list-type" not in
                                   row])), (listings, looks), rows)


def empty_components_are_folders(work):
    with Server() as server, s3(server):
        for key in ("/bucket/a//b", "/bucket//at-the-top", "/bucket/a///c",
                    "/bucket/a/../d", "/bucket/./e", "/bucket/marker/"):
            server.put(key, key.encode())
        with Mount(work, "s3://bucket") as mount:
            equal(sorted(os.listdir(mount.point)),
                  ["%", "%2E", "a", "marker"])
            equal(sorted(os.listdir(mount.path("a"))), ["%", "%2E%2E"])
            equal(sorted(os.listdir(mount.path("a", "%"))), ["%", "b"])
            equal(os.listdir(mount.path("marker")), [])
            for path, key in (("a/%/b", "a//b"), ("%/at-the-top",
                                                  "/at-the-top"),
                              ("a/%/%/c", "a///c"),
                              ("a/%2E%2E/d", "a/../d"), ("%2E/e", "./e")):
                equal(read(mount.path(path)), f"/bucket/{key}".encode())


def choices_hold_as_on_disk(work):
    """Formats, globs, and stores of others."""
    frame = read(f"{DATA}/{SMALL}")
    top = source(work, {
        "garbage.b2nd": b"no frame at all" * 9, "empty.b2frame": b"",
        "chunk.b2nd": read(f"{DATA}/good-b1-lz4-shuffle.blosc"),
        "store.zarr/.zgroup": b"{}", "store.zarr/a/x.b2frame": frame,
        "three/zarr.json": b"{}", "three/x.b2frame": frame,
        "five/attributes.json": b'{"n5": "2.0.0"}',
        "five/deep/x.b2frame": frame,
        "none/attributes.json": b'{"mine": 1}', "none/x.b2frame": frame,
        "out/x.b2frame": frame, "out/in/x.b2frame": frame,
        "array.h5": b"\x89HDF\r\n\x1a\n" + bytes(99)})
    shutil.copytree(f"{DATA}/good-store.b2d", top + "/store.b2d")
    shutil.copytree(f"{DATA}/good-sparse-array.b2nd", top + "/s.b2nd")
    shutil.copytree(f"{DATA}/good-sparse-array.b2nd", top + "/three/s.b2nd")
    samples.write_column(top + "/column", list(range(100)), 10)
    with Server() as server, s3(server):
        put_tree(server, top)
        for options in ((), ("--keep",), ("--formats=b2nd",),
                        ("--formats=-b2frame",), ("--formats=bloscpack",),
                        ("--formats=-sparse-b2frame:-bcolz",),
                        ("--exclude=out", "--include=out/in/*"),
                        ("--exclude=*.b2nd", "--keep")):
            with Mount(work, "s3://bucket", *options) as mount, \
                    Mount(work, top, *options) as local:
                # A list goes by names; who looks one up has it looked into.
                for name in ("garbage.b2nd", "empty.b2frame", "chunk.b2nd"):
                    for end in ("", ".d"):
                        equal(os.path.isfile(mount.path(name + end)),
                              os.path.isfile(local.path(name + end)), name)
                wrong = differing(tree(mount.point), tree(local.point))
                equal(wrong, [], str(options))


def empty_objects_are_empty_files(work):
    """However a server refuses a range of nothing."""
    with Server() as server, s3(server):
        for name in ("a.b2frame", "b.txt"):
            server.put("/bucket/" + name, b"")
        for server.empty in (None, "bare 416", "200"):
            with Mount(work, "s3://bucket") as mount:
                for name in ("a.b2frame", "b.txt"):
                    assert os.path.isfile(mount.path(name)), server.empty
                    equal(read(mount.path(name)), b"")


def empty_objects_are_not_empty_for_ever(work):
    with Server() as server, s3(server):
        for server.empty in (None, "bare 416", "200"):
            server.put("/bucket/b.txt", b"")
            with Mount(work, "s3://bucket", "--attr_timeout=0") as mount:
                path = mount.path("b.txt")
                equal(read(path), b"")
                server.put("/bucket/b.txt", b"filled by now")
                wait_until(lambda: read(path) == b"filled by now", 10)


if __name__ == "__main__":
    harness.main([
        with_keep_directories_lie_beside,
        a_listing_with_keep_asks_for_its_pages_alone,
        a_long_listing_goes_on_while_names_are_looked_up,
        a_look_up_in_a_long_folder_asks_for_its_name_alone,
        empty_components_are_folders,
        choices_hold_as_on_disk,
        empty_objects_are_empty_files,
        empty_objects_are_not_empty_for_ever,
    ])
