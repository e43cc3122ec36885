#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A web server (nginx, with sendfile) that serves a mount."""
import concurrent.futures
import contextlib
import email.utils
import hashlib
import os
import random
import re

import harness
import programs
import web
from harness import Mount, equal
from programs import MIB, archive
from web import Server

@contextlib.contextmanager
def served(work, level="warn"):
    """An archive and the server of its mount."""
    made = archive(work)
    others = ["-oallow_other"] if os.geteuid() == 0 else []
    with Mount(work, made.source, *others) as mount, \
            Server(work, web.site(mount.point), level) as server:
        yield made, server


def the_content_is_that_of_the_files(work):
    with served(work) as (made, server):
        for name, truth in made.pairs():
            status, fields, body = server.ask(name)
            equal((status, int(fields["Content-Length"])),
                  (200, os.path.getsize(truth)), name)
            equal(hashlib.sha256(body).hexdigest(), programs.sha(truth),
                  "hash of " + name)
        status, _, body = server.ask("walk.b2nd/")
        names = re.findall(rb'href="([^"./][^"]*)"', body)
        equal((status, b"data.npy" in names, b"chunks/" in names),
              (200, True, True), names)
        equal(server.ask("walk.b2nd/nothing")[0], 404)


def sendfile_is_what_sends(work):
    with served(work, "debug") as (made, server):
        body = server.ask("walk.b2nd/data.bin")[2]
        equal(body == harness.read(made.truth("walk")), True)
        sent = re.findall(rb" sendfile: (\d+) of ", harness.read(server.log))
        equal(sum(map(int, sent)), 16 * MIB, "bytes by sendfile")


def head_tells_size_and_time(work):
    with served(work) as (_, server):
        status, fields, body = server.ask("holey.b2frame/data.bin", "HEAD")
        equal((status, body, fields["Content-Length"],
               fields["Accept-Ranges"]),
              (200, b"", str(40 * MIB), "bytes"))
        equal(email.utils.parsedate_to_datetime(fields["Last-Modified"])
              .timestamp(), 1.2e9)


def ranges_are_cut_from_the_data(work):
    with served(work) as (made, server):
        truth = harness.read(made.truth("holey"))
        size = len(truth)
        for text, at, end in (
                ("0-0", 0, 1), ("1048570-1048580", 1048570, 1048581),
                (f"{3 * MIB - 5}-{4 * MIB + 5}", 3 * MIB - 5, 4 * MIB + 6),
                (f"{size - 7}-", size - 7, size), ("-100", size - 100, size),
                (f"5-{size * 2}", 5, size)):
            status, fields, body = server.ask("holey.b2frame/data.bin",
                                              Range="bytes=" + text)
            equal((status, fields["Content-Range"]),
                  (206, f"bytes {at}-{end - 1}/{size}"))
            equal(body == truth[at:end], True, f"body of {text}")
        status, fields, _ = server.ask("holey.b2frame/data.bin",
                                       Range=f"bytes={size}-")
        equal((status, fields["Content-Range"]), (416, f"bytes */{size}"))


def several_ranges_come_as_parts(work):
    with served(work) as (made, server):
        truth = harness.read(made.truth("text"))
        status, fields, body = server.ask("text.b2frame/data.bin",
                                          Range="bytes=0-9,300000-300099,-5")
        equal(status, 206)
        mark = b"\r\n--" + fields["Content-Type"].split("=")[1].encode()
        parts = [part.split(b"\r\n\r\n", 1)[1]
                 for part in body.split(mark)[1:-1]]
        equal(parts, [truth[:10], truth[300000:300100], truth[-5:]])


def what_did_not_change_is_not_sent_again(work):
    name = "text.b2frame/data.bin"
    with served(work) as (made, server):
        fields = server.ask(name, "HEAD")[1]
        for known in ({"If_Modified_Since": fields["Last-Modified"]},
                      {"If_None_Match": fields["ETag"]}):
            equal(server.ask(name, **known)[::2], (304, b""), known)
        status, _, body = server.ask(name, If_Modified_Since="Sat, 01 Jan "
                                     "2000 00:00:00 GMT")
        equal((status, len(body)), (200, os.path.getsize(made.truth("text"))))
        # A range of what is no longer there becomes the whole.
        for tag, status in ((fields["ETag"], 206), ('"another"', 200)):
            equal(server.ask(name, Range="bytes=0-9", If_Range=tag)[0],
                  status, tag)


def a_new_file_has_a_new_tag(work):
    source = work + "/source"
    os.mkdir(source)
    others = ["-oallow_other"] if os.geteuid() == 0 else []
    with Mount(work, source, "-oattr_timeout=0", *others) as mount, \
            Server(work, web.site(mount.point)) as server:
        tags = []
        for number in range(3):
            programs.write_text(work + "/plain", 1000 + number)
            programs.pack(work + "/plain", work + "/new")
            os.utime(work + "/new", (1.2e9 + number, 1.2e9 + number))
            os.rename(work + "/new", source + "/it.b2frame")
            status, fields, body = server.ask("it.b2frame/data.bin")
            equal((status, body == harness.read(work + "/plain")),
                  (200, True))
            tags.append(fields["ETag"])
        equal(len(set(tags)), 3, "different tags")


def sixteen_clients_get_the_same_at_once(work):
    with served(work) as (made, server):
        truths = [(name, harness.read(truth))
                  for name, truth in made.pairs()]

        def client(number):
            dice = random.Random(number)
            for _ in range(20):
                name, truth = dice.choice(truths)
                at = dice.randrange(len(truth))
                end = min(len(truth), at + dice.randrange(1, 1 << 20))
                body = server.ask(name, Range=f"bytes={at}-{end - 1}")[2]
                if body != truth[at:end]:
                    return f"{name}, {at}-{end - 1}"
            name, truth = truths[number % 3]
            return "" if server.ask(name)[2] == truth else name

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            equal(list(pool.map(client, range(16))), [""] * 16, "what differs")


if __name__ == "__main__":
    harness.main([
        the_content_is_that_of_the_files,
        sendfile_is_what_sends,
        head_tells_size_and_time,
        ranges_are_cut_from_the_data,
        several_ranges_come_as_parts,
        what_did_not_change_is_not_sent_again,
        a_new_file_has_a_new_tag,
        sixteen_clients_get_the_same_at_once,
    ])
