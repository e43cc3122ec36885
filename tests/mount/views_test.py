#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Views about chunks, which appear when they are named: table and map."""
import base64
import errno
import hashlib
import json
import os
import shutil
import struct
import subprocess
import xml.etree.ElementTree as xml

import harness
import samples
from damage_test import damaged_frame
from harness import Mount, equal, fails_with

DATA = samples.noise(1 << 20)
CHUNK = 1 << 16
LINE = 128
NAMES = ["chunk", "offset", "cbytes", "nbytes", "codec", "filters",
         "special", "blocks", "status", "padding"]


def containers(mount):
    """The directories of all containers, and their facts."""
    for folder, _, names in harness.walk(mount.point):
        if "info.json" in names:
            yield folder, json.loads(harness.read(folder + "/info.json"))


def table(folder):
    """The lines as dicts, after a look at their form."""
    path = folder + "/chunks.tsv"
    data = harness.read(path)
    equal(os.stat(path).st_size, len(data), f"size of {path}")
    equal(len(data) % LINE, 0, f"a part of a line in {path}")
    lines = [data[at:at + LINE].decode("ascii")
             for at in range(0, len(data), LINE)]
    rows = []
    for line in lines:
        assert line.endswith("\n") and line.count("\n") == 1, line
        equal(line.count("\t"), len(NAMES) - 1, f"tabs of {line!r}")
        *fields, padding = line[:-1].split("\t")
        assert not any(" " in field for field in fields), line
        rows.append([*fields, padding.rstrip(" ")])
    equal(rows[0], NAMES, f"names of {path}")
    return [dict(zip(NAMES, row)) for row in rows[1:]]


def check_chunk(row, number, folder):
    """A line and the attribute of the chunk's file say the same."""
    equal(row["chunk"], str(number), f"number in {folder}")
    assert row["status"] in ("good", "damaged", "unsupported"), row
    path = f"{folder}/chunks/{number:010d}"
    try:
        facts = json.loads(os.getxattr(path, "user.bloscfs.chunk"))
    except OSError as error:
        equal(error.errno, errno.ENODATA, f"errno of {path}")
        assert row["status"] != "good", f"{row} and no attribute"
        return
    for key in ("offset", "cbytes", "nbytes", "codec", "blocks"):
        equal(row[key], str(facts.get(key, "-")), f"{key} of {path}")
    equal(row["special"], facts["special"] or "-", f"kind of {path}")
    names = ",".join(facts.get("filters", [])) or "-"
    assert row["filters"] == names or (
        row["filters"].endswith("...") and
        names.startswith(row["filters"][:-3])), row
    if row["status"] == "good":
        equal(os.stat(path).st_size, facts["nbytes"], f"size of {path}")


def tables_of_all_samples_say_what_their_chunks_are(work):
    statuses, lines = set(), 0
    with Mount(work, harness.DATA,
               "--views=info,data,chunks,table") as mount:
        for folder, info in containers(mount):
            if info["format"] == "b2z":
                assert not os.path.exists(folder + "/chunks.tsv"), folder
                continue
            rows = table(folder)
            equal(len(rows), info["nchunks"], f"lines of {folder}")
            for number, row in enumerate(rows):
                check_chunk(row, number, folder)
                statuses.add(row["status"])
            lines += len(rows)
            if info["status"] == "good" and info["nbytes"] and rows:
                equal(sum(int(row["nbytes"]) for row in rows),
                      info["nbytes"], f"bytes of {folder}")
        equal(mount.process.poll(), None, "the daemon's status")
    equal(statuses, {"good", "damaged", "unsupported"})
    assert lines > 1000, lines


