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
    whatever their addresses are."""
    label = "__meta_kubernetes_pod_label_app_kubernetes_io_"
    return {
        "global": {"scrape_interval": "2s"},
        "scrape_configs": [{
            "job_name": "paceline",
            "kubernetes_sd_configs": [{
                "role": "pod", "api_server": f"http://{api}",
                "namespaces": {"names": [namespace]}}],
            "relabel_configs": [
                {"source_labels": [f"{label}instance"], "regex": release,
                 "action": "keep"},
                {"source_labels": ["__meta_kubernetes_pod_container_port_name"],
                 "regex": "metrics", "action": "keep"},
                {"source_labels": ["__meta_kubernetes_pod_name"],
                 "target_label": "instance"},
                {"source_labels": [f"{label}component"],
                 "target_label": "role"},
                {"source_labels": ["__meta_kubernetes_pod_name"],
                 "target_label": "__metrics_path__",
                 "replacement":
                     f"/api/v1/namespaces/{namespace}/pods/$1:9090/proxy/metrics"},
                {"target_label": "__address__", "replacement": api},
            ]}]}


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
            json.dumps(configuration(api, namespace, release.name)))
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
