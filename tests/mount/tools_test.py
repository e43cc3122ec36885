#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that look: find, tree, grep, cmp, od, sha256sum, file, less."""
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import time

import harness
import programs
import samples
from harness import Mount, equal
from programs import MIB, WORDS, archive, need, tool

ENTRIES = ("chunks", "data.bin", "info.json", "meta", "meta.json", "vlmeta",
           "vlmeta.json")
NAMES = ("holey.b2frame", "text.b2frame", "walk.b2nd")


def chunk_names(made, name):
    """The chunks that a frame has: what pack and make_walk cut it into."""
    stem, step = {"holey.b2frame": ("holey", 512), "text.b2frame":
                  ("text", 256), "walk.b2nd": ("walk", 1024)}[name]
    length = os.path.getsize(made.truth(stem))
    return [f"chunks/{i:010d}" for i in range(-(-length // (step * 1024)))]


def expected(made):
    """Every path of the mount, as find prints it."""
    paths = {".", "./link", "./notes.txt"}
    for name in NAMES:
        more = ["data.npy"] if name == "walk.b2nd" else []
        if name == "walk.b2nd":
            more.append("meta/b2nd")
        for entry in [*ENTRIES, *more, *chunk_names(made, name)]:
            paths.add(f"./{name}/{entry}")
        paths.add("./" + name)
    return sorted(paths)


def find_sees_every_entry_with_and_without_noleaf(work):
    made = archive(work)
    with Mount(work, made.source) as mount:
        for words in ((), ("-noleaf",)):
            said = tool("find", ".", *words, cwd=mount.point)
            equal(sorted(said.split()), expected(made), f"find {words}")
        said = tool("find", ".", "-noleaf", "-size", "+30M", "-type", "f",
                    "-perm", "-444", cwd=mount.point)
        equal(said.split(), ["./holey.b2frame/data.bin"])
        said = tool("find", "-L", ".", "-samefile", "link", cwd=mount.point)
        equal(sorted(said.split()), ["./link", "./text.b2frame/data.bin"])


def tree_draws_names_and_sizes(work):
    need("tree")
    made = archive(work)
    seen = {}

    def walk(node, path):
        seen[path] = node.get("size")
        for inner in node.get("contents", []):
            walk(inner, path + "/" + inner["name"])

    with Mount(work, made.source) as mount:
        said = tool("tree", "-J", "-a", "-s", ".", cwd=mount.point)
    walk(json.loads(said)[0], ".")
    equal(sorted(seen), expected(made))
    for name, truth in made.pairs()[:4]:
        equal(seen["./" + name], os.path.getsize(truth), "size of " + name)


def grep_finds_lines_in_text(work):
    made = archive(work)
    lines = harness.read(made.truth("text")).decode().splitlines()
    with Mount(work, made.source) as mount:
        data = mount.path("text.b2frame/data.bin")
        for word in (*WORDS, "0199999", "nowhere"):
            wanted = [line for line in lines if word in line]
            none = 0 if wanted else 1
            equal(tool("grep", "-c", word, data, status=none),
                  f"{len(wanted)}\n")
            equal(tool("grep", word, data, status=none).splitlines(),
                  wanted, "lines with " + word)
        # Recursively, it is found in the whole and in its chunk.
        said = tool("grep", "-r", "-l", "0199999 ", ".", cwd=mount.point)
        last = chunk_names(made, "text.b2frame")[-1]
        equal(sorted(said.split()), [f"./text.b2frame/{last}",
                                     "./text.b2frame/data.bin"])


def grep_finds_bytes_in_binary(work):
    made = archive(work)
    needle = samples.noise(MIB, 3)[700000:700012]
    pattern = "".join(f"\\x{byte:02x}" for byte in needle)
    with Mount(work, made.source) as mount:
        said = tool("grep", "-a", "-b", "-o", "-P", pattern,
                    mount.path("holey.b2frame/data.bin"), text=False)
        equal(said, b"%d:" % (3 * MIB + 700000) + needle + b"\n")
        said = tool("grep", "-P", pattern, "-r", mount.path("holey.b2frame"),
                    stderr=subprocess.STDOUT)
        equal(sorted(re.findall("holey.b2frame/([^:]*): binary file", said)),
              ["chunks/0000000007", "data.bin"])


def cmp_finds_the_one_byte_that_differs(work):
    made = archive(work)
    other = work + "/other"
    shutil.copy(made.truth("holey"), other)
    with open(other, "r+b") as file:
        file.seek(31 * MIB + 17)
        file.write(b"\1")
    with Mount(work, made.source) as mount:
        data = mount.path("holey.b2frame/data.bin")
        equal(tool("cmp", data, made.truth("holey")), "")
        said = tool("cmp", data, other, status=1)
        assert f" {31 * MIB + 18}, line" in said, said
        equal(tool("cmp", "-i", str(31 * MIB + 18), data, other), "")
        equal(tool("cmp", "-n", str(31 * MIB + 17), data, other), "")


def od_prints_doubles_from_the_middle(work):
    made = archive(work)
    values = [(i - 5000) / 3 * 10.0 ** (i % 40 - 20) for i in range(300000)]
    plain = work + "/doubles"
    harness.write(plain, struct.pack("<300000d", *values))
    programs.pack(plain, made.frame("doubles.b2nd"), "<f8", 300)
    try:
        with Mount(work, made.source) as mount:
            said = tool("od", "-A", "d", "-v", "-t", "f8", "-j", "800000",
                        "-N", "160000", mount.path("doubles.b2nd/data.bin"))
    finally:
        os.unlink(made.frame("doubles.b2nd"))
    rows = [line.split() for line in said.splitlines()]
    equal(rows[0][0], "0800000")
    equal([float(word) for row in rows for word in row[1:]],
          values[100000:120000], "values")


def sha256sum_checks_a_whole_mount(work):
    made = archive(work)
    sums = "".join(f"{programs.sha(truth)}  {name}\n"
                   for name, truth in made.pairs())
    harness.write(work + "/SUMS", sums.encode())
    with Mount(work, made.source) as mount:
        said = tool("sha256sum", "-c", work + "/SUMS", cwd=mount.point)
        equal(said, "".join(name + ": OK\n" for name, _ in made.pairs()))
        harness.write(work + "/SUMS", sums.replace(sums[:4], "0000").encode())
        said = tool("sha256sum", "-c", work + "/SUMS", cwd=mount.point,
                    status=1)
        equal(said.splitlines()[0], "holey.b2frame/data.bin: FAILED")


def file_knows_what_it_is(work):
    need("file")
    made = archive(work)
    with Mount(work, made.source) as mount:
        for name, kind in (("text.b2frame/data.bin", "ASCII text"),
                           ("text.b2frame/info.json", "JSON"),
                           ("walk.b2nd/data.npy", "NumPy"),
                           ("walk.b2nd", "directory"),
                           ("link", "symbolic link")):
            said = tool("file", "-b", mount.path(name))
            assert kind in said, f"{name} is {said}"


def less_reads_to_the_end_of_a_pipe(work):
    need("less")
    made = archive(work)
    with Mount(work, made.source) as mount:
        said = tool("less", "-E", mount.path("text.b2frame/data.bin"))
    equal(said == harness.read(made.truth("text")).decode(), True)


class Terminal:
    """A program in a terminal of 24 lines."""

    def __init__(self, *args):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="vt100", LINES="24", COLUMNS="80",
                              LESS="", LC_ALL="C", LESSHISTFILE="-")
            os.execvp(args[0], args)

    def expect(self, pattern, seconds=30):
        """Reads until the pattern was printed."""
        said = ""
        end = time.monotonic() + seconds
        while not re.search(pattern, said):
            left = end - time.monotonic()
            if left < 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f"no {pattern} in {said!r}")
            said += os.read(self.fd, 65536).decode("ascii", "replace")
        return said

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def end(self):
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = 0
        return status

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.close(self.fd)
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self.end()


def less_jumps_and_searches_in_a_terminal(work):
    need("less")
    made = archive(work)
    lines = harness.read(made.truth("text")).decode().splitlines()
    with Mount(work, made.source) as mount, \
            Terminal("less", mount.path("text.b2frame/data.bin")) as less:
        less.expect(lines[0])
        less.type("G")
        less.expect(lines[-1])
        less.type("150000g")
        less.expect(lines[149999])
        less.type("?0000777 \n")
        less.expect("0000777.+" + lines[777][8:])
        less.type("q")
        equal(less.end(), 0, "exit status")


if __name__ == "__main__":
    harness.main([
        find_sees_every_entry_with_and_without_noleaf,
        tree_draws_names_and_sizes,
        grep_finds_lines_in_text,
        grep_finds_bytes_in_binary,
        cmp_finds_the_one_byte_that_differs,
        od_prints_doubles_from_the_middle,
        sha256sum_checks_a_whole_mount,
        file_knows_what_it_is,
        less_reads_to_the_end_of_a_pipe,
        less_jumps_and_searches_in_a_terminal,
    ])
