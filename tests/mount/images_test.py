#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The views tiff, nifti and headers, read by programs that know nothing of
Blosc: tifffile, nibabel, tiffinfo and tiffcp of libtiff; and, where
BLOSCFS_PROGRAMS says that packaging/check --programs installed them, GDAL,
ImageMagick, plastimatch and ImageJ."""
import errno
import json
import os
import re
import struct

import numpy as np

import arrays
import harness
import programs
from harness import Mount, equal, fails_with, read

try:
    import nibabel
    import tifffile
except ImportError as error:
    MISSING = str(error)
else:
    MISSING = None

VIEWS = "--views=info,data,npy,tiff,nifti,headers"
# How programs read the types of numbers; tifffile, libtiff and nibabel read all
# that is there as it is. The tests hold each program to its row: "" as they
# are, another type: as if the bytes were that, else as is said there.
IMAGEJ = {  # has four bytes of floating point for numbers of four bytes
    "b1": "", "u1": "", "i1": "u1", "u2": "", "i2": "", "u4": "i4", "i4": "",
    "f4": "", **dict.fromkeys("f2 f8 u8 i8".split(), "refused")}
MAGICK = {  # has 16 bits
    "b1": "", "u1": "", "i1": "u1", "u2": "", "i2": "from zero",
    "u4": "upper half", "i4": "upper half",
    **dict.fromkeys("f2 f4 f8".split(), "between 0 and 1"),
    **dict.fromkeys("u8 i8".split(), "refused")}
PLASTIMATCH_TYPES = ("neu1", "leu2", "beu2", "lei2", "bei2", "lei4", "bei4",
                     "leu4", "beu4", "lef4", "bef4")
HEAVY = bool(os.environ.get("BLOSCFS_PROGRAMS"))
ENTRIES = ("data.tif", "data.nii", "data.nhdr", "data.mhd", "data.vrt",
           "data.hdr")


@programs.shared
def matrix(work):
    """A folder of the frames, and the arrays by name."""
    top = os.path.join(work, "matrix")
    os.mkdir(top)
    values = {}
    for name, (made, data) in arrays.matrix().items():
        harness.write(os.path.join(top, name), data)
        values[name] = made
    assert len(values) >= 60, len(values)
    return top, values


def each(mount, values):
    for name, wanted in values.items():
        yield mount.path(name), wanted


def same(got, wanted, what):
    """The same numbers of the same type, whatever the order of bytes; truth
    values are numbers there."""
    if wanted.dtype.kind == "b":
        wanted = wanted.astype("u1")
    native = wanted.dtype.newbyteorder("=")
    equal(got.dtype.newbyteorder("="), native, "dtype of " + what)
    equal(got.astype(native).tobytes(), wanted.astype(native).tobytes(),
          "bytes of " + what)


def info(folder):
    return json.loads(read(folder + "/info.json"))


def has_tiff(wanted):
    return wanted.ndim >= 2 and wanted.dtype.kind != "c"


def is_coloured(wanted):
    """Whether a page of TIFF has the last three dimensions."""
    return wanted.ndim > 2 and wanted.shape[-1] in (3, 4) and \
        wanted.dtype.str[1:] in ("u1", "u2")


def has_nifti(wanted):
    return wanted.ndim <= 7 and wanted.dtype.str[1:] != "f2"


def has_header(key, wanted):
    code = wanted.dtype.str[1:]
    if key in ("nhdr", "mhd"):
        most = 16 if key == "nhdr" else 10
        return wanted.ndim <= most and code[0] != "c" and code != "f2"
    return 2 <= wanted.ndim <= 3 and code != "f2" and (
        key == "vrt" or code != "i1")


def need_readers():
    if MISSING:
        raise harness.Skip(MISSING)


def need_heavy(*names):
    if not HEAVY:
        raise harness.Skip("BLOSCFS_PROGRAMS is not set: left out are " +
                           ", ".join(names))
    programs.need(*names)


def entries_are_there_or_info_json_says_why(work):
    top, values = matrix(work)
    with Mount(work, top, VIEWS) as mount:
        for folder, wanted in each(mount, values):
            facts = info(folder)
            names = os.listdir(folder)
            told = {"data.tif": facts["tiff"], "data.nii": facts["nifti"],
                    **{"data." + key: why
                       for key, why in facts["headers"].items()}}
            equal(sorted(told), sorted(ENTRIES), folder)
            expected = {"data.tif": has_tiff(wanted),
                        "data.nii": has_nifti(wanted),
                        **{"data." + key: has_header(key, wanted)
                           for key in ("nhdr", "mhd", "vrt", "hdr")}}
            for name, why in told.items():
                equal(name in names, expected[name], f"{name} of {folder}")
                assert why is True if expected[name] else \
                    isinstance(why, str) and why, f"{name} of {folder}: {why}"
            for name in set(names) & set(ENTRIES):
                path = f"{folder}/{name}"
                equal(os.stat(path).st_size, len(read(path)), path)


def decoded(mount):
    """How many bytes were decoded."""
    stats = read(mount.path(".bloscfs/stats")).decode()
    return int(re.search(r"^bloscfs_decoded_bytes\S* (\d+)$", stats,
                         re.M).group(1))


def sizes_are_told_without_decoding(work):
    top, values = matrix(work)
    sizes = {}
    with Mount(work, top, "--views=all") as mount:
        for folder, _ in each(mount, values):
            # Of the many keys of a store, some.
            for inner in ("", "/raw", "/zarr", "/zarr2", "/zarr3",
                          "/dataset.zarr", "/dataset.zarr/data"):
                if not os.path.isdir(folder + inner):
                    continue
                for name in os.listdir(folder + inner)[:20]:
                    path = f"{folder}{inner}/{name}"
                    if os.path.isfile(path):
                        sizes[path] = os.stat(path).st_size
        equal(decoded(mount), 0, "decoded bytes")
        assert len(sizes) > 20 * len(values), len(sizes)
        for path, size in sizes.items():
            equal(len(read(path)), size, path)
    print(f"# {len(sizes)} sizes told, 0 bytes decoded")


def a_size_over_4_gib_is_told_without_decoding(work):
    path = os.path.join(work, "big")
    harness.write(path, arrays.sparse((2600, 1024, 1024), "<u2",
                                      (1, 1024, 1024), arrays.numbers(
                                          (1, 1024, 1024), "<u2")))
    with Mount(work, path, "--views=all") as mount:
        for name in ENTRIES + ("stack.tif", "data.npy", "preview.png"):
            os.stat(mount.path(name))
        whole = 2600 << 21
        equal(os.stat(mount.path("data.bin")).st_size, whole)
        for name, head in (("data.npy", 128), ("data.nii", 352)):
            equal(os.stat(mount.path(name)).st_size, whole + head, name)
        equal(decoded(mount), 0, "decoded bytes")


def tifffile_reads_what_numpy_reads(work):
    need_readers()
    top, values = matrix(work)
    with Mount(work, top, VIEWS) as mount:
        for folder, wanted in each(mount, values):
            if has_tiff(wanted):
                path = folder + "/data.tif"
                same(tifffile.imread(path), wanted, path)
                with tifffile.TiffFile(path) as tif:
                    pages = np.stack([page.asarray() for page in tif.pages])
                same(pages, wanted, "pages of " + path)


def nibabel_reads_what_numpy_reads(work):
    need_readers()
    top, values = matrix(work)
    with Mount(work, top, VIEWS) as mount:
        for folder, wanted in each(mount, values):
            if not has_nifti(wanted):
                continue
            path = folder + "/data.nii"
            image = nibabel.load(path)
            equal(isinstance(image, nibabel.Nifti2Image),
                  max(wanted.shape, default=1) > 32767, "version of " + path)
            equal(image.shape, wanted.shape[::-1] or (1,), "shape of " + path)
            same(np.asarray(image.dataobj).T, wanted, path)
            equal(image.affine.tolist(), np.eye(4).tolist(), path)


def libtiff_reads_every_directory(work):
    programs.need("tiffinfo")
    top, values = matrix(work)
    with Mount(work, top, VIEWS) as mount:
        for folder, wanted in each(mount, values):
            if not has_tiff(wanted):
                continue
            said = programs.tool("tiffinfo", "-D", folder + "/data.tif")
            outer = wanted.shape[:-3 if is_coloured(wanted) else -2]
            equal(said.count("TIFF Directory"),
                  int(np.prod(outer, dtype=int)), "pages of " + folder)
            assert "rror" not in said and "arning" not in said, said


def libtiff_copies_the_same_numbers(work):
    programs.need("tiffcp")
    need_readers()
    top, values = matrix(work)
    out = os.path.join(work, "copy.tif")
    with Mount(work, top, VIEWS) as mount:
        for folder, wanted in each(mount, values):
            if has_tiff(wanted):
                programs.tool("tiffcp", "-c", "none", folder + "/data.tif",
                              out)
                with tifffile.TiffFile(out) as tif:
                    got = np.stack([page.asarray() for page in tif.pages])
                same(got, wanted, "copy of " + folder)


def order_f_and_hostile_shapes_have_reasons(work):
    with Mount(work, harness.DATA, VIEWS) as mount:
        told = info(mount.path("good-blp3-array-fortran.blp"))
        assert "order F" in told["tiff"], told["tiff"]
        equal(told["nifti"], True)
        need_readers()
        folder = mount.path("good-blp3-array-fortran.blp")
        wanted = np.load(folder + "/data.npy")
        same(np.asarray(nibabel.load(folder + "/data.nii").dataobj), wanted,
             folder)
    path = os.path.join(work, "wide")
    zero = arrays.sparse((2, 1 << 33), "|u1", (1, 1 << 30),
                         arrays.ZEROS)
    harness.write(path, zero)
    with Mount(work, path, VIEWS) as mount:
        told = info(mount.point)
        assert "rows or columns" in told["tiff"], told["tiff"]
        equal(told["nifti"], True)
        assert told["headers"]["vrt"] is not True
        assert not os.path.exists(mount.path("data.tif"))


def a_stack_over_4_gib_is_a_bigtiff_and_one_for_imagej(work):
    need_readers()
    last = arrays.numbers((1, 1024, 1024), "<u2")
    path = os.path.join(work, "big")
    harness.write(path, arrays.sparse((2600, 1024, 1024), "<u2",
                                      (1, 1024, 1024), last))
    with Mount(work, path, VIEWS) as mount:
        tif, stack = mount.path("data.tif"), mount.path("stack.tif")
        equal(head(tif), b"II\x2b\0", "BigTIFF")
        equal(head(stack), b"II\x2a\0", "TIFF")
        assert os.stat(tif).st_size > 2600 << 21
        with tifffile.TiffFile(tif) as file:
            equal(len(file.pages), 2600)
            same(file.pages[2599].asarray(), last, tif)
            assert not file.pages[1300].asarray().any()
        # ImageJ goes by the first directory, and counts on.
        with tifffile.TiffFile(stack) as file:
            page = file.pages[0]
            assert "images=2600\n" in page.description, page.description
            at = page.dataoffsets[0] + (2599 << 21)
        equal(os.stat(stack).st_size, at + (1 << 21), "size of stack.tif")
        with open(stack, "rb") as file:
            file.seek(at)
            equal(file.read(), last.tobytes(), "last page of stack.tif")
        image = nibabel.load(mount.path("data.nii"))
        same(np.asarray(image.dataobj[:, :, 2599]).T, last, "data.nii")


def head(path):
    with open(path, "rb") as file:
        return file.read(4)


def a_hundred_thousand_pages_cost_nothing(work):
    need_readers()
    path = os.path.join(work, "pages")
    values = np.arange(100000 * 4, dtype="<u2").reshape(100000, 2, 2)
    harness.write(path, arrays.pack(values, (20000, 2, 2), (2000, 2, 2)))
    with Mount(work, path, VIEWS) as mount:
        before = mount.memory()
        tif = mount.path("data.tif")
        size = os.stat(tif).st_size
        with open(tif, "rb") as file:
            assert file.read(2) == b"II"
            file.seek(4)
            at, n = struct.unpack("<I", file.read(4))[0], 0
            while at:
                file.seek(at)
                count = struct.unpack("<H", file.read(2))[0]
                entries = file.read(12 * count)
                at, n = struct.unpack("<I", file.read(4))[0], n + 1
        equal(n, 100000, "directories")
        places = {tag: value for tag, _, _, value in
                  struct.iter_unpack("<HHII", entries)}
        equal(places[273] + places[279], size, "end of the last page")
        harness.below(mount.memory() - before, 32 << 20)
        same(tifffile.imread(tif), values, tif)


def ranges_across_directories_and_items_are_the_same_bytes(work):
    path = os.path.join(work, "few")
    harness.write(path, arrays.pack(arrays.numbers((5, 6, 7), ">i2")))
    with Mount(work, path, VIEWS) as mount:
        for name in ENTRIES:
            whole = read(mount.path(name))
            with open(mount.path(name), "rb", buffering=0) as file:
                for at in range(0, len(whole), 13):
                    equal(os.pread(file.fileno(), 29, at),
                          whole[at:at + 29], f"range at {at} of {name}")


def damage_in_a_range_is_an_error_and_no_number(work):
    path = os.path.join(work, "bad")
    values = arrays.numbers((64, 64, 64), "<u2")
    data = bytearray(arrays.pack(values, (32, 64, 64), (32, 64, 64)))
    where = bytes(data).find(values[32:].tobytes())
    assert where > 0, where
    # The second chunk says another length.
    data[where - 32 + 4:where - 32 + 8] = struct.pack("<i", 7)
    harness.write(path, bytes(data))
    with Mount(work, path, VIEWS) as mount:
        for name, before in (("data.tif", None), ("data.nii", 352)):
            with open(mount.path(name), "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                start = size - values.nbytes
                assert before in (None, start), start
                equal(os.pread(file.fileno(), 64, start),
                      values.tobytes()[:64], name)
                fails_with(errno.EIO, os.pread, file.fileno(), 64,
                           size - 64)
                equal(len(os.pread(file.fileno(), 64, 0)), 64, name)


def texts_hold_nothing_of_the_container(work):
    hostile = b"<script>alert(1)</script>&amp;\"'\x01\xe2\x80\xae]]>"
    folder = os.path.join(work, "source")
    os.mkdir(folder)
    name = os.fsencode(folder) + b"/<b>&\"'\x01\xe2\x80\xae"
    values = arrays.numbers((3, 4, 5), "|u1")
    with open(name, "wb") as file:
        file.write(arrays.pack(values))
    with Mount(work, folder, VIEWS) as mount:
        inside = os.path.join(os.fsencode(mount.point), os.path.basename(name))
        for entry in (b"data.nhdr", b"data.mhd", b"data.vrt", b"data.hdr"):
            text = read(inside + b"/" + entry)
            assert not set(text) & set(b"&\"'\x01\xe2") - set(b"\""), text
            assert b"script" not in text and hostile not in text, text
            assert all(c == 10 or 32 <= c < 127 for c in text), text
        first = read(inside + b"/data.tif")[:512]
        assert b"<b>" not in first, first


def headers_name_bytes_that_are_there(work):
    path = os.path.join(work, "few")
    harness.write(path, arrays.pack(arrays.numbers((5, 6, 7), "<i2")))
    with Mount(work, path, "--views=info,headers") as mount:
        equal(os.listdir(mount.point), ["info.json"])
        told = info(mount.point)["headers"]
        for why in told.values():
            assert "data.bin" in why, why
    with Mount(work, path, "--views=data,headers") as mount:
        equal(sorted(os.listdir(mount.point)),
              ["data.bin", "data.hdr", "data.mhd", "data.nhdr", "data.vrt"])
        equal(read(mount.path("data.nhdr")).decode(),
              "NRRD0004\ntype: int16\ndimension: 3\nsizes: 7 6 5\n"
              "endian: little\nencoding: raw\ndata file: data.bin\n")


# What GDAL 3.6 has: no eight-bit numbers with a sign, no f2.
GDAL_TYPES = {"b1", "u1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"}


def gdal_reads_what_numpy_reads(work):
    need_heavy("gdalinfo")
    from osgeo import gdal
    gdal.UseExceptions()
    top, values = matrix(work)
    with Mount(work, top, VIEWS) as mount:
        for folder, wanted in each(mount, values):
            if wanted.dtype.str[1:] not in GDAL_TYPES or wanted.ndim < 2:
                continue
            raster = wanted if wanted.ndim == 2 or wanted.shape[0] > 1 \
                else wanted[0]
            for name in ("data.vrt", "data.bin"):
                # Its ENVI knows no numbers of eight bytes.
                if wanted.ndim <= 3 and (name == "data.vrt" or
                                         wanted.dtype.str[1:] not in
                                         ("u8", "i8")):
                    got = gdal.Open(f"{folder}/{name}").ReadAsArray()
                    same(got, raster, f"{folder}/{name}")
            # A band goes with its data set.
            held = gdal.Open(folder + "/data.tif")
            first = held.GetRasterBand(1)
            pages = wanted[..., 0] if is_coloured(wanted) else wanted
            pages = pages.reshape(-1, *pages.shape[-2:])
            same(first.ReadAsArray(), pages[0], folder + "/data.tif")
            # An open file would hold the mount.
            del first, held
            held = gdal.Open(f"GTIFF_DIR:{len(pages)}:{folder}/data.tif")
            first = held.GetRasterBand(1)
            same(first.ReadAsArray(), pages[-1], f"last page of {folder}")
            del first, held


def gdal_reads_the_last_page_beyond_4_gib(work):
    need_heavy("gdalinfo")
    from osgeo import gdal
    gdal.UseExceptions()
    path = os.path.join(work, "big")
    last = arrays.numbers((1, 1024, 1024), "<u2")
    harness.write(path, arrays.sparse((2600, 1024, 1024), "<u2",
                                      (1, 1024, 1024), last))
    with Mount(work, path, VIEWS) as mount:
        for name, number in ((f"GTIFF_DIR:2600:{mount.path('data.tif')}", 1),
                             (mount.path("data.vrt"), 2600),
                             (mount.path("data.bin"), 2600)):
            held = gdal.Open(name)
            band = held.GetRasterBand(number)
            same(band.ReadAsArray(), last[0], name)
            del band, held


def as_magick_reads(wanted):
    """Numbers of one or two bytes; None where it reads none."""
    how = MAGICK[wanted.dtype.str[1:]]
    if how == "refused":
        return None
    if how == "u1":
        return wanted.view(how)
    if how == "from zero":
        return (wanted.astype(int) + (1 << 15)).astype("u2")
    if how == "upper half":
        bits = wanted.astype("i8") & 0xffffffff
        return (bits // 0x10001).astype("u2")
    if how == "between 0 and 1":
        return np.rint(np.clip(np.nan_to_num(wanted.astype("f8")), 0, 1) *
                       65535).astype("u2")
    return wanted


def imagemagick_reads_what_its_16_bits_hold(work):
    need_heavy("convert")
    top, values = matrix(work)
    out = os.path.join(work, "raw")
    seen = set()
    with Mount(work, top, VIEWS) as mount:
        for folder, wanted in each(mount, values):
            # Its limit of a side is 16K.
            if not has_tiff(wanted) or max(wanted.shape) > 16000:
                continue
            expected = as_magick_reads(wanted)
            seen.add(wanted.dtype.str[1:])
            if expected is None:
                programs.tool("convert", folder + "/data.tif", "gray:" + out,
                              status=None)
                continue
            size = expected.dtype.itemsize
            form = {3: "rgb:", 4: "rgba:"}[wanted.shape[-1]] \
                if is_coloured(wanted) else "gray:"
            programs.tool("convert", folder + "/data.tif", "-depth",
                          str(8 * size), "-endian", "LSB", form + out)
            got = np.fromfile(out, f"<u{size}").reshape(wanted.shape)
            same(got, expected, folder)
    equal(seen, set(MAGICK), "types")


def plastimatch_writes_the_same_numbers(work):
    need_heavy("plastimatch")
    top, values = matrix(work)
    out = os.path.join(work, "out.mha")
    wanted = {"type-" + code: values["type-" + code]
              for code in PLASTIMATCH_TYPES}
    wanted.update({name: made for name, made in values.items()
                   if made.ndim == 3 and name.startswith("shape-")})
    with Mount(work, top, VIEWS) as mount:
        for folder, made in wanted.items():
            for name in ("data.nii", "data.nhdr", "data.mhd"):
                path = mount.path(f"{folder}/{name}")
                programs.tool("plastimatch", "convert", "--input", path,
                              "--output-img", out)
                head, _, data = read(out).partition(
                    b"ElementDataFile = LOCAL\n")
                size = re.search(rb"DimSize = (.*)\n", head)[1].split()
                equal(tuple(map(int, size)), made.shape[::-1], path)
                native = made.dtype.newbyteorder("<")
                equal(data, made.astype(native).tobytes(), path)


def as_imagej_reads(wanted):
    """Slices of it, as floating point of four bytes; None where it opens
    none."""
    how = IMAGEJ[wanted.dtype.str[1:]]
    if how == "refused":
        return None
    if how:
        wanted = wanted.view(wanted.dtype.str[0] + how)
    if not is_coloured(wanted):
        return wanted.astype("<f4").reshape(-1, *wanted.shape[-2:])
    pages = wanted.reshape(-1, *wanted.shape[-3:])
    if wanted.dtype.itemsize == 1:
        # One number of 24 bits for a pixel, without alpha.
        return (pages[..., :3].astype(int) @ [1 << 16, 1 << 8, 1]).astype("<f4")
    # Samples are channels. Of several pages with alpha it reads the first one
    # right, without alpha, and loses its way behind it.
    if len(pages) > 1 and wanted.shape[-1] == 4:
        pages = pages[:1, ..., :3]
    return np.moveaxis(pages, -1, 1).astype("<f4").reshape(
        -1, *pages.shape[1:3])


def imagej_reads_the_numbers_that_it_knows(work):
    need_heavy("xvfb-run", "java")
    top, values = matrix(work)
    wanted = {name: as_imagej_reads(made) for name, made in values.items()
              if has_tiff(made) and max(made.shape) < 100}
    assert len(wanted) >= 35, wanted.keys()
    equal({values[name].dtype.str[1:] for name in wanted}, set(IMAGEJ))
    macro = os.path.join(work, "all.ijm")
    harness.write(macro, b"""
