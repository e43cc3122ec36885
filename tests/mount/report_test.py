#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What --check and --info write for programs and for browsers: --json,
folders, and the page of --report."""
import base64
import hashlib
import html.parser
import json
import os
import re
import select
import signal
import subprocess

import harness
import samples
from harness import equal

CHUNK = 1 << 10
DATA = samples.noise(8 * CHUNK)
# Names that are markup, end lines, write from right to left, are no UTF-8.
HOSTILE = [b"<script>alert(1)<&>\"'.b2frame", b"a\x01\x1b[31m\n.b2frame",
           b"rtl\xe2\x80\xaegnp.b2frame", b"\xff\xfe.b2frame",
           "</table><img src=x onerror=x>".replace("/", "").encode() +
           b".b2frame", b"q\\u0041\\.b2frame", "\u05d0\u05d1.b2frame".encode()]


def damaged(*numbers):
    frame = bytearray(samples.frame(DATA, CHUNK))
    for number in numbers:
        at = samples.chunk_offset(number, CHUNK)
        frame[at + 4:at + 16] = b"\xff" * 12
    return bytes(frame)


def documents(*args):
    """Exit status, the objects that were printed, one a line, and stderr."""
    done = subprocess.run([harness.BLOSCFS, *args], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, check=False)
    return done.returncode, [json.loads(line) for line in
                             done.stdout.splitlines()], done.stderr.decode()


def archive(work):
    """A folder of hostile names and some damage."""
    top = os.fsencode(work) + b"/top"
    os.makedirs(top + b"/sub")
    for name in HOSTILE:
        harness.write(top + b"/" + name, samples.frame(DATA, CHUNK))
    harness.write(top + b"/bad.b2frame", damaged(1, 3, 6))
    harness.write(top + b"/sub/none.b2nd", b"no array")
    harness.write(top + b"/plain", b"no container\n")
    return top


def path_of(document):
    if "path_base64" in document:
        path = base64.b64decode(document["path_base64"])
        equal(document["path"], path.decode(errors="replace"), "path")
        return path
    return document["path"].encode()


# ---- JSON ---------------------------------------------------------------

def check_tells_every_fault_as_json(work):
    top = archive(work)
    status, found, _ = documents("--check", "--json", top)
    equal(status, 1, "exit status")
    by_path = {path_of(one): one for one in found}
    equal(set(by_path), {top + b"/" + name for name in HOSTILE} |
          {top + b"/bad.b2frame", top + b"/sub/none.b2nd"}, "paths")
    bad = by_path[top + b"/bad.b2frame"]
    equal((bad["schema"], bad["verdict"], bad["format"], bad["kind"],
           bad["nbytes"], bad["nchunks"], bad["filters"]),
          (1, "damaged", "b2frame", "frame", len(DATA), 8, []), "facts")
    equal([one["chunk"] for one in bad["damage"]], [1, 3, 6], "chunks")
    for one in bad["damage"]:
        at = samples.chunk_offset(one["chunk"], CHUNK)
        assert at <= one["offset"] < at + CHUNK, one
        assert one["reason"] and "at byte" not in one["reason"], one
    one = bad["damage"][0]
    equal(bad["error"], f"chunk 1: {one['reason']}, at byte {one['offset']}",
          "error")
    none = by_path[top + b"/sub/none.b2nd"]
    equal((none["verdict"], none["format"], none["nbytes"], none["damage"]),
          ("unrecognised", None, None, []), "what is none")
    good = by_path[top + b"/" + HOSTILE[0]]
    equal((good["verdict"], good["error"], good["damage"], good["notes"]),
          ("good", None, [], []), "what is good")


def check_says_the_same_in_both_forms(_work):
    lines = harness.run("--check", harness.DATA).stdout.splitlines()[1:]
    _, found, _ = documents("--check", "--json", harness.DATA)
    plain = [line.split("\t") for line in lines if line[0] != "#"]
    equal([[one["path"], one["verdict"], one["format"] or "-",
            *["-" if one[key] is None else str(one[key])
              for key in ("nbytes", "cbytes", "nchunks")],
            one["error"] or "-"] for one in found], plain, "lines")
    # The first is in the line of its container already.
    beside = sum(line.startswith("#damage\t") for line in lines)
    of_damaged = [one for one in found if one["verdict"] == "damaged"]
    equal(sum(len(one["damage"]) for one in of_damaged) - len(of_damaged),
          beside, "damage beside the first")


def info_of_folders_and_as_json(work):
    top = archive(work)
    status, found, told = documents("--info", "--json", top)
    equal((status, told), (0, ""), "all that are containers")
    equal({path_of(one) for one in found},
          {top + b"/" + name for name in HOSTILE} | {top + b"/bad.b2frame"},
          "paths")
    bad = os.fsdecode(top) + "/bad.b2frame"
    alone = json.loads(harness.run("--info", bad).stdout)
    assert "path" not in alone, alone
    for args in (["--json", bad], ["--json", bad, bad]):
        _, found, _ = documents("--info", *args)
        equal(found, [{"path": bad, **alone}] * (len(args) - 1), str(args))
    both = harness.run("--info", bad, bad).stdout
    equal(both, 2 * both[:len(both) // 2], "printed twice")
    equal(json.loads(both[:len(both) // 2]), {"path": bad, **alone}, "plain")
    done = harness.run("--info", work + "/top/sub")
    equal((done.returncode, done.stdout), (0, ""), "a folder of none") \
        if not done.stderr else equal(done.returncode, 3, done.stderr)


def each_object_is_a_line_with_a_blank_behind_commas_and_colons(work):
    top = archive(work)
    for form in "--info", "--check":
        lines = harness.run(form, "--json", top,
                            harness.DATA).stdout.splitlines()
        assert len(lines) > 20, lines
        for line in lines:
            bare = re.sub(r'"(\\.|[^"\\])*"', '""', line)
            equal(re.findall(r"[,:](?! \S).|[{\[] | [}\]]", bare), [], line)


def json_and_report_are_refused_where_nothing_writes_them(work):
    frame = work + "/a.b2frame"
    harness.write(frame, samples.frame(DATA, CHUNK))
    for args, word in ((["--json", frame, work], "--info"),
                       (["-o", f"report={work}/r", frame, work], "--check"),
                       (["--info", f"--report={work}/r", frame], "--check"),
                       (["--cat", "--json", frame, "data.bin"], "--info")):
        done = harness.run(*args)
        equal((done.returncode, word in done.stderr), (2, True), str(args))
    equal(os.path.exists(work + "/r"), False, "report")


# ---- the page -----------------------------------------------------------

class Page(html.parser.HTMLParser):
    """Tags with their attributes, text of the rows, style and script."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.rows, self.own = [], [], {}
        self.inside = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.inside in ("style", "script"):
            self.own[self.inside] = data
            self.inside = None
        elif self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def report(work, *sources):
    path = work + "/report.html"
    done = subprocess.run([harness.BLOSCFS, "--check", f"--report={path}",
                           *sources], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, check=False)
    with open(path, encoding="utf-8", newline="") as file:
        return done, Page(file.read())


