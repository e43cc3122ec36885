#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Containers inside containers, and columns of bcolz."""
import json
import os
import shutil
import struct

import harness
from harness import DATA, Mount, equal, read


def copies(work, name, n):
    """A folder with n copies of a sample under different names."""
    source = os.path.join(work, "source")
    os.mkdir(source)
    for i in range(n):
        shutil.copy(os.path.join(DATA, name), f"{source}/{i}.b2z")
    return source


def every_entry_has_an_inode_of_its_own(work):
    source = copies(work, "good-store.b2z", 2)
    with Mount(work, source) as mount:
        def inodes():
            found = {}
            for folder, folders, files in os.walk(mount.point):
                for name in folders + files:
                    path = os.path.join(folder, name)
                    found[path] = os.lstat(path).st_ino
            return found

        first = inodes()
        assert any("embed.b2e/tree/small/" in path for path in first)
        equal(len(set(first.values())), len(first), "distinct inodes")
        # The same again in another mount, whatever is looked up first.
        with Mount(work, source) as second:
            path = "1.b2z/embed.b2e/tree/small/data.bin"
            os.stat(second.path(path))
            equal(os.stat(second.path("0.b2z/values.b2nd")).st_ino,
                  first[mount.path("0.b2z/values.b2nd")])
            equal(os.stat(second.path(path)).st_ino,
                  first[mount.path(path)])


def a_store_closed_meanwhile_is_opened_again(work):
    n = 300
    source = copies(work, "good-store.b2z", n)
    inner = "embed.b2e/tree/small/data.bin"
    with Mount(work, source, "--attr_timeout=600") as mount:
        wanted = read(mount.path("0.b2z", inner))
        other = read(mount.path("0.b2z/values.b2nd/data.bin"))
        assert wanted and wanted != other
        # More stores than stay open: the first is closed on the way.
        for i in range(1, n):
            os.stat(mount.path(f"{i}.b2z/values.b2nd/data.bin"))
        # In another order than at first.
        equal(read(mount.path("0.b2z/values.b2nd/data.bin")), other, "bytes")
        equal(read(mount.path("0.b2z", inner)), wanted, "bytes")


def chunk(data):
    """A Blosc chunk that holds its bytes as they are."""
    return struct.pack("<BBBBiii", 2, 1, 0x13, 8, len(data),
                       max(1, len(data)), len(data) + 16) + data


def write_column(path, values, chunklen, dtype="int64"):
    os.makedirs(path + "/data")
    os.mkdir(path + "/meta")
    data = struct.pack(f"<{len(values)}q", *values)
    for i in range(0, len(values), chunklen):
        harness.write(f"{path}/data/__{i // chunklen}.blp",
                      b"blpk\1\0\0\0" + struct.pack("<q", 1) +
                      chunk(data[8 * i:8 * (i + chunklen)]))
    with open(path + "/meta/sizes", "w", encoding="ascii") as file:
        json.dump({"shape": [len(values)], "nbytes": len(data),
                   "cbytes": 0}, file)
    with open(path + "/meta/storage", "w", encoding="ascii") as file:
        json.dump({"dtype": dtype, "cparams": {"clevel": 5, "shuffle": 1},
                   "chunklen": chunklen, "expectedlen": len(values),
                   "dflt": 0}, file)
    return data


def a_bcolz_column_is_one_array(work):
    source = os.path.join(work, "source")
    values = list(range(-500, 1734))
    data = write_column(source + "/col", values, 1000)
    write_column(source + "/gap", values, 1000)
    os.unlink(source + "/gap/data/__1.blp")
    write_column(source + "/table/data/odd", values, 1000, "no such dtype")
    with Mount(work, source) as mount:
        equal(read(mount.path("col/data.bin")) == data, True, "bytes")
        equal(sorted(os.listdir(mount.path("col/chunks"))),
              [f"{i:010d}" for i in range(3)])
        equal(read(mount.path("col/chunks/0000000002")) == data[16000:],
              True, "bytes of a chunk")
        head = read(mount.path("col/data.npy"))
        equal(head[-len(data):] == data, True, "bytes behind the header")
        assert b"'descr': '<i8'" in head[:128] and b"(2234,)" in head[:128]
        info = json.loads(read(mount.path("col/info.json")))
        equal((info["format"], info["status"], info["shape"]),
              ("bcolz", "good", [2234]))
        storage = json.loads(read(mount.path("col/meta.json")))["storage"]
        equal(storage["chunklen"], 1000)
        # A table's folder is a folder; a column that tells no sizes says so.
        odd = json.loads(read(mount.path("table/data/odd/info.json")))
        equal(odd["status"] == "good", False, "good")
        # A chunk that is missing is missed alone.
        harness.fails_with(5, read, mount.path("gap/chunks/0000000001"))
        equal(read(mount.path("gap/chunks/0000000002")) == data[16000:],
              True, "bytes of a chunk")


if __name__ == "__main__":
    harness.main([
        every_entry_has_an_inode_of_its_own,
        a_store_closed_meanwhile_is_opened_again,
        a_bcolz_column_is_one_array,
    ])