def cut_and_awk_take_a_table_as_it_is(work):
    with Mount(work, harness.DATA, "--views=table,chunks") as mount:
        folder = mount.path("good-frame-specials.b2frame")
        rows = table(folder)
        for command, wanted in (
                (["cut", "-f1,8,9"], [[row["chunk"], row["blocks"],
                                       row["status"]] for row in rows]),
                (["awk", "-F\t", '$7 == "zeros" { print $1 }'],
                 [[row["chunk"]] for row in rows
                  if row["special"] == "zeros"]),
                (["awk", '$9 == "good" { print $1 "\t" $4 }'],
                 [[row["chunk"], row["nbytes"]] for row in rows])):
            printed = subprocess.run([*command, folder + "/chunks.tsv"],
                                     check=True, capture_output=True,
                                     text=True).stdout.splitlines()
            equal([line.split("\t") for line in printed
                   if not line.startswith("chunk\t")], wanted, str(command))
            assert wanted, command
        value = os.getxattr(folder + "/chunks/0000000000",
                            "user.bloscfs.chunk")
        equal(value.count(b"\n"), 0, "line ends of the attribute")
        equal(json.loads(value)["offset"], 97, "the attribute")


def a_line_is_found_by_its_number(work):
    path = os.path.join(work, "bad.b2frame")
    harness.write(path, damaged_frame(3))
    with Mount(work, path, "--views=table") as mount:
        equal(os.listdir(mount.point), ["chunks.tsv"])
        fd = os.open(mount.path("chunks.tsv"), os.O_RDONLY)
        for number in (15, 3, 0):
            line = os.pread(fd, LINE, (number + 1) * LINE).decode()
            equal(line.split()[0], str(number), "number")
            equal(line.split()[-1],
                  "damaged" if number == 3 else "good", line)
        os.close(fd)
        equal(mount.log_lines("err: "), [])


def a_lost_source_is_an_error_and_no_damage(work):
    path = os.path.join(work, "grown.b2frame")
    harness.write(path, samples.frame(DATA, CHUNK))
    with Mount(work, path, "--views=table") as mount:
        fd = os.open(mount.path("chunks.tsv"), os.O_RDONLY)
        with open(path, "r+b") as file:
            file.truncate(1000)
        fails_with(errno.ESTALE, os.pread, fd, LINE, 0)
        os.close(fd)


def picture(path):
    """The root element, after a look at size and form."""
    size = os.stat(path).st_size
    data = harness.read(path)
    equal(size, len(data), f"size of {path}")
    assert size < 293000, f"{path} has {size} bytes"
    root = xml.fromstring(data.decode())
    equal(root.tag, "{http://www.w3.org/2000/svg}svg")
    tags = {element.tag.split("}")[1] for element in root.iter()}
    assert tags <= {"svg", "title", "style", "defs", "pattern", "path", "text",
                    "g", "rect"}, tags
    width, height = (float(root.get(key)) for key in ("width", "height"))
    for cell in root.findall(".//{*}rect"):
        x, y, w, h = (float(cell.get(key))
                      for key in ("x", "y", "width", "height"))
        assert 0 < x and x + w <= width and 0 < y and y + h <= height, \
            f"a cell of {path} lies outside"
        assert cell.find("{*}title").text, f"a cell of {path} is untold"
    return root


def words(root):
    return [text.text for text in root.findall(".//{*}text")]


SPECIAL = ("zeros", "NaN", "one value", "uninitialised")


def counted(root, *kinds):
    """The legend's numbers, which are there unless they are zero."""
    found = [text.split(": ")[1] for text in words(root)
             if text.split(": ")[0] in kinds]
    assert "0" not in found, found
    return sum(int(text.replace(",", "")) for text in found)