def a_page_tells_of_all_that_was_checked(work):
    top = archive(work)
    done, page = report(work, top)
    equal(done.returncode, 1, "exit status")
    plain = subprocess.run([harness.BLOSCFS, "--check", top], check=False,
                           stdin=subprocess.DEVNULL, capture_output=True)
    equal(done.stdout, plain.stdout, "what is printed beside it")
    rows = [row for row in page.rows if len(row) == 10]
    equal(len(rows), len(HOSTILE) + 2, "rows")
    bad = next(row for row in rows if "bad.b2frame" in row[1])
    equal((bad[0], bad[2], bad[3], bad[8]),
          ("damaged", "b2frame", "frame", "8"), "cells")
    for word in ("chunk 1: ", "2 more faults", "chunk 3: ", "chunk 6: "):
        assert word in bad[9], (word, bad)
    none = next(row for row in rows if "none.b2nd" in row[1])
    equal(none[0], "unrecognised", "verdict")
    # Formats and codecs with their numbers.
    assert any(row[:2] == ["b2frame", str(len(HOSTILE) + 1)]
               for row in page.rows), page.rows[:6]
    equal(sorted(os.listdir(work)), ["report.html", "top"], "left beside it")


def hostile_names_are_text(work):
    top = archive(work)
    _, page = report(work, top)
    equal({tag for tag, _ in page.tags} & {"img", "a", "iframe", "link"},
          set(), "tags of names")
    equal([tag for tag, _ in page.tags].count("script"), 1, "scripts")
    for tag, attributes in page.tags:
        strange = [name for name in attributes
                   if name.startswith("on") or name in ("src", "href",
                                                        "style")]
        equal(strange, [], f"attributes of {tag}")
    paths = "\n".join(row[1] for row in page.rows if len(row) == 10)
    for text in ("<script>alert(1)<&>\"'.b2frame", "a\\x01\\x1b[31m\\x0a.b2",
                 "rtl\\u{202e}gnp", "\\xff\\xfe.b2frame", "\u05d0\u05d1."):
        assert text in paths, (text, paths)
    with open(work + "/report.html", "rb") as file:
        raw = file.read()
    equal(re.findall(rb"[\x00-\x09\x0b-\x1f\x7f]", raw), [], "control bytes")
    assert "\u202e" not in raw.decode(), "a mark that turns the direction"


