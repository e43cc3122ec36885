#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that know nothing of buckets on top of the mount of one: NumPy by a
map, zarr-python, and nginx that serves it."""
import contextlib
import os
import warnings

import numpy as np

import harness
import programs
import web
from harness import DATA, Mount, equal, read
from objects import Server, s3
from programs import archive

try:
    import zarr
except ImportError:
    zarr = None

VIEWS = "--views=info,data,npy,zarr"
ARRAYS = ["good-nd-big-endian.b2nd", "good-sparse-array.b2nd"]


@contextlib.contextmanager
def bucket(work, *options):
    """An archive of frames and some arrays, in a bucket that is mounted."""
    made = archive(work)
    with Server() as server, s3(server):
        for name in set(os.listdir(made.source)) - {"link"}:
            server.put_file(f"/bucket/{name}", f"{made.source}/{name}")
        for name in ARRAYS:
            whole = f"{DATA}/{name}"
            for part in os.listdir(whole) if os.path.isdir(whole) else [""]:
                server.put_file(f"/bucket/{name}/{part}".rstrip("/"),
                                f"{whole}/{part}".rstrip("/"))
        with Mount(work, "s3://bucket", VIEWS, *options) as mount:
            yield made, mount


def on_disk(work, name):
    """The array as the mount of the file itself has it."""
    with Mount(work, f"{DATA}/{name}") as mount:
        return np.load(mount.path("data.npy"))


def numpy_maps_what_is_in_a_bucket(work):
    with bucket(work) as (made, mount):
        for name, truth in made.pairs()[:-1]:
            got = np.memmap(mount.path(name), dtype="u1", mode="r")
            wanted = np.fromfile(truth, dtype="u1")
            equal(len(got), len(wanted), name)
            for at in range(0, len(got) - 4096, len(got) // 37 + 1):
                equal(bytes(got[at:at + 4096]) == bytes(wanted[at:at + 4096]),
                      True, f"{name} at {at}")
            equal(np.array_equal(got, wanted), True, name)
            del got
        for name in ARRAYS:
            got = np.load(mount.path(name, "data.npy"), mmap_mode="r")
            equal(np.array_equal(got, on_disk(work, name)), True, name)
            del got


def zarr_reads_what_is_in_a_bucket(work):
    if zarr is None:
        raise harness.Skip("there is no zarr")
    with bucket(work) as (_, mount):
        for name in ARRAYS:
            wanted = on_disk(work, name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                got = zarr.open(mount.path(name), mode="r")[...]
            equal(got.shape, wanted.shape, name)
            equal(np.array_equal(got, wanted), True, name)


def nginx_serves_what_is_in_a_bucket(work):
    others = ["-oallow_other"] if os.geteuid() == 0 else []
    with bucket(work, *others) as (made, mount), \
            web.Server(work, web.site(mount.point)) as server:
        for name, truth in made.pairs()[:-1]:
            wanted = read(truth)
            status, _, body = server.ask(name)
            equal((status, body == wanted), (200, True), name)
            status, fields, body = server.ask(name, Range="bytes=4097-8200")
            equal((status, fields["Content-Range"],
                   body == wanted[4097:8201]),
                  (206, f"bytes 4097-8200/{len(wanted)}", True), name)


if __name__ == "__main__":
    programs.need("nginx")
    harness.main([
        numpy_maps_what_is_in_a_bucket,
        zarr_reads_what_is_in_a_bucket,
        nginx_serves_what_is_in_a_bucket,
    ])
