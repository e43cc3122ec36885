#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files of other formats inside a frame, opened by their own programs:
SQLite, HDF5, and rasters through GDAL."""
import json
import os

import harness
import programs
import samples
from harness import Mount, equal
from programs import need, tool

ROWS = """
pragma page_size = 4096;
{more}
create table reading(id integer primary key, station text, value real);
with recursive n(i) as (select 1 union all select i + 1 from n
    where i < 100000)
insert into reading select i, 'station ' || (i % 97), i * 0.37 from n;
create index by_station on reading(station);
"""
QUERIES = (
    "pragma integrity_check;",
    "select count(*), sum(value) from reading;",
    "select * from reading where id in (1, 77777, 100000);",
    "select station, avg(value) from reading where station >= 'station 9'"
    " group by station;",
)
IMAGE = """<VRTDataset rasterXSize="{columns}" rasterYSize="{rows}">
  <VRTRasterBand dataType="Int32" band="1" subClass="VRTRawRasterBand">
    <SourceFilename relativeToVRT="1">{path}</SourceFilename>
    <ImageOffset>0</ImageOffset>
    <PixelOffset>4</PixelOffset>
    <LineOffset>{line}</LineOffset>
    <ByteOrder>LSB</ByteOrder>
  </VRTRasterBand>
</VRTDataset>
"""


def pack_alone(work, plain, *array):
    """A source folder whose one frame has this content."""
    source = work + "/source"
    os.mkdir(source)
    programs.pack(plain, source + "/it.b2frame", *array, chunk_kib=256)
    return source


def sqlite(database, *words):
    return [tool("sqlite3", *words, database, query) for query in QUERIES]


def make_database(work, more=""):
    need("sqlite3")
    plain = work + "/plain.db"
    tool("sqlite3", plain, ROWS.format(more=more))
    return plain


def sqlite_queries_a_database(work):
    plain = make_database(work)
    with Mount(work, pack_alone(work, plain)) as mount:
        data = mount.path("it.b2frame/data.bin")
        wanted = sqlite(plain)
        equal(wanted[0], "ok\n")
        equal(sqlite(data, "-readonly"), wanted)
        equal(sqlite(f"file:{data}?mode=ro"), wanted)
        equal(sqlite(f"file:{data}?mode=ro&immutable=1"), wanted)
        tool("sqlite3", data, "delete from reading;", status=None)


def sqlite_queries_a_database_with_a_log_as_immutable(work):
    """SQLite wants to write beside a database in WAL mode, which fails here;
    immutable=1 tells it that nobody does."""
    plain = make_database(work, "pragma journal_mode = wal;")
    tool("sqlite3", plain, "pragma wal_checkpoint(truncate);")
    with Mount(work, pack_alone(work, plain)) as mount:
        data = mount.path("it.b2frame/data.bin")
        equal(sqlite(f"file:{data}?mode=ro&immutable=1"), sqlite(plain))
        tool("sqlite3", f"file:{data}?mode=ro", QUERIES[1], status=None)


def make_hdf5(work):
    """A file of two data sets, one of them compressed."""
    need("h5import", "h5repack", "h5dump", "h5diff", "h5ls")
    text = "\n".join(" ".join(str(i * 31 % 1009 + j / 8) for j in range(200))
                     for i in range(1000))
    harness.write(work + "/in.txt", text.encode())
    harness.write(work + "/in.bin", samples.noise(800000))
    tool("h5import", work + "/in.txt", "-d", "1000,200", "-p",
         "/grid/values", "-t", "TEXTFP", "-s", "64", work + "/in.bin", "-d",
         "200000", "-p", "/noise", "-t", "IN", "-s", "32", "-o",
         work + "/raw.h5")
    tool("h5repack", "-f", "/grid/values:GZIP=4", "-l",
         "/grid/values:CHUNK=50x50", work + "/raw.h5", work + "/plain.h5")
    return work + "/plain.h5"


def h5dump_reads_data_sets(work):
    plain = make_hdf5(work)
    with Mount(work, pack_alone(work, plain)) as mount:
        data = mount.path("it.b2frame/data.bin")
        for words in (("h5ls", "-r"), ("h5dump", "-d", "/grid/values"),
                      ("h5dump", "-d", "/noise", "-s", "100001", "-c", "77"),
                      ("h5dump", "-H", "-p")):
            wanted = tool(*words, plain)
            assert len(wanted) > 50, wanted
            equal(tool(*words, data).replace(data, plain) == wanted, True,
                  f"what {words} says")
        equal(tool("h5diff", data, plain), "")


def make_raster(work):
    """An image of a walk of 1024 columns, and its VRT."""
    need("gdalinfo", "gdal_translate")
    os.mkdir(work + "/source")
    programs.make_walk(work + "/walk", work + "/source/walk.b2nd", mib=8)
    rows = os.path.getsize(work + "/walk") // 4096
    return IMAGE.format(columns=1024, rows=rows, line=4096, path="{path}")


def gdal_reads_a_raw_raster(work):
    vrt = make_raster(work)
    os.mkdir(work + "/mnt")
    with Mount(work, work + "/source", point=work + "/mnt"):
        harness.write(work + "/image.vrt",
                      vrt.format(path="mnt/walk.b2nd/data.bin").encode())
        harness.write(work + "/plain.vrt", vrt.format(path="walk").encode())
        said = [json.loads(tool("gdalinfo", "-json", "-checksum", "-stats",
                                f"{work}/{name}.vrt"))
                for name in ("image", "plain")]
        equal(said[0]["size"], [1024, 2048])
        assert "checksum" in said[0]["bands"][0], said[0]
        equal(said[0]["bands"], said[1]["bands"])
        tool("gdal_translate", "-q", "-of", "ENVI", work + "/image.vrt",
             work + "/copy.img")
        tool("gdal_translate", "-q", "-of", "GTiff", "-srcwin", "100", "999",
             "300", "200", work + "/image.vrt", work + "/part.tif")
        tool("gdal_translate", "-q", "-of", "ENVI", work + "/part.tif",
             work + "/part.img")
    truth = harness.read(work + "/walk")
    equal(harness.read(work + "/copy.img") == truth, True, "the copy")
    equal(harness.read(work + "/part.img") == b"".join(
        truth[row * 4096 + 400:row * 4096 + 1600]
        for row in range(999, 1199)), True, "the part")


if __name__ == "__main__":
    harness.main([
        sqlite_queries_a_database,
        sqlite_queries_a_database_with_a_log_as_immutable,
        h5dump_reads_data_sets,
        gdal_reads_a_raw_raster,
    ])
