#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--cat: the files of a container without a mount."""
import os
import pty
import signal
import subprocess

import harness
import samples
from harness import equal

DATA = samples.noise(3 << 20)
CHUNK = 1 << 20


def cat(*args, **more):
    return subprocess.run([harness.BLOSCFS, "--cat", *args], check=False,
                          stdin=subprocess.DEVNULL, timeout=60,
                          stderr=subprocess.PIPE, **more)


def output(*args):
    done = cat(*args, stdout=subprocess.PIPE)
    equal(done.returncode, 0, done.stderr)
    return done.stdout


def frame(work):
    path = work + "/x.b2frame"
    harness.write(path, samples.frame(DATA, CHUNK))
    return path


def it_writes_the_bytes_that_a_mount_shows(work):
    path = frame(work)
    equal(output(path, "data.bin"), DATA)
    equal(output(path, "chunks/0000000001"), DATA[CHUNK:2 * CHUNK])
    with harness.Mount(work, path, "-oviews=info,data,table,raw") as mount:
        for name in ("info.json", "chunks.tsv", "raw/frame"):
            equal(output("--views=info,data,table,raw", path, name),
                  harness.read(mount.path(name)), name)


def entries_follow_one_another(work):
    path = frame(work)
    equal(output(path, "chunks/0000000002", "/chunks//0000000000"),
          DATA[2 * CHUNK:] + DATA[:CHUNK])


def every_view_is_there_unless_some_are_named(work):
    path = frame(work)
    assert output(path, "map.svg").startswith(b"<svg") or \
        output(path, "map.svg").startswith(b"<?xml")
    equal(cat("--views=info", path, "map.svg",
              stdout=subprocess.DEVNULL).returncode, 1)


def members_of_stores_are_found_by_their_path(_work):
    stores = [n for n in sorted(os.listdir(harness.DATA))
              if n.startswith("good-") and n.endswith(".b2z")]
    assert stores, "no sample of a store"
    path = os.path.join(harness.DATA, stores[0])
    assert output(path, "info.json").startswith(b"{")


def what_cannot_be_written_says_why(work):
    path = frame(work)
    for args, code, word in (
            ((path, "nothing"), 1, b"nothing"),
            ((path, "data.bin/x"), 1, b"data.bin/x"),
            ((path, "n" * 3000), 1, b"no '"),
            ((path, "chunks"), 1, b"folder"),
            ((path, ""), 1, b"folder"),
            ((path,), 2, b"--cat"),
            ((work + "/none", "data.bin"), 3, b"none"),
            ((work, "data.bin"), 3, b"folder")):
        done = cat(*args, stdout=subprocess.PIPE)
        equal((done.returncode, done.stdout), (code, b""), str(args)[:80])
        assert word in done.stderr and done.stderr.count(b"\n") == 1, \
            (args, done.stderr)


def damage_ends_it_behind_what_is_sound(work):
    path = work + "/x.b2frame"
    raw = bytearray(samples.frame(DATA, CHUNK))
    place = raw.find(DATA[2 * CHUNK + 1000:2 * CHUNK + 1064])
    assert place > 0, "the sample is compressed"
    harness.write(path, bytes(raw[:place]))
    done = cat(path, "data.bin", stdout=subprocess.PIPE)
    equal(done.returncode, 1)
    assert done.stderr.count(b"\n") == 1, done.stderr


def a_full_disk_and_a_reader_that_left_are_told(work):
    path = frame(work)
    with open("/dev/full", "wb") as full:
        done = cat(path, "data.bin", stdout=full)
    equal(done.returncode, 1)
    assert b"No space left" in done.stderr, done.stderr
    process = subprocess.Popen([harness.BLOSCFS, "--cat", path, "data.bin"],
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal(process.stdout.read(100), DATA[:100])
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(30) in (1, -signal.SIGPIPE), said


def on_a_terminal(*args):
    """The exit status, what a terminal got, and what was said."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([harness.BLOSCFS, "--cat", *args],
                               stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=subprocess.PIPE)
    os.close(theirs)
    got = harness.shown(ours)
    said = process.stderr.read().decode()
    process.stderr.close()
    return process.wait(30), got.replace(b"\r\n", b"\n"), said


def what_is_no_text_is_kept_from_a_terminal(work):
    path = frame(work)
    status, got, said = on_a_terminal(path, "data.bin")
    equal((status, got, said.count("\n")), (1, b"", 1), said)
    assert "data.bin" in said and "--force" in said, said
    equal(on_a_terminal(path, "info.json"), (0, output(path, "info.json"), ""))
    # A character may lie across two pieces; texts may have any but controls.
    text = ("a" + "\N{EURO SIGN}\u00e9\U0001f600\t\n" * (3 << 17)).encode()
    harness.write(path, samples.frame(text, CHUNK))
    equal(on_a_terminal(path, "data.bin"), (0, text, ""))
    for bad in (b"\x1b[2J", b"\0", b"\xff", b"\xc2\x9b1m", b"\x80", b"a\x7f"):
        harness.write(path, samples.frame(b"text " + bad + b" text", 64))
        status, got, said = on_a_terminal(path, "data.bin")
        equal((status, got), (1, b""), bad)
        assert "no text" in said, said
    harness.write(path, samples.frame(b"\x01\xff\x02", 64))
    equal(on_a_terminal("--force", path, "data.bin"), (0, b"\x01\xff\x02", ""))
    for form in "--info", "--check":
        equal(harness.run(form, "--force", path).returncode, 2, form)
    equal(harness.run("-o", "force", path, work).returncode, 2)


if __name__ == "__main__":
    harness.main([
        it_writes_the_bytes_that_a_mount_shows,
        entries_follow_one_another,
        every_view_is_there_unless_some_are_named,
        members_of_stores_are_found_by_their_path,
        what_cannot_be_written_says_why,
        damage_ends_it_behind_what_is_sound,
        a_full_disk_and_a_reader_that_left_are_told,
        what_is_no_text_is_kept_from_a_terminal,
    ])
