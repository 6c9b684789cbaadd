"""A real Prometheus with the chart's rules, a real Alertmanager, and whom it
tells of alerts."""

import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request

from real_cluster import LONG, free_port, until

PROGRAMS = ("prometheus", "promtool", "prometheus-alertmanager")


def missing_programs():
    return [name for name in PROGRAMS if not shutil.which(name)]


def in_seconds(rules):
    """The rules as they are shipped, but patient for seconds where they are
    for minutes: a test has none. What they look at and what they compare stays.
    The longest look back, [1h], may stay too: it never waits."""
    rules = re.sub(r"\bfor: \d+m", "for: 3s", rules)
    rules = re.sub(r"\[\d+m\]", "[15s]", rules)
    return re.sub(r"> 300\b", "> 5", rules)


class Webhook(http.server.ThreadingHTTPServer):
    """Takes what Alertmanager sends; `seen` are (status, labels), the latest
    last."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Receiver)
        self.seen = []
        self.thread = threading.Thread(target=self.serve_forever)
        self.thread.start()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            size = int(self.headers["Content-Length"])
            for alert in json.loads(self.rfile.read(size))["alerts"]:
                self.server.seen.append((alert["status"], alert["labels"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    def status(self, name, **labels):
        """What was last heard of such an alert; none if nothing was."""
        wanted = {"alertname": name, **labels}.items()
        return next((status for status, of in reversed(list(self.seen))
                     if wanted <= of.items()), None)

    def stop(self):
        self.shutdown()
        self.thread.join()
        self.server_close()


class PrometheusApi:
    def __init__(self, url):
        self.url = url

    def get(self, path, **arguments):
        url = f"{self.url}{path}?{urllib.parse.urlencode(arguments, True)}"
        try:
            with urllib.request.urlopen(url, timeout=LONG) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise ValueError(json.load(error)["error"]) from error

    def value(self, expression):
        """Of the first series now; none if there is none."""
        found = self.get("/api/v1/query", query=expression)["result"]
        return float(found[0]["value"][1]) if found else None


class MonitoringStack(PrometheusApi):
    def __init__(self, folder, rules):
        """`rules` are the files of the chart; without any nobody is told."""
        self.folder = pathlib.Path(folder)
        self.processes = []
        self.alertmanager = f"127.0.0.1:{free_port()}"
        self.address = f"127.0.0.1:{free_port()}"
        super().__init__(f"http://{self.address}")
        for path in rules:
            (self.folder / f"rules-{path.name}").write_text(
                in_seconds(path.read_text()))
        self.scrape({})
        self.webhook = Webhook() if rules else None
        try:
            if rules:
                self.start_alertmanager()
            self.start_prometheus()
        except Exception:
            self.stop()
            raise

    def start_alertmanager(self):
        self.write("alertmanager.json", {
            "route": {"receiver": "test", "group_by": ["..."],
                      "group_wait": "0s", "group_interval": "1s"},
            "receivers": [{"name": "test", "webhook_configs": [{
                "url": f"http://127.0.0.1:{self.webhook.server_port}",
                "send_resolved": True}]}]})
        self.start("prometheus-alertmanager", self.alertmanager,
                   f"--config.file={self.folder}/alertmanager.json",
                   f"--storage.path={self.folder}/alertmanager",
                   "--cluster.listen-address=")

    def start_prometheus(self):
        self.write("prometheus.json", {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [f"{self.folder}/rules-*.yaml"],
            "alerting": {"alertmanagers": [{"static_configs": [
                {"targets": [self.alertmanager]}]}]},
            "scrape_configs": [{"job_name": "paceline", "file_sd_configs": [
                {"files": [f"{self.folder}/targets.json"]}]}]})
        self.start("prometheus", self.address,
                   f"--config.file={self.folder}/prometheus.json",
                   f"--storage.tsdb.path={self.folder}/prometheus",
                   "--rules.alert.resend-delay=1s")

    def start(self, program, address, *flags):
        """Returns when it answers."""
        with open(self.folder / f"{program}.log", "wb") as log:
            process = subprocess.Popen(
                [program, f"--web.listen-address={address}", *flags],
                stdout=log, stderr=log)
        self.processes.append(process)

        def ready():
            if process.poll() is not None:
                text = (self.folder / f"{program}.log").read_text()
                raise RuntimeError(f"{program} has ended:\n{text}")
            try:
                with urllib.request.urlopen(f"http://{address}/-/ready",
                                            timeout=LONG):
                    return True
            except OSError:
                return False

        until(f"{program} is ready", ready)

    def write(self, name, content):
        """At once, for who reads it meanwhile."""
        part = self.folder / f"{name}.part"
        part.write_text(json.dumps(content))
        os.replace(part, self.folder / name)

    def scrape(self, targets):
        """From now on these: address by (instance, role). The labels are those
        that the chart's PodMonitor gives."""
        self.write("targets.json", [
            {"targets": [address],
             "labels": {"instance": instance, "role": role,
                        "namespace": "training"}}
            for (instance, role), address in targets.items()])

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(timeout=LONG)
        if self.webhook:
            self.webhook.stop()
