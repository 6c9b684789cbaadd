"""The dashboards' queries, asked of a Prometheus that watches a cluster."""

import contextlib
import json
import pathlib
import re
import socket
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from release import CHART, kubectl, until

# Grafana's variables, and the boards' own with everything selected.
VARIABLES = {"__rate_interval": "30s", "__interval": "5s", "__range": "15m"}


def panel_queries():
    """(board and panel, query) of all panels of all boards."""
    for file in sorted((CHART / "dashboards").glob("*.json")):
        board = json.loads(file.read_text())
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                query = re.sub(r"\$\{?(\w+)\}?",
                               lambda m: VARIABLES.get(m[1], ".*"),
                               target["expr"])
                yield f"{board['title']}: {panel['title']}", query


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def configuration(api, namespace, release):
    """Scrapes the release's pods through the API server: from outside, and
    whatever their addresses are. Of the pods that are there now: not every
    Prometheus can discover them."""
    def target(pod):
        name = pod["metadata"]["name"]
        path = f"/api/v1/namespaces/{namespace}/pods/{name}:9090/proxy/metrics"
        labels = pod["metadata"]["labels"]
        return {"targets": [api], "labels": {
            "__metrics_path__": path, "instance": name, "namespace": namespace,
            "role": labels["app.kubernetes.io/component"]}}
    return {
        "global": {"scrape_interval": "2s"},
        "scrape_configs": [{
            "job_name": "paceline",
            "static_configs": [
                target(pod) for component in
                ("coordinator", "server", "worker", "evaluator")
                for pod in release.pods(component)]}]}


@contextlib.contextmanager
def watching(release):
    """A function that asks a Prometheus that scrapes the release's pods."""
    namespace = kubectl("config", "view", "--minify", "-o",
                        "jsonpath={..namespace}") or "default"
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(prefix="paceline-prometheus-")))
        proxy = stack.enter_context(subprocess.Popen(
            ["kubectl", "proxy", "--port=0"], stdout=subprocess.PIPE,
            text=True))
        stack.callback(proxy.kill)
        api = proxy.stdout.readline().split()[-1]
        (folder / "prometheus.yml").write_text(
            json.dumps(configuration(api, namespace, release)))
        address = f"127.0.0.1:{free_port()}"
        log = stack.enter_context(open(folder / "log", "wb"))
        prometheus = stack.enter_context(subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml",
             f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address={address}"], stdout=log, stderr=log))
        stack.callback(prometheus.kill)

        def ask(query):
            url = (f"http://{address}/api/v1/query?"
                   + urllib.parse.urlencode({"query": query}))
            try:
                with urllib.request.urlopen(url, timeout=30) as answer:
                    return json.load(answer)["data"]["result"]
            except urllib.error.URLError as error:
                if isinstance(error, urllib.error.HTTPError):
                    raise AssertionError(f"{query}: {error.read()}") from error
                return []  # It is not up yet.
        until("pods are scraped", lambda: ask("up == 1"))
        yield ask
