#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Many at once: fio's own verification, 32 readers; and a mount bound into
the namespace of a container."""
import errno
import hashlib
import mmap
import os
import traceback

import harness
import namespace
import programs
from harness import NOBODY, Mount, equal
from programs import MIB, need, tool

FIO_MIB = 32
EVEN = 99999
VERIFY = ("--verify=crc32c", "--verify_fatal=1", "--bs=16k",
          f"--size={FIO_MIB}M")


def fio(path, *words, **more):
    """Runs fio on one file, with its working files elsewhere."""
    need("fio")
    return tool("fio", "--name=job", f"--filename={path}", "--thread",
                "--ioengine=psync", "--output-format=terse", *VERIFY, *words,
                cwd=os.path.dirname(path), **more)


def lay_out(work):
    """A file in which fio put a checksum into each block."""
    plain = work + "/plain"
    fio(plain, "--rw=write", "--do_verify=0", "--buffer_compress_percentage="
        "60", "--refill_buffers", "--verify_state_save=0")
    equal(os.path.getsize(plain), FIO_MIB * MIB)
    return plain


def packed(work, plain):
    os.makedirs(work + "/source", exist_ok=True)
    programs.pack(plain, work + "/source/it.b2frame", codec="lz4")
    return work + "/source"


def read_job(mount, *words, **more):
    more["cwd"] = os.path.dirname(mount.point)
    return tool("fio", "--name=job", "--readonly", "--thread",
                "--filename=" + mount.path("it.b2frame/data.bin"),
                "--output-format=terse", "--verify_state_load=0", *VERIFY,
                *words, **more)


def fio_verifies_what_it_once_wrote(work):
    plain = lay_out(work)
    with Mount(work, packed(work, plain)) as mount:
        for words in (("--rw=read", "--ioengine=psync"),
                      ("--rw=read", "--ioengine=mmap"),
                      ("--rw=read", "--ioengine=psync", "--direct=1"),
                      ("--rw=randread", "--ioengine=psync", "--numjobs=4",
                       "--randseed=5", "--group_reporting"),
                      ("--rw=randread", "--ioengine=libaio", "--iodepth=16",
                       "--direct=1")):
            jobs = 4 if "--numjobs=4" in words else 1
            said = read_job(mount, *words).split(";")
            equal((said[4], int(said[5])), ("0", jobs * FIO_MIB * 1024),
                  f"error and KiB of {words}")


def fio_finds_the_one_block_that_differs(work):
    plain = lay_out(work)
    with open(plain, "r+b") as file:
        file.seek(20 * MIB + 100)
        byte = file.read(1)[0]
        file.seek(20 * MIB + 100)
        file.write(bytes([byte ^ 1]))
    with Mount(work, packed(work, plain)) as mount:
        for order in ("read", "randread"):
            read_job(mount, "--rw=" + order, "--ioengine=psync", status=1)


def thirty_two_readers_read_the_whole(work):
    """Each a slice of its own, in pieces of an odd length, into memory that
    all share."""
    plain = work + "/plain"
    programs.write_holey(plain, 48)
    size = os.path.getsize(plain)
    step = -(-size // 32)
    with Mount(work, packed(work, plain)) as mount, \
            mmap.mmap(-1, size) as shared:
        path = mount.path("it.b2frame/data.bin")
        readers = []
        for number in range(32):
            pid = os.fork()
            if pid == 0:
                os._exit(read_slice(path, shared, number * step,
                                    min(size, number * step + step)))
            readers.append(pid)
        equal([os.waitpid(pid, 0)[1] for pid in readers], [0] * 32)
        equal(hashlib.sha256(shared).hexdigest(), programs.sha(plain))


def read_slice(path, into, at, end):
    try:
        file = os.open(path, os.O_RDONLY)
        while at < end:
            part = os.pread(file, min(end - at, 12347), at)
            into[at:at + len(part)] = part
            at += len(part)
        return 0
    except Exception:  # whatever it is, the test shows it
        traceback.print_exc()
        return 1


def thirty_two_readers_of_the_same_agree(work):
    plain = work + "/plain"
    programs.write_text(plain, 300000)
    with Mount(work, packed(work, plain)) as mount:
        path = mount.path("it.b2frame/data.bin")
        readers = []
        for _ in range(32):
            pid = os.fork()
            if pid == 0:
                os._exit(programs.sha(path) != programs.sha(plain))
            readers.append(pid)
        equal([os.waitpid(pid, 0)[1] for pid in readers], [0] * 32)


def two_hundred_users_read_what_modes_permit(work):
    """Each a user and a group of its own, at once; the one file is open to
    all, the other to the even ones' group."""
    namespace.need_own()
    source = work + "/source"
    os.mkdir(source)
    programs.write_text(work + "/plain", 20000)
    for name, mode in (("all", 0o644), ("even", 0o640)):
        programs.pack(work + "/plain", f"{source}/{name}.b2frame")
        os.chmod(f"{source}/{name}.b2frame", mode)
        os.chown(f"{source}/{name}.b2frame", 0, EVEN)
    with Mount(work, source, "-oallow_other") as mount:
        paths = [mount.path(name + ".b2frame/data.bin")
                 for name in ("all", "even")]
        readers = []
        for number in range(200):
            pid = os.fork()
            if pid == 0:
                os._exit(read_as(number, paths, programs.sha(work + "/plain")))
            readers.append(pid)
        equal([os.waitpid(pid, 0)[1] for pid in readers], [0] * 200)


def read_as(number, paths, wanted):
    """0 if this user sees what it should, of both files."""
    try:
        user = 100000 + number
        os.setgroups([EVEN] if number % 2 == 0 else [])
        os.setgid(user)
        os.setuid(user)
        equal(programs.sha(paths[0]), wanted)
        if number % 2 == 0:
            equal(programs.sha(paths[1]), wanted)
        else:
            harness.fails_with(errno.EACCES, open, paths[1], "rb")
        return 0
    except Exception:  # whatever it is, the test shows it
        traceback.print_exc()
        return 1


def a_container_reads_a_bound_folder(work):
    """The folder of a frame, bound into another namespace of mounts, where
    the mount itself is not seen, and read there by somebody else."""
    namespace.need_own()
    plain = work + "/plain"
    programs.write_text(plain, 100000)
    source = packed(work, plain)
    os.mkdir(work + "/inside")
    with Mount(work, source, "-oallow_other") as mount:
        said = tool(
            "unshare", "--mount", "--propagation", "unchanged", "sh", "-euc",
            'mount --bind "$1/it.b2frame" "$2"\n'
            'umount "$1" 2> /dev/null || umount -l "$1"\n'
            'ls "$1"\n'
            f'exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups '
            'sh -euc \'id -u; ls "$1"; sha256sum < "$1/data.bin"\' - "$2"',
            "-", mount.point, work + "/inside").split()
        equal(said, [str(NOBODY), "chunks", "data.bin", "info.json", "meta",
                     "meta.json", "vlmeta", "vlmeta.json",
                     programs.sha(plain), "-"])
        equal(os.listdir(work + "/inside"), [], "outside")
        equal(programs.sha(mount.path("it.b2frame/data.bin")),
              programs.sha(plain), "hash outside")


if __name__ == "__main__":
    namespace.enter()
    harness.main([
        fio_verifies_what_it_once_wrote,
        fio_finds_the_one_block_that_differs,
        thirty_two_readers_read_the_whole,
        thirty_two_readers_of_the_same_agree,
        two_hundred_users_read_what_modes_permit,
        a_container_reads_a_bound_folder,
    ])
