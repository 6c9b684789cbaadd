"""A cluster as an operator runs one, for trials: processes that show each
other certificates, a person's command, and jobs whose samples are counted."""

import array
import collections
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import unittest

# What other tests of real processes have.
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))

from real_cluster import LONG, RealCluster, until  # noqa: E402, F401

BIN = pathlib.Path(sys.argv[1]).resolve()
# How long a trial lasts that can last: none of it is the short form, which
# takes as long as it must to have everything happen a few times.
MINUTES = float(os.environ.get("PACELINE_TRIAL_MINUTES", "0"))
LEASE = "3s"
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="paceline-trial-"))
BATCH = 32
# A program each of whose weights counts how often a sample was used, and how
# many it has of them.
PROGRAM = (pathlib.Path(__file__).resolve().parents[1] / "integration" /
           "plain_program.py")
COUNTED = 1024

COORDINATOR = "paceline-coordinator"
SERVER = "paceline-server"
WORKER = "paceline-worker"

# None of its numbers is a member's: certificates of a role are shared, as the
# chart has them.
IDENTITIES = {"coordinator": "coordinator/coordinator,127.0.0.1",
              "server": "server/server,127.0.0.1",
              "worker": "worker/worker", "admin": "admin/operator",
              "viewer": "viewer/stranger"}

SPEC = {
    "model": "mlp", "data": "synthetic:shapes", "paradigm": "asp",
    "batch_size": BATCH, "learning_rate": 0.01, "seed": 1,
    "schedule": "constant", "workers": {"min": 1},
    "stop": {"samples": 1_000_000_000}, "evaluation": {"every": 2000},
    "checkpoints": {"interval": "3s", "keep": 3},
}


# Of one block: a push is taken or not.
COUNTING_SPEC = {
    "model": "program:plain", "data": "program", "arguments": {"task": "count"},
    "paradigm": "asp", "batch_size": BATCH, "learning_rate": 1,
    "optimizer": "sgd", "schedule": "constant", "wire": "FP32", "servers": 1,
    "workers": {"min": 1}, "stop": {"epochs": 1_000_000},
    "evaluation": {"disabled": True},
    "checkpoints": {"interval": "3s", "keep": 3},
}


