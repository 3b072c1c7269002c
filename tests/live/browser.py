# SPDX-License-Identifier: GPL-2.0-or-later
"""Chromium without a screen, driven by its DevTools protocol through two pipes: opens a page,
evaluates expressions in it, clicks, and takes pictures."""

import base64
import contextlib
import json
import os
import select
import subprocess
import time

from lib import PATIENCE

COMMAND = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
           "--no-first-run", "--allow-file-access-from-files", "--remote-debugging-pipe",
           "--window-size=1240,900"]

# Errors of a session that has ended, of a page that was replaced before it answered, and of a
# target that was there when targets were listed.
GONE = {-32001, -32000, -32602}
FRAME_ANSWERS = 5  # seconds, after which one that says nothing is taken for one that is gone


class FrameGone(AssertionError):
    """A frame was taken from the page, or given another one, while it was asked."""


class Silent(AssertionError):
    """No answer came in time."""


class Page:
    """One tab. All time-outs are assertions."""

    def __init__(self, to, back):
        self.to, self.back, self.buffer, self.number, self.session = to, back, b"", 0, None
        self.detached = set()  # sessions whose targets have gone

    def _message(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                raise Silent("chromium is silent")
            data = os.read(self.back, 65536)
            assert data, "chromium has ended"
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, timeout=60, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + timeout * PATIENCE
        while self.session not in self.detached:
            answer = self._message(deadline)
            if answer.get("method") == "Target.detachedFromTarget":
                self.detached.add(answer["params"]["sessionId"])
            elif answer.get("id") == self.number:
                if answer.get("error", {}).get("code") in GONE:
                    raise FrameGone(method, answer["error"])
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
        raise FrameGone(method, "its session has ended")

    def open(self, url):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, expression, timeout=60):
        """What a JavaScript expression gives."""
        result = self.call("Runtime.evaluate", timeout, expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, (expression, result["exceptionDetails"])
        return result["result"].get("value")

    def in_frames(self, expression):
        """What it gives in each frame that is a process of its own. A frame that is replaced
        meanwhile is left out, and so is one that does not answer: ask anew."""
        values, session = [], self.session
        for target in self.call("Target.getTargets")["targetInfos"]:
            if target["type"] != "iframe":
                continue
            with contextlib.suppress(FrameGone, Silent):
                self.session = self.call("Target.attachToTarget", targetId=target["targetId"],
                                         flatten=True)["sessionId"]
                values.append(self.value(expression, FRAME_ANSWERS))
            frame, self.session = self.session, session
            if frame not in self.detached | {session}:
                with contextlib.suppress(FrameGone):
                    self.call("Target.detachFromTarget", sessionId=frame)
        return values

    def until(self, expression, timeout=30):
        """The expression's value, once it is true; also where the page replaces itself until then."""
        deadline = time.monotonic() + timeout * PATIENCE
        while True:
            with contextlib.suppress(FrameGone):
                if value := self.value(expression):
                    return value
            assert time.monotonic() < deadline, f"never true: {expression}"
            time.sleep(0.05)

    def click(self, element):
        """The mouse at the middle of an element, which is an expression."""
        x, y = self.value(f"(r => [r.x + r.width / 2, r.y + r.height / 2])"
                          f"(({element}).getBoundingClientRect())")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def key(self, key, code):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      **({"text": key} if kind == "keyDown" and len(key) == 1 else {}))

    def picture(self, path):
        data = self.call("Page.captureScreenshot")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))


@contextlib.contextmanager
def page(url, folder):
    """A page in a browser of its own, whose data is in that folder."""
    child_in, to = os.pipe()
    back, child_out = os.pipe()

    def take_pipes():
        """DevTools reads descriptor 3 and writes 4; the pipes may stand there crosswise."""
        low, high = os.dup(child_in), os.dup(child_out)
        os.dup2(low, 3)
        os.dup2(high, 4)

    with subprocess.Popen([*COMMAND, f"--user-data-dir={folder}/chromium"], pass_fds=(3, 4),
                          preexec_fn=take_pipes, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        os.close(child_in)
        os.close(child_out)
        try:
            opened = Page(to, back)
            opened.open(url)
            yield opened
        finally:
            process.kill()
            os.close(to)
            os.close(back)