def maps_of_all_samples_are_pictures_of_their_chunks(work):
    seen = 0
    with Mount(work, harness.DATA, "--views=info,table,map") as mount:
        for folder, info in containers(mount):
            if info["format"] == "b2z":
                assert not os.path.exists(folder + "/map.svg"), folder
                continue
            root = picture(folder + "/map.svg")
            cells = len(root.findall("{*}rect"))
            assert min(info["nchunks"], 512) <= cells <= 1024 or \
                cells == info["nchunks"], f"{cells} cells in {folder}"
            told = words(root)[1]
            if info.get("codec"):
                names = [info["codec"], *(f["name"] if isinstance(f, dict)
                                          else f for f in info["filters"])]
                assert ", ".join([f"; {info['format']}", *names]) in told, \
                    (folder, told, names)
            rows = table(folder)
            equal(counted(root, *SPECIAL),
                  sum(row["status"] == "good" and row["special"] != "-"
                      for row in rows), f"special chunks of {folder}")
            for status in ("damaged", "unsupported"):
                equal(counted(root, status),
                      sum(row["status"] == status for row in rows),
                      f"{status} chunks of {folder}")
            seen += 1
        equal(mount.process.poll(), None, "the daemon's status")
    assert seen > 100, seen


def a_map_of_very_many_chunks_is_small_and_says_what_it_left_out(work):
    n = 100000
    chunks = [samples.chunk(DATA[i:i + 8]) for i in range(n)]
    entries = [40 * i for i in range(n)]
    zeros = struct.unpack("<q", b"\0" * 7 + b"\x81")[0]
    entries[20000:30000] = [zeros] * 10000
    path = os.path.join(work, "many.b2frame")
    harness.write(path, samples.assemble(bytes(8 * n), 8, chunks, entries,
                                         False))
    with Mount(work, path, "--views=map,table") as mount:
        root = picture(mount.path("map.svg"))
        told = [text for text in words(root) if "sampled: " in text]
        equal(len(told), 1, "mentions of samples")
        looks = int(told[0].split("sampled: ")[1].split(" ")[0]
                    .replace(",", ""))
        assert 8000 < looks <= 16384, told
        equal(counted(root, "not compressed", *SPECIAL), looks)
        hatched = [cell.find("{*}title").text
                   for cell in root.findall(".//{*}rect")
                   if cell.get("fill") == "url(#z)"]
        assert 100 <= len(hatched) <= 103, len(hatched)
        equal(os.stat(mount.path("chunks.tsv")).st_size, LINE * (n + 1))
        with open(mount.path("chunks.tsv"), "rb", buffering=0) as file:
            line = os.pread(file.fileno(), LINE, LINE * n).split()
        equal(line[:4], [b"99999", b"%d" % (97 + 40 * 99999), b"40", b"8"])


def sha(path):
    return hashlib.sha256(harness.read(path)).hexdigest()


def the_file_itself_is_in_raw_under_its_own_name(work):
    source = work + "/source"
    os.mkdir(source)
    frame = samples.frame(DATA, CHUNK)
    names = {"x.b2frame": "x.b2frame", "frame": "frame%~2",
             "chunks": "chunks%~2", "50%41.b2frame": "50%41.b2frame",
             "new\nline.b2frame": "new\nline.b2frame",
             "b" * 255: "b" * 255}
    for name in names:
        harness.write(f"{source}/{name}", frame)
    store = next(name for name in sorted(os.listdir(harness.DATA))
                 if name.endswith(".b2z") and "hostile" in name)
    shutil.copy(os.path.join(harness.DATA, store), source)
    with Mount(work, source, "--views=raw") as mount:
        for name, shown in names.items():
            equal(sorted(os.listdir(mount.path(name, "raw"))),
                  sorted(["chunks", "frame", shown]), f"raw of {name!r}")
            path = mount.path(name, "raw", shown)
            equal(os.stat(path).st_size, len(frame))
            equal(sha(path), hashlib.sha256(frame).hexdigest(), shown)
        inner = [folder for folder, _, _ in
                 harness.walk(mount.path(store))
                 if folder.endswith("/raw") and folder != mount.path(
                     store, "raw")]
        assert inner, "a store without containers"
        for folder in inner:
            name = os.path.basename(os.path.dirname(folder))
            assert set(os.listdir(folder)) == {"chunks", "frame", name}, \
                (folder, os.listdir(folder))
            equal(sha(f"{folder}/{name}"), sha(folder + "/frame"), folder)


