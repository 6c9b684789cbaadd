"""A cluster with two coordinators, of which one leads."""

import json
import signal
import subprocess
import threading

from real_cluster import LONG, RealCluster, free_port, until


class StandbyCluster(RealCluster):
    """c0 and c1. `lock` has the flags by which they agree on who leads;
    without any c0 does, and c1 stands by until somebody promotes it. A
    coordinator that ends by itself is started again if `restarts`, as
    Kubernetes would."""

    def __init__(self, bin_dir, scratch, servers, workers, lock=(),
                 restarts=False, **options):
        self.lock = [*lock]
        self.restarts = restarts
        self.coordinators = {}
        self.watches = {}
        self.places = {name: f"127.0.0.1:{free_port()}"
                       for name in ("c0", "c1")}
        self.codes = []  # Of those that ended by themselves.
        self.stopping = False
        super().__init__(bin_dir, scratch, servers, workers, **options)

    @property
    def address(self):
        return ",".join(self.places.values())

    def start_coordinator(self):
        (self.folder / "checkpoints").mkdir(exist_ok=True)
        for name in self.places:
            self.start_one(name)

    def flags_of(self, name):
        if self.lock:
            return self.lock
        return ["--standby-of", self.places["c0"]] if name == "c1" else []

    def start_one(self, name):
        """Returns when it listens."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        with open(self.folder / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                [self.bin / "paceline-coordinator", "--name", name,
                 "--listen", self.places[name], "--store", folder / "jobs.db",
                 "--checkpoints", self.folder / "checkpoints",
                 *self.flags_of(name), *self.coordinator_flags],
                stdout=subprocess.PIPE, stderr=log, env=self.environment)
        process.stdout.readline()
        self.coordinators[name] = process
        self.watches[name] = threading.Thread(target=self.watch,
                                              args=(name, process))
        self.watches[name].start()

    def watch(self, name, process):
        code = process.wait()
        process.stdout.close()
        if code >= 0 and not self.stopping:
            self.codes.append(code)
            if self.restarts:
                self.start_one(name)

    def kill_one(self, name):
        self.coordinators[name].kill()
        self.watches[name].join()

    def list_coordinators(self, address=None):
        """What `paceline coordinator list` shows, by name."""
        done = subprocess.run(
            [self.bin / "paceline", "coordinator", "list", "-o", "json",
             "--address", address or self.address],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=LONG, check=False)
        listed = json.loads(done.stdout) if done.returncode == 0 else {}
        return {one["name"]: one for one in listed.get("coordinators", [])}

    def leader(self):
        return next((name for name, one in self.list_coordinators().items()
                     if one["role"] == "LEADER"), None)

    def await_standby(self):
        """Until one leads, and the other one could; returns who leads."""
        def look():
            found = self.list_coordinators()
            if len(found) == 2 and all(one.get("ready")
                                       for one in found.values()):
                return next(name for name, one in found.items()
                            if one["role"] == "LEADER")
            return None
        return until("a standby that could lead", look)

    def stop(self):
        self.stopping = True
        everybody = [*self.processes.values(), *self.coordinators.values()]
        for process in everybody:
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(timeout=LONG) for process in everybody]
        for reader in [*self.readers, *self.watches.values()]:
            reader.join()
        return codes
