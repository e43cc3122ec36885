# SPDX-License-Identifier: BSD-3-Clause
"""Small files that ask for much: of memory, of decoding, of names.

Each is well formed enough to be taken for what it says; make() writes as many
as asked for, the same each time. docs/formats/ describes the layouts.
"""
import os
import random
import struct
import zipfile
import zlib

import samples

MIB = 1 << 20
KINDS = []      # functions (dice) -> (suffix, bytes), or that write a folder


def bomb(make):
    KINDS.append(make)
    return make


def deflated(length, byte=b"A"):
    """Zlib's stream of one value over and over, without the memory for
    it."""
    packer, parts, piece = zlib.compressobj(9), [], byte * MIB
    for _ in range(length // MIB):
        parts.append(packer.compress(piece))
    parts.append(packer.compress(byte * (length % MIB)))
    return b"".join(parts) + packer.flush()


def zlib_chunk(nbytes, block, typesize=1):
    """A chunk whose blocks are all alike; each stands for itself."""
    whole, rest = divmod(nbytes, block)
    blocks = [deflated(block)] * whole + ([deflated(rest)] if rest else [])
    starts, body, at = [], [], 32 + 4 * len(blocks)
    for stream in blocks:
        starts.append(at)
        body.append(struct.pack("<i", len(stream)) + stream)
        at += len(body[-1])
    return struct.pack("<BBBBiii", 5, 1, 0x75, typesize, nbytes, block, at) + \
        bytes(16) + struct.pack(f"<{len(starts)}i", *starts) + b"".join(body)


def special_chunk(nbytes, block, typesize=1, kind=1):
    """A chunk that is a header alone: zeros (1), NaN (2), nothing (4)."""
    return struct.pack("<BBBBiii", 5, 1, 0x05, typesize, nbytes, block, 32) + \
        bytes(15) + bytes([kind << 4])


def zlib_index(entries):
    """An index whose one block is deflated."""
    plain = struct.pack(f"<{len(entries)}q", *entries)
    stream = zlib.compress(plain, 9)
    return struct.pack("<BBBBiii", 5, 1, 0x75, 8, len(plain), len(plain),
                       40 + len(stream)) + bytes(16) + \
        struct.pack("<ii", 36, len(stream)) + stream


def trailer(values):
    """A frame's end with variable-length metalayers, each a chunk."""
    names = [f"v{i:05d}".encode() for i in range(len(values))]
    at = 1 + 1 + 1 + 3 + 3 + 12 * len(names) + 3
    index, body = [], []
    for name, value in zip(names, values):
        index.append(b"\xa6" + name + b"\xd2" + struct.pack(">i", at))
        body.append(b"\xc6" + struct.pack(">I", len(value)) + value)
        at += len(body[-1])
    head = b"\x94\x01\x93\xcd" + \
        struct.pack(">H", min(0xffff, 3 + 12 * len(names))) + \
        b"\xde" + struct.pack(">H", len(names)) + b"".join(index) + \
        b"\xdc" + struct.pack(">H", len(values))
    body = head + b"".join(body)
    return body + b"\xce" + struct.pack(">I", len(body) + 23) + \
        b"\xd8\x00" + bytes(16)


def frame(nbytes, chunk_len, chunks, index, layer=b"", values=()):
    """A contiguous frame that claims these lengths."""
    last = samples.layers(layer)
    head_len = samples.HEADER_LEN - len(samples.layers(b"")) + len(last)
    body = b"".join(chunks)
    tail = trailer(values) if values else samples.trailer()
    total = head_len + len(body) + len(index) + len(tail)
    return b"\x9e\xa8b2frame\0" + b"\xd2" + struct.pack(">i", head_len) + \
        b"\xcf" + struct.pack(">Q", total) + b"\xa4\x12\x00\x05\x03" + \
        b"\xd3" + struct.pack(">q", nbytes) + \
        b"\xd3" + struct.pack(">q", len(body)) + \
        b"\xd2" + struct.pack(">i", 1) + b"\xd2" + struct.pack(">i", 0) + \
        b"\xd2" + struct.pack(">i", chunk_len) + b"\xd1\x00\x01\xd1\x00\x01" + \
        (b"\xc3" if values else b"\xc2") + b"\xd8\x06" + bytes(16) + last + \
        body + index + tail


@bomb
def one_big_block(dice):
    size = dice.choice((32, 64, 128, 256)) * MIB
    return ".blosc2", zlib_chunk(size, size)


@bomb
def big_blocks_in_a_row(dice):
    block = dice.choice((1, 8, 32)) * MIB
    return ".blosc2", zlib_chunk(256 * MIB, block)


@bomb
def blocks_of_one_byte(dice):
    """A stored chunk: each byte of it is a block."""
    return ".blosc2", samples.chunk(samples.noise(1 << 16) *
                                    dice.choice((4, 64)), block=1)


@bomb
def a_special_chunk_of_tiny_blocks(dice):
    return ".blosc2", special_chunk(0x7ffff000, dice.choice((1, 32, 4096)))


@bomb
def one_chunk_a_million_times(dice):
    size = dice.choice((1, 16, 64)) * MIB
    made, count = zlib_chunk(size, size), dice.choice((1000, 1000000))
    return ".b2frame", frame(size * count, size, [made],
                             zlib_index([0] * count))


@bomb
def a_thin_array(dice):
    """A row of it touches a chunk for each of its items."""
    rows = dice.choice((16, 64, 128)) * MIB
    columns = dice.choice((512, 4096, 131072))
    made = zlib_chunk(rows, dice.choice((rows, rows // 16)))
    layer = samples.array_layer([rows, columns], [rows, 1],
                                [struct.unpack_from("<i", made, 8)[0], 1],
                                b"|u1")
    return ".b2nd", frame(rows * columns, rows, [made],
                          zlib_index([0] * columns), layer)


@bomb
def an_array_of_sixteen_dimensions(dice):
    n = dice.choice((2, 3, 7))
    layer = samples.array_layer([n * 1000] * 3 + [n] * 13, [1] * 3 + [2] * 13,
                                [1] * 16, b"|u1")
    entry = -(0x7f << 56)
    return ".b2nd", frame(8192 * 1000, 8192, [], zlib_index([entry] * 1000),
                          layer)


@bomb
def many_values_that_swell(dice):
    count, size = dice.choice(((1, 256), (200, 16), (4000, 1)))
    return ".b2frame", frame(0, 0, [], b"", values=[
        zlib_chunk(size * MIB, size * MIB)] * count)


@bomb
def an_index_of_zeros(dice):
    """Sound by its length, and every entry names the first byte."""
    count = dice.choice((1 << 20, (1 << 28) - 8))
    return ".b2frame", frame(count * 64, 64, [samples.chunk(bytes(64))],
                             special_chunk(count * 8, 1 << 16, 8))


@bomb
def chunks_beyond_count(dice):
    size = dice.choice((1 << 62, 1 << 50, (1 << 63) - 1))
    return ".b2frame", frame(size, 1, [], special_chunk(1 << 30, 1 << 20, 8))


@bomb
def tiny_chunks_in_a_row(dice):
    return ".blosc", samples.small_chunk(b"x") * dice.choice((50000, 500000))


@bomb
def a_zip_of_many_names(dice):
    count = dice.choice((100, 20000))
    return ".b2z", zipped((f"d{i % 7}/" * (i % 40) + f"m{i}.b2frame",
                           SMALL) for i in range(count))


@bomb
def a_zip_of_one_name(dice):
    return ".b2z", zipped(("x/y.b2frame", SMALL)
                          for _ in range(dice.choice((10, 3000))))


@bomb
def a_zip_within_zips(dice):
    inside = zipped([("a.b2frame", SMALL)])
    for _ in range(dice.choice((3, 40))):
        inside = zipped([("in.b2z", inside), ("b.b2frame", SMALL)])
    return ".b2z", inside


@bomb
def a_bloscpack_of_many_offsets(dice):
    """Version 3, offsets that all name one chunk."""
    count = dice.choice((1000, 200000))
    made = samples.small_chunk(bytes(4096))
    head = b"blpk" + struct.pack("<BBBBiiqq", 3, 1, 0, 1, 4096, 4096, count, 0)
    at = len(head) + 8 * count
    return ".blp", head + struct.pack(f"<{count}q", *[at] * count) + made


SMALL = samples.frame(b"small" * 100, 100)


def zipped(members):
    """A ZIP of stored members; of equal names all."""
    import io
    import warnings
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as file:
        warnings.simplefilter("ignore")
        for name, content in members:
            file.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def make(folder, count, seed=1):
    """Writes so many bombs; their names."""
    dice, names = random.Random(seed), []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        suffix, content = kind(dice)
        names.append(f"bomb{number:03d}-{kind.__name__}{suffix}")
        with open(os.path.join(folder, names[-1]), "wb") as file:
            file.write(content)
    return names
