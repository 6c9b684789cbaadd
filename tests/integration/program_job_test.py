#!/usr/bin/python3
"""Jobs whose model is a program, with real processes of every kind.

    program_job_test.py BIN_DIR SOURCE_DIR

The program is plain_program.py, which has nothing but the standard library.
PACELINE_DEATHS says how often programs and agents are killed or stopped in the
middle of their work (25).
"""

import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

from real_cluster import LONG, RealCluster, until

BIN, SOURCE = None, None
PROGRAM = pathlib.Path(__file__).resolve().parent / "plain_program.py"
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-programs-"))
DEATHS = int(os.environ.get("PACELINE_DEATHS", "25"))
OFTEN = {("program", signal.SIGKILL): 5, ("agent", signal.SIGKILL): 3,
         ("program", signal.SIGSTOP): 1, ("agent", signal.SIGSTOP): 1}
# Behind a paradigm stands a batching other than even.
#
# Each sample is in the weights once an epoch, with weight 1.
EXACT = ("bsp", "bsp balanced", "asp", "ssp:s=3", "dssp:lower=3,upper=15",
         "psp:beta=1,s=2", "cgp:warmup_rounds=1", "saps:s=3", "abs:pieces=8",
         "elastic:r=5", "kasync:k=2", "kbatchasync:k=2",
         "syncswitch:first=bsp,then=asp,at=0.5")
# A gradient that is too late for its round, or too stale, is discarded: its
# samples count, and are not in the weights.
DISCARDING = ("ksync:k=2", "kbatchsync:k=2", "backup:b=1",
              "asp:staleness_cap=1",
              "saps:mode=drop,s=1,starve_limit=1000000000")
# How much a gradient counts depends on its staleness, or it is corrected by the
# weights' way since it began: what is in the weights says no number of samples.
WEIGHING = ("asp:staleness_weight=inverse",
            "kasync:k=2,staleness_weight=exponential,decay=0.1",
            "ssp:s=3,staleness_weight=delay_compensated,lambda=0.04",
            "cgp:warmup_rounds=1,stale_weight=inverse",
            "saps:mode=damp,s=1,s_max=3")
PARADIGMS = EXACT + DISCARDING + WEIGHING
# What a job is told by the agent of a program that is killed.
KILLED = re.compile(r"UNAVAILABLE: the program exited with 137 \(killed: out "
                    r"of memory\?\) in step \d+; last lines: .*w\d has done "
                    r"\d+ steps$", re.MULTILINE)
MOST_IN_A_SECOND = 10  # Lines about losses that a job's log has.


def pause(seconds):
    threading.Event().wait(seconds)


