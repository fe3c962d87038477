"""A headless Chromium, driven over a pipe by its DevTools protocol.

The standard library is enough: messages are JSON, each ended by a zero byte.
"""

import base64
import fcntl
import json
import os
import select
import subprocess
import tempfile
import time


class Chromium:
    """One browser with one page. To be used in a `with` statement."""

    def __init__(self, program="chromium"):
        self.events = []
        self.number = 0
        self.buffer = b""
        self.profile = tempfile.TemporaryDirectory()
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        arguments = [
            program, "--headless=new", "--remote-debugging-pipe",
            "--no-first-run", "--disable-gpu", "--disable-extensions",
            "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--hide-scrollbars", "--mute-audio",
            "--disable-dev-shm-usage", f"--user-data-dir={self.profile.name}"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")

        def take_ends():
            # Out of the way first: one of them may be 3 or 4 itself.
            read = fcntl.fcntl(to_browser, fcntl.F_DUPFD, 10)
            write = fcntl.fcntl(from_browser, fcntl.F_DUPFD, 10)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, preexec_fn=take_ends, pass_fds=(3, 4))
        os.close(to_browser)
        os.close(from_browser)
        target = self.call("Target.createTarget", url="about:blank")
        self.session = self.call("Target.attachToTarget", flatten=True,
                                 targetId=target["targetId"])["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.page(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Asked to close, it first ends the processes that write its profile.
        try:
            self.send("Browser.close")
        except BrokenPipeError:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        self.profile.cleanup()

    # -- messages --------------------------------------------------------------

    def send(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_end, data):]
        return self.number

    def receive(self, until):
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.read_end, 1 << 16)
            if not part:
                raise EOFError("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **params):
        number = self.send(method, session, **params)
        until = time.monotonic() + 60
        while True:
            message = self.receive(until)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def page(self, method, **params):
        return self.call(method, self.session, **params)

    def wait_for(self, method):
        """The next event of this kind, also if it is here already."""
        until = time.monotonic() + 60
        while True:
            for event in self.events:
                if event["method"] == method:
                    self.events.remove(event)
                    return event["params"]
            message = self.receive(until)
            if "method" in message:
                self.events.append(message)

    # -- what a person does ----------------------------------------------------

    def resize(self, width, height, dark=False):
        self.page("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=width < 600)
        scheme = "dark" if dark else "light"
        self.page("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path):
        """Opens a file, and returns how many seconds that took."""
        return self.go("file://" + os.path.abspath(path))

    def go(self, url):
        """Opens what is there, and returns how many seconds that took."""
        self.events = []
        begin = time.monotonic()
        self.page("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")
        self.run("new Promise(f => requestAnimationFrame(() => setTimeout(f)))")
        return time.monotonic() - begin

    def run(self, script):
        """The value of a script, which may be a promise."""
        out = self.page("Runtime.evaluate", expression=script,
                        returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in out:
            raise RuntimeError(f"{script}: {out['exceptionDetails']}")
        return out["result"].get("value")

    def key(self, name, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.page("Input.dispatchKeyEvent", type=kind, key=name, code=name,
                      windowsVirtualKeyCode=code,
                      text=text if kind == "keyDown" else "")

    def mouse(self, kind, x, y, buttons=0, clicks=0):
        self.page("Input.dispatchMouseEvent", type=kind, x=x, y=y,
                  button="left" if buttons or kind == "mouseReleased" else "none",
                  buttons=buttons, clickCount=clicks)

    def drag(self, x1, x2, y):
        self.mouse("mouseMoved", x1, y)
        self.mouse("mousePressed", x1, y, 1, 1)
        for i in range(1, 6):
            self.mouse("mouseMoved", x1 + (x2 - x1) * i / 5, y, 1)
        self.mouse("mouseReleased", x2, y, 0, 1)

    # -- what there is to see --------------------------------------------------

    def complaints(self, server="file:"):
        """Everything that went wrong since the page was opened from there."""
        out = []
        self.run("0")  # Whatever was on its way has come.
        for event in self.events:
            method, params = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                out.append(str(params["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled":
                out.append(str(params["args"]))
            elif method == "Log.entryAdded":
                out.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith((server, "data:")):
                    out.append("asks for " + url)
        return out

    def picture(self, path, whole=True):
        data = self.page("Page.captureScreenshot", format="png",
                         captureBeyondViewport=whole, **self.clip(whole))
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))

    def clip(self, whole):
        if not whole:
            return {}
        size = self.page("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"],
                         "height": size["height"], "scale": 1}}
