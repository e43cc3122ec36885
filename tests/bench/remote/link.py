# SPDX-License-Identifier: BSD-3-Clause
"""A line between a reader and a server that is long and has a width.

Link(port) is a process that listens at Link.port and passes everything on to
that port of this machine. Bytes arrive half a round trip later, in both
directions; a new connection costs one round trip more; what the server sends
shares the width, in the order in which it was sent. A connection has at most
WINDOW bytes under way, as if the reader's window were so wide: what a reader
that leaves never took was sent for nothing, but took no time. Slow start is not
modelled: that is to the good of whoever opens many connections, or short ones.
"""
import collections
import contextlib
import heapq
import multiprocessing
import selectors
import socket
import time

WINDOW = 6 << 20
PART = 128 << 10


class Way:
    """One direction of a connection."""

    def __init__(self, source, target, wide):
        self.source, self.target, self.wide = source, target, wide
        self.queue = collections.deque()  # (when, bytes), to be sent
        self.held = 0
        self.ended = False


class Passing:
    """The loop of the process."""

    def __init__(self, listener, target, delay, rate, counts):
        self.listener, self.target = listener, target
        self.delay, self.rate, self.counts = delay / 2, rate, counts
        self.free_at = 0.0  # when the line has sent what it was given
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ, None)
        self.due = []  # (when, number, way)
        self.number = 0
        self.open = 0

    def accept(self):
        near, _ = self.listener.accept()
        far = socket.create_connection(("127.0.0.1", self.target))
        up, down = Way(near, far, False), Way(far, near, True)
        up.other, down.other = down, up
        up.not_before = time.monotonic() + 2 * self.delay
        down.not_before = 0
        for way in (up, down):
            way.source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            way.source.setblocking(False)
            self.selector.register(way.source, selectors.EVENT_READ, way)
        self.open += 1
        self.counts["connections"].value += 1
        self.counts["at_once"].value = max(self.counts["at_once"].value,
                                           self.open)

    def later(self, way, when):
        self.number += 1
        heapq.heappush(self.due, (when, self.number, way))

    def take(self, way):
        try:
            data = way.source.recv(PART)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        now = time.monotonic()
        when = max(now, way.not_before) + self.delay
        if way.wide and data:
            self.free_at = max(now, self.free_at) + len(data) / self.rate
            when = self.free_at + self.delay
        way.queue.append((when, data))
        way.held += len(data)
        self.later(way, when)
        if not data or way.held >= WINDOW:
            self.selector.unregister(way.source)

    def give(self, way):
        """Sends what is due; False where the connection is over."""
        now = time.monotonic()
        while way.queue and way.queue[0][0] <= now:
            when, data = way.queue[0]
            if not data:
                with contextlib.suppress(OSError):
                    way.target.shutdown(socket.SHUT_WR)
                way.queue.popleft()
                way.ended = True
                return not way.other.ended
            try:
                sent = way.target.send(data)
            except BlockingIOError:
                self.later(way, now + 0.001)
                return True
            full = way.held >= WINDOW
            way.held -= sent
            if way.wide:
                self.counts["bytes"].value += sent
            if full and way.held < WINDOW:
                self.selector.register(way.source, selectors.EVENT_READ, way)
            if sent < len(data):
                way.queue[0] = (when, data[sent:])
            else:
                way.queue.popleft()
        return True

    def close(self, way):
        for each in (way, way.other):
            each.queue.clear()
            with contextlib.suppress(KeyError, ValueError):
                self.selector.unregister(each.source)
        way.source.close()
        way.target.close()
        self.open -= 1

    def run(self):
        while True:
            wait = None
            if self.due:
                wait = max(0.0, self.due[0][0] - time.monotonic())
            for key, _ in self.selector.select(wait):
                if key.data is None:
                    self.accept()
                else:
                    self.take(key.data)
            while self.due and self.due[0][0] <= time.monotonic():
                way = heapq.heappop(self.due)[2]
                if way.source.fileno() < 0:
                    continue
                try:
                    goes_on = self.give(way)
                except OSError:
                    goes_on = False
                if not goes_on:
                    self.close(way)


class Link:
    """delay: of a round trip, in seconds; rate: bytes a second."""

    def __init__(self, target, delay=0.030, rate=125e6):
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = listener.getsockname()[1]
        self.counts = {name: multiprocessing.Value("q", 0)
                       for name in ("connections", "at_once", "bytes")}
        passing = Passing(listener, target, delay, rate, self.counts)
        self.process = multiprocessing.get_context("fork").Process(
            target=passing.run, daemon=True)
        self.process.start()
        listener.close()

    def take(self, name):
        """What was counted since it was asked last."""
        counter = self.counts[name]
        with counter.get_lock():
            value, counter.value = counter.value, 0
        return value

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.join()