a = split(getArgument(), " ");
for (i = 0; i < a.length; i++) {
  if (startsWith(a[i], "-")) {
    print("SEEN " + i + " " + call("ij.IJ.openImage", substring(a[i], 1)));
  } else {
    open(a[i]);
    for (n = 1; n <= nSlices; n++) {
      setSlice(n);
      for (y = 0; y < getHeight(); y++) {
        line = "SEEN " + i;
        for (x = 0; x < getWidth(); x++) {
          if (bitDepth() == 24)
            line = line + " " + d2s(getPixel(x, y) & 0xffffff, -10);
          else
            line = line + " " + d2s(getValue(x, y), -10);
        }
        print(line);
      }
    }
    close();
  }
}
""")
    with Mount(work, top, VIEWS) as mount:
        said = programs.tool(
            "xvfb-run", "-a", "java", "-jar", "/usr/share/java/ij.jar",
            "-batch", macro, " ".join(
                ("-" if made is None else "") + mount.path(name + "/data.tif")
                for name, made in wanted.items()),
            status=0)
    seen = [[] for _ in wanted]
    for line in said.splitlines():
        if line.startswith("SEEN"):
            _, i, *numbers = line.split()
            seen[int(i)] += numbers
    for (name, made), got in zip(wanted.items(), seen):
        if made is None:
            equal(got, ["null"], name)
            continue
        got = np.array([np.float32(number) for number in got], "<f4")
        same(got.reshape(made.shape), made, name)


def imagej_opens_stacks_and_the_last_page(work):
    need_heavy("xvfb-run", "java")
    source = os.path.join(work, "source")
    os.mkdir(source)
    values = np.arange(100000 * 4, dtype="<u4").reshape(100000, 2, 2) % 60000
    harness.write(source + "/pages", arrays.pack(
        values.astype("<u2"), (20000, 2, 2), (2000, 2, 2)))
    last = arrays.numbers((1, 1024, 1024), "<u2")
    harness.write(source + "/big", arrays.sparse(
        (2600, 1024, 1024), "<u2", (1, 1024, 1024), last))
    macro = os.path.join(work, "look.ijm")
    harness.write(macro, b"""
