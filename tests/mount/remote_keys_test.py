#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Keys for S3: where they come from, credential_process, when they are renewed,
and what is told of them."""
import contextlib
import errno
import json
import os
import re
import sys
import time

import harness
from harness import DATA, Mount, equal, fails_with, read, wait_until
from objects import Server

SMALL = "good-frame-metalayers.b2frame"
# Prints keys, of which each has a number, and notes that it ran.
PROGRAM = """#!{python}
import json, os, sys, time
work = {work!r}
with open(work + "/runs", "a") as runs:
    runs.write(json.dumps(sys.argv[1:]) + "\\n")
number = len(open(work + "/runs").readlines())
sys.stderr.write("swordfish on stderr\\n")
how = open(work + "/how").read()
if how == "hang":
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "1000.12345"])
    time.sleep(1000)
if how == "fail":
    print("swordfish on stdout")
    sys.exit(3)
if how == "garbage":
    print("swordfish and no JSON")
    sys.exit(0)
if how == "endless":
    while True:
        print("swordfish" * 1000)
seconds = float(how)
until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
print(json.dumps({{"Version": 1, "AccessKeyId": "AKID%04d" % number,
                  "Other": [{{"x": "]"}}, None, 1.5],
                  "SecretAccessKey": "swordfish/%04d" % number,
                  "SessionToken": "swordfish-token-%04d" % number,
                  "Expiration": until}}))
