#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Servers over TLS: which certificates are believed, where redirects may lead,
and who is told name and password."""
import errno
import os

import harness
from authority import Authority
from harness import DATA, Mount, equal, fails_with, read
from objects import Server

SMALL = "good-frame-metalayers.b2frame"


def refused(work, source, *options):
    """What is said of a mount that does not come about."""
    point = os.path.join(work, "point")
    os.makedirs(point, exist_ok=True)
    result = harness.run("-f", "--read_timeout=2", *options, source, point)
    assert result.returncode, (source, "was mounted")
    return result.stderr


def an_authority_that_is_named_is_believed(work):
    authority, other = Authority(work), Authority(work, "another")
    with Server(authority.context()) as server:
        url = server.put_file("/f.b2frame", f"{DATA}/{SMALL}")
        with Mount(work, url, "--ca_file=" + authority.file) as mount:
            assert read(mount.path("data.bin"))
            assert read(mount.path("info.json"))
        server.asked.clear()
        for options in ([], ["--ca_file=" + other.file]):
            told = refused(work, url, *options)
            assert "certificate is not trusted" in told, told
            assert "ca_file= names other authorities" in told, told
            # It was not asked for anything, nor told anything.
            equal(server.asked, [])
        for text in (b"", b"no certificate at all\n"):
            harness.write(work + "/empty.pem", text)
            told = refused(work, url, "--ca_file=" + work + "/empty.pem")
            assert "ca_file" in told, told
        told = refused(work, url, "--ca_file=" + work + "/absent.pem")
        assert "ca_file" in told, told
        equal(server.asked, [])


def certificates_of_others_and_of_old_are_refused(work):
    authority = Authority(work)
    for more, words in (({"days": -1}, "expired"),
                        ({"name": "IP:127.0.0.2"}, "127.0.0.1"),
                        ({"name": "DNS:example.org"}, "127.0.0.1")):
        with Server(authority.context(**more)) as server:
            url = server.put_file("/f.b2frame", f"{DATA}/{SMALL}")
            told = refused(work, url, "--ca_file=" + authority.file)
            assert "certificate is not trusted: " in told, told
            assert words in told, told
            equal(server.asked, [])


def redirects_lead_from_secure_to_secure_alone(work):
    authority = Authority(work)
    with Server(authority.context()) as server, Server() as plain, \
            Server(authority.context()) as other:
        url = server.put_file("/f.b2frame", f"{DATA}/{SMALL}")
        there = plain.put_file("/f.b2frame", f"{DATA}/{SMALL}")
        secure = other.put_file("/f.b2frame", f"{DATA}/{SMALL}")
        ca_file = "--ca_file=" + authority.file
        for where, words in ((there, "another protocol"),
                             ("file:///etc/passwd", "another protocol"),
                             ("ftp://127.0.0.1/x", "another protocol"),
                             (url, "sent on too often"),
                             ("https://169.254.169.254/latest", "own"),
                             ("https://[fd00:ec2::254]/latest", "own")):
            server.always = "redirect " + where
            told = refused(work, url, ca_file)
            assert words in told, (where, told)
            equal(plain.asked, [], "asked without TLS")
        server.always = "redirect " + secure
        with Mount(work, url, ca_file) as mount:
            assert read(mount.path("data.bin"))
        # From a plain one to a secure one.
        plain.always = "redirect " + secure
        with Mount(work, there, ca_file) as mount:
            assert read(mount.path("data.bin"))


def name_and_password_go_to_their_host_alone(work):
    harness.write(work + "/.netrc", b"machine 127.0.0.1 login someone "
                                    b"password swordfish\n")
    os.chmod(work + "/.netrc", 0o600)
    os.environ["HOME"] = work
    try:
        with Server() as server, Server() as other:
            url = server.put_file("/f.b2frame", f"{DATA}/{SMALL}")
            there = other.put_file("/f.b2frame", f"{DATA}/{SMALL}")
            there = there.replace("127.0.0.1", "localhost")
            with Mount(work, url, "--log_level=debug") as mount:
                read(mount.path("data.bin"))
                told = mount.log()
            assert all(headers.get("Authorization", "").startswith("Basic ")
                       for headers in server.asked), server.asked
            server.always = "redirect " + there
            with Mount(work, url, "--log_level=debug") as mount:
                read(mount.path("data.bin"))
                told += mount.log() + read(
                    mount.path(".bloscfs", "config")).decode()
            assert other.asked
            equal([headers for headers in other.asked
                   if "Authorization" in headers], [])
            # Nor to another host that is asked at once.
            server.asked.clear()
            with Mount(work, there) as mount:
                read(mount.path("data.bin"))
            equal([headers for headers in other.asked
                   if "Authorization" in headers], [])
            assert "swordfish" not in told, told
    finally:
        os.environ["HOME"] = "/nonexistent"


def requests_that_are_signed_are_not_sent_on(work):
    with Server() as server, Server() as other:
        os.environ.update(AWS_ACCESS_KEY_ID="AKIDEXAMPLE",
                          AWS_SECRET_ACCESS_KEY="swordfish",
                          AWS_ENDPOINT_URL=server.url)
        try:
            there = other.put_file("/bucket/f.b2frame", f"{DATA}/{SMALL}")
            server.put_file("/bucket/f.b2frame", f"{DATA}/{SMALL}")
            with Mount(work, "s3://bucket", "--attr_timeout=0",
                       "--read_timeout=1") as mount:
                server.always = "redirect " + there
                fails_with(errno.EIO, os.listdir, mount.point)
                told = read(mount.path(".bloscfs", "errors")).decode()
                assert "says 302" in told, told
                equal(other.asked, [])
        finally:
            for name in list(os.environ):
                if name.startswith("AWS_"):
                    del os.environ[name]


if __name__ == "__main__":
    harness.main([
        an_authority_that_is_named_is_believed,
        certificates_of_others_and_of_old_are_refused,
        redirects_lead_from_secure_to_secure_alone,
        name_and_password_go_to_their_host_alone,
        requests_that_are_signed_are_not_sent_on,
    ])
