#!/usr/bin/python3
"""All certificates are replaced again and again while a job trains, and
members come and go.

    certificates.py BIN_DIR
"""

import contextlib
import socket
import ssl
import time

from trial_cluster import (IDENTITIES, MINUTES, Rhythm, Trial, main, pause,
                           until)

JOB = "recertified"
SECONDS = MINUTES * 60 or 20
ISSUE_EVERY = 60 if MINUTES > 1 else 2
# Another worker connects anew.
KILL_EVERY = 5


class Certificates(Trial):
    def test_they_change_while_a_job_trains(self):
        cluster = self.cluster(workers=3)
        cluster.create(JOB)
        cluster.trains_on(JOB)
        first = self.shown_by(cluster)
        issued, kills = self.change(cluster)
        until("the coordinator shows the newest",
              lambda: self.shown_by(cluster) == self.on_disk(cluster))
        self.assertNotEqual(self.shown_by(cluster), first)
        until("all workers are back",
              lambda: {"w0", "w1", "w2"} <= cluster.members())
        asked, _ = self.is_exact(cluster, JOB)
        print(f"{issued} times all certificates, {kills} workers killed, "
              f"{asked} samples")
        self.ends_well(cluster)

    def change(self, cluster):
        issued = kills = 0
        issue, kill = Rhythm(ISSUE_EVERY), Rhythm(KILL_EVERY)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if issue.due():
                issued += 1
                # One with other hosts is made anew.
                self.reissue(cluster, issued)
            if kill.due():
                name = f"w{kills % 3}"
                cluster.kill(name)
                cluster.start_worker(name)
                kills += 1
            for name, process in cluster.everybody().items():
                self.assertIsNone(process.poll(), f"{name} has ended")
            pause(0.05)
        return issued, kills

    def reissue(self, cluster, number):
        cluster.issue(identities={
            name: f"{of},change{number}.lab" for name, of in IDENTITIES.items()})

    def on_disk(self, cluster):
        return ssl.PEM_cert_to_DER_cert(
            (cluster.tls / "coordinator" / "tls.crt").read_text()
            .split("-----END CERTIFICATE-----")[0]
            + "-----END CERTIFICATE-----\n")

    def shown_by(self, cluster):
        """The certificate that a new connection sees."""
        context = ssl.create_default_context(
            cafile=cluster.tls / "admin" / "ca.crt")
        context.load_cert_chain(cluster.tls / "admin" / "tls.crt",
                                cluster.tls / "admin" / "tls.key")
        context.set_alpn_protocols(["h2"])
        with contextlib.closing(socket.create_connection(
                ("127.0.0.1", cluster.port))) as plain:
            with context.wrap_socket(
                    plain, server_hostname="127.0.0.1") as connection:
                return connection.getpeercert(binary_form=True)


if __name__ == "__main__":
    main()
