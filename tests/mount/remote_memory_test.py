#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What is held of objects on servers counts against max_memory: it is in
nobody's way, and reads go on without it."""
import os
import threading

import harness
import programs
import samples
from harness import Mount, equal, read
from memory_test import metric, packed_chunk
from objects import Server, s3

MIB = 1 << 20


def beside_the_cache(mount):
    """Bytes that are held and are no decoded blocks."""
    return metric(mount, "bloscfs_memory_bytes") - \
        metric(mount, "bloscfs_cache_held_bytes")


def noisy(work, name, mib):
    """A frame that is as long as its content, and that."""
    data = b"".join(samples.noise(MIB, len(name) + i) for i in range(mib))
    harness.write(f"{work}/{name}.bin", data)
    programs.pack(f"{work}/{name}.bin", f"{work}/{name}")
    return f"{work}/{name}", data


def read_start(path, length):
    """Reads forwards from the start, as cp does."""
    with open(path, "rb", buffering=0) as file:
        got = b""
        while len(got) < length:
            got += file.read(128 << 10)
    return got


def what_was_read_ahead_counts(work):
    path, data = noisy(work, "a.b2frame", 24)
    with Server() as server, s3(server):
        server.latency = 0.01
        server.put_file("/bucket/a.b2frame", path)
        with Mount(work, "s3://bucket/", "-ocache_size=1M",
                   "--threads=1") as mount:
            before = beside_the_cache(mount)
            got = read_start(mount.path("a.b2frame/data.bin"), 6 * MIB)
            equal(got == data[:len(got)], True, "bytes")
            # 4 MiB of what was read are kept; decoding takes a tenth of that.
            assert beside_the_cache(mount) > before + 3 * MIB


def readers_of_objects_keep_to_max_memory(work):
    frames = [noisy(work, f"{'x' * i}.b2frame", 12) for i in range(1, 5)]
    wrong, most, over = [], [0], threading.Event()
    with Server() as server, s3(server):
        server.latency = 0.01
        for path, _ in frames:
            server.put_file("/bucket/" + os.path.basename(path), path)
        with Mount(work, "s3://bucket/", "-ocache_size=1M,max_memory=10M",
                   "--threads=4") as mount:
            def check(path, data):
                name = os.path.basename(path)
                if read(mount.path(name, "data.bin")) != data:
                    wrong.append(name)

            def watch():
                while not over.is_set():
                    most[0] = max(most[0],
                                  metric(mount, "bloscfs_memory_bytes"))
                    over.wait(0.02)

            readers = [threading.Thread(target=check, args=frame)
                       for frame in frames]
            watcher = threading.Thread(target=watch)
            for thread in readers + [watcher]:
                thread.start()
            for thread in readers:
                thread.join()
            over.set()
            watcher.join()
            equal(wrong, [], "what was read wrong")
            equal(mount.log_lines("failed"), [], "failures")
            # A little more than nothing was seen, and never too much.
            assert MIB < most[0] <= 10 * MIB + 64 * 1024, most


def idle_pieces_go_where_decoding_needs_their_memory(work):
    path, data = noisy(work, "a.b2frame", 24)
    # One block, shuffled: itself and once more while it is made.
    large = samples.noise(64 << 10) * 128
    harness.write(work + "/large.blosc2", packed_chunk(large, len(large), 8))
    with Server() as server, s3(server):
        server.latency = 0.01
        server.put_file("/bucket/a.b2frame", path)
        server.put_file("/bucket/large.blosc2", work + "/large.blosc2")
        with Mount(work, "s3://bucket/",
                   "-ocache_size=1M,max_memory=24M") as mount:
            got = read_start(mount.path("a.b2frame/data.bin"), 6 * MIB)
            equal(got == data[:len(got)], True, "bytes")
            assert beside_the_cache(mount) > 3 * MIB
            equal(read(mount.path("large.blosc2/data.bin")) == large, True,
                  "bytes of the large block")
            equal(mount.log_lines("failed"), [], "failures")
            equal(read(mount.path("a.b2frame/data.bin")) == data, True,
                  "the rest")


if __name__ == "__main__":
    harness.main([
        what_was_read_ahead_counts,
        readers_of_objects_keep_to_max_memory,
        idle_pieces_go_where_decoding_needs_their_memory,
    ])
