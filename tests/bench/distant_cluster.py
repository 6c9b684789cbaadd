"""A cluster whose members reach each other through relays, which delay what they
forward, or let so much a second through."""

import json
import pathlib
import sys

sys.path.insert(
    0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from real_cluster import RealCluster  # noqa: E402
from relay import Relay  # noqa: E402


class DistantCluster(RealCluster):
    """One server, and `workers` as RealCluster takes them. They share no memory
    and no sockets, as processes of two hosts share none."""

    def __init__(self, bin_dir: pathlib.Path, scratch: pathlib.Path,
                 workers: list) -> None:
        self.relays: list = []
        super().__init__(bin_dir, scratch, 0, [],
                         coordinator=["--no-local-sockets"])
        self.server = Relay(None)  # Each worker has its own way through it.
        self.start("paceline-server", "s0", "--advertise", self.server.address,
                   "--share-memory", "false")
        log = (self.folder / "s0.log").read_text()
        self.server.target = next(
            json.loads(line)["address"] for line in log.splitlines()
            if '"listening"' in line)
        self.relays.append(self.server)
        for name, flags in workers:
            self.start("paceline-worker", name, *flags)

    def coordinator_of(self, name: str) -> str:
        self.relays.append(Relay(self.address))
        return self.relays[-1].address

    def stop(self) -> list:
        codes = super().stop()
        for relay in self.relays:
            relay.close()
        return codes
