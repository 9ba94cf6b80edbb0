"""A page in headless Chromium, driven through the pipe of its debugging protocol: no driver and no package is needed.

    with Page(width=1200, height=800) as page:
        page.open(path)
        page.click(100, 100)
        assert page.value("document.title") == "..."
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

DEADLINE = 60
KEYS = {"Enter": 13, "Escape": 27, "Backspace": 8, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


def program():
    """The browser, or None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    def __init__(self, width=1200, height=800, scheme="light", scrollbars=False):
        self.dialogs, self.requests, self.errors = [], [], []
        self.loads, self.last, self.rest, self.session = 0, 0, b"", None
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self.to = os.pipe()
        self.come, theirs_out = os.pipe()

        def as_they_want():  # the browser reads from 3 and writes to 4
            reads, writes = os.dup(theirs_in), os.dup(theirs_out)
            while reads < 5 or writes < 5:
                reads, writes = os.dup(reads), os.dup(writes)
            os.dup2(reads, 3)
            os.dup2(writes, 4)

        self.process = subprocess.Popen(
            [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}", *([] if scrollbars else ["--hide-scrollbars"]), "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=as_they_want, start_new_session=True, env=dict(os.environ, HOME=self.folder.name))
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Network"):
                self.call(f"{domain}.enable")
            self.look(width, height, scheme)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.to)
        os.close(self.come)
        self.folder.cleanup()

    # ---- the protocol: JSON with a NUL behind it ----

    def call(self, method, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        answer = self.wait(lambda got: got.get("id") == message["id"], method)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def wait(self, wanted, what):
        end = time.monotonic() + DEADLINE
        while True:
            while b"\0" not in self.rest:
                left = end - time.monotonic()
                ready = select.select([self.come], [], [], max(left, 0))[0]
                assert ready, f"waited {DEADLINE} s for the browser: {what}"
                piece = os.read(self.come, 1 << 16)
                assert piece, f"the browser has ended: {what}"
                self.rest += piece
            text, _, self.rest = self.rest.partition(b"\0")
            got = json.loads(text)
            self.note(got)
            if wanted(got):
                return got

    def note(self, got):
        method, params = got.get("method"), got.get("params", {})
        if method == "Page.javascriptDialogOpening":
            self.dialogs.append(params["message"])
            self.post("Page.handleJavaScriptDialog", accept=True)
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loads += 1
        elif method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"].get("exception", {}).get("description", "an exception"))

    def post(self, method, **params):
        """A call whose answer nobody waits for."""
        self.last += 1
        os.write(self.to, json.dumps({"id": self.last, "method": method, "params": params, "sessionId": self.session}).encode() + b"\0")

    # ---- what tests do ----

    def open(self, path):
        loads = self.loads
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        if self.loads == loads:
            self.wait(lambda got: got.get("method") == "Page.loadEventFired", f"{path} is loaded")

    def look(self, width, height, scheme="light", media=""):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, f"{expression}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y, count=1):
        self.move(x, y)
        for number in range(1, count + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=number)

    def key(self, key, modifiers=0):
        """One key; modifiers: 1 Alt, 2 Ctrl, 8 Shift."""
        about = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
        if len(key) == 1 and not modifiers & 3:
            about["text"] = key
        elif key == "Enter":
            about["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **about)
        about.pop("text", None)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def picture(self, path):
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
