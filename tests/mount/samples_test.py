#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every sample of the repository, through a mount: listings, sizes, bytes."""
import ast
import concurrent.futures
import errno
import hashlib
import json
import os
import struct

import harness
import samples
from harness import Mount, equal


def npy_start(path):
    """Where the items start, and the header."""
    with open(path, "rb") as file:
        magic = file.read(8)
        equal(magic[:6], b"\x93NUMPY", "magic")
        wide = magic[6] >= 2
        length = struct.unpack("<I" if wide else "<H",
                               file.read(4 if wide else 2))[0]
        head = ast.literal_eval(file.read(length).decode("utf-8"))
    start = 8 + (4 if wide else 2) + length
    equal(start % 64, 0, "start of the items, modulo 64,")
    return start, head


# The default and blocks, which rows of variable-length blocks are about.
VIEWS = "--views=info,data,npy,chunks,meta,blocks"
MIB = 1 << 20
MOST = 4 * MIB  # of a file in what is damaged


def containers(path, kind):
    """The paths of a sample's directories that have an info.json: its own,
    and those of what lies in it. A store in a plain folder has none."""
    inside = {samples.enter(row[2])[0]
              for row in samples.manifest(harness.DATA)
              if row[0] == path}
    folders = {os.fsdecode(name).rstrip("/") for name in inside if name}
    return sorted({os.path.join(path, name) for name in folders} |
                  (set() if kind == "b2d" else {path}))


def check_row(base, what, length, sha):
    entry, has_header = samples.entry_of(what)
    path = os.path.join(base, entry)
    size = os.stat(path).st_size
    start = npy_start(path)[0] if has_header else 0
    if samples.enter(what)[1].startswith(("range:", "npyrange:")):
        offset = int(what.split(":")[-1].split("+")[0])
        with open(path, "rb", buffering=0) as file:
            data = os.pread(file.fileno(), int(length), start + offset)
    else:
        equal(size, start + int(length), "st_size")
        data = harness.read(path)[start:]
    equal(len(data), int(length), "length")
    if sha != "-":
        equal(hashlib.sha256(data).hexdigest(), sha, "sha256")


def touch(path):
    """Reads a file, of one that claims to be long both ends; the bytes."""
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        return sum(len(os.pread(file.fileno(), MIB, at)) for at in
                   {*range(0, min(size, MOST), MIB), max(0, size - MIB)})


def touch_all(base):
    """Reads all there is, until it is much; how many reads failed as they
    may."""
    failed = n_bytes = 0
    for folder, _, names in harness.walk(base):
        for name in names:
            try:
                n_bytes += touch(os.path.join(folder, name))
            except OSError as error:
                if error.errno not in (errno.EIO, errno.EOPNOTSUPP):
                    raise
                failed += 1
            if n_bytes > 4 * MOST:
                return failed
    return failed


def check_damaged(base, notes):
    if os.path.isfile(base) or not os.path.exists(base + b"/info.json"):
        # Not recognised: it passes through as it is.
        if os.path.isfile(base):
            touch(base)
        else:
            touch_all(base)
        return
    failed = touch_all(base)
    info = json.loads(harness.read(os.path.join(base, b"info.json")))
    if "expect=error" in notes and not failed:
        assert info["status"] != "good", "damage without an error"


def collect(rows, jobs, mount):
    """All complaints about these rows."""
    def check(row):
        path, _, what, length, sha, notes = row
        base = os.fsencode(mount.path(path))
        try:
            if what == "corrupt":
                check_damaged(base, notes)
            else:
                check_row(base, what, length, sha)
        except (OSError, ValueError, SyntaxError, AssertionError) as error:
            return f"{path} {what}: {type(error).__name__}: {error}"
        return None

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [text for text in pool.map(check, rows) if text]


def every_row_of_the_manifest_is_served_as_it_says(work):
    rows = [row for row in samples.manifest(harness.DATA)
            if not row[0].startswith("unsupported-")]
    assert len(rows) > 20, "too few samples"
    with Mount(work, harness.DATA, VIEWS) as mount:
        complaints = collect(rows, 4, mount)
        equal(mount.process.poll(), None, "the daemon's status")
    assert not complaints, "\n".join(complaints)


