# SPDX-License-Identifier: BSD-3-Clause
"""Containers made here, byte by byte, and the samples of the repository.

The chunks made here are stored, not compressed: what they hold is what the
mount must show. docs/formats/ describes the layouts.
"""
import hashlib
import json
import os
import struct
import zlib
from urllib.parse import unquote_to_bytes

HEADER_LEN = 97


def noise(length, seed=1):
    """Bytes that are the same each time and nowhere alike."""
    parts = []
    for i in range(length // 32 + 1):
        parts.append(hashlib.sha256(b"%d %d" % (seed, i)).digest())
    return b"".join(parts)[:length]


def small_chunk(data):
    """A bare chunk as of version 2: sixteen bytes, then the data."""
    return struct.pack("<BBBBiii", 2, 1, 0x02, 1, len(data), len(data),
                       16 + len(data)) + data


def chunk(data, typesize=1, block=None):
    """A stored chunk of version 5, header of thirty-two bytes."""
    head = struct.pack("<BBBBiii", 5, 1, 0x07, typesize, len(data),
                       block or len(data), 32 + len(data))
    return head + bytes(16) + data


def deflated_chunk(data, typesize=1):
    """The same of one block, by zlib."""
    stream = zlib.compress(data)
    head = struct.pack("<BBBBiii", 5, 1, 0x75, typesize, len(data), len(data),
                       40 + len(stream))
    return head + bytes(16) + struct.pack("<ii", 36, len(stream)) + stream


def trailer(vlmetas=()):
    """vlmetas: pairs of a name and its value, both bytes."""
    names, values = b"", b""
    start = 12 + sum(6 + len(name) for name, _ in vlmetas)
    for name, value in vlmetas:
        stored = chunk(value)
        names += (bytes([0xa0 + len(name)]) + name + b"\xd2" +
                  struct.pack(">i", start + len(values)))
        values += b"\xc6" + struct.pack(">I", len(stored)) + stored
    n = struct.pack(">H", len(vlmetas))
    body = (b"\x94\x01\x93\xcd" + struct.pack(">H", 6 + len(names)) +
            b"\xde" + n + names + b"\xdc" + n + values)
    end = b"\xce" + struct.pack(">I", len(body) + 23) + b"\xd8\x00"
    return body + end + bytes(16)


def cut(data, chunk_len, block):
    """The chunks of a frame."""
    chunks = []
    for i in range(0, len(data), chunk_len):
        piece = data[i:i + chunk_len]
        chunks.append(chunk(piece, block=min(block or len(piece),
                                             len(piece))))
    return chunks


def array_layer(shape, chunks, blocks, dtype):
    """The metalayer that makes an array of a frame."""
    dims = [struct.pack(f">B{len(shape) * ('B' + code)}", 0x90 + len(shape),
                        *(part for n in extents for part in (mark, n)))
            for extents, mark, code in ((shape, 0xd3, "q"),
                                        (chunks, 0xd2, "i"),
                                        (blocks, 0xd2, "i"))]
    return (bytes([0x97, 0, len(shape)]) + b"".join(dims) + b"\0\xdb" +
            struct.pack(">I", len(dtype)) + dtype)


def layers(layer, name=b"b2nd"):
    """The end of a header: at most one metalayer."""
    if not layer:
        return b"\x93\xcd\x00\x07\xde\x00\x00\xdc\x00\x00"
    return (b"\x93\xcd" + struct.pack(">H", 13 + len(name)) +
            b"\xde\x00\x01" + bytes([0xa0 + len(name)]) + name + b"\xd2" +
            struct.pack(">i", HEADER_LEN + 6 + len(name)) +
            b"\xdc\x00\x01\xc6" + struct.pack(">I", len(layer)) + layer)


def assemble(data, chunk_len, chunks, entries, sparse, layer=b"",
             name=b"b2nd", typesize=1):
    """Header, chunks unless they lie in files of their own, index, trailer.
    Of data the length alone matters."""
    last = layers(layer, name)
    head_len = HEADER_LEN - len(layers(b"")) + len(last)
    stored = sum(map(len, chunks))
    body = b"" if sparse else b"".join(chunks)
    index = chunk(struct.pack(f"<{len(entries)}q", *entries), 8) \
        if entries else b""
    tail = trailer()
    total = head_len + len(body) + len(index) + len(tail)
    head = (b"\x9e\xa8b2frame\0" + b"\xd2" + struct.pack(">i", head_len) +
            b"\xcf" + struct.pack(">Q", total) +
            b"\xa4\x12" + bytes([sparse]) + b"\x05\x03" +
            b"\xd3" + struct.pack(">q", len(data)) +
            b"\xd3" + struct.pack(">q", stored) +
            b"\xd2" + struct.pack(">i", typesize) +
            b"\xd2" + struct.pack(">i", 0) +
            b"\xd2" + struct.pack(">i", chunk_len) +
            b"\xd1\x00\x01\xd1\x00\x01\xc2\xd8\x06" + bytes(16) + last)
    return head + body + index + tail


def frame(data, chunk_len, block=None):
    """A contiguous frame of chunks in order."""
    chunks = cut(data, chunk_len, block)
    entries, at = [], 0
    for made in chunks:
        entries.append(at)
        at += len(made)
    return assemble(data, chunk_len, chunks, entries, False)


def with_vlmetas(whole, vlmetas):
    """A frame without metalayers of variable length, and these."""
    body = whole[:-len(trailer())] + trailer(vlmetas)
    return body[:16] + struct.pack(">Q", len(body)) + body[24:]


def holey_array():
    """Eight bytes in four chunks, of which two are special ones of zeros."""
    chunks = [chunk(b"ab"), chunk(b"cd")]
    zeros = -(0x7f << 56)
    return assemble(bytes(8), 2, chunks, [0, zeros, len(chunks[0]), zeros],
                    False, array_layer([8], [2], [2], b"|u1"))


def half_proxy():
    """A proxy that fetched two chunks of four."""
    chunks = [chunk(b"ab"), chunk(b"cd")]
    never = -(0x7c << 56)
    return assemble(bytes(8), 2, chunks, [0, never, len(chunks[0]), never],
                    False, b"\x81\xa7urlpath\xa1x", b"proxy-source")


def grow(path, data, chunk_len):
    """Makes a frame of the first chunks of data one of all of them, in the
    steps of C-Blosc2: chunks and index over the old index, then the header,
    then the trailer."""
    whole, tail = frame(data, chunk_len), len(trailer())
    with open(path, "r+b", buffering=0) as file:
        start = HEADER_LEN
        os.lseek(file.fileno(), 0x27, os.SEEK_SET)
        start += struct.unpack(">q", file.read(8))[0]
        os.pwrite(file.fileno(), whole[start:-tail], start)
        os.pwrite(file.fileno(), whole[:HEADER_LEN], 0)
        os.pwrite(file.fileno(), whole[-tail:], len(whole) - tail)


def write_sparse_frame(folder, data, chunk_len):
    """A frame that is a directory: one file for each chunk."""
    chunks = cut(data, chunk_len, None)
    os.makedirs(folder, exist_ok=True)
    for i, made in enumerate(chunks):
        with open(f"{folder}/{i:08X}.chunk", "wb") as file:
            file.write(made)
    with open(folder + "/chunks.b2frame", "wb") as file:
        file.write(assemble(data, chunk_len, chunks,
                            list(range(len(chunks))), True))


def write_column(path, values, chunklen, dtype="int64", attrs=None):
    """A column of bcolz of whole numbers; its bytes."""
    data = struct.pack(f"<{len(values)}q", *values)
    files = {
        "meta/sizes": json.dumps({"shape": [len(values)],
                                  "nbytes": len(data), "cbytes": 0}).encode(),
        "meta/storage": json.dumps({
            "dtype": dtype, "cparams": {"clevel": 5, "shuffle": 1},
            "chunklen": chunklen, "expectedlen": len(values),
            "dflt": 0}).encode(),
    }
    if attrs is not None:
        files["__attrs__"] = attrs
    for i in range(0, len(values), chunklen):
        piece = data[8 * i:8 * (i + chunklen)]
        files[f"data/__{i // chunklen}.blp"] = \
            b"blpk\1\0\0\0" + struct.pack("<q", 1) + \
            struct.pack("<BBBBiii", 2, 1, 0x13, 8, len(piece), len(piece),
                        len(piece) + 16) + piece
    os.makedirs(path + "/data")
    os.mkdir(path + "/meta")
    for name, held in files.items():
        with open(os.path.join(path, name), "wb") as file:
            file.write(held)
    return data


def chunk_offset(number, chunk_len):
    """Where a chunk of frame() starts in the file."""
    return HEADER_LEN + number * (32 + chunk_len)


def escape(name):
    """The file name of a metalayer."""
    if name in (b"", b".", b".."):
        return {b"": b"%", b".": b"%2E", b"..": b"%2E%2E"}[name]
    return b"".join(b"%%%02X" % c if c < 0x20 or c in (0x25, 0x2F, 0x7F)
                    else bytes([c]) for c in name)


def manifest(folder):
    """The rows of a MANIFEST.tsv: path, kind, what, length, sha, notes."""
    rows = []
    with open(os.path.join(folder, "MANIFEST.tsv"), encoding="utf-8",
              errors="surrogateescape") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                rows.append((line.rstrip("\n").split("\t") + [""] * 6)[:6])
    return rows


# What is a metalayer in a container's directory goes by other names in rows.
SECTIONS = {
    "metadata": b"meta/metadata",
    "userdata": b"meta/userdata",
    "codecdata": b"meta/codec",
    "usermeta": b"meta/usermeta",
}


def enter(what):
    """The folder that "member:PATH:" and "embed:KEY:" lead to, as often as
    they come, and the words behind."""
    folder = b""
    while what.startswith(("member:", "embed:")):
        kind, path, what = what.split(":", 2)
        if kind == "embed":
            path = "tree" + path
        folder += os.fsencode(path) + b"/"
    return folder, what


def entry_of(what):
    """Where in a container's directory a row's bytes are, and whether a
    NumPy header precedes them; None for a row that is about damage."""
    folder, what = enter(what)
    what, _, arg = what.partition(":")
    if what in ("data", "range"):
        return folder + b"data.bin", False
    if what in ("npy", "npyrange"):
        return folder + b"data.npy", True
    if what == "chunk":
        return folder + b"chunks/%010d" % int(arg), False
    if what == "vlblock":
        # Only files of one chunk have such rows.
        return folder + b"blocks/%010d/%010d" % (0, int(arg)), False
    if what == "metalayer":
        return folder + b"meta/" + escape(unquote_to_bytes(arg)), False
    if what == "vlmetalayer":
        return folder + b"vlmeta/" + escape(unquote_to_bytes(arg)), False
    if what in SECTIONS:
        return folder + SECTIONS[what], False
    if what == "corrupt":
        return None
    raise ValueError("no view shows " + what)
