#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""NumPy, and programs in C and Fortran that read numbers."""
import errno
import mmap
import os
import struct

import harness
import programs
import samples
from harness import Mount, equal
from programs import MIB, need, shared, tool

try:
    import numpy
except ImportError:
    numpy = None

FORTRAN = """
program means
  use, intrinsic :: iso_fortran_env, only: real64, int64
  implicit none
  integer, parameter :: columns = 500
  real(real64) :: row(columns), some
  integer(int64) :: bytes
  integer :: unit, i, rows
  character(len=1000) :: path
  call get_command_argument(1, path)
  open(newunit=unit, file=trim(path), access='stream', &
       form='unformatted', action='read', status='old')
  inquire(unit=unit, size=bytes)
  rows = int(bytes / (8 * columns))
  do i = 1, rows
    read(unit) row
    write(*, '(es26.17e3)') sum(row) / columns
  end do
  read(unit, pos=1 + 8 * (int(columns, int64) * 7 + 3)) some
  write(*, '(es26.17e3)') some
end program
"""


class Numbers:
    """Arrays that NumPy wrote, packed."""

    def __init__(self, work):
        if numpy is None:
            raise harness.Skip("there is no numpy")
        random = numpy.random.default_rng(7)
        self.source = os.path.join(work, "source")
        os.mkdir(self.source)
        walk = numpy.cumsum(random.normal(size=(4000, 500)), axis=0)
        zeros = numpy.zeros((3000, 1000), "<i4")
        zeros[1200:1300] = random.integers(-9, 9, (100, 1000))
        self.arrays = {
            "walk": walk,
            "zeros": zeros,
            "half": random.normal(size=(99, 1001)).astype("<f2"),
            "complex": (walk[:500] + 1j * walk[500:1000]).astype("<c16"),
            "days": walk[:200].astype("<M8[D]"),
        }
        for name, array in self.arrays.items():
            plain = os.path.join(work, name)
            harness.write(plain, array.tobytes())
            dtype = array.dtype.str
            if name == "days":
                dtype = "<i8"
                self.arrays[name] = array.view("<i8")
            programs.pack(plain, os.path.join(self.source, name + ".b2nd"),
                          dtype, array.shape[1])


numbers = shared(Numbers)


def same(got, wanted, what):
    equal((got.shape, got.dtype.str), (wanted.shape, wanted.dtype.str), what)
    assert numpy.array_equal(got, wanted), what + " has other values"


def spellings_of_a_dtype_are_those_of_numpy(work):
    """Arrays whose dtype is said in each of NumPy's own words."""
    if numpy is None:
        raise harness.Skip("there is no numpy")
    words = {word for word in getattr(numpy, "sctypeDict", {})
             if isinstance(word, str) and not word.isdigit()}
    words |= set(numpy.typecodes["All"]) | {
        "=f8", "|i4", ">d", "<f", "float32", "datetime64[ns]",
        "timedelta64[25s]", ">M8[us]", "<U7", "S3"}
    source = os.path.join(work, "source")
    os.mkdir(source)
    wanted = {}
    for i, word in enumerate(sorted(words)):
        try:
            dtype = numpy.dtype(word)
        except TypeError:
            continue
        if dtype.hasobject or not dtype.itemsize:
            continue
        wanted[i] = dtype
        size = dtype.itemsize
        data = samples.noise(4 * size)
        made = bytearray(samples.assemble(
            data, len(data), [samples.chunk(data, size)], [0], False,
            samples.array_layer([4], [4], [4], word.encode())))
        struct.pack_into(">i", made, 0x30, size)
        harness.write(f"{source}/{i}.b2nd", bytes(made))
    assert len(wanted) > 60, len(wanted)
    with Mount(work, source) as mount:
        for i, dtype in wanted.items():
            got = numpy.load(mount.path(f"{i}.b2nd/data.npy"))
            equal(got.dtype, dtype)
            equal(got.tobytes(), samples.noise(4 * dtype.itemsize), "bytes")


def load_gives_the_same_arrays(work):
    made = numbers(work)
    with Mount(work, made.source) as mount:
        for name, array in made.arrays.items():
            same(numpy.load(mount.path(name + ".b2nd/data.npy")), array, name)


