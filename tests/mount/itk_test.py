#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The views tiff, nifti and headers, read by ITK, where BLOSCFS_ITK names a
folder whose node_modules hold @itk-wasm/image-io."""
import hashlib
import json
import os

import numpy as np

import harness
import programs
from harness import Mount, equal
from images_test import (VIEWS, has_header, has_nifti, has_tiff, is_coloured,
                         matrix)

ITK = os.environ.get("BLOSCFS_ITK")
# How it reads the types of numbers, by the name of an entry: "" as they are,
# another type: as if the bytes were that, else as is said there.
TYPES = {
    "data.nii": dict.fromkeys(
        "b1 u1 i1 u2 i2 u4 i4 u8 i8 f4 f8 c8 c16".split(), ""),
    "data.nhdr": dict.fromkeys(
        "b1 u1 i1 u2 i2 u4 i4 u8 i8 f4 f8".split(), ""),
    "data.mhd": dict.fromkeys(
        "b1 u1 i1 u2 i2 u4 i4 u8 i8 f4 f8".split(), ""),
    "data.tif": {**dict.fromkeys("b1 u1 i1 u2 i2 f4".split(), ""),
                 "u4": "zeros", "i4": "zeros", "f2": "u2",
                 **dict.fromkeys("u8 i8 f8".split(), "refused")}}


def as_itk_reads(name, wanted):
    """None where it reads none."""
    how = TYPES[name].get(wanted.dtype.str[1:], "refused")
    if name == "data.nii":
        # The first version alone.
        if max(wanted.shape, default=1) > 32767:
            return None
        # Numbers that are not finite it takes for 0, also of a pair.
        parts = wanted.reshape(-1).view(wanted.dtype.str[0] + "f%d" % (
            wanted.dtype.itemsize // 2)) if wanted.dtype.kind == "c" else \
            wanted.reshape(-1)
        parts = np.where(np.isfinite(parts), parts, 0).astype(parts.dtype)
        return parts.view(wanted.dtype).reshape(wanted.shape)
    if how == "zeros":
        return np.zeros_like(wanted)
    if how == "u2":
        return wanted.view(wanted.dtype.str[0] + how)
    return None if how == "refused" else wanted


def itk_sees(name, wanted):
    """What ITK has of an array: the fastest dimension first, spacing 1, and
    numbers of this machine's byte order. None: nothing."""
    coloured = name == "data.tif" and is_coloured(wanted)
    wanted = as_itk_reads(name, wanted)
    if wanted is None:
        return None
    kind, code = wanted.dtype.kind, wanted.dtype.itemsize
    size, parts = wanted.shape[::-1] or (1,), 1
    if kind == "c":
        parts, code = 2, code // 2
    elif name == "data.tif":
        # Pages are one dimension, and samples of a colour none.
        if coloured:
            parts, size = size[0], size[1:]
        size = size[:2] + ((int(np.prod(size[2:])),) if size[2:] else ())
    # NIfTI's first two axes point the other way there.
    n = len(size)
    steps = [-1 if name == "data.nii" and i < 2 else 1 for i in range(n)]
    native = wanted.astype(wanted.dtype.newbyteorder("="))
    word = {"u": "uint", "b": "uint", "i": "int"}.get(kind, "float")
    return {"type": f"{word}{8 * code}", "components": parts,
            "size": list(size), "spacing": [1] * n, "origin": [0] * n,
            "direction": np.diag(steps).reshape(-1).tolist(),
            "sha256": hashlib.sha256(native.tobytes()).hexdigest()}


def is_for_itk(name, wanted):
    return {"data.nii": has_nifti(wanted), "data.tif": has_tiff(wanted)}.get(
        name, has_header(name[5:], wanted))


def itk_reads_what_numpy_reads(work):
    if not ITK:
        raise harness.Skip("BLOSCFS_ITK names no folder with "
                           "@itk-wasm/image-io")
    top, values = matrix(work)
    wanted = [(folder, name, itk_sees(name, array))
              for folder, array in values.items()
              for name in TYPES if is_for_itk(name, array)]
    assert len(wanted) > 200, len(wanted)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          "itk.mjs")
    with Mount(work, top, VIEWS) as mount:
        said = programs.tool("node", script, ITK, *(
            mount.path(f"{folder}/{name}") for folder, name, _ in wanted))
    seen = [json.loads(line[5:]) for line in said.splitlines()
            if line.startswith("SEEN ")]
    equal(len(seen), len(wanted), "images that ITK told of")
    for got, (folder, name, one) in zip(seen, wanted):
        if one is None:
            assert "error" in got, f"{name} of {folder}: {got}"
        else:
            equal(got, one, f"{name} of {folder}")
    refused = sum(one is None for _, _, one in wanted)
    print(f"# {len(wanted) - refused} images read, {refused} refused")


if __name__ == "__main__":
    harness.main([
        itk_reads_what_numpy_reads,
    ])