"""


class Keys:
    """A home with a profile whose keys come from a program."""

    def __init__(self, work, server, line="{program} --profile 'a b' $HOME"):
        self.work = work
        os.makedirs(work + "/.aws")
        program = work + "/the keys"
        harness.write(program, PROGRAM.format(
            python=sys.executable, work=work).encode())
        os.chmod(program, 0o700)
        line = line.format(program=f'"{program}"')
        harness.write(work + "/.aws/config", (
            "[default]\nregion = eu-west-1\n[profile made]\n"
            f"region = eu-central-1\ncredential_process = {line}\n"
            ).encode())
        self.how("3600")
        self.environment = {"HOME": work, "AWS_PROFILE": "made",
                            "AWS_ENDPOINT_URL": server.url}

    def how(self, text):
        harness.write(self.work + "/how", text.encode())

    def runs(self):
        with contextlib.suppress(FileNotFoundError):
            with open(self.work + "/runs", encoding="ascii") as file:
                return [json.loads(line) for line in file]
        return []

    def __enter__(self):
        os.environ.update(self.environment)
        return self

    def __exit__(self, *_):
        for name in self.environment:
            os.environ.pop(name)
        os.environ["HOME"] = "/nonexistent"


def signed_with(server):
    """Which keys the requests were signed with."""
    found = []
    for headers in server.asked:
        text = headers.get("Authorization", "")
        match = re.match(r"AWS4-HMAC-SHA256 Credential=([^/]*)/", text)
        found.append(match and match.group(1))
        if "x-amz-security-token" in {name.lower() for name in headers}:
            assert "x-amz-security-token" in text, text
    return found


def texts(mount):
    """All that is told to anybody."""
    told = mount.log() + repr(harness.mount_line(mount.point))
    told += repr(read(f"/proc/{mount.process.pid}/cmdline"))
    for name in os.listdir(mount.path(".bloscfs")):
        told += read(mount.path(".bloscfs", name)).decode()
    return told


def a_program_gives_the_keys(work):
    with Server() as server, Keys(work, server) as keys:
        server.put_file("/bucket/a.b2frame", f"{DATA}/{SMALL}")
        with Mount(work, "s3://bucket", "--log_level=debug",
                   "--attr_timeout=0") as mount:
            assert read(mount.path("a.b2frame", "data.bin"))
            equal(set(signed_with(server)), {"AKID0001"})
            tokens = {headers.get("x-amz-security-token")
                      for headers in server.asked}
            equal(tokens, {"swordfish-token-0001"})
            assert "eu-central-1" in server.asked[0]["Authorization"]
            # Once, without a shell, its words as quotes have them.
            equal(keys.runs(), [["--profile", "a b", "$HOME"]])
            assert "swordfish" not in texts(mount)


def keys_are_renewed_before_they_expire(work):
    with Server() as server, Keys(work, server) as keys:
        server.put_file("/bucket/a.b2frame", f"{DATA}/{SMALL}")
        keys.how("8")
        with Mount(work, "s3://bucket", "--attr_timeout=0") as mount:
            begin = time.monotonic()

            def renewed():
                os.listdir(mount.point)
                return len(keys.runs()) > 1

            # Behind three quarters of their life.
            wait_until(renewed, 30, 0.2, told=keys.runs)
            assert time.monotonic() - begin > 2
            os.listdir(mount.point)
            equal(signed_with(server)[-1][:6], "AKID00")
            assert signed_with(server)[-1] != "AKID0001"
            # A program that fails takes nothing away while they last.
            keys.how("600")
            ran = len(keys.runs())
            wait_until(lambda: renewed() and len(keys.runs()) > ran, 30, 0.2,
                       told=keys.runs)
            keys.how("fail")
            os.listdir(mount.point)


def keys_that_a_server_calls_expired_are_renewed_once(work):
    with Server() as server, Keys(work, server) as keys:
        server.put_file("/bucket/a.b2frame", f"{DATA}/{SMALL}")
        with Mount(work, "s3://bucket", "--attr_timeout=0") as mount:
            os.listdir(mount.point)
            server.asked.clear()
            server.faults = ["expired"]
            equal(os.listdir(mount.point), ["a.b2frame"])
            # Whether the folder is a store may be asked, too.
            keys_used = signed_with(server)
            equal(keys_used[:2], ["AKID0001", "AKID0002"])
            equal(set(keys_used[1:]), {"AKID0002"})
            equal(len(keys.runs()), 2, "runs of the program")
            # A server that always says so is asked no more than twice.
            server.asked.clear()
            server.always = "expired"
            fails_with(errno.EACCES, os.listdir, mount.point)
            assert len(server.asked) <= 8, server.asked
            server.always = None
            equal(os.listdir(mount.point), ["a.b2frame"])
            told = texts(mount)
            assert "says 400, ExpiredToken" in told, told
            assert "swordfish" not in told, told


def programs_that_fail_are_told_of(work):
    point = os.path.join(work, "point")
    os.mkdir(point)
    with Server() as server, Keys(work, server) as keys:
        server.put_file("/bucket/a.b2frame", f"{DATA}/{SMALL}")
        for how, words in (("fail", "ends with an error"),
                           ("garbage", "prints no keys"),
                           ("endless", "prints too much"),
                           ("hang", "does not end in time")):
            keys.how(how)
            server.asked.clear()
            result = harness.run("-f", "--read_timeout=2", "s3://bucket",
                                 point)
            assert result.returncode, how
            assert words in result.stderr, (how, result.stderr)
            assert "swordfish" not in result.stderr, result.stderr
            # Nothing was asked for without a signature.
            equal(server.asked, [])
        # What it had started is gone with it.
        wait_until(lambda: not running("1000.12345"))
        for line, words in (("/nonexistent/program", "cannot be run"),
                            ("'no end", "no command line")):
            harness.write(work + "/.aws/config", (
                f"[profile made]\ncredential_process = {line}\n").encode())
            result = harness.run("-f", "s3://bucket", point)
            assert result.returncode and words in result.stderr, result


def running(word):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if word.encode() in read(f"/proc/{pid}/cmdline").split(b"\0"):
                return True
    return False


def a_session_of_the_environment_is_signed_with(work):
    wanted = {"AWS_ACCESS_KEY_ID": "AKIDSESSION",
              "AWS_SECRET_ACCESS_KEY": "swordfish",
              "AWS_SESSION_TOKEN": "swordfish-token"}
    with Server() as server, Keys(work, server) as keys:
        server.put_file("/bucket/a.b2frame", f"{DATA}/{SMALL}")
        os.environ.update(wanted)
        try:
            with Mount(work, "s3://bucket") as mount:
                os.listdir(mount.point)
                told = texts(mount)
        finally:
            for name in wanted:
                del os.environ[name]
        equal(set(signed_with(server)), {"AKIDSESSION"})
        equal({headers.get("x-amz-security-token")
               for headers in server.asked}, {"swordfish-token"})
        equal(keys.runs(), [])
        assert "swordfish" not in told, told


def without_keys_requests_are_anybodys(work):
    with Server() as server, Keys(work, server) as keys:
        server.put_file("/bucket/a.b2frame", f"{DATA}/{SMALL}")
        with Mount(work, "s3://bucket", "--no_sign") as mount:
            os.listdir(mount.point)
        equal(set(signed_with(server)), {None})
        equal(keys.runs(), [])


if __name__ == "__main__":
    harness.main([
        a_program_gives_the_keys,
        keys_are_renewed_before_they_expire,
        keys_that_a_server_calls_expired_are_renewed_once,
        programs_that_fail_are_told_of,
        a_session_of_the_environment_is_signed_with,
        without_keys_requests_are_anybodys,
    ])
