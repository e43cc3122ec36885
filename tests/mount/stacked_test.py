#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""SOURCE is another mount of FUSE, which may lack what disks have."""
import os
import subprocess

import harness
import programs
from harness import DATA, Mount, equal, read

SMALL = "good-frame-metalayers.b2frame"


class Rclone:
    """rclone mount, of a folder: it knows no attributes and says EIO to all
    of them."""

    def __init__(self, work, folder):
        programs.need("rclone")
        self.point = os.path.join(work, "below")
        os.mkdir(self.point)
        self.process = subprocess.Popen(
            ["rclone", "mount", folder, self.point, "--read-only", "--config",
             os.path.join(work, "none.conf")], stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

    def __enter__(self):
        harness.wait_until(lambda: os.path.ismount(self.point),
                           told=lambda: "rclone mounts nothing")
        return self

    def __exit__(self, *_):
        subprocess.run(["fusermount3", "-u", self.point], check=False)
        self.process.wait(20)


def what_has_no_attributes_at_all_is_read(work):
    with Rclone(work, DATA) as below, Mount(work, below.point) as mount, \
            Mount(work, DATA) as local:
        for name in ("info.json", "data.bin"):
            equal(read(mount.path(SMALL, name)), read(local.path(SMALL, name)),
                  name)
        # Nobody knows who else may, so nobody else does.
        equal(os.stat(mount.path(SMALL, "data.bin")).st_mode & 0o077, 0)


if __name__ == "__main__":
    harness.main([what_has_no_attributes_at_all_is_read])
