#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The view arrow: data.arrow, read by arrowfile.py; and, where
BLOSCFS_TABLES is a folder whose node_modules hold them, by apache-arrow and
Polars. BLOSCFS_TABLE_ROWS makes the table longer that Polars maps."""
import errno
import json
import math
import os
import re
import struct

import numpy as np

import arrays
import arrowfile
import harness
import programs
import tables
from harness import Mount, equal, fails_with, read

NODE = os.environ.get("BLOSCFS_TABLES")
VIEWS = "--views=info,data,npy,arrow"
RECORD = np.dtype([
    ("id", "<i4"), ("price", ">f8"), ("in", [("x", "|u1"), ("y", ">f2")]),
    ("ok", "|b1"), ("grid", "<f4", (2, 3)), ("code", "|S5"),
    ("day", "<M8[D]"), ("month", "<M8[M]"), ("when", ">M8[ns]"),
    ("hour", "<M8[h]"), ("span", "<m8[s]"), ("week", "<m8[W]"),
    ("name", "<U3"), ("z", ">c8"), ("raw", "|V3"), ("long", ">U9"),
    ("deep", [("one", [("two", "<u2")])]), ("many", [("k", "|u1")], (2,))])


def records(n):
    """Records of all kinds of fields, some times missing."""
    made, row = np.zeros(n, RECORD), np.arange(n)
    made["id"], made["price"] = row * 7, row * 1.25
    made["in"]["x"], made["in"]["y"] = row, row / 8
    made["ok"] = row % 3 == 0
    made["grid"] = np.arange(n * 6).reshape(n, 2, 3)
    made["code"] = [b"r%d" % i for i in row]
    made["day"] = (row - n // 2).astype("M8[D]")
    made["month"] = (row * 3 - n).astype("M8[M]")
    made["when"] = (row * 10 ** 14).astype("M8[ns]")
    made["hour"] = row.astype("M8[h]")
    made["span"], made["week"] = row.astype("m8[s]"), row.astype("m8[W]")
    made["name"], made["z"] = ["", "ab", "ßé"] * (n // 3) + [""] * (n % 3), \
        row * (1 + 2j)
    made["long"] = ["\U0001f600" * (i % 10) + "é" * (i % 3) for i in row]
    made["raw"] = [bytes([i % 256, 1, 2]) for i in row]
    for name in ("day", "when", "week"):
        made[name][[3, n - 1]] = "NaT"
    return made


# What the columns of such records are.
COLUMNS = {
    "id": "i4", "price": "f8", "in.x": "u1", "in.y": "f2", "ok": "bool",
    "grid": "f4[3][2]", "code": "binary[5]", "day": "date", "month": "date",
    "when": "timestamp[ns]", "hour": "timestamp[s]", "span": "duration[s]",
    "week": "duration[s]", "name": "utf8_view", "z": "f4[2]",
    "raw": "binary[3]", "long": "utf8_view", "deep.one.two": "u2"}


def info(folder):
    return json.loads(read(folder + "/info.json"))


def counter(mount, name):
    stats = read(mount.path(".bloscfs/stats")).decode()
    return int(re.search(rf"^bloscfs_{name}\S* (\d+)$", stats,
                         re.M).group(1))


def decoded(mount):
    return counter(mount, "decoded_bytes")


def column_of(made, name):
    for part in name.split("."):
        made = made[part]
    return made


def check_column(file, name, wanted):
    """A column of the file has NumPy's values, as Arrow has them."""
    there = np.ones(wanted.size, bool)
    kind = str(file.field(name))
    if wanted.dtype.kind in "Mm":
        there = ~np.isnat(wanted)
        unit = "D" if kind == "date" else file.field(name).unit
        wanted = wanted.astype(f"{wanted.dtype.kind}8[{unit}]").astype("i8")
    elif wanted.dtype.kind == "c":
        wanted = wanted.astype("<c8").view("<f4")
        there = np.ones(wanted.size, bool)
    equal(file.there(name).tolist(), there.tolist(), "nulls of " + name)
    got = file.values(name)
    if wanted.dtype.kind == "U":
        equal(file.texts(name), wanted.tolist(), name)
        return
    if wanted.dtype.kind in "SV":
        equal(got.tobytes(), wanted.tobytes(), name)
        return
    equal(got[there].tolist(), wanted.reshape(-1)[there].tolist(), name)


