#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A mount as a web site, by the configuration of packaging/nginx, in Chromium;
where BLOSCFS_PROGRAMS says that packaging/check --programs installed it."""
import contextlib
import os
import re
import subprocess
import urllib.parse

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


def pixels(browser):
    """Red of each pixel of the slice that is shown."""
    width, height, data = browser.value(
        "(() => {const c = document.querySelector('canvas');"
        "return [c.width, c.height, [...c.getContext('2d').getImageData("
        "0, 0, c.width, c.height).data].filter((v, i) => i % 4 === 0)]})()")
    return np.array(data).reshape(height, width)


def shades(values):
    """What a slice is painted as."""
    values = values.astype(float)
    few = np.sort(values.flatten())
    low, high = few[[len(few) // 50, len(few) - 1 - len(few) // 50]]
    if low == high:
        low, high = few[0], few[-1]
    return np.clip((values - low) / (high - low), 0, 1) * 255


def slide(browser, axis, n):
    browser.value(f"(() => {{const i = document.querySelectorAll('input')"
                  f"[{axis}]; i.value = {n}; "
                  "i.dispatchEvent(new Event('input'))})()")


def each_kind_of_array_is_shown_or_it_says_why_not(work):
    need_heavy()
    source = os.path.join(work, "source")
    os.mkdir(source)
    shown = {name: arrays.numbers(shape, dtype) for name, shape, dtype in (
        ("3-d", (3, 7, 11), "<i2"), ("4-d", (2, 3, 5, 9), "|u1"),
        ("edges", (2, 37, 41), "<u4"), ("big", (9, 8), ">f8"),
        ("half", (9, 8), ">f2"), ("long", (9, 8), ">i8"),
        ("bool", (9, 8), "|b1"), ("complex", (9, 8), "<c8"))}
    for name, values in shown.items():
        harness.write(f"{source}/{name}", arrays.pack(values))
    harness.write(source + "/1-d", arrays.pack(arrays.numbers(700, ">i4")))
    harness.write(source + "/0-d", arrays.pack(arrays.numbers((), "<f8")))
    harness.write(source + "/fields", arrays.pack(np.zeros(
        40, [("<b>", "<i4"), ("name", "S7")])))
    values, data = page_test.deflated_array(bad=[6])
    harness.write(source + "/bad", data)
    with served(work, source) as site, Browser(work) as browser:
        for name, values in shown.items():
            browser.visit(f"{site.base}{name}/")
            browser.becomes(SHOWN, "0")
            last = [n - 1 for n in values.shape[:-2]]
            for axis, n in enumerate(last):
                slide(browser, axis, n)
            plane = values[tuple(last)]
            browser.becomes(SHOWN, str(values.nbytes - plane.nbytes))
            wanted = shades(abs(plane) if name == "complex" else plane)
            assert abs(pixels(browser) - wanted).max() <= 1, name
        browser.visit(site.base + "1-d/")
        browser.becomes(SHOWN, "0")
        assert browser.value("document.querySelector('canvas').width") == 960
        for name, why in (("0-d", "it is one item"),
                          ("fields", "its items are no plain numbers")):
            browser.visit(f"{site.base}{name}/")
            assert "No slices of this array are shown: " + why in \
                browser.value("document.body.textContent"), name
        browser.visit(site.base + "bad/")
        browser.becomes("document.getElementById('browse').dataset.failed",
                        "0")
        told = browser.value("document.querySelector('#browse p')"
                             ".textContent")
        assert "could not be read: a chunk may be damaged" in told, told
        equal(browser.value("document.querySelector('canvas')"
                            ".getBoundingClientRect().height"), 0, "a blank")
        browser.visit("about:blank")
        browser.visit(site.base + "bad/")
        assert "Faults met" in browser.value("document.body.textContent")


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
            slide(browser, 0, n)
            browser.becomes(SHOWN, str(n * page))
            told = browser.value("document.querySelector('#browse p')"
                                 ".textContent")
            assert f"bytes {n * page:,} to" in told, told
        assert abs(pixels(browser) - shades(cube[5])).max() <= 1
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
    hostile = samples.with_vlmetas(plain, [
        (word, bytes([0xa0 + len(word)]) + word)
        for word in page_test.HOSTILE])
    bad = bytearray(hostile)
    bad[bytes(bad).index(b"b2nd", 90) + 30:][:8] = b"\xff" * 8
    folder = os.path.join(source, "<script>alert(1)<|script>")
    os.mkdir(folder)
    for n, word in enumerate(page_test.HOSTILE):
        name = b"%d" % n + word.replace(b"/", b"|")
        harness.write(os.path.join(os.fsencode(folder), name),
                      bytes(bad) if n % 2 else hostile)
    report = os.path.join(source, "report.html")
    subprocess.run([harness.BLOSCFS, "--check", "--report=" + report, source],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=60, check=False)
    with served(work, source) as site, Browser(work) as browser:
        path = urllib.parse.quote(os.path.basename(folder)) + "/"
        pages = ["", "report.html", path]
        for name in os.listdir(os.fsencode(site.mount.point + folder[len(
                source):])):
            pages.append(path + urllib.parse.quote_from_bytes(name) + "/")
            if b"<" in name:
                pages.append(pages[-1] + "map.svg")
        for name in pages:
            browser.visit(site.base + name)
            equal(browser.said("Page.javascriptDialogOpening"), [], name)
            assert browser.value("document.documentElement.tagName"), name
        assert len(pages) > 5 + len(page_test.HOSTILE), pages
        for event in browser.said("Network.requestWillBeSent"):
            url = event["request"]["url"]
            assert url.startswith((site.base, "about:")), url
        # What a file says would be refused, if it were run or loaded.
        equal([event["entry"]["text"] for event in
               browser.said("Log.entryAdded")
               if "Content Security Policy" in event["entry"]["text"]], [])


if __name__ == "__main__":
    harness.main([
        types_are_those_that_programs_ask_for,
        slices_are_read_by_ranges,
        each_kind_of_array_is_shown_or_it_says_why_not,
        nothing_of_a_container_runs,
    ])
