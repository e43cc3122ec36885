#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Servers that speak HTTP/2: ranges share a connection, and what ends streams
and connections early costs requests, never bytes."""
import concurrent.futures
import contextlib
import os
import random
import socket
import threading

import harness
import programs
import samples
import web
from authority import Authority
from harness import Mount, equal, read
from objects import Server

MIB = 1 << 20
SIZE = 6 * MIB
READERS = 8
SITE = """
    log_format counted '$connection $server_protocol $status';
    server {{
        listen 127.0.0.1:8080 ssl http2;
        ssl_certificate {pem};
        ssl_certificate_key {key};
        access_log {log} counted;
        http2_max_concurrent_streams {streams};
        keepalive_requests {requests};
        {place}
    }}"""


class Front:
    """nginx that speaks HTTP/2 before a folder or another server."""

    def __init__(self, work, streams=128, requests=1000000, behind=None,
                 site=SITE):
        authority = Authority(work)
        pem, key = authority.certificate()
        for path in (pem, key, authority.file):
            os.chmod(path, 0o644)
        self.ca_file, self.log = authority.file, work + "/nginx/access"
        place = f"root {work}/files;" if not behind else \
            f"location / {{ proxy_pass {behind}; proxy_buffering off; }}"
        self.server = web.Server(work, site.format(
            pem=pem, key=key, log=self.log, streams=streams,
            requests=requests, place=place))
        self.port = self.server.port

    def mount(self, work, port=None, *options):
        return Mount(work, f"https://127.0.0.1:{port or self.port}/f.b2frame",
                     f"--ca_file={self.ca_file}", "--cache_size=1M", *options)

    def rows(self):
        """(connection, protocol, status) of each request, once nginx has
        ended."""
        with open(self.log, encoding="ascii") as file:
            return [tuple(line.split()) for line in file]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.end()


def made(work):
    """The truth of a frame that lies in the folder of files."""
    truth = samples.noise(SIZE, 5)
    os.mkdir(work + "/files")
    harness.write(work + "/plain", truth)
    programs.pack(work + "/plain", work + "/files/f.b2frame", chunk_kib=256)
    os.chmod(work + "/files", 0o755)
    return truth


def pages(path, truth, seed, count=20):
    """Reads here and there: how many failed. What is read is right."""
    dice, failed = random.Random(seed), 0
    file = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
        for _ in range(count):
            at = dice.randrange(SIZE - 4096)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            try:
                got = os.pread(file, 4096, at)
            except OSError:
                failed += 1
                continue
            equal(got == truth[at:at + 4096], True, f"bytes at {at}")
    finally:
        os.close(file)
    return failed


def read_side_by_side(mount, truth):
    """Reads of many at once, and of all in order: how many failed."""
    path = mount.path("data.bin")
    with concurrent.futures.ThreadPoolExecutor(READERS) as pool:
        failed = sum(pool.map(lambda seed: pages(path, truth, seed),
                              range(READERS)))
    equal(read(path) == truth, True, "all in order")
    return failed


class Relay:
    """Passes connections on, and cuts each behind so many bytes."""

    def __init__(self, port, limit):
        self.to, self.limit, self.count = port, limit, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                near = self.listener.accept()[0]
                self.count += 1
                far = socket.create_connection(("127.0.0.1", self.to))
                for one, other, limit in ((near, far, None),
                                          (far, near, self.limit)):
                    threading.Thread(target=self.copy, daemon=True,
                                     args=(one, other, limit)).start()

    @staticmethod
    def copy(one, other, limit):
        sent = 0
        with contextlib.suppress(OSError):
            while limit is None or sent < limit:
                some = one.recv(16384)
                if not some:
                    break
                other.sendall(some)
                sent += len(some)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def ranges_share_one_connection(work):
    truth = made(work)
    with Front(work) as front, front.mount(work) as mount:
        equal(read_side_by_side(mount, truth), 0, "reads that failed")
    rows = front.rows()
    equal({row[1] for row in rows}, {"HTTP/2.0"}, "protocols")
    equal({row[2] for row in rows}, {"206"}, "answers")
    assert len(rows) > 50, len(rows)
    equal(len({row[0] for row in rows}), 1, "connections")


def a_server_of_few_streams_is_asked_by_few(work):
    truth = made(work)
    with Front(work, streams=1) as front, front.mount(work) as mount:
        equal(read_side_by_side(mount, truth), 0, "reads that failed")
    assert {row[1:] for row in front.rows()} == {("HTTP/2.0", "206")}


def connections_that_are_ended_are_made_anew(work):
    """By GOAWAY, behind so many requests."""
    truth = made(work)
    with Front(work, requests=7) as front, front.mount(work) as mount:
        equal(read_side_by_side(mount, truth), 0, "reads that failed")
    rows = front.rows()
    assert len({row[0] for row in rows}) > len(rows) / 14, len(rows)


def streams_that_are_reset_are_asked_for_again(work):
    """As nginx does where what is behind it breaks off."""
    truth = made(work)
    with Server() as server:
        server.put_file("/f.b2frame", work + "/files/f.b2frame")
        met = []

        def choose(_path):
            met.append(len(met) % 5 == 4)
            return "cut" if met[-1] else None

        with Front(work, behind=server.url) as front, \
                front.mount(work) as mount:
            server.choose = choose
            equal(read_side_by_side(mount, truth), 0, "reads that failed")
            assert sum(met) > 10, met
            server.choose = None
    equal({row[1] for row in front.rows()}, {"HTTP/2.0"}, "protocols")


def connections_that_are_cut_are_made_anew(work):
    truth = made(work)
    with Front(work) as front, Relay(front.port, 2 * MIB) as relay, \
            front.mount(work, relay.port) as mount:
        equal(read_side_by_side(mount, truth), 0, "reads that failed")
        assert relay.count > 2, relay.count


if __name__ == "__main__":
    programs.need("nginx")
    harness.main([
        ranges_share_one_connection,
        a_server_of_few_streams_is_asked_by_few,
        connections_that_are_ended_are_made_anew,
        streams_that_are_reset_are_asked_for_again,
        connections_that_are_cut_are_made_anew,
    ])
