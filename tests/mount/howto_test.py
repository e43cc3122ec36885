#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What docs/howto.md tells to do, done from top to bottom (see pages.py)."""
import harness
import objects
from harness import equal
from pages import Page, checkout
from programs import need

HOWTO = Page("docs/howto.md")
BUCKET = "Read arrays in a bucket"


def read_from_bucket():
    """With the sample of the page in a store that wants signed requests."""
    with objects.Server() as server:
        server.put_file("/lab/runs/pond.b2nd",
                        HOWTO.place + "/tests/data/good-nd-pond.b2nd")
        with objects.s3(server):
            HOWTO.run_all(BUCKET)


def each_job_is_done_as_it_is_told(work):
    need("rsync", "gdalinfo")
    HOWTO.place = checkout(work)
    HOWTO.every_fence_is_marked()
    for heading in HOWTO.blocks():
        if heading == BUCKET:
            read_from_bucket()
        else:
            HOWTO.run_all(heading)
    equal(harness.mounted(HOWTO.place + "/mnt"), None)


def there_are_eleven(work):
    del work
    equal(len(HOWTO.blocks()), 11)


if __name__ == "__main__":
    harness.main([each_job_is_done_as_it_is_told, there_are_eleven])
