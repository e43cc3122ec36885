# SPDX-License-Identifier: BSD-3-Clause
"""Arrow IPC files, read by their description alone (Arrow columnar format;
FlatBuffers' internals; Schema.fbs, Message.fbs, File.fbs): strict where
programs are lenient. Columns come out as lists of values, None where there is
none, or as NumPy arrays of what lies in their buffers."""
import struct

import numpy as np

MAGIC = b"ARROW1"
TYPES = {2: "int", 3: "float", 5: "utf8", 6: "bool", 8: "date",
         10: "timestamp", 15: "binary", 16: "list", 18: "duration",
         20: "large_utf8", 24: "utf8_view"}
UNITS = ("s", "ms", "us", "ns")


class Table:
    """A table of FlatBuffers."""

    def __init__(self, buf, at):
        self.buf, self.at = buf, at
        self.vtable = at - struct.unpack_from("<i", buf, at)[0]
        assert at % 4 == 0 and self.vtable % 2 == 0 and self.vtable >= 0
        self.n = struct.unpack_from("<H", buf, self.vtable)[0] // 2 - 2

    def place(self, i, size):
        if i >= self.n:
            return None
        off = struct.unpack_from("<H", self.buf, self.vtable + 4 + 2 * i)[0]
        assert (self.at + off) % size == 0, "a slot is not aligned"
        return self.at + off if off else None

    def number(self, i, code, default=0):
        at = self.place(i, struct.calcsize("<" + code))
        return default if at is None else \
            struct.unpack_from("<" + code, self.buf, at)[0]

    def follow(self, i):
        at = self.place(i, 4)
        return None if at is None else \
            at + struct.unpack_from("<I", self.buf, at)[0]

    def table(self, i):
        at = self.follow(i)
        return None if at is None else Table(self.buf, at)

    def text(self, i):
        at = self.follow(i)
        n = struct.unpack_from("<I", self.buf, at)[0]
        assert self.buf[at + 4 + n] == 0, "a string has no end"
        return self.buf[at + 4:at + 4 + n].decode("utf-8")

    def tables(self, i):
        at = self.follow(i)
        if at is None:
            return []
        n = struct.unpack_from("<I", self.buf, at)[0]
        return [Table(self.buf, p + struct.unpack_from("<I", self.buf, p)[0])
                for p in range(at + 4, at + 4 + 4 * n, 4)]

    def structs(self, i, code, align=8):
        at = self.follow(i)
        if at is None:
            return []
        n = struct.unpack_from("<I", self.buf, at)[0]
        assert (at + 4) % align == 0, "a vector is not aligned"
        size = struct.calcsize("<" + code)
        return [struct.unpack_from("<" + code, self.buf, at + 4 + size * k)
                for k in range(n)]


def root(buf):
    return Table(buf, struct.unpack_from("<I", buf)[0])


