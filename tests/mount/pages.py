# SPDX-License-Identifier: BSD-3-Clause
"""Pages of the documentation, done from top to bottom.

A comment before a block says what it is: `run: shell` a session of commands
with what they print, `run: root` the same with # as the prompt, `run: web` one
that asks a web server, `run: install` commands that change the machine, `run:
python` a session of Python, `file: PATH` the content of a file. All run one
after the other in one checkout, and what a block mounts is there for the next;
of a date, an owner or a size of a folder only the form is compared.

Here, as one of the tests, the checkout is a folder with the samples, bloscfs
counts as installed, and what lies outside is covered. With README_CHECKOUT, the
folder of a clone on a machine that is thrown away afterwards, everything is
done as a newcomer would, installation and all.
"""
import os
import re
import shutil
import subprocess
import sys

import harness
import web
from harness import equal
from programs import tool

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MARK = re.compile(r"<!-- (run|file): (\S+) -->")
BLOOM = re.compile(r"[A-Z][a-z]{2} [ \d]\d (\d\d:\d\d| \d{4})|"
                   r"(?<=r-[-x] 1 )\S+ +\S+ |^total \d+$", re.M)
PROMPTS = {"shell": "$ ", "root": "# ", "web": "$ "}
REAL = os.environ.get("README_CHECKOUT")


def block_at(lines, at):
    """The block that starts in line `at`, fenced or indented."""
    while not lines[at]:
        at += 1
    block = []
    if lines[at].startswith("```"):
        for line in lines[at + 1:]:
            if line.startswith("```"):
                break
            block.append(line)
    else:
        for line in lines[at:]:
            if line and not line.startswith("    "):
                break
            block.append(line[4:])
    return "\n".join(block).rstrip("\n") + "\n"


def is_whole(command):
    """Whether the shell would not wait for more lines."""
    return not subprocess.run(["bash", "-n", "-c", command],
                              stderr=subprocess.PIPE, check=False).stderr


def session(text, prompt):
    """[(command, what it prints)] of a session."""
    steps = []
    for line in text.splitlines():
        if line.startswith(prompt):
            steps.append([line[len(prompt):], ""])
        elif not is_whole(steps[-1][0]):
            steps[-1][0] += "\n" + line.removeprefix("> ")
        else:
            steps[-1][1] += line + "\n"
    return steps


def run_session(text, prompt, place):
    """Runs the commands in one shell, and compares what they print."""
    steps = session(text, prompt)
    assert steps, "no command in " + text
    script = "".join(command + "\necho @@$?\n" for command, _ in steps)
    said = tool("bash", "-c", script, cwd=place, timeout=60,
                stderr=subprocess.STDOUT)
    for command, wanted in steps:
        got, status, said = re.split(r"@@(\d+)\n", said, maxsplit=1)
        # What ends without a line end is shown with one.
        got += "\n" if got and not got.endswith("\n") else ""
        equal((BLOOM.sub("*", got), status), (BLOOM.sub("*", wanted), "0"),
              command)


def run_python(text, place):
    harness.write(place + "/session.txt", text.encode())
    tool("python3", "-m", "doctest", place + "/session.txt", cwd=place)


def install(text, place):
    """What changes the machine is done only where that is thrown away."""
    if REAL:
        prompt = re.match("[$#] ", text)[0]
        for command, _ in session(text, prompt):
            tool("bash", "-c", command, cwd=place, timeout=1500)


def put_file(name, text, place):
    if REAL and os.path.isabs(name):
        os.makedirs(os.path.dirname(name), exist_ok=True)
    if REAL or not os.path.isabs(name) or name == "/etc/fstab":
        harness.write(os.path.join(place, name), text.encode())


class Page:
    """One file of the documentation, and where its blocks are run."""

    def __init__(self, name):
        self.place = None
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            self.lines = file.read().splitlines()

    def blocks(self):
        """Of each heading: [(what, argument, text)]"""
        found, heading, inside = {}, "", False
        for at, line in enumerate(self.lines):
            inside ^= line.startswith("```")
            if not inside and re.match("#+ ", line):
                heading = line.lstrip("# ")
            elif match := MARK.fullmatch(line):
                found.setdefault(heading, []).append(
                    (match[1], match[2], block_at(self.lines, at + 1)))
        return found

    def run_web(self, heading, text):
        """With a server that has the file just shown."""
        site, = (block[2] for block in self.blocks()[heading]
                 if block[0] == "file")
        with web.Server(self.place, site) as server:
            run_session(server.at_its_port(text), PROMPTS["web"], self.place)

    def run_all(self, heading):
        """Every block below a heading, in order."""
        for what, name, text in self.blocks()[heading]:
            if what == "file":
                put_file(name, text, self.place)
            elif name == "install":
                install(text, self.place)
            elif name == "python":
                run_python(text, self.place)
            elif name == "web":
                self.run_web(heading, text)
            else:
                run_session(text, PROMPTS[name], self.place)

    def every_fence_is_marked(self):
        inside, before = False, ""
        for line in self.lines:
            if line.startswith("```"):
                inside = not inside
                assert not inside or MARK.fullmatch(before), before
            before = line


def copy_samples(to):
    """With the modes that a checkout usually has."""
    shutil.copytree(harness.DATA, to, symlinks=True)
    for folder, _, names in harness.walk(to):
        os.chmod(folder, 0o755)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o644)


def checkout(work):
    """A folder like a checkout, with commands as an installed one has."""
    os.mkdir(work + "/bin")
    os.symlink(sys.executable, work + "/bin/python3")
    os.environ["PATH"] = work + "/bin:" + os.environ["PATH"]
    place = work + "/checkout"
    os.makedirs(place + "/tests")
    copy_samples(place + "/tests/data")
    os.symlink(harness.BLOSCFS, work + "/bin/bloscfs")
    return place
