"""The page of `paceline ui`, and what it would ask the program that serves it."""

import json
import re
import signal
import subprocess
import urllib.error
import urllib.request

from real_cluster import LONG


def why_no_page(bin_dir, scratch):
    """Why this build cannot serve one; empty if it can."""
    try:
        ServedPage(bin_dir, scratch, "--runs", scratch).end()
    except AssertionError as error:
        if "built without" in str(error):
            return str(error)
    return ""


class UiPage:
    """At the address that was printed."""

    def __init__(self, url):
        self.url = url
        found = re.fullmatch(r"(http://127\.0\.0\.1:(\d+))/#token=([0-9a-f]{64})",
                             url)
        if found is None:
            raise AssertionError(f"{url!r} is no address of a page")
        self.root, self.port, self.token = found[1], int(found[2]), found[3]

    def ask(self, path, body=None, **headers):
        """Code, headers and text of the answer to a GET, or a POST of a body."""
        request = urllib.request.Request(
            self.root + path, data=None if body is None else body.encode(),
            headers={name.replace("_", "-"): value
                     for name, value in headers.items()})
        try:
            with urllib.request.urlopen(request, timeout=LONG) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def call(self, method, **request):
        """As the page does: code and JSON."""
        code, _, text = self.ask(
            f"/api/{method}", json.dumps(request), Content_Type="application/json",
            Authorization=f"Bearer {self.token}")
        return code, json.loads(text)


class ServedPage(UiPage):
    """Of a `paceline ui` that it starts with the flags."""

    def __init__(self, bin_dir, scratch, *flags):
        self.process = subprocess.Popen(
            [bin_dir / "paceline", "ui", *flags], env={"HOME": str(scratch)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        url = self.process.stdout.readline().strip()
        if not url:
            raise AssertionError(self.process.communicate(timeout=LONG)[1])
        super().__init__(url)

    def end(self):
        """Its exit code, and what it said on standard error."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=LONG)
        return self.process.returncode, said
