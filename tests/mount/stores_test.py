#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Containers inside containers, and columns of bcolz."""
import errno
import json
import os
import shutil
import struct

import harness
from harness import DATA, Mount, equal, read
from samples import frame, write_column


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
            for folder, folders, files in harness.walk(mount.point):
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


def what_is_listed_of_attributes_is_there(work):
    with Mount(work, copies(work, "good-store.b2z", 1)) as mount:
        n_listed = 0
        for folder, folders, files in harness.walk(mount.point):
            for path in (os.path.join(folder, name)
                         for name in folders + files):
                for name in os.listxattr(path):
                    assert os.getxattr(path, name), (path, name)
                    n_listed += 1
        assert n_listed > 20, n_listed


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
        # A table's folder is a folder. A dtype that nobody knows costs the
        # array, not the bytes.
        odd = json.loads(read(mount.path("table/data/odd/info.json")))
        equal((odd["status"], odd["nbytes"]), ("good", len(data)))
        equal(read(mount.path("table/data/odd/data.bin")) == data, True,
              "bytes of an unknown dtype")
        assert not os.path.exists(mount.path("table/data/odd/data.npy"))
        # A chunk that is missing is missed alone.
        harness.fails_with(5, read, mount.path("gap/chunks/0000000001"))
        equal(read(mount.path("gap/chunks/0000000002")) == data[16000:],
              True, "bytes of a chunk")


def dates_and_spans_are_arrays(work):
    source = os.path.join(work, "source")
    values = list(range(-40, 60))
    spelt = {"datetime64[ns]": b"<M8[ns]", "datetime64[D]": b"<M8[D]",
             "timedelta64[s]": b"<m8[s]", "<M8[us]": b"<M8[us]",
             ">M8[ns]": b">M8[ns]"}
    for i, dtype in enumerate(spelt):
        data = write_column(f"{source}/{i}", values, 16, dtype)
    with Mount(work, source) as mount:
        for i, (dtype, descr) in enumerate(spelt.items()):
            npy = read(mount.path(f"{i}/data.npy"))
            assert b"'descr': '" + descr + b"'" in npy[:128], npy[:128]
            equal(npy[128:] == data, True, "items of " + dtype)
            info = json.loads(read(mount.path(f"{i}/info.json")))
            equal((info["status"], info["dtype"]), ("good", dtype))


def attributes_of_a_column_are_metadata(work):
    source = os.path.join(work, "source")
    long = json.dumps({"note": "x" * (300 << 10)}).encode()
    write_column(source + "/a", range(9), 4, attrs=b'{"unit": "m"}\n')
    write_column(source + "/long", range(9), 4, attrs=long)
    write_column(source + "/none", range(9), 4)
    write_column(source + "/out", range(9), 4)
    os.symlink("/etc/passwd", source + "/out/__attrs__")
    with Mount(work, source) as mount:
        equal(read(mount.path("a/meta/__attrs__")), b'{"unit": "m"}\n')
        told = json.loads(read(mount.path("a/meta.json")))
        equal(told["__attrs__"], {"unit": "m"})
        equal(read(mount.path("long/meta/__attrs__")) == long, True, "all")
        for name in ("none", "out"):
            equal(sorted(os.listdir(mount.path(name, "meta"))),
                  ["sizes", "storage"])


def a_column_without_sizes_is_damaged_everywhere(work):
    source = os.path.join(work, "source")
    write_column(source + "/col", range(9), 4, attrs=b"{}")
    os.unlink(source + "/col/meta/sizes")
    checked = harness.run("--check", source)
    equal(checked.returncode, 1, "exit code of --check")
    assert "damaged" in checked.stdout, checked.stdout
    with Mount(work, source) as mount:
        info = json.loads(read(mount.path("col/info.json")))
        equal((info["format"], info["status"]), ("bcolz", "damaged"))
        assert "sizes" in info["error"], info["error"]
        equal(sorted(os.listdir(mount.path("col/meta"))),
              ["__attrs__", "storage"])
        harness.fails_with(5, read, mount.path("col/data.bin"))