class TrialCluster(RealCluster):
    """`step` is what a batch takes a worker. A coordinator, servers s0..,
    workers w0.., c0.. with the program that counts, and the evaluator e0, all
    behind mutual TLS."""

    def __init__(self, servers=2, workers=2, step="20ms", coordinator=(),
                 lease=LEASE, counting=0):
        self.tls = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH)) / "tls"
        self.issue()
        self.worker_flags = ["--step-time", step]
        super().__init__(
            BIN, SCRATCH, servers,
            [(f"w{i}", self.worker_flags) for i in range(workers)],
            coordinator=[*self.certificates("coordinator"), *coordinator],
            lease=lease)
        for i in range(counting):
            self.start_worker(f"c{i}")

    def issue(self, identities=IDENTITIES):
        """Certificates that are missing, or are for others now."""
        subprocess.run(
            [BIN / "paceline", "certificate", "ensure", "--directory", self.tls,
             *(f"{name}={of}" for name, of in identities.items())],
            check=True, capture_output=True, timeout=LONG)

    def certificates(self, name):
        folder = self.tls / name
        return ["--tls-cert", folder / "tls.crt", "--tls-key",
                folder / "tls.key", "--tls-ca", folder / "ca.crt"]

    def member_flags(self, program):
        return self.certificates("server" if program == SERVER else "worker")

    def start(self, program, name, *flags):
        super().start(program, name, *self.member_flags(program), *flags)

    def start_worker(self, name):
        program = ["--program", "plain", "--exec",
                   f"exec {sys.executable} {PROGRAM}"]
        self.start(WORKER, name, *self.worker_flags,
                   *(program if name.startswith("c") else ()))

    coordinator_may_die = False

    def kill_coordinator(self):
        self.coordinator_may_die = True
        self.coordinator.kill()
        self.coordinator.wait(timeout=LONG)
        self.coordinator.stdout.close()

    def everybody(self):
        """The processes by name, the coordinator's too."""
        return {"coordinator": self.coordinator, **self.processes}

    def ask_command(self, *arguments, patience=LONG):
        """How the command ended, as the operator: its exit code and what it
        said."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("PACELINE_")}
        done = subprocess.run(
            [BIN / "paceline", *arguments, "--address", self.address,
             *self.certificates("admin")],
            env={**environment, "PACELINE_CONFIG": str(self.folder / "none")},
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=patience, check=False)
        return done.returncode, done.stdout + done.stderr

    def command(self, *arguments):
        """What the command says; it must end well."""
        code, text = self.ask_command(*arguments)
        if code != 0:
            raise AssertionError(f"paceline {arguments}: exit {code}\n{text}")
        return text

    def shown(self, *arguments):
        return json.loads(self.command(*arguments, "-o", "json"))

    def members(self):
        """The names of who is registered, servers and workers alike."""
        servers = self.shown("server", "list").get("servers", [])
        workers = self.shown("worker", "list").get("workers", [])
        return {one["name"].split("/")[-1] for one in (*servers, *workers)}

    def working(self):
        """The names of the workers that have a job."""
        return [one["name"].split("/")[-1]
                for one in self.shown("worker", "list")["workers"]
                if one.get("job") and not one.get("evaluator")]

    def server_addresses(self):
        return [one["address"]
                for one in self.shown("server", "list")["servers"]]

    def shards_of(self, name):
        """(job, shard, epoch) of what a server has."""
        return {(shard["job"], shard.get("shard", 0), shard["epoch"])
                for one in self.shown("server", "list").get("servers", [])
                if one["name"] == f"servers/{name}"
                for shard in one.get("shards", [])}

    def create(self, name, of=SPEC, **spec):
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps({"name": name, "spec": {**of, **spec}}))
        self.command("job", "create", "-f", str(file))

    def job(self, name):
        return self.shown("job", "get", name)

    def counted(self, name):
        return int(self.job(name).get("progress", {}).get("samples", 0))

    def series(self, metric, name):
        """What the coordinator exports of a job."""
        series = (f"paceline_coordinator_{metric}"
                  f'{{job_id="namespaces/default/jobs/{name}"}} ')
        [line] = [line for line in self.metrics().splitlines()
                  if line.startswith(series)]
        return int(float(line[len(series):]))

    def samples_of_pushes(self, name):
        """Those of all pushes that this coordinator has counted."""
        return self.series("samples_counted_total", name)

    def pushes(self, name):
        return self.series("pushes_total", name)

    def weights(self, name, tensor):
        """Of the newest checkpoint of a job."""
        saved = self.shown("checkpoint", "list", name)["checkpoints"][0]
        blocks = {}
        for path in pathlib.Path(saved["directory"]).glob(
                "server-*.safetensors"):
            bytes_ = path.read_bytes()
            data = 8 + int.from_bytes(bytes_[:8], "little")
            header = json.loads(bytes_[8:data])
            for block in header:
                of, _, number = block.rpartition("/")
                if of == tensor:
                    begin, end = header[block]["data_offsets"]
                    blocks[int(number)] = bytes_[data + begin:data + end]
        values = array.array("f")
        for _, block in sorted(blocks.items()):
            values.frombytes(block)
        return values

    def trains_on(self, name, more=40 * BATCH):
        """Waits until so many samples more are counted than now."""
        before = self.counted(name)

        def counts():
            job = self.job(name)
            if job["state"] == "FAILED":
                raise AssertionError(f"{name}: {job['stateReason']}")
            return int(job.get("progress", {}).get("samples", 0)) >= (
                before + more)
        until(f"{name} counts {more} samples more than {before}", counts)

    def finish(self, name, more=200 * BATCH):
        """Sets its end a little ahead and waits for it: how many samples were
        asked for, and the job."""
        asked = (self.counted(name) + more) // BATCH * BATCH
        self.command("job", "update", name, "--set",
                     f"spec.stop.samples={asked}")
        self.command("job", "wait", name, "--for=state=SUCCEEDED",
                     f"--timeout={LONG}s")
        return asked, self.job(name)

    def logs(self):
        """The end of each process's log, for who looks for a cause."""
        return "\n".join(
            f"== {path.name}\n" + "".join(
                path.read_text(errors="replace").splitlines(True)[-15:])
            for path in sorted(self.folder.glob("*.log")))


