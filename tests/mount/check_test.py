#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--check: verdicts, exit codes, order, and that nothing makes it slow or
big."""
import ctypes
import json
import multiprocessing
import os
import pty
import re
import resource
import shutil
import socket
import struct
import subprocess
import time
import zipfile
import zlib

import harness
import samples
from harness import equal

CHUNK = 1 << 12
DATA = samples.noise(16 * CHUNK)
HEADER = "#path\tverdict\tformat\tnbytes\tcbytes\tchunks\terror"
FIELDS = HEADER[1:].split("\t")


def check(*args, **more):
    """Exit status, the lines as dictionaries, stderr."""
    done = harness.run("--check", *args, **more)
    lines = done.stdout.split("\n")
    equal(lines.pop(), "", "what follows the last line end")
    equal(lines[:1], [HEADER], "first line")
    rows = []
    for line in lines[1:]:
        # What is told beside verdicts (examine_test.py).
        if line.startswith(("#damage\t", "#note\t")):
            continue
        values = line.split("\t")
        equal(len(values), len(FIELDS), f"fields of {line!r}")
        rows.append(dict(zip(FIELDS, values)))
    return done.returncode, rows, done.stderr


def verdict(path, *args):
    """The only line's verdict and error; the exit status must fit."""
    status, rows, told = check(*args, path)
    equal(len(rows), 1, f"lines, after {told}")
    equal(rows[0]["path"], path, "path")
    equal(status, 0 if rows[0]["verdict"] == "good" else 1, "exit status")
    return rows[0]["verdict"], rows[0]["error"]


def built_codecs():
    codecs = harness.run("--version").stdout.split("\ncodecs:\n")[1]
    return {line.split()[0]
            for line in codecs.split("\n\n")[0].splitlines()
            if not line.endswith("not in this build")}


def wanted(name, codecs):
    kind = name.split("-")[0]
    if kind == "good":
        return ["good"]
    if kind == "bad":
        return ["damaged", "unsupported"]
    equal(kind, "unsupported", f"the kind of {name}")
    # Some need a library that this build may have.
    return ["good"] if codecs & set(name.split(".")[0].split("-")) \
        else ["unsupported"]


def damaged_frame(*numbers):
    frame = bytearray(samples.frame(DATA, CHUNK))
    for number in numbers:
        at = samples.chunk_offset(number, CHUNK)
        frame[at + 4:at + 16] = b"\xff" * 12
    return bytes(frame)


def bloscpack(pieces):
    """Version 3, with offsets and a digest (adler32) behind each chunk."""
    chunks = [samples.small_chunk(piece) for piece in pieces]
    at, offsets, body = 32 + 8 * len(chunks), [], b""
    for made in chunks:
        offsets.append(at + len(body))
        body += made + struct.pack("<I", zlib.adler32(made))
    head = b"blpk" + struct.pack("<BBBBiiqq", 3, 1, 1, 1, len(pieces[0]),
                                 len(pieces[-1]), len(pieces), 0)
    return head + struct.pack(f"<{len(offsets)}q", *offsets) + body, offsets


def samples_get_the_verdict_of_their_name(_work):
    status, rows, told = check(harness.DATA)
    equal(status, 1, "exit status")
    found, counts, codecs = {}, {}, built_codecs()
    for row in rows:
        equal(row["error"] == "-", row["verdict"] == "good",
              f"no error in {row}")
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
        name = row["path"][len(harness.DATA):].lstrip("/").split("/")[0]
        found.setdefault(name, set()).add(row["verdict"])
    for name in os.listdir(harness.DATA):
        if name.split(".")[0] in ("MANIFEST", "README"):
            continue
        # Formats without magic are not known again once they are damaged.
        if found.get(name) == {"unrecognised"} and \
                name.startswith("bad-") and \
                name.endswith((".blosc", ".blosc2", ".b2packed")):
            continue
        # Of a store, one line of several tells.
        may = set(wanted(name, codecs))
        if not found.get(name, set()) & may or \
                may == {"good"} and found[name] != may:
            raise AssertionError(f"{name} is {found.get(name)}")
    equal(counts["damaged"] >= 10, True, f"enough damage in {counts}")
    equal(f"{counts['good']} good, {counts['damaged']} damaged, "
          f"{counts['unsupported']} unsupported, 0 unreadable, "
          f"{counts['unrecognised']} unrecognised; " in told,
          True, f"the summary {told!r} tells these counts")


