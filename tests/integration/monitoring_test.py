#!/usr/bin/python3
"""A real Prometheus and Alertmanager watch a real cluster go through trouble.

    monitoring_test.py BIN_DIR SOURCE_DIR

BIN_DIR holds paceline's programs, SOURCE_DIR the chart with its rules and
boards. The cluster has TLS, as the chart's has. With PACELINE_BOARDS=FOLDER
each board is written there as a page, FOLDER/NAME.html.
Exits with 77 where Debian's prometheus or prometheus-alertmanager is missing.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from board_queries import LEGEND_LABEL, Board, Span
from monitoring_stack import MonitoringStack, missing_programs
from real_cluster import LONG, RealCluster, until

BIN = SOURCE = None
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-monitoring-"))
JOB = "namespaces/default/jobs/watched"
NAMED_WITHIN = 10  # Iterations.
# Built-in models have none: the coordinator's own tests look at it.
OF_PROGRAMS = "paceline_coordinator_evaluation_metric"
FALLBACK = re.compile(r" or (vector\(0\)|0 \* .*)$")
# Nobody is given up while the test holds them still.
LEASE = "60s"

PACE = ["--step-time", "100ms"]
WORKERS = {
    "w0": PACE,
    "w1": PACE,
    "w2": [*PACE, "--gpu-model", "T4"],
    "w3": [*PACE, "--gpu-model", "K80", "--slowdown", "4"],
}
SLOW = "w3"
SERVERS = ("s0", "s1")

# In step first, so that an iteration of the slow worker is one of the job.
SPEC = """
name: watched
spec:
  model: mlp
  data: synthetic:tiny
  paradigm: bsp
  workers: {min: 1}
  stop: {epochs: 300}
  evaluation: {every: 2000}
  checkpoints: {interval: 10s, keep: 2}
