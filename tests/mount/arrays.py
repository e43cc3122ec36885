# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of any dtype, shape and chunks as frames, for what programs read."""
import itertools
import math

import numpy as np

import samples

ZEROS = -(0x7f << 56)
NANS = -(0x7e << 56)


def frame(shape, dtype, chunks, blocks, tile, typesize=None):
    """A frame of an array. tile: from the place of a chunk in the grid to its
    items, or to an entry of the index where the chunk is special."""
    dtype = np.dtype(dtype)
    text = str(dtype.descr) if dtype.fields else dtype.str
    around = [-(-c // b) * b for c, b in zip(chunks, blocks)]
    stored, entries, at = [], [], 0
    grid = [-(-s // c) for s, c in zip(shape, chunks)]
    for place in itertools.product(*map(range, grid)):
        items = tile(place)
        if isinstance(items, int):
            entries.append(items)
            continue
        whole = np.zeros(around, dtype)
        whole[tuple(map(slice, items.shape))] = items
        # Blocks one after another, each in order C.
        parts = [n for a, b in zip(around, blocks) for n in (a // b, b)]
        order = [*range(0, len(parts), 2), *range(1, len(parts), 2)]
        data = whole.reshape(parts).transpose(order).tobytes()
        # Longer items are bytes to a chunk.
        stored.append(samples.chunk(
            data, dtype.itemsize if dtype.itemsize < 256 else 1,
            dtype.itemsize * math.prod(blocks)))
        entries.append(at)
        at += len(stored[-1])
    chunk_len = dtype.itemsize * math.prod(around)
    return samples.assemble(
        range(chunk_len * len(entries)), chunk_len, stored, entries, False,
        samples.array_layer(shape, chunks, blocks, text.encode()),
        typesize=typesize or dtype.itemsize)


def pack(values, chunks=None, blocks=None, special=None):
    """An array as a frame: in about three chunks along each dimension, so
    that those at the edges are cut. special: entries for some places."""
    chunks = chunks or [max(1, -(-n // 3)) for n in values.shape]
    blocks = blocks or [max(1, -(-n // 2)) for n in chunks]

    def tile(place):
        inside = tuple(slice(p * c, p * c + c) for p, c in zip(place, chunks))
        return (special or {}).get(place, values[inside])

    return frame(values.shape, values.dtype, chunks, blocks, tile)


def numbers(shape, dtype, seed=3):
    """Numbers that are nowhere alike, and none of them NaN."""
    dtype = np.dtype(dtype)
    random = np.random.default_rng(seed)
    if dtype.kind in "ui":
        info = np.iinfo(dtype)
        made = random.integers(info.min, info.max, shape, dtype.newbyteorder("="),
                               endpoint=True)
    elif dtype.kind == "c":
        made = random.normal(size=shape) + 1j * random.normal(size=shape)
    elif dtype.kind == "b":
        made = random.integers(0, 2, shape)
    else:
        made = random.normal(size=shape) * 100
    return np.asarray(made).astype(dtype)


DTYPES = ["|b1", "|u1", "|i1", "<u2", ">u2", "<i2", ">i2", "<u4", ">u4", "<i4",
          ">i4", "<u8", ">u8", "<i8", ">i8", "<f2", ">f2", "<f4", ">f4", "<f8",
          ">f8", "<c8", ">c8", "<c16", ">c16"]
SHAPES = [(), (1,), (17,), (5, 7), (1, 9), (3, 4, 5), (2, 1, 6, 7),
          (2, 3, 2, 5, 4), (2, 1, 2, 2, 3, 4), (2, 1, 2, 1, 2, 2, 3),
          (1, 2, 1, 2, 1, 2, 2, 3), (6, 5, 3), (6, 5, 4), (2, 6, 5, 3),
          (40000, 2), (2, 40000), (300, 2, 2)]


def matrix():
    """More than sixty arrays by name, and their frames: all dtypes in one
    shape, all shapes in one or two dtypes, special chunks, numbers that are not
    finite, colours."""
    made = {}

    def add(name, values, **more):
        made[name] = values, pack(values, **more)

    for dtype in DTYPES:
        name = {"<": "le", ">": "be", "|": "ne"}[dtype[0]] + dtype[1:]
        add(f"type-{name}", numbers((4, 9, 11), dtype))
    for shape in SHAPES:
        for dtype in ("|u1", ">f4"):
            name = "x".join(map(str, shape)) or "none"
            add(f"shape-{name}-{dtype[1:]}", numbers(shape, dtype))
    holes = numbers((6, 6), "<i4")
    holes[:2] = 0
    holes[2:4, 2:4] = 0
    add("zeros-i4", holes, special={(0, 0): ZEROS, (0, 1): ZEROS,
                                    (0, 2): ZEROS, (1, 1): ZEROS})
    nans = numbers((6, 6), "<f8")
    nans[4:, 4:] = np.nan
    add("nans-f8", nans, special={(2, 2): NANS})
    for dtype in ("<f4", ">f8", "<c8"):
        odd = numbers((3, 4, 5), dtype)
        odd[0, 0, 0], odd[1, 2, 3], odd[2, 3, 4] = np.inf, np.nan, -np.inf
        add("odd-" + dtype[1:], odd)
    for shape in ((2, 6, 5, 3), (6, 5, 4), (2, 6, 5, 4)):
        name = "x".join(map(str, shape))
        add(f"colours-{name}-u1", numbers(shape, "|u1"))
        add(f"colours-{name}-u2", numbers(shape, ">u2"))
    return made


def sparse(shape, dtype, chunks, last):
    """An array of zeros, of which the last chunk alone is stored; its
    frame."""
    grid = [-(-s // c) for s, c in zip(shape, chunks)]
    end = tuple(g - 1 for g in grid)
    return frame(shape, dtype, chunks, chunks,
                 lambda place: last if place == end else ZEROS)