def alive(pid):
    """Of a program, which its agent reaps, or who does that for its orphans."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class ProgramJobTest(unittest.TestCase):
    def start(self, workers, *flags, **environment):
        """A cluster whose workers, and evaluator, start the program."""
        own = ["--program", "plain", "--exec",
               f"exec {sys.executable} {PROGRAM} {SCRATCH}"]
        self.flags = {name: [*own, *flags] for name in workers}
        self.cluster = RealCluster(BIN, SCRATCH, 2, list(self.flags.items()),
                                   own, lease="3s",
                                   environment={**os.environ, **environment})
        self.addCleanup(self.cluster.stop)

    def paceline(self, *words):
        """What the command prints as JSON."""
        done = subprocess.run(
            [BIN / "paceline", *words],
            env={"HOME": str(SCRATCH),
                 "PACELINE_ADDRESS": self.cluster.address},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=LONG, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def create(self, name, task, arguments=(), **spec):
        job = {"name": name,
               "spec": {"model": "program:plain", "data": "program",
                        "arguments": {"task": task, **dict(arguments)},
                        "batch_size": 32, "learning_rate": 1,
                        "optimizer": "sgd", "schedule": "constant", **spec}}
        path = SCRATCH / f"{name}.json"
        path.write_text(json.dumps(job))
        self.paceline("job", "create", "-f", str(path))

    def job(self, name):
        return json.loads(self.paceline("job", "get", name, "-o", "json"))

    def await_end(self, name):
        ends = ("SUCCEEDED", "FAILED", "CANCELLED")
        until(f"{name} ends", lambda: self.job(name)["state"] in ends)
        return self.job(name)

    def test_a_model_of_ones_own_is_trained(self):
        self.start(["w0", "w1"])
        for paradigm, wire in (("bsp", "FP32"), ("asp", "INT8")):
            lives = SCRATCH / f"classify-{paradigm}"
            lives.mkdir()
            self.create(paradigm, "classify", {"lives": str(lives)},
                        paradigm=paradigm, learning_rate=0.1,
                        micro_batch=8, wire=wire, stop={"epochs": 4})
            job = self.await_end(paradigm)
            self.assertEqual(job["state"], "SUCCEEDED", job)
            self.assertEqual(int(job["progress"]["samples"]), 4 * 1024)
            figures = json.loads((lives / "evaluated").read_text())
            self.assertGreater(figures["accuracy"], 0.85)
            self.assertLess(figures["loss"], 0.6)
        self.assertEqual(set(self.cluster.stop()), {0})

    def test_a_script_with_a_mistake_fails_clearly(self):
        self.start(["w0"])
        self.create("wrong", "break", stop={"epochs": 100})
        job = self.await_end("wrong")
        self.assertEqual(job["state"], "FAILED")
        self.assertIn("IndexError: the list is too short", job["stateReason"])

    def test_no_paradigm_is_left_out(self):
        page = (SOURCE / "docs" / "paradigms.md").read_text()
        table = page.split("| spec |")[1].split("\n\n")[0]
        self.assertEqual(set(re.findall(r"\n\| `([a-z]+)[:`]", table)),
                         {re.split("[: ]", rule)[0] for rule in PARADIGMS})

    def test_whoever_dies_each_sample_counts_once(self):
        temporary = SCRATCH / "tmp"
        temporary.mkdir()
        self.start(["w0", "w1", "w2"], "--step-time", "5ms",
                   TMPDIR=str(temporary))
        draw = random.Random(DEATHS)
        deaths = collections.Counter()
        for place, paradigm in enumerate(PARADIGMS):
            share = (DEATHS * (place + 1) // len(PARADIGMS)
                     - DEATHS * place // len(PARADIGMS))
            with self.subTest(paradigm):
                deaths += self.train_among_deaths(f"counts-{place}", paradigm,
                                                  share, draw)
        print(", ".join(f"{who} by {how.name}: {count}"
                        for (who, how), count in deaths.items()), flush=True)
        self.see_agents_logs(deaths)
        # Nobody is left of those that were killed, nor of the others.
        self.assertEqual(set(self.cluster.stop()), {0})
        left = subprocess.run(["pgrep", "-f", f"{PROGRAM.name} {SCRATCH}"],
                              stdout=subprocess.PIPE, check=False).stdout
        self.assertEqual(left.decode(), "")
        self.assertEqual(list(temporary.iterdir()), [])

    def train_among_deaths(self, name, rule, share, draw):
        """Trains until `share` have died; returns how many died how."""
        lives = SCRATCH / name
        lives.mkdir()
        paradigm, _, batching = rule.partition(" ")
        # One block, of which a push is taken or not.
        self.create(name, "count", {"lives": str(lives)}, paradigm=paradigm,
                    batching=batching or "even", servers=1,
                    stop={"epochs": 100000})
        deaths = collections.Counter()
        while deaths.total() < share:
            [(who, how)] = draw.choices(list(OFTEN), OFTEN.values())
            if self.end_life(who, how, lives, draw):
                deaths[who, how] += 1
            self.assertIn(self.job(name)["state"],
                          ("PENDING", "STARTING", "RUNNING"))
        self.see_reasons(name, deaths)
        # It stands still while it is told where to end.
        self.paceline("job", "pause", name)
        until("it is paused", lambda: self.job(name)["state"] == "PAUSED")
        epochs = int(self.job(name)["progress"]["samples"]) // 1024 + 2
        self.paceline("job", "update", name, "--set",
                      f"spec.stop.epochs={epochs}")
        self.paceline("job", "resume", name)
        discarded = self.see_counts(self.await_end(name), lives, epochs, rule)
        print(f"{rule}: {deaths.total()} deaths, {epochs} epochs, {discarded} "
              "samples discarded", flush=True)
        return deaths

    def see_counts(self, job, lives, epochs, rule):
        """Every sample was counted once an epoch; and used, as far as the
        weights say it. How many were discarded."""
        self.assertEqual(job["state"], "SUCCEEDED", job)
        samples = int(job["progress"]["samples"])
        self.assertEqual(samples, epochs * 1024)
        figures = json.loads((lives / "evaluated").read_text())
        discarded = int(job["progress"].get("samplesDiscarded", 0))
        if rule in EXACT:
            self.assertEqual(discarded, 0)
            self.assertAlmostEqual(figures["least"], epochs, delta=0.01)
        if rule in EXACT + DISCARDING:
            self.assertLess(figures["most"], epochs + 0.01)
            self.assertAlmostEqual(figures["total"], samples - discarded,
                                   delta=0.5)
        return discarded

    def see_reasons(self, name, deaths):
        """The job counts each loss and names its reason, with a killed
        program's exit status and last words."""
        def lost():
            """By reason, as the job counts them."""
            found = re.findall(
                "paceline_coordinator_workers_lost_total{job_id=\"namespaces/"
                f'default/jobs/{name}",reason="([a-z ]+)"}} (\\d+)',
                self.cluster.metrics())
            return collections.Counter(
                {reason: int(count) for reason, count in found})
        until(f"{name} has lost all that died",
              lambda: lost().total() >= deaths.total())
        counted = lost()
        # On a busy machine somebody may stand still too long by himself, and is
        # not missed any more when he is killed.
        slow = (counted["stuck"] + counted["lease ended"]
                - deaths["program", signal.SIGSTOP]
                - deaths["agent", signal.SIGSTOP])
        self.assertGreaterEqual(slow, 0, counted)
        for who, reason in (("program", "failed"), ("agent", "stream broken")):
            self.assertGreaterEqual(counted[reason] + slow,
                                    deaths[who, signal.SIGKILL], counted)

        def log():
            return self.paceline("job", "logs", name)
        try:
            until(f"{name} tells how {counted['failed']} programs died",
                  lambda: len(KILLED.findall(log())) >= counted["failed"], 60)
        except AssertionError:
            print(f"{name} lost {counted}, and says:", *(
                line for line in log().splitlines() if "  worker-lost  " in line),
                  sep="\n", flush=True)
            raise
        # Of the other lines none is left out of so few.
        if log().count("  worker-lost  ") < MOST_IN_A_SECOND:
            until(f"{name} tells of {counted}", lambda: collections.Counter(
                re.findall(r"  worker-lost  lost \((.*?)\)", log())) == lost())

    def see_agents_logs(self, deaths):
        """What only an agent knows: how the program ended that it ended."""
        log = "".join((self.cluster.folder / f"{name}.log").read_text()
                      for name in self.flags)
        self.assertGreaterEqual(len(re.findall(
            r"exited with 137 \(killed: out of memory\?\) in step", log)),
            deaths["program", signal.SIGKILL])
        self.assertGreaterEqual(len(re.findall(
            r"the program did not end by itself.*last lines: .*has done", log)),
            deaths["program", signal.SIGSTOP])

    def end_life(self, who, how, lives, draw):
        """False if there was none to end."""
        name, pid = until("a program has done something",
                          lambda: self.somebody(lives, draw))
        pause(draw.uniform(0, 0.03))
        agent = self.cluster.processes[name]
        try:
            os.kill(pid if who == "program" else agent.pid, how)
        except ProcessLookupError:
            return False
        if who == "program":
            # Its agent ends one that is stopped once it is given up as stuck.
            until("the program is gone", lambda: not alive(pid))
            return True
        if how == signal.SIGSTOP:
            until("the agent is given up", lambda: name not in self.agents())
            if draw.random() < 0.5:
                agent.send_signal(signal.SIGCONT)
                until("the agent is back", lambda: name in self.agents())
                return True
        self.cluster.kill(name)
        until("its program is gone", lambda: not alive(pid))
        until("the agent is given up", lambda: name not in self.agents())
        self.cluster.start("paceline-worker", name, *self.flags[name])
        return True

    def somebody(self, lives, draw):
        """A worker, and the pid of its program, that has done something."""
        name = draw.choice(list(self.flags))
        try:
            pid = int((lives / name).read_text())
            (lives / name).unlink()
            return name, pid
        except FileNotFoundError:
            return None

    def agents(self):
        """The names of the workers that the coordinator has."""
        workers = self.paceline("worker", "list", "-o", "name").split()
        return [worker.rsplit("/", 1)[-1] for worker in workers]


if __name__ == "__main__":
    BIN, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    try:
        unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2,
                      warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
