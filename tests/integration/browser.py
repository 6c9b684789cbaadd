"""A headless Chromium, driven by chromedriver over the WebDriver protocol.

https://www.w3.org/TR/webdriver2/ says what the requests mean.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request

from real_cluster import LONG, until

PROGRAMS = ("chromium", "chromedriver")  # Debian's chromium, chromium-driver.
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # Of the protocol.
KEYS = {"tab": "\ue004", "enter": "\ue007", "escape": "\ue00c", "space": " "}


def what_is_missing():
    """The names of the programs that are not there."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


class Browser:
    """One window. `scratch` gets its profile."""

    def __init__(self, scratch, width=1400, height=1000):
        self.session = None
        port = self.start_driver(scratch)
        try:
            self.url = f"http://127.0.0.1:{port}"
            # As root Chromium has no sandbox. It opens this program's page alone.
            flags = ["--headless=new", "--no-sandbox", "--disable-gpu",
                     "--disable-dev-shm-usage", "--hide-scrollbars",
                     f"--window-size={width},{height}",
                     f"--user-data-dir={scratch}/chromium"]
            made = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": {"args": flags},
                "goog:loggingPrefs": {"browser": "ALL"}}}})
            self.session = f"/session/{made['sessionId']}"
        except BaseException:
            self.close()
            raise

    def start_driver(self, scratch):
        """Its port, which has to be free for IPv4 and IPv6: where it is not,
        it ends at once."""
        said = []
        for _ in range(10):
            self.driver = subprocess.Popen(
                ["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True,
                env={**os.environ, "HOME": str(scratch)})
            for line in self.driver.stdout:
                said.append(line)
                found = re.search(r"started successfully on port (\d+)", line)
                if found:
                    return int(found[1])
            self.driver.stdout.close()
            self.driver.wait(timeout=LONG)
        raise AssertionError("chromedriver has ended: " + "".join(said))

    def ask(self, method, path, body=None):
        request = urllib.request.Request(
            self.url + path, method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=LONG) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def close(self):
        if self.session is not None:
            self.ask("DELETE", self.session)
        self.driver.terminate()
        self.driver.wait(timeout=LONG)
        self.driver.stdout.close()

    def open(self, url):
        self.ask("POST", f"{self.session}/url", {"url": url})

    def run(self, script, *arguments):
        """What a piece of JavaScript returns, in the page."""
        return self.ask("POST", f"{self.session}/execute/sync",
                        {"script": script, "args": list(arguments)})

    def find(self, selector):
        """The element that people see, as soon as it is there."""
        def look():
            try:
                found = self.ask("POST", f"{self.session}/element",
                                 {"using": "css selector", "value": selector})
            except AssertionError:
                return None
            path = f"{self.session}/element/{found[ELEMENT]}"
            return path if self.ask("GET", f"{path}/displayed") else None
        return until(f"{selector} is on the page", look)

    def click(self, selector):
        self.ask("POST", f"{self.find(selector)}/click", {})

    def type(self, selector, text):
        path = self.find(selector)
        self.ask("POST", f"{path}/clear", {})
        self.ask("POST", f"{path}/value", {"text": text})

    def press(self, *keys):
        """Keys of the keyboard, for whatever has the focus."""
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys
                   for kind in ("keyDown", "keyUp")]
        self.ask("POST", f"{self.session}/actions", {"actions": [
            {"type": "key", "id": "keyboard", "actions": actions}]})

    def text(self, selector):
        """What is to be read there; empty if it is not there."""
        return self.run("return document.querySelector(arguments[0])"
                        "?.textContent ?? ''", selector)

    def complaints(self):
        """What the page has said on the console since the last call: errors of
        its scripts, and what its security policy has refused."""
        return [entry["message"] for entry
                in self.ask("POST", f"{self.session}/se/log", {"type": "browser"})]

    def devtools(self, command, **parameters):
        return self.ask("POST", f"{self.session}/goog/cdp/execute",
                        {"cmd": command, "params": parameters})

    def look_like(self, width, height, scheme):
        """`scheme` is "light" or "dark"."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width,
                      height=height, deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        """The whole page as a PNG file."""
        size = self.devtools("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.devtools(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True,
            clip={"x": 0, "y": 0, "width": size["width"],
                  "height": size["height"], "scale": 1})
        path.write_bytes(base64.b64decode(shot["data"]))