def listings_agree_with_info(work):
    rows = samples.manifest(harness.DATA)
    paths = {row[0]: row[1] for row in rows if row[0].startswith("good-")}
    stores = 0
    with Mount(work, harness.DATA) as mount:
        for path in sorted(paths):
            for name in containers(path, paths[path]):
                stores += check_listing(mount.path(name), name)
    assert stores > 0, "no store among the samples"


def check_listing(base, path):
    """Whether this was a store, which has members instead of data."""
    info = json.loads(harness.read(base + "/info.json"))
    equal(info["status"], "good", f"status of {path}")
    names = os.listdir(base)
    if info["format"] == "b2z":
        assert "chunks" not in names, f"{path} has chunks"
        assert len(names) > 1, f"{path} has no members"
        return True
    equal(sorted(os.listdir(base + "/chunks")),
          [f"{i:010d}" for i in range(info["nchunks"])], f"chunks of {path}")
    for name in ("data.bin", "meta", "vlmeta", "meta.json", "vlmeta.json"):
        assert name in names, f"{path} has no {name}"
    json.loads(harness.read(base + "/meta.json"))
    json.loads(harness.read(base + "/vlmeta.json"))
    return False


def what_no_codec_here_decodes_says_so(work):
    rows = [row for row in samples.manifest(harness.DATA)
            if row[0].startswith("unsupported-")]
    decoded = []
    with Mount(work, harness.DATA) as mount:
        for path in sorted({row[0] for row in rows}):
            base = mount.path(path)
            info = json.loads(harness.read(base + "/info.json"))
            if info["status"] == "good":
                # This build has the library for it.
                decoded += [row for row in rows if row[0] == path and
                            row[2] != "corrupt"]
                continue
            equal(info["status"], "unsupported", f"status of {path}")
            harness.fails_with(errno.EOPNOTSUPP, harness.read,
                               base + "/data.bin")
        complaints = collect(decoded, 4, mount)
    assert not complaints, "\n".join(complaints)


def npy_opens_as_a_mapped_array(work):
    try:
        import numpy
    except ImportError:
        raise harness.Skip("numpy is not installed") from None
    rows = [row for row in samples.manifest(harness.DATA)
            if samples.enter(row[2])[1] == "npy" and
            row[0].startswith("good-")]
    assert rows, "no array among the samples"
    with Mount(work, harness.DATA) as mount:
        for path, _, what, length, sha, _ in rows:
            entry = os.fsdecode(samples.entry_of(what)[0])
            name = mount.path(path, entry)
            array = numpy.load(name, mmap_mode="r") if int(length) else \
                numpy.load(name)
            if int(length) and array.ndim:
                assert isinstance(array, numpy.memmap), f"{path} not mapped"
            equal(array.nbytes, int(length), f"nbytes of {path}")
            if sha != "-":
                equal(hashlib.sha256(array.tobytes(order="A")).hexdigest(),
                      sha, f"sha256 of {path}")
            # A mapping keeps the mount busy.
            del array


def each_sample_mounts_alone(work):
    rows = [row for row in samples.manifest(harness.DATA)
            if samples.enter(row[2])[1] in ("data", "npy") and
            row[0].startswith("good-")]
    # One of each kind: a frame, an array, a folder that is one, a store ...
    picked = {row[1]: row for row in rows}
    assert len(picked) >= 10, "too few kinds"
    for path, kind, what, length, sha, _ in picked.values():
        source = os.path.join(harness.DATA, path)
        with Mount(work, source) as mount:
            check_row(os.fsencode(mount.point), what, length, sha)
            equal("info.json" in os.listdir(mount.point), kind != "b2d",
                  f"info.json of {path}")


if __name__ == "__main__":
    harness.main([
        every_row_of_the_manifest_is_served_as_it_says,
        listings_agree_with_info,
        what_no_codec_here_decodes_says_so,
        npy_opens_as_a_mapped_array,
        each_sample_mounts_alone,
    ])
