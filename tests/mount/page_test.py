#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The view html: a page that loads nothing from elsewhere, in which nothing of
a container is markup; and map.svg beside it."""
import base64
import errno
import hashlib
import html.parser
import itertools
import json
import os
import re
import struct
import urllib.parse
import xml.etree.ElementTree as xml
import zipfile

import numpy as np

import arrays
import harness
import samples
from harness import Mount, equal, read

VIEWS = "--views=web,meta,imaging,info"
# What images have beside the array's own bytes.
IMAGES = (b"data.tif", b"data.nii", b"data.nhdr", b"data.mhd", b"data.vrt",
          b"data.hdr")
# Markup, entities, ends of what they may stand in, controls, marks that turn
# the direction, bytes that are no character; none is longer than 31 bytes.
HOSTILE = [b"<script>alert(1)</script>", b"<img src=x onerror=alert(1)>",
           b"&lt;b&gt;&#0;&amp", b"\" onload=\"alert(1)", b"' x='</title>",
           b"]]></style><svg onload=x>", b"--><!--", b"\x01\x1b[31m\x7f\xc2\x85",
           b"a\xe2\x80\xaegnp.exe\xe2\x81\xa6\xe2\x80\x8f\xef\xbb\xbf",
           b"\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90", b"javascript:alert(1)",
           b"a\nb\rc\td", b"%3Cb%3E?x#y"]
# Controls, marks of direction, what has no width.
UNSEEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e"
                    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"
                    "\ufeff\ufff0-\ufffb]")
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
    assert not UNSEEN.search(text), path
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "") and \
        "https:" not in text, path
    for link in page.links + page.shown:
        assert ":" not in link and not link.startswith("/"), link
        name = urllib.parse.unquote_to_bytes(link)
        assert os.path.exists(os.path.join(folder, name)), link
    return page


def entry(mount, name):
    return os.path.join(os.fsencode(mount.point), name)


def hold_images(folder, word):
    """No text of a container stands in an image's description or header."""
    info = json.loads(read(folder + b"/info.json"))
    for name in IMAGES:
        whole = read(folder + b"/" + name)
        head = whole[:-info["size"]] if len(whole) > info["size"] else whole
        equal(len(whole), os.stat(folder + b"/" + name).st_size, name)
        assert len(head) > 50, (name, head)
        # A line end alone stands in any text.
        assert word not in head and word[:9] not in head, (name, head)
        if name.endswith((b".nhdr", b".mhd", b".vrt", b".hdr")):
            assert head.replace(b"\n", b" ").decode("ascii").isprintable()
    xml.fromstring(read(folder + b"/data.vrt"))


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
            hold_images(entry(mount, name), word)


def packed_text(word):
    """A text in MessagePack, whatever its bytes."""
    return b"\xd9" + bytes([len(word)]) + word