def the_page_loads_nothing_and_runs_its_own_script_alone(work):
    harness.write(work + "/a.b2frame", samples.frame(DATA, CHUNK))
    _, page = report(work, work + "/a.b2frame")
    policy = next(one["content"] for tag, one in page.tags
                  if one.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; "), policy
    for tag in ("style", "script"):
        digest = base64.b64encode(
            hashlib.sha256(page.own[tag].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in policy, (tag, policy)
    assert "http" not in page.own["style"] + page.own["script"]


def the_old_page_stays_until_the_new_one_is_whole(work):
    harness.write(work + "/a.b2frame", samples.frame(DATA, CHUNK))
    _, _ = report(work, work + "/a.b2frame")
    os.chmod(work + "/report.html", 0o600)
    os.symlink("report.html", work + "/link.html")
    done = harness.run("--check", f"--report={work}/link.html",
                       work + "/a.b2frame")
    equal(done.returncode, 0, done.stderr)
    equal(os.readlink(work + "/link.html"), "report.html", "the link")
    # Ended early, it leaves what was there.
    before = harness.read(work + "/report.html")
    os.mkfifo(work + "/full")
    reader = os.open(work + "/full", os.O_RDONLY | os.O_NONBLOCK)
    os.mkdir(work + "/many")
    for number in range(2000):
        harness.write(f"{work}/many/{number:0100d}.b2frame",
                      samples.frame(DATA[:64], 64))
    with open(work + "/full", "wb") as full:
        process = subprocess.Popen(
            [harness.BLOSCFS, "--check", f"--report={work}/report.html",
             work + "/many"], stdin=subprocess.DEVNULL, stdout=full,
            stderr=subprocess.DEVNULL)
    # It has begun, and waits for somebody to read on.
    equal(os.read(reader, 5) if select.select([reader], [], [], 20)[0]
          else b"", b"#path", "its first line")
    process.send_signal(signal.SIGTERM)
    equal(process.wait(20), -signal.SIGTERM, "how it ended")
    os.close(reader)
    equal(harness.read(work + "/report.html"), before, "the old page")
    equal(sorted(os.listdir(work)), ["a.b2frame", "full", "link.html", "many",
                                     "report.html"], "left beside it")


def what_cannot_be_written_is_told(work):
    frame = work + "/a.b2frame"
    harness.write(frame, samples.frame(DATA, CHUNK))
    for path in (work + "/no/r.html", work, "/dev/null"):
        done = harness.run("--check", f"--report={path}", frame)
        equal((done.returncode, done.stdout, done.stderr.count("\n")),
              (1, "", 1), path)
        assert path in done.stderr, done.stderr
    assert os.path.exists("/dev/null")


def memory_does_not_grow_with_what_is_told(work):
    """A file that takes long lies before others that are damaged all over:
    what is told of them waits in a file."""
    top = work + "/top"
    os.mkdir(top)
    frame = bytearray(samples.frame(DATA[:4000] * 10, 4))
    for number in range(10000):
        at = samples.chunk_offset(number, 4)
        frame[at + 4:at + 16] = b"\xff" * 12
    for number in range(30):
        harness.write(f"{top}/{number:02d}.b2frame", frame)
    command = [harness.BLOSCFS, "--check", "--json", "--jobs=2",
               f"--report={work}/r.html", top]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    equal(process.returncode, 1, "exit status")
    # 300,000 faults, of each more than 100 bytes.
    harness.below(usage.ru_maxrss << 10, 100 << 20)
    harness.below(os.path.getsize(work + "/r.html"), 1 << 20, "the page")


if __name__ == "__main__":
    harness.main([
        check_tells_every_fault_as_json,
        check_says_the_same_in_both_forms,
        info_of_folders_and_as_json,
    each_object_is_a_line_with_a_blank_behind_commas_and_colons,
        json_and_report_are_refused_where_nothing_writes_them,
        a_page_tells_of_all_that_was_checked,
        hostile_names_are_text,
        the_page_loads_nothing_and_runs_its_own_script_alone,
        the_old_page_stays_until_the_new_one_is_whole,
        what_cannot_be_written_is_told,
        memory_does_not_grow_with_what_is_told,
    ])
