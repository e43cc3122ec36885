#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The view zarr, read by programs that know nothing of Blosc: zarr-python,
xarray, GDAL, and, if BLOSCFS_NODE is a folder whose node_modules hold it,
zarrita."""
import base64
import contextlib
import errno
import functools
import http.server
import itertools
import json
import os
import re
import shutil
import subprocess
import threading
import warnings

import numpy as np

import arrays
import harness
import programs
import samples
from harness import DATA, Mount, equal, fails_with, read

try:
    import xarray
    import zarr
except ImportError as error:
    MISSING = str(error)
else:
    MISSING = None

HERE = os.path.dirname(os.path.abspath(__file__))
VIEWS = "--views=info,data,npy,zarr"
NODE = os.environ.get("BLOSCFS_NODE")
CORPUS = os.environ.get("BLOSCFS_CORPUS")


def stores(top):
    """Every folder below that shows an array, without what is in it."""
    for folder, folders, files in harness.walk(top):
        folders.sort()
        if "zarr.json" in files or ".zarray" in files or ".zgroup" in files:
            folders.clear()
        elif "data.npy" in files:
            yield folder


def values(folder):
    """The array of data.npy, or None where it cannot be read."""
    if os.stat(folder + "/data.bin").st_size > 1 << 28:
        return None
    try:
        # The bytes are read, not mapped: damage is no SIGBUS then.
        read(folder + "/data.bin")
    except OSError:
        return None
    return np.load(folder + "/data.npy")


def native(dtype):
    """Without the byte order: zarr-python 3.0 swaps what is not of this
    machine, other versions leave it."""
    return dtype.newbyteorder("=")


def same(got, wanted, what):
    equal(got.shape, wanted.shape, "shape of " + what)
    equal(native(got.dtype), native(wanted.dtype), "dtype of " + what)
    equal(np.ascontiguousarray(got.astype(wanted.dtype)).tobytes(),
          np.ascontiguousarray(wanted).tobytes(), "bytes of " + what)


def read3(store, both=True):
    """An array as its zarr.json and the keys below c say it, whose chunks have
    the keys of version 2 as well where there are both."""
    meta = json.loads(read(store + "/zarr.json"))
    name = meta["data_type"]
    dtype = np.dtype(f"V{int(name[1:]) // 8}" if name[1:].isdigit() else name)
    *before, last = meta["codecs"]
    equal(last["name"], "bytes", "last codec")
    if last["configuration"]["endian"] == "big":
        dtype = dtype.newbyteorder(">")
    order = before[0]["configuration"]["order"] if before else \
        list(range(len(meta["shape"])))
    chunks = meta["chunk_grid"]["configuration"]["chunk_shape"]
    whole = np.zeros(meta["shape"], dtype)
    grid = [-(-s // c) for s, c in zip(meta["shape"], chunks)]
    for at in itertools.product(*map(range, grid)):
        data = read("/".join([store, "c", *map(str, at)]))
        if both:
            equal(data, read(store + "/" + (".".join(map(str, at)) or "0")),
                  "bytes of the other key")
        chunk = np.frombuffer(data, dtype).reshape([chunks[d] for d in order])
        chunk = chunk.transpose(np.argsort(order)).copy()
        place = tuple(slice(i * c, min(i * c + c, s))
                      for i, c, s in zip(at, chunks, meta["shape"]))
        inside = tuple(slice(0, p.stop - p.start) for p in place)
        whole[place] = chunk[inside]
        chunk[inside] = np.zeros((), dtype)
        assert not any(chunk.tobytes()), "padding is not zero"
    return whole


def version_to_read(store):
    """zarr-python 3.0 takes version 3 where it is there, and does not know the
    raw types that version 3 has: those it reads by version 2."""
    if zarr.__version__.startswith("2.") or \
            not os.path.exists(store + "/zarr.json"):
        return {}
    name = json.loads(read(store + "/zarr.json"))["data_type"]
    return {"zarr_format": 2} if re.fullmatch(r"r\d+", name) else {}


def is_beyond_zarr(store):
    """zarr-python 3.0 opens no array of records, of nobody."""
    if not zarr.__version__.startswith("3.0."):
        return False
    return isinstance(json.loads(read(store + "/.zarray"))["dtype"], list)


def holes(array, store):
    """How many chunks are holes, as their files tell; none, where their keys
    cannot be left out."""
    if array.fill_value is None:
        return 0
    keys = (".".join(map(str, at)) for at in itertools.product(
        *(range(-(-s // c)) for s, c in zip(array.shape, array.chunks))))
    return sum(os.stat(f"{store}/{key}").st_blocks == 0 for key in keys)


def check_array(folder):
    """All ways to the same array; True if there was one to compare."""
    store = folder + "/zarr"
    info = json.loads(read(folder + "/info.json"))
    wanted = values(folder)
    equal(sorted(info["zarr"]), ["v2", "v3"], "info.json of " + folder)
    equal(info["zarr"]["v3"] is True, os.path.exists(store + "/zarr.json"),
          "version 3 of " + folder)
    if wanted is None or is_beyond_zarr(store):
        return False
    more = version_to_read(store)
    array = zarr.open(store, mode="r", **more)
    same(array[...], wanted, store)
    if array.order == "C":
        equal(array.chunks, tuple(info.get("chunkshape", array.chunks)),
              "chunks of " + store)
    if array.ndim:
        # Of an array without dimensions zarr counts every file.
        equal(array.nchunks_initialized, array.nchunks - holes(array, store),
              "keys of " + store)
    group = zarr.open_group(folder + "/dataset.zarr", mode="r", **more)
    equal(list(group), ["data"], "members")
    same(group["data"][...], wanted, folder + "/dataset.zarr")
    if info["zarr"]["v3"] is True:
        same(read3(store), wanted, store + ", version 3")
    return True


def shown(work, source=DATA):
    if MISSING:
        raise harness.Skip(MISSING)
    return Mount(work, source, VIEWS)


def check_tree(work, source, at_least):
    with shown(work, source) as mount:
        good = [check_array(folder) for folder in stores(mount.point)]
    assert good.count(True) >= at_least, good.count(True)


def zarr_reads_every_sample_as_numpy_does(work):
    check_tree(work, DATA, 20)


def zarr_reads_every_array_of_the_corpus(work):
    if not CORPUS:
        raise harness.Skip("BLOSCFS_CORPUS names no corpus")
    check_tree(work, CORPUS, 100)


def parts_of_an_array_are_read_through_few_blocks(work):
    with shown(work) as mount:
        folder = mount.path("good-nd-shrunk.b2nd")
        wanted = np.load(folder + "/data.npy")
        array = zarr.open(folder + "/zarr", mode="r")
        for part in (np.s_[3:14, ::2], np.s_[16], np.s_[-1:, 5:7],
                     np.s_[9:11, 9:11]):
            same(array[part], wanted[part], str(part))
        with open(folder + "/zarr/1.1", "rb", buffering=0) as file:
            whole = read(folder + "/zarr/1.1")
            for offset in (0, 1, 39, 40, 111, 279, 399):
                equal(os.pread(file.fileno(), 13, offset),
                      whole[offset:offset + 13], "range")


def xarray_opens_the_group_as_a_data_set(work):
    with shown(work) as mount:
        for name in ("good-nd-shrunk.b2nd", "good-nd-zero-dim.b2nd",
                     "good-nd-big-endian.b2nd", "good-nd0.b2nd",
                     "good-blp3-array-fortran.blp", "good-nd-2.15.2.b2nd"):
            wanted = np.load(mount.path(name, "data.npy"))
            store = mount.path(name, "dataset.zarr")
            for options in ({}, {"consolidated": False}):
                with xarray.open_dataset(store, engine="zarr",
                                         **options) as found:
                    # Zeros are values, and whole numbers stay such.
                    same(found["data"].values.astype(wanted.dtype), wanted,
                         store)
                    equal(found["data"].dtype.kind, wanted.dtype.kind, "kind")
                    equal(found["data"].dims,
                          tuple(f"dim_{i}" for i in range(wanted.ndim)),
                          "dimensions")


def xarray_shows_dimensions_units_and_attributes(work):
    os.mkdir(work + "/source")
    wanted = arrays.numbers((6, 7), "<f4")
    harness.write(work + "/source/a.b2nd", samples.with_vlmetas(
        arrays.pack(wanted), [
            (b"dims", b"\x92\xa3lat\xa3lon"), (b"units", b"\xa3m/s"),
            (b"long_name", b"\xa9" + "\u00b5 na\u00efve".encode()),
            (b"levels", b"\x93\x01\x02\xcb\x3f\xf8" + bytes(6))]))
    with shown(work, work + "/source") as mount:
        told = {"units": "m/s", "long_name": "\u00b5 na\u00efve",
                "levels": [1, 2, 1.5]}
        store = mount.path("a.b2nd/dataset.zarr")
        for options in ({}, {"consolidated": False}):
            with xarray.open_dataset(store, engine="zarr",
                                     **options) as found:
                equal(found["data"].dims, ("lat", "lon"), "dimensions")
                equal(found["data"].attrs, told, "attributes")
                same(found["data"].values, wanted, store)
        array = zarr.open(mount.path("a.b2nd/zarr"), mode="r",
                          **({} if zarr.__version__.startswith("2.")
                             else {"zarr_format": 2}))
        equal(dict(array.attrs), {"_ARRAY_DIMENSIONS": ["lat", "lon"],
                                  **told}, "attributes for zarr")
        meta = json.loads(read(mount.path("a.b2nd/zarr/zarr.json")))
        equal(meta["dimension_names"], ["lat", "lon"], "names")
        equal(meta["attributes"], told, "attributes of version 3")


def a_copied_store_is_the_same_array(work):
    with shown(work) as mount:
        folder = mount.path("good-nd16.b2nd")
        subprocess.run(["cp", "-r", "--no-preserve=mode", folder + "/zarr",
                        work + "/copy"], check=True, timeout=30)
        wanted = np.load(folder + "/data.npy")
    same(zarr.open(work + "/copy", mode="r")[...], wanted, "the copy")
    same(read3(work + "/copy"), wanted, "the copy, version 3")


def chunks_of_zeros_take_no_room(work):
    os.mkdir(work + "/source")
    harness.write(work + "/source/a.b2nd", samples.holey_array())
    with shown(work, work + "/source") as mount:
        store = mount.path("a.b2nd/zarr")
        equal(zarr.open(store, mode="r")[...].tobytes(), b"ab\0\0cd\0\0",
              "items")
        equal([os.stat(f"{store}/{i}").st_blocks > 0 for i in range(4)],
              [True, False, True, False], "chunks that take room")
        equal(sorted(os.listdir(store)),
              [".zarray", ".zattrs", "0", "2", "c", "zarr.json"], "listed")
        equal(sorted(os.listdir(store + "/c")), ["0", "2"], "listed")
        group = mount.path("a.b2nd/dataset.zarr/data")
        equal(sorted(os.listdir(group + "/c")), ["0", "1", "2", "3"],
              "listed where the fill value is null")
        for made in store, group:
            subprocess.run(["cp", "-r", "--no-preserve=mode", made,
                            work + "/copy"], check=True, timeout=30)
            equal(zarr.open(work + "/copy", mode="r")[...].tobytes(),
                  b"ab\0\0cd\0\0", "the copy of " + made)
            shutil.rmtree(work + "/copy")
        equal(os.stat(store + "/c/1").st_size, 2, "size of a hole")
        with open(store + "/1", "rb") as file:
            fails_with(errno.ENXIO, os.lseek, file.fileno(), 0, os.SEEK_DATA)


def a_store_of_many_chunks_lists_those_with_items(work):
    os.mkdir(work + "/source")
    last = np.arange(1, 10, dtype="<u2").reshape(1, 1, 9)
    harness.write(work + "/source/a.b2nd", arrays.sparse(
        (40, 500, 9 * 9), "<u2", (1, 1, 9), last))
    with shown(work, work + "/source") as mount:
        store = mount.path("a.b2nd/zarr")
        equal(sorted(os.listdir(store)), [".zarray", ".zattrs", "39.499.8",
                                          "c", "zarr.json"], "listed")
        equal(os.listdir(store + "/c/39/499"), ["8"], "listed")
        array = zarr.open(store, mode="r")
        equal(array.nchunks_initialized, 1, "chunks that zarr sees")
        equal(array[39, 499, -10:].tolist(), [0, *range(1, 10)], "items")
        equal(int(array[38:].astype("u8").sum()), 45, "sum")


def views_of_one_version_are_read_without_a_warning(work):
    if MISSING:
        raise harness.Skip(MISSING)
    versions = [2] if zarr.__version__.startswith("2.") else [2, 3]
    with Mount(work, DATA, "--views=info,data,npy,zarr2,zarr3") as mount:
        folder = mount.path("good-nd-shrunk.b2nd")
        wanted = np.load(folder + "/data.npy")
        assert not {"zarr", "dataset.zarr"} & set(os.listdir(folder))
        for version in versions:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                array = zarr.open(f"{folder}/zarr{version}", mode="r")
                same(array[...], wanted, f"zarr{version}")
                group = zarr.open_group(f"{folder}/dataset{version}.zarr",
                                        mode="r")
                same(group["data"][...], wanted, f"dataset{version}.zarr")
        same(read3(folder + "/zarr3", both=False), wanted, "zarr3")


def the_view_is_off_unless_named(work):
    with Mount(work, DATA) as mount:
        folder = mount.path("good-nd-shrunk.b2nd")
        assert not {"zarr", "dataset.zarr"} & set(os.listdir(folder))
        fails_with(errno.ENOENT, os.stat, folder + "/zarr")
        assert "zarr" not in json.loads(read(folder + "/info.json"))


def gdal_translates_an_array(work):
    programs.need("gdal_translate")
    with shown(work) as mount:
        folder = mount.path("good-nd-shrunk.b2nd")
        wanted = np.load(folder + "/data.npy")
        for store in ("zarr", "dataset.zarr"):
            subprocess.run(
                ["gdal_translate", "-q", "-of", "ENVI",
                 f'ZARR:"{folder}/{store}"', f"{work}/{store}.bin"],
                check=True, timeout=60)
            same(np.fromfile(f"{work}/{store}.bin", "<i4")
                 .reshape(wanted.shape), wanted, store)


def write_stores(top, array):
    """Stores of others, as zarr-python of this machine writes them, with
    Blosc in each of its codecs; by their names."""
    import numcodecs
    made, old = [], zarr.__version__.startswith("2.")
    names = numcodecs.blosc.list_compressors()
    for i, name in enumerate(names):
        codec = numcodecs.Blosc(cname=name, clevel=5, shuffle=i % 3)
        more = {} if old else {"zarr_format": 2}
        for nested in ".", "/":
            path = f"{top}/{name}{'-nested' if nested == '/' else ''}.zarr"
            kept = zarr.create(store=path, shape=array.shape, chunks=(7, 5),
                               dtype=array.dtype, compressor=codec,
                               dimension_separator=nested, **more)
            kept[...] = array
            made.append(path)
    if old:
        path = top + "/a.n5"
        group = zarr.open_group(zarr.N5Store(path), mode="w")
        group.create_dataset("data", data=array, chunks=(7, 5),
                             compressor=numcodecs.Blosc(cname="lz4"))
        made.append(path)
    else:
        path = top + "/v3.zarr"
        kept = zarr.create_array(
            store=path, shape=array.shape, chunks=(7, 5), dtype=array.dtype,
            compressors=zarr.codecs.BloscCodec(cname="zstd"), zarr_format=3)
        kept[...] = array
        made.append(path)
    return [os.path.basename(path) for path in made]


def open_store(path):
    if path.endswith(".n5"):
        return zarr.open_group(zarr.N5Store(path), mode="r")["data"]
    return zarr.open(path, mode="r")


def stores_of_others_read_as_they_do_directly(work):
    if MISSING:
        raise harness.Skip(MISSING)
    source = work + "/source"
    os.mkdir(source)
    wanted = np.arange(20 * 11, dtype="<f4").reshape(20, 11) + 1
    names = write_stores(source, wanted)
    xarray.Dataset({"t": (("y", "x"), wanted)}).to_zarr(source + "/x.zarr")
    with Mount(work, source) as mount:
        for name in names:
            same(open_store(f"{source}/{name}")[...], wanted, name)
            same(open_store(mount.path(name))[...], wanted,
                 name + ", mounted")
        with xarray.open_dataset(mount.path("x.zarr"),
                                 engine="zarr") as found:
            same(found["t"].values, wanted, "xarray, mounted")


def gdal_reads_stores_of_others(work):
    programs.need("gdal_translate")
    if MISSING:
        raise harness.Skip(MISSING)
    source = work + "/source"
    os.mkdir(source)
    wanted = np.arange(20 * 11, dtype="<f4").reshape(20, 11) + 1
    names = [name for name in write_stores(source, wanted)
             if name.startswith(("lz4.", "lz4-nested", "v3"))]
    with Mount(work, source) as mount:
        compared = 0
        for name in names:
            # GDAL of some years does not know each codec of version 3: what
            # it cannot read where it lies it cannot read here either.
            ends = [translate(f"{top}/{name}", f"{work}/{name}.{i}.bin")
                    for i, top in enumerate((source, mount.point))]
            equal(ends[1] == 0, ends[0] == 0, "read of " + name)
            if ends[0] == 0:
                compared += 1
                for i in range(2):
                    equal(read(f"{work}/{name}.{i}.bin"), wanted.tobytes(),
                          name)
        assert compared >= 2, compared


def translate(store, target):
    """The exit status of GDAL that copies an array of Zarr."""
    return subprocess.run(
        ["gdal_translate", "-q", "-of", "ENVI", f'ZARR:"{store}"', target],
        check=False, timeout=60).returncode


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_args):
        pass


@contextlib.contextmanager
def served(folder):
    """The address under which an HTTP server shows a folder."""
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield "http://127.0.0.1:%d" % server.server_address[1]
        finally:
            server.shutdown()


def zarrita(places):
    """What zarrita reads there, as arrays."""
    with open(HERE + "/zarrita.mjs", "rb") as script:
        told = subprocess.run(
            ["node", "--input-type=module", "-", *places], stdin=script,
            cwd=NODE, stdout=subprocess.PIPE, check=True, timeout=60).stdout
    for line in told.splitlines():
        found = json.loads(line)
        data = np.frombuffer(base64.b64decode(found["data"]), found["dtype"])
        yield np.lib.stride_tricks.as_strided(
            data, found["shape"],
            [step * data.itemsize for step in found["stride"]])


def zarrita_reads_version_3_from_files_and_over_http(work):
    if not NODE:
        raise harness.Skip("BLOSCFS_NODE names no folder with zarrita")
    names = ["good-nd-shrunk.b2nd", "good-nd-big-endian.b2nd",
             "good-nd-ndmean.b2nd", "good-nd0.b2nd", "good-nd16.b2nd",
             "good-nd-ndlz.b2nd", "good-sparse-array.b2nd",
             "good-blp3-array.blp", "good-blp3-array-fortran.blp",
             "good-blp3-array-big-endian.blp"]
    with shown(work) as mount, served(mount.point) as address:
        for top, store in itertools.product((mount.point, address),
                                            ("zarr", "dataset.zarr")):
            arrays = list(zarrita(f"{top}/{name}/{store}" for name in names))
            equal(len(arrays), len(names), "arrays")
            for name, got in zip(names, arrays):
                wanted = np.load(mount.path(name, "data.npy"))
                same(got, wanted.astype(wanted.dtype.newbyteorder("=")),
                     f"{name} from {top}")


TESTS = [
    zarr_reads_every_array_of_the_corpus,
    zarrita_reads_version_3_from_files_and_over_http,
    zarr_reads_every_sample_as_numpy_does,
    parts_of_an_array_are_read_through_few_blocks,
    xarray_opens_the_group_as_a_data_set,
    xarray_shows_dimensions_units_and_attributes,
    a_copied_store_is_the_same_array,
    chunks_of_zeros_take_no_room,
    a_store_of_many_chunks_lists_those_with_items,
    views_of_one_version_are_read_without_a_warning,
    the_view_is_off_unless_named,
    gdal_translates_an_array,
    stores_of_others_read_as_they_do_directly,
    gdal_reads_stores_of_others,
]

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    harness.main(TESTS)
