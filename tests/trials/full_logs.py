#!/usr/bin/python3
"""The disk that the logs go to is full: every write of every process to its
standard error fails, from the first line on.

    full_logs.py BIN_DIR
"""

import signal
import subprocess

from trial_cluster import LONG, Trial, TrialCluster, main, until

JOB = "unheard"


class Unheard(TrialCluster):
    """Whose processes write to a device that is always full."""

    def coordinator_log(self):
        return open("/dev/full", "wb")

    def start(self, program, name, *flags):
        with open("/dev/full", "wb") as log:
            self.processes[name] = subprocess.Popen(
                [self.bin / program, "--coordinator", self.address, "--name",
                 name, *self.member_flags(program), *flags], stderr=log)
        until(f"{name} is registered", lambda: name in self.members())


class FullLogs(Trial):
    def test_what_cannot_be_logged_is_done_all_the_same(self):
        cluster = self.cluster(Unheard)
        cluster.create(JOB)
        cluster.trains_on(JOB)
        cluster.command("job", "switch", JOB, "--paradigm", "bsp")
        cluster.command("checkpoint", "create", JOB, "--name", "mine", "--wait")
        cluster.kill("w0")
        cluster.trains_on(JOB)
        cluster.start_worker("w0")
        cluster.command("job", "pause", JOB)
        cluster.command("job", "wait", JOB, "--for=state=PAUSED")
        cluster.command("job", "resume", JOB)
        cluster.trains_on(JOB)
        # What a service manager does at an upgrade.
        before = cluster.counted(JOB)
        cluster.coordinator.send_signal(signal.SIGTERM)
        self.assertEqual(cluster.coordinator.wait(timeout=LONG), 0)
        cluster.coordinator.stdout.close()
        cluster.start_coordinator()
        until("it trains on by itself",
              lambda: cluster.counted(JOB) > before)
        self.is_exact(cluster, JOB, whole=False)
        # The history is in the store, not in the logs.
        self.assertIn("switched from", cluster.command("job", "logs", JOB))
        self.ends_well(cluster)


if __name__ == "__main__":
    main()