def hostile_arrays(word):
    """Arrays with a word as dtype, as name of a field, as name of a dimension,
    unit and description; by what it is."""
    def array(dtype, chunk):
        return samples.assemble(
            range(len(chunk) - 32), len(chunk) - 32, [chunk], [0], False,
            samples.array_layer((8,), (8,), (8,), dtype),
            typesize=(len(chunk) - 32) // 8)

    quoted = word.replace(b"\\", b"\\\\").replace(b"'", b"\\'")
    plain = arrays.pack(arrays.numbers((4, 6, 8), "<i2"))
    return {
        "dtype": array(word, samples.chunk(bytes(8))),
        "field": array(b"[('" + quoted + b"', '<i4'), ('b', '<i4')]",
                       samples.chunk(bytes(64), 8)),
        "layers": samples.with_vlmetas(plain, [
            (b"dims", b"\x93" + packed_text(word) + b"\xa1y\xa1z"),
            (b"units", packed_text(word)), (b"long_name", packed_text(word)),
            (b"_ARRAY_DIMENSIONS", b"\x93\xa1x" + packed_text(word) +
             b"\xa1z")])}


def hold_texts(folder):
    """All that is JSON or XML is that, and of JSON nothing is unseen; how many
    there are."""
    n = 0
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            if name.endswith((b".svg", b".vrt")):
                xml.fromstring(read(path).decode())
            elif name.endswith((b".json", b".zarray", b".zattrs", b".zgroup",
                                b".zmetadata", b".jsonl")):
                text = read(path).decode()
                assert not UNSEEN.search(text.replace("\ufffd", "")), path
                json.loads(text)
            elif name == b"index.html":
                hold(at)
            else:
                continue
            n += 1
    return n


def dtypes_fields_dimensions_and_units_of_markup_are_text(work):
    top = os.path.join(work, "hostile")
    os.mkdir(top)
    for i, word in enumerate(HOSTILE):
        for what, data in hostile_arrays(word).items():
            harness.write(f"{top}/{what}-{i}", data)
    with Mount(work, top, "--views=all") as mount:
        for i, word in enumerate(HOSTILE):
            for what in ("dtype", "field", "layers"):
                folder = entry(mount, f"{what}-{i}".encode())
                n = hold_texts(folder)
                assert n >= (20 if what == "layers" else 4), (what, word, n)


def names_of_markup_in_a_store_are_text(work):
    path = os.path.join(work, "hostile.b2z")
    plain = arrays.pack(arrays.numbers((4, 6), "<i2"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as store:
        for i, word in enumerate(HOSTILE):
            # Other bytes are names of another code page there.
            name = word.decode("utf-8", "replace").replace("/", "|")
            store.writestr(f"{i} {name}.b2nd", plain)
    with Mount(work, path, "--views=all") as mount:
        folders = [name for name in os.listdir(os.fsencode(mount.point))
                   if name.split(b" ")[0].isdigit()]
        equal(len(folders), len(HOSTILE), "members")
        for name in folders:
            assert hold_texts(entry(mount, name)) > 20, name
        json.loads(read(entry(mount, b"info.json")))


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


def what_has_no_slices_says_why(work):
    top = os.path.join(work, "none")
    os.mkdir(top)
    harness.write(top + "/one", arrays.pack(arrays.numbers((), "<f8")))
    harness.write(top + "/fields", arrays.pack(np.zeros(
        40, [("<b>", "<i4"), ("name", "S7")])))
    with Mount(work, top, VIEWS) as mount:
        for name, why in (("one", "it is one item"),
                          ("fields", "its items are no plain numbers")):
            page = hold(os.fsencode(mount.path(name)))
            equal(page.browser, None, name)
            assert why in page.texts["p"], page.texts["p"]


def deflated_array(bad=()):
    """An array of 40 to 60 items in twelve chunks, of which some fail when
    they are decoded, and what it holds."""
    values = np.arange(2400, dtype="<i4").reshape(40, 60)
    chunks, entries, at = [], [], 0
    for n, (row, column) in enumerate(itertools.product(range(3), range(4))):
        tile = np.zeros((15, 15), "<i4")
        part = values[15 * row:15 * row + 15, 15 * column:15 * column + 15]
        tile[:len(part)] = part
        made = bytearray(samples.deflated_chunk(tile.tobytes(), 4))
        if n in bad:
            made[60:] = b"\xff" * (len(made) - 60)
        chunks.append(bytes(made))
        entries.append(at)
        at += len(made)
    layer = samples.array_layer((40, 60), (15, 15), (15, 15), b"<i4")
    return values, samples.assemble(bytes(12 * 900), 900, chunks, entries,
                                    False, layer, typesize=4)


def cells(data):
    """(number, fill, words) of each cell of a map."""
    found = []
    for part in xml.fromstring(data).iter("{http://www.w3.org/2000/svg}rect"):
        words = part[0].text
        found.append((int(re.match(r"[\d,]+", words)[0].replace(",", "")),
                      part.get("fill"), words))
    return found


def damage_that_is_met_is_told_and_nothing_else(work):
    path = os.path.join(work, "array")
    values, data = deflated_array(bad=[6])
    harness.write(path, data)
    wanted = values.tobytes()
    with Mount(work, path, VIEWS) as mount:
        names = ["map.svg", "index.html"]
        old = {name: read(mount.path(name)) for name in names}
        sizes = [os.stat(mount.path(name)).st_size for name in names]
        assert {fill for _, fill, _ in cells(old["map.svg"])}.isdisjoint(
            {"url(#d)"})
        assert b"Faults met" not in old["index.html"]
        with open(mount.path("map.svg"), "rb") as early:
            got = []
            with open(mount.path("data.bin"), "rb", 0) as file:
                for at in range(0, len(wanted), 60):
                    try:
                        got.append(os.pread(file.fileno(), 60, at))
                        equal(got[-1], wanted[at:at + 60], at)
                    except OSError as error:
                        equal(error.errno, errno.EIO)
            equal(len(early.read()), sizes[0], "of one that was open before")
        new = {name: read(mount.path(name)) for name in names}
        equal([len(new[name]) for name in names], sizes, "bytes that are read")
        equal([os.stat(mount.path(name)).st_size for name in names], sizes)
        for before, after in zip(cells(old["map.svg"]), cells(new["map.svg"])):
            if after[0] == 6:
                equal(after[1], "url(#d)", "the fill of the chunk")
                assert ", damaged" in after[2], after[2]
            else:
                equal(after, before, "another chunk")
        page = hold(os.fsencode(mount.point))
        assert "Faults met" in page.texts["h2"], page.texts["h2"]
        told = new["index.html"].decode().split("Faults met")[1]
        equal(re.findall(r"<tr><th>chunk (\d+)</th><td>(\w+)", told)[0][0], "6")
        equal(told.count("<tr><th>chunk "), 1, "faults told")
        assert re.search(r"at byte [\d,]+</td>", told)


def many_faults_are_counted(work):
    path = os.path.join(work, "frame")
    data, chunk = samples.noise(64 * 5000), 64
    whole = bytearray(samples.frame(data, chunk))
    for n in range(5000):
        at = samples.chunk_offset(n, chunk)
        if n != 4321:
            whole[at + 4:at + 8] = b"\xff" * 4
    harness.write(path, bytes(whole))
    with Mount(work, path, VIEWS + ",chunks") as mount:
        folder = mount.path("chunks")
        for n in range(4200):
            harness.fails_with(errno.EIO, read, f"{folder}/{n:010d}")
        equal(read(f"{folder}/{4321:010d}"), data[4321 * 64:4322 * 64])
        page = hold(os.fsencode(mount.point))
        told = page.texts["p"]
        assert "4,096 and more chunks could not be read" in told, told
        assert re.search(r"The first \d+ are told", told), told


if __name__ == "__main__":
    harness.main([
        nothing_of_a_container_is_markup,
        dtypes_fields_dimensions_and_units_of_markup_are_text,
        names_of_markup_in_a_store_are_text,
        each_sample_has_a_page,
        a_page_decodes_no_data,
        a_page_tells_damage_and_what_there_is_not,
        what_has_no_slices_says_why,
        damage_that_is_met_is_told_and_nothing_else,
        many_faults_are_counted,
    ])
