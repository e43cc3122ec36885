#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Views about chunks, which appear when they are named: the table."""
import errno
import json
import os

import harness
import samples
from damage_test import damaged_frame
from harness import Mount, equal, fails_with

DATA = samples.noise(1 << 20)
CHUNK = 1 << 16
LINE = 128
NAMES = ["chunk", "offset", "cbytes", "nbytes", "codec", "filters",
         "special", "blocks", "status"]


def containers(mount):
    """The directories of all containers, and their facts."""
    for folder, _, names in os.walk(mount.point):
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
        rows.append([field.strip(" ") for field in line[:-1].split("\t")])
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


if __name__ == "__main__":
    harness.main([
        tables_of_all_samples_say_what_their_chunks_are,
        a_line_is_found_by_its_number,
        a_lost_source_is_an_error_and_no_damage,
    ])