a = split(getArgument(), " ");
for (i = 0; i < a.length; i++) {
  run("TIFF Virtual Stack...", "open=" + a[i]);
  setSlice(nSlices);
  print("SEEN " + nSlices + " " + getWidth() + " " + getHeight() + " " +
        getValue(1, 1));
}
""")
    with Mount(work, source, VIEWS) as mount:
        said = programs.tool(
            "xvfb-run", "-a", "java", "-jar", "/usr/share/java/ij.jar",
            "-batch", macro, mount.path("pages/data.tif") + " " +
            mount.path("big/stack.tif"), status=0)
        seen = [line.split()[1:] for line in said.splitlines()
                if line.startswith("SEEN")]
    equal([[float(word) for word in line] for line in seen],
          [[100000, 2, 2, float(values[-1, 1, 1])],
           [2600, 1024, 1024, float(last[0, 1, 1])]], said)


if __name__ == "__main__":
    harness.main([
        entries_are_there_or_info_json_says_why,
        sizes_are_told_without_decoding,
        a_size_over_4_gib_is_told_without_decoding,
        tifffile_reads_what_numpy_reads,
        nibabel_reads_what_numpy_reads,
        libtiff_reads_every_directory,
        libtiff_copies_the_same_numbers,
        order_f_and_hostile_shapes_have_reasons,
        a_stack_over_4_gib_is_a_bigtiff_and_one_for_imagej,
        a_hundred_thousand_pages_cost_nothing,
        ranges_across_directories_and_items_are_the_same_bytes,
        damage_in_a_range_is_an_error_and_no_number,
        texts_hold_nothing_of_the_container,
        headers_name_bytes_that_are_there,
        gdal_reads_what_numpy_reads,
        gdal_reads_the_last_page_beyond_4_gib,
        imagemagick_reads_what_its_16_bits_hold,
        plastimatch_writes_the_same_numbers,
        imagej_reads_the_numbers_that_it_knows,
        imagej_opens_stacks_and_the_last_page,
    ])
