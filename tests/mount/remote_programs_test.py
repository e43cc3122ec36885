#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs that know nothing of buckets on top of the mount of one: NumPy by a
map, zarr-python, and nginx that serves it."""
import contextlib
import os
import subprocess
import sys
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


# In a process of its own: who waits for a page of a map holds Python's lock,
# which the server here needs to answer.
MAPPED = """
import sys
import numpy as np
path, truth = sys.argv[1:]
got = np.load(path, mmap_mode="r") if path.endswith(".npy") else \
    np.memmap(path, dtype="u1", mode="r")
wanted = np.load(truth) if path.endswith(".npy") else \
    np.fromfile(truth, dtype="u1")
assert got.shape == wanted.shape, (got.shape, wanted.shape)
flat, other = got.reshape(-1), wanted.reshape(-1)
for at in range(0, len(flat), len(flat) // 37 + 1):
    assert np.array_equal(flat[at:at + 500], other[at:at + 500]), at
assert np.array_equal(got, wanted), "all of it"
"""


def maps(path, truth):
    """Another process maps it, and finds what is in a plain file."""
    done = subprocess.run([sys.executable, "-c", MAPPED, path, truth],
                          check=False, stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, timeout=90)
    equal(done.returncode, 0, f"of {path}: {done.stderr}")


def numpy_maps_what_is_in_a_bucket(work):
    with bucket(work) as (made, mount):
        for name, truth in made.pairs()[:-1]:
            maps(mount.path(name), truth)
        for name in ARRAYS:
            np.save(work + "/truth.npy", on_disk(work, name))
            maps(mount.path(name, "data.npy"), work + "/truth.npy")


def zarr_reads_what_is_in_a_bucket(work):
    if zarr is None:
        raise harness.Skip("there is no zarr")
    with bucket(work) as (_, mount):
        for name in ARRAYS:
            wanted = on_disk(work, name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                got = zarr.open(mount.path(name, "zarr"), mode="r")[...]
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
            last = min(len(wanted), 8201) - 1
            first = last // 2
            status, fields, body = server.ask(name,
                                              Range=f"bytes={first}-{last}")
            equal((status, fields["Content-Range"],
                   body == wanted[first:last + 1]),
                  (206, f"bytes {first}-{last}/{len(wanted)}", True), name)


if __name__ == "__main__":
    programs.need("nginx")
    harness.main([
        numpy_maps_what_is_in_a_bucket,
        zarr_reads_what_is_in_a_bucket,
        nginx_serves_what_is_in_a_bucket,
    ])
