"""A cluster of real processes on loopback, for tests of its clients."""

import json
import pathlib
import random
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

LONG = 300  # Seconds; ends only what would hang.
# Seconds from one look to the next, at least and at most: between them it is
# twice what a look takes, so that who waits leaves the processors to the others.
LOOK_AGAIN = 0.1
LOOK_AT_LAST = 0.3


def until(what, check, seconds=LONG):
    """What `check` returns, as soon as that is true."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        began = time.monotonic()
        found = check()
        if found:
            return found
        now = time.monotonic()
        if now > deadline:
            raise AssertionError(f"within {seconds} s it was not seen: {what}")
        pause.wait(min(max(LOOK_AGAIN, 2 * (now - began)), LOOK_AT_LAST))


def free_port():
    """One that a process may listen on again after it has let go of it: the
    system gives it to no connection."""
    low = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
              .read_text().split()[0])
    while True:
        port = random.randrange(low // 2, low)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class RealCluster:
    """`workers` are (name, flags), `evaluator` the flags of e0,
    `coordinator` more of its flags, `checkpoints` where these go if not into
    a folder of its own."""

    environment = None  # Of what it starts; None: this process's.

    def __init__(self, bin_dir, scratch, servers, workers, evaluator=(),
                 coordinator=(), lease="5s", environment=None,
                 checkpoints=None):
        self.environment = environment or self.environment
        self.bin = pathlib.Path(bin_dir)
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        self.checkpoint_root = checkpoints or self.folder / "checkpoints"
        self.coordinator_flags = ["--lease", lease, *coordinator]
        self.processes = {}
        self.ports = {}  # Of each member's monitoring.
        self.readers = []
        self.port = free_port()
        self.start_coordinator()
        for i in range(servers):
            self.start("paceline-server", f"s{i}")
        for name, flags in workers:
            self.start("paceline-worker", name, *flags)
        self.start("paceline-worker", "e0", "--evaluator", *evaluator)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def coordinator_of(self, name):
        """Where a member finds the coordinator."""
        return self.address

    def start_coordinator(self):
        """On the same port again and again. Without a `checkpoint_root` it
        keeps no checkpoints."""
        keeps = (["--checkpoints", self.checkpoint_root]
                 if self.checkpoint_root else [])
        with self.coordinator_log() as log:
            self.coordinator = subprocess.Popen(
                [self.bin / "paceline-coordinator", "--listen", self.address,
                 "--store", self.folder / "jobs.db", *keeps,
                 *self.coordinator_flags],
                stdout=subprocess.PIPE, stderr=log, env=self.environment)
        if not self.coordinator.stdout.readline():
            log = (self.folder / "coordinator.log").read_text()
            raise AssertionError(f"the coordinator has ended: {log[-2000:]}")

    def coordinator_log(self):
        """Where it goes, one start after the other."""
        return open(self.folder / "coordinator.log", "ab")

    def start(self, program, name, *flags):
        """Returns when the coordinator has it."""
        process = subprocess.Popen(
            [self.bin / program, "--coordinator", self.coordinator_of(name),
             "--name", name, *flags], stderr=subprocess.PIPE, env=self.environment)
        self.processes[name] = process
        registered = threading.Event()
        reader = threading.Thread(target=self.keep_log,
                                  args=(process, name, registered))
        reader.start()
        self.readers.append(reader)
        if not registered.wait(LONG):
            raise TimeoutError(f"{name} has not registered")

    def keep_log(self, process, name, registered):
        # One life after the other.
        with process.stderr, open(self.folder / f"{name}.log", "ab",
                                  buffering=0) as log:
            for line in process.stderr:
                log.write(line)
                if b"metrics_port" in line:
                    self.ports[name] = json.loads(line)["metrics_port"]
                if b'"registered"' in line:
                    registered.set()

    def end(self, name):
        """Tells one member to end, and waits for it."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        return process.wait(timeout=LONG)

    def kill(self, name):
        """One member dies without a word."""
        process = self.processes.pop(name)
        process.kill()
        process.wait(timeout=LONG)

    def process_ids(self):
        """Of all, with those that they have started."""
        found = [self.coordinator.pid,
                 *(process.pid for process in self.processes.values())]
        for parent in found:
            for task in pathlib.Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        return found

    def stop(self):
        """The exit codes of all, told to end by SIGTERM."""
        everybody = [*self.processes.values(), self.coordinator]
        for process in everybody:
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(timeout=LONG) for process in everybody]
        for reader in self.readers:
            reader.join()
        self.coordinator.stdout.close()
        return codes

    def metrics(self):
        """What the coordinator serves to Prometheus."""
        return self.ask("coordinator", "/metrics")[1]

    def monitoring_port(self, name):
        if name != "coordinator":
            return self.ports[name]
        log = (self.folder / "coordinator.log").read_text()
        return [json.loads(line)["metrics_port"] for line in log.splitlines()
                if "metrics_port" in line][-1]

    def ask(self, name, path):
        """What a process answers over plain HTTP: the code and the text."""
        url = f"http://127.0.0.1:{self.monitoring_port(name)}{path}"
        try:
            with urllib.request.urlopen(url, timeout=LONG) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
