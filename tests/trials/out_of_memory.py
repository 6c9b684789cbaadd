#!/usr/bin/python3
"""Memory runs out in one process: it gets hardly more than it has, and then
something to do that needs more.

    out_of_memory.py BIN_DIR

It may refuse, with a reason, or die: then what docs/upgrade.md says of a
process that was killed must be enough.
"""

import pathlib
import re
import resource

from trial_cluster import Trial, main, until

FIRST = "first"
SECOND = "second"
ROOM = 1 << 20  # Bytes that the process may have more than now.
# Needs some hundred megabytes of a worker, for one batch.
LARGE_BATCH = {"batch_size": 12_000, "micro_batch": 12_000,
               "stop": {"samples": 24_000}, "workers": {"min": 1, "max": 1}}
# Its weights and moments are some hundred megabytes; nobody waits for it to
# train.
LARGE_MODEL = {"model": "resnet50", "data": "synthetic:color-shapes",
               "optimizer": "adam", "batch_size": 1}


class OutOfMemory(Trial):
    def setUp(self):
        super().setUp()
        self.trained = self.cluster()
        self.trained.create(FIRST, workers={"min": 1, "max": 1},
                            checkpoints={"interval": "1s", "keep": 3})
        self.trained.trains_on(FIRST)

    def limit(self, process):
        # Not of the address space, of which the C library reserves much more
        # than it uses.
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        used = int(re.search(r"VmData:\s+(\d+) kB", status)[1]) << 10
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (used + ROOM, -1))

    def state(self, name):
        """And none while the coordinator is away."""
        code, text = self.trained.ask_command(
            "job", "get", name, "-o", "json", "--request-timeout", "2s")
        return text.split('"state": "')[1].split('"')[0] if code == 0 else None

    def provoke(self, name, **spec):
        """What became of the process and of the second job: it has died, or the
        job was refused, has failed, or trains."""
        process = self.trained.everybody()[name]
        self.limit(process)
        refusal = None
        try:
            self.trained.create(SECOND, **spec)
        except AssertionError as error:
            refusal = str(error)

        def outcome():
            code = process.poll()
            if code is not None:
                return f"ended with {code}"
            if refusal:
                return f"refused: {refusal}"
            state = self.state(SECOND)
            if state in ("FAILED", "SUCCEEDED"):
                return f"the job is {state}"
            if state == "RUNNING" and self.trained.counted(SECOND) > 0:
                return "it had enough"
            return None
        found = until(f"{name} dies, refuses or does it", outcome)
        print(f"{name}: {found}")
        if process.poll() is None:
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (-1, -1))
        return process.poll() is not None

    def goes_on(self, name):
        """With the command that its state asks for."""
        remedy = {"PAUSED": "resume", "FAILED": "restore"}
        state = until(f"{name} has a state", lambda: self.state(name))
        if state == "FAILED":
            reason = self.trained.job(name).get("stateReason", "")
            self.assertNotEqual(reason, "")
            print(f"{name}: {reason}")
        if state in remedy:
            self.trained.command("job", remedy[state], name)
        self.trained.trains_on(name)

    def test_of_a_worker(self):
        [busy] = self.trained.working()
        free = {"w0": "w1", "w1": "w0"}[busy]
        if self.provoke(free, **LARGE_BATCH):
            self.trained.processes.pop(free)
            self.trained.start_worker(free)
        self.assertEqual(self.trained.job(FIRST)["state"], "RUNNING")
        self.assertNotIn("lost (", self.trained.command("job", "logs", FIRST))
        self.is_exact(self.trained, FIRST)
        until("the second job has ended", lambda: self.state(SECOND)
              in ("SUCCEEDED", "FAILED"))
        if self.state(SECOND) == "FAILED":
            self.assertIn("no memory for",
                          self.trained.job(SECOND)["stateReason"])
        self.ends_well(self.trained)

    def test_of_a_server(self):
        if self.provoke("s0", **LARGE_MODEL):
            self.trained.processes.pop("s0")
            self.trained.start("paceline-server", "s0")
        self.ends_both()

    def test_of_the_coordinator(self):
        if self.provoke("coordinator"):
            self.trained.coordinator.stdout.close()
            self.trained.start_coordinator()
            until("all are back", lambda: {"s0", "s1", "w0", "w1"}
                  <= self.trained.members())
        self.ends_both()

    def ends_both(self):
        if self.state(SECOND) not in (None, "CANCELLED", "FAILED"):
            self.trained.command("job", "cancel", SECOND, "--yes")
        self.goes_on(FIRST)
        self.is_exact(self.trained, FIRST, whole=False)
        self.ends_well(self.trained)


if __name__ == "__main__":
    main()
