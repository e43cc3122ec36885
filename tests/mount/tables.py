# SPDX-License-Identifier: BSD-3-Clause
"""Tables as files of Arrow, held against what their own writer read back:
tables.json, with hashes of each column."""
import hashlib
import json
import os
import zipfile

import numpy as np

import arrays
import samples
from harness import equal


def pack_store(folder, path):
    """A directory store as the ZIP store that it could be."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as store:
        for at, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                full = os.path.join(at, name)
                store.write(full, os.path.relpath(full, folder))


def packed_text(text):
    """A text in MessagePack."""
    data = text.encode("utf-8")
    return b"\xdb" + len(data).to_bytes(4, "big") + data


def make_store(path, columns, valid, schema=None):
    """A ZIP store with a table. columns: (its entry of the schema, files by
    their endings: arrays, or frames)."""
    schema = schema or json.dumps({"version": 1, "columns": [
        entry for entry, _ in columns]})
    meta = samples.with_vlmetas(samples.frame(b"", 1), [
        (b"kind", packed_text("ctable")), (b"schema", packed_text(schema))])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as store:
        store.writestr("_meta.b2f", meta)
        store.writestr("_valid_rows.b2nd", pack_column(valid))
        for entry, files in columns:
            for ending, made in files.items():
                store.writestr("_cols/" + entry["name"].replace(".", "/") +
                               ending, made if isinstance(made, bytes)
                               else pack_column(made))


def pack_column(values):
    """In chunks of up to a MiB, blocks of up to 64 KiB."""
    rows = max(1, min(len(values), (1 << 20) // (values.nbytes //
                                                 max(1, len(values)) or 1)))
    return arrays.pack(values, (rows, *values.shape[1:]),
                       (max(1, rows // 16), *values.shape[1:]))


def truths():
    """By the name of a sample in tests/data."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "tables.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def sha(data):
    return hashlib.sha256(bytes(data)).hexdigest()


def check_texts(file, name, truth):
    """Of Arrow's large layout: offsets from 0 on, and bytes; nulls are of
    length 0."""
    got = file.texts(name)
    equal([i for i, text in enumerate(got) if text is None],
          truth.get("nulls", []), "nulls of " + name)
    encoded = [(text or "").encode("utf-8") for text in got]
    offsets = np.cumsum([0] + [len(text) for text in encoded])
    equal(sha(offsets.astype("<i8").tobytes()), truth["sha256_offsets_i64"],
          "offsets of " + name)
    equal(sha(b"".join(encoded)), truth["sha256_bytes"], "texts of " + name)


def check_fixed(file, column, where):
    """Items as the writer has them, and which of them are none."""
    name, truth = column["name"], column["live"]
    if not truth["shape"][0]:
        return
    nulls, dtype = column.get("nulls", []), np.dtype(truth["dtype"])
    if dtype.kind == "U":
        check_texts(file, name, {**column["as_varlen"], "nulls": nulls})
        return
    there = file.rows_there(name)
    if there is None:
        there = file.there(name).reshape(truth["shape"][0], -1).all(axis=1)
    equal(np.flatnonzero(~there).tolist(), nulls, f"nulls of {name} {where}")
    got = file.values(name)
    if file.field(name).kind == "bool":
        # A third value stands for none; which one is not in a bit.
        got = np.where(there, got.astype("u1"), 255).astype("u1")
    equal(sha(got.tobytes()), truth["sha256_le"], f"{name} {where}")


def check_table(file, truth, left, where):
    """All columns are there or left out; those that are there are right."""
    equal(file.n_rows, truth["nrows"], "rows " + where)
    seen = 0
    for column in truth["columns"]:
        name = column["name"]
        if name in left:
            continue
        seen += 1
        if "sha256_le" in column["live"]:
            check_fixed(file, column, where)
        else:
            check_texts(file, name, column["live"])
    equal(seen, len(file.names()), "columns " + where)
