#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Listings of buckets that are very long, never end, attack, or cannot be
had. BLOSCFS_KEYS tells how many keys the longest has (100,000)."""
import errno
import os
import time
import urllib.parse

import harness
from harness import DATA, Mount, equal, fails_with, read
from objects import Server, s3

SMALL = "good-frame-metalayers.b2frame"
KEYS = int(os.environ.get("BLOSCFS_KEYS", "100000"))
PAGE = 1000


def token_of(path):
    given = dict(urllib.parse.parse_qsl(path.partition("?")[2]))
    return given.get("continuation-token", "")


def page(names, token):
    """One page of a listing, which goes on with a token or ends."""
    text = ["<ListBucketResult>"]
    text += [f"<Contents><Key>{name}</Key><Size>7</Size><ETag>\"{name}\""
             "</ETag><LastModified>2020-09-13T12:26:40.000Z</LastModified>"
             "</Contents>" for name in names]
    if token:
        text.append(f"<NextContinuationToken>{token}"
                    "</NextContinuationToken>")
    return "".join(text + ["</ListBucketResult>"]).encode()


def numbered(path):
    """KEYS of them, in pages."""
    token = token_of(path)
    first = int(token or 0)
    last = min(KEYS, first + PAGE)
    return page((f"key-{i:08}" for i in range(first, last)),
                str(last) if last < KEYS else "")


def very_many_keys_come_page_by_page(work):
    with Server() as server, s3(server):
        server.endless = numbered
        with Mount(work, "s3://bucket", "--attr_timeout=60") as mount:
            # The mount has asked for the first page.
            equal(len(server.log), 1, "pages")
            before = mount.memory()
            start = time.monotonic()
            with os.scandir(mount.point) as entries:
                next(entries)
                # Only as far as somebody reads.
                assert len(server.log) <= 3, len(server.log)
                count = 1 + sum(1 for _ in entries)
            equal(count, KEYS, "entries")
            pages = [row for row in server.log if "zarr" not in row[0]]
            equal(len(pages), -(-KEYS // PAGE), "pages")
            more = mount.memory() - before
            print(f"# {KEYS} keys in {time.monotonic() - start:.1f} s, "
                  f"{more / KEYS:.0f} bytes of memory each")
            # A page's text, and what is kept of each key.
            harness.below(more, (32 << 20) + 256 * KEYS)


def a_listing_that_leads_back_ends_with_an_error(work):
    def same(_path):
        return page(["a", "b"], "again")

    def in_turn(path):
        return page(["a", "b"], "x" if token_of(path) != "x" else "y")

    def empty(path):
        return page([], str(int(token_of(path) or 0) + 1))

    with Server() as server, s3(server):
        server.put_file("/bucket/a.b2frame", f"{DATA}/{SMALL}")
        with Mount(work, "s3://bucket", "--attr_timeout=0") as mount:
            for endless, most in ((same, 20), (in_turn, 5000),
                                  (empty, 5000)):
                server.log.clear()
                server.endless = endless
                fails_with(errno.EIO, os.listdir, mount.point)
                assert 1 < len(server.log) < most, len(server.log)
                server.endless = None
                equal(os.listdir(mount.point), ["a.b2frame"])
            told = read(mount.path(".bloscfs", "errors")).decode()
            assert "leads back" in told, told


def a_key_that_two_pages_tell_is_one_file(work):
    def twice(path):
        token = token_of(path)
        return page(["b", "c"], "") if token else page(["a", "b"], "more")

    with Server() as server, s3(server):
        with Mount(work, "s3://bucket", "--attr_timeout=0") as mount:
            server.endless = twice
            equal(sorted(os.listdir(mount.point)), ["a", "b", "c"])


def external_entities_are_not_followed(work):
    with Server() as server, s3(server):
        server.put_file("/bucket/a.b2frame", f"{DATA}/{SMALL}")
        for fault in ("external", "entities"):
            with Mount(work, "s3://bucket", "--attr_timeout=0") as mount:
                before = mount.memory()
                server.always = fault
                fails_with(errno.EIO, os.listdir, mount.point)
                fails_with(errno.EIO, os.stat, mount.path("x"))
                server.always = None
                told = read(mount.path(".bloscfs", "errors")).decode()
                assert "declares a document type" in told, told
                harness.below(mount.memory() - before, 64 << 20)


def a_bucket_that_is_not_there_is_no_empty_folder(work):
    with Server() as server, s3(server):
        server.put_file("/bucket/a.b2frame", f"{DATA}/{SMALL}")
        with Mount(work, "s3://bucket", "--attr_timeout=0") as mount:
            server.always = 404
            fails_with(errno.EIO, os.listdir, mount.point)
            server.always = None
            equal(os.listdir(mount.point), ["a.b2frame"])
            told = read(mount.path(".bloscfs", "errors")).decode()
            assert "no such bucket" in told, told


def rights_that_are_refused_are_refused_here(work):
    with Server() as server, s3(server):
        server.put_file("/bucket/a.b2frame", f"{DATA}/{SMALL}")
        with Mount(work, "s3://bucket", "--attr_timeout=0") as mount:
            for status in (401, 403):
                server.always = status
                fails_with(errno.EACCES, os.listdir, mount.point)
                fails_with(errno.EACCES, os.stat, mount.path("a.b2frame"))
                server.always = None
                equal(os.listdir(mount.point), ["a.b2frame"])


if __name__ == "__main__":
    harness.main([
        very_many_keys_come_page_by_page,
        a_listing_that_leads_back_ends_with_an_error,
        a_key_that_two_pages_tell_is_one_file,
        external_entities_are_not_followed,
        a_bucket_that_is_not_there_is_no_empty_folder,
        rights_that_are_refused_are_refused_here,
    ])
