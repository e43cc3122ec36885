#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Chunks and blocks of many sizes, read in all the ways there are: a request
meets one block, or very many chunks."""
import mmap
import os
import random

import numpy as np

import arrays
import harness
import samples
from harness import Mount, equal, read

# (chunk, block), in bytes. A request of the kernel has up to 1 MiB.
SIZES = [(1, 1), (7, 7), (100, 100), (1000, 300), (4095, 4095), (4096, 4096),
         (4097, 4096), (5000, 5000), (5461, 1000), (8191, 4096), (8192, 8192),
         (20000, 4097), (43690, 43690), (65536, 4096), (100001, 100001),
         (131072, 8192), (700000, 65536)]
SHAPES = [((600000,), (5000,), (5000,)), ((600000,), (4099,), (1024,)),
          ((150, 4000), (1, 4000), (1, 4000)),
          ((150, 4000), (7, 4000), (3, 4000)),
          ((40, 60, 250), (9, 11, 250), (4, 5, 100)),
          ((300, 2000), (300, 5), (30, 5)), ((2000, 300), (1, 299), (1, 299))]


def direct(file, off, length):
    """Pages that no cache has."""
    end = off + length
    buf = mmap.mmap(-1, 2 << 20)
    start = off // 4096 * 4096
    want = min(-(-(end - start) // 4096) * 4096, len(buf))
    got = os.preadv(file, [memoryview(buf)[:want]], start)
    return buf[off - start:min(end - start, got)]


def read_in_all_ways(path, truth, dice, what):
    equal(read(path) == truth, True, f"{what}: all")
    with open(path, "rb", buffering=0) as file:
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            equal(mapped[:] == truth, True, f"{what}: mapped")
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    for _ in range(30):
        off = dice.randrange(len(truth))
        length = dice.choice([1, 4096, 50000, 131072, 400000, 1 << 20])
        got = direct(file, off, length)
        equal(got == truth[off:off + length], True,
              f"{what}: {length} at {off}")
    os.close(file)


def chunks_of_any_size_are_read_in_any_way(work):
    source = work + "/source"
    os.mkdir(source)
    truths, dice = {}, random.Random(4)
    for chunk, block in SIZES:
        name = f"{chunk}-{block}"
        # As many as there can be pieces of a request, and more.
        truths[name] = samples.noise(min(chunk * 300 + chunk // 3, 2500000),
                                     chunk)
        harness.write(f"{source}/{name}",
                      samples.frame(truths[name], chunk, block))
    for option in ("--readahead=128K", "--readahead=1M", "--cache_size=1M"):
        with Mount(work, source, option) as mount:
            for name, truth in truths.items():
                read_in_all_ways(mount.path(name, "data.bin"), truth, dice,
                                 f"{name} {option}")


def with_holes(shape, chunks, blocks, dice):
    """An array of which some chunks are zeros or NaN, and its frame."""
    values, special = arrays.numbers(shape, "<f4"), {}
    for place in np.ndindex(*[-(-s // c) for s, c in zip(shape, chunks)]):
        kind = dice.choice([None, None, arrays.ZEROS, arrays.NANS])
        if kind is not None:
            special[place] = kind
            values[tuple(slice(p * c, p * c + c) for p, c in
                         zip(place, chunks))] = \
                0 if kind == arrays.ZEROS else np.nan
    return values, arrays.pack(values, chunks, blocks, special)


def arrays_of_any_shape_are_read_in_any_way(work):
    source = work + "/source"
    os.mkdir(source)
    truths, dice = {}, random.Random(5)
    for shape, chunks, blocks in SHAPES:
        name = "x".join(map(str, shape + chunks + blocks))
        values = arrays.numbers(shape, "<u2")
        truths[name] = values
        harness.write(f"{source}/{name}", arrays.pack(values, chunks, blocks))
        truths["holes-" + name], frame = with_holes(shape, chunks, blocks,
                                                    dice)
        harness.write(f"{source}/holes-{name}", frame)
    with Mount(work, source, "--views=all") as mount:
        for name, values in truths.items():
            truth = values.tobytes()
            read_in_all_ways(mount.path(name, "data.bin"), truth, dice, name)
            views = os.listdir(mount.path(name))
            for view in ("data.npy", "data.tif", "data.nii", "data.arrow"):
                if view not in views:
                    continue
                whole = read(mount.path(name, view))
                equal(truth in whole, True, f"{view} of {name}")
                read_in_all_ways(mount.path(name, view), whole, dice,
                                 f"{view} of {name}")
            got = np.load(mount.path(name, "data.npy"), mmap_mode="r")
            equal(got.tobytes() == truth, True, name)
            del got


if __name__ == "__main__":
    harness.main([
        chunks_of_any_size_are_read_in_any_way,
        arrays_of_any_shape_are_read_in_any_way,
    ])