# A mount is busy while something of it is mapped: these return before it is
# unmounted, and what they mapped goes with them.

def compare_loaded(path, array):
    for mode in "rc":
        got = numpy.load(path, mmap_mode=mode)
        assert isinstance(got, numpy.memmap)
        same(got[::7, 3:50], array[::7, 3:50], path)
        same(got[-1:0:-1], array[-1:0:-1], path)
    # What is written to a private copy stays private.
    got[0, 0] += 1
    same(numpy.load(path, mmap_mode="r")[:1], array[:1], path)


def load_maps_the_same_arrays(work):
    made = numbers(work)
    with Mount(work, made.source) as mount:
        for name, array in made.arrays.items():
            path = mount.path(name + ".b2nd/data.npy")
            compare_loaded(path, array)
            for mode in ("r+", "w+"):
                harness.fails_with(
                    errno.EROFS, numpy.lib.format.open_memmap, path, mode,
                    array.dtype, array.shape)


def compare_mapped(path, array):
    same(numpy.memmap(path, array.dtype, "r", shape=array.shape), array, path)
    row = array.itemsize * array.shape[1]
    same(numpy.memmap(path, array.dtype, "r", 5 * row, (3,)), array[5, :3],
         path)


def memmap_of_raw_bytes_gives_the_same(work):
    made = numbers(work)
    with Mount(work, made.source) as mount:
        for name, array in made.arrays.items():
            compare_mapped(mount.path(name + ".b2nd/data.bin"), array)


def fromfile_reads_from_any_item(work):
    made = numbers(work)
    with Mount(work, made.source) as mount:
        for name, array in made.arrays.items():
            path = mount.path(name + ".b2nd/data.bin")
            same(numpy.fromfile(path, array.dtype).reshape(array.shape),
                 array, name)
            same(numpy.fromfile(path, array.dtype, 20001,
                                offset=array.itemsize * 1234),
                 array.ravel()[1234:21235], name)
            with open(path, "rb") as file:
                file.seek(-array.itemsize * 9, os.SEEK_END)
                same(numpy.fromfile(file, array.dtype), array.ravel()[-9:],
                     name)


def python_maps_what_it_may_read_only(work):
    made = numbers(work)
    with Mount(work, made.source) as mount:
        file = os.open(mount.path("walk.b2nd/data.bin"), os.O_RDONLY)
        try:
            with mmap.mmap(file, 0, prot=mmap.PROT_READ,
                           flags=mmap.MAP_SHARED) as view:
                equal(view[:] == made.arrays["walk"].tobytes(), True)
            for flags in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
                harness.fails_with(errno.EROFS, os.open,
                                   mount.path("walk.b2nd/data.bin"), flags)
        finally:
            os.close(file)


def a_program_in_c_maps_and_compares(work):
    plain = work + "/plain"
    os.mkdir(work + "/source")
    held = programs.write_holey(plain, 20)
    programs.pack(plain, work + "/source/holey.b2frame")
    assert held == 8 * MIB
    with Mount(work, work + "/source") as mount:
        data = mount.path("holey.b2frame/data.bin")
        equal(tool(programs.MAPPED, data, plain), "")
        with open(plain, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"\1")
        tool(programs.MAPPED, data, plain, status=1)


def a_program_in_fortran_reads_a_stream(work):
    need("gfortran")
    made = numbers(work)
    harness.write(work + "/means.f90", FORTRAN.encode())
    tool("gfortran", "-o", work + "/means", work + "/means.f90")
    with Mount(work, made.source) as mount:
        said = tool(work + "/means", mount.path("walk.b2nd/data.bin"))
        got = numpy.array([float(line) for line in said.split()])
    array = made.arrays["walk"]
    equal(len(got), len(array) + 1)
    assert numpy.allclose(got[:-1], array.mean(axis=1), 1e-12, 1e-12)
    equal(got[-1], array[7, 3])


if __name__ == "__main__":
    harness.main([
        spellings_of_a_dtype_are_those_of_numpy,
        load_gives_the_same_arrays,
        load_maps_the_same_arrays,
        memmap_of_raw_bytes_gives_the_same,
        fromfile_reads_from_any_item,
        python_maps_what_it_may_read_only,
        a_program_in_c_maps_and_compares,
        a_program_in_fortran_reads_a_stream,
    ])
