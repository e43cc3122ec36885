#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/info.schema.json against each info.json of the samples, with all views
on: what it permits is what there is, down to the names of keys, and the manual
has them all. BLOSCFS_CORPUS names a folder of more containers."""
import copy
import json
import os
import re

import jsonschema

import harness
from harness import equal

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                    "docs")
# What a container shows beside info.json and the containers in it.
OWN = {"chunks", "blocks", "lazy", "raw", "meta", "vlmeta", "zarr", "zarr2",
       "zarr3"}


def schema():
    with open(DOCS + "/info.schema.json", encoding="utf-8") as file:
        return json.load(file)


def strict(node):
    """The same, which permits no keys but those that it names."""
    node = copy.deepcopy(node)

    def close(at):
        if isinstance(at, dict):
            if "properties" in at and at.get("type") == "object":
                at.setdefault("additionalProperties", False)
            for value in at.values():
                close(value)
        elif isinstance(at, list):
            for value in at:
                close(value)

    close(node)
    return jsonschema.Draft202012Validator(node)


def infos(top):
    """Each info.json below a folder of a mount, and its path."""
    for folder, folders, files in harness.walk(top):
        if "info.json" not in files:
            continue
        folders[:] = [name for name in folders if name not in OWN]
        path = folder + "/info.json"
        with open(path, encoding="utf-8") as file:
            yield path, json.load(file)


def hold(top):
    """All of them against the schema; the keys that were there, by name."""
    judge, keys = strict(schema()), set()
    count = 0
    for path, info in infos(top):
        wrong = [f"{'/'.join(map(str, error.path))}: {error.message}"
                 for error in judge.iter_errors(info)]
        equal(wrong, [], path)
        keys |= set(info)
        count += 1
    return count, keys


def each_sample_fits(work):
    with harness.Mount(work, harness.DATA, "--views=all",
                       "--formats=all") as mount:
        count, keys = hold(mount.point)
    assert count > 150, count
    # The samples have all keys but those that --info adds and of proxies.
    never = {"path", "path_base64", "fetched", "chunks", "dtype_truncated"}
    equal(set(schema()["properties"]) - keys - never, set(), "keys never met")


def each_container_of_the_corpus_fits(work):
    corpus = os.environ.get("BLOSCFS_CORPUS")
    if not corpus:
        raise harness.Skip("BLOSCFS_CORPUS names no corpus")
    with harness.Mount(work, corpus, "--views=all") as mount:
        count, _ = hold(mount.point)
    assert count > 100, count


def what_does_not_fit_is_told(_work):
    good = {"schema": 1, "format": "b2nd", "kind": "array", "status": "good",
            "size": 8, "nbytes": 8, "cbytes": 9, "ratio": 8 / 9, "nchunks": 1,
            "chunksize": 8, "blocksize": 8, "typesize": 8, "codec": "lz4",
            "clevel": 5, "filters": [], "shape": [1], "dtype": "<i8",
            "metalayers": 1, "vlmetalayers": 0}
    judge = strict(schema())
    equal(list(judge.iter_errors(good)), [], "what fits")
    for change in [{"schema": 2}, {"kind": "zebra"}, {"status": "damaged"},
                   {"new": 1}, {"nchunks": -1}, {"kind": "proxy"},
                   {"tiff": 1}, {"headers": {"nhdr": True}}]:
        assert list(judge.iter_errors({**good, **change})), change
    for key in ("size", "dtype", "status", "schema"):
        assert list(judge.iter_errors(
            {name: value for name, value in good.items() if name != key})), key


def the_manual_names_each_key(_work):
    with open(DOCS + "/bloscfs-formats.5", encoding="utf-8") as file:
        page = file.read()
    section = page.split("\n.SH INFO.JSON\n")[1].split("\n.SH ")[0]
    heads = re.findall(r"^\.TP\n\.BR? (.*)$", section, re.M)
    words = {word for head in heads for word in re.findall(r"[a-z0-9_]+", head)}
    equal(set(schema()["properties"]) - words, set(), "keys not in the manual")


if __name__ == "__main__":
    harness.main([
        each_sample_fits,
        each_container_of_the_corpus_fits,
        what_does_not_fit_is_told,
        the_manual_names_each_key,
    ])
