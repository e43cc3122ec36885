#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The reader of tests/bench/scale.py does what the daemon does: by the daemon's
own numbers, for the same reads of the same array, and within what is said
here."""
import os
import random
import re
import sys

import harness
import programs
from harness import Mount, equal, read
from objects import Server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "bench"))
import scale  # noqa: E402  (it lies beside the other measuring programs)

MIB = 1 << 20
N_PAGES = 20


def made(work):
    """An array like the page's, half as large, and its model."""
    path = os.path.join(work, "array.b2nd")
    programs.tool(programs.BENCH_MAKE, "zstd", "40", "2048", path)
    return path, scale.Array(40 * MIB, os.path.getsize(path), 2 * MIB,
                             256 << 10)


def told(mount):
    """(requests, bytes) as the daemon counts them."""
    text = read(mount.path(".bloscfs", "stats")).decode()
    return tuple(int(float(re.search(rf"^{name} (\S+)$", text, re.M)[1]))
                 for name in ("bloscfs_server_request_seconds_count",
                              "bloscfs_server_bytes_total"))


def since(before, after):
    return after[0] - before[0], after[1] - before[1]


def near(got, wanted, requests, share):
    """Within so many requests, and so large a share of the bytes."""
    assert abs(got[0] - wanted[0]) <= requests and \
        abs(got[1] - wanted[1]) <= share * wanted[1], (got, wanted)


def total(lengths):
    return len(lengths), sum(lengths)


def opening_costs_what_the_model_says(work):
    path, array = made(work)
    with Server() as server:
        with Mount(work, server.put_file("/a.b2nd", path)) as mount:
            read(mount.path("info.json"))
            equal(told(mount), total(scale.Reader(array).open()))


def pages_at_random_cost_what_the_model_says(work):
    pages_cost_what_the_model_says(work, "--fetch_whole=0", 0)


def pages_of_what_is_fetched_whole_cost_what_the_model_says(work):
    pages_cost_what_the_model_says(work, "--fetch_whole=64M", 64 * MIB)


def pages_cost_what_the_model_says(work, option, whole):
    path, array = made(work)
    dice = random.Random(7)
    places = [dice.randrange(array.nbytes // 4096) * 4096
              for _ in range(N_PAGES)]
    with Server() as server:
        server.latency = 0.05
        with Mount(work, server.put_file("/a.b2nd", path), option) as mount:
            model = scale.Reader(array, True, whole)
            model.open()
            before = told(mount)
            file = os.open(mount.path("data.bin"), os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
            wanted = []
            for at in places:
                equal(len(os.pread(file, 4096, at)), 4096, "bytes")
                wanted += model.page(at)[0]
            os.close(file)
            # Strides are cut where pieces are that came before: how many
            # there are of them is a matter of moments.
            near(since(before, told(mount)), total(wanted), 8, 0.1)


def a_pass_in_order_costs_what_the_model_says(work):
    path, array = made(work)
    with Server() as server:
        server.latency = 0.05
        with Mount(work, server.put_file("/a.b2nd", path)) as mount:
            model = scale.Reader(array, far=True)
            model.open()
            before = told(mount)
            equal(len(read(mount.path("data.bin"))), array.nbytes)
            # Where the daemon's first window ends is a matter of moments.
            near(since(before, told(mount)), total(model.through()), 6, 0.02)


if __name__ == "__main__":
    harness.main([opening_costs_what_the_model_says,
                  pages_at_random_cost_what_the_model_says,
                  pages_of_what_is_fetched_whole_cost_what_the_model_says,
                  a_pass_in_order_costs_what_the_model_says])