"""


class SecureCluster(RealCluster):
    """Of processes that show each other certificates. `program` is run by an
    administrator."""

    def __init__(self):
        self.tls = SCRATCH / "tls"
        names = {"coordinator": "coordinator/coordinator,127.0.0.1",
                 "operator": "admin/operator", "e0": "worker/e0",
                 **{name: f"server/{name},127.0.0.1" for name in SERVERS},
                 **{name: f"worker/{name}" for name in WORKERS}}
        subprocess.run(
            [BIN / "paceline", "certificate", "ensure", "--directory", self.tls,
             *(f"{name}={identity}" for name, identity in names.items())],
            check=True, capture_output=True, timeout=LONG)
        super().__init__(BIN, SCRATCH, len(SERVERS), WORKERS.items(),
                         coordinator=self.certificates("coordinator"),
                         lease=LEASE)

    def certificates(self, name):
        folder = self.tls / name
        return ["--tls-cert", folder / "tls.crt", "--tls-key",
                folder / "tls.key", "--tls-ca", folder / "ca.crt"]

    def start(self, program, name, *flags):
        super().start(program, name, *flags, *self.certificates(name))

    def signal_workers(self, number):
        for name in WORKERS:
            if name in self.processes:
                self.processes[name].send_signal(number)

    def command(self, *arguments, **options):
        """What the command prints."""
        ended = subprocess.run(
            [BIN / "paceline", *arguments, "--address", self.address,
             *self.certificates("operator")], text=True, timeout=LONG,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            **options)
        if ended.returncode != 0:
            raise AssertionError(f"paceline {arguments}: {ended.stdout}")
        return ended.stdout

    def sample(self, name, metric, **labels):
        """The value that the process itself shows now; none without one."""
        for line in self.ask(name, "/metrics")[1].splitlines():
            head, _, value = line.rpartition(" ")
            if re.split(r"[{ ]", head)[0] == metric and all(
                    f'{key}="{text}"' in head for key, text in labels.items()):
                return float(value)
        return None


class MonitoringTest(unittest.TestCase):
    """One scenario; each part begins where the one before it has ended."""

    def setUp(self):
        self.cluster = SecureCluster()
        self.addCleanup(self.cluster.stop)
        folder = SCRATCH / "monitoring"
        folder.mkdir()
        self.stack = MonitoringStack(
            folder, sorted((SOURCE / "helm/paceline/rules").glob("*.yaml")))
        self.addCleanup(self.stack.stop)
        # Else whoever is held still could not be told to end.
        self.addCleanup(self.cluster.signal_workers, signal.SIGCONT)
        self.follow_members()
        self.begin = time.time()

    def follow_members(self):
        """Prometheus scrapes who is there now, as a PodMonitor would see to."""
        roles = {"coordinator": "coordinator", "e0": "evaluator",
                 **dict.fromkeys(SERVERS, "server"),
                 **dict.fromkeys(WORKERS, "worker")}
        there = ["coordinator", *self.cluster.processes]
        self.stack.scrape({
            (name, roles[name]):
                f"127.0.0.1:{self.cluster.monitoring_port(name)}"
            for name in there})
        self.await_value(f"count(up == 1) == {len(there)}")

    def await_value(self, expression):
        """Until Prometheus has a series of it."""
        return until(expression, lambda: self.stack.value(expression) is not None)

    def await_alert(self, status, name, **labels):
        until(f"{name} {labels} is {status}",
              lambda: self.stack.webhook.status(name, **labels) == status)

    def test_trouble_is_seen(self):
        self.cluster.command("job", "create", "-f", "-", input=SPEC)
        self.the_slow_worker_is_named_soon()
        self.every_process_exports_well_formed_metrics()
        self.await_alert("firing", "PacelineLastingStraggler", worker=SLOW,
                         job_id=JOB)
        self.another_paradigm_groups_the_workers()
        self.a_worker_is_lost_and_another_joins()
        self.cluster.command("checkpoint", "create", "watched", "--wait")
        self.an_alert_ends_with_its_cause()
        self.a_job_that_stands_still_raises_an_alert()
        self.the_boards_show_it()
        self.a_lost_server_raises_an_alert()

    def the_slow_worker_is_named_soon(self):
        """In the metrics, before its 10th iteration and the job's has ended."""
        iterations = rounds = 0  # When it was not yet.

        def flagged():
            nonlocal iterations, rounds
            before = (
                self.cluster.sample(SLOW, "paceline_worker_iterations_total"),
                self.cluster.sample("coordinator",
                                    "paceline_coordinator_closings_total",
                                    job_id=JOB))
            if self.cluster.sample("coordinator",
                                   "paceline_coordinator_worker_straggler",
                                   job_id=JOB, worker=SLOW) == 1:
                return True
            iterations, rounds = (count or 0 for count in before)
            return False

        until(f"{SLOW} is flagged", flagged)
        print(f"{SLOW} was named after at least {iterations:.0f} of its "
              "iterations",
              file=sys.stderr)
        self.assertLess(iterations, NAMED_WITHIN)
        self.assertLess(rounds, NAMED_WITHIN)
        scores = {name: self.cluster.sample(
            "coordinator", "paceline_coordinator_worker_straggler_score_ratio",
            job_id=JOB, worker=name) for name in WORKERS}
        self.assertEqual(max(scores, key=scores.get), SLOW, scores)

    def every_process_exports_well_formed_metrics(self):
        for name in ("coordinator", *self.cluster.processes):
            checked = subprocess.run(
                ["promtool", "check", "metrics"], text=True, timeout=LONG,
                input=self.cluster.ask(name, "/metrics")[1],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertEqual((checked.returncode, checked.stdout), (0, ""),
                             name)

    def another_paradigm_groups_the_workers(self):
        self.cluster.command("job", "switch", "watched", "--paradigm",
                             "cgp:regroup_every=20")
        self.await_value("paceline_coordinator_paradigm_switches_total"
                         '{from="bsp",to="cgp"} == 1')
        self.await_value("paceline_coordinator_decisions_total"
                         '{reason="regrouped"} > 0')
        self.await_value("paceline_coordinator_groups > 0")

    def a_worker_is_lost_and_another_joins(self):
        self.cluster.kill("w1")
        # Whoever comes under its name says that it is gone; else its lease.
        self.cluster.start("paceline-worker", "w1", *WORKERS["w1"])
        self.follow_members()
        self.await_value("paceline_coordinator_workers_lost_total"
                         '{reason="stream broken"} == 1')
        self.await_value(f"paceline_coordinator_workers == {len(WORKERS)}")

    def an_alert_ends_with_its_cause(self):
        slow = {"name": "PacelineLastingStraggler", "worker": SLOW,
                "job_id": JOB}
        self.assertEqual(self.stack.webhook.status(**slow), "firing")
        self.cluster.command("worker", "drain", SLOW)
        self.await_alert("resolved", **slow)

    def a_job_that_stands_still_raises_an_alert(self):
        """Its workers are held still and keep their leases for long."""
        self.cluster.signal_workers(signal.SIGSTOP)
        self.await_alert("firing", "PacelineTrainingStalled", job_id=JOB)
        self.cluster.signal_workers(signal.SIGCONT)
        self.await_alert("resolved", "PacelineTrainingStalled", job_id=JOB)

    def a_lost_server_raises_an_alert(self):
        self.assertIsNone(self.stack.webhook.status("PacelineServerLost"))
        self.cluster.kill("s1")
        self.await_alert("firing", "PacelineServerLost")
        self.cluster.start("paceline-server", "s1")
        self.follow_members()
        self.await_alert("resolved", "PacelineServerLost")
        # It has no backups: what the server held comes from a worker's copy.
        self.await_value("paceline_coordinator_shards_rebuilt_total"
                         f'{{job_id="{JOB}"}} == 1')
        self.assertIn("RUNNING", self.cluster.command("job", "get", "watched"))

    def the_boards_show_it(self):
        """Every query of every panel, choice and annotation has data; names
        that are made of labels have them and tell what they name apart."""
        span = Span(self.begin, time.time())
        boards = [Board(path, self.stack, span) for path in sorted(
            (SOURCE / "helm/paceline/dashboards").glob("*.json"))]
        self.assertEqual(len(boards), 4)
        for board in boards:
            for name, values in board.choices.items():
                with self.subTest(board=board.title, choice=name):
                    self.assertTrue(values)
            for panel, answers in board.panels():
                for target, series in answers:
                    if OF_PROGRAMS in target["expr"]:
                        continue
                    with self.subTest(board=board.title, panel=panel["title"],
                                      query=target["expr"]):
                        self.check_series(series, target["legendFormat"])
                        # The 0 that stands for what is absent would hide a
                        # metric that never is there.
                        self.assertTrue(board.range(
                            FALLBACK.sub("", target["expr"])), "only a 0")
                with self.subTest(board=board.title, panel=panel["title"]):
                    self.check_names(answers)
            for annotation, series in board.annotations():
                with self.subTest(board=board.title,
                                  annotation=annotation["name"]):
                    self.check_series(series, annotation["titleFormat"] +
                                      annotation["textFormat"])
        self.write_pages(boards)

    def check_series(self, series, legend):
        self.assertTrue(series, "no data")
        for label in LEGEND_LABEL.findall(legend):
            for one in series:
                self.assertTrue(one.labels.get(label),
                                f"{legend} of {one.labels}")

    def check_names(self, answers):
        names = [series.named(target["legendFormat"])
                 for target, found in answers for series in found
                 if target["legendFormat"]]
        self.assertEqual(len(names), len(set(names)), names)
        workers = {series.labels["worker"] for _, found in answers
                   for series in found if "worker" in series.labels}
        self.assertIn(workers, (set(), set(WORKERS)))

    @staticmethod
    def write_pages(boards):
        if "PACELINE_BOARDS" not in os.environ:
            return
        from render_board import render
        folder = pathlib.Path(os.environ["PACELINE_BOARDS"])
        folder.mkdir(parents=True, exist_ok=True)
        echarts = BIN.parent / "services/cli/plot/npm/echarts.min.js"
        for board in boards:
            page = folder / f"{board.json['uid']}.html"
            page.write_text(render(board, echarts.read_text()))


if __name__ == "__main__":
    BIN, SOURCE = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
    try:
        if missing_programs():
            print("skipped: missing", *missing_programs())
            sys.exit(77)
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2,
                      warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
