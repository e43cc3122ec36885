# SPDX-License-Identifier: BSD-3-Clause
"""Who serves the array, and who reads it: nginx with a log of its own, a
gateway of S3 behind it, mounts of bloscfs, of it over rclone, and curl."""
import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "mount"))
import harness  # noqa: E402  (they lie beside the tests)
import web  # noqa: E402

BLOSCFS = os.environ.get("BLOSCFS", "bloscfs")
PAGE = 4096
FORMAT = "log_format counted '$status $body_bytes_sent';"


class Served:
    """nginx with a log: what was asked for since it was asked last."""

    def __init__(self, work, inside):
        self.folder = tempfile.mkdtemp(dir=work)
        os.chmod(self.folder, 0o777)
        self.path = os.path.join(self.folder, "access.log")
        self.server = web.Server(self.folder, f"""{FORMAT}
            server {{
                listen 127.0.0.1:8080 backlog=256;
                access_log {self.path} counted;
                keepalive_requests 100000;
                {inside}
            }}""")
        self.port = self.server.port
        self.seen = 0

    def counted(self):
        """(requests, bytes of bodies), once no more come."""
        size = -1
        while size != (size := os.path.getsize(self.path)):
            time.sleep(0.3)
        with open(self.path, encoding="ascii") as log:
            log.seek(self.seen)
            rows = [line.split() for line in log.read().splitlines()]
        self.seen = size
        return len(rows), sum(int(row[1]) for row in rows)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.end()


def files_of(work, folder):
    return Served(work, f"root {folder}; sendfile on; autoindex on;")


def before(work, endpoint):
    """In front of an S3 gateway, whose own log does not tell sizes."""
    return Served(work, f"""location / {{
            proxy_pass {endpoint};
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_buffering off;
        }}""")


def put(endpoint, bucket, key, path):
    """Uploads a file with the keys of the environment."""
    user = os.environ["AWS_ACCESS_KEY_ID"] + ":" + \
        os.environ["AWS_SECRET_ACCESS_KEY"]
    subprocess.run(
        ["curl", "-sS", "-f", "--aws-sigv4", "aws:amz:us-east-1:s3", "-K", "-",
         "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", "-T", path,
         f"{endpoint}/{bucket}/{key}"], input=f"user = {user}\n".encode(),
        check=True, stdout=subprocess.DEVNULL)


class Mount:
    """bloscfs in the foreground, of an address or a folder."""

    def __init__(self, work, source, *options, inside="", env=None):
        self.point = tempfile.mkdtemp(dir=work)
        self.inside = inside
        ready, told = os.pipe()
        self.process = subprocess.Popen(
            [BLOSCFS, "-f", f"--notify_fd={told}", "--log_level=warn",
             *options, source, self.point], stdin=subprocess.DEVNULL,
            pass_fds=[told], env={**os.environ, **(env or {})})
        os.close(told)
        if os.read(ready, 1) != b"\n":
            sys.exit("there is no mount of " + source)
        os.close(ready)

    def path(self, name):
        return os.path.join(self.point, self.inside, name)

    def stat(self, name):
        """A number of .bloscfs/stats."""
        with open(os.path.join(self.point, ".bloscfs", "stats"),
                  encoding="ascii") as stats:
            for line in stats:
                if line.startswith(name + " "):
                    return float(line.split()[-1])
        return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)


class Stacked:
    """What a user without addresses does: rclone mount, bloscfs over it."""

    def __init__(self, work, port, name, *options):
        self.below = tempfile.mkdtemp(dir=work)
        self.cache = tempfile.mkdtemp(dir=work)
        self.rclone = subprocess.Popen(
            ["rclone", "mount", ":http:", self.below, "--http-url",
             f"http://127.0.0.1:{port}/", "--read-only", "--config",
             os.path.join(self.cache, "none.conf"), "--cache-dir", self.cache,
             *options], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.mount = None
        try:
            if not harness.comes_true(lambda: os.path.ismount(self.below)):
                sys.exit("rclone mounts nothing")
            self.mount = Mount(work, self.below, inside=name)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self):
        return self.mount

    def __exit__(self, *_):
        if self.mount:
            self.mount.__exit__()
        # What it fetches for nobody any more is not waited for.
        subprocess.run(["fusermount3", "-uz", self.below], check=False)
        self.rclone.terminate()
        try:
            self.rclone.wait(10)
        except subprocess.TimeoutExpired:
            self.rclone.kill()
            self.rclone.wait()
        shutil.rmtree(self.cache, ignore_errors=True)


def read_text(mount):
    """info.json, and how long it took."""
    begin = time.perf_counter()
    with open(mount.path("info.json"), "rb") as file:
        file.read()
    return time.perf_counter() - begin


def offsets(size, n, seed):
    """n pages at random, no two in the same 256 KiB, which is a block."""
    dice = random.Random(seed)
    blocks = dice.sample(range(size // (256 << 10)), n)
    return [block * (256 << 10) + dice.randrange(64) * PAGE
            for block in blocks]


def drawn(size, n, seed):
    """n pages at random."""
    dice = random.Random(seed)
    return [dice.randrange(size // PAGE) * PAGE for _ in range(n)]


def read_at(path, where, readers=1):
    """Pages of 4 KiB at these places, shared among readers, each with an
    opening of its own; how long it took."""
    def work(mine, fd):
        for off in mine:
            if len(os.pread(fd, PAGE, off)) != PAGE:
                sys.exit("a read is short")

    fds = [os.open(path, os.O_RDONLY) for _ in range(readers)]
    for fd in fds:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    threads = [threading.Thread(target=work, args=(where[i::readers], fd))
               for i, fd in enumerate(fds)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - begin
    for fd in fds:
        os.close(fd)
    return took


def read_through(path):
    """The whole file in order; how long it took."""
    buf = bytearray(1 << 20)
    begin = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buf):
            pass
    return time.perf_counter() - begin


def fetch(port, name, size, connections, work, part=1 << 20):
    """curl for the same bytes in parts, over so many connections; how long it
    took from the first to the last byte of its life."""
    config = os.path.join(work, "curl.conf")
    url = f"http://127.0.0.1:{port}/{name}"
    with open(config, "w", encoding="ascii") as file:
        for off in range(0, size, part):
            if off:
                file.write("next\n")
            file.write(f'silent\nurl = "{url}"\noutput = "/dev/null"\n'
                       f"range = {off}-{min(size, off + part) - 1}\n")
    begin = time.perf_counter()
    subprocess.run(["curl", "-s", "-Z", "--parallel-immediate",
                    "--parallel-max", str(connections), "-K", config],
                   check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


@contextlib.contextmanager
def timed(into, name):
    begin = time.perf_counter()
    yield
    into[name] = time.perf_counter() - begin
