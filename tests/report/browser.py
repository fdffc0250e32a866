"""Drive a headless Chromium through its debugging pipe: no port, no driver, no network."""

import itertools
import json
import os
import select
import signal
import subprocess
import time

import needs
from waiting import until

WAIT_SECONDS = 120.0


class Browser:
    """One page of one browser; messages are JSON that end in NUL, on its file descriptors 3 and 4."""

    def __init__(self, home):
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        words = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"]
        words += [f"--user-data-dir={home}", "--no-first-run", "--disable-background-networking"]
        shell = f'exec 3<&{to_read} 4>&{to_write}; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "browser", needs.path_of("chromium"), *words, "about:blank"],
            pass_fds=(to_read, to_write),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        self._numbers, self._rest, self._session, self.asked = itertools.count(1), b"", None, []
        target = next(t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.send("Network.enable")
        self.send("Page.enable")

    def send(self, method, **params):
        number = next(self._numbers)
        page = {"id": number, "method": method, "params": params}
        page |= {"sessionId": self._session} if self._session else {}
        os.write(self._write, json.dumps(page).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]

    def _message(self):
        until = time.monotonic() + WAIT_SECONDS
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            assert ready, "Chromium does not answer"
            piece = os.read(self._read, 1 << 16)
            assert piece, "Chromium is gone"
            self._rest += piece
        text, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(text)
        if message.get("method") == "Network.requestWillBeSent":
            self.asked.append(message["params"]["request"]["url"])
        return message

    def open(self, path, width=1200, height=900, mobile=False, dark=False):
        """Open a file, or a URL, and wait until it is whole."""
        url = path if isinstance(path, str) else path.resolve().as_uri()
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        look = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=look)
        self.asked.clear()
        self.send("Page.navigate", url=url)
        whole = url + "complete"
        until(lambda: self.ask("location.href + document.readyState") == whole, seconds=WAIT_SECONDS)

    def ask(self, expression):
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def click(self, selector):
        self.ask(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
        line = "(p => [p.x, p.y])(e.getPointAtLength(e.getTotalLength() / 2).matrixTransform(e.getScreenCTM()))"
        box = "(b => [b.x + b.width / 2, b.y + b.height / 2])(e.getBoundingClientRect())"
        x, y = self.ask(f"(e => e.getTotalLength ? {line} : {box})(document.querySelector({selector!r}))")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def key(self, name, code):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def close(self):
        os.close(self._write)
        os.close(self._read)
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