def the_reference_library_decodes_a_file_in_raw(work):
    try:
        import numcodecs.blosc  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise harness.Skip("numcodecs is not installed") from error
    with Mount(work, harness.DATA, "--views=data,raw",
               "--formats=chunk:b2frame") as mount:
        for name in ("good-b1-lz4-shuffle.blosc",
                     "good-b1-lz4hc-bitshuffle.blosc",
                     "good-b1-memcpyed.blosc"):
            stored = harness.read(mount.path(name, "raw", name))
            equal(numcodecs.blosc.decompress(stored),
                  harness.read(mount.path(name, "data.bin")), name)


def lines_of(path):
    """items.jsonl as values, after a look at its size and at a part of it."""
    data = harness.read(path)
    equal(os.stat(path).st_size, len(data), f"size of {path}")
    with open(path, "rb", buffering=0) as file:
        equal(os.pread(file.fileno(), 50, len(data) // 2),
              data[len(data) // 2:len(data) // 2 + 50], f"middle of {path}")
    assert not data or data.endswith(b"\n"), path
    return [json.loads(line) for line in data.decode().split("\n")[:-1]]


def lists_of_objects_are_lines_of_json(work):
    with Mount(work, harness.DATA, "--views=info,items") as mount:
        equal(lines_of(mount.path("good-objects.b2frame/items.jsonl")),
              [{"a": 1, "\u00fc": [1, 2, [3, 4]]}, "text", "\u65e5\u672c",
               {"base64": "Ynl0ZXMA"}, None, 3.5, [0, 1, 2, 3, 4], True,
               1 << 40])
        equal(lines_of(mount.path("good-batches.b2b/items.jsonl")),
              [{"i": i, "s": "x" * (i % 13)} for i in range(40)])
        equal(os.listdir(mount.path("good-frame-varchunks.b2frame")),
              ["info.json"])


def as_truth(value):
    """A value as the corpus writes it."""
    if isinstance(value, dict) and set(value) == {"base64"}:
        return {"hex": base64.b64decode(value["base64"]).hex()}
    if isinstance(value, dict):
        return {key: as_truth(item) for key, item in value.items()}
    return [as_truth(item) for item in value] \
        if isinstance(value, list) else value


def lists_of_the_corpus_are_what_their_writer_read(work):
    corpus = os.environ.get("BLOSCFS_CORPUS")
    if not corpus:
        raise harness.Skip("BLOSCFS_CORPUS names no corpus")
    folder = corpus + "/tables/ctable"
    with open(folder + "/TRUTH/lists.b2d.json", encoding="utf-8") as file:
        truth = json.load(file)
    count = 0
    with Mount(work, folder, "--views=items,data") as mount:
        table = mount.path("lists.b2d")
        lives = harness.read(table + "/_valid_rows.b2nd/data.bin")
        for column in truth["columns"]:
            if "sha256_jsonl" not in column["live"]:
                continue
            rows = lines_of(f"{table}/_cols/{column['name']}.b2b/items.jsonl")
            text = "".join(json.dumps(as_truth(row), sort_keys=True,
                                      separators=(",", ":"),
                                      ensure_ascii=False) + "\n"
                           for row, live in zip(rows, lives) if live)
            equal(hashlib.sha256(text.encode()).hexdigest(),
                  column["live"]["sha256_jsonl"], column["name"])
            count += 1
    equal(count, 4, "columns of lists")


if __name__ == "__main__":
    harness.main([
        cut_and_awk_take_a_table_as_it_is,
        tables_of_all_samples_say_what_their_chunks_are,
        a_line_is_found_by_its_number,
        a_lost_source_is_an_error_and_no_damage,
        maps_of_all_samples_are_pictures_of_their_chunks,
        a_map_of_very_many_chunks_is_small_and_says_what_it_left_out,
        the_file_itself_is_in_raw_under_its_own_name,
        the_reference_library_decodes_a_file_in_raw,
        lists_of_objects_are_lines_of_json,
        lists_of_the_corpus_are_what_their_writer_read,
    ])
