#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The view html: a page that loads nothing from elsewhere, in which nothing of
a container is markup; and map.svg beside it."""
import base64
import errno
import hashlib
import html.parser
import json
import os
import re
import struct
import urllib.parse
import xml.etree.ElementTree as xml

import arrays
import harness
import samples
from harness import Mount, equal, read

VIEWS = "--views=web,meta"
# Markup, entities, ends of what they may stand in, controls, marks that turn
# the direction, bytes that are no character; none is longer than 31 bytes.
HOSTILE = [b"<script>alert(1)</script>", b"<img src=x onerror=alert(1)>",
           b"&lt;b&gt;&#0;&amp", b"\" onload=\"alert(1)", b"' x='</title>",
           b"]]></style><svg onload=x>", b"--><!--", b"\x01\x1b[31m\x7f\xc2\x85",
           b"a\xe2\x80\xaegnp.exe\xe2\x81\xa6\xe2\x80\x8f\xef\xbb\xbf",
           b"\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90", b"javascript:alert(1)",
           b"a\nb\rc\td", b"%3Cb%3E?x#y"]
TAGS = {"html", "meta", "title", "style", "h1", "h2", "p", "div", "section",
        "table", "tr", "th", "td", "a", "img", "span", "code", "ul", "li",
        "pre", "footer", "script", "svg", "path", "text"}


class Page(html.parser.HTMLParser):
    """Which tags there are, with what."""

    def __init__(self, data):
        super().__init__()
        self.tags, self.links, self.shown, self.texts = [], [], [], {}
        self.inside, self.policy, self.browser = None, None, None
        self.feed(data.decode())
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.inside = tag
        for name, value in attrs:
            assert not name.startswith("on") and name != "style", (tag, attrs)
            if name == "href":
                self.links.append(value)
            if name == "src":
                self.shown.append(value)
        fields = dict(attrs)
        if fields.get("http-equiv") == "Content-Security-Policy":
            self.policy = fields["content"]
        if fields.get("id") == "browse":
            self.browser = fields

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        self.texts.setdefault(self.inside, "")
        self.texts[self.inside] += data


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def hold(folder):
    """What is so of every page; the page."""
    path = os.path.join(folder, os.fsencode("index.html"))
    size, data = os.stat(path).st_size, read(path)
    equal(len(data), size, path)
    page = Page(data)
    assert set(page.tags) <= TAGS, set(page.tags) - TAGS
    equal([page.tags.count(tag) for tag in ("script", "style", "title")],
          [1, 1, 1 + page.tags.count("svg")], "texts of ours")
    rules = dict(rule.split(" ", 1) for rule in page.policy.split("; "))
    equal(rules["default-src"], "'none'")
    equal(rules["script-src"], f"'sha256-{digest(page.texts['script'])}'")
    equal(rules["style-src"], f"'sha256-{digest(page.texts['style'])}'")
    equal(rules["connect-src"], "'self'")
    text = data.decode()
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f"
                         "\u2028-\u202e\u2060-\u206f\ufeff]", text), path
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "") and \
        "https:" not in text, path
    for link in page.links + page.shown:
        assert ":" not in link and not link.startswith("/"), link
        name = urllib.parse.unquote_to_bytes(link)
        assert os.path.exists(os.path.join(folder, name)), link
    return page


def entry(mount, name):
    return os.path.join(os.fsencode(mount.point), name)


def nothing_of_a_container_is_markup(work):
    top = os.path.join(work, "hostile")
    os.mkdir(top)
    plain = arrays.pack(arrays.numbers((4, 6, 8), "<i2"))
    names = []
    for i, word in enumerate(HOSTILE):
        # A file, a metalayer, a value, a key and a string in it.
        value = (b"\x82" + bytes([0xa0 + len(word)]) + word +
                 bytes([0xa0 + len(word)]) + word + b"\xa1k\xc4" +
                 bytes([len(word)]) + word)
        whole = samples.with_vlmetas(plain, [(word, value), (b"x", word)])
        name = b"%d " % i + word.replace(b"/", b"|")
        names.append(name)
        with open(os.path.join(os.fsencode(top), name), "wb") as file:
            file.write(whole)
    with Mount(work, top, VIEWS) as mount:
        for name, word in zip(names, HOSTILE):
            page = hold(entry(mount, name))
            if word.isascii() and word.decode().isprintable():
                assert word.decode().replace("/", "|") in page.texts["h1"], \
                    (word, page.texts["h1"])
            root = xml.fromstring(read(entry(mount, name) + b"/map.svg"))
            told = {part.tag.split("}")[1] for part in root.iter()}
            assert told <= {"svg", "title", "style", "defs", "pattern", "path",
                            "text", "g", "rect"}, told
            for part in root.iter():
                assert not any(key.startswith("on") for key in part.keys())


def a_dtype_and_a_metalayer_of_markup_are_text(work):
    path = os.path.join(work, "dtype")
    layer = samples.array_layer((8,), (8,), (8,), b"<script>x</script>")
    data = samples.chunk(bytes(range(8)))
    harness.write(path, samples.assemble(bytes(8), 8, [data], [0], False,
                                         layer))
    with Mount(work, path, VIEWS) as mount:
        hold(os.fsencode(mount.point))


def each_sample_has_a_page(work):
    seen = 0
    with Mount(work, harness.DATA, VIEWS) as mount:
        for folder, _, names in os.walk(mount.point):
            if "index.html" in names:
                hold(os.fsencode(folder))
                seen += 1
    assert seen > 100, seen


def a_page_decodes_no_data(work):
    path = os.path.join(work, "cube")
    harness.write(path, arrays.pack(arrays.numbers((20, 30, 40), ">f4")))
    with Mount(work, path, VIEWS) as mount:
        page = hold(os.fsencode(mount.point))
        stats = read(mount.path(".bloscfs/stats")).decode()
        equal(re.findall(r"^bloscfs_decoded_bytes\S* (\d+)", stats, re.M),
              ["0"], "bytes decoded")
    equal([page.browser["data-" + key]
           for key in ("shape", "kind", "size", "big")],
          ["20,30,40", "f", "4", "1"], "what the script is told")
    equal(sorted(set(page.shown)), ["map.svg", "preview.png"], "pictures")


def a_page_tells_damage_and_what_there_is_not(work):
    path = os.path.join(work, "bad")
    data = bytearray(arrays.pack(arrays.numbers((8, 8), "<i4")))
    at = bytes(data).index(b"b2nd", 90) + 30
    data[at:at + 8] = struct.pack(">q", -5)
    harness.write(path, bytes(data))
    with Mount(work, path, VIEWS) as mount:
        told = json.loads(read(mount.path("info.json")))
        page = hold(os.fsencode(mount.point))
        if told["status"] != "good":
            assert told["status"] in page.texts["span"], page.texts["span"]
        equal(page.browser, None, "slices of what is no array")
        harness.fails_with(errno.ENOENT, os.stat, mount.path("preview.png"))


if __name__ == "__main__":
    harness.main([
        nothing_of_a_container_is_markup,
        a_dtype_and_a_metalayer_of_markup_are_text,
        each_sample_has_a_page,
        a_page_decodes_no_data,
        a_page_tells_damage_and_what_there_is_not,
    ])
