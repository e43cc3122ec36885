#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""container.py - what packaging/container says is true of this tree: options
that exist, files that are there, and a pod that hangs together. TAP."""
import os
import re
import shlex
import subprocess
import sys

import yaml

ROOT = os.environ.get("BLOSCFS_SOURCE_ROOT", ".")
DAEMON = os.environ.get("BLOSCFS_DAEMON", "bloscfs")
POD, FILE = (os.path.join(ROOT, "packaging", "container", name)
             for name in ("kubernetes.yaml", "Containerfile"))


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def options():
    """Those that --help names."""
    told = subprocess.run([DAEMON, "--help=all"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False).stdout
    return set(re.findall(r"--[a-z][a-z_-]*[a-z]|(?<= )-[a-z]\b",
                          told.decode()))


def texts_of(thing):
    """All texts in a tree of lists and maps."""
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, list):
        return [one for part in thing for one in texts_of(part)]
    return [thing] if isinstance(thing, str) else []


def unknown_options(words):
    """Of bloscfs, among the words of commands."""
    return sorted({word.split("=")[0] for word in words
                   if re.match("-", word)} - options())


def wrong_in_pod(content):
    documents = {one["kind"]: one for one in yaml.safe_load_all(content)}
    pod, secret = documents["Pod"]["spec"], documents["Secret"]
    ours, = pod["initContainers"]
    reader, = pod["containers"]
    mounts = {one["name"]: one for one in ours["volumeMounts"]}
    theirs = {one["name"]: one for one in reader["volumeMounts"]}
    shared = mounts["arrays"]
    point = ours["args"][-1]
    words = [word for one in texts_of(ours["lifecycle"])
             for command in re.findall(r"bloscfs [^|]*", one)
             for word in shlex.split(command)]
    wrong = ["--help lacks " + name
             for name in unknown_options(ours["args"] + words + ["-f"])]
    holds = {
        "the mount lies in the shared folder":
            point.startswith(shared["mountPath"] + "/"),
        "the mount gets out": shared["mountPropagation"] == "Bidirectional",
        "which only privileged containers may":
            ours["securityContext"]["privileged"] is True,
        "the mount gets in":
            theirs["arrays"]["mountPropagation"] == "HostToContainer",
        "it is a sidecar": ours["restartPolicy"] == "Always",
        "a stat of the mount tells whether it lives": all(
            ours[probe]["exec"]["command"] ==
            ["stat", point + "/.bloscfs/version"] and
            ours[probe]["timeoutSeconds"] > 1
            for probe in ("startupProbe", "livenessProbe")),
        "it unmounts at the end": any(
            "bloscfs --unmount " + point in one
            for one in texts_of(ours["lifecycle"]["preStop"])),
        "keys come from the secret": ours["envFrom"] == [
            {"secretRef": {"name": secret["metadata"]["name"]}}] and
            {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} ==
            set(secret["stringData"]),
        "volumes are there": {one["name"] for one in pod["volumes"]} ==
            set(mounts) | set(theirs),
        "the disk cache lies in one of them": any(
            one.startswith("--disk_cache=" + mounts["cache"]["mountPath"] +
                           "/") for one in ours["args"]),
        "nobody else's server is named":
            re.findall(r"\w+://[\w.]+", content) == ["s3://example"],
    }
    return wrong + [what for what, is_so in holds.items() if not is_so]


def wrong_in_file(content):
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", content))
    wrong = [f"{path} is not there"
             for path in re.findall(r"\bpackaging/[\w./-]+", lines)
             if not os.path.exists(os.path.join(ROOT, path))]
    bases = re.findall(r"(?m)^FROM (\S+)", lines)
    if bases != ["debian:13-slim"] * 2:
        wrong.append(f"its bases are {bases}")
    if re.search(r"\w+://", lines):
        wrong.append("it names a server")
    entry = re.search(r'(?m)^ENTRYPOINT \["bloscfs", "(-f)"\]', lines)
    if not entry:
        wrong.append("it does not run bloscfs -f")
    if not re.search("meson setup .*ninja .*meson install .*--no-rebuild",
                     lines):
        wrong.append("it is not built and installed")
    return wrong + ["--help lacks " + name
                    for name in unknown_options(["-f", "--version", "--help=all"])]


def with_change(content, old, new):
    assert old in content, old
    return content.replace(old, new)


CHECKS = [
    ("the manifest holds", lambda: wrong_in_pod(text(POD)), False),
    ("the container file holds", lambda: wrong_in_file(text(FILE)), False),
    ("an option that is none is found", lambda: wrong_in_pod(
        with_change(text(POD), "--cache_size=", "--cash_size=")), True),
    ("a mount that stays inside is found", lambda: wrong_in_pod(
        with_change(text(POD), "Bidirectional", "None")), True),
    ("a probe of another place is found", lambda: wrong_in_pod(
        with_change(text(POD), "[stat, /arrays/mnt/", "[stat, /mnt/")), True),
    ("a path that is none is found", lambda: wrong_in_file(
        with_change(text(FILE), "install-deps", "install-dips")), True),
]


def main():
    print(f"1..{len(CHECKS)}")
    for i, (name, check, finds) in enumerate(CHECKS, 1):
        wrong = check()
        print(("ok" if bool(wrong) == finds else "not ok") +
              f" {i} - {name}", flush=True)
        if bool(wrong) != finds:
            print("\n".join(wrong), file=sys.stderr)


if __name__ == "__main__":
    main()
