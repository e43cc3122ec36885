#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--info and --check of addresses: what they print of containers on a server is
what they print of the same files. Nothing is mounted: so it is seen on systems of
which there is but a tree whether their libcurl asks and signs as ours does."""
import os
import shutil
import subprocess

import harness
from harness import DATA, equal
from objects import Server, s3

SMALL = "good-frame-metalayers.b2frame"
NAMES = [SMALL, "good-blp3-array.blp", "good-nd-big-endian.b2nd",
         "good-store.b2z", "bad-frame-index.b2frame",
         "bad-b1-block-start.blosc", "unsupported-frame-codec250.b2frame"]


def rows(result, before, after):
    """Lines without the heading, of which paths begin otherwise."""
    return [line.replace(before, after, 1)
            for line in result.stdout.splitlines()[1:]]


def info_of_an_address_is_that_of_the_file(_work):
    with Server() as server, s3(server):
        for name in NAMES[:5]:
            url = server.put_file("/x/" + name, f"{DATA}/{name}")
            server.put_file("/bucket/x/" + name, f"{DATA}/{name}")
            local = harness.run("--info", f"{DATA}/{name}")
            for source in (url, "s3://bucket/x/" + name):
                far = harness.run("--info", source)
                equal(far.stdout, local.stdout, "info of " + source)
                equal(far.returncode, local.returncode, "exit code")


def check_of_a_bucket_is_that_of_the_folder(work):
    with Server() as server, s3(server):
        for folder in ("", "deep/er/"):
            os.makedirs(f"{work}/top/{folder}", exist_ok=True)
            for name in NAMES:
                shutil.copy(f"{DATA}/{name}", f"{work}/top/{folder}")
                server.put_file(f"/bucket/top/{folder}{name}",
                                f"{DATA}/{name}")
        shutil.copy(f"{DATA}/README.md", f"{work}/top/none.b2nd")
        server.put_file("/bucket/top/none.b2nd", f"{DATA}/README.md")
        server.put_file("/bucket/top/README.md", f"{DATA}/README.md")
        server.page = 3
        far = harness.run("--check", "s3://bucket/top/")
        local = harness.run("--check", work + "/top")
        equal(rows(far, "s3://bucket/top", ""), rows(local, work + "/top",
                                                     ""))
        equal(far.returncode, local.returncode, "exit code")


def check_of_an_address_names_it_without_its_secret(_work):
    with Server() as server:
        url = server.put_file("/" + SMALL, f"{DATA}/{SMALL}")
        far = harness.run("--check", url + "?sig=swordfish")
        equal(far.returncode, 0, far.stderr)
        assert far.stdout.splitlines()[1].startswith(url + "\tgood\t"), far
        assert "swordfish" not in far.stdout + far.stderr, far


def no_form_leaves_a_secret_in_the_table_of_processes(_work):
    with Server() as server:
        url = server.put_file("/" + SMALL, f"{DATA}/{SMALL}")
        server.always = "hang"
        for form in ("--info", "--check"):
            server.asked.clear()
            with subprocess.Popen([harness.BLOSCFS, form, url + "?sig=sword"],
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as process:
                try:
                    harness.wait_until(lambda: server.asked)
                    told = harness.read(f"/proc/{process.pid}/cmdline")
                finally:
                    process.kill()
            assert url.encode() in told and b"sword" not in told, told


def what_cannot_be_read_is_told(_work):
    with Server() as server, s3(server):
        url = server.put_file("/f.b2frame", f"{DATA}/{SMALL}")
        text = server.put_file("/text", f"{DATA}/README.md")
        for source, fault, words in (
                (url + "?sig=swordfish", 404, "says 404"),
                (url, 403, "says 403"), (url, "whole", "serves ranges"),
                (text, None, "container"), ("s3://bucket", 404, "no such")):
            server.always = fault
            for form in ("--info", "--check"):
                far = harness.run(form, "--read_timeout=1", source)
                assert far.returncode, (form, source)
                told = far.stdout + far.stderr
                assert words in told, (form, source, told)
                assert "swordfish" not in told, told
        server.always = None
        far = harness.run("--info", "--offset=5", url)
        assert far.returncode and "of this machine" in far.stderr, far


if __name__ == "__main__":
    harness.main([
        info_of_an_address_is_that_of_the_file,
        check_of_a_bucket_is_that_of_the_folder,
        check_of_an_address_names_it_without_its_secret,
        no_form_leaves_a_secret_in_the_table_of_processes,
        what_cannot_be_read_is_told,
    ], mounts=False)
