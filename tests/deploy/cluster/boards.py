"""The dashboards, over a Prometheus that watches a release from outside."""

import contextlib
import pathlib
import subprocess
import tempfile
import time

from board_queries import Board, Span
from monitoring_stack import MonitoringStack
from real_cluster import until
from release import CHART, first_line, kubectl


def targets(api, namespace, release):
    """The release's pods that are there now, through the API server: from
    outside, whatever their addresses are."""
    for component in ("coordinator", "server", "worker", "evaluator"):
        for pod in release.pods(component):
            name = pod["metadata"]["name"]
            yield {"targets": [api], "labels": {
                "__metrics_path__": f"/api/v1/namespaces/{namespace}/pods/"
                                    f"{name}:9090/proxy/metrics",
                "instance": name, "namespace": namespace, "role": component}}


@contextlib.contextmanager
def watching(release):
    """A function that gives all boards, each over the time since now."""
    namespace = kubectl("config", "view", "--minify", "-o",
                        "jsonpath={..namespace}") or "default"
    begin = time.time()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory(prefix="paceline-prometheus-")))
        proxy = stack.enter_context(subprocess.Popen(
            ["kubectl", "proxy", "--port=0"], stdout=subprocess.PIPE,
            text=True))
        stack.callback(proxy.kill)
        api = first_line(proxy).split()[-1]
        prometheus = MonitoringStack(folder, rules=())
        stack.callback(prometheus.stop)
        prometheus.write("targets.json",
                         list(targets(api, namespace, release)))
        until("pods are scraped", lambda: prometheus.value("up == 1"))

        def boards():
            span = Span(begin, time.time())
            return [Board(path, prometheus, span) for path in
                    sorted((CHART / "dashboards").glob("*.json"))]
        yield boards
