#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files by all writers that we know of, in a bucket and behind a web server: the
mount of them fails in nothing that the mount of the same files on disk does
not fail in.

With AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and
S3_BUCKET in the environment the bucket is one of that store, below samples/,
and what BLOSCFS_CORPUS names is tested too."""
import contextlib
import os
import subprocess
import urllib.parse

import harness
import samples
import web
from harness import DATA, Mount, equal
from samples_test import VIEWS, collect

STORE = {name: os.environ[name] for name in
         ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
          "AWS_REGION", "S3_BUCKET") if name in os.environ}
# Which takes the variables away.
from objects import Server, s3  # noqa: E402

LONG = len(STORE) == 5
CORPUS = os.environ.get("BLOSCFS_CORPUS") if LONG else None
harness.SCRIPT_SECONDS += 900 if LONG else 0
AT_ONCE = 8


def corpora():
    """(folder, where manifests lie in it)"""
    yield DATA, [""]
    if CORPUS:
        yield CORPUS, ["", *(name for name in ("tables",) if
                             os.path.exists(f"{CORPUS}/{name}/MANIFEST.tsv"))]


def below(top):
    """The names of all files."""
    return sorted(os.path.relpath(os.path.join(folder, name), top)
                  for folder, _, names in os.walk(top) for name in names)


def upload(top, prefix):
    """All files below top by curl, which is told the keys where nobody
    else looks."""
    base = f"{STORE['AWS_ENDPOINT_URL']}/{STORE['S3_BUCKET']}/{prefix}"
    user = f"{STORE['AWS_ACCESS_KEY_ID']}:{STORE['AWS_SECRET_ACCESS_KEY']}"
    config = "\nnext\n".join(
        f'silent\nfail\nurl = "{base}{urllib.parse.quote(name)}"\n'
        f'upload-file = "{top}/{name}"\nuser = "{user}"\n'
        f'aws-sigv4 = "aws:amz:{STORE["AWS_REGION"]}:s3"\n'
        'header = "x-amz-content-sha256: UNSIGNED-PAYLOAD"\n'
        'write-out = "%{http_code}\\n"' for name in below(top))
    done = subprocess.run(
        ["curl", "--no-progress-meter", "-Z", "--parallel-max", str(AT_ONCE),
         "-K", "-"], input=config, stdout=subprocess.PIPE, text=True,
        check=True, timeout=300)
    equal(set(done.stdout.split()), {"200"}, "answers to uploads")


@contextlib.contextmanager
def bucket(top):
    """An address where the files of a folder are."""
    if LONG:
        upload(top, f"samples/{os.path.basename(top)}/")
        os.environ.update(STORE)
        try:
            yield (f"s3://{STORE['S3_BUCKET']}/samples/"
                   f"{os.path.basename(top)}/")
        finally:
            for name in STORE:
                del os.environ[name]
        return
    with Server() as server, s3(server):
        for name in below(top):
            server.put_file("/bucket/" + urllib.parse.quote(name),
                            f"{top}/{name}")
        yield "s3://bucket"


def complaints(mount, top, manifests):
    """What is not as the manifests say."""
    told = []
    for inside in manifests:
        rows = [[os.path.join(inside, row[0]), *row[1:]] for row in
                samples.manifest(os.path.join(top, inside))]
        assert len(rows) > 20, "too few samples"
        told += collect(rows, AT_ONCE, mount)
    equal(mount.process.poll(), None, "the daemon's status")
    return sorted(text.replace(mount.point, "") for text in told)


def same_as_on_disk(work, source, top, manifests, *options):
    with Mount(work, top, VIEWS) as mount:
        wanted = complaints(mount, top, manifests)
    with Mount(work, source, VIEWS, *options) as mount:
        equal(complaints(mount, top, manifests), wanted, "complaints")


def in_a_bucket_all_is_what_it_is_on_disk(work):
    for top, manifests in corpora():
        with bucket(top) as source:
            same_as_on_disk(work, source, top, manifests)


def behind_nginx_all_is_what_it_is_on_disk(work):
    catalog = work + "/catalog"
    for number, (top, manifests) in enumerate(corpora()):
        home = f"{work}/{number}"
        os.mkdir(home)
        os.chmod(home, 0o755)
        with web.Server(home, web.site(top)) as server:
            address = f"http://127.0.0.1:{server.port}/"
            harness.write(catalog, "".join(
                f"{address}{urllib.parse.quote(name)}\t{name}\n"
                for name in below(top)).encode())
            same_as_on_disk(work, address, top, manifests,
                            "--catalog=" + catalog)


if __name__ == "__main__":
    harness.main([
        in_a_bucket_all_is_what_it_is_on_disk,
        behind_nginx_all_is_what_it_is_on_disk,
    ])
