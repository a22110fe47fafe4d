"""A headless Chromium, driven by its DevTools protocol through a pipe: no port, no library."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium-headless-shell", "chromium")
PATIENCE = 60  # seconds, for one answer of a busy machine


class Chromium:
    def __init__(self):
        program = next((path for path in map(shutil.which, PROGRAMS) if path), None)
        assert program, f"none of {', '.join(PROGRAMS)} is installed: tests/run --setup does it"
        self.profile = tempfile.mkdtemp(prefix="prefetch-browser-")
        # It reads commands from descriptor 3 and writes answers to descriptor 4.
        theirs_in, self.out = os.pipe()
        self.into, theirs_out = os.pipe()
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "sh", program, "--headless", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.buffer, self.events = 0, b"", []

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        os.close(self.out)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.into)
        shutil.rmtree(self.profile, ignore_errors=True)

    def read(self, deadline):
        """The next message: an answer or an event."""
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            ready = select.select([self.into], [], [], max(left, 0))[0]
            assert ready, "the browser does not answer"
            part = os.read(self.into, 1 << 20)
            assert part, "the browser has ended"
            self.buffer += part
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **params):
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        if session:
            command["sessionId"] = session
        data, deadline = json.dumps(command).encode() + b"\0", time.monotonic() + PATIENCE
        while data:
            data = data[os.write(self.out, data):]
        while True:
            message = self.read(deadline)
            if message.get("id") == self.number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self.events.append(message)

    def wait_for(self, method, session):
        deadline = time.monotonic() + PATIENCE
        while True:
            for i, event in enumerate(self.events):
                if event.get("method") == method and event.get("sessionId") == session:
                    return self.events.pop(i)["params"]
            self.events.append(self.read(deadline))

    def page(self, path, **looks):
        return Page(self, path, **looks)


class Page:
    """One open file. `script` off, `dark`, `width` as a person may have them."""

    def __init__(self, browser, path, width=1024, height=900, dark=False, script=True):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.resize(width, height)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.browser.events.clear()
        self.call("Page.navigate", url="file://" + path)
        self.browser.wait_for("Page.loadEventFired", self.session)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def run(self, expression):
        """A value of the page; waits for the next frame, so that what was typed has its effect."""
        result = self.call("Runtime.evaluate", returnByValue=True, awaitPromise=True, expression=(
            f"new Promise(done => requestAnimationFrame(() => setTimeout(() => done({expression}))))"))
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def trouble(self):
        """Errors and warnings of the console, exceptions, and requests for anything but the file itself."""
        self.call("Runtime.evaluate", expression="1")  # what came before it has been read
        found = []
        for event in self.browser.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"]["text"])
            elif method == "Runtime.consoleAPICalled":
                found.append(json.dumps(params["args"]))
            elif method == "Log.entryAdded":
                found.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith("file:///"):
                found.append(params["request"]["url"])
        return found

    def key(self, key, code=0, text=""):
        """As pressed on a keyboard, where the focus is."""
        named = {"key": key, "windowsVirtualKeyCode": code or (ord(text.upper()) if text.isalnum() else 0)}
        self.call("Input.dispatchKeyEvent", type="keyDown", **named, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def type(self, text):
        for letter in text:
            self.key(letter, text=letter)

    def picture(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))

    def printed(self, path):
        data = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))
