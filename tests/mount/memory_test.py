#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory: what the daemon takes at most, and that load alone is no error."""
import errno
import mmap
import os
import struct
import threading
import zlib

import harness
import namespace
import openmetrics
import programs
import samples
from harness import Mount, equal, read
from programs import MIB

KIB = 1024


def peak(mount):
    """The most that the daemon ever held, in bytes."""
    with open(f"/proc/{mount.pid}/status", encoding="ascii") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines["VmHWM"].split()[0]) * KIB


def metric(mount, name):
    whole = openmetrics.parse(read(mount.path(".bloscfs/stats")).decode())
    return whole[name][()]


def config(mount):
    lines = read(mount.path(".bloscfs/config")).decode().splitlines()
    return dict(line.split("=", 1) for line in lines)


def text(length, seed):
    """Bytes that compress well, and differ everywhere."""
    unit = samples.noise(64, seed)
    return b"".join(struct.pack("<Q", i) + unit
                    for i in range(length // 72 + 1))[:length]


def packed_chunk(data, block, typesize=1):
    """A chunk of Zlib blocks, shuffled where items are longer than a byte."""
    streams = []
    for at in range(0, len(data), block):
        piece = data[at:at + block]
        if typesize > 1:
            piece = b"".join(piece[i::typesize] for i in range(typesize))
        packed = zlib.compress(piece, 1)
        streams.append(struct.pack("<i", len(packed)) + packed)
    starts, at = [], 32 + 4 * len(streams)
    for stream in streams:
        starts.append(at)
        at += len(stream)
    filters = bytes(5) + (b"\1" if typesize > 1 else b"\0")
    return (struct.pack("<BBBBiii", 5, 1, 0x75, typesize, len(data), block,
                        at) + filters + b"\3\0" + bytes(8) +
            struct.pack(f"<{len(starts)}i", *starts) + b"".join(streams))


def packed_frame(data, chunk_len, block):
    chunks = [packed_chunk(data[at:at + chunk_len], block)
              for at in range(0, len(data), chunk_len)]
    entries, at = [], 0
    for made in chunks:
        entries.append(at)
        at += len(made)
    return samples.assemble(data, chunk_len, chunks, entries, False)


def read_direct(path, piece):
    """The file in pieces that no page cache joins."""
    got, whole = [], os.path.getsize(path)
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    with mmap.mmap(-1, piece) as buf:
        for at in range(0, whole, piece):
            n = os.preadv(file, [buf], at)
            got.append(buf[:n])
    os.close(file)
    return b"".join(got)


def at_once(calls):
    """Runs all in threads that start together; what they returned."""
    results = [None] * len(calls)
    start = threading.Barrier(len(calls))

    def run(number):
        start.wait()
        try:
            results[number] = calls[number]()
        except OSError as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(i,))
               for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def twelve_readers_in_a_tight_budget_all_succeed(work):
    """Blocks of 1 MiB where all that may be held is 6: shuffled ones take
    some three each."""
    source = work + "/source"
    os.mkdir(source)
    wanted = []
    for i in range(12):
        data = text(4 * MIB, i)
        chunks = [packed_chunk(data[at:at + 2 * MIB], MIB, 8)
                  for at in (0, 2 * MIB)]
        wanted.append(data)
        harness.write(f"{source}/{i}.b2frame", samples.assemble(
            data, 2 * MIB, chunks, [0, len(chunks[0])], False))
    with Mount(work, source, "-ocache_size=1M,max_memory=6M",
               "--threads=12") as mount:
        got = at_once([
            lambda i=i: read_direct(mount.path(f"{i}.b2frame/data.bin"),
                                    128 * KIB) for i in range(12)])
        for i in range(12):
            assert got[i] == wanted[i], f"{i}: {got[i]!r:.80}"
        equal(mount.log_lines("failed"), [], "failures")
        assert metric(mount, "bloscfs_memory_bytes") <= 6 * MIB


def what_can_never_fit_is_told_in_numbers(work):
    data = text(8 * MIB, 1)
    path = work + "/it.blosc2"
    harness.write(path, packed_chunk(data, len(data), 8))
    with Mount(work, path, "-ocache_size=1M,max_memory=12M") as mount:
        harness.fails_with(errno.EIO, read, mount.path("data.bin"))
        said = mount.log_lines("max_memory is 12582912")
        assert said and "bytes of memory needed at once" in said[0], \
            mount.log()
    with Mount(work, path, "-ocache_size=1M,max_memory=24M") as mount:
        equal(read(mount.path("data.bin")) == data, True, "bytes")


def a_large_block_takes_no_more_than_it_may(work):
    """One block of 64 MiB, shuffled: itself and once more while it is made,
    for each of four readers."""
    data = bytes(64 * MIB - 64) + samples.noise(64)
    path = work + "/it.blosc2"
    harness.write(path, packed_chunk(data, len(data), 8))
    assert os.path.getsize(path) < 512 * KIB
    with Mount(work, path, "-ocache_size=1M,max_memory=140M",
               "--threads=4") as mount:
        def piece(at):
            file = os.open(mount.path("data.bin"), os.O_RDONLY)
            try:
                return os.pread(file, 4 * KIB, at)
            finally:
                os.close(file)

        got = at_once([lambda at=at: piece(at) for at in
                       (0, 10 * MIB, 20 * MIB, len(data) - 64)])
        for part, wanted in zip(got, [bytes(4 * KIB)] * 3 + [data[-64:]]):
            assert part == wanted, f"{part!r:.80}"
        harness.below(peak(mount), 180 * MIB)
        # It was kept for its reader, but not for long.
        limit = (40 + 512 * harness.SANITIZED) * MIB
        harness.wait_until(lambda: mount.memory() < limit, 30,
                           told=mount.memory)


def store_of(inner, pad):
    """An embed store whose only key `k` is a container, in one block that
    decodes to pad bytes."""
    data = inner.ljust(pad, b"\0")
    value = samples.chunk(b"\x81\xa9embed_map\x81\xa2/k\x82\xa6offset\0"
                          b"\xa6length\xce" + struct.pack(">I", len(inner)))
    layer = b"\x80"
    at = samples.HEADER_LEN + 14
    last = (b"\x93\xcd" + struct.pack(">H", 20) + b"\xde\x00\x01\xa7b2embed"
            b"\xd2" + struct.pack(">i", at - 1) + b"\xdc\x00\x01\xc6" +
            struct.pack(">I", len(layer)) + layer)
    return build(data, last, value)


def build(data, last, value):
    made = packed_chunk(data, len(data))
    index = samples.chunk(struct.pack("<q", 0), 8)
    head_len = samples.HEADER_LEN - len(samples.layers(b"")) + len(last)
    entry = b"\xafestore_metadata\xd2" + struct.pack(">i", 33)
    body = (b"\x94\x01\x93\xcd" + struct.pack(">H", 6 + len(entry)) +
            b"\xde\x00\x01" + entry + b"\xdc\x00\x01\xc6" +
            struct.pack(">I", len(value)) + value)
    tail = body + b"\xce" + struct.pack(">I", len(body) + 23) + b"\xd8\x00" + \
        bytes(16)
    total = head_len + len(made) + len(index) + len(tail)
    head = (b"\x9e\xa8b2frame\0\xd2" + struct.pack(">i", head_len) +
            b"\xcf" + struct.pack(">Q", total) + b"\xa4\x12\0\x05\x03" +
            b"\xd3" + struct.pack(">q", len(data)) +
            b"\xd3" + struct.pack(">q", len(made)) +
            b"\xd2" + struct.pack(">i", 1) + b"\xd2" + struct.pack(">i", 0) +
            b"\xd2" + struct.pack(">i", len(data)) +
            b"\xd1\x00\x01\xd1\x00\x01\xc3\xd8\x06" + bytes(16) + last)
    return head + made + index + tail


def nested_stores_do_not_add_up(work):
    """Five stores, each in the one block of 24 MiB of the next."""
    wanted = samples.noise(5000)
    made = samples.frame(wanted, 5000)
    for _ in range(5):
        made = store_of(made, 24 * MIB)
    path = work + "/it.b2e"
    harness.write(path, made)
    with Mount(work, path, "--cache_size=1M") as mount:
        equal(read(mount.path(*["tree/k"] * 5, "data.bin")), wanted)
        harness.below(peak(mount), 90 * MIB)
    # Nor can they have more together than one may.
    with Mount(work, path, "-ocache_size=1M,max_memory=30M") as mount:
        equal(read(mount.path(*["tree/k"] * 5, "data.bin")), wanted)
        harness.below(peak(mount), 70 * MIB)


def a_block_is_decoded_once_for_its_reader(work):
    data = text(2 * MIB, 3)
    path = work + "/it.b2frame"
    harness.write(path, packed_frame(data, MIB, 64 * KIB))
    for size in ("64K", "0", "1"):
        with Mount(work, path, "--cache_size=" + size,
                   "--threads=1") as mount:
            equal(read_direct(mount.path("data.bin"), 4 * KIB) == data, True,
                  "bytes")
            equal(metric(mount, "bloscfs_decoded_bytes_total"), len(data),
                  f"bytes decoded at cache_size={size}")
            held = metric(mount, "bloscfs_cache_held_bytes")
            assert held < 2 * MIB, held
            equal(config(mount)["cache_size"],
                  {"64K": "65536"}.get(size, size), "cache_size")


def two_hundred_readers_take_little_more_than_the_cache(work):
    source = work + "/source"
    os.mkdir(source)
    plain = work + "/plain"
    programs.write_text(plain, 12000)
    digest = programs.sha(plain)
    for codec in ("lz4", "zstd"):
        programs.pack(plain, f"{work}/{codec}.b2frame", codec=codec)
    for i in range(200):
        os.link(f"{work}/{('lz4', 'zstd')[i % 2]}.b2frame",
                f"{source}/{i}.b2frame")
    for threads in ("2", "64"):
        with Mount(work, source, "--cache_size=16M",
                   "--threads=" + threads) as mount:
            got = at_once([
                lambda i=i: programs.sha(
                    mount.path(f"{i}.b2frame/data.bin"))
                for i in range(200)])
            equal(set(got), {digest}, "digests")
            harness.below(peak(mount), 48 * MIB, f"with {threads} threads it")


def names_count_too(work):
    """The kernel remembers them, and the daemon what they stand for."""
    wanted = samples.noise(20000)
    path = work + "/it.b2frame"
    harness.write(path, samples.frame(wanted, 1))
    with Mount(work, path, "-ocache_size=1M,max_memory=16M") as mount:
        for number in range(len(wanted)):
            os.stat(mount.path(f"chunks/{number:010d}"))
        assert metric(mount, "bloscfs_nodes") > len(wanted)
        held = metric(mount, "bloscfs_memory_bytes")
        # A quarter of the limit at most: the rest is for decoding.
        assert 4 * MIB <= held < 8 * MIB, held
        equal(read(mount.path("data.bin")) == wanted, True, "bytes")
        harness.below(peak(mount), (16 + 24) * MIB)


def limits_come_from_memory_and_control_groups(work):
    """A folder of control groups made for the daemon, by both versions."""
    path = work + "/it.b2frame"
    harness.write(path, samples.frame(b"abc", 3))
    with Mount(work, path, "--cache_size=1M") as mount:
        found = int(config(mount)["max_memory"])
        assert 0 < found <= 1025 * MIB, found
    with Mount(work, path, "--max_memory=0") as mount:
        equal(config(mount)["max_memory"], "0", "max_memory")
    with namespace.covered("/sys/fs/cgroup", "-t", "tmpfs", "tmpfs"):
        for name, text_of in (("cpu.max", "100000 100000"),
                              ("memory.max", "200000000"),
                              ("cpu/cpu.cfs_quota_us", "100000"),
                              ("cpu/cpu.cfs_period_us", "100000"),
                              ("memory/memory.limit_in_bytes", "200000000")):
            file = "/sys/fs/cgroup/" + name
            os.makedirs(os.path.dirname(file), exist_ok=True)
            harness.write(file, text_of.encode() + b"\n")
        with Mount(work, path) as mount:
            found = config(mount)
        equal((found["threads"], found["max_memory"], found["cache_size"]),
              ("1", "100000000", "75000000"), "limits")


if __name__ == "__main__":
    # It writes to memory that nobody uses, so that it counts as used.
    os.environ.pop("MALLOC_PERTURB_", None)
    namespace.enter()
    harness.main([
        twelve_readers_in_a_tight_budget_all_succeed,
        what_can_never_fit_is_told_in_numbers,
        a_large_block_takes_no_more_than_it_may,
        nested_stores_do_not_add_up,
        a_block_is_decoded_once_for_its_reader,
        two_hundred_readers_take_little_more_than_the_cache,
        names_count_too,
        limits_come_from_memory_and_control_groups,
    ])