class Trial(unittest.TestCase):
    """One that ends its clusters, and shows their logs if it fails."""

    maxDiff = None

    def setUp(self):
        self.clusters = []

    def cluster(self, kind=TrialCluster, **options):
        cluster = kind(**options)
        self.clusters.append(cluster)
        return cluster

    def ends_well(self, cluster):
        """All that still run are told to stop, and none of them complains."""
        self.clusters.remove(cluster)
        names = [*cluster.processes, "coordinator"]
        self.assertEqual(dict(zip(names, cluster.stop())),
                         dict.fromkeys(names, 0), cluster.logs())

    def is_exact(self, cluster, name, whole=True, **options):
        """The job ends with as many samples as it was asked for. `whole`: by one
        coordinator, without going back; then the pushes that it has taken, each
        counted as it came, had as many."""
        asked, job = cluster.finish(name, **options)
        self.assertEqual(int(job["progress"]["samples"]), asked)
        if whole:
            self.assertEqual(cluster.samples_of_pushes(name), asked)
        return asked, job

    def ends_after_epochs(self, cluster, name):
        """A job of a program that counts ends after so many whole epochs."""
        cluster.command("job", "pause", name)
        cluster.command("job", "wait", name, "--for=state=PAUSED",
                        f"--timeout={LONG}s")
        epochs = cluster.counted(name) // COUNTED + 2
        cluster.command("job", "update", name, "--set",
                        f"spec.stop.epochs={epochs}")
        cluster.command("job", "resume", name)
        cluster.command("job", "wait", name, "--for=state=SUCCEEDED",
                        f"--timeout={LONG}s")
        self.assertEqual(cluster.counted(name), epochs * COUNTED)
        return epochs

    def counts_each_sample(self, cluster, name):
        """A job of the program that counts ends after whole epochs, and its
        weights say that each sample was used once in each."""
        epochs = self.ends_after_epochs(cluster, name)
        counts = cluster.weights(name, "counts")
        self.assertEqual(len(counts), COUNTED)
        wrong = {sample: count for sample, count in enumerate(counts)
                 if abs(count - epochs) > 0.01}
        self.assertEqual(wrong, {}, f"of {epochs} epochs")
        return epochs

    def tearDown(self):
        for cluster in self.clusters:
            print(cluster.logs(), file=sys.stderr)
            for process in cluster.everybody().values():
                process.kill()
            cluster.stop()


class Course:
    """What a process has of something, looked at again and again."""

    def __init__(self):
        self.values = collections.defaultdict(list)

    def look(self, processes):
        """`processes` by name."""
        for name, process in processes.items():
            pages = pathlib.Path(f"/proc/{process.pid}/statm").read_text()
            resident = int(pages.split()[1]) * os.sysconf("SC_PAGESIZE")
            self.values[name, "memory"].append(resident)
            self.values[name, "descriptors"].append(
                len(os.listdir(f"/proc/{process.pid}/fd")))

    def thirds(self):
        """(who, of what, the median of the first third and of the last)."""
        for (name, kind), values in self.values.items():
            third = max(1, len(values) // 3)
            yield (name, kind, statistics.median(values[:third]),
                   statistics.median(values[-third:]))


class Rhythm:
    """Says when something is due again."""

    def __init__(self, every):
        self.every = every
        self.next = time.monotonic() + every

    def due(self):
        if time.monotonic() < self.next:
            return False
        self.next += self.every
        return True


def pause(seconds):
    threading.Event().wait(seconds)


def main():
    try:
        unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[2:]],
                      verbosity=2, warnings="ignore")
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
