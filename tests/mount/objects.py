# SPDX-License-Identifier: BSD-3-Clause
"""A web server of ranges that can do wrong in every way it is told to, with a
context of ssl also over TLS.

Server.log has a row for each request: (path, range, status, bytes sent).
Server.faults is a list of what the next requests meet, one each; None is no
fault. always is met by every request while it is set; choose, a function of
the path, says it of each that faults leave alone. endless, a
function of the path, makes each page of a listing.
"""
import contextlib
import email.utils
import hashlib
import html
import http.server
import os
import re
import socket
import socketserver
import threading
import time
import urllib.parse

# Nothing of the one who runs the tests.
for variable in list(os.environ):
    if variable.startswith("AWS_") or variable.endswith("_proxy"):
        del os.environ[variable]
os.environ["HOME"] = "/nonexistent"


def s3(server, **more):
    """Where S3's own variables point; put back behind it."""
    wanted = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
              "AWS_SECRET_ACCESS_KEY": "swordfish-secret",
              "AWS_ENDPOINT_URL": server.url, **more}

    @contextlib.contextmanager
    def scope():
        os.environ.update(wanted)
        try:
            yield
        finally:
            for name in wanted:
                del os.environ[name]
    return scope()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "objects"

    def log_message(self, *_):
        """Nothing on the terminal."""

    def setup(self):
        # As servers do that leave the socket as it is: the rest of an answer
        # waits until its head has arrived.
        self.disable_nagle_algorithm = not self.server.nagle
        super().setup()

    def do_GET(self):
        server = self.server
        with server.lock:
            fault = server.faults.pop(0) if server.faults else \
                server.choose(self.path) if server.choose else server.always
            found = server.objects.get(
                urllib.parse.unquote(self.path.split("?")[0]))
            server.asked.append(dict(self.headers))
            server.at_once += 1
            server.beside.append(server.at_once - 1)
            server.most_at_once = max(server.most_at_once, server.at_once)
        if server.latency:
            time.sleep(server.latency)
        self.noted = False
        try:
            self.answer(fault, found)
        finally:
            if not self.noted:
                self.note(0, 0)
            with server.lock:
                server.at_once -= 1

    def note(self, status, sent):
        """Before the client can have the answer, so that it is in the log by
        then."""
        self.noted = True
        with self.server.lock:
            self.server.log.append((self.path, self.headers.get("Range"),
                                    status, sent))

    def plain(self, status, body=b"", **headers):
        self.note(status, 0)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return status

    def answer(self, fault, found):
        if isinstance(fault, int):
            return self.plain(fault, b"x" * 300, **self.server.fault_headers)
        if fault == "hang":
            self.server.hung.wait(60)
            self.close_connection = True
            return 0
        if fault == "reset":
            self.close_connection = True
            return 0
        if fault == "expired":
            return self.plain(400, b"<Error><Code>ExpiredToken</Code>"
                                   b"<Message>swordfish</Message></Error>")
        if fault == "late":
            self.server.hung.wait(self.server.pause)
        if fault == "garbage":
            self.wfile.write(b"\x00\xffnot http at all\r\n\r\n" * 50)
            self.close_connection = True
            return 0
        if fault and fault.startswith("redirect "):
            return self.plain(302, Location=fault.split(" ", 1)[1])
        if "list-type=2" in self.path:
            return self.listing(fault)
        if found is None:
            return self.plain(404, b"no such object")
        return self.ranged(fault, *found)

    def listing(self, fault):
        """What S3 says of a bucket, with its folders by a delimiter."""
        if self.server.endless:
            return self.plain(200, self.server.endless(self.path))
        path, _, query = self.path.partition("?")
        given = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        names = [name.split("=")[0] for name in query.split("&")]
        if names != sorted(names) or "/" in query:
            return self.plain(403, b"SignatureDoesNotMatch")
        prefix, most = given["prefix"], min(int(given["max-keys"]),
                                            self.server.page)
        with self.server.lock:
            keys = {key[len(path):]: value
                    for key, value in self.server.objects.items()
                    if key.startswith(path)}
        rows = {}
        for key, (content, tag, modified) in keys.items():
            if not key.startswith(prefix):
                continue
            rest = key[len(prefix):]
            if "/" in rest:
                rows[prefix + rest.split("/")[0] + "/"] = None
            else:
                rows[key] = (len(content), tag, modified)
        token = given.get("continuation-token", "")
        after = max(token, given.get("start-after", ""))
        left = [name for name in sorted(rows) if name > after]
        return self.plain(200, self.page(fault, left[:most], rows,
                                         len(left) > most))

    @staticmethod
    def page(fault, names, rows, more):
        text = ['<?xml version="1.0" encoding="UTF-8"?>']
        if fault == "entities":
            text.append('<!DOCTYPE x [<!ENTITY a0 "aaaaaaaaaa">' + "".join(
                f'<!ENTITY a{i} "{("&a" + str(i - 1) + ";") * 10}">'
                for i in range(1, 9)) + "]>")
        if fault == "external":
            text.append('<!DOCTYPE x [<!ENTITY a0 SYSTEM '
                        '"file:///etc/passwd">]>')
        text.append("<ListBucketResult>")
        if fault in ("entities", "external"):
            entity = "a8" if fault == "entities" else "a0"
            text.append(f"<Contents><Key>&{entity};</Key><Size>1</Size>"
                        "</Contents>")
        if fault == "deep":
            text.append("<a>" * 100000)
        for name in names:
            coded = urllib.parse.quote(name, safe="/")
            if rows[name] is None:
                text.append("<CommonPrefixes><Prefix>" + coded +
                            "</Prefix></CommonPrefixes>")
                continue
            size, tag, modified = rows[name]
            if fault == "no size":
                size = "many"
            when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z",
                                 time.gmtime(modified))
            text.append(f"<Contents><Key>{coded}</Key><Size>{size}</Size>"
                        f"<ETag>{html.escape(tag)}</ETag><LastModified>"
                        f"{when}</LastModified></Contents>")
        if more:
            text.append("<NextContinuationToken>" + html.escape(names[-1]) +
                        "</NextContinuationToken>")
        return ("".join(text) + ("" if fault == "cut xml" else
                                 "</ListBucketResult>")).encode()

    def span(self, size):
        match = re.fullmatch(r"bytes=(\d*)-(\d*)",
                             self.headers.get("Range", ""))
        if not match or not size:
            return None
        first, last = match.groups()
        if not first:
            return max(0, size - int(last)), size - 1
        return int(first), min(size - 1, int(last) if last else size - 1)

    def is_known(self, tag, modified):
        """Whether the client says that it has this very content."""
        if self.server.forgets:
            return False
        known = self.headers.get("If-None-Match")
        if known:
            return known == tag
        since = self.headers.get("If-Modified-Since")
        return since and email.utils.parsedate_to_datetime(
            since).timestamp() >= modified

    def ranged(self, fault, content, tag, modified):
        wanted = self.headers.get("If-Match")
        if wanted and wanted != tag:
            return self.plain(412)
        since = self.headers.get("If-Unmodified-Since")
        if since and email.utils.parsedate_to_datetime(
                since).timestamp() < modified:
            return self.plain(412)
        if self.is_known(tag, modified):
            return self.send(304, b"", tag, modified)
        span = self.span(len(content))
        if (fault == "whole" or (span is None and content) or
                "Range" not in self.headers):
            return self.send(200, content, tag, modified, fault=fault)
        if not content and self.server.empty == "200":
            return self.send(200, content, tag, modified)
        if not content and self.server.empty == "bare 416":
            return self.plain(416)
        if span is None or span[0] > span[1]:
            return self.plain(416, Content_Range=f"bytes */{len(content)}")
        first, last = span
        body = content[first:last + 1]
        ranges = f"bytes {first}-{last}/{len(content)}"
        length = len(body)
        if fault == "short":
            body = body[:-1]
            length -= 1
        elif fault == "long":
            body += b"!"
            length += 1
        elif fault == "shifted":
            ranges = f"bytes {first + 1}-{last + 1}/{len(content) + 1}"
        elif fault == "other total":
            ranges = f"bytes {first}-{last}/{len(content) + 1}"
        elif fault == "no range told":
            ranges = None
        elif fault == "huge range":
            ranges = f"bytes {first}-{2 ** 64 - 1}/{2 ** 64}"
        elif fault == "negative range":
            ranges = f"bytes -{first + 1}-{last}/{len(content)}"
        elif fault == "other tag":
            tag = '"another"'
        elif fault == "no tag":
            tag = None
        elif fault == "cut":
            body = body[:len(body) // 2]
        elif fault == "gzip":
            return self.send(206, body, tag, modified, ranges, length,
                             Content_Encoding="gzip")
        return self.send(206, body, tag, modified, ranges, length, fault)

    def send(self, status, body, tag, modified, ranges=None, length=None,
             fault=None, **headers):
        self.note(status, len(body))
        self.send_response(status)
        if tag:
            self.send_header("ETag", tag)
        if modified:
            self.send_header("Last-Modified",
                             email.utils.formatdate(modified, usegmt=True))
        if ranges:
            self.send_header("Content-Range", ranges)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        length = len(body) if length is None else length
        self.send_header("Content-Length", str(length))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            if fault in ("slow", "stalled"):
                self.wfile.write(body[:len(body) // 2])
                self.server.hung.wait(self.server.pause if fault == "slow"
                                      else 60)
                self.wfile.write(body[len(body) // 2:])
            else:
                self.wfile.write(body)
        if len(body) != length:
            self.close_connection = True
        return status


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, context=None):
        super().__init__(("127.0.0.1", 0), Handler)
        if context:
            # Each connection's own thread shakes hands.
            self.socket = context.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False)
        self.lock = threading.Lock()
        self.objects, self.log, self.asked = {}, [], []
        self.faults, self.always, self.latency = [], None, 0
        self.choose, self.pause, self.endless = None, 1, None
        self.fault_headers, self.page = {}, 1000
        self.forgets = False  # conditions that ask for what is new
        self.at_once = self.most_at_once = 0
        self.connections = 0  # that were ever made
        self.standing = set()  # those that still are
        self.beside = []  # how many were under way when each one came
        self.hung = threading.Event()
        self.nagle = False
        self.empty = None  # how it answers ranges of an empty object
        self.url = ("https" if context else "http") + \
            f"://127.0.0.1:{self.server_address[1]}"
        self.thread = threading.Thread(target=self.serve_forever,
                                       kwargs={"poll_interval": 0.05})
        self.thread.start()

    def process_request(self, request, client_address):
        self.connections += 1
        with self.lock:
            self.standing.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        with self.lock:
            self.standing.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request, client_address):
        """Clients may leave when they like."""

    def put(self, path, content, tag=True, modified=1_600_000_000):
        """tag: True for one of the content."""
        if tag is True:
            tag = '"' + hashlib.md5(content).hexdigest() + '"'
        with self.lock:
            self.objects[urllib.parse.unquote(path)] = (content, tag,
                                                        modified)

    def put_file(self, path, file, **more):
        with open(file, "rb") as opened:
            self.put(path, opened.read(), **more)
        return self.url + path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.hung.set()
        self.shutdown()
        self.thread.join()
        self.server_close()
        # Threads would go on to answer over connections that stand.
        with self.lock:
            for request in self.standing:
                with contextlib.suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)
