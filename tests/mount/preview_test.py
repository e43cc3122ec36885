#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The view preview: a picture whose size is known from the shape alone, of
what lies in the middle of an array, within a budget of blocks."""
import json
import os
import re
import struct
import zlib

import numpy as np

import arrays
import harness
from harness import Mount, equal, read

VIEWS = "--views=info,data,preview"
GREY, CLEAR, HATCH = 250, 250, (251, 252)
CURVE = 253


def decode(data):
    """The pixels of a PNG: numbers of its palette, or red, green and blue.
    Every checksum is looked at."""
    equal(data[:8], b"\x89PNG\r\n\x1a\n")
    at, parts = 8, {}
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        equal(struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0],
              zlib.crc32(name + body), name)
        parts[name] = body
        at += 12 + size
    equal(at, len(data), "bytes")
    equal(list(parts)[-1], b"IEND")
    width, height, bits, kind = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    equal(bits, 8)
    assert kind in (2, 3), kind
    assert 1 <= width <= 512 and 1 <= height <= 512, (width, height)
    row = width * (3 if kind == 2 else 1)
    lines = np.frombuffer(zlib.decompress(parts[b"IDAT"]), "u1")
    lines = lines.reshape(height, row + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape((height, width, 3) if kind == 2 else
                                (height, width))


def decoded(mount):
    stats = read(mount.path(".bloscfs/stats")).decode()
    return int(re.search(r"^bloscfs_decoded_bytes\S* (\d+)", stats,
                         re.MULTILINE)[1])


def every_array_has_a_picture_of_the_size_that_was_told(work):
    top = os.path.join(work, "matrix")
    os.mkdir(top)
    made = arrays.matrix()
    for name, (_, data) in made.items():
        harness.write(os.path.join(top, name), data)
    with Mount(work, top, VIEWS) as mount:
        sizes = {}
        for name, (wanted, _) in made.items():
            there = os.path.exists(mount.path(name + "/preview.png"))
            equal(there, wanted.ndim > 0, name)
            told = json.loads(read(mount.path(name + "/info.json")))["preview"]
            assert told is True if there else told, (name, told)
            if there:
                sizes[name] = os.stat(
                    mount.path(name + "/preview.png")).st_size
        equal(decoded(mount), 0, "bytes decoded for sizes")
        for name, size in sizes.items():
            data = read(mount.path(name + "/preview.png"))
            equal(len(data), size, name)
            decode(data)


def a_slice_is_the_middle_one_between_percentiles(work):
    path = os.path.join(work, "stack")
    values = np.zeros((5, 128, 64), "<i4")
    values[2] = np.arange(128 * 64).reshape(128, 64)
    harness.write(path, arrays.pack(values, (2, 50, 40), (1, 20, 30)))
    with Mount(work, path, VIEWS) as mount:
        pixels = decode(read(mount.path("preview.png")))
    equal(pixels.shape, (256, 128))
    low, high = values[2].flatten()[[8192 // 50, 8191 - 8192 // 50]]
    wanted = np.clip((values[2] - low) / (high - low), 0, 1) * (GREY - 1)
    wanted = np.floor(wanted + 0.5).repeat(2, 0).repeat(2, 1)
    equal(pixels.tolist(), wanted.astype("u1").tolist(), "pixels")


def orders_of_items_bytes_and_colours_are_seen(work):
    top = os.path.join(work, "kinds")
    os.mkdir(top)
    ramp = np.arange(256 * 256).reshape(256, 256)
    for name, values in {
            "big": ramp.astype(">u4"), "signed": (ramp - 32768).astype("<i4"),
            "half": (ramp // 64).astype("<f2"), "double": ramp.astype(">f8"),
            "complex": (ramp * 1j).astype("<c8")}.items():
        harness.write(f"{top}/{name}", arrays.pack(values))
    colour = np.zeros((256, 256, 3), "u1")
    colour[:, :100, 0], colour[:, 100:, 2] = 255, 255
    harness.write(top + "/colour", arrays.pack(colour))
    holes = ramp.astype("<f8")
    holes[:128] = np.nan
    harness.write(top + "/nan", arrays.pack(holes))
    with Mount(work, top, VIEWS) as mount:
        seen = {name: decode(read(mount.path(name + "/preview.png")))
                for name in os.listdir(top)}
    for name in ("big", "signed", "double", "complex"):
        equal(seen[name].tolist(), seen["big"].tolist(), name)
    assert abs(seen["half"].astype(int) - seen["big"]).max() <= 1
    equal(seen["colour"].tolist(), colour.tolist(), "colour")
    equal(set(seen["nan"][:128].flatten()), {CLEAR}, "NaN")
    assert seen["nan"][128:].max() < GREY


def a_curve_goes_from_least_to_greatest_of_each_column(work):
    path = os.path.join(work, "line")
    values = np.zeros(512 * 100, "<f4")
    values[::100] = 1
    values[100 * 200 + 7] = -1
    harness.write(path, arrays.pack(values, (10000,), (700,)))
    with Mount(work, path, VIEWS) as mount:
        pixels = decode(read(mount.path("preview.png")))
    equal(pixels.shape, (256, 512))
    heights = (pixels == CURVE).sum(0)
    assert heights[200] > 1.9 * heights[100] > 100, heights
    equal(len(set(heights[:199])), 1, "heights of equal columns")


def damage_is_hatched_and_the_rest_is_shown(work):
    path = os.path.join(work, "bad")
    values = arrays.numbers((64, 64), "<u2")
    data = bytearray(arrays.pack(values, (32, 64), (32, 64)))
    where = bytes(data).find(values[32:].tobytes())
    assert where > 0, where
    # The second chunk says another length.
    data[where - 32 + 4:where - 32 + 8] = struct.pack("<i", 7)
    harness.write(path, bytes(data))
    with Mount(work, path, VIEWS) as mount:
        pixels = decode(read(mount.path("preview.png")))
    assert (pixels[:128] < GREY).all()
    equal(set(pixels[128:].flatten()), set(HATCH), "damaged pixels")


def no_more_than_the_budget_is_decoded(work):
    """Blocks of a MiB, of which the array has 400, and 400 to a row."""
    top = os.path.join(work, "large")
    os.mkdir(top)
    one = np.arange(1 << 20, dtype="<u1").reshape(1024, 1024)
    entries = {"slice": ((20480, 20480), (1024, 1024), one),
               "line": ((400 << 20,), (1 << 20,), one.flatten())}
    for name, (shape, chunks, items) in entries.items():
        harness.write(f"{top}/{name}", arrays.frame(
            shape, "|u1", chunks, chunks,
            lambda place, i=items: i + np.uint8(7 * sum(place) % 256)))
    # With next to no cache a block that is left is gone.
    with Mount(work, top, VIEWS, "--cache_size=1M") as mount:
        for name in entries:
            before = decoded(mount)
            pixels = decode(read(mount.path(name + "/preview.png")))
            assert len(set(pixels.flatten())) > 1
            cost = decoded(mount) - before
            # And one more, which the first try at a request decoded.
            harness.below(cost, (65 << 20) + 1, "decoded for " + name)
            assert cost > 16 << 20, (name, cost)


if __name__ == "__main__":
    harness.main([
        every_array_has_a_picture_of_the_size_that_was_told,
        a_slice_is_the_middle_one_between_percentiles,
        orders_of_items_bytes_and_colours_are_seen,
        a_curve_goes_from_least_to_greatest_of_each_column,
        damage_is_hatched_and_the_rest_is_shown,
        no_more_than_the_budget_is_decoded,
    ])
