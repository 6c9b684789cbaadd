#!/usr/bin/python3
"""A process starts while the one that it follows has not ended: as when a
service manager is impatient, or a unit file was copied.

    successors.py BIN_DIR
"""

import json
import signal
import subprocess
import tempfile

from trial_cluster import (COORDINATOR, LONG, SERVER, WORKER, Trial, main,
                           until)

JOB = "followed"


class Successors(Trial):
    def setUp(self):
        super().setUp()
        self.said = tempfile.TemporaryFile("w+")
        self.addCleanup(self.said.close)
        self.trained = self.cluster()
        self.trained.create(JOB)
        self.trained.trains_on(JOB)

    def second_coordinator(self, listen):
        cluster = self.trained
        return subprocess.Popen(
            [cluster.bin / COORDINATOR, "--listen", listen, "--store",
             cluster.folder / "jobs.db", "--checkpoints",
             cluster.folder / "checkpoints", *cluster.coordinator_flags],
            stdout=subprocess.PIPE, stderr=self.said, text=True)

    def what_it_said(self):
        self.said.seek(0)
        return self.said.read()

    def test_a_second_coordinator_is_refused(self):
        cluster = self.trained
        second = self.second_coordinator("127.0.0.1:0")
        second.communicate(timeout=LONG)
        self.assertEqual(second.returncode, 1, self.what_it_said())
        self.assertIn(str(cluster.coordinator.pid),
                      self.what_it_said())
        cluster.trains_on(JOB)
        self.is_exact(cluster, JOB)
        self.ends_well(cluster)

    def test_a_coordinator_that_follows_at_once(self):
        """It is started until it stays, as a service manager does it."""
        cluster = self.trained
        before = cluster.counted(JOB)
        first = cluster.coordinator
        first.send_signal(signal.SIGTERM)
        tries = 0
        while True:
            second = self.second_coordinator(cluster.address)
            tries += 1
            line = second.stdout.readline()
            if line:
                break
            second.communicate(timeout=LONG)
            self.assertEqual(second.returncode, 1, self.what_it_said())
        self.assertEqual(json.loads(line)["address"], cluster.address)
        self.assertEqual(first.wait(timeout=LONG), 0)
        first.stdout.close()
        cluster.coordinator = second
        print(f"the {tries}. start of the second one stayed")
        until("the job trains on by itself",
              lambda: cluster.counted(JOB) > before)
        self.is_exact(cluster, JOB, whole=False)
        self.ends_well(cluster)

    def test_a_server_that_follows_at_once(self):
        self.follows(SERVER, "s0")

    def test_a_worker_that_follows_at_once(self):
        self.follows(WORKER, "w0")

    def follows(self, program, name):
        """The first is told to stop, and the second starts under its name
        while the first still has the job."""
        cluster = self.trained
        flags = cluster.worker_flags if program == WORKER else ()
        first = cluster.processes.pop(name)
        first.send_signal(signal.SIGTERM)
        cluster.start(program, name, *flags)
        self.assertEqual(first.wait(timeout=LONG), 0)
        until(f"{name} is there", lambda: name in cluster.members())
        cluster.trains_on(JOB)
        self.assertEqual(cluster.job(JOB)["state"], "RUNNING")
        self.is_exact(cluster, JOB)
        self.ends_well(cluster)


if __name__ == "__main__":
    main()