def a_line_tells_what_info_json_tells(work):
    path = work + "/a.b2frame"
    harness.write(path, samples.frame(DATA, CHUNK))
    _, rows, _ = check(path)
    equal(rows, [{"path": path, "verdict": "good", "format": "b2frame",
                  "nbytes": str(len(DATA)),
                  "cbytes": str(os.path.getsize(path)), "chunks": "16",
                  "error": "-"}], "lines")


def exit_codes_tell_what_is_wrong(work):
    good, bad = work + "/good.b2frame", work + "/bad.b2frame"
    harness.write(good, samples.frame(DATA, CHUNK))
    harness.write(bad, damaged_frame(3))
    harness.write(work + "/text", b"no container\n")
    os.mkdir(work + "/empty")
    for status, args in [
            (0, [good]), (0, [good, good]), (1, [bad]), (1, [good, bad, good]),
            (3, [work + "/text"]), (3, [work + "/empty"]),
            (3, [work + "/none"]), (3, [bad, work + "/none", good])]:
        got, rows, told = check(*args)
        equal(got, status, f"exit status of {args}, after {told}")
        equal([row["path"] for row in rows],
              [path for path in args
               if not path.endswith(("/text", "/empty"))], "paths")
    for args in ([], ["--jobs=x", good], ["--no_such", good],
                 ["--info", good]):
        done = harness.run("--check", *args)
        equal(done.returncode, 2, f"exit status of {args}")
        equal(done.stdout, "", "output")


def views_and_jobs_change_nothing(work):
    path = work + "/bad.b2frame"
    harness.write(path, damaged_frame(3, 9))
    first = verdict(path)
    equal(first[0], "damaged", "verdict")
    equal(first[1].startswith("chunk 3: "), True, f"place in {first[1]!r}")
    equal(verdict(path, "--views=info"), first, "verdict")
    for jobs in (1, 2, 3, 8):
        for _ in range(5):
            equal(verdict(path, f"--jobs={jobs}"), first, "verdict")
    outputs = {harness.run("--check", f"--jobs={jobs}", harness.DATA).stdout
               for jobs in (1, 2, 8)}
    equal(len(outputs), 1, "different outputs")