class Field:
    def __init__(self, table):
        self.name = table.text(0)
        self.nullable = table.number(1, "B")
        self.kind = TYPES[table.number(2, "B")]
        detail = table.table(3)
        self.children = [Field(child) for child in table.tables(5)]
        self.dictionary = None
        coding = table.table(4)
        if coding is not None:
            index = coding.table(1)
            self.dictionary = coding.number(0, "q")
            self.index = np.dtype("<%s%d" % (
                "i" if index.number(1, "B") else "u",
                index.number(0, "i") // 8))
        self.zone = None
        self.n = detail.number(0, "i") if self.kind in ("binary", "list") \
            else 1
        if self.kind == "int":
            self.dtype = np.dtype("<%s%d" % (
                "i" if detail.number(1, "B") else "u",
                detail.number(0, "i") // 8))
        elif self.kind == "float":
            self.dtype = np.dtype("<f%d" % (2 << detail.number(0, "h")))
        elif self.kind == "date":
            assert detail.number(0, "h", 1) == 0, "dates are in days"
            self.dtype = np.dtype("<i4")
        elif self.kind in ("timestamp", "duration"):
            self.unit = UNITS[detail.number(
                0, "h", 0 if self.kind == "timestamp" else 1)]
            self.dtype = np.dtype("<i8")
            if self.kind == "timestamp" and detail.follow(1) is not None:
                self.zone = detail.text(1)
        elif self.kind == "binary":
            self.dtype = np.dtype("V%d" % self.n)

    def __str__(self):
        if self.kind == "list":
            return f"{self.children[0]}[{self.n}]"
        if self.kind in ("timestamp", "duration"):
            return f"{self.kind}[{self.unit}]" + \
                (f" {self.zone}" if self.zone else "")
        if self.kind in ("int", "float"):
            return self.dtype.str[1:]
        return f"binary[{self.n}]" if self.kind == "binary" else self.kind


class Column:
    """Of one batch: values as stored (of lists those of all rows), and which
    of them are there (None: all)."""

    def __init__(self, values, there, n_nulls):
        self.values, self.there, self.n_nulls = values, there, n_nulls
        self.n, self.outer = len(values), None


class Batch:
    def __init__(self, file, block):
        at, meta_len, body_len = block
        assert at % 8 == 0 and meta_len % 8 == 0 and body_len % 8 == 0
        mark, length = struct.unpack_from("<Ii", file.data, at)
        assert mark == 0xffffffff and length + 8 == meta_len
        message = root(file.data[at + 8:at + meta_len])
        assert message.number(0, "h") == 4, "not of version 5"
        self.body = file.data[at + meta_len:at + meta_len + body_len]
        assert len(self.body) == message.number(3, "q") == body_len
        self.kind = message.number(1, "B")
        header = message.table(2)
        self.id = None
        if self.kind == 2:
            self.id = header.number(0, "q")
            assert not header.number(2, "B"), "a delta"
            header = header.table(1)
        self.n_rows = header.number(0, "q")
        self.nodes = iter(header.structs(1, "qq"))
        self.buffers = iter(header.structs(2, "qq"))
        self.more = iter(header.structs(4, "q"))
        # Maps want buffers at multiples of 64, of the file too.
        self.start = at + meta_len
        assert self.start % 64 == 0, "a body is not aligned"
        self.end = 0

    def buffer(self):
        off, length = next(self.buffers)
        assert off % 64 == 0 and off >= self.end, "buffers overlap"
        assert off + length <= len(self.body), "a buffer beyond its body"
        self.end = off + length
        return self.body[off:off + length]

    def bits(self, n):
        buf = np.frombuffer(self.buffer(), "u1")
        if not len(buf) and n:
            return None
        assert len(buf) >= (n + 7) // 8
        return np.unpackbits(buf, bitorder="little")[:n].astype(bool)

    def column(self, field, values=None):
        n, n_nulls = next(self.nodes)
        there = self.bits(n)
        if there is not None:
            assert (~there).sum() == n_nulls, "nulls are not as many"
        assert there is not None or n_nulls == 0
        if field.kind == "list":
            inner = self.column(field.children[0])
            assert inner.n == n * field.n
            inner.n, inner.outer = n, there
            return inner
        if field.dictionary is not None and values is None:
            got = np.frombuffer(self.buffer(), field.index)
        elif field.kind == "bool":
            got = self.bits(n)
            got = np.zeros(0, bool) if got is None else got
        elif field.kind in ("large_utf8", "utf8"):
            got = self.texts(field, n, there)
        elif field.kind == "utf8_view":
            got = self.views(n, there)
        else:
            got = np.frombuffer(self.buffer(), field.dtype)
        assert len(got) == n, f"{len(got)} values of {n}"
        return Column(got, there, n_nulls)

    def texts(self, field, n, there):
        offsets = np.frombuffer(self.buffer(), "<i8"
                                if field.kind == "large_utf8" else "<i4")
        data = self.buffer()
        if not n and not len(offsets):
            return []
        assert len(offsets) == n + 1 and offsets[0] >= 0
        assert (np.diff(offsets) >= 0).all() and offsets[-1] <= len(data)
        return [None if there is not None and not there[i] else
                data[offsets[i]:offsets[i + 1]].decode("utf-8")
                for i in range(n)]

    def views(self, n, there):
        views, got = self.buffer(), []
        assert len(views) == 16 * n
        parts = [self.buffer() for _ in range(next(self.more)[0])]
        for i in range(n):
            view = views[16 * i:16 * i + 16]
            length, part, off = struct.unpack("<i4xii", view)
            text = view[4:4 + length]
            if length <= 12:
                assert not any(view[4 + length:]), "a view is not padded"
            else:
                text = parts[part][off:off + length]
                assert len(text) == length and text[:4] == view[4:8]
            got.append(None if there is not None and not there[i] else
                       text.decode("utf-8"))
        return got

    def whole(self):
        assert next(self.nodes, None) is None and \
            next(self.buffers, None) is None and \
            next(self.more, None) is None, "more nodes than fields"


class File:
    """data: all bytes of the file."""

    def __init__(self, data):
        self.data = data
        assert data[:8] == MAGIC + b"\0\0" and data[-6:] == MAGIC
        length = struct.unpack_from("<i", data, len(data) - 10)[0]
        footer = root(data[len(data) - 10 - length:len(data) - 10])
        assert footer.number(0, "h") == 4
        self.fields = self.schema(footer.table(1))
        mark, length = struct.unpack_from("<Ii", data, 8)
        first = root(data[16:16 + length])
        assert mark == 0xffffffff and first.number(1, "B") == 1
        assert list(map(str, self.schema(first.table(2)))) == \
            list(map(str, self.fields)), "two schemas"
        self.dictionaries = {}
        for at, meta, body in footer.structs(2, "qi4xq"):
            batch = Batch(self, (at, meta, body))
            assert batch.kind == 2
            field = next(f for f in self.fields if f.dictionary == batch.id)
            self.dictionaries[batch.id] = batch.column(field, True).values
            batch.whole()
        self.batches = []
        for at, meta, body in footer.structs(3, "qi4xq"):
            batch = Batch(self, (at, meta, body))
            assert batch.kind == 3
            columns = {field.name: batch.column(field)
                       for field in self.fields}
            assert len(columns) == len(self.fields), "two of one name"
            batch.whole()
            self.batches.append((batch.n_rows, columns))
        self.n_rows = sum(n for n, _ in self.batches)

    @staticmethod
    def schema(table):
        assert table.number(0, "h") == 0, "not little-endian"
        return [Field(field) for field in table.tables(1)]

    def names(self):
        return [field.name for field in self.fields]

    def field(self, name):
        return next(f for f in self.fields if f.name == name)

    def values(self, name):
        """All stored values of a column, as an array."""
        got = [columns[name].values for _, columns in self.batches]
        if not got:
            return np.zeros(0)
        return np.concatenate([np.asarray(part) for part in got])

    def there(self, name):
        """Which of them are there."""
        return np.concatenate([np.ones(0, bool)] + [
            np.ones(len(c[name].values), bool) if c[name].there is None
            else c[name].there for _, c in self.batches])

    def rows_there(self, name):
        """Which rows of lists are there; None where no bit tells."""
        got = [c[name].outer for _, c in self.batches]
        return None if not got or got[0] is None else np.concatenate(got)

    def texts(self, name):
        """Texts, those of a dictionary too; None where there is none."""
        field, got = self.field(name), []
        for _, columns in self.batches:
            column = columns[name]
            if field.dictionary is None:
                got += column.values
                continue
            words = self.dictionaries[field.dictionary]
            assert ((column.values >= 0) &
                    (column.values < max(1, len(words)))).all()
            got += [words[code] if column.there is None or column.there[i]
                    else None for i, code in enumerate(column.values)]
        return got
