#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A thousand nodes on one bucket, simulated: the tables of docs/scale.md.

scale.py                      prints the tables
scale.py --write PAGE         puts them into the page
scale.py --check PAGE [NAME]  ends with 1 unless they, or those of that name,
                              are the page's

The reader is what daemon/remote is seen to do (tests/mount/scale_test.py holds
it against the daemon), the store is the assumptions of class Store. The same
numbers each time: chance is a generator with a seed and a table, no library's
idea of a distribution.
"""
import heapq
import re
import sys

KIB, MIB, MB, GB = 1 << 10, 1 << 20, 10 ** 6, 10 ** 9

# ---- what is assumed; all the rest follows --------------------------------

PRICE_GET = 0.40e-6     # $ a GET
PRICE_LIST = 5.0e-6     # $ a listing
PRICE_OUT = 0.09        # $ a GB that leaves the store's region
KEY_LEN = 350           # bytes of a listing for each key
PAGE_KEYS = 1000        # keys of one answer


class Store:
    """What stands at the other end."""
    limit = 5500            # GETs a second for each prefix, then 503
    burst = 550             # above that, once
    connection = 90 * MB    # bytes a second of one connection
    # Of the first byte, in ms: quantiles, between which it is linear.
    waits = ((0.0, 9), (0.1, 13), (0.5, 20), (0.9, 45), (0.99, 150), (1.0, 400))
    near = ((0.0, 1), (0.5, 2), (0.99, 10), (1.0, 30))  # a cache in between


class Node:
    """One machine."""
    line = 1250 * MB        # bytes a second
    retry = 30.0            # s: read_timeout
    first_pause = 0.1       # ask.c
    longest_pause = 5.0


# ---- the reader -----------------------------------------------------------

class Array:
    """A container as its index tells it: all chunks, all blocks alike."""

    def __init__(self, nbytes, stored, chunk, block):
        self.nbytes, self.stored = nbytes, stored
        self.chunk, self.block = chunk, block
        self.chunks = -(-nbytes // chunk)
        self.blocks = -(-chunk // block)
        self.each = stored / self.chunks    # a chunk's stored bytes
        self.head = 32 + 4 * self.blocks    # header and bstarts
        self.piece = (self.each - self.head) / self.blocks


REFERENCE = Array(84 * MIB, 19_915_663, 4 * MIB, 256 * KIB)


class Reader:
    """The ranges that one opening asks for: daemon/remote, lib/array."""
    end = 32 * KIB          # object.c: END_LEN, head and tail
    least = 4 * KIB         # pieces.c: LEAST
    first = 512             # plan.h: BFS_CHUNK_FIRST_READ
    near = 128 * KIB        # guess.c: NEAR
    stride = MIB            # pieces_priv.h: STRIDE
    beginning = 512 * KIB   # tell.c: BEGINNING
    window = 16 * MIB       # ahead.c: WINDOW
    few_jumps = 4           # ahead.c: FEW_JUMPS

    def __init__(self, array, far=True, whole=32 * MIB):
        """whole: fetch_whole=, with its default."""
        self.array, self.far, self.most_whole = array, far, whole
        self.plans, self.cached = set(), set()
        self.here = []          # ranges that were asked for
        self.jumps = 0          # waits for pages at random

    def known(self, begin, end):
        """What of a range is missing, as ranges."""
        parts, at = [], begin
        for low, high in sorted(self.here):
            if high <= at or low >= end:
                continue
            if low > at:
                parts.append((at, low))
            at = max(at, high)
        if at < end:
            parts.append((at, end))
        return parts

    def ask(self, begin, end):
        """Requests for what is missing of it: their lengths."""
        begin, end = int(begin), int(min(end, self.array.stored))
        parts = self.known(begin, end)
        self.here += parts
        return [high - low for low, high in parts]

    def open(self):
        """Head and tail; a small object is its head."""
        return self.ask(0, self.end) + \
            self.ask(max(self.end, self.array.stored - self.end),
                     self.array.stored)

    def page(self, off):
        """A read of 4 KiB at random: lengths of requests, and waits one after
        the other."""
        a = self.array
        n, k = off // a.chunk, off % a.chunk // a.block
        if (n, k) in self.cached:
            return [], 0
        self.cached.add((n, k))
        begin = n * a.each
        low = begin + a.head + k * a.piece
        high = low + a.piece
        if n in self.plans:
            asked = self.ask(low, high)
            return asked, bool(asked)
        self.plans.add(n)
        if not self.far:
            head = self.ask(begin, begin + self.least)
            block = self.ask(low, high)
            return head + block, bool(head) + bool(block)
        high = min(high + a.piece / 2, begin + a.each)
        if high - begin <= self.near:
            asked = self.ask(begin, high)
        else:
            asked = self.ask(begin, begin + max(self.first, a.head)) + \
                self.ask(low - a.piece / 2, high)
        waits = bool(asked)
        self.jumps += waits
        if self.jumps >= self.few_jumps and a.stored <= self.most_whole:
            asked += self.rest()
        return asked, waits

    def rest(self):
        """All of a small object behind a long line: lengths of requests."""
        asked, at = [], 0
        while at < self.array.stored:
            asked += self.ask(at, at + self.stride)
            at += self.stride
        return asked

    def through(self):
        """All in order: lengths of requests."""
        asked = self.ask(0, self.beginning) if self.far else []
        at = self.beginning if self.far else 0
        while at < self.array.stored:
            asked += self.ask(at, at + self.stride)
            at += self.stride
        return asked


# ---- chance ---------------------------------------------------------------

class Dice:
    """Numbers in [0, 1): the same on each machine."""

    def __init__(self, seed):
        self.state = seed * 2654435761 % 2 ** 64 or 1

    def roll(self):
        """xorshift64*"""
        x = self.state
        x ^= x >> 12
        x ^= x << 25 & 2 ** 64 - 1
        x ^= x >> 27
        self.state = x
        return (x * 2685821657736338717 % 2 ** 64) / 2 ** 64

    def below(self, n):
        return int(self.roll() * n)

    def wait(self, table):
        """Seconds until the first byte."""
        x = self.roll()
        for (low, a), (high, b) in zip(table, table[1:]):
            if x <= high:
                return (a + (b - a) * (x - low) / (high - low)) / 1e3
        return table[-1][1] / 1e3


# ---- the store and the nodes ----------------------------------------------

class Prefix:
    """Counts GETs as the store does: a bucket of tokens."""

    def __init__(self):
        self.tokens, self.at = Store.burst, 0.0

    def admits(self, now):
        self.tokens = min(Store.burst,
                          self.tokens + (now - self.at) * Store.limit)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


NONE, LOADING, HERE, FAILED = range(4)


class Pod:
    """One mount: arrays read in order, one after the other. What it waits for
    is asked for until it comes; what is asked for ahead, once."""

    def __init__(self, keys, lengths):
        self.keys, self.lengths = keys, lengths  # of arrays; of parts of one
        self.array = self.at = self.asked = 0
        self.states = [NONE] * len(lengths)


class Run:
    """Pods on nodes, against one store."""

    def __init__(self, pods, per_node=1, prefixes=1, shared=False, front=False,
                 spread=0.0, seed=1):
        """shared: the pods of a node have one disk cache. front: a cache in
        front of the store. spread: seconds within which the pods start."""
        self.pods, self.per_node, self.spread = pods, per_node, spread
        self.prefixes = [Prefix() for _ in range(prefixes)]
        self.dice = Dice(seed)
        self.events, self.number = [], 0
        self.disks = {} if shared else None     # node: {key}
        self.front = {} if front else None      # key: when it is there
        self.lines = [0.0] * -(-len(pods) // per_node)
        self.n_refused = self.n_failed = self.n_hits = self.n_parts = 0
        self.bytes = self.asked_store = 0
        self.end = 0.0
        self.second = {}                        # requests that the store saw

    def later(self, when, call, *args):
        self.number += 1
        heapq.heappush(self.events, (when, self.number, call, args))

    def go(self):
        for i in range(len(self.pods)):
            self.later(self.dice.roll() * self.spread, self.go_on, i)
        while self.events:
            now, _, call, args = heapq.heappop(self.events)
            call(now, *args)
        return self

    def go_on(self, now, i):
        """Reads what is here, and asks for what comes next."""
        pod = self.pods[i]
        while True:
            while pod.at < len(pod.states) and pod.states[pod.at] == HERE:
                pod.at += 1
            if pod.at < len(pod.states):
                break
            self.n_parts += len(pod.states)
            pod.array, pod.at, pod.asked = pod.array + 1, 0, 0
            if pod.array == len(pod.keys):
                self.end = max(self.end, now)
                return
            pod.states = [NONE] * len(pod.states)
        # Head and tail, then one part, then as much as the window holds.
        ahead = 2 if pod.at < 2 else \
            3 if pod.at == 2 else pod.at + Reader.window // Reader.stride
        for k in range(pod.asked, min(ahead, len(pod.states))):
            pod.asked = k + 1
            pod.states[k] = LOADING
            self.ask(now, i, k, None, 1)
        if pod.states[pod.at] == FAILED:
            pod.states[pod.at] = LOADING
            self.ask(now, i, pod.at, now, 1)

    def ask(self, now, i, k, since, tries):
        """since: when the reader began to wait for it; None: it is ahead."""
        pod = self.pods[i]
        key, length = (pod.keys[pod.array], k), pod.lengths[k]
        node = i // self.per_node
        if self.disks is not None and key in self.disks.setdefault(node, set()):
            self.n_hits += 1
            self.later(now + length / (2 * GB), self.come, i, k, None)
            return
        table, begin = Store.waits, now
        if self.front is not None and key in self.front:
            # Several that miss one range at once are one request.
            table, begin = Store.near, max(now, self.front[key])
        elif not self.is_served(now, key):
            self.refuse(now, i, k, since, tries)
            return
        wait = self.dice.wait(table)
        if self.front is not None and key not in self.front:
            self.front[key] = now + wait + length / Store.connection
        self.lines[node] = max(self.lines[node], begin + wait) + \
            length / Node.line
        self.bytes += length
        self.later(max(self.lines[node],
                       begin + wait + length / Store.connection),
                   self.come, i, k, key)

    def is_served(self, now, key):
        self.asked_store += 1
        self.second[int(now)] = self.second.get(int(now), 0) + 1
        prefix = self.prefixes[hash_of(key) % len(self.prefixes)]
        return prefix.admits(now)

    def come(self, now, i, k, key):
        if key and self.disks is not None:
            self.disks[i // self.per_node].add(key)
        self.pods[i].states[k] = HERE
        if self.pods[i].at == k:
            self.go_on(now, i)

    def refuse(self, now, i, k, since, tries):
        """As remote_ask does: a pause that doubles, and up to half of it. What
        was ahead is given up until the reader is there."""
        self.n_refused += 1
        wait = self.dice.wait(Store.near)
        if since is None and k >= 2:
            self.later(now + wait, self.give_up, i, k)
            return
        pause = Node.first_pause
        for _ in range(tries - 1):
            if pause < Node.longest_pause:
                pause *= 2
        pause *= 1 + self.dice.roll() / 2
        since = now if since is None else since
        if now + wait + pause > since + Node.retry:
            self.n_failed += 1
            self.later(now + wait, self.come, i, k, None)
            return
        self.later(now + wait + pause, self.ask, i, k, since, tries + 1)

    def give_up(self, now, i, k):
        self.pods[i].states[k] = FAILED
        if self.pods[i].at == k:
            self.go_on(now, i)


def hash_of(key):
    return (key[0] * 2654435761 + 12345) % 2 ** 32 >> 8


# ---- the tables -----------------------------------------------------------

def table(title, head, rows):
    lines = [f"<!-- table: {title} -->", "| " + " | ".join(head) + " |",
             "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |"
              for row in rows]
    return "\n".join(lines) + "\n<!-- end -->"


def number(x, digits=3):
    """Three digits that count, in groups of three."""
    if x == 0:
        return "0"
    if x >= 10 ** (digits - 1):
        places = len(str(int(x))) - digits
        return f"{round(x, -places) if places > 0 else round(x):,.0f}"
    return f"{x:.{digits}g}"


def one_reader():
    """Of the reference array, by one node."""
    rows = []
    for far, most, where in ((False, 0, "near, < 8 ms"), (True, 32 * MIB, "far"),
                              (True, 0, "far, `fetch_whole=0`")):
        reader = Reader(REFERENCE, far, most)
        opened = reader.open()
        dice, asked, waits = Dice(5), [], 0
        for _ in range(20):
            more, n = reader.page(dice.below(REFERENCE.nbytes // 4096) * 4096)
            asked, waits = asked + more, waits + n
        whole = Reader(REFERENCE, far)
        whole.open()
        through = whole.through()
        for what, got, n in (("opening", opened, 1),
                             ("20 pages at random", asked, waits),
                             ("all in order", through, "")):
            if far and not most and what != "20 pages at random":
                continue
            rows.append((where, what, len(got), number(sum(got) / 1e3) + " kB",
                         n))
    rows.append(("", "again, from the cache of blocks or the kernel's", 0,
                 "0", 0))
    return table("one reader", ("store", "step", "requests", "bytes",
                                "waits in a row"), rows)


def pods_that_read(n, arrays, different=1):
    """n pods that read all of so many arrays; every so many another set."""
    reader = Reader(REFERENCE)
    lengths = reader.open() + reader.through()
    return [Pod(list(range(first, first + arrays)), lengths)
            for first in (i * arrays for i in
                          (pod * different // n for pod in range(n)))]


NODES, ARRAYS = 1000, 10
WAYS = (
    ("as it is", {}),
    ("started within 60 s", {"spread": 60.0}),
    ("16 prefixes", {"prefixes": 16}),
    ("a cache in front", {"front": True}),
)


def storm():
    """All nodes begin at once and read the same arrays."""
    rows = []
    for name, how in WAYS:
        run = Run(pods_that_read(NODES, ARRAYS), **how).go()
        rows.append((name, number(run.end), number(max(run.second.values())),
                     number(run.asked_store - run.n_refused),
                     number(run.n_refused), number(run.n_failed),
                     "$" + number(run.asked_store * PRICE_GET),
                     "$" + number(run.bytes / GB * PRICE_OUT)))
    return table("storm", (
        "1000 nodes, 10 arrays each", "seconds", "most requests in a second",
        "GETs served", "refused (503)", "reads that fail (EIO)", "GETs cost",
        "bytes cost, out of the region"), rows)


def pods():
    """Several pods of a node read the same, at once or one after another."""
    rows = []
    for spread, when in ((0.0, "at once"), (60.0, "within 60 s")):
        for shared in (False, True):
            run = Run(pods_that_read(1000, 4, 16), per_node=8, shared=shared,
                      spread=spread, prefixes=16).go()
            rows.append((when, "shared" if shared else "none",
                         number(run.end), number(run.asked_store),
                         number(run.bytes / GB) + " GB",
                         number(100 * run.n_hits / run.n_parts) + " %"))
    return table("pods", ("125 nodes of 8 pods, 4 arrays each, start",
                          "disk cache", "seconds", "requests", "bytes",
                          "from the disk"), rows)


def caches():
    """Steady pages at random from a terabyte, by how much a node keeps."""
    rows = []
    stored, n_blocks = 240 * GB, (1 << 40) // (256 * KIB)
    piece = stored / n_blocks
    for disk in (0, 10, 50, 120, 240):
        miss = 1 - min(1.0, disk * GB / stored)
        per_read = miss * (1 + 1 / 16)      # a plan serves 16 blocks
        nodes = Store.limit / (100 * per_read) if miss else None
        rows.append((f"{disk} GB", f"{100 * (1 - miss):.0f} %",
                     number(NODES * 100 * per_read),
                     number(NODES * 100 * miss * piece / MB) + " MB/s",
                     "$" + number(NODES * 100 * per_read * 3600 * PRICE_GET),
                     number(nodes) if nodes else "any number"))
    return table("caches", (
        "disk cache of a node", "hits", "GETs a second, of 1000 nodes",
        "bytes", "GETs an hour", "nodes until one prefix is full"), rows)


def shapes():
    """What chunks and blocks do to the price of 1 GiB."""
    rows = []
    for chunk, block in ((64, 64), (256, 64), (1024, 256), (4096, 256),
                         (16384, 1024)):
        array = Array(1 << 30, 255_000_000, chunk * KIB, block * KIB)
        whole = Reader(array)
        opened = whole.open()
        through = whole.through()
        reader, dice = Reader(array), Dice(3)
        reader.open()
        asked, waits = [], 0
        for _ in range(1000):
            more, n = reader.page(dice.below(array.nbytes // 4096) * 4096)
            asked, waits = asked + more, waits + n
        rows.append((f"{chunk} KiB", f"{block} KiB", number(array.chunks),
                     len(opened) + len(through),
                     f"{len(asked) / 1000:.2f}",
                     number(sum(asked) / 1e6) + " kB", f"{waits / 1000:.2f}"))
    return table("shapes", ("chunk", "block", "chunks", "requests in order",
                            "requests a page",
                            "bytes a page", "waits a page"), rows)


def listings():
    """What it takes to find names."""
    rows = []
    for keys in (1000, 100_000, 1_000_000, 10_000_000):
        pages = -(-keys // PAGE_KEYS)
        rows.append((number(keys), number(pages),
                     number(keys * KEY_LEN / MB) + " MB",
                     number(pages * 0.1) + " s",
                     "$" + number(NODES * pages * PRICE_LIST), 1))
    return table("listings", (
        "keys in a folder", "requests to list it", "bytes",
        "time, 100 ms a page", "by each of 1000 nodes, once",
        "requests for one name"), rows)


TABLES = {"one reader": one_reader, "shapes": shapes, "storm": storm,
          "pods": pods, "caches": caches, "listings": listings}
MARK = re.compile(r"<!-- table: ([a-z ]+) -->\n.*?<!-- end -->", re.S)


def put(page, names):
    """The page with these tables made anew; they are all there."""
    missing = set(names) - {found[1] for found in MARK.finditer(page)}
    if missing:
        sys.exit("scale.py: the page lacks " + ", ".join(sorted(missing)))
    return MARK.sub(lambda found: TABLES[found[1]]() if found[1] in names
                    else found[0], page)


def main():
    args = sys.argv[1:]
    if not args:
        print("\n\n".join(make() for make in TABLES.values()))
        return
    if len(args) < 2 or args[0] not in ("--check", "--write"):
        sys.exit(__doc__)
    with open(args[1], encoding="utf-8") as file:
        page = file.read()
    fresh = put(page, args[2:] or list(TABLES))
    if args[0] == "--write":
        with open(args[1], "w", encoding="utf-8") as file:
            file.write(fresh)
    elif fresh != page:
        sys.exit("scale.py: other tables than the page's: make them by "
                 "scale.py --write " + args[1])


if __name__ == "__main__":
    main()
