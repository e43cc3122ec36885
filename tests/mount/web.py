# SPDX-License-Identifier: BSD-3-Clause
"""nginx for a test: an ordinary user's, with no file outside of the work
folder, at a free port of this machine."""
import contextlib
import http.client
import os
import socket
import subprocess

import harness
import programs
from harness import NOBODY

CONFIG = """
daemon off;
worker_processes 2;
pid {home}/pid;
error_log {home}/error.log {level};
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {home}/body;
    proxy_temp_path {home}/proxy;
    fastcgi_temp_path {home}/fastcgi;
    uwsgi_temp_path {home}/uwsgi;
    scgi_temp_path {home}/scgi;
    default_type application/octet-stream;
    {site}
}}
"""


def site(root):
    """A block `server` that shows a folder."""
    return f"""server {{
        listen 127.0.0.1:8080;
        root {root};
        sendfile on;
        autoindex on;
    }}"""


def free_port():
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


class Server:
    """nginx in the foreground. The site is a block `server` for port 8080,
    which becomes the free one."""

    def __init__(self, work, site, level="warn"):
        programs.need("nginx")
        home = os.path.join(work, "nginx")
        os.mkdir(home)
        self.log = home + "/error.log"
        self.port = free_port()
        harness.write(home + "/nginx.conf", CONFIG.format(
            home=home, site=self.at_its_port(site), level=level).encode())
        more = {}
        if os.geteuid() == 0:
            os.chown(home, NOBODY, NOBODY)
            more.update(user=NOBODY, group=NOBODY, extra_groups=[])
        self.process = subprocess.Popen(
            ["nginx", "-e", self.log, "-p", home, "-c",
             home + "/nginx.conf"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
        try:
            harness.wait_until(self.answers,
                               told=lambda: "nginx does not answer")
        except BaseException:
            self.end()
            raise

    def at_its_port(self, text):
        return text.replace("127.0.0.1:8080", f"127.0.0.1:{self.port}")

    def answers(self):
        with contextlib.suppress(OSError), \
                socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        assert self.process.poll() is None, harness.read(self.log).decode()
        return False

    def ask(self, path, method="GET", **fields):
        """(status, fields, body)"""
        names = {key.replace("_", "-"): value
                 for key, value in fields.items()}
        there = http.client.HTTPConnection("127.0.0.1", self.port,
                                           timeout=60)
        with contextlib.closing(there):
            there.request(method, "/" + path, headers=names)
            answer = there.getresponse()
            return answer.status, answer.headers, answer.read()

    def end(self):
        self.process.terminate()
        self.process.wait(20)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()
