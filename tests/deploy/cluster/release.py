"""One release of the chart on a real cluster, and its API from outside."""

import base64
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "integration"))

CHART = pathlib.Path(__file__).parents[3] / "helm/paceline"
LONG = 180  # Seconds; ends only what would hang.


def run(*command, timeout=LONG, **options):
    """What a command printed; its complaint is the error."""
    done = subprocess.run(command, capture_output=True, text=True,
                          timeout=timeout, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit code "
                             f"{done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def kubectl(*arguments):
    return run("kubectl", *arguments)


def objects(kind, *arguments):
    return json.loads(kubectl("get", kind, "-o", "json", *arguments))["items"]


def first_line(process):
    """Of what it prints; nothing if it ends, or does not answer for long."""
    patience = threading.Timer(LONG, process.kill)
    patience.start()
    try:
        return process.stdout.readline()
    finally:
        patience.cancel()


class PortForward:
    """A port of an object of the cluster's, on this machine."""

    def __init__(self, target, port):
        self.process = subprocess.Popen(
            ["kubectl", "port-forward", target, f":{port}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = first_line(self.process)
        match = re.match(r"Forwarding from 127\.0\.0\.1:(\d+)", line)
        if not match:
            raise AssertionError(f"no port-forward to {target}: {line!r}")
        self.port = int(match[1])
        # It tells every connection, and stops where nobody reads that.
        self.reader = threading.Thread(target=self.process.stdout.read)
        self.reader.start()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def samples(text):
    """(name, labels, value) of each line of an exposition."""
    for line in text.splitlines():
        match = re.match(r"(\w+)(?:\{(.*)\})? (\S+)$", line)
        if match:
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"',
                                     match[2] or ""))
            yield match[1], labels, float(match[3])


class Release:
    def __init__(self, name, folder, paceline):
        self.name = name
        self.fullname = f"{name}-paceline"
        self.folder = pathlib.Path(folder)
        self.paceline = paceline
        self.api = None  # A port-forward to the coordinator.

    def selector(self, component):
        return ("-l", f"app.kubernetes.io/instance={self.name},"
                      f"app.kubernetes.io/component={component}")

    def helm(self, verb, *arguments, values=None):
        if values is not None:
            file = self.folder / "values.json"
            file.write_text(json.dumps(values))
            arguments = (*arguments, "-f", str(file))
        chart = (str(CHART),) if verb in ("install", "upgrade") else ()
        return run("helm", verb, self.name, *chart, *arguments)

    def pods(self, component):
        return objects("pods", *self.selector(component))

    def leftovers(self):
        """(kind, name) of what stands in the cluster of this release."""
        kinds = kubectl("api-resources", "--verbs=list", "--namespaced",
                        "-o", "name").split()
        # These come and go with others, and are nobody's to delete.
        kinds = [kind for kind in kinds if not kind.startswith("events")]
        found = []
        for item in objects(",".join(kinds)):
            name = item["metadata"]["name"]
            if name == self.fullname or name.startswith(f"{self.fullname}-"):
                found.append((item["kind"], name))
        return sorted(set(found))

    def connect(self):
        """Mutual TLS with the administrator's certificate, by port-forward."""
        secret = json.loads(kubectl("get", "secret",
                                    f"{self.fullname}-tls-admin", "-o", "json"))
        for file, content in secret["data"].items():
            path = self.folder / file
            path.touch(mode=0o600)
            path.write_bytes(base64.b64decode(content))
        self.disconnect()
        self.api = PortForward(f"service/{self.fullname}-coordinator", 7070)

    def disconnect(self):
        if self.api:
            self.api.close()
            self.api = None

    def command(self, *arguments, certificate=True):
        flags = [f"--address=localhost:{self.api.port}",
                 f"--tls-ca={self.folder}/ca.crt"]
        if certificate:
            flags += [f"--tls-cert={self.folder}/tls.crt",
                      f"--tls-key={self.folder}/tls.key"]
        return self.run_command("config.yaml", *arguments, *flags)

    def run_command(self, config, *arguments):
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith("PACELINE_")}
        environment["PACELINE_CONFIG"] = str(self.folder / config)
        return run(self.paceline, *arguments, env=environment)

    def import_context(self):
        """What by_context() goes by, until this one is disconnected."""
        self.run_command("imported.yaml", "config", "import-kubernetes",
                         self.name, f"--address=localhost:{self.api.port}")

    def by_context(self, *arguments):
        """As command(), without a flag that names address or certificate."""
        return self.run_command("imported.yaml", *arguments)

    def job(self, name):
        return json.loads(self.command("job", "get", name, "-o", "json"))

    def samples_counted(self, name):
        return int(self.job(name).get("progress", {}).get("samples", 0))

    @contextlib.contextmanager
    def scraping(self, target):
        """A function that scrapes a pod or service, for as long as it is."""
        with PortForward(target, 9090) as forward:
            url = f"http://127.0.0.1:{forward.port}/metrics"

            def scrape():
                with urllib.request.urlopen(url, timeout=LONG) as answer:
                    return answer.read().decode()
            yield scrape