def fields_are_columns(work):
    path = os.path.join(work, "records")
    made = records(1003)
    harness.write(path, arrays.pack(made, (300,), (128,)))
    with Mount(work, path, VIEWS) as mount:
        data = read(mount.path("data.arrow"))
        equal(os.stat(mount.path("data.arrow")).st_size, len(data))
        file = arrowfile.File(data)
        equal({f.name: str(f) for f in file.fields}, COLUMNS)
        equal(file.n_rows, len(made))
        for name in COLUMNS:
            check_column(file, name, column_of(made, name))
        left = info(mount.point)["arrow"]["left_out"]
        equal(list(left), ["many"])
        assert "several records" in left["many"], left


def plain_arrays_are_one_column(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    values = {}
    for code in arrays.DTYPES + ["<M8[us]", ">m8[ms]", "|S7", "<U2", ">U30"]:
        dtype = np.dtype(code)
        made = np.arange(1000).astype(dtype) if dtype.kind in "mMSU" else \
            arrays.numbers(1000, dtype)
        name = "a" + re.sub(r"\W", "_", code.replace("<", "l").replace(
            ">", "b"))
        values[name] = made
        harness.write(f"{source}/{name}", arrays.pack(made, (333,), (100,)))
    harness.write(source + "/none", arrays.pack(np.zeros(0), (1,), (1,)))
    with Mount(work, source, VIEWS) as mount:
        for name, made in values.items():
            equal(info(mount.path(name))["arrow"], True)
            file = arrowfile.File(read(mount.path(name + "/data.arrow")))
            equal(file.names(), ["data"])
            if made.dtype.kind == "c":
                made = made.view(f"{made.dtype.str[0]}f"
                                 f"{made.dtype.itemsize // 2}")
            check_column(file, "data", made)
        file = arrowfile.File(read(mount.path("none/data.arrow")))
        equal((file.n_rows, file.names()), (0, ["data"]))


def what_is_no_table_has_a_reason(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    for name, made in {
            "scalar": np.array(5), "matrix": np.ones((3, 4)),
            "quad": np.ones(3, np.longdouble)}.items():
        harness.write(f"{source}/{name}", arrays.pack(made))
    harness.write(source + "/many", arrays.pack(
        np.zeros(4, [("r", [("a", "<i4")], (2,))])))
    with Mount(work, source, VIEWS) as mount:
        for name, word in (("scalar", "one dimension"),
                           ("matrix", "one dimension"), ("quad", "of 16"),
                           ("many", "none of its columns")):
            why = info(mount.path(name))["arrow"]
            assert isinstance(why, str) and word in why, f"{name}: {why}"
            assert "data.arrow" not in os.listdir(mount.path(name)), name


def ranges_are_the_same_bytes(work):
    path = os.path.join(work, "records")
    harness.write(path, arrays.pack(records(203), (60,), (25,)))
    with Mount(work, path, VIEWS) as mount:
        whole = read(mount.path("data.arrow"))
        with open(mount.path("data.arrow"), "rb", buffering=0) as file:
            for at in range(0, len(whole), 37):
                equal(os.pread(file.fileno(), 61, at), whole[at:at + 61],
                      f"range at {at}")


def only_blocks_that_are_touched_are_decoded(work):
    n = 1 << 20
    path = os.path.join(work, "records")
    made = np.zeros(n, [("a", "<i4"), ("b", "<i8")])
    made["a"] = made["b"] = np.arange(n)
    harness.write(path, arrays.pack(made, (1 << 16,), (1 << 12,)))
    with Mount(work, path, VIEWS) as mount:
        name = mount.path("data.arrow")
        size = os.stat(name).st_size
        equal(decoded(mount), 0, "decoded by stat")
        with open(name, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            os.pread(file.fileno(), 4096, 0)
            # A page has the first rows, too; a block has 48 KiB.
            harness.below(decoded(mount), (48 << 10) + 1)
            os.pread(file.fileno(), 4096, (size // 2) & ~4095)
            harness.below(decoded(mount), (144 << 10) + 1)


def damage_is_an_error_where_it_lies(work):
    path = os.path.join(work, "bad")
    values = arrays.numbers(1 << 16, "<u4")
    data = bytearray(arrays.pack(values, (1 << 15,), (1 << 13,)))
    where = bytes(data).find(values[1 << 15:][:100].tobytes())
    assert where > 0, where
    data[where - 32 + 4:where - 32 + 8] = struct.pack("<i", 7)
    harness.write(path, bytes(data))
    with Mount(work, path, VIEWS) as mount:
        with open(mount.path("data.arrow"), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            equal(os.pread(file.fileno(), 6, 0), b"ARROW1")
            fails_with(errno.EIO, os.pread, file.fileno(), 64,
                       size - 100000)


def tables_are_what_their_writer_read_back(work):
    with Mount(work, harness.DATA, VIEWS) as mount:
        for name, truth in tables.truths().items():
            told = info(mount.path(name))["arrow"]
            equal(told, True, "left out of " + name)
            path = mount.path(name + "/table.arrow")
            data = read(path)
            equal(os.stat(path).st_size, len(data), path)
            tables.check_table(arrowfile.File(data), truth, {}, name)


def deleted_rows_are_between_batches(work):
    path = os.path.join(work, "t.b2z")
    n = 5000
    values = np.arange(n, dtype="<i8")
    texts = [f"row {i}" * (i % 4) for i in range(n)]
    offsets = np.cumsum([0] + [len(text) for text in texts]).astype("<i8")
    data = np.frombuffer("".join(texts).encode(), "u1")
    for valid in (values % 1000 < 900, values % 2 == 0, values < 0,
                  (values > 10) & (values < 20)):
        tables.make_store(path, [
            ({"name": "a", "kind": "int64"}, {".b2nd": values}),
            ({"name": "t", "kind": "utf8"}, {".b2nd": offsets,
                                             ".utf8.b2nd": data})], valid)
        live = np.flatnonzero(valid)
        runs = 0 if not len(live) else 1 + int((np.diff(live) > 1).sum())
        with Mount(work, path, VIEWS) as mount:
            file = arrowfile.File(read(mount.path("table.arrow")))
        if runs > 1024:
            # Too many of them: all rows, and which of these live.
            equal(file.names(), ["a", "t", "_valid"])
            equal(len(file.batches), 1)
            last = int(live[-1]) + 1
            equal(file.values("_valid").tolist(), valid[:last].tolist())
            live = np.arange(last)
        else:
            equal((file.names(), len(file.batches)), (["a", "t"], runs))
        equal(file.values("a").tolist(), live.tolist())
        equal(file.texts("t"), [texts[i] for i in live])


def hostile_tables_are_refused_or_told(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    five, valid = np.arange(5, dtype="<i4"), np.ones(5, bool)
    plain = {"name": "ok", "kind": "int32"}, {".b2nd": five}

    def make(name, *columns, marks=valid, schema=None):
        tables.make_store(f"{source}/{name}.b2z", [plain, *columns], marks,
                          schema)

    def text(offsets, length=20):
        return ({"name": "t", "kind": "utf8"},
                {".b2nd": np.array(offsets, "<i8"),
                 ".utf8.b2nd": np.full(length, 65, "u1")})

    make("short", ({"name": "s", "kind": "int32"}, {".b2nd": five[:3]}))
    make("missing", ({"name": "m", "kind": "int32"}, {}))
    make("junk", ({"name": "j", "kind": "int32"}, {".b2nd": b"junk" * 9}))
    make("sentinel", ({"name": "n", "kind": "int32", "nullable": True,
                       "null_value": "text"}, {".b2nd": five}))
    make("objects", ({"name": "o", "kind": "object"}, {}))
    make("schema", schema="{")
    make("nameless", schema='{"columns": [{"kind": "int32"}]}')
    make("many", schema=json.dumps({"columns": [
        {"name": f"c{i}", "kind": "int32"} for i in range(100000)]}))
    make("marks", marks=np.ones(5, "<i4"))
    make("control", ({"name": "a\x01\x7f\"\u202e<b>", "kind": "int32"}, {}))
    for name, offsets in (("back", [0, 3, 2, 5, 6, 20]),
                          ("beyond", [0, 3, 5, 99, 6, 20]),
                          ("below", [-9, 3, 5, 9, 16, 20])):
        make(name, text(offsets))
    make("twins", *[({"name": "d" * 300, "kind": "int32"}, {})] * 70)
    with Mount(work, source, VIEWS) as mount:
        left = info(mount.path("twins.b2z"))["arrow"]
        names = [name.rsplit("d", 1)[1] for name in left["left_out"]]
        equal((names, left["more_left_out"]),
              ([""] + [f"%~{n}" for n in range(2, 65)], 6))
        for name, word in (("schema", ""), ("nameless", "without a name"),
                           ("many", "more than 4096"),
                           ("marks", "a byte each")):
            why = info(mount.path(name + ".b2z"))["arrow"]
            assert isinstance(why, str) and word in why, f"{name}: {why}"
            assert "table.arrow" not in os.listdir(mount.path(name + ".b2z"))
        for name in ("short", "missing", "junk", "sentinel", "objects",
                     "control"):
            left = info(mount.path(name + ".b2z"))["arrow"]["left_out"]
            equal(len(left), 1, name)
            file = arrowfile.File(read(mount.path(name +
                                                  ".b2z/table.arrow")))
            equal(file.values("ok").tolist(), five.tolist(), name)
        for name in ("back", "beyond", "below"):
            fails_with(errno.EIO, read, mount.path(name + ".b2z/table.arrow"))


def only_the_column_that_is_read_is_read(work):
    path = os.path.join(work, "big.b2z")
    make_long(path, 1 << 18)
    with Mount(work, path, VIEWS) as mount:
        size = os.stat(mount.path("table.arrow")).st_size
        # The marks, some twice where a first look at them is cut short; of
        # the columns, 2 MiB each, nothing.
        before = decoded(mount)
        harness.below(before, 1 << 19)
        with open(mount.path("table.arrow"), "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            os.pread(file.fileno(), 4096, size // 2)
        harness.below(decoded(mount) - before, 256 << 10)


def make_long(path, n):
    """A table of n rows: three columns of eight bytes."""
    row = np.arange(n)
    tables.make_store(path, [
        ({"name": "a", "kind": "int64"}, {".b2nd": row}),
        ({"name": "b", "kind": "int64"}, {".b2nd": row * 3}),
        ({"name": "c", "kind": "float64"}, {".b2nd": row / 2})],
        np.ones(n, bool))


def need_programs():
    if not NODE:
        raise harness.Skip("BLOSCFS_TABLES names no folder with "
                           "apache-arrow and nodejs-polars")


def programs_say(*args):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          "tables.mjs")
    said = programs.tool("node", script, NODE, *args)
    return [json.loads(line) for line in said.splitlines()]


# How columns reach JavaScript, by the type in the file and by whom; of Polars
# through its own values. Those of binary do not by Polars.
PER_SECOND = {"s": 1, "ms": 1000, "us": 10 ** 6, "ns": 10 ** 9}
UNSEEN = {"polars": ("binary",)}


def as_seen(file, name, what):
    """The values of a column as that program has them; None: it has none."""
    field = file.field(name)
    kind, n = str(field).split("[", maxsplit=1)[0], file.n_rows
    there = file.rows_there(name)
    there = file.there(name) if there is None else there
    if kind in UNSEEN.get(what, ()):
        return None
    if "utf8" in field.kind or kind.startswith("dict"):
        values = file.texts(name)
    elif kind == "binary":
        values = np.frombuffer(file.values(name).tobytes(), "u1").reshape(
            n, -1).tolist()
    elif kind in ("date", "timestamp"):
        # To the millisecond.
        times, over = (86400000, 1) if kind == "date" else \
            (1000, PER_SECOND[field.unit])
        values = [value * times // over for value in file.values(name).tolist()]
    elif kind == "duration" and what == "polars":
        # It has no seconds.
        each = 1000 if field.unit == "s" else 1
        values = [value * each for value in file.values(name).tolist()]
    else:
        values = file.values(name)
        sizes = list(map(int, re.findall(r"\[(\d+)\]", str(field))))
        if sizes:
            # The outermost one is told last.
            values = values.reshape(n, *sizes[::-1])
        values = values.tolist()
    return [value if there[i] else None for i, value in enumerate(values)]


def as_plain(seen):
    """Whole numbers that are longer than those of JSON come as texts."""
    if isinstance(seen, list):
        return [as_plain(part) for part in seen]
    return int(seen) if isinstance(seen, str) else seen


def same_values(file, got, what):
    name, kind, n_nulls, values = got
    there = file.rows_there(name)
    there = file.there(name) if there is None else there
    equal(n_nulls, int((~there).sum()), f"nulls of {name} by {what}")
    wanted = as_seen(file, name, what)
    if wanted is None:
        equal(values, None, f"{name} by {what}: {kind}")
        return 0
    assert values is not None, f"{name} by {what}: {kind}"
    if not any(isinstance(value, str) for value in wanted):
        values = as_plain(values)
    if str(file.field(name)).startswith(("date", "timestamp")):
        # The digits that such a number has.
        values = [None if value is None else math.floor(round(value, 3))
                  for value in values]
    equal(values, wanted, f"{name} by {what}: {kind}")
    return 1


def arrow_and_polars_read_what_the_writer_did(work):
    need_programs()
    path = os.path.join(work, "records")
    harness.write(path, arrays.pack(records(203), (60,), (25,)))
    with Mount(work, harness.DATA, VIEWS) as mount:
        names = list(tables.truths())
        paths = [mount.path(name + "/table.arrow") for name in names]
        files = [arrowfile.File(read(path)) for path in paths]
        said = programs_say(*paths)
    with Mount(work, path, VIEWS) as mount:
        files.append(arrowfile.File(read(mount.path("data.arrow"))))
        said += programs_say(mount.path("data.arrow"))
    compared = 0
    for file, one in zip(files, said):
        for what in ("arrow", "polars"):
            equal([got[0] for got in one[what]], file.names(), what)
            compared += sum(same_values(file, got, what)
                            for got in one[what])
    assert compared >= 100, compared
    print(f"# {compared} columns compared")


# By what names each type is known there: apache-arrow's, and Polars's; of f2
# Polars tells no name, but its numbers.
TYPE_NAMES = {
    "b1": ("Bool", "Bool"), "u1": ("Uint8", "UInt8"), "i1": ("Int8", "Int8"),
    "u2": ("Uint16", "UInt16"), "i2": ("Int16", "Int16"),
    "u4": ("Uint32", "UInt32"), "i4": ("Int32", "Int32"),
    "u8": ("Uint64", "UInt64"), "i8": ("Int64", "Int64"),
    "f2": ("Float16", "Float16 is not supported"),
    "f4": ("Float32", "Float32"), "f8": ("Float64", "Float64"),
    "c8": ("FixedSizeList[2]<Float32>",
           "FixedSizeList(DataType(Float32),2)"),
    "c16": ("FixedSizeList[2]<Float64>",
            "FixedSizeList(DataType(Float64),2)")}


def as_numbers(got, dtype):
    """What came of an array, in its type."""
    if dtype.kind == "c":
        return np.array([complex(*pair) for pair in got], dtype)
    return np.array(as_plain(got), dtype)


def arrow_and_polars_read_what_numpy_reads(work):
    """All that have one dimension, of all types and orders of bytes."""
    need_programs()
    source = os.path.join(work, "source")
    os.mkdir(source)
    values = {}
    for code in arrays.DTYPES:
        made = arrays.numbers(1003, code)
        name = made.dtype.str.translate(str.maketrans("<>|", "lbn"))
        values[name] = made
        harness.write(f"{source}/{name}", arrays.pack(made, (300,), (128,)))
    equal({made.dtype.str[1:] for made in values.values()}, set(TYPE_NAMES))
    zeros = arrays.numbers(100, "<i8")
    zeros[20:40] = 0
    values["zeros"] = zeros
    harness.write(source + "/zeros", arrays.pack(
        zeros, (20,), (10,), special={(1,): arrays.ZEROS}))
    with Mount(work, source, VIEWS) as mount:
        said = programs_say(*(mount.path(name + "/data.arrow")
                              for name in values))
    for (name, made), one in zip(values.items(), said):
        native = made.dtype.newbyteorder("=")
        for what, type_name in zip(("arrow", "polars"),
                                   TYPE_NAMES[made.dtype.str[1:]]):
            (_, kind, n_nulls, got), = one[what]
            equal(n_nulls, 0, name)
            assert type_name in kind and got is not None, \
                f"{name} by {what}: {kind}"
            equal(as_numbers(got, native).tobytes(),
                  made.astype(native).tobytes(), f"{name} by {what}: {kind}")


def polars_maps_a_table_and_takes_the_column_it_sums(work):
    need_programs()
    n = int(os.environ.get("BLOSCFS_TABLE_ROWS", 10 ** 7))
    path = os.path.join(work, "big.b2z")
    make_long(path, n)
    with Mount(work, path, VIEWS) as mount:
        (total,), = programs_say("--sum", mount.path("table.arrow"), "b")
        equal(total, 3 * (n * (n - 1) // 2), "sum")
        taken = counter(mount, "source_bytes")
        print(f"# {n} rows of 24 bytes: {taken} bytes of the source")
        # The marks, the column, and what is read ahead of it.
        harness.below(taken, 9 * n + n + (4 << 20))


if __name__ == "__main__":
    harness.main([
        fields_are_columns,
        plain_arrays_are_one_column,
        what_is_no_table_has_a_reason,
        ranges_are_the_same_bytes,
        only_blocks_that_are_touched_are_decoded,
        damage_is_an_error_where_it_lies,
        tables_are_what_their_writer_read_back,
        deleted_rows_are_between_batches,
        hostile_tables_are_refused_or_told,
        only_the_column_that_is_read_is_read,
        arrow_and_polars_read_what_the_writer_did,
        arrow_and_polars_read_what_numpy_reads,
        polars_maps_a_table_and_takes_the_column_it_sums,
    ])