def a_tree_is_walked_in_order(work):
    frame = samples.frame(DATA, CHUNK)
    root = work + "/root"
    for folder in ("", "/b", "/b/c", "/a.d", "/empty"):
        os.mkdir(root + folder)
    for name in ("z", "b/2.b2frame", "b/c/x", "b/1\t\n\\.b2frame", "B",
                 "a.d/y"):
        harness.write(f"{root}/{name}", frame)
    samples.write_sparse_frame(root + "/b/sparse", DATA, CHUNK)
    harness.write(root + "/b/plain", b"text")
    harness.write(work + "/outside", damaged_frame(1))
    os.symlink(work + "/outside", root + "/link")
    os.symlink(root, root + "/b/loop")
    os.mkfifo(root + "/fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(root + "/socket")
    status, rows, told = check(root)
    equal([row["path"][len(root) + 1:] for row in rows],
          ["B", "a.d/y", "b/1\\t\\n\\\\.b2frame", "b/2.b2frame", "b/c/x",
           "b/sparse", "z"], "paths")
    equal({row["verdict"] for row in rows}, {"good"}, "verdicts")
    equal(status, 0, f"exit status, after {told}")
    # What is named is followed.
    equal(check(root + "/link")[0], 1, "exit status")


def what_may_not_be_read_is_said(work):
    root = work + "/root"
    os.mkdir(root)
    for name in ("a", "b", "c"):
        harness.write(f"{root}/{name}", samples.frame(DATA, CHUNK))
    os.chmod(root + "/b", 0)
    os.mkdir(root + "/d", 0)
    status, rows, _ = check(root, user=harness.NOBODY)
    equal([(row["path"][-1], row["verdict"]) for row in rows],
          [("a", "good"), ("b", "unreadable"), ("c", "good"),
           ("d", "unreadable")], "lines")
    equal(rows[1]["error"], "Permission denied", "error")
    equal(status, 1, "exit status")
    equal(check(root + "/b", user=harness.NOBODY)[0], 3, "exit status")


def checksums_are_verified(work):
    path = work + "/a.blp"
    made, offsets = bloscpack([DATA[i:i + CHUNK]
                               for i in range(0, len(DATA), CHUNK)])
    harness.write(path, made)
    equal(verdict(path), ("good", "-"), "verdict")
    for number, at in ((5, offsets[5] + 16 + 100), (7, offsets[8] - 1)):
        broken = bytearray(made)
        broken[at] ^= 1
        harness.write(path, broken)
        word, error = verdict(path)
        equal(word, "damaged", "verdict")
        equal(error.startswith(f"chunk {number}: "), True, error)


def said_of_all(top, work):
    """What is told of each container of a folder: by --check, by info.json, and
    by the log of whoever reads them."""
    said = [row["error"] for row in check(top)[1]]
    with harness.Mount(work, top, "--views=info,data,chunks,npy") as mount:
        for at, _, names in os.walk(mount.point):
            for name in names:
                try:
                    with open(os.path.join(at, name), "rb") as file:
                        data = file.read(1 << 20)
                except OSError:
                    continue
                if name == "info.json":
                    said.append(json.loads(data).get("error", "-"))
        said += mount.log_lines("err: ") + mount.log_lines("warning: ")
    return [text for text in said if text != "-"]


def no_reason_tells_its_place_twice(work):
    top = os.path.join(work, "top")
    shutil.copytree(harness.DATA, top, ignore=lambda at, names: [
        name for name in names if at == harness.DATA and
        not name.startswith(("bad-", "unsupported-"))])
    corpus = os.environ.get("BLOSCFS_CORPUS")
    if corpus:
        shutil.copytree(corpus + "/corrupt", top + "/corrupt")
    made, offsets = bloscpack([DATA[:CHUNK], DATA[CHUNK:2 * CHUNK]])
    made = bytearray(made)
    made[offsets[1] + 16 + 100] ^= 1
    harness.write(top + "/sum.blp", made)
    harness.write(top + "/header.b2frame", damaged_frame(2, 3))
    said = said_of_all(top, work)
    assert len(said) > 60, said
    for text in said:
        chunk = re.search(r"chunk (\d+): ", text)
        if chunk:
            rest = text[chunk.end():]
            assert not re.search(rf"\bchunk {chunk[1]}\b", rest), text
        # A byte, a phrase, a name.
        assert not re.search(r"\b(?:at|byte|offset) (\d+)\b, (?:at byte|"
                             r"offset) \1\b", text), text
        assert not re.search(r"(?:^|[:,] )([^:,]{3,})[:,] \1(?:$|[:, ])",
                             text), text


def damage_is_worse_than_what_is_unsupported(work):
    with open(harness.DATA + "/unsupported-frame-codec250.b2frame",
              "rb") as file:
        frame = bytearray(file.read())
    path = work + "/a.b2frame"
    harness.write(path, frame)
    equal(verdict(path)[0], "unsupported", "verdict")
    # The last chunk of the frame ends where the index begins.
    header_len = struct.unpack(">i", frame[11:15])[0]
    cbytes = struct.unpack(">q", frame[39:47])[0]
    at = header_len
    for _ in range(5):
        at += struct.unpack("<i", frame[at + 12:at + 16])[0]
    equal(at + struct.unpack("<i", frame[at + 12:at + 16])[0],
          header_len + cbytes, "end of the last chunk")
    frame[at + 4:at + 8] = b"\xff" * 4
    harness.write(path, frame)
    word, error = verdict(path)
    equal((word, error.startswith("chunk 5: ")), ("damaged", True), error)


def missing_chunk_files_are_damage(work):
    path = work + "/sparse"
    samples.write_sparse_frame(path, DATA, CHUNK)
    equal(verdict(path), ("good", "-"), "verdict")
    os.remove(path + "/00000009.chunk")
    word, error = verdict(path)
    equal((word, error.startswith("chunk 9: ")), ("damaged", True), error)


def containers_in_a_store_have_lines_of_their_own(work):
    path = work + "/a.b2z"
    members = {"embed.b2e": samples.frame(DATA, CHUNK),
               "group/bad.b2frame": damaged_frame(2),
               "group/fine.b2frame": samples.frame(DATA, CHUNK),
               "note.txt": b"text"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as store:
        for name, data in members.items():
            store.writestr(name, data)
    status, rows, _ = check(path)
    equal([row["path"][len(path):] for row in rows],
          ["", "/embed.b2e", "/group/bad.b2frame", "/group/fine.b2frame"],
          "paths")
    equal([row["verdict"] for row in rows],
          ["good", "good", "damaged", "good"], "verdicts")
    equal(rows[2]["error"].startswith("chunk 2: "), True, rows[2]["error"])
    equal(status, 1, "exit status")


def part_of_a_file_can_be_checked(work):
    path = work + "/big"
    frame = samples.frame(DATA, CHUNK)
    harness.write(path, b"\0" * 1000 + frame + b"\0" * 1000)
    equal(check(path)[0], 3, "exit status")
    status, rows, told = check("--offset=1000", f"--length={len(frame)}",
                               path)
    equal((status, [row["verdict"] for row in rows]), (0, ["good"]),
          f"verdict, after {told}")
    equal(check("--offset=10", path)[0], 3, "exit status")


def absurd_sizes_end_at_once(work):
    with open(harness.DATA + "/good-frame-tib-zeros.b2frame", "rb") as file:
        frame = bytearray(file.read())
    count = 1 << 27
    chunk_len = struct.unpack(">i", frame[58:62])[0]
    equal(chunk_len, 1 << 30, "chunk size of the sample")
    frame[30:38] = struct.pack(">q", count * chunk_len)
    at = samples.HEADER_LEN
    frame[at + 4:at + 8] = struct.pack("<i", 8 * count)
    for kind, word in ((0x81, "good"), (0x82, "good"), (0x87, "damaged")):
        frame[at + 32:at + 40] = bytes([0] * 7 + [kind])
        harness.write(work + "/a.b2frame", frame)
        start = time.monotonic()
        status, rows, told = check(work + "/a.b2frame")
        equal(time.monotonic() - start < 10, True, "soon enough")
        equal(rows[0]["verdict"], word, f"verdict of {rows}, {told},")
        equal(rows[0]["chunks"], str(count), "chunks")
        equal(status, int(word != "good"), "exit status")


def make_big_frame(path):
    harness.write(path, samples.frame(samples.noise(1 << 20) * 256, 8 << 20,
                                      1 << 20))


def memory_stays_bounded(work):
    path = work + "/big.b2frame"
    # What this process takes would count as the child's.
    maker = multiprocessing.Process(target=make_big_frame, args=(path,))
    maker.start()
    maker.join()
    equal(maker.exitcode, 0, "exit status of the maker")
    child = subprocess.Popen([harness.BLOSCFS, "--check", "--jobs=2", path,
                              harness.DATA], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    equal(child.returncode, 1, "exit status")
    equal(usage.ru_maxrss < 300 << 10, True,
          f"{usage.ru_maxrss} KiB are less than 300 MiB")


def open_terminal():
    """A terminal of our own; where /dev has none, as in a bare chroot, in a
    namespace that has."""
    try:
        return pty.openpty()
    except OSError:
        if os.geteuid() != 0 or \
                ctypes.CDLL(None, use_errno=True).unshare(0x00020000):
            raise harness.Skip("there are no terminals here") from None
    for words in (["-t", "devpts", "-o", "newinstance,ptmxmode=0666",
                   "devpts", "/dev/pts"],
                  ["--bind", "/dev/pts/ptmx", "/dev/ptmx"]):
        subprocess.run(["mount", *words], check=True, timeout=20)
    return pty.openpty()


def progress_is_for_terminals_alone(work):
    path = work + "/a.b2frame"
    harness.write(path, samples.frame(DATA, CHUNK))
    equal("\r" in check(path)[2], False, "progress in a pipe")
    ours, theirs = open_terminal()
    done = subprocess.run([harness.BLOSCFS, "--check", path],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=theirs, timeout=30, check=False)
    told = ""
    while not told.endswith("/s\r\n"):
        told += os.read(ours, 65536).decode()
    os.close(theirs)
    os.close(ours)
    equal(done.returncode, 0, "exit status")
    equal(done.stdout.decode().count("\n"), 2, "lines")
    equal(" of 1 containers" in told, True, f"progress in {told!r}")
    last = told.rsplit("\r\033[K", 1)[1]
    equal(last.startswith("bloscfs: 1 good, "), True,
          f"the summary is all that stays of {told!r}")


def output_that_cannot_be_written_is_an_error(work):
    path = work + "/a.b2frame"
    harness.write(path, samples.frame(DATA, CHUNK))
    with open("/dev/full", "wb") as full:
        done = subprocess.run([harness.BLOSCFS, "--check", path],
                              stdin=subprocess.DEVNULL, stdout=full,
                              stderr=subprocess.PIPE, timeout=30,
                              check=False)
    equal(done.returncode, 1, "exit status")
    equal(b"cannot write" in done.stderr, True, done.stderr)


def a_mount_is_no_source(work):
    """Nor is what lies in one; a plain file that it shows is one."""
    source = work + "/source"
    os.mkdir(source)
    harness.write(source + "/a.b2frame", samples.frame(DATA, CHUNK))
    harness.write(source + "/left.b2frame", samples.frame(DATA, CHUNK))
    with harness.Mount(work, source, "--exclude=left*") as mount:
        for path in ("", "a.b2frame", "a.b2frame/chunks"):
            status, rows, told = check(mount.path(path))
            equal((status, rows), (3, []), f"verdicts on {path!r}")
            equal(f"'{mount.path(path)}' lies in a mount of bloscfs" in told,
                  True, told)
            equal("holds none" in told, False, told)
        equal(verdict(mount.path("left.b2frame")), ("good", "-"), "verdict")
        # Beside a source that is one the right verdicts are there.
        status, rows, told = check(mount.path(""), source)
        equal([row["verdict"] for row in rows], ["good", "good"], told)
        equal(status, 3, "exit status")
        # Below a folder a mount is passed over, as in a mount.
        status, rows, told = check(work)
        equal([row["verdict"] for row in rows], ["good", "good"], told)
        equal(status, 0, "exit status")


def info_of_a_folder_in_a_mount_is_refused(work):
    name = "good-frame-metalayers.b2frame"
    with harness.Mount(work, harness.DATA) as mount:
        told = harness.run("--info", mount.path(name))
        assert told.returncode and "lies in a mount" in told.stderr, told
        assert "info.json" in told.stderr, told


def few_descriptors_are_enough(work):
    """A deep and wide tree, with room for twenty open files."""
    folder = work
    for i in range(60):
        folder += f"/{i}"
        os.mkdir(folder)
        harness.write(folder + "/a", samples.frame(DATA[:64], 64))
    status, rows, told = check(
        work, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                    (20, 20)))
    equal((status, len(rows)), (0, 60), f"status and lines, after {told}")


harness.main([
    samples_get_the_verdict_of_their_name,
    a_line_tells_what_info_json_tells,
    exit_codes_tell_what_is_wrong,
    views_and_jobs_change_nothing,
    a_tree_is_walked_in_order,
    what_may_not_be_read_is_said,
    checksums_are_verified,
    no_reason_tells_its_place_twice,
    damage_is_worse_than_what_is_unsupported,
    missing_chunk_files_are_damage,
    containers_in_a_store_have_lines_of_their_own,
    part_of_a_file_can_be_checked,
    absurd_sizes_end_at_once,
    memory_stays_bounded,
    progress_is_for_terminals_alone,
    output_that_cannot_be_written_is_an_error,
    a_mount_is_no_source,
    info_of_a_folder_in_a_mount_is_refused,
    few_descriptors_are_enough,
])
