#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A mount as a web site, by the configuration of packaging/nginx, in Chromium;
where BLOSCFS_PROGRAMS says that packaging/check --programs installed it."""
import contextlib
import os
import re

import numpy as np

import arrays
import harness
import page_test
import programs
import samples
import web
from browser import Browser
from harness import Mount, equal, read

HEAVY = bool(os.environ.get("BLOSCFS_PROGRAMS"))
CONF = os.path.join(os.environ.get("BLOSCFS_SOURCE_ROOT", "."),
                    "packaging/nginx/bloscfs.conf")
SHOWN = "document.getElementById('browse').dataset.shown"


class Site:
    """nginx before a mount, and what it was asked."""

    def __init__(self, work, mount, server):
        self.log = os.path.join(work, "nginx/access.log")
        self.mount = mount
        self.base = f"http://127.0.0.1:{server.port}/"
        self.ask = server.ask

    def asked(self, path):
        """(status, range) of each request for a path."""
        lines = [line.split(" ") for line in read(self.log).decode()
                 .splitlines()]
        return [(int(status), asked) for status, asked, name in lines
                if name == path]


@contextlib.contextmanager
def served(work, source):
    conf = read(CONF).decode()
    others = ["-oallow_other"] if os.geteuid() == 0 else []
    with Mount(work, source, "--views=all", *others) as mount:
        log = os.path.join(work, "nginx/access.log")
        assert "root /srv/blosc;" in conf
        conf = conf.replace("root /srv/blosc;", f"root {mount.point};\n"
                            f"    access_log {log} asked;")
        conf = "log_format asked '$status $http_range $request_uri';\n" + conf
        with web.Server(work, conf) as server:
            yield Site(work, mount, server)


def need_heavy():
    if not HEAVY:
        raise harness.Skip("BLOSCFS_PROGRAMS is not set: left out is chromium")
    programs.need("chromium", "nginx")


def make_source(work):
    source = os.path.join(work, "source")
    os.mkdir(source)
    cube = np.arange(6 * 64 * 80, dtype="<u2").reshape(6, 64, 80)
    cube = cube * np.array([1, 3, 5, 7, 11, 13], "<u2")[:, None, None]
    harness.write(source + "/cube", arrays.pack(cube, (2, 32, 40)))
    harness.write(source + "/line", arrays.pack(
        np.sin(np.arange(100000) / 900).astype(">f4"), (9000,)))
    return source, cube


def types_are_those_that_programs_ask_for(work):
    programs.need("nginx")
    source, _ = make_source(work)
    with served(work, source) as site:
        for name, kind in {
                "": "text/html", "data.npy": "application/octet-stream",
                "map.svg": "image/svg+xml", "info.json": "application/json",
                "data.tif": "image/tiff", "preview.png": "image/png",
                "data.nii": "application/octet-stream",
                "chunks.tsv": "text/tab-separated-values",
                "zarr/.zarray": "application/json",
                "data.vrt": "application/xml"}.items():
            status, fields, body = site.ask("cube/" + name)
            equal((status, fields["Content-Type"].split(";")[0]), (200, kind),
                  name)
            equal(fields["X-Content-Type-Options"], "nosniff")
            equal(body, read(site.mount.path("cube/" +
                                             (name or "index.html"))), name)
        equal(site.ask("line/data.arrow")[1]["Content-Type"],
              "application/vnd.apache.arrow.file")
        status, fields, body = site.ask("cube/data.bin", Range="bytes=7-9")
        equal((status, body), (206, read(
            site.mount.path("cube/data.bin"))[7:10]), "a range")
        equal(site.ask(".bloscfs/stats")[0], 404, "the control folder")
        assert b"cube/" in site.ask("")[2]


def slices_are_read_by_ranges(work):
    need_heavy()
    source, cube = make_source(work)
    page = cube[0].nbytes
    with served(work, source) as site, Browser(work) as browser:
        browser.visit(site.base + "cube/")
        equal(browser.value("[...document.images].map(i => i.naturalWidth > "
                            "0)"), [True, True], "pictures")
        browser.becomes(SHOWN, "0")
        for n in (3, 5):
            browser.value("(() => {const i = document.querySelector('input');"
                          f"i.value = {n}; i.dispatchEvent(new Event('input'))"
                          "})()")
            browser.becomes(SHOWN, str(n * page))
            told = browser.value("document.querySelector('#browse p')"
                                 ".textContent")
            assert f"bytes {n * page:,} to" in told, told
        pixels = np.array(browser.value(
            "(() => {const c = document.querySelector('canvas');"
            "return [...c.getContext('2d').getImageData(0, 0, c.width, "
            "c.height).data]})()")).reshape(64, 80, 4)
        low, high = np.sort(cube[5].flatten().astype(float))[
            [5120 // 50, 5119 - 5120 // 50]]
        wanted = np.clip((cube[5] - low) / (high - low), 0, 1) * 255
        assert abs(pixels[..., 0] - wanted).max() <= 1
        equal(site.asked("/cube/data.bin"),
              [(206, f"bytes={n * page}-{n * page + page - 1}")
               for n in (0, 3, 5)], "requests")
        browser.visit(site.base + "line/")
        browser.becomes(SHOWN, "0")
        equal(site.asked("/line/data.bin"), [(206, "bytes=0-262143")])
        for scheme, back in (("dark", "rgb(13, 17, 23)"),
                             ("light", "rgb(255, 255, 255)")):
            browser.wear(scheme)
            equal(browser.value("getComputedStyle(document.body)"
                                ".backgroundColor"), back, scheme)
        for event in browser.said("Network.requestWillBeSent"):
            assert event["request"]["url"].startswith(
                (site.base, "about:")), event["request"]["url"]
        equal([event["entry"]["text"] for event in
               browser.said("Log.entryAdded")
               if "favicon" not in event["entry"].get("url", "")], [],
              "what the browser had to say")


def nothing_of_a_container_runs(work):
    need_heavy()
    source = os.path.join(work, "source")
    os.mkdir(source)
    plain = arrays.pack(arrays.numbers((4, 6), "<i2"))
    harness.write(source + "/hostile", samples.with_vlmetas(
        plain, [(word, bytes([0xa0 + len(word)]) + word)
                for word in page_test.HOSTILE]))
    with served(work, source) as site, Browser(work) as browser:
        for name in ("", "map.svg"):
            browser.visit(site.base + "hostile/" + name)
            equal(browser.said("Page.javascriptDialogOpening"), [], name)
        for event in browser.said("Network.requestWillBeSent"):
            assert re.match(re.escape(site.base) + "hostile/|" +
                            re.escape(site.base) + "favicon|about:",
                            event["request"]["url"]), event["request"]["url"]


if __name__ == "__main__":
    harness.main([
        types_are_those_that_programs_ask_for,
        slices_are_read_by_ranges,
        nothing_of_a_container_runs,
    ])
