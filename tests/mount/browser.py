# SPDX-License-Identifier: BSD-3-Clause
"""Chromium without a window, told what to do over two pipes (the DevTools
protocol: a JSON object and a NUL each)."""
import json
import os
import select
import subprocess
import time

import programs


class Browser:
    """One page of it."""

    def __init__(self, work):
        programs.need("chromium")
        ours, self.tell = os.pipe()
        self.hear, theirs = os.pipe()
        # The browser has them as descriptors 3 and 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f"exec chromium \"$@\" 3<&{ours} 4>&{theirs}", "sh",
             "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars",
             "--user-data-dir=" + os.path.join(work, "chromium"),
             "--remote-debugging-pipe", "about:blank"],
            pass_fds=(ours, theirs), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(ours)
        os.close(theirs)
        self.n, self.rest, self.events, self.session = 0, b"", [], None
        page = self.call("Target.createTarget", url="about:blank")
        self.session = self.call("Target.attachToTarget", flatten=True,
                                 targetId=page["targetId"])["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def next(self, end):
        """What it says next."""
        while b"\0" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.hear], [], [], left)[0]:
                raise AssertionError("the browser does not answer")
            more = os.read(self.hear, 1 << 20)
            assert more, "the browser has ended"
            self.rest += more
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, seconds=60, **params):
        self.n += 1
        order = {"id": self.n, "method": method, "params": params}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.tell, json.dumps(order).encode() + b"\0")
        end = time.monotonic() + seconds
        while True:
            said = self.next(end)
            if said.get("id") == self.n:
                assert "error" not in said, said
                return said["result"]
            self.events.append(said)

    def value(self, expression):
        """Of JavaScript."""
        said = self.call("Runtime.evaluate", expression=expression,
                         returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    def becomes(self, expression, wanted, seconds=40):
        end = time.monotonic() + seconds
        while (got := self.value(expression)) != wanted:
            if time.monotonic() > end:
                raise AssertionError(f"{expression} is {got!r}, wanted "
                                     f"{wanted!r}")
            time.sleep(0.05)

    def visit(self, address):
        self.call("Page.navigate", url=address)
        self.becomes("location.href === " + json.dumps(address) +
                     " && document.readyState", "complete")

    def wear(self, scheme):
        """light or dark"""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}])

    def said(self, method):
        """What was told of events of a kind, up to now."""
        self.value("0")
        return [event["params"] for event in self.events
                if event.get("method") == method]

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.tell)
        os.close(self.hear)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()
