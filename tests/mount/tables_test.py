#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables that are folders, or lie below keys of a store: table.arrow among
their own entries. And which values of a table are none."""
import base64
import errno
import json
import os
import shutil
import struct
import zipfile

import numpy as np

import arrays
import arrowfile
import harness
import samples
import tables
from harness import DATA, Mount, equal, fails_with, read
from objects import Server, s3

VIEWS = "--views=info,data,arrow"


def info(folder):
    return json.loads(read(folder + "/info.json"))["arrow"]


def unpack(store, folder):
    with zipfile.ZipFile(store) as held:
        held.extractall(folder)


def make_folder(folder, *args, **more):
    """The same as tables.make_store makes, as a directory store."""
    tables.make_store(folder + ".zip", *args, **more)
    unpack(folder + ".zip", folder)
    os.remove(folder + ".zip")


def make_rootdir(folder, columns, names=None):
    """A table of bcolz: whole numbers by their names."""
    os.makedirs(folder)
    for name, values in columns.items():
        samples.write_column(f"{folder}/{name}", values, 100)
    harness.write(folder + "/__rootdirs__", json.dumps(
        {"names": list(columns) if names is None else names}).encode())


def values_of(path):
    file = arrowfile.File(read(path))
    return {name: file.values(name).tolist() for name in file.names()}


def embedded(members):
    """An embed store of members: bytes by keys."""
    data, entries = b"".join(members.values()), b""
    at = 0
    for key, held in members.items():
        entries += (bytes([0xd9, len(key) + 1]) + b"/" + key.encode() +
                    b"\x82\xa6offset\xce" + struct.pack(">I", at) +
                    b"\xa6length\xce" + struct.pack(">I", len(held)))
        at += len(held)
    chunks = samples.cut(data, len(data), None)
    return samples.with_vlmetas(
        samples.assemble(data, len(data), chunks, [0], False, b"\x80",
                         b"b2embed"),
        [(b"estore_metadata", b"\x81\xa9embed_map\xde" +
          struct.pack(">H", len(members)) + entries)])


def folders_are_the_tables_that_stores_are(work):
    top = os.path.join(work, "top")
    for name in tables.truths():
        shutil.copy(f"{DATA}/{name}", os.path.join(work, name))
        unpack(f"{DATA}/{name}", f"{top}/{name}.b2d")
        shutil.copy(f"{DATA}/{name}", f"{top}/{name}")
    with Mount(work, top, VIEWS) as mount:
        for name in tables.truths():
            equal(sorted(set(os.listdir(mount.path(name + ".b2d"))) -
                         set(os.listdir(f"{top}/{name}.b2d"))),
                  ["info.json", "table.arrow"], name)
            path = mount.path(name + ".b2d/table.arrow")
            data = read(path)
            equal(os.stat(path).st_size, len(data), name)
            equal(data, read(mount.path(name + "/table.arrow")), name)
            equal(info(mount.path(name + ".b2d")), True, name)
        # What was there before is there as it was.
        assert os.path.isdir(mount.path(name + ".b2d/_meta.b2f"))
    one = f"{top}/{name}.b2d"
    with Mount(work, one, VIEWS) as mount:
        equal(read(mount.path("table.arrow")), data)
    with Mount(work, top, VIEWS, "--keep") as mount:
        equal(read(mount.path(name + ".b2d/table.arrow")), data)
        assert name + ".d" in os.listdir(mount.point)
    for options in (["--views=info,data"], [VIEWS, "--formats=-table"],
                    [VIEWS, "--exclude=*.b2d"]):
        with Mount(work, top, *options) as mount:
            equal(sorted(os.listdir(mount.path(name + ".b2d"))),
                  sorted(os.listdir(one)), str(options))
            fails_with(errno.ENOENT, os.stat,
                       mount.path(name + ".b2d/table.arrow"))


def columns_of_bcolz_are_one_table(work):
    top = os.path.join(work, "top")
    make_rootdir(top + "/t", {"a": list(range(1000)), "b ß": [7] * 1000})
    make_rootdir(top + "/some", {"a": [1, 2, 3]}, ["a", "gone"])
    make_rootdir(top + "/uneven", {"a": [1, 2], "b": [1, 2, 3]})
    make_rootdir(top + "/out", {"a": [1]}, ["a", "../t"])
    make_rootdir(top + "/none", {}, [])
    make_rootdir(top + "/junk", {})
    harness.write(top + "/junk/__rootdirs__", b"{")
    with Mount(work, top, VIEWS) as mount:
        equal(values_of(mount.path("t/table.arrow")),
              {"a": list(range(1000)), "b ß": [7] * 1000})
        equal(values_of(mount.path("some/table.arrow")), {"a": [1, 2, 3]})
        equal(list(info(mount.path("some"))["left_out"]), ["gone"])
        for name, word in (("uneven", "numbers of rows"),
                           ("out", "no folder"), ("none", "no columns"),
                           ("junk", "")):
            why = info(mount.path(name))
            assert isinstance(why, str) and word in why, f"{name}: {why}"
            assert "table.arrow" not in os.listdir(mount.path(name)), name
            fails_with(errno.ENOENT, os.stat, mount.path(name,
                                                         "table.arrow"))


def check_and_view_agree_which_names_are_columns(work):
    """A name that no folder has ends the table; one of a folder that is no
    column is left out, and --check tells both."""
    top = os.path.join(work, "top")
    cases = (("a", None), ("ß" * 127, "no column"), ("a" * 255, "no column"),
             ("a" * 256, "no folder"), ("ß" * 128, "no folder"),
             ("", "no folder"), (".", "no folder"), ("..", "no folder"),
             ("x/a", "no folder"), ("a\0", "no folder"), (3, "no folder"),
             (b"a\xff", "no folder"), ("gone", "no column"),
             ("inner", "no column"), ("sparse", "no column"))
    for i, (name, _) in enumerate(cases):
        folder = f"{top}/t{i}"
        make_rootdir(folder, {"ok": [1, 2]}, ["ok", name] if not isinstance(
            name, bytes) else ["ok", "NAME"])
        if isinstance(name, bytes):
            harness.write(folder + "/__rootdirs__", read(
                folder + "/__rootdirs__").replace(b"NAME", name))
        if name == "a":
            samples.write_column(folder + "/a", [3, 4], 100)
        # A table in it, and what is a container but no column.
        make_rootdir(folder + "/inner", {"a": [1, 2]})
        shutil.copytree(f"{DATA}/good-sparse-array.b2nd", folder + "/sparse")
    with Mount(work, top, VIEWS) as mount:
        for i, (name, word) in enumerate(cases):
            told = info(mount.path(f"t{i}"))
            said = harness.run("--check", f"{top}/t{i}").stdout
            equal(said.splitlines()[1].split("\t")[1],
                  "damaged" if word else "good", said)
            if word is None:
                equal(told, True, name)
            elif word == "no folder":
                assert isinstance(told, str) and word in told, (name, told)
                assert "names no folder" in said, said
            else:
                (left, why), = told["left_out"].items()
                equal(left, name.encode()[:200].decode(), name)
                assert word in why, told
                assert "which is no column" in said, said


def tables_lie_below_keys(work):
    top = os.path.join(work, "top")
    os.mkdir(top)
    wanted = {"a": [5, 6, 7]}
    made = os.path.join(work, "made")
    make_folder(made, [({"name": "a", "kind": "int32"},
                        {".b2nd": np.array([5, 6, 7], "<i4")})],
                np.ones(3, bool))
    files = {os.path.relpath(os.path.join(at, name), made): read(
        os.path.join(at, name)) for at, _, names in os.walk(made)
        for name in names}
    with zipfile.ZipFile(top + "/tree.b2z", "w") as store:
        for where in ("g/t", "u"):
            for name, held in files.items():
                store.writestr(f"{where}/{name}", held)
        store.writestr("g/x.b2nd", files["_cols/a.b2nd"])
    harness.write(top + "/tree.b2e", embedded({
        f"{where}/{os.path.splitext(name)[0]}": held
        for where in ("g/t", "u") for name, held in files.items()}))
    shutil.copytree(made, top + "/tree.b2d/g/t")
    shutil.copytree(made, top + "/tree.b2d/u")
    with Mount(work, top, VIEWS) as mount:
        for tree in ("tree.b2z", "tree.b2e/tree", "tree.b2d"):
            for key in ("g/t", "u"):
                folder = mount.path(tree, key)
                equal(values_of(folder + "/table.arrow"), wanted, folder)
                equal(info(folder), True, folder)
                assert os.path.isdir(folder + "/_cols")
        equal(len(read(mount.path("tree.b2z/g/x.b2nd/data.bin"))), 12)
    with Mount(work, top, "--views=info,data") as mount:
        equal(sorted(os.listdir(mount.path("tree.b2z/u"))),
              ["_cols", "_meta.b2f", "_valid_rows.b2nd"])


def tables_on_a_server_are_what_they_are_on_disk(work):
    top = os.path.join(work, "top")
    make_rootdir(top + "/t", {"a": list(range(1000)), "b": [7] * 1000})
    unpack(f"{DATA}/good-table-utf8.b2z", top + "/u.b2d")
    with Server() as server, s3(server):
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                server.put_file("/bucket/" + os.path.relpath(path, top), path)
        with Mount(work, top, VIEWS) as disk, \
                Mount(work, "s3://bucket", VIEWS) as far:
            for name in ("t", "u.b2d"):
                equal(sorted(os.listdir(far.path(name))),
                      sorted(os.listdir(disk.path(name))), name)
                for entry in ("table.arrow", "info.json"):
                    equal(read(far.path(name, entry)),
                          read(disk.path(name, entry)), name + entry)


def a_folders_own_entries_come_first(work):
    top = os.path.join(work, "top")
    make_rootdir(top, {f"c{i:04}": [i] for i in range(900)})
    harness.write(top + "/info.json", b"mine")
    with Mount(work, top, VIEWS) as mount:
        equal(read(mount.path("info.json")), b"mine")
        # By several calls; each name once.
        equal(sorted(os.listdir(mount.point)),
              sorted([".bloscfs", *os.listdir(top), "table.arrow"])
              if ".bloscfs" in os.listdir(mount.point) else
              sorted([*os.listdir(top), "table.arrow"]))
        equal(values_of(mount.path("table.arrow"))["c0899"], [899])


def a_column_that_is_written_anew_is_seen(work):
    top = os.path.join(work, "top")
    rows = np.arange(3000, dtype="<i8")
    os.mkdir(top)

    def column(values):
        return [({"name": "a", "kind": "int64"}, {".b2nd": values})]

    make_folder(top + "/t", column(rows), np.ones(3000, bool))
    with Mount(work, top, VIEWS, "--attr_timeout=0") as mount:
        path = mount.path("t/table.arrow")
        equal(values_of(path)["a"], rows.tolist())
        harness.write(top + "/t/_cols/a.b2nd", tables.pack_column(rows * 2))

        def is_new():
            try:
                return values_of(path)["a"] == (rows * 2).tolist()
            except OSError as error:
                equal(error.errno in (errno.ESTALE, errno.EIO), True)
                return False

        harness.wait_until(is_new)


def damage_is_an_error_in_its_column_alone(work):
    top = os.path.join(work, "top")
    rows = list(range(4000))
    make_rootdir(top, {"a": rows, "b": rows})
    with open(top + "/b/data/__20.blp", "r+b") as file:
        file.seek(16 + 4)
        file.write(struct.pack("<i", 7))
    with Mount(work, top, VIEWS) as mount:
        path = mount.path("table.arrow")
        equal(os.stat(path).st_size > 64000, True)
        with open(path, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            size = os.fstat(file.fileno()).st_size
            good, at = b"", 0
            while at < 32000:
                good += os.pread(file.fileno(), 4096, at)
                at += 4096
            assert struct.pack("<400q", *rows[:400]) in good
            # Rows 2000 to 2100 of the second column.
            start = good.index(struct.pack("<40q", *rows[:40]))
            fails_with(errno.EIO, os.pread, file.fileno(), 8,
                       start + 32000 + 2050 * 8)
            equal(os.pread(file.fileno(), 6, size - 6), b"ARROW1")


def who_may_not_read_a_column_reads_no_table(work):
    harness.needs_root()
    top = os.path.join(work, "top")
    unpack(f"{DATA}/good-table-basic.b2z", top + "/t.b2d")
    column = [name for name in os.listdir(top + "/t.b2d/_cols")][0]
    os.chmod(f"{top}/t.b2d/_cols/{column}", 0o600)
    with Mount(work, top, VIEWS, "--allow_other") as mount:
        mode = os.stat(mount.path("t.b2d/table.arrow")).st_mode
        equal(oct(mode & 0o477), oct(0o400))
        # The folder itself is what it was.
        mode = os.stat(mount.path("t.b2d")).st_mode
        equal(oct(mode & 0o555), oct(0o555))


def marks_tell_which_values_are_none(work):
    n = 3000
    row = np.arange(n)
    there = row % 7 != 3
    texts = ["t%d" % i if there[i] else "" for i in range(n)]
    offsets = np.cumsum([0] + [len(text) for text in texts]).astype("<i8")

    def marked(name, kind, files):
        return ({"name": name, "kind": kind, "nullable": True},
                {**files, ".notnull.b2nd": there})

    columns = [
        marked("i", "int32", {".b2nd": row.astype("<i4")}),
        marked("f", "float64", {".b2nd": row / 4}),
        marked("ok", "bool", {".b2nd": row % 2 == 0}),
        marked("v", "ndarray", {".b2nd": np.arange(
            3 * n, dtype="<u2").reshape(n, 3)}),
        marked("t", "utf8", {".b2nd": offsets, ".utf8.b2nd": np.frombuffer(
            "".join(texts).encode(), "u1")}),
        ({"name": "short", "kind": "int32", "nullable": True},
         {".b2nd": row.astype("<i4"), ".notnull.b2nd": there[:10]}),
        ({"name": "plain", "kind": "int32"}, {".b2nd": row.astype("<i4")})]
    valid = (row < 1001) | ((row > 1010) & (row < 2990))
    path = os.path.join(work, "t.b2z")
    tables.make_store(path, columns, valid)
    with Mount(work, path, VIEWS) as mount:
        equal(list(info(mount.point)["left_out"]), ["short"])
        file = arrowfile.File(read(mount.path("table.arrow")))
    equal(len(file.batches), 2)
    live = there[valid]
    for name in ("i", "f", "ok", "t"):
        equal(file.there(name).tolist(), live.tolist(), name)
    equal(file.rows_there("v").tolist(), live.tolist())
    equal(file.there("plain").all(), True)
    equal(file.values("i")[live].tolist(), row[valid][live].tolist())
    equal([text for text in file.texts("t") if text is not None],
          [texts[i] for i in row[valid & there]])


def texts_that_are_no_utf8_are_errors_where_they_lie(work):
    """Programs that map a table trust its texts, and where they begin."""
    source = os.path.join(work, "source")
    os.mkdir(source)
    # Pages cut characters.
    texts = ["\u20ac" * (i % 50) + "\u00e9\U0001f600" * (i % 3)
             for i in range(3000)]
    offsets = np.cumsum([0] + [len(text.encode()) for text in texts])
    good = "".join(texts).encode()

    def make(name, data, begins=offsets):
        tables.make_store(f"{source}/{name}.b2z", [
            ({"name": "t", "kind": "utf8"},
             {".b2nd": begins.astype("<i8"),
              ".utf8.b2nd": np.frombuffer(data, "u1")}),
            ({"name": "n", "kind": "int32"}, {".b2nd": np.arange(3000, dtype=
                                                                 "<i4")})],
            np.ones(3000, bool))

    make("good", good)
    # Within a text of 49 characters of three bytes.
    middle = int(offsets[1549]) + 30
    for name, junk in (("stray", b"\x80"), ("cut", b"A"), ("byte", b"\xff")):
        at = middle + (name == "cut")
        make(name, good[:at] + junk + good[at + 1:])
    within = offsets.copy()
    within[1549] += 1
    make("within", good, within)
    with Mount(work, source, VIEWS) as mount:
        path = mount.path("good.b2z", "table.arrow")
        whole = read(path)
        equal(arrowfile.File(whole).texts("t"), texts)
        start = whole.index(good)
        for name in ("stray", "cut", "byte", "within"):
            path = mount.path(name + ".b2z", "table.arrow")
            equal(os.path.getsize(path), len(whole), "size of " + name)
            bad = []
            with open(path, "rb", buffering=0) as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                for at in range(0, len(whole), 4096):
                    try:
                        got = os.pread(file.fileno(), 4096, at)
                        equal(got == whole[at:at + 4096], True, name)
                    except OSError as error:
                        equal(error.errno, errno.EIO)
                        bad.append(at)
            place = start + middle
            if name == "within":
                place = whole.rindex(struct.pack("<q", int(offsets[1549])),
                                     0, start)
            equal(bad, [place // 4096 * 4096], name)
            told = read(mount.path(".bloscfs", "errors")).decode()
            equal(len([line for line in told.splitlines() if name in line and
                       "no UTF-8" in line]), 1, told)


def values_that_are_none_may_be_long(work):
    """Longer than what is looked at in one piece; others differ from them in
    the last byte alone, or are a byte shorter."""
    n, path = 12, os.path.join(work, "t.b2z")
    row, columns, wanted = np.arange(n), [], {}
    for size in (5, 32767, 32768, 32769, 100000):
        none = "n" * size
        kinds = (none, none[:-1] + "m", none[:-1])
        texts = [kinds[i % 3] for i in row]
        offsets = np.cumsum([0] + [len(text) for text in texts])
        columns += [
            ({"name": f"t{size}", "kind": "utf8", "nullable": True,
              "null_value": none},
             {".b2nd": offsets.astype("<i8"), ".utf8.b2nd": np.frombuffer(
                 "".join(texts).encode(), "u1")}),
            ({"name": f"b{size}", "kind": "bytes", "nullable": True,
              "null_value": {"base64": base64.b64encode(
                  none.encode()).decode()}},
             {".b2nd": np.array(texts, f"|S{size}")}),
            ({"name": f"v{size}", "kind": "ndarray", "nullable": True,
              "null_value": none},
             {".b2nd": np.array([[none, text] for text in texts],
                                f"|S{size}")})]
        for kind in "tbv":
            wanted[f"{kind}{size}"] = texts
    tables.make_store(path, columns, np.ones(n, bool))
    with Mount(work, path, VIEWS) as mount:
        equal(info(mount.point), True)
        file = arrowfile.File(read(mount.path("table.arrow")))
    for name, texts in wanted.items():
        there = file.rows_there(name) if name[0] == "v" else file.there(name)
        equal(there.tolist(), (row % 3 != 0).tolist(), name)
        if name[0] == "t":
            equal([text for text in file.texts(name) if text is not None],
                  [text for i, text in enumerate(texts) if i % 3], name)


def values_that_are_none_are_counted_in_every_batch(work):
    # Dates in records: counting goes through all of them for each.
    n, names = 150000, [f"d{i:02}" for i in range(16)]
    made = np.zeros(n, [(name, "<M8[us]") for name in names])
    row = np.arange(n)
    for i, name in enumerate(names):
        made[name] = (row + i).astype("M8[us]")
        made[name][row % (50 + i) == 0] = "NaT"
    path = os.path.join(work, "dates")
    harness.write(path, arrays.pack(made, (1 << 14,), (1 << 10,)))
    with Mount(work, path, VIEWS) as mount:
        file = arrowfile.File(read(mount.path("data.arrow")))
    equal(file.n_rows, n)
    assert len(file.batches) > 1, len(file.batches)
    for i, name in enumerate(names):
        # That counts are right is held by whoever reads a batch.
        assert np.array_equal(file.there(name), row % (50 + i) != 0), name


if __name__ == "__main__":
    harness.main([
        folders_are_the_tables_that_stores_are,
        columns_of_bcolz_are_one_table,
        check_and_view_agree_which_names_are_columns,
        tables_lie_below_keys,
        tables_on_a_server_are_what_they_are_on_disk,
        a_folders_own_entries_come_first,
        a_column_that_is_written_anew_is_seen,
        damage_is_an_error_in_its_column_alone,
        who_may_not_read_a_column_reads_no_table,
        marks_tell_which_values_are_none,
        texts_that_are_no_utf8_are_errors_where_they_lie,
        values_that_are_none_may_be_long,
        values_that_are_none_are_counted_in_every_batch,
    ])