def sizes_of_a_column_are_those_of_its_files(work):
    source = os.path.join(work, "source")
    write_column(source + "/col", range(1000), 300)
    write_column(source + "/empty", [], 300)
    stored = sum(os.stat(os.path.join(folder, name)).st_size
                 for folder, _, names in harness.walk(source + "/col")
                 for name in names)
    with Mount(work, source) as mount:
        info = json.loads(read(mount.path("col/info.json")))
        equal([info[key] for key in ("nbytes", "cbytes", "chunksize",
                                     "nchunks")], [8000, stored, 2400, 4])
        equal(info["ratio"], 8000 / stored)
        equal(os.stat(mount.path("col/chunks/0000000003")).st_size, 800)
        info = json.loads(read(mount.path("empty/info.json")))
        equal((info["status"], info["nchunks"], info["nbytes"]),
              ("good", 0, 0))


def sizes_that_contradict_each_other_are_damage(work):
    source = os.path.join(work, "source")
    data = write_column(source + "/col", range(1000), 300)
    with open(source + "/col/meta/sizes", "w", encoding="ascii") as file:
        json.dump({"shape": [999], "nbytes": 8000, "cbytes": 0}, file)
    with Mount(work, source) as mount:
        info = json.loads(read(mount.path("col/info.json")))
        equal(info["status"], "damaged")
        harness.fails_with(5, read, mount.path("col/data.bin"))
        equal(read(mount.path("col/chunks/0000000001")) == data[2400:4800],
              True, "bytes of a chunk")


def pickles_of_a_column_of_objects_are_its_chunks(work):
    source = os.path.join(work, "source")
    data = write_column(source + "/col", range(6), 2, "object")
    with Mount(work, source) as mount:
        info = json.loads(read(mount.path("col/info.json")))
        equal((info["status"], info["nchunks"]), ("unsupported", 3))
        for i in range(3):
            equal(read(mount.path(f"col/chunks/{i:010d}")),
                  data[16 * i:16 * i + 16])


def a_member_that_claims_more_than_a_file_can_have_is_listed(work):
    """In 64 bits, of which a kernel takes 63."""
    name, whole, most = b"a.b2nd", frame(b"long" * 50, 100), 0xffffffff
    claim = (1 << 63) + len(whole)
    made = struct.pack("<4s5H3I2H", b"PK\3\4", 45, 0, 0, 0, 33, 0, most, most,
                       len(name), 20) + name
    made += struct.pack("<2H2Q", 1, 16, claim, claim) + whole
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 45, 45, 0, 0, 0, 33, 0, most,
                        most, len(name), 20, 0, 0, 0, 0, 0) + name
    entry += struct.pack("<2H2Q", 1, 16, claim, claim)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(entry), len(made),
                      0)
    source = os.path.join(work, "source")
    os.mkdir(source)
    harness.write(source + "/long.b2z", made + entry + end)
    with Mount(work, source) as mount:
        equal(sorted(os.listdir(mount.path("long.b2z"))),
              ["a.b2nd", "info.json"])
        equal(os.stat(mount.path("long.b2z/a.b2nd")).st_size, (1 << 63) - 1)
        harness.fails_with(errno.EIO, read, mount.path("long.b2z/a.b2nd"))


if __name__ == "__main__":
    harness.main([
        every_entry_has_an_inode_of_its_own,
        what_is_listed_of_attributes_is_there,
        a_store_closed_meanwhile_is_opened_again,
        a_bcolz_column_is_one_array,
        dates_and_spans_are_arrays,
        attributes_of_a_column_are_metadata,
        a_column_without_sizes_is_damaged_everywhere,
        sizes_of_a_column_are_those_of_its_files,
        sizes_that_contradict_each_other_are_damage,
        pickles_of_a_column_of_objects_are_its_chunks,
        a_member_that_claims_more_than_a_file_can_have_is_listed,
    ])
